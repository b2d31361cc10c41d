//! The order of events: each waits for its time, in which the stack's timers run.

use std::collections::BTreeMap;

use fairpace_scenario::Problem;
use fairpace_tcp::Nanos;

use crate::agreed::Refusal;
use crate::check::Judgement;
use crate::endpoint::Endpoint;
use crate::evaluate::{self, Scope, Stop};
use crate::fd::{Blocked, Fd};
use crate::info;
use crate::outcome::Outcome;
use crate::script::{Action, Event, Script, Span, When};
use crate::setup::Setup;
use crate::tuned::Mutant;

/// The time of the stack when a script starts: the sender takes a time of 0 for no time.
pub(crate) const START: Nanos = 1_000_000_000;

/// The reason why a script ended early.
#[derive(Debug)]
pub(crate) enum End {
    Failed(Box<Problem>),
    Refused(Box<Problem>),
}

/// A script that runs.
pub(crate) struct Run<'a> {
    pub(crate) script: &'a Script,
    pub(crate) judgement: Judgement,
    pub(crate) end: Endpoint,
    pub(crate) fds: BTreeMap<i64, Fd>,
    /// A system call that waits.
    pub(crate) blocked: Option<Blocked>,
    /// Number of bytes that the application has read.
    pub(crate) read: u64,
    /// Whether a call has returned the error of a connection that was reset.
    pub(crate) error_taken: bool,
    /// The send buffer that the script has set.
    pub(crate) send_buffer: Option<i64>,
    scope: Scope,
    /// The time of the event before, by the script.
    last: Nanos,
}

/// Performs a script against a sender of `fairpace-tcp`, or against one with a fault.
#[must_use]
pub fn run(script: &Script, mutant: Option<Mutant>) -> Outcome {
    let judgement = match script.check().and_then(|()| script.judgement()) {
        Ok(judgement) => judgement,
        Err(problem) if problem.kind == "refused" => return Outcome::Inexpressible(problem),
        Err(problem) => return Outcome::Failed(problem),
    };
    let mut run = Run {
        script,
        judgement,
        end: Endpoint::new(Setup::new(), mutant, script.peer(), START),
        fds: BTreeMap::new(),
        blocked: None,
        read: 0,
        error_taken: false,
        send_buffer: None,
        scope: Scope::default(),
        last: START,
    };
    match script.events.iter().try_for_each(|event| run.perform(event)).and_then(|()| run.check_end()) {
        Ok(()) => Outcome::Passed { ignored: run.end.setup.ignored, printed: run.scope.printed },
        Err(End::Failed(problem)) => Outcome::Failed(problem),
        Err(End::Refused(problem)) => Outcome::Inexpressible(problem),
    }
}

impl Run<'_> {
    fn perform(&mut self, event: &Event) -> Result<(), End> {
        let base = self.end.now;
        let (from, to) = match event.when {
            When::At(from, to) => (START + from, START + to),
            When::After(from, to) => (base + from, base + to),
            When::Untimed | When::Any => (base, base),
        };
        let relative = matches!(event.when, When::After(..));
        let ends = event.end.map(|end| if relative { base + end } else { START + end });
        if let Action::Packet(packet) = &event.action
            && !packet.inbound
        {
            self.expect(packet, event, from, to)?;
            self.check_blocked()?;
            self.last = from;
            return Ok(());
        }
        self.wait(from, &event.span)?;
        match &event.action {
            Action::Packet(packet) => self.of_stack(&event.span, |end| end.on_packet(packet))?,
            Action::Call(call) => self.call(call, &event.span, ends)?,
            Action::Command(text) => self.of_stack(&event.span, |end| end.setup.command(text))?,
            Action::Code(code, at) => self.code(code, &(*at..*at + code.len()))?,
            Action::Foreign(name) => return Err(self.refuse(&event.span, name)),
        }
        self.check_blocked()?;
        self.last = from;
        Ok(())
    }

    /// Waits until the time of an event. An event that comes late fails (packetdrill: verify_time).
    fn wait(&mut self, at: Nanos, span: &Span) -> Result<(), End> {
        let late = self.end.now.saturating_sub(at);
        if late > self.tolerance(at) {
            let message = format!("this event is {} late: packets before it came later", seconds(late));
            return Err(self.fail(span, message, "its time is before that of the event before"));
        }
        self.of_stack(span, |end| end.advance(at, false))
    }

    pub(crate) fn of_stack(
        &mut self,
        span: &Span,
        perform: impl FnOnce(&mut Endpoint) -> Result<(), Refusal>,
    ) -> Result<(), End> {
        perform(&mut self.end).map_err(|what| self.refuse(span, &what))
    }

    fn code(&mut self, code: &str, span: &Span) -> Result<(), End> {
        let (end, mut scope) = (&self.end, std::mem::take(&mut self.scope));
        let performed = evaluate::run(code, &mut scope, &mut |name| info::value(end, name));
        self.scope = scope;
        performed.map_err(|stop| match stop {
            Stop::Wrong(what) => self.refuse(span, &what),
            Stop::Unknown(name) => self.fail(span, format!("the name {name} is not defined"), ""),
            Stop::Asserted(text, message) => {
                let at = self.at(self.end.now);
                let detail = match message {
                    Some(message) => format!("{message}, at {at}"),
                    None => format!("at {at}"),
                };
                self.fail(span, format!("the assertion `{text}` does not hold"), &detail)
            }
        })
    }

    /// The tolerance of an event at this time: a part of the time since the event before, if that is more.
    pub(crate) fn tolerance(&self, at: Nanos) -> Nanos {
        let part = at.saturating_sub(self.last) as f64 * self.judgement.percent / 100.0;
        self.judgement.tolerance.max(part as Nanos)
    }

    /// A time from the start of the script, as text.
    pub(crate) fn at(&self, at: Nanos) -> String {
        seconds(at.saturating_sub(START))
    }

    pub(crate) fn fail(&self, span: &Span, message: String, detail: &str) -> End {
        End::Failed(self.script.failed(span, message, detail))
    }

    pub(crate) fn refuse(&self, span: &Span, what: &str) -> End {
        End::Refused(self.script.refused(span, what))
    }
}

/// A time in seconds with microseconds, as packetdrill writes it.
pub(crate) fn seconds(ns: Nanos) -> String {
    format!("{}.{:06} s", ns / 1_000_000_000, ns % 1_000_000_000 / 1_000)
}
