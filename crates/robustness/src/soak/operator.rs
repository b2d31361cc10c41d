//! The operator: commands of an administrator, one after the other, of which some are killed.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::thread::sleep;
use std::time::{Duration, Instant};

use fairpace_kernel::Entry;
use fairpace_scenario::Random;
use serde::Serialize;

use super::below;
use crate::machine::offered;

/// Algorithms whose kernel names leave room for a suffix; one or more of each kind that the shim has.
const ALGORITHMS: [&str; 6] = ["reno", "cubic", "bbr1", "bbq", "bbr3", "level"];
/// A parameter of each of these algorithms with two values in its range, so that a replacement changes a
/// value.
const SETTINGS: [(&str, [&str; 2]); 6] = [
    ("reno", ["beta=0.5", "beta=0.6"]),
    ("cubic", ["beta=0.7", "beta=0.8"]),
    ("bbr1", ["cwnd_gain=2", "cwnd_gain=2.5"]),
    ("bbq", ["alpha=3ms", "alpha=5ms"]),
    ("bbr3", ["beta=0.7", "beta=0.8"]),
    ("level", ["gain=0.25", "gain=0.2"]),
];
const DEFAULT: &str = "/proc/sys/net/ipv4/tcp_congestion_control";
/// Command that runs `panic` in a PID namespace of its own. `panic` visits all network namespaces that it
/// finds; in the PID namespace `/proc` shows none of other processes, so the rest of the machine is not
/// changed.
const ALONE: [&str; 5] = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"];
/// Average number of commands of which one is killed.
const KILLED: usize = 4;
/// Longest time after which a command is killed, ms: an unoptimised command loads in some hundreds.
const KILLED_AFTER_MS: usize = 300;

/// Number of commands by result.
#[derive(Debug, Default, Serialize)]
pub(super) struct Operations {
    done: BTreeMap<&'static str, u64>,
    /// Commands that ended with exit code 6: the name to change did not exist, or existed already.
    refused: BTreeMap<&'static str, u64>,
    killed: BTreeMap<&'static str, u64>,
}

impl Operations {
    pub(super) fn total(&self) -> u64 {
        [&self.done, &self.refused, &self.killed].iter().flat_map(|counts| counts.values()).sum()
    }

    pub(super) fn text(&self) -> String {
        let list = |counts: &BTreeMap<&str, u64>| {
            counts.iter().map(|(name, count)| format!("{name} {count}")).collect::<Vec<_>>().join(", ")
        };
        let [done, refused, killed] = [&self.done, &self.refused, &self.killed].map(list);
        format!("commands done: {done}\nrefused: {refused}\nkilled: {killed}\n")
    }
}

pub(super) struct Operator {
    program: PathBuf,
    folder: tempfile::TempDir,
    random: Random,
    suffix: String,
    default: String,
    pub(super) operations: Operations,
    pub(super) failures: Vec<String>,
}

impl Operator {
    pub(super) fn new(program: &Path, seed: u64) -> io::Result<Operator> {
        let folder = tempfile::Builder::new().prefix("fairpace-soak-").tempdir()?;
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755))?;
        Ok(Operator {
            program: program.to_owned(),
            folder,
            random: Random::new(seed),
            suffix: format!("_{:x}", std::process::id() & 0xffff),
            default: fs::read_to_string(DEFAULT)?.trim().to_owned(),
            operations: Operations::default(),
            failures: Vec::new(),
        })
    }

    /// Performs one command, chosen at random.
    pub(super) fn step(&mut self, offered: &Mutex<Vec<String>>) {
        let algorithm = ALGORITHMS[below(&mut self.random, ALGORITHMS.len())];
        let name = format!("fp_{algorithm}{}", self.suffix);
        let values = SETTINGS.iter().find(|(of, _)| *of == algorithm).map_or(["", ""], |(_, values)| *values);
        let set = values[below(&mut self.random, 2)];
        let suffix = self.suffix.clone();
        let load = [algorithm, "--suffix", &suffix, "--set", set];
        let choice = below(&mut self.random, 24);
        match choice {
            0..4 => self.perform("load", &load),
            4..6 => self.perform("unload", &[&name]),
            6..10 => self.perform("enable", &[&load[..], &["--default"]].concat()),
            10..12 => self.perform("disable", &[&name]),
            12..17 => self.perform("replace", &load),
            17..19 => self.perform("default", &[&name]),
            19 => self.perform("default", &[&self.default.clone()]),
            20 => self.perform("restore", &[]),
            21 => self.perform("apply", &["--replace"]),
            22 => self.perform("status", &[]),
            _ => self.perform("panic", &[]),
        }
        let now = self.offered();
        *offered.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = now;
    }

    /// The program with one of its commands, before the arguments are added.
    fn command(&self, command: &str) -> Command {
        let mut all = Command::new("nice");
        all.args(["-n", "-15"]).env("NO_COLOR", "1");
        if command == "panic" {
            all.args(ALONE);
        }
        all.arg(&self.program).arg(command);
        if ["enable", "disable", "apply", "status", "panic"].contains(&command) {
            all.arg("--config").arg(self.folder.path().join("fairpace.toml"));
        }
        all
    }

    fn perform(&mut self, command: &'static str, arguments: &[&str]) {
        let killed_after = (below(&mut self.random, KILLED) == 0)
            .then(|| Duration::from_millis(below(&mut self.random, KILLED_AFTER_MS) as u64));
        // before the thousands of threads that send and receive
        let mut all = self.command(command);
        all.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let ended = all.spawn().and_then(|mut child| {
            if let Some(after) = killed_after {
                sleep(after);
                child.kill()?; // SIGKILL
            }
            child.wait_with_output()
        });
        let counts = match ended {
            Ok(ended) => match ended.status.code() {
                Some(0) => &mut self.operations.done,
                Some(6) => &mut self.operations.refused,
                None if killed_after.is_some() => &mut self.operations.killed,
                other => {
                    let said = String::from_utf8_lossy(&ended.stderr);
                    let what = format!("{command} {} ended with {other:?}: {said}", arguments.join(" "));
                    return self.failures.push(what);
                }
            },
            Err(error) => return self.failures.push(format!("{command}: {error}")),
        };
        *counts.entry(command).or_default() += 1;
    }

    fn offered(&self) -> Vec<String> {
        offered().into_iter().filter(|name| name.ends_with(&self.suffix)).collect()
    }

    /// Unloads all algorithms, at the end.
    pub(super) fn calm_down(&mut self) {
        let said = match self.command("panic").output() {
            Ok(ended) if ended.status.success() => return,
            Ok(ended) => String::from_utf8_lossy(&ended.stderr).into_owned(),
            Err(error) => error.to_string(),
        };
        self.failures.push(format!("the last panic: {said}"));
    }

    /// Differences from the initial state, when all connections have ended.
    pub(super) fn left_behind(&self, limit: Duration) -> Vec<String> {
        let deadline = Instant::now() + limit;
        loop {
            let left = self.left_now();
            if left.is_empty() || Instant::now() > deadline {
                return left;
            }
            sleep(Duration::from_millis(50));
        }
    }

    fn left_now(&self) -> Vec<String> {
        let mut left = Vec::new();
        let default = fs::read_to_string(DEFAULT).unwrap_or_default();
        if default.trim() != self.default {
            left.push(format!("the default is {}, and was {}", default.trim(), self.default));
        }
        left.extend(self.offered().iter().map(|name| format!("the kernel still offers {name}")));
        match fairpace_kernel::list() {
            Ok(entries) => {
                let ours = entries.into_iter().filter(|entry| entry.name.ends_with(&self.suffix));
                let still = |Entry { name, status, .. }| format!("{name} is still in the kernel: {status:?}");
                left.extend(ours.map(still));
            }
            Err(error) => left.push(format!("what is loaded cannot be listed: {error}")),
        }
        if Path::new("/sys/fs/bpf/fairpace").exists() {
            left.push("there are pins in /sys/fs/bpf/fairpace".into());
        }
        left
    }
}
