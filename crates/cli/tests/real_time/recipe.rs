//! CONTRIBUTING.md says that an algorithm is one new file and one line. This follows it, in a copy of the
//! sources: the algorithm, and a preset of it, must then be in the list, in the simulator and in the kernel.
//!
//! The copy lies below the build directory and stays there, and its dependencies are those that were built
//! for this test: the first run compiles only our own crates once more, a later one only what has changed.

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::{Ended, Place, Unload, has_kernel, own_suffix};
use fairpace_test_support::{exclusive, skip};
use serde_json::Value;

const HEADER: &str = include_str!("recipe/aimd.h");
const LINE: &str =
    r#"CC_ALGORITHM(aimd, CC_GROWS_CWND, "General AIMD", "Yang and Lam, General AIMD, ICNP 2000")"#;
const PRESET: &str = concat!(
    r#"CC_PRESET(aimd_gentle, aimd, "General AIMD with a small reduction", "recipe.rs", "#,
    r#""keep=0.875 increase_pkts=2")"#
);
/// Two scenario keys: the share of a link's rate that flows can use, and a switch of hosts that the testbed
/// does not have. File, text, what takes its place.
const KEY: &[(&str, &str, &str)] = &[
    (
        "crates/scenario/src/link.rs",
        "    pub rate_bps: u64,\n",
        "    pub rate_bps: u64,\n    /// Share for flows, billionths.\n    pub rate_share_ppb: u64,\n",
    ),
    (
        "crates/scenario/src/link.rs",
        "            rate_bps,\n",
        "            rate_bps,\n            rate_share_ppb: crate::WHOLE_PPB,\n",
    ),
    (
        "crates/scenario/src/link.rs",
        "    Row::link(\"bdp_rtt\"",
        "    Row::link(\"rate_share\", crate::key::SHARE, field!(Link, rate_share_ppb), \"For flows.\")
        .range(1, crate::WHOLE_PPB).optional().example(\"\\\"50%\\\"\"),
    Row::link(\"bdp_rtt\"",
    ),
    (
        "crates/scenario/src/hosts.rs",
        "    pub initial_cwnd_pkts: u32,\n",
        "    pub initial_cwnd_pkts: u32,\n    /// It is quiet.\n    pub quiet: bool,\n",
    ),
    (
        "crates/scenario/src/hosts.rs",
        "            initial_cwnd_pkts: 10,\n",
        "            initial_cwnd_pkts: 10,\n            quiet: false,\n",
    ),
    (
        "crates/scenario/src/hosts.rs",
        "    Row::flow(\"initial_cwnd\"",
        "    Row::flow(\"quiet\", BOOL, field!(Sending, quiet), \"Says less.\").optional().simulator_only(),
    Row::flow(\"initial_cwnd\"",
    ),
    (
        "crates/netem/src/build.rs",
        "Transmitter::wire_with_rates(settings.rate_bps, &steps)",
        "Transmitter::wire_with_rates(
                (u128::from(settings.rate_bps) * u128::from(settings.rate_share_ppb) / 1_000_000_000) as u64,
                &steps,
            )",
    ),
];
/// A queue discipline, whose file is `HEAD_DROP`.
const DISCIPLINE: &[(&str, &str, &str)] = &[
    (
        "crates/scenario/src/queue.rs",
        "    Pie(Pie),\n",
        "    Pie(Pie),\n    /// A full queue drops its oldest packets.\n    HeadDrop,\n",
    ),
    (
        "crates/scenario/src/queue.rs",
        "    (\"pie\", |_| ",
        "    (\"head_drop\", |_| Queue::HeadDrop),\n    (\"pie\", |_| ",
    ),
    (
        "crates/scenario/src/queue.rs",
        "            Queue::Pie(_) => \"pie\",",
        "            Queue::Pie(_) => \"pie\",\n            Queue::HeadDrop => \"head_drop\",",
    ),
    ("crates/netem/src/aqm/mod.rs", "mod fq_codel;\n", "mod fq_codel;\nmod head_drop;\n"),
    (
        "crates/netem/src/aqm/mod.rs",
        "    Pie(PieQueue<T>),\n",
        "    Pie(PieQueue<T>),\n    HeadDrop(head_drop::HeadDropQueue<T>),\n",
    ),
    (
        "crates/netem/src/aqm/mod.rs",
        "            Kind::Pie($queue) => $what,\n",
        "            Kind::Pie($queue) => $what,\n            Kind::HeadDrop($queue) => $what,\n",
    ),
    (
        "crates/netem/src/aqm/mod.rs",
        "            Queue::Pie(settings) =>",
        "            Queue::HeadDrop => Kind::HeadDrop(head_drop::HeadDropQueue::new(limit)),
            Queue::Pie(settings) =>",
    ),
];
const HEAD_DROP: &str = include_str!("recipe/head_drop.rs");
/// Files that the recipes add.
const ADDED: &[(&str, &str)] = &[("cc/aimd.h", HEADER), ("crates/netem/src/aqm/head_drop.rs", HEAD_DROP)];
/// The recipes' simulations are short, and optimizing the simulator for them takes longer than they do.
const UNOPTIMIZED: [&str; 4] = [
    "--config",
    "profile.dev.package.fairpace-sim.opt-level=0",
    "--config",
    "profile.dev.package.fairpace-tcp.opt-level=0",
];
/// What ends the list; new lines come before it.
const END_OF_LIST: &str = "\n#undef CC_ALGORITHM\n";

/// A copy of the sources with an algorithm more. One process at a time has it.
struct Copied {
    root: PathBuf,
    _lock: File,
}

impl Copied {
    /// `None` outside of a git checkout, which knows what the sources are.
    fn of_the_sources() -> Option<Self> {
        let original = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let listed = Command::new("git")
            .args(["ls-files", "--cached", "--others", "--exclude-standard", "-z"])
            .current_dir(&original)
            .output()
            .ok()
            .filter(|listed| listed.status.success())?;
        let listed = String::from_utf8(listed.stdout).unwrap();
        let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join("recipe");
        fs::create_dir_all(&root).unwrap();
        let lock = File::create(root.join("lock")).unwrap();
        lock.lock().unwrap();
        let copied = Self { root, _lock: lock };
        let names: Vec<_> = listed.split_terminator('\0').collect();
        copied.forget_all_but(&names);
        for name in names {
            // gone from the tree, though git does not know yet
            let Ok(content) = fs::read(original.join(name)) else { continue };
            match String::from_utf8(content) {
                Ok(text) => copied.put(name, edited(name, text).as_bytes()),
                Err(binary) => copied.put(name, binary.as_bytes()),
            }
        }
        for (name, content) in ADDED {
            copied.put(name, content.as_bytes());
        }
        copied.put("wrapper", b"#!/bin/sh\nexec \"$@\"\n");
        Some(copied)
    }

    /// Writes a file unless it is so already: cargo builds again what has been written.
    fn put(&self, name: &str, content: &[u8]) {
        let path = self.root.join(name);
        if fs::read(&path).is_ok_and(|there| there == content) {
            return;
        }
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    /// Sources of an earlier copy that are no longer there would be built, too.
    fn forget_all_but(&self, names: &[&str]) {
        for crates in ["cc", "crates"] {
            let mut left = vec![self.root.join(crates)];
            while let Some(dir) = left.pop() {
                for entry in fs::read_dir(&dir).into_iter().flatten() {
                    let path = entry.unwrap().path();
                    let name = path.strip_prefix(&self.root).unwrap().to_str().unwrap();
                    if path.is_dir() {
                        left.push(path);
                    } else if ADDED.iter().all(|(added, _)| *added != name) && !names.contains(&name) {
                        fs::remove_file(path).unwrap();
                    }
                }
            }
        }
    }

    /// Builds the program and returns where it is. Dependencies are taken from, or left in, the directory of
    /// this build. Cargo does not tell crates at the same place of two workspaces apart; it does when they
    /// have different wrappers around the compiler, and so this one has its own.
    fn build(&self) -> PathBuf {
        // DIRECTORY/PROFILE/deps/real_time-HASH
        let here = std::env::current_exe().unwrap();
        let profile = here.ancestors().nth(2).unwrap();
        let name = profile.file_name().unwrap().to_str().unwrap();
        let wrapper = self.root.join("wrapper");
        fs::set_permissions(&wrapper, fs::Permissions::from_mode(0o755)).unwrap();
        let output = Command::new(env!("CARGO"))
            // the workspace and an example, for the features that `cargo test --workspace` has
            .args(["build", "--workspace", "--bin", "fairpace", "--example", "objects"])
            .args(["--offline", "--locked", "--quiet"])
            .args(["--profile", if name == "debug" { "dev" } else { name }])
            .args(UNOPTIMIZED)
            .env("CARGO_BUILD_BUILD_DIR", profile.parent().unwrap())
            .env("RUSTC_WORKSPACE_WRAPPER", wrapper)
            .env("CARGO_TARGET_DIR", self.root.join("target"))
            .current_dir(&self.root)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "the recipe does not build:\n{said}");
        self.root.join("target").join(name).join("fairpace")
    }
}

/// The text of a file after all recipes.
fn edited(name: &str, text: String) -> String {
    if name == "cc/algorithms.def" {
        return longer(&text);
    }
    let edits = KEY.iter().chain(DISCIPLINE).filter(|(file, ..)| *file == name);
    edits.fold(text, |text, (_, from, to)| {
        assert_eq!(text.matches(from).count(), 1, "{name} has {from:?} once");
        text.replace(from, to)
    })
}

/// The list with the two lines.
fn longer(list: &str) -> String {
    let (lines, end) = list.split_once(END_OF_LIST).expect("the list ends as it did");
    format!("{lines}{LINE}\n{PRESET}\n{END_OF_LIST}{end}")
}

/// One test, since all of it needs the same program.
#[test]
fn the_recipes_are_all_that_an_algorithm_a_key_and_a_discipline_need() {
    let _alone = exclusive();
    let Some(copied) = Copied::of_the_sources() else {
        skip("the sources are not a git checkout");
        return;
    };
    let program = copied.build();
    let place = Place::new();
    let run = |arguments: &[&str]| place.run_other(&program, arguments);
    is_listed(run);
    is_simulated(run);
    has_the_key(run, &place);
    has_the_discipline(run);
    if has_kernel() {
        is_loaded(run);
        carries_flows_of_the_kernel(run, &place);
    }
}

fn is_listed(run: impl Fn(&[&str]) -> Ended) {
    let list = run(&["algorithms", "--json"]).succeeds().json();
    let find = |name: &str| list.as_array().unwrap().iter().find(|entry| entry["name"] == name).cloned();
    let (aimd, gentle) = (find("aimd").unwrap(), find("aimd_gentle").unwrap());
    assert_eq!(aimd["title"], "General AIMD");
    assert_eq!(aimd["kernel_name"], "fp_aimd");
    assert_eq!(aimd["preset"], Value::Null);
    assert_eq!(gentle["kernel_name"], "fp_aimd_gentle");
    let set = serde_json::json!([["keep", "0.875"], ["increase_pkts", "2"]]);
    assert_eq!(gentle["preset"], serde_json::json!({ "algorithm": "aimd", "set": set }));
    let defaults = |entry: &Value| {
        let parameters = entry["parameters"].as_array().unwrap();
        parameters
            .iter()
            .map(|parameter| parameter["default"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        (defaults(&aimd), defaults(&gentle)),
        (vec!["1".into(), "0.5".into()], vec!["2".into(), "0.875".into()])
    );
    let text = run(&["algorithms", "aimd_gentle"]).succeeds().stdout;
    assert!(text.contains("aimd with other defaults: keep=0.875, increase_pkts=2"), "{text}");
    assert!(run(&["man"]).succeeds().stdout.contains("fairpace"));
}

/// With Reno's numbers it is Reno to the last packet; the preset keeps more and so takes more.
fn is_simulated(run: impl Fn(&[&str]) -> Ended) {
    let compare = "compare --rate 20mbit --buffer 0.5bdp --rtt 20ms --duration 20s --warmup 5s --json";
    let names = ["--cc", "aimd,reno,aimd_gentle", "--set", "aimd.keep=0.5"];
    let words: Vec<_> = compare.split(' ').chain(names).collect();
    let runs = run(&words).succeeds().json();
    let flow = |run: usize| runs[run]["flows"][0].clone();
    let goodput = |run: usize| flow(run)["goodput_mbps"].as_f64().unwrap();
    assert_eq!(flow(0)["cc"], "aimd");
    let without_name = |run: usize| {
        let mut flow = flow(run);
        flow.as_object_mut().unwrap().remove("cc");
        flow
    };
    assert_eq!(without_name(0), without_name(1));
    assert!(goodput(2) > goodput(0), "a shallow buffer runs empty when half of cwnd goes: {runs}");
}

/// One run of Reno on a link of 20 Mbit/s.
fn reno(run: impl Fn(&[&str]) -> Ended, set: &str) -> Ended {
    let words =
        "compare --rate 20mbit --buffer 100kB --rtt 20ms --duration 10s --warmup 2s --cc reno --json --set";
    run(&words.split(' ').chain([set]).collect::<Vec<_>>())
}

/// The key works, is written and suggested, and scenarios without it keep their hash.
fn has_the_key(run: impl Fn(&[&str]) -> Ended, place: &Place) {
    let half = reno(&run, "link.rate_share=50%").succeeds().json();
    let goodput = half[0]["flows"][0]["goodput_mbps"].as_f64().unwrap();
    assert!((9.0..10.0).contains(&goodput), "{goodput} of 10 Mbit/s");
    reno(&run, "link.rate_shar=50%").fails(2, "did you mean `link.rate_share`?");
    reno(&run, "link.rate_share=200%").fails(2, "it must be at most 100%");
    reno(&run, "flow.quiet=true").succeeds();
    let refused =
        "compare --on kernel --rate 20mbit --buffer 100kB --rtt 20ms --cc reno --set flow.quiet=true";
    run(&refused.split(' ').collect::<Vec<_>>()).fails(2, "the testbed does not have `quiet`");
    let hash = |ended: Ended| ended.succeeds().json()[0]["scenario"]["hash"].clone();
    assert_eq!(hash(reno(&run, "seed=1")), hash(reno(|arguments| place.run(arguments), "seed=1")));
}

/// The discipline fills the link and drops from its head.
fn has_the_discipline(run: impl Fn(&[&str]) -> Ended) {
    let runs = reno(&run, "link.queue=head_drop").succeeds().json();
    let link = &runs[0]["links"][0];
    assert_eq!(link["queue"], "head_drop");
    assert!(link["dropped_pkts"].as_u64() > Some(0) && link["utilization"].as_f64() > Some(0.95), "{link}");
}

fn is_loaded(run: impl Fn(&[&str]) -> Ended) {
    let suffix = own_suffix();
    for name in ["aimd", "aimd_gentle"] {
        let loaded = run(&["load", name, "--suffix", &suffix, "--json"]).succeeds().json();
        let kernel_name = loaded[0]["kernel_name"].as_str().unwrap().to_owned();
        let _clean = Unload(kernel_name.clone());
        let available = "/proc/sys/net/ipv4/tcp_available_congestion_control";
        let is_available =
            || fs::read_to_string(available).unwrap().split_whitespace().any(|n| n == kernel_name);
        assert!(is_available());
        let listed = run(&["list", "--json"]).succeeds().json();
        let entry = listed.as_array().unwrap().iter().find(|entry| entry["kernel_name"] == *kernel_name);
        assert_eq!(entry.unwrap()["name"], name, "the preset by its own name, not by its algorithm's");
        run(&["unload", &kernel_name]).succeeds();
        assert!(!is_available());
    }
}

/// Real flows, whose state is read while they run. They ran to their end also where the machine was too busy
/// for a verdict.
fn carries_flows_of_the_kernel(run: impl Fn(&[&str]) -> Ended, place: &Place) {
    let compare = "compare --on kernel --rate 10mbit --buffer 100kB --rtt 20ms --duration 3s --warmup 1s \
                   --cc aimd_gentle --json --quiet --out out";
    let words: Vec<_> = compare.split_whitespace().collect();
    let ended = run(&words);
    if ended.is_disturbed() {
        return;
    }
    let runs = ended.succeeds().json();
    assert_eq!(runs[0]["flows"][0]["cc"], "aimd_gentle");
    let series = place.read("out/aimd_gentle/flows.csv");
    assert!(series.contains("AVOIDANCE") || series.contains("SLOW_START"), "its state was not read");
    let goodput = runs[0]["flows"][0]["goodput_mbps"].as_f64().unwrap();
    assert!(goodput > 5.0, "{goodput} of 10 Mbit/s");
}
