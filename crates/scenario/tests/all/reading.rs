//! What a good file means.

use std::time::Duration;

use crate::support::{GOOD, good, problem, read, read_with};
use fairpace_scenario::{
    Burst, BurstLength, Cc, Loss, Policer, Reorder, Scenario, Target, Traffic, WHOLE_PPB, Window, Writes,
    parse,
};

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

#[test]
fn defaults_fill_what_is_left_out() {
    let scenario = good();
    assert_eq!(scenario.seed, 1);
    assert_eq!(scenario.window, (ms(20_000), ms(60_000)));
    assert_eq!(scenario.interval, ms(100));
    assert_eq!(scenario.links[0].name, "bottleneck");
    assert_eq!(scenario.links[0].rate_bps, 100_000_000);
    assert_eq!(scenario.links[0].buffer.bytes(), 2_000_000);
    let names: Vec<_> = scenario.flows.iter().map(|flow| flow.name.as_str()).collect();
    assert_eq!(names, ["10ms", "50ms"]);
    assert_eq!(scenario.flows[1].start, ms(5_000));
    assert_eq!(scenario.flows[1].cc.settings(), [("alpha", "3ms".to_owned())]);
}

#[test]
fn a_short_run_is_measured_from_a_third_on() {
    let scenario = read_with(GOOD, &["duration=9s"]).unwrap();
    assert_eq!(scenario.window, (ms(3_000), ms(9_000)));
    let scenario = read_with(GOOD, &["duration=600ms", "flow.start=0s"]).unwrap();
    assert_eq!(scenario.interval, ms(60));
}

#[test]
fn a_buffer_in_bdp_is_rate_times_the_longest_rtt() {
    let buffer = |value: &str| read(&GOOD.replace("\"2MB\"", value)).unwrap().links[0].buffer.bytes();
    // 100 Mbit/s x 50 ms = 625,000 bytes
    assert_eq!(buffer("\"1bdp\""), 625_000);
    assert_eq!(buffer("\"1.5 bdp\""), 937_500);
    assert_eq!(buffer("\"1bdp\"\nbdp_rtt = \"10ms\""), 125_000);
}

#[test]
fn a_buffer_of_a_time_is_what_the_link_carries_in_it() {
    let link = |buffer: &str| {
        read(&GOOD.replace("buffer = \"2MB\"", &format!("buffer = {buffer}"))).unwrap().links.remove(0)
    };
    // 100 Mbit/s x 300 ms = 30 Mbit = 3,750,000 bytes, whatever the RTTs and later rates are
    assert_eq!(link("\"300ms\"").buffer.bytes(), 3_750_000);
    assert_eq!(link("\"0.3 s\"\nbdp_rtt = \"1ms\"\nrate_at = \"1s 1mbit\"").buffer.bytes(), 3_750_000);
    // of a trace, its mean: one-ms.trace has 4 opportunities of 1514 bytes in 4 ms
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/all/support/t.toml");
    let text = GOOD.replace("rate = \"100mbit\"", "trace = \"one-ms.trace\"").replace("2MB", "100ms");
    let traced = parse(path, &text, &[], Target::Simulator).unwrap().links.remove(0);
    assert_eq!((traced.rate_bps, traced.buffer.bytes()), (12_112_000, 151_400));
    // the canonical form has the bytes
    assert!(read(&GOOD.replace("2MB", "300ms")).unwrap().to_toml().contains("buffer = \"3750kB\""));
    for (buffer, kind, message) in [
        ("\"0.1ms\"", "out-of-range", "`buffer` is 1250B; it must be at least 1514B"),
        ("\"3h\"", "out-of-range", "`buffer` is 135GB; it must be at most 16GB"),
        ("\"-1ms\"", "out-of-range", "`buffer`: \"-1ms\" is negative"),
        ("\"1.2.3ms\"", "wrong-unit", "`buffer`: \"1.2.3ms\" is not a time"),
    ] {
        let problem = problem("\"2MB\"", buffer);
        assert_eq!(problem.kind, kind, "{buffer}");
        assert!(problem.message.starts_with(message), "{buffer}: {}", problem.message);
    }
}

#[test]
fn units_are_read_as_people_write_them() {
    let rate = |value: &str| read(&GOOD.replace("100mbit", value)).unwrap().links[0].rate_bps;
    assert_eq!(rate("1.1gbit"), 1_100_000_000);
    assert_eq!(rate("128kbit"), 128_000);
    assert_eq!(rate("2.5 Gbit/s"), 2_500_000_000);
    let buffer = |value: &str| read(&GOOD.replace("2MB", value)).unwrap().links[0].buffer.bytes();
    assert_eq!(buffer("500kB"), 500_000);
    assert_eq!(buffer("64KiB"), 65_536);
    let rtt = |value: &str| read(&GOOD.replace("10ms", value)).unwrap().flows[0].rtt;
    assert_eq!(rtt("0.1s"), ms(100));
    assert_eq!(rtt("12.5ms"), Duration::from_micros(12_500));
}

#[test]
fn a_group_is_expanded_with_numbered_names_and_staggered_starts() {
    let text = GOOD.replace("start = \"5s\"", "start = \"5s\"\ncount = 3\nstagger = \"2s\"\nname = \"long\"");
    let scenario = read(&text).unwrap();
    let flows: Vec<_> =
        scenario.flows[1..].iter().map(|flow| (flow.name.as_str(), flow.start.as_secs())).collect();
    assert_eq!(flows, [("long-1", 5), ("long-2", 7), ("long-3", 9)]);
}

#[test]
fn derived_names_differ() {
    let scenario = read(&GOOD.replace("50ms", "10ms")).unwrap();
    let names: Vec<_> = scenario.flows.iter().map(|flow| flow.name.as_str()).collect();
    assert_eq!(names, ["10ms", "10ms-2"]);
}

#[test]
fn the_kernels_own_algorithms_are_for_the_testbed() {
    let text = GOOD.replace("\"bbr1\"", "\"kernel:bbr\"");
    let scenario = parse("t", &text, &[], Target::Testbed).unwrap();
    assert_eq!(scenario.flows[0].cc, Cc::Kernel("bbr".to_owned()));
    let error = parse("t", &text, &[], Target::Simulator).unwrap_err();
    assert!(error.problems[0].help.contains("on the testbed"));
}

#[test]
fn faults_and_traffic_are_read_in_their_units() {
    let sets = [
        "link.loss=0.5%",
        "link.loss_burst=4",
        "flow.1.size=10MB",
        "flow.2.write_rate=5mbit",
        "flow.ack_loss=100ppm",
    ];
    let scenario = read_with(GOOD, &sets).unwrap();
    let burst = Some(Burst { length: BurstLength::Pkts(4), inside_ppb: WHOLE_PPB, outside_ppb: 0 });
    assert_eq!(scenario.links[0].loss, Loss { ppb: 5_000_000, burst });
    let set = ["link.loss=60%", "link.loss_burst=0.017s"];
    let in_time = read_with(GOOD, &set).unwrap();
    assert_eq!(in_time.links[0].loss.burst.unwrap().length, BurstLength::Time(ms(17)));
    assert!(in_time.to_toml().contains("\nloss_burst = \"17ms\"\n"), "{}", in_time.to_toml());
    assert_eq!(scenario.flows[0].traffic, Traffic { size_bytes: Some(10_000_000), writes: Writes::Always });
    let writes = Writes::Paced { rate_bps: 5_000_000, every: ms(1_000) };
    assert_eq!(scenario.flows[1].traffic, Traffic { size_bytes: None, writes });
    assert_eq!(scenario.flows[1].ack_loss_ppb, 100_000);
    let scenario = read_with(GOOD, &["flow.on=2s", "flow.off=500ms"]).unwrap();
    assert_eq!(scenario.flows[0].traffic.writes, Writes::OnOff { on: ms(2_000), off: ms(500) });
    assert_ne!(scenario.hash, good().hash);
}

#[test]
fn paths_that_change_are_read_in_steps() {
    let sets = [
        "link.rate_at=10s 50mbit, 20s 0, 21s 0.1gbit",
        "link.policer_rate=10mbit",
        "link.policer_burst=100kB",
        "flow.1.rtt_at=30s 40ms",
        "flow.1.reorder=1%",
        "flow.1.reorder_delay=5ms",
        "flow.2.receive_buffer=64KiB",
        "flow.2.ack_jitter=1ms",
        "flow.2.ack_aggregation=4ms",
        "flow.host_jitter=20us",
    ];
    let scenario = read_with(GOOD, &sets).unwrap();
    let (link, first, second) = (&scenario.links[0], &scenario.flows[0], &scenario.flows[1]);
    let rates = [(10_000, 50_000_000), (20_000, 0), (21_000, 100_000_000)].map(|(at, rate)| (ms(at), rate));
    assert_eq!((&link.rate_at[..], link.fastest_bps()), (&rates[..], 100_000_000));
    assert_eq!(link.policer, Some(Policer { rate_bps: 10_000_000, burst_bytes: 100_000 }));
    assert_eq!(first.rtt_at, [(ms(30_000), ms(40))]);
    assert_eq!(first.reorder, Some(Reorder { ppb: 10_000_000, delay: ms(5) }));
    assert_eq!(second.receiving.window, Window::Fixed(65_536));
    assert_eq!((second.ack_jitter, second.ack_aggregation), (ms(1), ms(4)));
    assert_eq!(
        (first.host_jitter, second.host_jitter),
        (Duration::from_micros(20), Duration::from_micros(20))
    );
}

#[test]
fn what_is_printed_is_read_back() {
    let odd = GOOD.replace("two flows", "\\\"quotes\\\", \\\\ and ü");
    for text in [GOOD, &odd] {
        let scenario = read(text).unwrap();
        assert_eq!(read(&scenario.to_toml()).unwrap(), scenario);
    }
}

#[test]
fn a_group_is_refused_where_numbers_make_its_name_too_long() {
    let name = "n".repeat(64);
    let text = GOOD.replace("start = \"5s\"", &format!("name = \"{name}\""));
    assert!(read(&text).is_ok());
    let problems = read(&text.replace("rtt = \"50ms\"", "rtt = \"50ms\"\ncount = 2")).unwrap_err().problems;
    assert_eq!((problems.len(), problems[0].key.as_str()), (1, "flow.name"));
}

#[test]
fn the_hash_is_of_what_decides_the_outcome() {
    let hash = |text: &str| read(text).unwrap().hash;
    let original = hash(GOOD);
    assert_eq!(original.len(), 64);
    for same in [
        GOOD.replace("rate = ", "rate   =   "),
        GOOD.replace("100mbit", "0.1gbit"),
        GOOD.replace("two flows", "the same two flows"),
        GOOD.replace("duration", "# a comment\nseed = 7\nduration"),
        GOOD.replace("rate = \"100mbit\"\nbuffer = \"2MB\"", "buffer = \"2000kB\"\nrate = \"100mbit\""),
    ] {
        assert_eq!(hash(&same), original, "{same}");
    }
    for (from, to) in
        [("100mbit", "101mbit"), ("2MB", "3MB"), ("3ms", "4ms"), ("60s", "61s"), ("bbr1", "bbq")]
    {
        assert_ne!(hash(&GOOD.replace(from, to)), original, "{to}");
    }
}

#[test]
fn sets_change_keys_parts_and_parameters() {
    let sets = [
        "seed=7",
        "duration=30s",
        "window.from=10s",
        "link.rate=10mbit",
        "flow.50ms.start=2s",
        "flow.1.cc=bbq",
        "bbq.beta=1%",
    ];
    let scenario = read_with(GOOD, &sets).unwrap();
    assert_eq!(scenario.seed, 7);
    assert_eq!(scenario.window, (ms(10_000), ms(30_000)));
    assert_eq!(scenario.links[0].rate_bps, 10_000_000);
    assert_eq!(scenario.flows[0].cc.to_string(), "bbq");
    assert_eq!(scenario.flows[0].start, ms(0));
    assert_eq!(scenario.flows[1].start, ms(2_000));
    let (alpha, beta) = (("alpha", "3ms".to_owned()), ("beta", "1%".to_owned()));
    assert_eq!(scenario.flows[1].cc.settings(), [alpha, beta.clone()]);
    assert_eq!(scenario.flows[0].cc.settings(), [beta]);
}

#[test]
fn a_link_without_a_name_answers_to_the_name_it_has_in_results() {
    let scenario = read_with(GOOD, &["link.bottleneck.rate=10mbit"]).unwrap();
    assert_eq!((scenario.links[0].name.as_str(), scenario.links[0].rate_bps), ("bottleneck", 10_000_000));
    let two = GOOD.replace("[[link]]", "[[link]]\nrate = \"1gbit\"\nbuffer = \"1MB\"\n[[link]]");
    let scenario = read_with(&two, &["link.link2.rate=10mbit"]).unwrap();
    assert_eq!((scenario.links[0].rate_bps, scenario.links[1].rate_bps), (1_000_000_000, 10_000_000));
    let help = &read_with(&two, &["link.bottleneck.rate=10mbit"]).unwrap_err().problems[0].help;
    assert_eq!(help, "this scenario has `link1`, `link2`");
}

#[test]
fn a_scenario_put_together_by_a_program_is_checked_as_a_file_is() {
    let sealed = Scenario { hash: String::new(), ..good() }.sealed(Target::Simulator).unwrap();
    assert_eq!(sealed, good());
    let mut wrong = good();
    wrong.links[0].rate_bps = 0;
    wrong.flows[0].cc = Cc::Kernel("a name with spaces".into());
    wrong.flows[1].start = ms(70_000);
    let problems = wrong.sealed(Target::Simulator).unwrap_err().problems;
    let keys: Vec<_> = problems.iter().map(|problem| problem.key.as_str()).collect();
    assert_eq!(keys, ["link.1.rate", "flow.1.cc", "flow.2.start"]);
}
