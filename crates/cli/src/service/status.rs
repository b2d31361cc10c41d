//! `fairpace status`: which algorithms are loaded, which sockets use them, which defaults are set, and what
//! the next boot will do.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use fairpace_cc::{Algorithm, Clamps, Params};
use fairpace_cli_core::failure::Failure;
use fairpace_cli_core::table::{self, table};
use fairpace_kernel::{Counters, Entry, Namespace, Namespaces, Status, is_ours, namespaces};
use fairpace_results::ClampSummary;
use serde::Serialize;

use super::boot::Service;
use super::config::{Config, Wanted};
use super::stays;
use crate::args::ConfigArgs;
use crate::call::Call;
use crate::kernel::repair;

/// Most network namespaces that are listed; the others are only counted.
const MOST_NAMESPACES: usize = 20;

#[derive(Serialize)]
struct StatusRecord {
    kernel: String,
    /// Time at which the machine was started, seconds since 1970.
    booted_at: Option<u64>,
    algorithms: Vec<AlgorithmRecord>,
    default: String,
    former_default: Option<String>,
    namespaces: Vec<NamespaceRecord>,
    /// Places where other network namespaces may be that were not found.
    unseen: Vec<String>,
    configuration: String,
    next_boot: NextBoot,
    /// Differences between configuration and kernel.
    differences: Vec<String>,
}

#[derive(Serialize)]
struct AlgorithmRecord {
    kernel_name: String,
    name: Option<&'static str>,
    status: &'static str,
    /// Time since a pinned algorithm was loaded, seconds.
    loaded_for_s: Option<u64>,
    sockets: usize,
    has_default_parameters: Option<bool>,
    /// Counters; `None` if a version that does not count loaded the algorithm, or if it has been unloaded.
    counters: Option<CountersRecord>,
}

/// Counters of an algorithm over all sockets, since it was loaded.
#[derive(Serialize)]
struct CountersRecord {
    fallbacks: u64,
    heals: u64,
    clamped: ClampSummary,
    /// The counters in words; empty if all counters are 0.
    #[serde(skip)]
    sentences: Vec<String>,
}

#[derive(Serialize)]
struct NamespaceRecord {
    found_at: String,
    default: String,
}

#[derive(Serialize)]
struct NextBoot {
    service: String,
    loads: Vec<String>,
    default: Option<String>,
}

pub(crate) fn status(args: &ConfigArgs, Call { global, signals, out }: Call<'_>) -> Result<(), Failure> {
    let config = Config::read(&args.path)?;
    repair(global, &signals)?;
    let entries = fairpace_kernel::list()?;
    let ours: Vec<Entry> = entries.into_iter().filter(|entry| is_ours(&entry.name)).collect();
    let all = namespaces()?;
    let record = StatusRecord {
        kernel: fairpace_kernel::Features::probe().release,
        booted_at: booted_at(),
        algorithms: algorithms(&ours)?,
        default: fairpace_kernel::default()?,
        former_default: fairpace_kernel::former_default()?,
        namespaces: other_namespaces(&all),
        unseen: all.closed.into_iter().chain(all.unseen).collect(),
        configuration: config.path().display().to_string(),
        next_boot: NextBoot {
            service: Service::of_this_machine().sentence(),
            loads: config.load.iter().map(Wanted::kernel_name).collect(),
            default: config.default.clone(),
        },
        differences: differences(&config, &ours)?,
    };
    out.record(&record, global, text)
}

fn algorithms(ours: &[Entry]) -> Result<Vec<AlgorithmRecord>, Failure> {
    let users = fairpace_kernel::users(ours)?;
    let record = |(entry, users): (&Entry, &fairpace_kernel::Users)| {
        let parameters = fairpace_kernel::parameters(entry).ok().flatten();
        let defaults = entry.algorithm.map(Params::defaults);
        let counters = fairpace_kernel::counters(entry).ok().flatten();
        let has_defaults = |(parameters, defaults): (Vec<u8>, Params)| parameters == defaults.as_bytes();
        AlgorithmRecord {
            kernel_name: entry.name.clone(),
            name: entry.algorithm.map(Algorithm::name),
            status: match &entry.status {
                Status::Pinned(_) | Status::Registered => "loaded",
                Status::Held { .. } => "held",
                Status::Draining => "draining",
            },
            loaded_for_s: match &entry.status {
                Status::Pinned(path) => age(path).map(|age| age.as_secs()),
                _ => None,
            },
            sockets: users.total(),
            has_default_parameters: parameters.zip(defaults).map(has_defaults),
            counters: counters.map(counters_record),
        }
    };
    Ok(ours.iter().zip(&users).map(record).collect())
}

fn counters_record(counters: Counters) -> CountersRecord {
    let Clamps { cwnd, ssthresh, pacing_rate, min_burst, app_limited } = counters.clamps;
    CountersRecord {
        fallbacks: counters.fallbacks,
        heals: counters.heals,
        clamped: ClampSummary { cwnd, ssthresh, pacing_rate, min_burst, app_limited },
        sentences: counters.sentences(),
    }
}

/// Time since a file was created.
fn age(path: &Path) -> Option<Duration> {
    SystemTime::now().duration_since(fs::metadata(path).ok()?.modified().ok()?).ok()
}

/// Time of the boot from `/proc/stat`, which has it in seconds since 1970.
fn booted_at() -> Option<u64> {
    let text = fs::read_to_string("/proc/stat").ok()?;
    text.lines().find_map(|line| line.strip_prefix("btime "))?.trim().parse().ok()
}

fn other_namespaces(all: &Namespaces) -> Vec<NamespaceRecord> {
    let record = |namespace: &Namespace| {
        let default = namespace.enter(fairpace_kernel::default).and_then(|result| result);
        NamespaceRecord {
            found_at: namespace.to_string(),
            default: default.unwrap_or_else(|error| format!("unknown: {error}")),
        }
    };
    all.found.iter().skip(1).map(record).collect()
}

fn differences(config: &Config, ours: &[Entry]) -> Result<Vec<String>, Failure> {
    let mut found = Vec::new();
    let pinned = |name: &str| ours.iter().find(|e| e.name == name && stays(e));
    for wanted in &config.load {
        let name = wanted.kernel_name();
        match pinned(&name) {
            None => found.push(format!("{name} is to be loaded, and is not: fairpace apply")),
            Some(entry) => {
                if fairpace_kernel::parameters(entry)?.as_deref() != Some(wanted.params.as_bytes()) {
                    found.push(format!("{name} is loaded with other parameters: fairpace apply"));
                }
            }
        }
    }
    for entry in ours.iter().filter(|entry| stays(entry)) {
        if !config.load.iter().any(|wanted| wanted.kernel_name() == entry.name) {
            found.push(format!("{} is loaded until the next boot only", entry.name));
        }
    }
    let default = fairpace_kernel::default()?;
    match &config.default {
        Some(wanted) if *wanted != default => {
            found.push(format!("the default is to be {wanted}, and is {default}: fairpace apply"));
        }
        None if is_ours(&default) => found.push(format!("the default is {default} until the next boot only")),
        _ => {}
    }
    Ok(found)
}

fn text(record: &StatusRecord) -> String {
    let mut out = format!("kernel {}\n\n", record.kernel);
    if record.algorithms.is_empty() {
        out.push_str("nothing of ours is loaded\n");
    } else {
        let mut lines = table(&["loaded in this boot", "state", "since", "parameters", "sockets"], 4);
        for algorithm in &record.algorithms {
            let parameters = match algorithm.has_default_parameters {
                Some(true) => "defaults",
                Some(false) => "changed",
                None => "-",
            };
            let since = algorithm.loaded_for_s.map_or_else(|| "-".to_owned(), ago);
            let state =
                if algorithm.status == "draining" { "replaced or unloaded" } else { algorithm.status };
            let sockets = algorithm.sockets.to_string();
            lines.add_row([algorithm.kernel_name.as_str(), state, &since, parameters, &sockets]);
        }
        out.push_str(&table::text(&lines));
        for algorithm in &record.algorithms {
            let sentences = algorithm.counters.iter().flat_map(|counters| &counters.sentences);
            sentences.for_each(|what| out.push_str(&format!("warning: {}: {what}\n", algorithm.kernel_name)));
        }
    }
    out.push_str(&format!("\ndefault of this network namespace: {}", record.default));
    if let Some(former) = &record.former_default {
        out.push_str(&format!(" (before ours: {former}; `fairpace restore` brings it back)"));
    }
    out.push('\n');
    out.push_str(&others(&record.namespaces));
    for what in &record.unseen {
        out.push_str(&format!("a network namespace is not looked at: {what}\n"));
    }
    out.push_str(&format!("\n{}\n", record.next_boot.service));
    let loads = &record.next_boot.loads;
    let default = record.next_boot.default.as_deref().unwrap_or("the system's own");
    out.push_str(&match loads.is_empty() {
        true => format!("{} wants nothing loaded\n", record.configuration),
        false => format!("{} wants {}; default: {default}\n", record.configuration, loads.join(", ")),
    });
    for difference in &record.differences {
        out.push_str(&format!("differs: {difference}\n"));
    }
    out
}

/// Text on other network namespaces, grouped by their default, since a machine with containers has many.
fn others(namespaces: &[NamespaceRecord]) -> String {
    let mut by_default: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for namespace in namespaces {
        by_default.entry(&namespace.default).or_default().push(&namespace.found_at);
    }
    let mut out = String::new();
    for (default, places) in by_default {
        out.push_str(&format!("{default} is the default of {} other network namespaces\n", places.len()));
        if is_ours(default) {
            places.iter().take(MOST_NAMESPACES).for_each(|place| out.push_str(&format!("  {place}\n")));
        }
    }
    out
}

/// Text of a time, in two units.
fn ago(seconds: u64) -> String {
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3_600 % 24, seconds / 60 % 60);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds} s"),
        (0, 0, _) => format!("{minutes} min {} s", seconds % 60),
        (0, ..) => format!("{hours} h {minutes} min"),
        _ => format!("{days} d {hours} h"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_has_two_units() {
        assert_eq!([59, 61, 3_661, 90_000].map(ago), ["59 s", "1 min 1 s", "1 h 1 min", "1 d 1 h"]);
    }
}
