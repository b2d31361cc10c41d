//! A subject that is another process: it gets a line on stdin and answers with a line on stdout.

use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::protocol::{Answer, Control, Event, Hello, PROTOCOL, Request};
use crate::run::Peer;

/// Most bytes of an answer: usual answers have a hundred.
const MOST_LINE: u64 = 16_384;
/// Most answers that wait to be read. An adaptor that writes more answers than were requested then blocks on
/// its pipe.
const MOST_WAITING: usize = 4;
/// Most lines of the adaptor's stderr that an error quotes.
const MOST_QUOTED: usize = 5;
/// Most characters of an answer that an error quotes.
const MOST_SHOWN: usize = 200;
/// Time between two checks whether a wait is to stop.
const POLL: Duration = Duration::from_millis(50);
/// Time that an adaptor has to end after its stdin has ended.
const GRACE: Duration = Duration::from_secs(1);

/// Error: an adaptor that cannot be started.
#[derive(Debug, thiserror::Error)]
#[error("cannot start {program}: {error}")]
pub struct CannotStart {
    program: String,
    error: io::Error,
}

/// A running adaptor. Dropping it ends the process and the processes that it started.
pub struct Adaptor {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<io::Result<Vec<u8>>>,
    said: Arc<Mutex<VecDeque<String>>>,
    /// The thread that reads the adaptor's stderr to the end.
    listener: Option<JoinHandle<()>>,
    timeout: Duration,
    stopped: Box<dyn Fn() -> bool>,
    seq: u64,
}

impl Adaptor {
    /// Starts a command. Each answer may take `timeout`; `stopped` is called while waiting, and `true` ends
    /// the wait.
    ///
    /// # Errors
    /// The command cannot be started.
    pub fn start(
        command: &[String],
        timeout: Duration,
        stopped: impl Fn() -> bool + 'static,
    ) -> Result<Self, CannotStart> {
        let (program, arguments) = command.split_first().map_or(("", &[][..]), |(p, a)| (p.as_str(), a));
        let cannot = |error| CannotStart { program: program.to_owned(), error };
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0) // what it starts is ended with it
            .spawn()
            .map_err(cannot)?;
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (sender, lines) = sync_channel(MOST_WAITING);
        if let Some(stdout) = stdout {
            thread::spawn(move || read_lines(stdout, &sender));
        }
        let said = Arc::new(Mutex::new(VecDeque::new()));
        let listener = stderr.map(|stderr| {
            let said = Arc::clone(&said);
            thread::spawn(move || keep_last_lines(stderr, &said))
        });
        Ok(Self { child, stdin, lines, said, listener, timeout, stopped: Box::new(stopped), seq: 0 })
    }

    fn exchange<T: DeserializeOwned>(&mut self, event: &Event) -> Result<T, String> {
        let value = self.exchange_value(event)?;
        serde_json::from_value(value.clone()).map_err(|error| {
            format!("line {}: {error} in the answer {}", self.seq - 1, shown(&value.to_string()))
        })
    }

    /// Returns the answer without its number.
    fn exchange_value(&mut self, event: &Event) -> Result<Value, String> {
        let seq = self.seq;
        let request = Request { seq, event: event.clone() };
        let line = serde_json::to_string(&request).map_err(|error| error.to_string())?;
        let written = match &mut self.stdin {
            Some(stdin) => stdin.write_all(format!("{line}\n").as_bytes()),
            None => Err(io::ErrorKind::BrokenPipe.into()),
        };
        if written.is_err() {
            return Err(self.ended(seq));
        }
        let answer = self.line(seq)?;
        let text = String::from_utf8_lossy(&answer);
        let mut value: Value = serde_json::from_str(&text)
            .map_err(|error| format!("line {seq}: the answer is no JSON ({error}): {}", shown(&text)))?;
        let Some(object) = value.as_object_mut() else {
            return Err(format!("line {seq}: the answer is no object: {}", shown(&text)));
        };
        match object.remove("seq").and_then(|answered| answered.as_u64()) {
            Some(answered) if answered == seq => {}
            Some(answered) => {
                return Err(format!(
                    "line {seq}: the answer has the number {answered}: one line answers each line"
                ));
            }
            None => return Err(format!("line {seq}: the answer has no \"seq\": {}", shown(&text))),
        }
        self.seq += 1;
        if let Some(error) = object.get("error").and_then(Value::as_str) {
            return Err(format!("line {seq}: the adaptor reports: {}", shown(error)));
        }
        Ok(value)
    }

    fn line(&mut self, seq: u64) -> Result<Vec<u8>, String> {
        let until = Instant::now() + self.timeout;
        loop {
            match self.lines.recv_timeout(POLL.min(self.timeout)) {
                Ok(Ok(line)) => return Ok(line),
                Ok(Err(error)) => return Err(format!("line {seq}: {error}{}", self.quoted())),
                Err(RecvTimeoutError::Disconnected) => return Err(self.ended(seq)),
                Err(RecvTimeoutError::Timeout) if (self.stopped)() => return Err("interrupted".to_owned()),
                Err(RecvTimeoutError::Timeout) if Instant::now() >= until => {
                    let seconds = self.timeout.as_secs_f64();
                    let quoted = self.quoted();
                    return Err(format!("line {seq}: no answer within {seconds} s; it was ended{quoted}"));
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    /// Returns the error of a process that ended, or closed a pipe.
    fn ended(&mut self, seq: u64) -> String {
        let status = self.wait();
        if status.is_some() {
            self.wait_for_last_words();
        }
        let status = status.map_or("closed its stdout".to_owned(), |status| format!("ended with {status}"));
        format!("line {seq}: the adaptor {status}{}", self.quoted())
    }

    /// Waits for stderr: a process that has ended may have written to it just before. A process that it
    /// started may hold the pipe open.
    fn wait_for_last_words(&self) {
        let until = Instant::now() + GRACE;
        let is_heard = || self.listener.as_ref().is_none_or(JoinHandle::is_finished);
        while !is_heard() && Instant::now() < until && !(self.stopped)() {
            thread::sleep(POLL / 10);
        }
    }

    /// Returns the exit status, if the process ends soon.
    fn wait(&mut self) -> Option<ExitStatus> {
        let until = Instant::now() + GRACE;
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) => return Some(status),
                Ok(None) if Instant::now() < until && !(self.stopped)() => thread::sleep(POLL / 10),
                _ => return None,
            }
        }
    }

    /// Returns the adaptor's messages on stderr, to append to an error.
    fn quoted(&self) -> String {
        let said = self.said.lock().map(|said| said.iter().cloned().collect::<Vec<_>>()).unwrap_or_default();
        if said.is_empty() { String::new() } else { format!("; it said: {}", said.join(" | ")) }
    }
}

impl Peer for Adaptor {
    fn hello(&mut self) -> Result<Hello, String> {
        let hello: Hello = self.exchange(&Event::Hello { protocol: PROTOCOL.to_owned() })?;
        if hello.protocol == PROTOCOL {
            return Ok(hello);
        }
        Err(format!("line 0: the adaptor speaks {}; this program speaks {PROTOCOL}", shown(&hello.protocol)))
    }

    fn ask(&mut self, event: &Event) -> Result<Answer, String> {
        let value = self.exchange_value(event)?;
        if let Some(reason) = value.get("not_applicable").and_then(Value::as_str) {
            return Ok(Answer::NotApplicable(shown(reason)));
        }
        let control: Control = serde_json::from_value(value.clone()).map_err(|error| {
            format!("line {}: {error} in the answer {}", self.seq - 1, shown(&value.to_string()))
        })?;
        Ok(Answer::Control(control))
    }
}

impl Drop for Adaptor {
    fn drop(&mut self) {
        self.stdin = None; // an adaptor ends when its input does
        self.wait();
        if let Ok(id) = i32::try_from(self.child.id())
            && let Some(group) = Pid::from_raw(id)
        {
            // what it started may live longer than itself; where nothing is left this fails, as it should
            let _ = kill_process_group(group, Signal::KILL);
        }
        let _ = self.child.wait();
    }
}

/// Passes on the lines of a pipe until it ends or a line is too long.
fn read_lines(pipe: impl Read, to: &SyncSender<io::Result<Vec<u8>>>) {
    let mut pipe = BufReader::new(pipe);
    loop {
        let mut line = Vec::new();
        let read = pipe.by_ref().take(MOST_LINE + 1).read_until(b'\n', &mut line);
        let line = match read {
            Ok(0) => return,
            Ok(length) if length as u64 > MOST_LINE => {
                Err(io::Error::other(format!("an answer has more than {MOST_LINE} bytes")))
            }
            Ok(_) => Ok(line),
            Err(error) => Err(error),
        };
        let is_last = line.is_err();
        if to.send(line).is_err() || is_last {
            return;
        }
    }
}

/// Keeps the last lines of a pipe.
fn keep_last_lines(pipe: impl Read, said: &Mutex<VecDeque<String>>) {
    let mut pipe = BufReader::new(pipe);
    let mut line = Vec::new();
    while let Ok(1..) = pipe.by_ref().take(MOST_LINE).read_until(b'\n', &mut line) {
        let text = shown(String::from_utf8_lossy(&line).trim_end());
        line.clear();
        let Ok(mut said) = said.lock() else { return };
        if said.len() == MOST_QUOTED {
            said.pop_front();
        }
        said.push_back(text);
    }
}

/// Returns the beginning of a text, in one line.
fn shown(text: &str) -> String {
    let mut short: String = text.trim_end().chars().take(MOST_SHOWN).collect();
    if short.len() < text.trim_end().len() {
        short.push_str("...");
    }
    short.replace('\n', " ")
}
