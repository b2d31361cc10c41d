//! Loading into the running kernel, listing, unloading: by name, by pin, by the end of a process.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::support::{available, eventually, has_kernel, load_transient, params, suffix};
use fairpace_cc::Algorithm;
use fairpace_kernel::{Error, Features, Holder, LoadOptions, Status, list, load, unload};
use fairpace_test_support::announce;

/// Unpins what a test pinned, also when it fails.
struct Pinned(String);

impl Drop for Pinned {
    fn drop(&mut self) {
        let _ = unload(&self.0);
    }
}

/// Before 6.4 the kernel does not record which process holds a name.
fn has_links() -> bool {
    let has = Features::probe().has_links();
    if !has {
        announce("SKIPPED", "this kernel has no links for struct_ops");
    }
    has
}

fn status_of(name: &str) -> Vec<Status> {
    list().expect("list").into_iter().filter(|e| e.name == name).map(|e| e.status).collect()
}

#[test]
fn every_algorithm_has_an_object_that_loads_and_is_listed_as_it() {
    if !has_kernel() {
        return;
    }
    for algorithm in Algorithm::all() {
        let loaded = load_transient(algorithm.name());
        assert!(loaded.kernel_name().len() <= 15 && loaded.kernel_name().starts_with("fp_"));
        assert!(available().iter().any(|n| n == loaded.kernel_name()));
        let entry =
            list().expect("list").into_iter().find(|e| e.name == loaded.kernel_name()).expect("listed");
        assert_eq!(entry.algorithm, Some(algorithm));
        assert!(matches!(entry.status, Status::Held { .. } | Status::Registered), "{entry:?}");
    }
}

#[test]
fn a_transient_algorithm_leaves_with_its_handle() {
    if !has_kernel() {
        return;
    }
    let loaded = load_transient("reno");
    let name = loaded.kernel_name().to_owned();
    drop(loaded);
    eventually("unregistered", || !available().contains(&name));
    eventually("nothing listed", || status_of(&name).is_empty());
}

#[test]
fn a_pinned_algorithm_outlives_its_handle_until_it_is_unloaded() {
    if !has_kernel() {
        return;
    }
    let options = LoadOptions { suffix: suffix(), pin: true };
    let loaded = load(&params("bbq"), &options).expect("load");
    let name = loaded.kernel_name().to_owned();
    let _guard = Pinned(name.clone());
    drop(loaded);
    assert!(available().contains(&name));
    let path = match &status_of(&name)[..] {
        [Status::Pinned(path)] => path.clone(),
        [Status::Registered] if !Features::probe().has_links() => PathBuf::new(),
        other => panic!("{other:?}"),
    };
    assert!(path.ends_with(format!("fairpace/{name}")) || !Features::probe().has_links());

    unload(&name).expect("unload");
    assert!(!available().contains(&name));
    assert!(!path.exists());
    eventually("nothing listed", || status_of(&name).is_empty());
    let again = unload(&name).expect_err("nothing is left to unload");
    assert!(matches!(&again, Error::NotLoaded { name: n, .. } if *n == name), "{again}");
}

#[test]
fn a_taken_name_is_refused_and_the_holder_named() {
    if !has_kernel() || !has_links() {
        return;
    }
    let (pinned, held) = (suffix(), suffix());
    let first = load(&params("reno"), &LoadOptions { suffix: pinned.clone(), pin: true });
    let first = first.expect("load");
    let _guard = Pinned(first.kernel_name().to_owned());
    let options = LoadOptions { suffix: pinned, ..Default::default() };
    let error = load(&params("reno"), &options).expect_err("the name is taken");
    assert!(matches!(error, Error::NameBusy { holder: Holder::Pinned(_), .. }), "{error}");

    let options = LoadOptions { suffix: held, ..Default::default() };
    let second = load(&params("reno"), &options).expect("load");
    let error = load(&params("reno"), &options).expect_err("the name is taken");
    assert!(matches!(error, Error::NameBusy { holder: Holder::Process { .. }, .. }), "{error}");
    let error = unload(second.kernel_name()).expect_err("it is not ours to unload");
    assert!(matches!(error, Error::NotOurs { .. }), "{error}");
    assert!(available().iter().any(|n| n == second.kernel_name()));
}

#[test]
fn a_name_that_linux_cannot_hold_is_refused() {
    if !has_kernel() {
        return;
    }
    for suffix in ["_much_too_long", "-dash", " blank", "/slash", "_ä"] {
        let options = LoadOptions { suffix: suffix.into(), ..Default::default() };
        let error = load(&params("bbr1"), &options).expect_err(suffix);
        assert!(matches!(error, Error::BadName { .. }), "{error}");
    }
    // fine for the kernel, but not in the BPF file system
    let options = LoadOptions { suffix: ".dot".into(), pin: true };
    let error = load(&params("bbr1"), &options).expect_err("a dot in a pin's name");
    assert!(matches!(error, Error::BadName { .. }), "{error}");
}

/// Not a test of its own: the process that the next test kills.
#[test]
fn child_that_holds_an_algorithm() {
    let Ok(suffix) = std::env::var("FAIRPACE_TEST_HOLD") else { return };
    let loaded = load(&params("reno"), &LoadOptions { suffix, ..Default::default() }).expect("load");
    println!("holding {}", loaded.kernel_name());
    std::thread::sleep(std::time::Duration::from_secs(60));
}

#[test]
fn a_killed_process_leaves_nothing_loaded() {
    if !has_kernel() || !has_links() {
        return;
    }
    let suffix = suffix();
    let name = format!("fp_reno{suffix}");
    let mut child = Command::new(std::env::current_exe().expect("self"))
        .args(["--exact", "loading::child_that_holds_an_algorithm", "--nocapture"])
        .env("FAIRPACE_TEST_HOLD", &suffix)
        .stdout(Stdio::null())
        .spawn()
        .expect("start");
    eventually("loaded by the child", || available().contains(&name));
    child.kill().expect("kill -9");
    child.wait().expect("wait");
    eventually("unregistered", || !available().contains(&name));
    eventually("nothing listed", || status_of(&name).is_empty());
}

#[test]
fn only_an_administrator_may_select_an_algorithm_without_control() {
    if !has_kernel() {
        return;
    }
    let loaded = ["reno", "fixed_rate", "fixed_cwnd"].map(load_transient);
    // what Linux lets any user select
    let allowed = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_allowed_congestion_control").unwrap();
    let is_allowed = |loaded: &fairpace_kernel::Loaded| {
        allowed.split_whitespace().any(|name| name == loaded.kernel_name())
    };
    assert_eq!(loaded.each_ref().map(is_allowed), [true, false, false], "{allowed}");
}
