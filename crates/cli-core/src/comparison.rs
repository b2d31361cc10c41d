//! A comparison: a path and a set of flows, as a scenario for each of several algorithms.

use std::time::Duration;

use fairpace_cc::Algorithm;
use fairpace_scenario::quantity::{Dimension, parse_time, show, show_limit, show_time};
use fairpace_scenario::{Cc, Invalid, Scenario, Set, Target, parse};

use crate::args::PathArgs;
use crate::failure::{Exit, Failure};

/// The path and the flows that are the same for all algorithms of a comparison.
pub struct Comparison<'a> {
    /// The path, and the RTT and start of each flow.
    pub path: &'a PathArgs,
    /// Where the flows run: in the simulator or on the testbed.
    pub target: Target,
    /// Changes of scenario keys, and of parameters of the algorithms.
    pub sets: &'a [Set],
}

impl Comparison<'_> {
    /// The scenario of each algorithm.
    ///
    /// # Errors
    /// Returns an error if a value is wrong, or if [`Comparison::sets`] changes a parameter of an algorithm
    /// that is not in `names`.
    pub fn scenarios(&self, names: &[String]) -> Result<Vec<Scenario>, Failure> {
        if let Some(name) =
            names.iter().find(|name| name.starts_with("kernel:") && self.target == Target::Simulator)
        {
            let message =
                format!("`{name}` is the kernel's own algorithm, which the simulator does not have");
            return Err(Failure::new(
                Exit::Usage,
                message,
                "add --on kernel: real flows, as root; or --on virtual",
            ));
        }
        for set in self.sets {
            if let Some(algorithm) = set.algorithm().filter(|name| !names.iter().any(|cc| is(cc, name))) {
                let message = format!("--set changes a parameter of `{algorithm}`, which is not compared");
                return Err(Failure::new(Exit::Usage, message, format!("--cc names {}", names.join(", "))));
            }
        }
        let flows = self.path.rtt.len();
        if flows > MOST_FLOWS {
            let message = format!("--rtt has {flows} values, one for each flow; it may have {MOST_FLOWS}");
            let help =
                "write a scenario file, where a flow has a `count`, and perform `fairpace sim` with it";
            return Err(Failure::new(Exit::Usage, message, help));
        }
        let scenarios: Vec<Scenario> = names.iter().map(|cc| self.scenario(cc)).collect::<Result<_, _>>()?;
        let algorithms = scenarios.iter().filter_map(|scenario| Some(&scenario.flows.first()?.cc));
        distinct(&algorithms.collect::<Vec<_>>(), "--cc")?;
        Ok(scenarios)
    }

    /// The scenario of one algorithm. Parameters of other algorithms in [`Comparison::sets`] are left out.
    ///
    /// # Errors
    /// Returns an error if a value is wrong.
    pub fn scenario(&self, cc: &str) -> Result<Scenario, Invalid> {
        let PathArgs { rate, buffer, rtt, duration, stagger, warmup } = self.path;
        let mut sets = vec![
            Set::argument("--duration", "duration", duration),
            Set::argument("--rate", "link.rate", rate),
            Set::argument("--buffer", "link.buffer", buffer),
            Set::argument("--cc", "flow.cc", cc),
        ];
        // without it a scenario's own default holds, which is this third too
        sets.extend(warmup.as_ref().map(|warmup| Set::argument("--warmup", "window.from", warmup)));
        let stagger = stagger.unwrap_or_else(|| {
            let third = parse_time(duration).unwrap_or_default() / 3;
            third.min(LONGEST_WARMUP) / STAGGERS_IN_WARMUP
        });
        for (index, (rtt, number)) in rtt.iter().zip(1u32..).enumerate() {
            let start = stagger.saturating_mul(index as u32);
            sets.push(Set::argument("--rtt", format!("flow.{number}.rtt"), rtt));
            sets.push(Set::argument("--stagger", format!("flow.{number}.start"), show_time(start)));
        }
        let is_for_this_run = |set: &&Set| set.algorithm().is_none_or(|algorithm| is(cc, algorithm));
        sets.extend(self.sets.iter().filter(is_for_this_run).cloned());
        let mut scenario = parse("", &template(self.path.rtt.len()), &sets, self.target)?;
        if scenario.title == UNTITLED {
            scenario.title = title(&scenario);
        }
        Ok(scenario)
    }
}

/// Longest measured part that is left out by default, as in a scenario file.
const LONGEST_WARMUP: Duration = Duration::from_secs(20);
/// Default distances between the starts of two flows in the default warm-up: 5 s in 20 s.
const STAGGERS_IN_WARMUP: u32 = 4;

/// Whether an argument of `--cc`, which may be a header or a variant, means the algorithm of this name.
fn is(cc: &str, name: &str) -> bool {
    Algorithm::by_name(Cc::split(cc).0).is_ok_and(|algorithm| algorithm.name() == name)
}

/// Checks that no two are the same algorithm with the same parameters; `option` names them.
///
/// # Errors
/// Returns an error that has the names of two equal ones.
pub fn distinct(algorithms: &[&Cc], option: &str) -> Result<(), Failure> {
    for (index, cc) in algorithms.iter().enumerate() {
        let Some(other) = algorithms[..index].iter().find(|other| other.is_same(cc)) else { continue };
        let [cc, other] = [cc, other].map(ToString::to_string);
        let (message, help) = if cc == other {
            (
                format!("{option} names {cc} twice"),
                "name each algorithm once; `NAME:PARAMETER=VALUE` is a variant",
            )
        } else {
            let message =
                format!("{option} names one algorithm twice: `{other}` and `{cc}` have the same parameters");
            (message, "`fairpace algorithms NAME` shows the defaults")
        };
        return Err(Failure::new(Exit::Usage, message, help));
    }
    Ok(())
}

/// Most flows of a comparison: the time to apply an argument to a flow is proportional to the number of all
/// flows.
const MOST_FLOWS: usize = 500;
const UNTITLED: &str = "comparison";

/// The scenario file before the arguments set its keys.
fn template(flows: usize) -> String {
    format!("title = \"{UNTITLED}\"\n[window]\n[[link]]\n{}", "[[flow]]\n".repeat(flows))
}

/// Title of a scenario: "bbq: 10ms and 50ms on 100mbit, 2MB".
fn title(scenario: &Scenario) -> String {
    let cc = scenario.flows.first().map_or_else(String::new, |flow| flow.cc.to_string());
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
