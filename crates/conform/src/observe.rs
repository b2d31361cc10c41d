//! Comparison of a step's condition with observations.

use std::fmt::Write as _;

use crate::case::{Bounds, Condition};
use crate::protocol::{Control, State};

/// All values that can be observed after an event.
#[derive(Debug, Clone, Default)]
pub(crate) struct Observed {
    pub(crate) control: Control,
    /// The reported state, or the states that fit pacing rate and cwnd; several states can look alike.
    pub(crate) states: Option<Vec<State>>,
    pub(crate) in_flight_bytes: u64,
    /// The last delivery rate sample; 0: none yet.
    pub(crate) sample_Bps: u64,
    pub(crate) elapsed_us: u64,
    pub(crate) rounds: u64,
    pub(crate) delivered_bytes: u64,
    pub(crate) lost_packets: u64,
    pub(crate) mss_bytes: u64,
}

/// The result of comparing a condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The condition holds, as far as it can be observed; `unseen` of its parts cannot be observed.
    Holds { unseen: usize },
    /// Parts of the condition do not hold: the expected and the observed values.
    Fails { expected: String, found: String },
}

impl Observed {
    fn delivered_Bps(&self) -> f64 {
        self.delivered_bytes as f64 * 1e6 / self.elapsed_us.max(1) as f64
    }

    fn lost_percent(&self) -> f64 {
        let ended = self.delivered_bytes / self.mss_bytes.max(1) + self.lost_packets;
        self.lost_packets as f64 * 100.0 / ended.max(1) as f64
    }

    /// Returns each bound of a condition with its name and the observed value.
    fn compared(&self, condition: &Condition) -> [(&'static str, Option<Bounds>, Option<f64>); 11] {
        let whole = |value: u64| Some(value as f64);
        let maybe = |value: Option<u64>| value.map(|value| value as f64);
        let c = condition;
        [
            ("cwnd_bytes", c.cwnd_bytes, whole(self.control.cwnd_bytes)),
            ("pacing_rate_Bps", c.pacing_rate_Bps, maybe(self.control.pacing_rate_Bps)),
            ("bw_Bps", c.bw_Bps, maybe(self.control.bw_Bps)),
            ("min_rtt_us", c.min_rtt_us, maybe(self.control.min_rtt_us)),
            ("in_flight_bytes", c.in_flight_bytes, whole(self.in_flight_bytes)),
            ("sample_Bps", c.sample_Bps, whole(self.sample_Bps)),
            ("elapsed_us", c.elapsed_us, whole(self.elapsed_us)),
            ("rounds", c.rounds, whole(self.rounds)),
            ("delivered_Bps", c.delivered_Bps, Some(self.delivered_Bps())),
            ("lost_packets", c.lost_packets, whole(self.lost_packets)),
            ("lost_percent", c.lost_percent, Some(self.lost_percent())),
        ]
    }

    pub(crate) fn judge(&self, condition: &Condition) -> Verdict {
        let (mut unseen, mut expected, mut found) = (0, String::new(), String::new());
        if let Some(states) = &condition.state {
            match &self.states {
                None => unseen += 1,
                Some(seen) if seen.iter().any(|state| states.contains(state)) => {}
                Some(seen) => {
                    add(&mut expected, &format!("state {}", names(states)));
                    add(&mut found, &format!("state {}", names(seen)));
                }
            }
        }
        for (name, bounds, value) in self.compared(condition) {
            let Some(bounds) = bounds else { continue };
            match value {
                None => unseen += 1,
                Some(value) if bounds.hold(value) => {}
                Some(value) => {
                    add(&mut expected, &format!("{name} {}", bounds.text()));
                    add(&mut found, &format!("{name} {}", round(value)));
                }
            }
        }
        if expected.is_empty() { Verdict::Holds { unseen } } else { Verdict::Fails { expected, found } }
    }

    /// Returns a text of all observations, for the error of a run whose `until` did not come to hold.
    pub(crate) fn text(&self, condition: &Condition) -> String {
        let mut text = String::new();
        if condition.state.is_some() {
            let seen = self.states.as_ref().map(|states| format!("state {}", names(states)));
            add(&mut text, seen.as_deref().unwrap_or("no state"));
        }
        for (name, bounds, value) in self.compared(condition) {
            if bounds.is_some() {
                let seen = value.map(|value| format!("{name} {}", round(value)));
                add(&mut text, &seen.unwrap_or_else(|| format!("no {name}")));
            }
        }
        text
    }
}

impl Condition {
    /// Returns the bounds in words.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        if let Some(states) = &self.state {
            add(&mut text, &format!("state {}", names(states)));
        }
        for (name, bounds, _) in Observed::default().compared(self) {
            if let Some(bounds) = bounds {
                add(&mut text, &format!("{name} {}", bounds.text()));
            }
        }
        text
    }
}

impl Bounds {
    fn hold(&self, value: f64) -> bool {
        self.least.is_none_or(|least| value >= least) && self.most.is_none_or(|most| value <= most)
    }

    fn text(&self) -> String {
        match (self.least, self.most) {
            (Some(least), Some(most)) => format!("from {} to {}", round(least), round(most)),
            (Some(least), None) => format!("at least {}", round(least)),
            (None, Some(most)) => format!("at most {}", round(most)),
            (None, None) => "any".to_owned(),
        }
    }
}

fn add(text: &mut String, part: &str) {
    let separator = if text.is_empty() { "" } else { ", " };
    let _ = write!(text, "{separator}{part}");
}

fn names(states: &[State]) -> String {
    states.iter().map(State::to_string).collect::<Vec<_>>().join(" or ")
}

/// Rounds to at most two decimals.
fn round(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}

/// Infers the state from pacing rate and cwnd, where an adaptor reports none.
#[derive(Debug)]
pub(crate) struct Inference {
    /// The rate at which a conforming BBR estimates the path.
    reference_Bps: u64,
    /// True once the path has delivered at about that rate. Before, STARTUP's pacing rate is small since its
    /// estimate is.
    has_filled: bool,
    /// True once cwnd has been a BDP. Before, cwnd is small since it still grows.
    had_window: bool,
}

impl Inference {
    pub(crate) fn new(reference_Bps: u64) -> Self {
        Self { reference_Bps, has_filled: false, had_window: false }
    }

    /// Sets the reference rate from now on. A higher rate has to be found first.
    pub(crate) fn set_reference(&mut self, reference_Bps: u64) {
        self.has_filled &= reference_Bps <= self.reference_Bps;
        self.reference_Bps = reference_Bps;
    }

    /// Returns the states that fit. The ratio of pacing rate to the rate of the path is the pacing gain of
    /// the draft's section 5.6.1 while the estimate is right. The borders are between the gains, at least 4 %
    /// away from each: 2.77, 1.25, 1 and 0.9 less the margin of 1 %, and 0.5. CRUISE and REFILL have the same
    /// gain.
    pub(crate) fn states(&mut self, control: &Control, sample_Bps: u64, rtt_us: u64) -> Option<Vec<State>> {
        let reference_Bps = self.reference_Bps as f64;
        let gain = control.pacing_rate_Bps? as f64 / reference_Bps;
        let windows = control.cwnd_bytes as f64 * 1e6 / (reference_Bps * rtt_us as f64);
        self.had_window |= windows >= 1.0;
        if self.had_window && windows <= 0.6 {
            return Some(vec![State::ProbeRtt]); // its cwnd is half a BDP
        }
        self.has_filled |= sample_Bps as f64 >= 0.9 * reference_Bps;
        Some(match gain {
            _ if !self.has_filled => vec![State::Startup],
            gain if gain >= 1.6 => vec![State::Startup],
            gain if gain >= 1.1 => vec![State::ProbeBwUp],
            gain if gain >= 0.94 => vec![State::ProbeBwCruise, State::ProbeBwRefill],
            gain if gain >= 0.7 => vec![State::ProbeBwDown],
            _ => vec![State::Drain],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gains_of_the_draft_are_inferred() {
        let mut inference = Inference::new(1_000_000);
        let mut states = |gain: f64, cwnd_bytes, sample_Bps| {
            let control =
                Control { pacing_rate_Bps: Some((gain * 1e6) as u64), cwnd_bytes, ..Control::default() };
            inference.states(&control, sample_Bps, 100_000).expect("it paces")
        };
        assert_eq!(states(0.3, 12_000, 120_000), [State::Startup], "the estimate is still small");
        for (gain, state) in [
            (2.77, State::Startup),
            (0.5 * 0.99, State::Drain),
            (0.9 * 0.99, State::ProbeBwDown),
            (0.99, State::ProbeBwCruise),
            (1.25 * 0.99, State::ProbeBwUp),
        ] {
            assert_eq!(states(gain, 200_000, 1_000_000)[0], state);
        }
        assert_eq!(states(0.99, 50_000, 500_000), [State::ProbeRtt]);
        let unpaced = Control { cwnd_bytes: 12_000, ..Control::default() };
        assert_eq!(inference.states(&unpaced, 0, 100_000), None);
    }

    #[test]
    fn a_condition_names_the_parts_that_fail() {
        let bounds = |least, most| Some(Bounds { least: Some(least), most: Some(most) });
        let condition = Condition {
            state: Some(vec![State::Drain]),
            cwnd_bytes: bounds(10.0, 20.0),
            bw_Bps: bounds(1.0, 2.0),
            ..Condition::default()
        };
        let control = Control { cwnd_bytes: 15, ..Control::default() };
        let observed = Observed { control, states: Some(vec![State::Startup]), ..Observed::default() };
        let failed = observed.judge(&condition);
        let expected = "state DRAIN".to_owned();
        assert_eq!(failed, Verdict::Fails { expected, found: "state STARTUP".to_owned() });
        let observed = Observed { states: Some(vec![State::Drain]), ..observed };
        assert_eq!(observed.judge(&condition), Verdict::Holds { unseen: 1 }, "no bw is reported");
    }
}
