//! QEMU's monitor: commands and answers in JSON (docs/interop/qmp-spec of QEMU), over its standard input and
//! output.

use std::io::{self, BufRead, BufReader, Write};
use std::process::{ChildStdin, ChildStdout};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

/// The connection to QEMU's monitor.
pub(crate) struct Monitor {
    to: ChildStdin,
    from: Receiver<Value>,
}

impl Monitor {
    /// A connection, over which the first command has been sent: QEMU obeys no other one before it.
    pub(crate) fn connect(mut to: ChildStdin, from: ChildStdout) -> io::Result<Self> {
        let (sender, receiver) = channel();
        // it ends when QEMU closes its output, or when the monitor is dropped
        thread::Builder::new().name("qemu".to_owned()).spawn(move || {
            let lines = BufReader::new(from).lines().map_while(Result::ok);
            let answers = lines.filter_map(|line| answer(&line));
            for answer in answers {
                if sender.send(answer).is_err() {
                    return;
                }
            }
        })?;
        send(&mut to, "qmp_capabilities", &json!({}))?;
        Ok(Self { to, from: receiver })
    }

    /// Sends a command. Its answer follows those of earlier commands.
    pub(crate) fn send(&mut self, command: &str, arguments: &Value) -> io::Result<()> {
        send(&mut self.to, command, arguments)
    }

    /// The next answer: the value of `return` or of `error`. `None`: there was none in this time.
    pub(crate) fn answer(&self, within: Duration) -> Option<Result<Value, String>> {
        match self.from.recv_timeout(within) {
            Ok(mut answer) => Some(match answer.get_mut("return") {
                Some(value) => Ok(value.take()),
                None => Err(answer["error"]["desc"].as_str().unwrap_or("no reason").to_owned()),
            }),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => {
                thread::sleep(within);
                None
            }
        }
    }
}

fn send(to: &mut ChildStdin, command: &str, arguments: &Value) -> io::Result<()> {
    let line = json!({ "execute": command, "arguments": arguments });
    to.write_all(format!("{line}\n").as_bytes())?;
    to.flush()
}

/// The answer in a line; `None`: the line is a greeting or an event.
fn answer(line: &str) -> Option<Value> {
    let value: Value = serde_json::from_str(line).ok()?;
    (value.get("return").is_some() || value.get("error").is_some()).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn greetings_and_events_are_no_answers() {
        assert_eq!(answer("{\"QMP\": {}}"), None);
        assert_eq!(answer("{\"event\": \"STOP\"}"), None);
        assert!(answer("{\"return\": {}}").is_some() && answer("{\"error\": {\"desc\": \"no\"}}").is_some());
    }
}
