//! `fairpace compare`: one scenario per algorithm, made from the arguments.

use std::time::Duration;

use fairpace_scenario::quantity::{Dimension, show, show_limit, show_time};
use fairpace_scenario::{Invalid, Scenario, Set, parse};

use crate::args::{CompareArgs, Place};
use crate::failure::{Exit, Failure};

/// The same path and flows for several algorithms.
pub(crate) struct Plan<'a> {
    pub(crate) rate: &'a str,
    pub(crate) buffer: &'a str,
    pub(crate) rtt: &'a [String],
    pub(crate) duration: &'a str,
    pub(crate) stagger: Duration,
    /// Measured from here.
    pub(crate) warmup: &'a str,
    pub(crate) place: Place,
    pub(crate) sets: &'a [Set],
}

impl<'a> Plan<'a> {
    pub(crate) fn new(args: &'a CompareArgs, sets: &'a [Set]) -> Self {
        Self {
            rate: &args.rate,
            buffer: &args.buffer,
            rtt: &args.rtt,
            duration: &args.duration,
            stagger: args.stagger,
            warmup: &args.warmup,
            place: args.on,
            sets,
        }
    }

    /// The scenario of each algorithm.
    pub(crate) fn scenarios(&self, names: &[String]) -> Result<Vec<Scenario>, Failure> {
        for set in self.sets {
            if let Some(algorithm) = set.algorithm().filter(|name| !names.iter().any(|cc| cc == name)) {
                return Err(Failure::told(
                    Exit::Usage,
                    format!("--set changes a parameter of `{algorithm}`, which is not compared"),
                    format!("--cc names {}", names.join(", ")),
                ));
            }
        }
        names.iter().map(|cc| self.scenario(cc).map_err(Failure::from)).collect()
    }

    /// The scenario of one algorithm.
    pub(crate) fn scenario(&self, cc: &str) -> Result<Scenario, Invalid> {
        let mut sets = vec![
            Set::argument("--duration", "duration", self.duration),
            Set::argument("--rate", "link.rate", self.rate),
            Set::argument("--buffer", "link.buffer", self.buffer),
            Set::argument("--cc", "flow.cc", cc),
            Set::argument("--warmup", "window.from", self.warmup),
        ];
        for (index, (rtt, number)) in self.rtt.iter().zip(1u32..).enumerate() {
            let start = self.stagger.saturating_mul(index as u32);
            sets.push(Set::argument("--rtt", format!("flow.{number}.rtt"), rtt));
            sets.push(Set::argument("--stagger", format!("flow.{number}.start"), show_time(start)));
        }
        // the other algorithms' parameters are for the other runs
        let mine = |set: &&Set| set.algorithm().is_none_or(|algorithm| algorithm == cc);
        sets.extend(self.sets.iter().filter(mine).cloned());
        let mut scenario = parse("", &template(self.rtt.len()), &sets, self.place.target())?;
        if scenario.title == UNTITLED {
            scenario.title = title(cc, &scenario);
        }
        Ok(scenario)
    }
}

const UNTITLED: &str = "comparison";

/// What the arguments fill in.
fn template(flows: usize) -> String {
    format!("title = \"{UNTITLED}\"\n[window]\n[[link]]\n{}", "[[flow]]\n".repeat(flows))
}

/// "bbq: 10ms and 50ms on 100mbit, 2MB".
fn title(cc: &str, scenario: &Scenario) -> String {
    let rtts: Vec<_> = scenario.flows.iter().map(|flow| show_time(flow.rtt)).collect();
    let rtts = match rtts.split_last() {
        Some((last, rest)) if !rest.is_empty() && rtts.len() <= 8 => {
            format!("{} and {last}", rest.join(", "))
        }
        Some((only, [])) => only.clone(),
        _ => format!("{} flows", rtts.len()),
    };
    let links: Vec<_> = scenario
        .links
        .iter()
        .map(|link| format!("{}, {}", show(link.rate_bps, Dimension::Rate), show_limit(link.buffer)))
        .collect();
    format!("{cc}: {rtts} on {}", links.join("; "))
}
