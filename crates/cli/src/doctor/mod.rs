//! `fairpace doctor`: the abilities of this machine, settings that may surprise its administrator, and what
//! to do about them.
//!
//! [`Features`] checks the kernel, [`host`] restrictions on loading, [`boot`] the next boot, [`traffic`]
//! other settings that decide about sockets, and [`path`] limits of a flow. Each check reads files below a
//! root, so that tests can make a machine of their own. Only a check that makes loading impossible changes
//! the exit code.

mod boot;
mod host;
mod path;
mod qdisc;
mod traffic;

use std::fs;
use std::io;
use std::path::PathBuf;

use fairpace_cli_core::args::Global;
use fairpace_cli_core::failure::Failure;
use fairpace_cli_core::output::Output;
use fairpace_cli_core::place::Emulator;
use fairpace_cli_core::table::{self, prose, table};
use fairpace_kernel::{Check, Features, Standing};
use serde::Serialize;

use crate::args::DoctorArgs;

/// The files of a machine, below a root.
struct Machine {
    root: PathBuf,
}

impl Machine {
    fn here() -> Machine {
        Machine { root: PathBuf::from("/") }
    }

    /// A path below the root.
    fn at(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    /// A file's text without the white space around it.
    fn read(&self, path: &str) -> io::Result<String> {
        fs::read(self.at(path)).map(|bytes| String::from_utf8_lossy(&bytes).trim().to_owned())
    }

    /// The numbers in a file of `/proc/sys`; empty if there is no such file.
    fn numbers(&self, path: &str) -> Vec<u64> {
        let text = self.read(path).unwrap_or_default();
        text.split_whitespace().map_while(|word| word.parse().ok()).collect()
    }
}

#[derive(Serialize)]
struct DoctorRecord<'a> {
    kernel: &'a str,
    can_load: bool,
    can_measure: bool,
    checks: Vec<CheckRecord<'a>>,
}

#[derive(Serialize)]
struct CheckRecord<'a> {
    what: &'a str,
    standing: &'static str,
    found: &'a str,
    matters: &'a str,
    remedy: &'a str,
}

impl<'a> From<&'a Check> for CheckRecord<'a> {
    fn from(check: &'a Check) -> Self {
        let Check { what, standing: stands, found, matters, remedy } = check;
        Self { what, standing: standing(*stands), found, matters, remedy }
    }
}

fn standing(standing: Standing) -> &'static str {
    match standing {
        Standing::Ok => "ok",
        Standing::Degraded => "degraded",
        Standing::Missing => "missing",
    }
}

/// Prints the checks of this machine. Fails if it cannot load algorithms.
pub(crate) fn run(args: &DoctorArgs, global: Global, out: &mut Output) -> Result<(), Failure> {
    let features = Features::probe();
    let can_load = features.require();
    let can_measure = fairpace_testbed::check_machine(&fairpace_testbed::Options::default());
    let machine = Machine::here();
    let mut checks: Vec<Check> = features.checks.clone();
    checks.extend(host::checks(&machine, can_load.is_ok()));
    checks.extend(boot::checks(&machine));
    checks.extend(traffic::checks(&machine));
    checks.extend(path::checks(&machine, args.path));
    checks.push(testbed(&can_measure));
    checks.push(virtual_time("virtual time", Emulator::Qemu));
    checks.push(virtual_time("virtual time, UML", Emulator::Uml));
    if global.json {
        return out
            .json(&DoctorRecord {
                kernel: &features.release,
                can_load: can_load.is_ok(),
                can_measure: can_measure.is_ok(),
                checks: checks.iter().map(CheckRecord::from).collect(),
            })
            .and_then(|()| can_load.map_err(Failure::from));
    }
    out.text(&diagnosis(&features.release, &checks, can_load.is_ok(), can_measure.is_ok()))?;
    can_load.map_err(Failure::from)
}

/// The check of the testbed. A server does not need the testbed, so a missing part is no reason to fail.
fn testbed(machine: &Result<(), fairpace_testbed::Error>) -> Check {
    let topic = Topic(
        "testbed",
        "`testbed` and `compare --on kernel` measure between network namespaces, over TUN devices",
    );
    match machine {
        Ok(()) => topic.ok("network namespaces and TUN devices can be made"),
        Err(error) => {
            let remedy = miette::Diagnostic::help(error).map(|help| help.to_string());
            topic.degraded(error.to_string(), remedy.unwrap_or_default())
        }
    }
}

/// The check of kernels in virtual time, which a server does not need either.
fn virtual_time(what: &'static str, emulator: Emulator) -> Check {
    let topic = Topic(
        what,
        "`--on virtual` runs real flows in a kernel whose time no load of this machine can disturb",
    );
    match fairpace_cli_core::virtual_time::available(emulator) {
        Ok(found) => topic.ok(found),
        Err(error) => {
            let remedy = miette::Diagnostic::help(&error).map(|help| help.to_string());
            topic.degraded(error.to_string(), remedy.unwrap_or_default())
        }
    }
}

/// The topic of a check: what is checked, and why it matters.
#[derive(Debug, Clone, Copy)]
struct Topic(&'static str, &'static str);

impl Topic {
    fn ok(self, found: impl Into<String>) -> Check {
        self.check(Standing::Ok, found, "")
    }

    fn degraded(self, found: impl Into<String>, remedy: impl Into<String>) -> Check {
        self.check(Standing::Degraded, found, remedy)
    }

    fn check(self, standing: Standing, found: impl Into<String>, remedy: impl Into<String>) -> Check {
        let Topic(what, matters) = self;
        Check { what, standing, found: found.into(), matters, remedy: remedy.into() }
    }
}

fn diagnosis(release: &str, checks: &[Check], can_load: bool, can_measure: bool) -> String {
    let mut out = format!("kernel {release}\n\n");
    let mut lines = table(&["", "checked", "found"], 3);
    for check in checks {
        lines.add_row([standing(check.standing), check.what, check.found.as_str()]);
    }
    out.push_str(&table::text(&lines));
    for check in checks.iter().filter(|check| check.standing != Standing::Ok) {
        let text = format!("\n{}: {}\n  why it matters: {}\n", check.what, check.found, check.matters);
        out.push_str(&prose(&text));
        if !check.remedy.is_empty() {
            out.push_str(&prose(&format!("  what to do: {}\n", check.remedy)));
        }
    }
    let answer = |can: bool| if can { "yes" } else { "no" };
    out.push_str(&format!(
        "\nalgorithms can be loaded: {}\nreal flows can be measured: {}\n",
        answer(can_load),
        answer(can_measure)
    ));
    out
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A machine with these files, for tests.
    pub(super) fn machine(files: &[(&str, &str)]) -> (tempfile::TempDir, Machine) {
        let folder = tempfile::tempdir().expect("a folder");
        for (path, text) in files {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().expect("it has one")).expect("ours");
            fs::write(path, text).expect("ours");
        }
        let root = folder.path().to_owned();
        (folder, Machine { root })
    }

    #[test]
    fn only_what_is_not_well_is_explained() {
        let checks = [
            Topic("a", "it is needed").ok("fine"),
            Topic("b", "it costs time").degraded("slow", "make it faster"),
        ];
        let text = diagnosis("6.1", &checks, true, false);
        assert!(!text.contains("it is needed") && text.contains("what to do: make it faster"), "{text}");
        assert!(text.contains("loaded: yes") && text.contains("measured: no"), "{text}");
    }
}
