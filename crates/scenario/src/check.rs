//! Checks of a scenario beyond the form of its values, for files and for scenarios that a program builds.

use std::collections::HashSet;
use std::time::Duration;

use fairpace_cc::{Algorithm, ParamError, UnknownAlgorithm};

use crate::cc::{Cc, CcError, HEADER_END};
use crate::fault::{Complaint, Fault, impossible};
use crate::impairments::in_order;
use crate::key::{Key, Kind, MOST_ARRIVALS, MOST_FLOW_POINTS, MOST_LINKS, MOST_POINTS, RunsOn, Section};
use crate::print::is_printed;
use crate::quantity::{Dimension, show_time};
use crate::row::Lens;
use crate::value::{Given, Value};
use crate::{Flow, Link, Scenario, Target, TimeTable, Trace, Writes, keys, relations, routes, size};

/// Checks that the value is within the key's bounds.
pub(crate) fn bounds(key: &Key, value: u64) -> Result<(), Complaint> {
    if (key.least..=key.most).contains(&value) {
        return Ok(());
    }
    let (which, bound) = if value < key.least { ("at least", key.least) } else { ("at most", key.most) };
    let subject = match key.kind {
        Kind::Text | Kind::Trace | Kind::TimeTable(_) | Kind::Sizes | Kind::Algorithm => {
            format!("`{}` has {value} characters", key.name)
        }
        _ if value == u64::MAX => format!("`{}` is larger than any number that is read", key.name),
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

/// Returns the congestion control called `name`, if it can run on `target`.
pub(crate) fn algorithm(name: &str, target: Target) -> Result<Cc, Complaint> {
    let cc: Cc = name.parse().map_err(complaint_of_cc)?;
    on_target(&cc, target)?;
    Ok(cc)
}

/// Checks that the congestion control can run on `target`.
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
                format!("run the scenario on the testbed, or use one of {}", known.join(", ")),
            ))
        }
        _ => Ok(()),
    }
}

/// Returns the complaint about a wrong algorithm or parameter.
pub(crate) fn complaint_of_cc(error: CcError) -> Complaint {
    let did_you_mean =
        |nearest: Option<&str>| nearest.map(|guess| format!("did you mean `{guess}`? ")).unwrap_or_default();
    match error {
        CcError::Unknown(error) if error.name.ends_with(HEADER_END) => missing_header(&error.name),
        CcError::Unknown(error) => {
            let UnknownAlgorithm { name, nearest, known } = &error;
            let meant = error.meaning().map(|meaning| format!("{meaning}. "));
            let help =
                format!("{}Known are {}", meant.unwrap_or_else(|| did_you_mean(*nearest)), known.join(", "));
            Complaint::new("unknown-algorithm", format!("there is no algorithm `{name}`"), help)
        }
        CcError::NotASetting { ref name, .. } => Complaint::new(
            "wrong-parameter",
            error.to_string(),
            format!("write a parameter and its value after the name, as in `{name}:beta=0.5`"),
        ),
        CcError::KernelName(_) => Complaint::new(
            "unknown-algorithm",
            error.to_string(),
            "write `kernel:` and a name of 1 to 15 letters, digits, `_`, `-` or `.`, as in `kernel:bbr`",
        ),
        CcError::KernelParameter { .. } | CcError::NoneParameter { .. } => {
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
            ParamError::Renamed { algorithm, name, new_name } => Complaint::new(
                "unknown-parameter",
                format!("`{algorithm}` has no parameter `{name}`"),
                format!("it is called `{new_name}` now"),
            ),
            error => Complaint::new(
                "wrong-parameter",
                error.to_string(),
                concat!(
                    env!("CARGO_PKG_REPOSITORY"),
                    "/blob/main/docs/reference/algorithms.md lists each parameter's unit, range and default"
                ),
            ),
        },
    }
}

/// Returns the complaint about a header that does not exist; it says where it was looked for.
fn missing_header(name: &str) -> Complaint {
    let place = std::path::absolute(name).unwrap_or_else(|_| name.into());
    let help = format!("it was looked for as {}", place.display());
    Complaint::new("unknown-header", format!("there is no file `{name}`"), help)
}

/// Returns everything that is wrong with a scenario.
pub(crate) fn faults(scenario: &Scenario, target: Target) -> Vec<Fault> {
    let mut faults = values(scenario, target);
    faults.extend(impossibilities(scenario));
    if target == Target::Testbed {
        faults.extend(one_host(&scenario.flows));
        faults.extend(scenario.flows.iter().enumerate().filter_map(unpaced));
    }
    faults
}

/// Returns the faults of flows with different host settings: on the testbed all flows share a sending and a
/// receiving host.
fn one_host(flows: &[Flow]) -> Vec<Fault> {
    type Differs = fn(&Flow, &Flow) -> bool;
    const SETTINGS: [(&str, &str, Differs); 5] = [
        ("tso", "sending", |a, b| a.sending.tso != b.sending.tso),
        ("sack", "sending", |a, b| a.sending.sack != b.sending.sack),
        ("accecn_option", "sending", |a, b| a.sending.accecn_option != b.sending.accecn_option),
        ("syn_linear_timeouts", "sending", |a, b| {
            a.sending.syn_linear_timeouts != b.sending.syn_linear_timeouts
        }),
        ("synack_retries", "receiving", |a, b| a.receiving.syn_ack_retries != b.receiving.syn_ack_retries),
    ];
    let Some(first) = flows.first() else { return Vec::new() };
    let fault = |(key, host, differs): &(&'static str, &str, Differs)| {
        let index = flows.iter().position(|flow| differs(flow, first))?;
        let message = format!("flows `{}` and `{}` differ in `{key}`", first.name, flows[index].name);
        let help = format!(
            "the testbed has one {host} host: write the same for all flows, or run it in the simulator"
        );
        Some(Complaint::new("not-on-target", message, help).of(Section::Flow, index, key))
    };
    SETTINGS.iter().filter_map(fault).collect()
}

/// Returns the fault of a flow whose pacing is off for an algorithm that asks for pacing: on Linux the
/// algorithm sets `sk_pacing_status` when it starts, and nothing resets it.
fn unpaced((index, flow): (usize, &Flow)) -> Option<Fault> {
    if flow.sending.pacing != Some(false) || !flow.cc.paces_on_linux() {
        return None;
    }
    let message = format!("`{}` paces on Linux, which has no switch against it", flow.cc);
    let help = "leave `pacing` out, or run it in the simulator";
    Some(Complaint::new("not-on-target", message, help).of(Section::Flow, index, "pacing"))
}

/// Returns the faults of values that are each plausible but impossible together.
fn impossibilities(scenario: &Scenario) -> Vec<Fault> {
    let mut faults = Vec::new();
    window(scenario, &mut faults);
    flows(scenario, &mut faults);
    for (index, link) in scenario.links.iter().enumerate() {
        faults.extend(self::link(link).map(|(key, complaint)| complaint.of(Section::Link, index, key)));
    }
    arrivals(scenario, &mut faults);
    let count = scenario.links.len() as u64;
    if let Some(index) = usize::try_from(MOST_LINKS).ok().filter(|_| count > MOST_LINKS) {
        let message = format!("the scenario has {count} links; it may have at most {MOST_LINKS}");
        faults.push(impossible(Section::Link, index, "name", message, "leave links out"));
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

/// Returns the faults of values of a link that do not go together, each with its key.
fn link(link: &Link) -> impl Iterator<Item = (&'static str, Complaint)> {
    let loss = link.loss.check().err().map(|complaint| ("loss", complaint));
    let burst = link.loss.burst.and_then(|burst| burst.check().err());
    let loss = loss.into_iter().chain(burst.map(|complaint| ("loss_burst", complaint)));
    let rate_at = in_order(&link.rate_at).err().map(|complaint| ("rate_at", complaint));
    let steps = link.loss_at.steps().unwrap_or_default();
    let steps: Vec<_> = steps.into_iter().map(|(at, ppb)| (Duration::from_nanos(at), ppb)).collect();
    let loss_at = in_order(&steps).err().map(|complaint| ("loss_at", complaint));
    let handover = link.handover.and_then(|handover| handover.check(link.rate_bps));
    let outages = link.check_outages().err().map(|complaint| ("outages", complaint));
    loss.chain(rate_at).chain(loss_at).chain(outages).chain(handover).chain(link.queue.check(link.buffer))
}

/// Checks the number of flows that the workloads start.
fn arrivals(scenario: &Scenario, faults: &mut Vec<Fault>) {
    let mut sum: u128 = 0;
    for (index, flow) in scenario.flows.iter().enumerate() {
        let Some(workload) = &flow.arrivals else { continue };
        let lasts = flow.stop.unwrap_or(scenario.duration).saturating_sub(flow.start);
        sum += u128::from(workload.per_s_milli) * lasts.as_nanos() / 1_000_000_000_000;
        if sum > MOST_ARRIVALS.into() {
            let most = format!("it must be at most {MOST_ARRIVALS}");
            let message = format!("the workloads would start {sum} flows on average; {most}");
            let help = "write fewer `arrivals`, or make the run shorter";
            return faults.push(impossible(Section::Flow, index, "arrivals", message, help));
        }
    }
}

fn window(scenario: &Scenario, faults: &mut Vec<Fault>) {
    let Scenario { duration, window: (from, to), interval, .. } = *scenario;
    let [begins, ends, end, distance] = [from, to, duration, interval].map(show_time);
    if to > duration {
        let message = format!("the window ends at {ends}, but the run at {end}");
        let help = format!("write at most \"{end}\", or make `duration` longer");
        faults.push(impossible(Section::Window, 0, "to", message, help));
    } else if from >= to {
        let message = format!("the window begins at {begins} and ends at {ends}: nothing is in it");
        let longer = if to == duration { ", or make the run longer" } else { "" };
        let help = format!("write a time before \"{ends}\"{longer}");
        faults.push(impossible(Section::Window, 0, "from", message, help));
    }
    if interval > duration {
        let message = format!("`interval` is {distance}, longer than the run of {end}");
        let help = "write a tenth of the run or less";
        faults.push(impossible(Section::Top, 0, "interval", message, help));
    } else {
        faults.extend(points(scenario).or_else(|| size::fault(scenario)));
    }
}

/// Returns the fault of too many points: the time series is kept in memory until the run ends.
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
    let (every, end) = (show_time(interval), show_time(duration));
    let message = format!("a point every {every} makes more than {most} points{of} in {end}");
    let help = format!("write interval = \"{}\" or more", show_time(Duration::from_nanos(least as u64)));
    Some(impossible(Section::Top, 0, "interval", message, help))
}

fn flows(scenario: &Scenario, faults: &mut Vec<Fault>) {
    let end = scenario.duration;
    for (index, flow) in scenario.flows.iter().enumerate() {
        for (key, steps) in [("rtt_at", &flow.rtt_at), ("ack_delay_at", &flow.receiving.ack_delay_at)] {
            faults.extend(in_order(steps).err().map(|complaint| complaint.of(Section::Flow, index, key)));
        }
        let in_scenario =
            |table: &TimeTable| if table.is_file() { None } else { table.check(Dimension::Size).err() };
        if let Writes::Scheduled(table) = &flow.traffic.writes
            && let Some(why) = in_scenario(table)
        {
            let complaint = Complaint::impossible(format!("`writes` {why}"), "write times that grow");
            faults.push(complaint.of(Section::Flow, index, "writes"));
        }
        let mut add = |key, message, help| faults.push(impossible(Section::Flow, index, key, message, help));
        if flow.start >= end {
            let [starts, ends] = [flow.start, end].map(show_time);
            let message = format!("a flow would start at {starts}, but the run ends at {ends}");
            add("start", message, "start it earlier, or make `duration` longer");
        }
        if flow.cc == Cc::Uncontrolled && !matches!(flow.traffic.writes, Writes::Frames(_)) {
            let message = "a flow without congestion control has no rate of its own".to_owned();
            add("cc", message, "write `media_rate`, or an algorithm as `cc`");
        }
        let Some(stop) = flow.stop else { continue };
        if stop > end {
            let [stops, ends] = [stop, end].map(show_time);
            let message = format!("a flow would stop at {stops}, but the run ends at {ends}");
            add("stop", message, "leave `stop` out to run to the end");
        } else if stop <= flow.start {
            let [stops, starts] = [stop, flow.start].map(show_time);
            let message = format!("a flow would stop at {stops}, but start at {starts}");
            add("stop", message, "write a `stop` after the start");
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
            faults.push(complaint.of(section, index, "name"));
        }
    }
}

/// Returns the faults of single values, and of keys of one part that do not go together.
fn values(scenario: &Scenario, target: Target) -> Vec<Fault> {
    let mut faults = Vec::new();
    for section in [Section::Top, Section::Window] {
        let rows = keys::of_scenario().filter(|row| row.key().section == section);
        let rows = keys::with_usual(rows, &Scenario::of_length(scenario.duration));
        part(&rows, section, 0, scenario, target, &mut faults);
    }
    let rows = keys::with_usual(keys::of_link(), &Link::new("", 0, 0));
    for (index, link) in scenario.links.iter().enumerate() {
        part(&rows, Section::Link, index, link, target, &mut faults);
    }
    let rows = keys::with_usual(keys::of_flow(), &Flow::any());
    for (index, flow) in scenario.flows.iter().enumerate() {
        part(&rows, Section::Flow, index, flow, target, &mut faults);
        if let Err(complaint) = on_target(&flow.cc, target) {
            faults.push(complaint.of(Section::Flow, index, "cc"));
        }
    }
    faults.extend(contents(scenario));
    faults
}

/// Returns the faults of the values of one part: their ranges, keys that the target does not have, relations
/// between keys.
fn part<P>(
    rows: &[(&'static dyn Lens<P>, Option<Value>)],
    section: Section,
    index: usize,
    part: &P,
    target: Target,
    faults: &mut Vec<Fault>,
) {
    let mut given = Given::default();
    for (row, usual) in rows {
        let key = row.key();
        let Some(value) = row.get(part) else { continue };
        let ranges = value.measures().into_iter().filter_map(|number| bounds(key, number).err());
        let complaints = ranges.chain(refused(key, &value, usual.as_ref(), target));
        faults.extend(complaints.map(|complaint| complaint.of(section, index, key.name)));
        if is_printed(key, &value, usual.as_ref()) {
            given.push(key, value);
        }
    }
    let complaints = relations::complaints(section, &given, |name| given.get(name).is_some());
    faults.extend(complaints.into_iter().map(|(key, complaint)| complaint.of(section, index, key)));
}

/// Returns the complaint about a value that the target does not have and would ignore.
fn refused(key: &Key, value: &Value, usual: Option<&Value>, target: Target) -> Option<Complaint> {
    let written = match (target, key.runs_on) {
        (Target::Testbed, RunsOn::Simulator) if Some(value) != usual => format!("`{}`", key.name),
        (Target::Testbed, RunsOn::BothExcept(words)) => {
            let word = words.iter().find(|word| value.is_word(word))?;
            format!("`{} = \"{word}\"`", key.name)
        }
        _ => return None,
    };
    Some(Complaint::new(
        "not-on-target",
        format!("the testbed does not have {written}"),
        "leave it out, or run the scenario in the simulator",
    ))
}

/// Checks that a link can have the mean rate of the trace; the error says why not.
pub(crate) fn trace(trace: &Trace) -> Result<(), String> {
    trace.check()?;
    let rate = keys::find(Section::Link, "rate").map_or(Ok(()), |key| bounds(key, trace.mean_bps()));
    rate.map_err(|complaint| format!("has a wrong mean rate: {}", complaint.message))
}

/// Returns the faults of the contents of files, for a scenario that was not read from a file.
fn contents(scenario: &Scenario) -> impl Iterator<Item = Fault> {
    let traces = scenario.links.iter().enumerate().filter_map(|(index, link)| {
        let read = link.trace.as_ref()?;
        let mean = || match read.mean_bps() == link.rate_bps {
            true => Ok(()),
            false => Err("has a link with a rate of its own: `rate_bps` must be its mean".to_owned()),
        };
        let why = trace(read).and_then(|()| mean()).err()?;
        let help = "read it with `Trace::read`, and set `rate_bps` to `Trace::mean_bps`";
        Some(Complaint::impossible(format!("the trace {why}"), help).of(Section::Link, index, "trace"))
    });
    let sizes = scenario.flows.iter().enumerate().filter_map(|(index, flow)| {
        let why = flow.arrivals.as_ref()?.sizes.check().err()?;
        let help = "read it with `Sizes::read`, or take one that is built in";
        Some(Complaint::impossible(format!("the distribution {why}"), help).of(Section::Flow, index, "sizes"))
    });
    let tables = scenario.links.iter().enumerate().filter_map(|(index, link)| {
        let table = Some(&link.loss_at).filter(|table| table.is_file())?;
        Some(wrong_table(&table.check(Dimension::Share).err()?).of(Section::Link, index, "loss_trace"))
    });
    let writes = scenario.flows.iter().enumerate().filter_map(|(index, flow)| match &flow.traffic.writes {
        Writes::Scheduled(table) if table.is_file() => {
            let complaint = wrong_table(&table.check(Dimension::Size).err()?);
            Some(complaint.of(Section::Flow, index, "write_trace"))
        }
        _ => None,
    });
    traces.chain(sizes).chain(tables).chain(writes)
}

/// Returns the complaint about a table of values with their times that no file can have.
fn wrong_table(why: &str) -> Complaint {
    Complaint::impossible(format!("the table {why}"), "read it with `TimeTable::read`")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::TIME;
    use crate::row::{Row, field};

    #[test]
    fn a_key_of_links_that_only_the_simulator_has_is_refused_at_its_link() {
        static ROW: Row<Link> = Row::link("hold", TIME, field!(Link, line.delay), "").range(0, 9).optional();
        static SIMULATED: Row<Link> =
            Row::link("hold", TIME, field!(Link, line.delay), "").range(0, 9).optional().simulator_only();
        let mut link = Link::new("l", 0, 0);
        let found = |row: &'static dyn Lens<Link>, link: &Link, target| {
            let mut faults = Vec::new();
            let rows = keys::with_usual([row].into_iter(), &Link::new("", 0, 0));
            part(&rows, Section::Link, 3, link, target, &mut faults);
            faults.iter().map(|fault| (fault.index, fault.key, fault.complaint.kind)).collect::<Vec<_>>()
        };
        assert_eq!(found(&SIMULATED, &link, Target::Testbed), [], "it is at its default");
        link.line.delay = Duration::from_nanos(5);
        assert_eq!(found(&SIMULATED, &link, Target::Testbed), [(3, "hold", "not-on-target")]);
        assert_eq!(found(&SIMULATED, &link, Target::Simulator), []);
        assert_eq!(found(&ROW, &link, Target::Testbed), []);
    }
}
