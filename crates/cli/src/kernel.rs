//! `fairpace load`, `unload` and `list`: algorithms in the running kernel.

use fairpace_cc::{Algorithm, Params};
use fairpace_cli_core::args::Global;
use fairpace_cli_core::failure::{Exit, Failure};
use fairpace_cli_core::output::note;
use fairpace_cli_core::signals::Signals;
use fairpace_cli_core::table::{self, table};
use fairpace_kernel::{Entry, Features, LoadOptions, Loaded, Object, Status, is_ours};
use fairpace_scenario::visible;
use serde::Serialize;

use crate::args::{LoadArgs, UnloadArgs};
use crate::call::Call;

#[derive(Serialize)]
struct LoadedRecord {
    name: String,
    kernel_name: String,
    parameters: Vec<(&'static str, String)>,
    /// Whether the default of this network namespace has this name, and is an earlier load of the algorithm.
    is_earlier_default: bool,
}

/// Loads all named algorithms, or none of them if one fails or the command is interrupted.
pub(crate) fn load(args: &LoadArgs, Call { global, signals, out }: Call<'_>) -> Result<(), Failure> {
    let wanted = parameters(args)?;
    let options = LoadOptions { suffix: args.suffix.clone(), pin: true };
    let objects = wanted.iter().map(Object::listed).collect::<Result<Vec<_>, _>>()?;
    Features::probe().require_kernel()?;
    repair(global, &signals)?;
    let default = fairpace_kernel::default().ok();
    let handles = fairpace_kernel::load_objects(&objects, &options, &|| signals.received().is_some())
        .map_err(|error| stopped(error, &signals, "nothing was loaded"))?;
    let record = |(params, handle): (&Params, &Loaded)| LoadedRecord {
        name: params.algorithm().name().to_owned(),
        kernel_name: handle.kernel_name().to_owned(),
        parameters: params.formatted(),
        is_earlier_default: default.as_deref() == Some(handle.kernel_name()),
    };
    let loaded: Vec<LoadedRecord> = wanted.iter().zip(&handles).map(record).collect();
    if global.json {
        return out.json(&loaded);
    }
    for record in &loaded {
        out.line(&format!("{} is loaded as {}", record.name, record.kernel_name))?;
    }
    if let Some(record) = loaded.iter().find(|record| record.is_earlier_default) {
        let name = &record.kernel_name;
        out.line(&format!(
            "\nThe default of this network namespace is {name} as it was loaded before: new sockets get its \
             code and parameters until you set it again:\n  sysctl -w net.ipv4.tcp_congestion_control={name}"
        ))?;
    }
    if let (Some(record), false) = (loaded.first(), global.quiet) {
        let name = &record.kernel_name;
        out.line(&format!(
            "\nA socket selects it by name (TCP_CONGESTION); for all new sockets:\n  \
             sysctl -w net.ipv4.tcp_congestion_control={name}\nRemove it: fairpace unload {name}"
        ))?;
    }
    Ok(())
}

/// Completes or undoes the operations that interrupted commands left, and prints a note on them.
pub(crate) fn repair(global: Global, signals: &Signals) -> Result<(), Failure> {
    let repairs = fairpace_kernel::repair(&|| signals.received().is_some())
        .map_err(|error| stopped(error, signals, "nothing was changed"))?;
    for repair in repairs.iter().filter(|_| !global.quiet) {
        note(&format!("note: {repair}"));
    }
    Ok(())
}

/// The failure of an operation that a signal may have stopped.
pub(crate) fn stopped(error: fairpace_kernel::Error, signals: &Signals, result: &'static str) -> Failure {
    match (&error, signals.received()) {
        (fairpace_kernel::Error::Interrupted, Some(signal)) => Failure::signal_with(signal, result),
        _ => error.into(),
    }
}

/// The parameters of each algorithm of the command line.
pub(crate) fn parameters(args: &LoadArgs) -> Result<Vec<Params>, Failure> {
    let usage = |error: String| {
        Failure::new(Exit::Usage, error, "`fairpace algorithms` lists names, parameters, units and ranges")
    };
    let mut wanted: Vec<Params> = Vec::new();
    for name in &args.names {
        let algorithm = Algorithm::by_name(name)?;
        if wanted.iter().any(|params| params.algorithm() == algorithm) {
            return Err(usage(format!("{name} is named twice")));
        }
        wanted.push(Params::defaults(algorithm));
    }
    for set in &args.sets {
        let (key, value) = set.split_once('=').ok_or_else(|| {
            usage(format!("\"{set}\" is not KEY=VALUE; write for example \"bbq.alpha=3ms\""))
        })?;
        let (params, parameter) = match (key.split_once('.'), wanted.as_mut_slice()) {
            (Some((name, parameter)), all) => {
                (all.iter_mut().find(|params| params.algorithm().name() == name), parameter)
            }
            (None, [only]) => (Some(only), key),
            (None, _) => {
                return Err(usage(format!("whose parameter is \"{key}\"? Write ALGORITHM.{key}={value}")));
            }
        };
        let params = params.ok_or_else(|| {
            usage(format!("\"{key}\" is a parameter of something that is not being loaded"))
        })?;
        params.set(parameter, value).map_err(|error| usage(error.to_string()))?;
    }
    Ok(wanted)
}

#[derive(Serialize)]
struct EntryRecord<'a> {
    kernel_name: &'a str,
    name: Option<&'static str>,
    status: &'static str,
    map_id: u32,
    pinned_at: Option<String>,
}

impl<'a> EntryRecord<'a> {
    fn new(entry: &'a Entry) -> Self {
        let (status, pinned_at) = match &entry.status {
            Status::Pinned(path) => ("loaded", Some(path.display().to_string())),
            Status::Held { .. } => ("held", None),
            Status::Registered => ("loaded", None),
            Status::Draining => ("draining", None),
        };
        Self {
            kernel_name: &entry.name,
            name: entry.algorithm.map(Algorithm::name),
            status,
            map_id: entry.map_id,
            pinned_at,
        }
    }

    fn description(&self) -> &'static str {
        match self.status {
            "loaded" => "loaded: sockets can select it until `fairpace unload`",
            "held" => "held by a running process, or by a pin that this mount namespace does not show",
            _ => "unloaded: the sockets that use it still do",
        }
    }
}

/// Name in the kernel: that of a listed algorithm, or the name as it is written.
pub(crate) fn kernel_name(name: &str) -> String {
    Algorithm::by_name(name).map_or_else(|_| name.to_owned(), |algorithm| algorithm.kernel_name().to_owned())
}

/// A note that new sockets still get an unloaded algorithm, if it is the default.
fn note_on_default(unloaded: &[String]) -> Option<String> {
    let default = fairpace_kernel::default().ok()?;
    unloaded.iter().any(|name| kernel_name(name) == default).then(|| {
        format!(
            "\nnet.ipv4.tcp_congestion_control still names {default}: new sockets use it until you choose \
             another one, such as: sysctl -w net.ipv4.tcp_congestion_control=cubic"
        )
    })
}

/// Unloads all named algorithms, or none of them if one fails or the command is interrupted.
pub(crate) fn unload(args: &UnloadArgs, Call { global, signals, out }: Call<'_>) -> Result<(), Failure> {
    check_distinct(&args.names)?;
    repair(global, &signals)?;
    let names = if args.all { all_loaded()? } else { args.names.clone() };
    let words: Vec<&str> = names.iter().map(String::as_str).collect();
    fairpace_kernel::unload_all(&words, &|| signals.received().is_some())
        .map_err(|error| stopped(error, &signals, "nothing was unloaded"))?;
    for name in names.iter().filter(|_| !global.json) {
        out.line(&format!("{name} is unloaded"))?;
    }
    if let (Some(note), false) = (note_on_default(&names), global.json) {
        out.line(&note)?;
    }
    match (global.json, names.is_empty()) {
        (true, _) => out.json(&names),
        (false, true) => out.line("nothing was loaded"),
        (false, false) => Ok(()),
    }
}

/// Checks that no algorithm is named twice. `reno` and `fp_reno` are one algorithm; both names together are
/// an error, as for `load`.
fn check_distinct(names: &[String]) -> Result<(), Failure> {
    let mut seen = Vec::new();
    for name in names.iter().map(|name| kernel_name(name)) {
        if seen.contains(&name) {
            let message = format!("{} is named twice", visible(&name));
            return Err(Failure::new(Exit::Usage, message, "name each algorithm once"));
        }
        seen.push(name);
    }
    Ok(())
}

/// Kernel names of the algorithms that `load` loaded. Algorithms of a testbed run have a dot in their names,
/// and are unloaded when the run ends.
fn all_loaded() -> Result<Vec<String>, Failure> {
    let entries = fairpace_kernel::list()?;
    let of = |wanted: fn(&Status) -> bool| {
        let ours = |entry: &&Entry| is_ours(&entry.name) && !entry.name.contains('.');
        entries.iter().filter(ours).filter(move |entry| wanted(&entry.status)).map(|entry| entry.name.clone())
    };
    let loaded: Vec<String> = of(|status| matches!(status, Status::Pinned(_) | Status::Registered)).collect();
    let held: Vec<String> = of(|status| matches!(status, Status::Held { .. })).collect();
    if loaded.is_empty() && !held.is_empty() {
        let held = held.join(", ");
        let message = format!("{held} has no pin in /sys/fs/bpf/fairpace of this mount namespace");
        let help = "end the process that holds it, or unload it where it was loaded (another container?)";
        return Err(Failure::new(Exit::Busy, message, help));
    }
    Ok(loaded)
}

pub(crate) fn list(Call { global, signals, out }: Call<'_>) -> Result<(), Failure> {
    repair(global, &signals)?;
    let entries = fairpace_kernel::list()?;
    let records: Vec<_> = entries.iter().map(EntryRecord::new).collect();
    if global.json {
        return out.json(&records);
    }
    if records.is_empty() {
        return out.line("no congestion control is loaded as BPF; `fairpace load NAME` loads one");
    }
    let mut lines = table(&["kernel name", "algorithm", "state"], 3);
    for record in &records {
        let name = record.name.unwrap_or("a header of a user");
        lines.add_row([record.kernel_name, name, record.description()]);
    }
    out.text(&table::text(&lines))
}
