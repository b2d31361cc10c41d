//! What must hold of a scenario beyond the form of its values, in one place for files and for scenarios that
//! a program puts together.

use std::collections::HashSet;
use std::time::Duration;

use fairpace_cc::{Algorithm, ParamError, UnknownAlgorithm};

use crate::cc::{Cc, CcError};
use crate::fault::{Complaint, Fault, impossible};
use crate::impairments::in_order;
use crate::key::{Key, Kind, MOST_ARRIVALS, MOST_FLOW_POINTS, MOST_LINKS, MOST_POINTS, Section};
use crate::quantity::{Dimension, PACKET_BYTES, show, show_limit, show_time};
use crate::value::Value;
use crate::{FqCodel, Link, Queue, Red, Scenario, Target, Traffic, keys, routes};

/// Is the value within the key's bounds?
pub(crate) fn bounds(key: &Key, value: u64) -> Result<(), Complaint> {
    if (key.least..=key.most).contains(&value) {
        return Ok(());
    }
    let (which, bound) = if value < key.least { ("at least", key.least) } else { ("at most", key.most) };
    let subject = match key.kind {
        Kind::Text | Kind::Trace | Kind::Sizes | Kind::Algorithm => {
            format!("`{}` has {value} characters", key.name)
        }
        _ if value == u64::MAX => format!("`{}` is beyond any sense", key.name),
        _ => format!("`{}` is {}", key.name, key.show(value)),
    };
    let why = match (key.name, which) {
        ("buffer", "at least") => ", one full-sized packet: less would let nothing through",
        _ => "",
    };
    Err(Complaint::new(
        "out-of-range",
        format!("{subject}; it must be {which} {}{why}", key.show(bound)),
        format!("write a value from {}", key.bounds()),
    ))
}

/// The congestion control of this name, if it can run on `target`.
pub(crate) fn algorithm(name: &str, target: Target) -> Result<Cc, Complaint> {
    let cc: Cc = name.parse().map_err(complaint_of_cc)?;
    on_target(&cc, target)?;
    Ok(cc)
}

/// Can this congestion control run on `target`?
fn on_target(cc: &Cc, target: Target) -> Result<(), Complaint> {
    cc.check().map_err(complaint_of_cc)?;
    match (cc, target) {
        (Cc::Kernel(_), Target::Simulator) => {
            let known: Vec<_> = Algorithm::all().map(Algorithm::name).collect();
            Err(Complaint::new(
                "unknown-algorithm",
                format!(
                    "`{cc}` is one of the running kernel's own algorithms; the simulator does not have it"
                ),
                format!("run the file on the testbed, or use one of {}", known.join(", ")),
            ))
        }
        _ => Ok(()),
    }
}

/// The complaint about a wrong algorithm or parameter.
pub(crate) fn complaint_of_cc(error: CcError) -> Complaint {
    let did_you_mean =
        |nearest: Option<&str>| nearest.map(|guess| format!("did you mean `{guess}`? ")).unwrap_or_default();
    match error {
        CcError::Unknown(UnknownAlgorithm { name, nearest, known }) => Complaint::new(
            "unknown-algorithm",
            format!("there is no algorithm `{name}`"),
            format!("{}Known are {}", did_you_mean(nearest), known.join(", ")),
        ),
        CcError::KernelName(_) => Complaint::new(
            "unknown-algorithm",
            error.to_string(),
            "write `kernel:` and a name of 1 to 15 letters, digits, `_`, `-` or `.`, as in `kernel:bbr`",
        ),
        CcError::KernelParameter { .. } => {
            Complaint::new("unknown-parameter", error.to_string(), "it has no parameters")
        }
        CcError::Parameter(error) => match *error {
            ParamError::Unknown { algorithm, name, nearest, known } => {
                let help = if known.is_empty() {
                    "it has no parameters".to_owned()
                } else {
                    format!("{}It has {}", did_you_mean(nearest), known.join(", "))
                };
                let message = format!("`{algorithm}` has no parameter `{name}`");
                Complaint::new("unknown-parameter", message, help)
            }
            error => Complaint::new(
                "wrong-parameter",
                error.to_string(),
                "docs/reference/algorithms.md has each parameter's unit, range and default",
            ),
        },
    }
}

/// What is impossible in a scenario whose values are each plausible.
pub(crate) fn relations(scenario: &Scenario) -> Vec<Fault> {
    let mut faults = Vec::new();
    window(scenario, &mut faults);
    flows(scenario, &mut faults);
    for (index, link) in scenario.links.iter().enumerate() {
        self::link(link, |key, (message, help)| {
            faults.push(impossible(Section::Link, index, key, message, help));
        });
    }
    arrivals(scenario, &mut faults);
    let count = scenario.links.len() as u64;
    if let Some(index) = usize::try_from(MOST_LINKS).ok().filter(|_| count > MOST_LINKS) {
        let message = format!("the scenario has {count} links; it may have at most {MOST_LINKS}");
        faults.push(impossible(Section::Link, index, "name", message, "leave links out".into()));
    }
    let links = scenario.links.iter().map(|link| link.name.as_str());
    duplicates(Section::Link, links, &mut faults);
    // links are found by their name
    if faults.iter().all(|fault| fault.section != Section::Link) {
        faults.extend(routes::faults(scenario));
    }
    let names = scenario.flows.iter().map(|flow| flow.name.as_str());
    duplicates(Section::Flow, names, &mut faults);
    faults
}

/// What does not go together in a link.
fn link(link: &Link, mut fault: impl FnMut(&'static str, (String, String))) {
    let mut check = |key, result: Result<(), (String, String)>| {
        if let Err(why) = result {
            fault(key, why);
        }
    };
    check("loss", link.loss.check());
    check("rate_at", in_order(&link.rate_at));
    let most = link.buffer.bytes();
    let buffer = || show_limit(link.buffer);
    let size = |bytes| show(bytes, Dimension::Size);
    match link.queue {
        Queue::Step(above) if above.bytes() >= most => {
            let message = format!("the queue marks above {}, but holds only {}", show_limit(above), buffer());
            check("mark_above", Err((message, "write less than `buffer`".into())));
        }
        Queue::Red(Red { min_bytes, max_bytes, burst_pkts, .. }) => {
            let (min, max) = (size(min_bytes), size(max_bytes));
            if min_bytes >= max_bytes {
                let message = format!("the queue drops none below {min} and all above {max}");
                check(
                    "red_min",
                    Err((message, "write a `red_min` below `red_max`, such as a third of it".into())),
                );
            } else if max_bytes > most {
                let message =
                    format!("the average backlog never gets to {max}: the queue holds only {}", buffer());
                let help = "write a larger `buffer` or a smaller `red_max`, such as a quarter of the buffer";
                check("red_max", Err((message, help.into())));
            }
            if burst_pkts.saturating_mul(PACKET_BYTES) < min_bytes {
                let message = format!(
                    "a burst of {burst_pkts} packets does not fill {min}: the average has no weight for it"
                );
                let help =
                    format!("write at least {}, or a smaller `red_min`", min_bytes.div_ceil(PACKET_BYTES));
                check("red_burst", Err((message, help)));
            }
        }
        Queue::Codel(codel) | Queue::FqCodel(FqCodel { codel, .. })
            if codel.target_ns >= codel.interval_ns =>
        {
            let time = |ns| show(ns, Dimension::Time);
            let (target, interval) = (time(codel.target_ns), time(codel.interval_ns));
            let message = format!("a target of {target} cannot be judged over an interval of {interval}");
            let help = "write a `target` of 5 to 10 % of `codel_interval` (RFC 8289, section 3.2)";
            check("target", Err((message, help.into())));
        }
        _ => {}
    }
}

/// How many flows do the workloads start?
fn arrivals(scenario: &Scenario, faults: &mut Vec<Fault>) {
    let mut sum: u128 = 0;
    for (index, flow) in scenario.flows.iter().enumerate() {
        let Some(workload) = &flow.arrivals else { continue };
        let lasts = flow.stop.unwrap_or(scenario.duration).saturating_sub(flow.start);
        sum += u128::from(workload.per_s_milli) * lasts.as_nanos() / 1_000_000_000_000;
        if sum > MOST_ARRIVALS.into() {
            faults.push(impossible(
                Section::Flow,
                index,
                "arrivals",
                format!(
                    "the workloads would start {sum} flows on average; it must be at most {MOST_ARRIVALS}"
                ),
                "write fewer `arrivals`, or make the run shorter".into(),
            ));
            return;
        }
    }
}

fn window(scenario: &Scenario, faults: &mut Vec<Fault>) {
    let Scenario { duration, window: (from, to), interval, .. } = *scenario;
    let end = show_time(duration);
    if to > duration {
        faults.push(impossible(
            Section::Window,
            0,
            "to",
            format!("the window ends at {}, but the run at {end}", show_time(to)),
            format!("write at most \"{end}\", or make `duration` longer"),
        ));
    } else if from >= to {
        faults.push(impossible(
            Section::Window,
            0,
            "from",
            format!(
                "the window begins at {} and ends at {}: nothing is in it",
                show_time(from),
                show_time(to)
            ),
            format!(
                "write a time before \"{}\"{}",
                show_time(to),
                if to == duration { ", or make the run longer" } else { "" }
            ),
        ));
    }
    if interval > duration {
        faults.push(impossible(
            Section::Top,
            0,
            "interval",
            format!("`interval` is {}, longer than the run of {end}", show_time(interval)),
            "write a tenth of the run or less".into(),
        ));
    } else {
        faults.extend(points(scenario));
    }
}

/// The time series is kept in memory until the run ends.
fn points(scenario: &Scenario) -> Option<Fault> {
    let Scenario { duration, interval, ref flows, .. } = *scenario;
    let flows = flows.len().max(1) as u64;
    let most = MOST_POINTS.min(MOST_FLOW_POINTS / flows).max(1);
    if interval.is_zero() || duration.as_nanos() / interval.as_nanos() <= most.into() {
        return None;
    }
    let of = if most < MOST_POINTS { format!(" for each of {flows} flows") } else { String::new() };
    // in whole milliseconds if that is fine enough
    let least = duration.as_nanos().div_ceil(most.into());
    let least = if least > 1_000_000 { least.next_multiple_of(1_000_000) } else { least };
    Some(impossible(
        Section::Top,
        0,
        "interval",
        format!(
            "a point every {} makes more than {most} points{of} in {}",
            show_time(interval),
            show_time(duration)
        ),
        format!("write interval = \"{}\" or more", show_time(Duration::from_nanos(least as u64))),
    ))
}

fn flows(scenario: &Scenario, faults: &mut Vec<Fault>) {
    let end = scenario.duration;
    for (index, flow) in scenario.flows.iter().enumerate() {
        // a group's numbers make its names longer than what was written
        let name = keys::find(Section::Flow, "name");
        if let Some(Err(complaint)) = name.map(|key| bounds(key, flow.name.chars().count() as u64)) {
            faults.push(Fault { section: Section::Flow, index, key: "name", item: None, complaint });
        }
        if let Err((message, help)) = in_order(&flow.rtt_at) {
            faults.push(impossible(Section::Flow, index, "rtt_at", message, help));
        }
        if let Err((message, help)) = in_order(&flow.receiving.ack_delay_at) {
            faults.push(impossible(Section::Flow, index, "ack_delay_at", message, help));
        }
        if flow.start >= end {
            faults.push(impossible(
                Section::Flow,
                index,
                "start",
                format!(
                    "a flow would start at {}, but the run ends at {}",
                    show_time(flow.start),
                    show_time(end)
                ),
                "start it earlier, or make `duration` longer".into(),
            ));
        }
        let Some(stop) = flow.stop else { continue };
        if stop > end {
            faults.push(impossible(
                Section::Flow,
                index,
                "stop",
                format!("a flow would stop at {}, but the run ends at {}", show_time(stop), show_time(end)),
                "leave `stop` out to run to the end".into(),
            ));
        } else if stop <= flow.start {
            faults.push(impossible(
                Section::Flow,
                index,
                "stop",
                format!("a flow would stop at {}, but start at {}", show_time(stop), show_time(flow.start)),
                "write a `stop` after the start".into(),
            ));
        }
    }
}

fn duplicates<'a>(section: Section, names: impl Iterator<Item = &'a str>, faults: &mut Vec<Fault>) {
    let what = if section == Section::Link { "links" } else { "flows" };
    let mut seen = HashSet::new();
    for (index, name) in names.enumerate() {
        if !seen.insert(name) {
            let complaint = Complaint::new(
                "duplicate-name",
                format!("two {what} have the name `{name}`"),
                "give each its own `name`: results identify it by that",
            );
            faults.push(Fault { section, index, key: "name", item: None, complaint });
        }
    }
}

/// Ranges of every value, for a scenario that did not come from a file.
pub(crate) fn values(scenario: &Scenario, target: Target) -> Vec<Fault> {
    let mut faults = Vec::new();
    for row in keys::of_scenario() {
        range(row.key(), 0, row.get(scenario), &mut faults);
    }
    for row in keys::of_link() {
        for (index, link) in scenario.links.iter().enumerate() {
            range(row.key(), index, row.get(link), &mut faults);
        }
    }
    // names of flows are checked when groups are expanded
    for row in keys::of_flow().filter(|row| row.key().name != "name") {
        for (index, flow) in scenario.flows.iter().enumerate() {
            range(row.key(), index, row.get(flow), &mut faults);
        }
    }
    for (index, flow) in scenario.flows.iter().enumerate() {
        if let Err(complaint) = on_target(&flow.cc, target) {
            faults.push(Fault { section: Section::Flow, index, key: "cc", item: None, complaint });
        }
    }
    faults.extend(contents(scenario));
    faults
}

fn range(key: &'static Key, index: usize, value: Option<Value>, faults: &mut Vec<Fault>) {
    for number in value.iter().flat_map(Value::measures) {
        if let Err(complaint) = bounds(key, number) {
            faults.push(Fault { section: key.section, index, key: key.name, item: None, complaint });
        }
    }
}

/// What is wrong with what files hold, for a scenario that did not read them.
fn contents(scenario: &Scenario) -> impl Iterator<Item = Fault> {
    let traces = scenario.links.iter().enumerate().filter_map(|(index, link)| {
        let trace = link.trace.as_ref()?;
        let mean = || {
            let right =
                trace.mean_bps() == link.rate_bps && link.rate_at.is_empty() && link.burst_bytes.is_none();
            if right {
                Ok(())
            } else {
                Err("has a link with a rate of its own: `rate_bps` must be its mean".to_owned())
            }
        };
        let why = trace.check().and_then(|()| mean()).err()?;
        let help = "read it with `Trace::read`, and leave out `rate_at` and `burst`";
        Some(impossible(Section::Link, index, "trace", format!("the trace {why}"), help.into()))
    });
    let sizes = scenario.flows.iter().enumerate().filter_map(|(index, flow)| {
        let why = flow.arrivals.as_ref()?.sizes.check().err()?;
        let help = "read it with `Sizes::read`, or take one that is built in";
        Some(impossible(Section::Flow, index, "sizes", format!("the distribution {why}"), help.into()))
    });
    let both = scenario.flows.iter().enumerate().filter_map(|(index, flow)| {
        let usual = flow.arrivals.is_none() || flow.traffic == Traffic::default();
        let message = "the flows of a workload send what `sizes` says, and all at once".to_owned();
        (!usual)
            .then(|| impossible(Section::Flow, index, "arrivals", message, "leave out what it writes".into()))
    });
    traces.chain(sizes).chain(both)
}
