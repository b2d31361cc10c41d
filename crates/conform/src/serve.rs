//! The adaptor's side: answers requests on stdin from a [`Subject`].

use std::io::{self, BufRead, Write};

use serde_json::{Value, json};

use crate::protocol::{Answer, Event, Request, Subject};

/// Answers each line of `input` until it ends.
///
/// # Errors
/// A line that is no request of this protocol, or an end of the pipes.
pub fn serve(subject: &mut dyn Subject, input: impl BufRead, mut output: impl Write) -> io::Result<()> {
    for line in input.lines() {
        let request: Request = serde_json::from_str(&line?)?;
        let answer = answer(subject, &request)?;
        writeln!(output, "{answer}")?;
        output.flush()?;
    }
    Ok(())
}

/// Returns the line that answers a request.
fn answer(subject: &mut dyn Subject, request: &Request) -> io::Result<Value> {
    let mut value = match &request.event {
        Event::Hello { .. } => serde_json::to_value(subject.hello())?,
        Event::Init(init) => of_answer(subject.init(init))?,
        event => of_answer(subject.on(event))?,
    };
    value["seq"] = json!(request.seq);
    Ok(value)
}

fn of_answer(answer: Answer) -> serde_json::Result<Value> {
    match answer {
        Answer::Control(control) => serde_json::to_value(control),
        Answer::NotApplicable(reason) => Ok(json!({ "not_applicable": reason })),
    }
}
