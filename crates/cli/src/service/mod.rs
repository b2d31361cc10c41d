//! `fairpace enable`, `disable`, `apply`, `default`, `restore`, `replace`, `status` and `panic`: algorithms
//! that a machine loads at boot, and how to remove them.
//!
//! The state is that of the kernel. One file, [`config`], lists the algorithms to load at boot; `apply`,
//! which the boot service runs, brings the kernel into the state that the file describes.

mod boot;
mod config;
mod panic;
mod status;
mod text;

use fairpace_cli_core::args::Global;
use fairpace_cli_core::failure::{Exit, Failure};
use fairpace_cli_core::output::{Output, note};
use fairpace_cli_core::signals::Signals;
use fairpace_kernel::{DefaultChange, Entry, Features, Namespace, Status, is_ours, namespaces};
use serde::Serialize;

use crate::args::{ApplyArgs, DefaultArgs, DisableArgs, EnableArgs, LoadArgs, ReplaceArgs};
use crate::call::Call;
use crate::kernel::{kernel_name, parameters, repair, stopped};
use config::{Config, Wanted};
pub(crate) use panic::panic;
pub(crate) use status::status;
use text::sentence;

/// The result of a command for one algorithm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Done {
    Loaded,
    Replaced,
    AsItWas,
}

#[derive(Serialize)]
struct AlgorithmRecord {
    kernel_name: String,
    done: Done,
}

#[derive(Serialize)]
struct ChangeRecord<'a> {
    algorithms: &'a [AlgorithmRecord],
    default_before: Option<String>,
    default: Option<String>,
    configuration: Option<String>,
    /// Number of network namespaces whose default the command did not change.
    other_namespaces: usize,
}

/// Loads algorithms now and at every boot.
pub(crate) fn enable(args: &EnableArgs, Call { global, signals, out }: Call<'_>) -> Result<(), Failure> {
    let wanted = wanted(&args.load)?;
    if let Some(header) = wanted.iter().find_map(|wanted| wanted.params.algorithm().header()) {
        let header = header.display();
        let message = format!("{header} cannot be loaded at every boot: it would have to be compiled there");
        return Err(Failure::new(Exit::Usage, message, "`fairpace load` loads it until the next boot"));
    }
    let mut config = Config::read(&args.config.path)?;
    Features::probe().require_kernel()?;
    repair(global, &signals)?;
    let algorithms = make_loaded(&wanted, Replacing::IfDifferent, &signals)?;
    let change = match (args.default, wanted.first()) {
        (true, Some(first)) => Some(set_default_everywhere_it_was(&first.kernel_name())?),
        _ => renew(&algorithms)?,
    };
    for wanted in &wanted {
        config.enable(wanted.clone())?;
    }
    if let (true, Some(first)) = (args.default, wanted.first()) {
        config.set_default(Some(&first.kernel_name()))?;
    }
    config.write()?;
    report(&algorithms, change.as_ref(), Some(&config), global, out)?;
    if !global.json && !global.quiet {
        boot::advise(out)?;
    }
    Ok(())
}

/// Removes algorithms from the kernel and from the configuration.
pub(crate) fn disable(args: &DisableArgs, Call { global, signals, out }: Call<'_>) -> Result<(), Failure> {
    let mut config = Config::read(&args.config.path)?;
    repair(global, &signals)?;
    let names: Vec<String> = if args.all {
        config.load.iter().map(Wanted::kernel_name).collect()
    } else {
        args.names.iter().map(|name| kernel_name(name)).collect()
    };
    let entries = fairpace_kernel::list()?;
    let is_loaded = |name: &&String| entries.iter().any(|e| e.name == **name && e.status != Status::Draining);
    for name in &names {
        if !is_loaded(&name) && !config.load.iter().any(|wanted| wanted.kernel_name() == *name) {
            let message = format!("{name} is neither loaded nor in {}", config.path().display());
            return Err(Failure::new(Exit::Busy, message, "`fairpace status` shows what is"));
        }
    }
    // the file first: what is left of an interruption is loaded, and not loaded again
    for name in &names {
        config.disable(name)?;
    }
    if config.exists {
        config.write()?;
    }
    let mut lines = Vec::new();
    if names.contains(&fairpace_kernel::default()?)
        && let Some(change) = fairpace_kernel::restore_default()?
    {
        lines.push(sentence(&change));
    }
    let loaded: Vec<&str> = names.iter().filter(is_loaded).map(String::as_str).collect();
    fairpace_kernel::unload_all(&loaded, &|| signals.received().is_some())
        .map_err(|error| stopped(error, &signals, "nothing was unloaded"))?;
    if global.json {
        return out.json(&names);
    }
    lines.extend(names.iter().map(|name| format!("{name} is unloaded, and not loaded at boot")));
    lines.extend(still_defaults(&names)?);
    lines.iter().try_for_each(|line| out.line(line))
}

/// Brings the kernel into the state that the configuration describes: for the boot service, and after an
/// upgrade. The message of a failure names the default that is then set.
pub(crate) fn apply(args: &ApplyArgs, call: Call<'_>) -> Result<(), Failure> {
    make_as_configured(args, call).map_err(|failure| match fairpace_kernel::default() {
        Ok(default) => failure.leaving(&format!("the default is {default}")),
        Err(_) => failure,
    })
}

fn make_as_configured(args: &ApplyArgs, Call { global, signals, out }: Call<'_>) -> Result<(), Failure> {
    let config = Config::read(&args.config.path)?;
    if config.load.is_empty() {
        return match global.json {
            true => report(&[], None, Some(&config), global, out),
            false => out.line(&format!("{} wants nothing loaded", config.path().display())),
        };
    }
    Features::probe().require_kernel()?;
    repair(global, &signals)?;
    let replacing = if args.replace { Replacing::Always } else { Replacing::IfDifferent };
    let algorithms = make_loaded(&config.load, replacing, &signals)?;
    let change = match &config.default {
        Some(name) => Some(set_default_everywhere_it_was(name)?),
        None => renew(&algorithms)?,
    };
    report(&algorithms, change.as_ref(), Some(&config), global, out)
}

/// Replaces the code or the parameters of loaded algorithms.
pub(crate) fn replace(args: &ReplaceArgs, Call { global, signals, out }: Call<'_>) -> Result<(), Failure> {
    let wanted = wanted(&args.load)?;
    Features::probe().require_kernel()?;
    repair(global, &signals)?;
    let mut algorithms = Vec::new();
    for wanted in &wanted {
        fairpace_kernel::replace(&wanted.object()?, &wanted.options())?;
        algorithms.push(AlgorithmRecord { kernel_name: wanted.kernel_name(), done: Done::Replaced });
    }
    let change = renew(&algorithms)?;
    report(&algorithms, change.as_ref(), None, global, out)
}

/// Sets the default of this network namespace.
pub(crate) fn default(args: &DefaultArgs, global: Global, out: &mut Output) -> Result<(), Failure> {
    let ours = kernel_name(&args.name);
    let change = match fairpace_kernel::set_default(&ours) {
        // `cubic` and `reno` are names of ours and of the kernel's own, and ours is not loaded
        Err(fairpace_kernel::Error::NotOffered { offered, .. }) if offered.contains(&args.name) => {
            fairpace_kernel::set_default(&args.name)?
        }
        other => other?,
    };
    report(&[], Some(&change), None, global, out)
}

/// Restores the default that this network namespace had before ours.
pub(crate) fn restore(global: Global, out: &mut Output) -> Result<(), Failure> {
    match fairpace_kernel::restore_default()? {
        Some(change) => report(&[], Some(&change), None, global, out),
        None if global.json => report(&[], None, None, global, out),
        None => {
            let name = fairpace_kernel::default()?;
            let what = "the default of this network namespace";
            out.line(&format!("{what} is {name}, which is not ours: nothing to do"))
        }
    }
}

/// The algorithms that a command line names, with their parameters.
fn wanted(args: &LoadArgs) -> Result<Vec<Wanted>, Failure> {
    let all = parameters(args)?;
    Ok(all.into_iter().map(|params| Wanted { params, suffix: args.suffix.clone() }).collect())
}

/// Condition under which a loaded algorithm is replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Replacing {
    /// A loaded algorithm is replaced if its parameters differ.
    IfDifferent,
    /// A loaded algorithm is always replaced: a new version of this program may have new code.
    Always,
}

/// Loads the algorithms that are not loaded, and replaces those that meet the condition.
fn make_loaded(
    wanted: &[Wanted],
    replacing: Replacing,
    signals: &Signals,
) -> Result<Vec<AlgorithmRecord>, Failure> {
    let entries = fairpace_kernel::list()?;
    let mut records = Vec::new();
    for wanted in wanted {
        let kernel_name = wanted.kernel_name();
        let done = match entries.iter().find(|e| e.name == kernel_name && stays(e)) {
            None => {
                let stop = || signals.received().is_some();
                fairpace_kernel::load_objects(&[wanted.object()?], &wanted.options(), &stop)
                    .map_err(|error| stopped(error, signals, "it was not loaded"))?;
                Done::Loaded
            }
            Some(entry) => {
                let same = fairpace_kernel::parameters(entry)?.as_deref() == Some(wanted.params.as_bytes());
                if same && replacing == Replacing::IfDifferent {
                    Done::AsItWas
                } else if same && entry.status == Status::Registered {
                    // no failure: a reload after an upgrade leaves what works
                    note(&format!(
                        "note: {kernel_name} keeps the code that it has until the next boot: Linux before \
                         6.4 cannot replace it"
                    ));
                    Done::AsItWas
                } else {
                    fairpace_kernel::replace(&wanted.object()?, &wanted.options())?;
                    Done::Replaced
                }
            }
        };
        records.push(AlgorithmRecord { kernel_name, done });
    }
    Ok(records)
}

/// Whether a loaded algorithm stays loaded: by a pin, or on a kernel before 6.4, which has no pins for it, by
/// its registration.
fn stays(entry: &Entry) -> bool {
    matches!(entry.status, Status::Pinned(_) | Status::Registered)
}

/// Sets the default of this network namespace, and sets it again in other namespaces that have the same
/// default: a default holds the code that had the name when it was set.
fn set_default_everywhere_it_was(name: &str) -> Result<DefaultChange, Failure> {
    let change = fairpace_kernel::set_default(name)?;
    renew_elsewhere(name)?;
    Ok(change)
}

/// Sets defaults again whose algorithms were replaced.
fn renew(algorithms: &[AlgorithmRecord]) -> Result<Option<DefaultChange>, Failure> {
    let own = fairpace_kernel::default()?;
    let mut change = None;
    for record in algorithms.iter().filter(|record| record.done != Done::AsItWas) {
        if record.kernel_name == own {
            change = Some(fairpace_kernel::set_default(&own)?);
        }
        renew_elsewhere(&record.kernel_name)?;
    }
    Ok(change)
}

fn renew_elsewhere(name: &str) -> Result<(), Failure> {
    for namespace in others()? {
        let renewed = namespace.enter(|| match fairpace_kernel::default() {
            Ok(default) if default == name => fairpace_kernel::set_default(name).map(drop),
            _ => Ok(()),
        });
        if let Err(error) = renewed.and_then(|result| result) {
            note(&format!("note: the default of {namespace} stays at the code from before: {error}"));
        }
    }
    Ok(())
}

/// All network namespaces except this one.
fn others() -> Result<Vec<Namespace>, Failure> {
    let mut all = namespaces()?.found;
    all.remove(0);
    Ok(all)
}

/// Defaults of other network namespaces that still name unloaded algorithms.
fn still_defaults(unloaded: &[String]) -> Result<Vec<String>, Failure> {
    let mut lines = Vec::new();
    for namespace in others()? {
        let default = namespace.enter(fairpace_kernel::default).and_then(|result| result).unwrap_or_default();
        if unloaded.contains(&default) {
            lines.push(format!("{default} is still the default of {namespace}; `fairpace panic` ends that"));
        }
    }
    Ok(lines)
}

fn report(
    algorithms: &[AlgorithmRecord],
    change: Option<&DefaultChange>,
    config: Option<&Config>,
    global: Global,
    out: &mut Output,
) -> Result<(), Failure> {
    let other_namespaces = if change.is_some() { others()?.len() } else { 0 };
    if global.json {
        return out.json(&ChangeRecord {
            algorithms,
            default_before: change.map(|change| change.before.clone()),
            default: change.map(|change| change.after.clone()),
            configuration: config.map(|config| config.path().display().to_string()),
            other_namespaces,
        });
    }
    for AlgorithmRecord { kernel_name, done } in algorithms {
        out.line(&match done {
            Done::Loaded => format!("{kernel_name} is loaded"),
            Done::Replaced => {
                let until = "new sockets get the new one, open ones keep the old until they close";
                format!("{kernel_name} is replaced: {until}")
            }
            Done::AsItWas => format!("{kernel_name} is loaded, as it was"),
        })?;
    }
    if let Some(change) = change {
        out.line(&sentence(change))?;
        if other_namespaces > 0 && is_ours(&change.after) != is_ours(&change.before) && !global.quiet {
            out.line(&format!(
                "{other_namespaces} other network namespaces (containers) keep their own defaults: `fairpace \
                 status` lists them"
            ))?;
        }
    }
    Ok(())
}
