//! Whatever is wrong gives one clear error and the documented exit code, and leaves nothing behind.

use crate::support::{Place, SMALL, Unload, has_kernel, is_root, own_suffix};

/// Runs `sim` on the small scenario with one thing replaced; nothing but the scenario must be there
/// afterwards.
fn sim_with(from: &str, to: &str) -> crate::support::Ended {
    assert!(SMALL.contains(from));
    let place = Place::new();
    place.write("bad.toml", &SMALL.replacen(from, to, 1));
    let ended = place.run(&["sim", "bad.toml", "--out", "result"]);
    assert_eq!(place.files(), ["bad.toml"]);
    ended
}

#[test]
fn an_unknown_key() {
    sim_with("buffer", "bufer").fails(2, "bad.toml:9:1: there is no key `bufer` under `[[link]]`");
    sim_with("buffer", "bufer").fails(2, "did you mean `buffer`?");
}

#[test]
fn a_wrong_unit() {
    sim_with("10mbit", "10mb").fails(2, "bad.toml:8:8: `rate`: \"mb\" is not a unit of rate");
}

#[test]
fn a_negative_number() {
    sim_with("\"40ms\"", "\"-40ms\"").fails(2, "bad.toml:13:7: `rtt`: \"-40ms\" is negative");
}

#[test]
fn an_absurd_number() {
    sim_with("\"40ms\"", "\"40min\"").fails(2, "bad.toml:13:7: `rtt` is 2400s; it must be at most 10s");
}

#[test]
fn an_unknown_algorithm() {
    sim_with("\"bbr1\"", "\"brb1\"").fails(2, "bad.toml:12:6: there is no algorithm `brb1`");
    sim_with("\"bbr1\"", "\"brb1\"").fails(2, "did you mean `bbr1`?");
}

#[test]
fn one_of_the_kernels_algorithms_in_the_simulator() {
    sim_with("\"bbr1\"", "\"kernel:bbr\"").fails(2, "the simulator does not have it");
}

#[test]
fn a_key_that_the_testbed_does_not_have() {
    let place = Place::new();
    place.write("small.toml", SMALL);
    let run = ["testbed", "small.toml", "--set", "flow.tlp=false", "--out", "result"];
    place.run(&run).fails(2, "--set:1:10: the testbed does not have `tlp`");
    assert_eq!(place.files(), ["small.toml"]);
}

#[test]
fn a_parameter_out_of_range() {
    sim_with("cc = \"bbr1\"", "cc = \"bbq\"\nset = { alpha = \"1h\" }").fails(2, "bad.toml:13:17: ");
    sim_with("cc = \"bbr1\"", "cc = \"bbq\"\nset = { alpha = \"100s\" }").fails(2, "alpha cannot be 100s");
    sim_with("\"bbr1\"", "\"brb1\"").fails(2, "`fairpace algorithms` lists all algorithms and parameters");
}

#[test]
fn a_missing_file() {
    let place = Place::new();
    for command in ["sim", "testbed"] {
        place
            .run(&[command, "none.toml", "--out", "result"])
            .fails(2, "none.toml: cannot read the scenario: No such file");
    }
    assert!(place.files().is_empty());
}

#[test]
fn several_errors_at_once() {
    let place = Place::new();
    place.write("bad.toml", &SMALL.replace("10mbit", "fast").replace("200kB", "large"));
    let ended = place.run(&["sim", "bad.toml"]);
    ended.fails(2, "the scenario has 2 errors");
    ended.fails(2, "bad.toml:8:8:");
    ended.fails(2, "bad.toml:9:10:");
}

#[test]
fn wrong_arguments() {
    let place = Place::with_scenario();
    place.run(&["sim"]).fails(2, "<FILE>");
    place.run(&["sim", "small.toml", "--set", "duration"]).fails(2, "is not KEY=VALUE");
    place.run(&["sim", "small.toml", "--set", "duratoin=3s"]).fails(2, "did you mean `duration`?");
    place
        .run(&["sim", "small.toml", "--seed", "-1"])
        .fails(2, "--seed:1:1: `seed` is -1: it must not be negative");
    place
        .run(&["sim", "small.toml", "--set", "bbq.alpha=3ms"])
        .fails(2, "no flow of this scenario uses `bbq`");
    place.run(&["load", "bbr9"]).fails(2, "bbr9");
    place.run(&["load", "bbr1", "--set", "bbq.alpha=3ms"]).fails(2, "something that is not being loaded");
    place.run(&["load", "bbr1", "bbq", "--set", "cwnd_gain=2"]).fails(2, "whose parameter is \"cwnd_gain\"?");
    assert_eq!(place.files(), ["small.toml"]);
}

#[test]
fn wrong_arguments_of_compare_are_named() {
    let place = Place::new();
    let with = |option: &str, value: &str| {
        let mut arguments =
            vec!["compare", "--rate", "10mbit", "--buffer", "200kB", "--rtt", "10ms,50ms", "--cc", "bbr1"];
        match arguments.iter().position(|argument| *argument == option) {
            Some(at) => arguments[at + 1] = value,
            None => arguments.extend([option, value]),
        }
        place.run(&arguments)
    };
    with("--rate", "1bit").fails(2, "--rate:1:1: `rate` is 1bit; it must be at least 1kbit");
    with("--buffer", "2mbit").fails(2, "--buffer:1:1: `buffer`: \"2mbit\" is a rate");
    with("--rtt", "10ms,50sec").fails(2, "--rtt:1:1: `rtt`: \"sec\" is not a unit of time");
    with("--rtt", "").fails(2, "--rtt:1:1: `rtt`: \"\" is not a time");
    with("--cc", "bbr1,bbw").fails(2, "--cc:1:1: there is no algorithm `bbw`");
    with("--duration", "-1s").fails(2, "--duration:1:1: `duration`: \"-1s\" is negative");
    with("--warmup", "60s").fails(2, "nothing is in it");
    let short = ["compare", "bbr1", "--duration", "10s", "--warmup", "20s"];
    place.run(&short).fails(2, "write a time before \"10s\", or make the run longer");
    with("--stagger", "60s").fails(2, "a flow would start at 60s, but the run ends at 60s");
    with("--stagger", "5").fails(2, "has no unit");
    with("--on", "moon").fails(2, "--on");
    with("--set", "cubic.beta=0.5").fails(2, "a parameter of `cubic`, which is not compared");
}

#[test]
fn with_json_an_error_is_one_object() {
    let place = Place::new();
    place.write("bad.toml", &SMALL.replace("10mbit", "fast").replace("200kB", "large"));
    let ended = place.run(&["sim", "bad.toml", "--json"]);
    assert_eq!((ended.code, ended.stdout.as_str(), ended.stderr.lines().count()), (2, "", 1));
    let error = ended.error();
    assert_eq!((error["kind"].as_str(), error["exit_code"].as_i64()), (Some("usage"), Some(2)));
    let problem = &error["problems"][0];
    assert_eq!(
        (problem["file"].as_str(), problem["line"].as_i64(), problem["column"].as_i64()),
        (Some("bad.toml"), Some(8), Some(8))
    );
    assert_eq!((problem["key"].as_str(), problem["kind"].as_str()), (Some("link.rate"), Some("wrong-unit")));
    assert!(problem["help"].as_str().is_some_and(|help| help.contains("100mbit")));
    let error = place.run(&["--json", "sim", "--speed", "3"]).error();
    assert_eq!(error["kind"], "usage");
    assert!(error["message"].as_str().is_some_and(|message| message.contains("--speed")));
}

#[test]
fn no_root() {
    if !is_root() {
        return;
    }
    let place = Place::with_scenario();
    let testbed = place.run_unprivileged(&["testbed", "small.toml", "--out", "result"]);
    testbed.fails(3, "run it as root");
    place.run_unprivileged(&["load", "bbr1"]).fails(3, "run it as root");
    let doctor = place.run_unprivileged(&["doctor"]);
    assert_eq!(doctor.code, 3);
    assert!(doctor.stdout.contains("run it as root"), "{}", doctor.stdout);
    assert_eq!(place.files(), ["small.toml"]);
}

#[test]
fn no_btf() {
    if !is_root() {
        return;
    }
    let place = Place::with_scenario();
    let hidden = "mkdir empty; mount --bind empty /sys/kernel/btf; rmdir empty 2>/dev/null || true; \"$@\"";
    for command in [&["load", "bbr1"][..], &["testbed", "small.toml", "--out", "result"]] {
        place
            .run_in_own_mounts(hidden, command)
            .fails(3, "the kernel's type information (BTF) cannot be read");
        let _ = std::fs::remove_dir(place.path().join("empty"));
        assert_eq!(place.files(), ["small.toml"]);
    }
}

#[test]
fn no_tun() {
    if !is_root() {
        return;
    }
    let place = Place::with_scenario();
    let hidden = "mount -t tmpfs none /dev/net; \"$@\"";
    let ended = place.run_in_own_mounts(hidden, &["testbed", "small.toml", "--out", "result"]);
    ended.fails(3, "the testbed needs the TUN driver, but /dev/net/tun cannot be opened");
    assert_eq!(place.files(), ["small.toml"]);
}

#[test]
fn a_busy_name() {
    if !has_kernel() {
        return;
    }
    let place = Place::new();
    let suffix = own_suffix();
    let [reno, cubic] = ["reno", "cubic"].map(|name| format!("fp_{name}{suffix}"));
    let _clean = (Unload(reno.clone()), Unload(cubic.clone()));
    let taken = format!("the congestion control name {reno} is taken");
    place.run(&["load", "reno", "--suffix", &suffix]).succeeds();
    place.run(&["load", "reno", "--suffix", &suffix]).fails(6, &taken);
    // one of two fails: the other does not stay
    place.run(&["load", "cubic", "reno", "--suffix", &suffix]).fails(6, &taken);
    let listed = place.run(&["list", "--json"]).succeeds().stdout;
    assert!(listed.contains(&reno) && !listed.contains(&cubic), "{listed}");
    place.run(&["unload", &reno]).succeeds();
    place.run(&["unload", &reno]).fails(6, &format!("{reno} is not loaded"));
}

#[test]
fn a_name_that_the_kernel_would_not_take() {
    if !has_kernel() {
        return;
    }
    Place::new().run(&["load", "reno", "--suffix", "-much-too-long"]).fails(2, "at most 15 characters");
}
