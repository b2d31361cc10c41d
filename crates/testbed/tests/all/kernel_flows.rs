//! Real flows on this machine's kernel: what a run measures, and that it leaves nothing behind however it
//! ends.
//!
//! Needs root and TUN. Elsewhere the tests say so and pass, unless FAIRPACE_REQUIRE_KERNEL=1.

use crate::support::{Held, Leaves, StopAfter, flow, marks, measure_or_skip, scenario};
use fairpace_kernel::Features;
use fairpace_results::Silent;
use fairpace_scenario::Ecn;
use fairpace_test_support::{announce, exclusive};
use fairpace_testbed::{Disturbance, Error, Options, Outcome, measure, run};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

/// TCP payload of a full packet over its length on the link: 1448 of 1514 bytes.
const GOODPUT_PER_RATE: f64 = 1448.0 / 1514.0;

#[test]
fn one_cubic_flow_fills_its_link_at_exactly_the_links_rate() {
    let _alone = exclusive();
    let s = scenario(50, 500_000, (3, 10), vec![flow("a", "kernel:cubic", 20)]);
    let Some(outcome) = measure_or_skip(&s) else { return };
    let (flow, link) = (&outcome.run.summary.flows[0], &outcome.run.summary.links[0]);
    assert!(link.utilization > 0.9 && link.utilization < 1.0001, "{link:?}");
    let full = 50.0 * GOODPUT_PER_RATE;
    assert!((flow.goodput_mbps / link.utilization - full).abs() < 0.01 * full, "{flow:?} of {full}");
    // The path's RTT is the base RTT and the queue: 500 kB at 50 Mbit/s is 80 ms at most, a packet 0.24 ms.
    let rtt = flow.rtt_mean_ms.unwrap();
    let waited = link.queue_delay_mean_ms.unwrap();
    assert!((rtt - 20.0 - waited - 0.24).abs() < 0.1, "{rtt} against {waited}");
    assert!(waited > 5.0 && link.queue_delay_p99_ms.unwrap() < 80.3, "{link:?}");
    let told = &outcome.run.series.flows[0];
    let last = told.cwnd_pkts.len() - 1;
    assert!(
        told.cwnd_pkts[last] > 80.0 && told.inflight_pkts[last] > 80.0,
        "bandwidth-delay product: 83 packets"
    );
    assert!(told.pacing_mbps[last] > 40.0 && told.phase[last] == -1);
    assert!(outcome.lateness.packets > 30_000 && outcome.run.notes[0].contains("lateness"));
}

#[test]
fn two_runs_at_a_time_each_have_their_own_path_and_their_own_cost() {
    let _alone = exclusive();
    let options = &Options { wake_early: false, ..Options::default() };
    let s = &scenario(20, 100_000, (1, 4), vec![flow("a", "kernel:cubic", 20)]);
    let before = cpu_of_process();
    let measured = std::thread::scope(|scope| {
        let runs = [(); 2].map(|()| scope.spawn(move || measure(s, &mut Silent, options)));
        runs.map(|run| run.join().expect("it does not panic"))
    });
    let spent = cpu_of_process() - before;
    let mut counted = 0.0;
    for outcome in measured {
        let outcome = match outcome {
            Ok(outcome) => outcome,
            other => return crate::support::skip_or_panic(other),
        };
        if let Some(why) = outcome.disturbed {
            return announce("NOT JUDGED", &why.to_string());
        }
        let link = &outcome.run.summary.links[0];
        assert!(link.utilization > 0.9 && link.utilization < 1.0001, "{link:?}");
        counted += outcome.run.summary.cost.cpu_s;
    }
    // what is missing made the namespaces; were a run to count the other one's threads, it would be twice
    // as much
    assert!(counted > 0.5 * spent && counted <= spent, "{counted} s of {spent} s");
}

/// CPU-seconds of this process.
fn cpu_of_process() -> f64 {
    let time = nix::time::clock_gettime(nix::time::ClockId::CLOCK_PROCESS_CPUTIME_ID).expect("Linux has it");
    Duration::from(time).as_secs_f64()
}

#[test]
fn our_algorithms_run_with_parameters_of_their_own_and_are_gone_afterwards() {
    let _alone = exclusive();
    if !crate::support::can_load() {
        return;
    }
    let mut changed = flow("changed", "bbq", 10);
    changed.cc.set("alpha", "5ms").expect("a parameter");
    let s = scenario(20, 200_000, (1, 3), vec![flow("default", "bbq", 10), changed]);
    let outcome = measure_or_skip(&s);
    assert_eq!(crate::support::loaded_by(std::process::id()), [""; 0]);
    let Some(outcome) = outcome else { return };
    for (summary, series) in outcome.run.summary.flows.iter().zip(&outcome.run.series.flows) {
        assert!(summary.cc == "bbq" && summary.goodput_mbps > 1.0, "{summary:?}");
        assert!(series.phase[20] >= 0 && series.bw_mbps[20] > 1.0 && series.min_rtt_ms[20] >= 10.0);
    }
}

#[test]
fn a_cwnd_beyond_the_path_is_judged_but_where_the_kernel_may_have_made_it_up() {
    let _alone = exclusive();
    if !crate::support::can_load() {
        return;
    }
    // the path holds 33 packets
    for (cwnd, suspected) in [("10000", false), ("10001", true)] {
        let mut fixed = flow("fixed", "fixed_cwnd", 20);
        fixed.cc.set("cwnd_pkts", cwnd).expect("a parameter");
        let outcome =
            match measure(&scenario(10, 25_000, (0, 1), vec![fixed]), &mut Silent, &Options::default()) {
                Ok(outcome) => outcome,
                other => return crate::support::skip_or_panic(other),
            };
        let skipped = matches!(&outcome.disturbed, Some(Disturbance::Skipped(_)));
        assert_eq!(skipped, suspected && Features::probe().skips_programs(), "{:?}", outcome.disturbed);
    }
}

#[test]
fn an_interrupted_run_ends_at_once_and_leaves_nothing() {
    let _alone = exclusive();
    let s = scenario(50, 500_000, (1, 30), vec![flow("a", "kernel:cubic", 20), flow("b", "kernel:bbr", 20)]);
    let before = Leaves::now();
    let (mut monitor, began) = (StopAfter::request(1.0), Instant::now());
    match run(&s, &mut monitor, &Options::default()) {
        Err(Error::Interrupted) => {}
        other => return crate::support::skip_or_panic(other),
    }
    assert!(began.elapsed() < Duration::from_secs(2), "took {:?}", began.elapsed());
    monitor.held.expect("the monitor was asked").assert_empty();
    assert_eq!(Leaves::now(), before);
}

#[test]
fn a_panic_in_the_middle_of_a_run_leaves_nothing() {
    let _alone = exclusive();
    let s = scenario(50, 500_000, (1, 30), vec![flow("a", "kernel:cubic", 20)]);
    let before = Leaves::now();
    let mut monitor = StopAfter::panic(1.0);
    let result = catch_unwind(AssertUnwindSafe(|| run(&s, &mut monitor, &Options::default())));
    if let Ok(other) = result {
        return crate::support::skip_or_panic(other);
    }
    monitor.held.expect("the monitor was asked").assert_empty();
    assert_eq!(Leaves::now(), before);
}

#[test]
fn kill_minus_nine_in_the_middle_of_a_run_leaves_nothing() {
    let _alone = exclusive();
    let loads = crate::support::can_load();
    let Some(mut victim) = crate::support::spawn_run(if loads { "bbr1" } else { "kernel:bbr" }) else {
        return;
    };
    let held = Held::of_process(victim.id());
    assert_eq!(held.devices(), ["fp-recv", "fp-send"], "the run is on");
    let pid = victim.id();
    assert_eq!(crate::support::loaded_by(pid).len(), usize::from(loads));
    victim.kill().unwrap();
    victim.wait().unwrap();
    held.assert_empty();
    let deadline = Instant::now() + Duration::from_secs(5);
    while !crate::support::loaded_by(pid).is_empty() && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(crate::support::loaded_by(pid), [""; 0], "the algorithm has left the kernel");
}

#[test]
fn an_algorithm_that_the_kernel_lacks_is_named_with_what_it_has() {
    let _alone = exclusive();
    let s = scenario(50, 500_000, (1, 2), vec![flow("a", "kernel:nonesuch", 20)]);
    match measure(&s, &mut Silent, &Options::default()) {
        Err(Error::UnknownCongestionControl { flow, name, available }) => {
            assert_eq!((flow.as_str(), name.as_str()), ("a", "nonesuch"));
            assert!(available.contains("cubic") || available.contains("reno"), "{available}");
        }
        other => crate::support::skip_or_panic(other),
    }
}

#[test]
fn without_privileges_the_run_is_refused_before_anything_happens() {
    let _alone = exclusive();
    let s = scenario(50, 500_000, (1, 2), vec![flow("a", "bbr1", 20)]);
    let error =
        crate::support::without_privileges(move || run(&s, &mut Silent, &Options::default())).unwrap_err();
    assert!(matches!(error, Error::NotPermitted { .. }), "{error:?}");
    assert!(error.to_string().contains("namespace"));
}

#[test]
fn without_tun_the_run_is_refused_with_the_path() {
    let _alone = exclusive();
    let s = scenario(50, 500_000, (1, 2), vec![flow("a", "kernel:cubic", 20)]);
    let options = Options { tun: "/nonexistent/tun".into(), ..Options::default() };
    let error = run(&s, &mut Silent, &options).unwrap_err();
    assert!(
        matches!(error, Error::NoTun { .. }) && error.to_string().contains("/nonexistent/tun"),
        "{error}"
    );
}

#[test]
fn what_the_emulator_cannot_carry_is_refused() {
    let _alone = exclusive();
    let too_fast = scenario(40_000, 500_000, (1, 2), vec![flow("a", "kernel:cubic", 20)]);
    let error = run(&too_fast, &mut Silent, &Options::default()).unwrap_err();
    assert!(matches!(error, Error::TooFast { .. }) && error.to_string().contains("40000"), "{error}");
    let too_large = scenario(100, 16_000_000_000, (1, 2), vec![flow("a", "kernel:cubic", 20)]);
    let error = run(&too_large, &mut Silent, &Options::default()).unwrap_err();
    assert!(matches!(error, Error::TooLarge { .. }), "{error}");
}

#[test]
fn what_the_testbed_does_not_support_is_refused_by_its_key() {
    let mut s = scenario(20, 500_000, (0, 1), vec![flow("a", "kernel:bbr", 20)]);
    s.flows[0].host_jitter = Duration::from_millis(5);
    let error = measure(&s, &mut Silent, &Options::default()).expect_err("it is not supported");
    let Error::Invalid(invalid) = error else { panic!("{error}") };
    let keys: Vec<_> = invalid.problems.iter().map(|problem| (problem.kind, problem.key.as_str())).collect();
    assert_eq!(keys, [("not-on-target", "flow.1.host_jitter")]);
}

/// Runs a flow that asks for marks. Its sender must know of every one, as the run's note of the flow says;
/// those of the last round trip are on their way.
fn knows_of_every_mark(cc: &str, ecn: Ecn) {
    let Some(Outcome { run, .. }) = measure_or_skip(&marks(cc, ecn)) else { return };
    let number = |note: &String| note.split("knows of ").nth(1)?.split(' ').next()?.parse().ok();
    let known: u64 = run.notes.iter().find_map(number).expect("a note of the flow's marks");
    let link = &run.summary.links[0];
    assert!(link.marks > 20 && link.drops == 0, "{link:?}");
    assert!(known <= link.marks && known + 60 > link.marks, "{ecn:?}: {known} of {} marks", link.marks);
}

/// User-mode Linux has no algorithm that asks for this echo.
#[test]
fn with_the_echo_of_dctcp_a_sender_knows_of_every_mark() {
    let _alone = exclusive();
    if crate::support::can_load() {
        knows_of_every_mark("dctcp", Ecn::Dctcp);
    }
}

/// Where the kernel has no accurate ECN, the run says so, and the test, too.
#[test]
fn with_accurate_ecn_a_sender_knows_of_every_mark() {
    let _alone = exclusive();
    if crate::support::can_load() {
        knows_of_every_mark("dctcp", Ecn::Accurate);
    }
    knows_of_every_mark("kernel:cubic", Ecn::L4s);
}
