//! Applies a case to a subject.

use std::fmt;

use serde::Serialize;

use crate::case::{Case, Condition, Run, Step};
use crate::observe::{Inference, Observed, Verdict};
use crate::protocol::{Answer, Control, Event, Hello, Init, Subject, Support};
use crate::transport::Transport;

/// Most events in a case. A case with more events is taken for a case that never ends: the contained cases
/// have at most a tenth of this number.
const MOST_EVENTS: u64 = 5_000_000;

/// The outcome of a case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "result", rename_all = "snake_case")]
pub enum Outcome {
    /// The case passes: everything that could be observed was as the draft says.
    Passed {
        /// Number of parts of conditions that could not be observed, since the adaptor does not report their
        /// values.
        unseen: usize,
    },
    /// The case fails: an expectation was not met.
    Failed(Mismatch),
    /// The case cannot be applied, for this reason.
    NotApplicable {
        /// The reason of the adaptor or of the runner.
        reason: String,
    },
    /// The adaptor violated the protocol.
    Broken {
        /// Description of the violation.
        problem: String,
    },
}

/// An expectation that was not met.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Mismatch {
    /// Line of the case's file, from 1 on.
    pub line: usize,
    /// Section of the draft.
    pub section: String,
    /// Simulated time in the case.
    pub time_us: u64,
    /// The expected value.
    pub expected: String,
    /// The observed value.
    pub found: String,
    /// The reason for the draft's requirement.
    pub why: String,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { line, section, time_us, expected, found, .. } = self;
        let seconds = *time_us as f64 / 1e6;
        write!(f, "line {line}, at {seconds:.3} s: expected {expected}; found {found} (section {section})")
    }
}

/// A subject whose answers may fail, such as a process.
pub trait Peer {
    /// Returns the answer to [`Event::Hello`].
    ///
    /// # Errors
    /// A description of the failure.
    fn hello(&mut self) -> Result<Hello, String>;

    /// Returns the answer to any other event.
    ///
    /// # Errors
    /// A description of the failure.
    fn ask(&mut self, event: &Event) -> Result<Answer, String>;
}

impl<S: Subject> Peer for S {
    fn hello(&mut self) -> Result<Hello, String> {
        Ok(Subject::hello(self))
    }

    fn ask(&mut self, event: &Event) -> Result<Answer, String> {
        Ok(match event {
            Event::Init(init) => self.init(init),
            event => self.on(event),
        })
    }
}

/// Applies a case to a peer.
pub fn run(case: &Case, peer: &mut dyn Peer) -> Outcome {
    match Runner::start(case, peer) {
        Ok(mut runner) => {
            runner.steps().map_or_else(|ended| ended, |()| Outcome::Passed { unseen: runner.unseen })
        }
        Err(outcome) => outcome,
    }
}

struct Runner<'a> {
    case: &'a Case,
    peer: &'a mut dyn Peer,
    transport: Transport,
    inference: Inference,
    reports_state: bool,
    rtt_us: u64,
    unseen: usize,
    events: u64,
    /// Counters at the start of the last `run`.
    from: Mark,
}

/// Counters at a moment.
#[derive(Debug, Clone, Copy, Default)]
struct Mark {
    now_us: u64,
    rounds: u64,
    delivered_bytes: u64,
    lost_packets: u64,
}

impl<'a> Runner<'a> {
    fn start(case: &'a Case, peer: &'a mut dyn Peer) -> Result<Self, Outcome> {
        let broken = |problem| Outcome::Broken { problem };
        let hello = peer.hello().map_err(broken)?;
        let lacks = |need: &&Support| !hello.supports.contains(need);
        if let Some(need) = case.header.needs.iter().find(lacks) {
            let reason = format!("the adaptor does not support {need}");
            return Err(Outcome::NotApplicable { reason });
        }
        let header = &case.header;
        let init = Init {
            time_us: 0,
            case: header.case.clone(),
            mss_bytes: header.mss_bytes,
            initial_cwnd_bytes: header.initial_cwnd_bytes,
            seed: header.seed,
        };
        let control = answered(peer.ask(&Event::Init(init)))?;
        if control.state.is_none() && control.pacing_rate_Bps.is_none() {
            let reason =
                "it reports neither a state nor a pacing rate, so nothing can be observed".to_owned();
            return Err(Outcome::NotApplicable { reason });
        }
        let mut transport = Transport::new(case);
        transport.apply(control);
        let (rtt_us, reports_state) = (header.path.rtt_us, control.state.is_some());
        let (inference, from) = (Inference::new(header.reference_Bps), Mark::default());
        Ok(Self { case, peer, transport, inference, reports_state, rtt_us, unseen: 0, events: 0, from })
    }

    fn steps(&mut self) -> Result<(), Outcome> {
        let case = self.case;
        for (line, step) in &case.steps {
            if step.needs_state && !self.reports_state {
                self.unseen += 1;
                continue;
            }
            self.step(*line, step)?;
        }
        Ok(())
    }

    fn step(&mut self, line: usize, step: &Step) -> Result<(), Outcome> {
        let now_ns = self.transport.now_ns;
        if let Some(run) = &step.run {
            return self.pass_time(line, step, run);
        }
        if let Some(condition) = &step.expect {
            let observed = self.observed();
            return self.require(line, step, condition, &observed, true);
        }
        if let Some(change) = &step.set {
            self.transport.path.change(now_ns, change);
            change.reference_Bps.into_iter().for_each(|rate_Bps| self.inference.set_reference(rate_Bps));
            self.rtt_us = change.rtt_us.unwrap_or(self.rtt_us);
            if let Some(app) = change.app {
                self.transport.set_app(app);
            }
        }
        step.lose.into_iter().for_each(|lose| self.transport.path.lose(lose));
        step.reorder.into_iter().for_each(|reorder| self.transport.path.reorder(reorder));
        step.stall_us.into_iter().for_each(|stall_us| self.transport.path.stall(now_ns + stall_us * 1000));
        Ok(())
    }

    fn pass_time(&mut self, line: usize, step: &Step, run: &Run) -> Result<(), Outcome> {
        self.from = self.mark();
        let end_ns = self.transport.now_ns + run.for_us * 1000;
        if self.has_come(run) {
            return Ok(());
        }
        while let Some(event) = self.transport.next(end_ns) {
            self.tell(&event)?;
            if let Some(event) = self.transport.spurious() {
                self.tell(&event)?;
            }
            let observed = self.observed();
            if let Some(throughout) = &run.throughout {
                self.require(line, step, throughout, &observed, false)?;
            }
            if self.has_come(run) {
                return Ok(());
            }
        }
        let Some(until) = &run.until else { return Ok(()) };
        let observed = self.observed();
        match observed.judge(until) {
            // what cannot be observed has had the time to come
            Verdict::Holds { unseen } => self.unseen += unseen,
            Verdict::Fails { .. } => {
                let expected = format!("{} within {} s", until.text(), run.for_us as f64 / 1e6);
                return Err(self.mismatch(line, step, expected, observed.text(until)));
            }
        }
        Ok(())
    }

    /// Returns whether the condition `until` of a run holds and can all be observed.
    fn has_come(&mut self, run: &Run) -> bool {
        let observed = self.observed();
        run.until.as_ref().is_some_and(|until| observed.judge(until) == Verdict::Holds { unseen: 0 })
    }

    fn tell(&mut self, event: &Event) -> Result<(), Outcome> {
        self.events += 1;
        if self.events > MOST_EVENTS {
            return Err(Outcome::Broken {
                problem: format!("the case has not ended after {MOST_EVENTS} events"),
            });
        }
        let control = answered(self.peer.ask(event))?;
        if control.cwnd_bytes == 0 {
            let problem = "it answered a cwnd of 0, with which nothing can be sent".to_owned();
            return Err(Outcome::Broken { problem });
        }
        self.transport.apply(control);
        Ok(())
    }

    fn require(
        &mut self,
        line: usize,
        step: &Step,
        condition: &Condition,
        observed: &Observed,
        counts: bool,
    ) -> Result<(), Outcome> {
        match observed.judge(condition) {
            Verdict::Holds { unseen } => {
                self.unseen += if counts { unseen } else { 0 };
                Ok(())
            }
            Verdict::Fails { expected, found } => Err(self.mismatch(line, step, expected, found)),
        }
    }

    fn mismatch(&self, line: usize, step: &Step, expected: String, found: String) -> Outcome {
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        let time_us = self.transport.now_us();
        let (section, why) = (text(&step.section), text(&step.why));
        Outcome::Failed(Mismatch { line, section, time_us, expected, found, why })
    }

    fn mark(&self) -> Mark {
        Mark {
            now_us: self.transport.now_us(),
            rounds: self.transport.rounds,
            delivered_bytes: self.transport.delivered_bytes(),
            lost_packets: self.transport.lost_packets,
        }
    }

    fn observed(&mut self) -> Observed {
        let (now, from) = (self.mark(), self.from);
        let control = self.transport.control;
        let inferred = self.inference.states(&control, self.transport.sample_Bps, self.rtt_us);
        Observed {
            control,
            states: control.state.map(|state| vec![state]).or(inferred),
            in_flight_bytes: self.transport.in_flight_bytes(),
            sample_Bps: self.transport.sample_Bps,
            elapsed_us: now.now_us - from.now_us,
            rounds: now.rounds - from.rounds,
            delivered_bytes: now.delivered_bytes - from.delivered_bytes,
            lost_packets: now.lost_packets - from.lost_packets,
            mss_bytes: self.case.header.mss_bytes,
        }
    }
}

fn answered(answer: Result<Answer, String>) -> Result<Control, Outcome> {
    match answer {
        Ok(Answer::Control(control)) => Ok(control),
        Ok(Answer::NotApplicable(reason)) => Err(Outcome::NotApplicable { reason }),
        Err(problem) => Err(Outcome::Broken { problem }),
    }
}
