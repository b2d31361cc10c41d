//! Where `--out` may write, and what it leaves alone.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use fairpace_test_support::skip;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::support::{Place, is_root};

/// Names in a directory, sorted.
fn names(dir: impl AsRef<Path>) -> Vec<String> {
    let entries = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = entries.collect();
    names.sort();
    names
}

#[test]
fn out_never_touches_what_is_not_a_result() {
    let place = Place::with_scenario();
    fs::create_dir(place.path().join("mine")).unwrap();
    place.write("mine/thesis.txt", "years of work");
    let run = |out| place.run(&["sim", "small.toml", "--out", out]);
    run("mine").fails(5, "thesis.txt in it was not written by this version of fairpace");
    run("small.toml").fails(5, "it exists and is not a directory");
    run("/").fails(5, "results cannot be written to /");
    assert_eq!(place.read("mine/thesis.txt"), "years of work");
    // a name that results have, too
    fs::rename(place.path().join("mine/thesis.txt"), place.path().join("mine/summary.json")).unwrap();
    run("mine").fails(5, "summary.json in it was not written by this version of fairpace");
    assert_eq!(place.read("mine/summary.json"), "years of work");
    assert_eq!(place.files(), ["mine", "small.toml"]);
    fs::create_dir(place.path().join("empty")).unwrap();
    run("empty").succeeds();
}

#[test]
fn a_result_with_files_or_changes_of_the_user_is_refused() {
    let place = Place::with_scenario();
    let run = || place.run(&["sim", "small.toml", "--out", "out"]);
    run().succeeds();
    for mine in ["my.parquet", "my.pcapng", "my.trace"] {
        place.write(&format!("out/{mine}"), "mine");
        run().fails(5, &format!("{mine} in it was not written by fairpace"));
        assert_eq!(place.read(&format!("out/{mine}")), "mine");
        fs::remove_file(place.path().join("out").join(mine)).unwrap();
    }
    place.write("out/scenario.toml", "# my remarks\n");
    run().fails(5, "scenario.toml in it was changed after the run that wrote it");
    assert_eq!(place.read("out/scenario.toml"), "# my remarks\n");
}

/// A run that lasts until it is ended, with traces, once it has begun to write.
fn long_run(place: &Place, out: &str) -> (Child, PathBuf) {
    let day = ["--set", "duration=24h", "--set", "interval=60s"];
    let arguments = [&["sim", "small.toml", "--trace", "events", "--out", out], &day[..]].concat();
    let mut child = place.command(&arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let begun = Instant::now();
    loop {
        assert!(child.try_wait().unwrap().is_none(), "the run has ended");
        let parent = place.path().join(out).parent().unwrap().to_owned();
        let staging = if parent.exists() { names(&parent) } else { Vec::new() };
        let staging = staging.into_iter().find(|name| name.starts_with(".fairpace-"));
        if let Some(staging) = staging.map(|name| parent.join(name))
            && staging.join("new/events.parquet").exists()
        {
            return (child, staging);
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "the run does not begin");
        sleep(Duration::from_millis(5));
    }
}

#[test]
fn what_appears_during_the_run_stays_and_the_result_is_beside_it() {
    let place = Place::with_scenario();
    for made in ["R", "S"] {
        // stopped while its files are being put together, so that what follows comes in between for sure
        let script = format!(
            "\"$@\" & pid=$!; until ls .fairpace-$pid-*/new >/dev/null 2>&1; do :; done; kill -STOP $pid; \
             {}; kill -CONT $pid; wait $pid",
            if made == "R" { "mkdir R; echo thesis > R/thesis.txt" } else { "echo thesis > S" }
        );
        let mut command = place.command_of(Path::new("sh"), &["-c", &script, "sh"]);
        let arguments = ["sim", "small.toml", "--set", "duration=1000s", "--out", made];
        let output = command.arg(crate::support::program()).args(arguments).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(output.status.code(), Some(5), "{said}");
        assert!(said.contains(&format!("the result is in ./{made}-2")), "{said}");
        place.read(&format!("{made}-2/summary.json"));
    }
    assert_eq!(place.read("R/thesis.txt"), "thesis\n");
    assert_eq!(place.read("S"), "thesis\n");
    assert_eq!(place.files(), ["R", "R-2", "S", "S-2", "small.toml"]);
}

#[test]
fn what_a_killed_run_leaves_is_removed_by_the_next_one() {
    let place = Place::with_scenario();
    for signal in [Signal::SIGKILL, Signal::SIGABRT] {
        let (mut child, staging) = long_run(&place, "out");
        kill(Pid::from_raw(child.id().cast_signed()), signal).unwrap();
        assert_eq!(child.wait().unwrap().signal(), Some(signal as i32));
        assert!(staging.exists(), "a killed process cannot clean up");
        // another result in the same directory, and the one that was being written
        let other = if signal == Signal::SIGKILL { "other" } else { "out" };
        place.run(&["sim", "small.toml", "--out", other]).succeeds();
        assert!(!staging.exists());
    }
    assert_eq!(place.files(), ["other", "out", "small.toml"]);
}

#[test]
fn an_interrupted_run_leaves_nothing() {
    let place = Place::with_scenario();
    for (signal, code) in [(Signal::SIGINT, 130), (Signal::SIGTERM, 143), (Signal::SIGHUP, 129)] {
        let (mut child, _) = long_run(&place, "deep/out");
        kill(Pid::from_raw(child.id().cast_signed()), signal).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(code));
        assert_eq!(place.files(), ["small.toml"]);
    }
}

#[test]
fn a_mount_point_is_filled_and_filled_again() {
    if !is_root() {
        return;
    }
    let place = Place::with_scenario();
    fs::create_dir(place.path().join("volume")).unwrap();
    // what is on the volume vanishes with its namespace: the names are noted before
    let script = "mount -t tmpfs none volume; \"$@\" > first; \"$@\" --seed 9 > second; \
                  ls -A volume > names; cp volume/summary.json seed; echo mine > volume/notes.txt; \
                  code=0; \"$@\" 2> refusal || code=$?; \
                  cat volume/notes.txt >> refusal; ls -A volume >> refusal; exit $code";
    let ended = place.run_in_own_mounts(script, &["sim", "small.toml", "--out", "volume"]);
    assert_eq!(ended.code, 5, "{}", ended.stderr);
    let files = [
        "backlog.csv",
        "flows.csv",
        "links.csv",
        "manifest.json",
        "report.html",
        "scenario.toml",
        "summary.json",
    ];
    assert_eq!(place.read("names").lines().collect::<Vec<_>>(), files);
    assert!(place.read("seed").contains("\"seed\": 9"));
    let refusal = place.read("refusal");
    assert!(refusal.contains("notes.txt in it was not written by fairpace"), "{refusal}");
    assert!(
        refusal.contains("\nmine\n")
            && refusal.ends_with("notes.txt\nreport.html\nscenario.toml\nsummary.json\n"),
        "{refusal}"
    );
}

#[test]
fn a_place_that_cannot_be_written_is_reported_before_the_run() {
    if !is_root() {
        return;
    }
    let place = Place::with_scenario();
    fs::create_dir(place.path().join("locked")).unwrap();
    for place_of_root in ["locked/out", "locked"] {
        let ended =
            place.run_unprivileged(&["sim", "small.toml", "--set", "duration=24h", "--out", place_of_root]);
        ended.fails(5, "Permission denied");
        assert!(names(place.path().join("locked")).is_empty());
    }
}

#[test]
fn a_full_disk_leaves_nothing_behind() {
    if !is_root() {
        return;
    }
    let place = Place::with_scenario();
    fs::create_dir(place.path().join("tiny")).unwrap();
    // 16 KiB: the summary fits, the series does not
    let script =
        "mount -t tmpfs -o size=16k none tiny; code=0; \"$@\" || code=$?; ls -AR tiny > left; exit $code";
    let ended = place.run_in_own_mounts(script, &["sim", "small.toml", "--out", "tiny/deep/out"]);
    ended.fails(5, "results cannot be written to tiny/deep/out: No space left on device");
    assert_eq!(place.read("left").trim(), "tiny:");
}

/// A result in the lower layer of overlayfs, as in the image of a container, cannot be renamed (EXDEV).
#[test]
fn a_result_of_a_lower_layer_is_replaced() {
    if !is_root() {
        return;
    }
    let place = Place::with_scenario();
    place.run(&["sim", "small.toml", "--out", "lower/R"]).succeeds();
    let script = "mkdir layers merged; mount -t tmpfs none layers; mkdir layers/upper layers/work; \
                  mount -t overlay none -o lowerdir=lower,upperdir=layers/upper,workdir=layers/work merged \
                  || exit 77; \
                  \"$@\" --seed 9; cp merged/R/summary.json seed; ls -A merged merged/R > names";
    let ended = place.run_in_own_mounts(script, &["sim", "small.toml", "--out", "merged/R"]);
    if ended.code == 77 {
        return skip("this kernel has no overlayfs");
    }
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    assert!(place.read("seed").contains("\"seed\": 9"));
    let names = "merged:\nR\n\nmerged/R:\nbacklog.csv\nflows.csv\nlinks.csv\nmanifest.json\nreport.html\n\
                 scenario.toml\nsummary.json\n";
    assert_eq!(place.read("names"), names);
}
