//! Real flows on this machine's kernel: what a run measures, and that it leaves nothing behind however it
//! ends.
//!
//! Needs root and TUN. Elsewhere the tests say so and pass, unless FAIRPACE_REQUIRE_KERNEL=1.

use crate::support::{Held, Leaves, StopAfter, flow, measure_or_skip, scenario};
use fairpace_kernel::Features;
use fairpace_results::Silent;
use fairpace_scenario::{Link, Loss, Policer, WHOLE_PPB};
use fairpace_test_support::{announce, exclusive};
use fairpace_testbed::{Disturbance, Error, Options, measure, run};
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
fn a_flow_that_starts_late_and_stops_early_leaves_the_link_to_the_other() {
    let _alone = exclusive();
    let mut guest = flow("guest", "kernel:bbr", 10);
    (guest.start, guest.stop) = (Duration::from_secs(2), Some(Duration::from_secs(4)));
    let s = scenario(20, 200_000, (1, 6), vec![flow("host", "kernel:bbr", 20), guest]);
    let Some(outcome) = measure_or_skip(&s) else { return };
    let series = &outcome.run.series;
    let mean_between = |flow: usize, from: f64, to: f64| {
        let points = series.t_s.iter().zip(&series.flows[flow].goodput_mbps);
        let inside: Vec<f32> = points.filter(|(t, _)| **t > from && **t <= to).map(|(_, v)| *v).collect();
        f64::from(inside.iter().sum::<f32>()) / inside.len() as f64
    };
    assert_eq!(mean_between(1, 0.0, 2.0), 0.0, "the guest has not started");
    assert!(mean_between(1, 2.5, 4.0) > 1.0, "the guest gets something");
    assert_eq!(mean_between(1, 4.5, 6.0), 0.0, "the guest has stopped");
    let (host, guest) = (&series.flows[0], &series.flows[1]);
    let again = mean_between(0, 5.0, 6.0);
    assert!(again > 17.0, "the host has the link again: {again} Mbit/s; {host:?}; {:?}", outcome.lateness);
    assert!(guest.cwnd_pkts[5].is_nan() && !guest.cwnd_pkts[30].is_nan() && guest.cwnd_pkts[55].is_nan());
    assert!(host.bw_mbps[15] > 15.0 && host.phase[15] >= 0, "bbr tells all");
    // The SYN is the packet with the least RTT: it takes 0.03 ms on the link, a full packet 0.61 ms. Were it
    // sent before the emulator's clock runs, it would wait, and the data would have the least.
    let least = host.min_rtt_ms[15];
    assert!((20.0..20.5).contains(&least), "{least} ms");
}

#[test]
fn of_two_links_in_a_row_the_slower_one_has_the_queue() {
    let _alone = exclusive();
    let mut s = scenario(50, 200_000, (1, 3), vec![flow("a", "kernel:cubic", 10)]);
    s.links.push(Link::new("narrow", 20_000_000, 50_000));
    let Some(outcome) = measure_or_skip(&s) else { return };
    let [wide, narrow] = outcome.run.summary.links.as_slice() else { panic!("two links") };
    assert!(narrow.utilization > 0.9 && wide.utilization < 0.5, "{wide:?} {narrow:?}");
    assert!(narrow.queue_delay_mean_ms > wide.queue_delay_mean_ms, "{wide:?} {narrow:?}");
    // 10 ms, the two queues, and 0.24 ms and 0.61 ms of transmission.
    let expected = 10.85 + narrow.queue_delay_mean_ms.unwrap() + wide.queue_delay_mean_ms.unwrap();
    let rtt = outcome.run.summary.flows[0].rtt_mean_ms.unwrap();
    assert!((rtt - expected).abs() < 0.3, "{rtt} against {expected}");
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
fn a_link_loses_polices_and_changes_its_rate_as_in_the_simulator() {
    let _alone = exclusive();
    let mut s = scenario(20, 500_000, (0, 5), vec![flow("a", "kernel:bbr", 20)]);
    s.links[0].loss.ppb = 10_000_000;
    s.links[0].rate_at = vec![(Duration::from_millis(2500), 40_000_000)];
    let Some(outcome) = measure_or_skip(&s) else { return };
    let (summary, series) = (&outcome.run.summary, &outcome.run.series);
    let (link, retransmitted) = (&summary.links[0], summary.flows[0].retransmits);
    assert!(link.utilization > 0.7 && link.utilization <= 1.0001, "{link:?}");
    // 1 % of what left the link: 11,000 packets or so, four standard deviations are 0.4 %
    let sent = (link.lost + summary.cost.data_packets) as f64;
    assert!((0.006..0.014).contains(&(link.lost as f64 / sent)), "{} of {sent}", link.lost);
    assert!(retransmitted >= link.lost / 2, "{retransmitted} sent again, {} lost", link.lost);
    let mean = |from: f64, to: f64| {
        let points = series.t_s.iter().zip(&series.flows[0].goodput_mbps);
        let inside: Vec<f32> = points.filter(|(t, _)| **t > from && **t <= to).map(|(_, v)| *v).collect();
        f64::from(inside.iter().sum::<f32>()) / inside.len() as f64
    };
    assert!(mean(1.0, 2.5) > 12.0 && mean(3.5, 5.0) > 24.0, "{:?}", series.flows[0].goodput_mbps);

    // Eight times slower. Goodput does not bound the rate, since a hole that closes releases what came
    // before; what left the link does, exactly.
    let mut s = scenario(40, 500_000, (2, 4), vec![flow("a", "kernel:bbr", 20)]);
    s.links[0].rate_at = vec![(Duration::from_secs(1), 5_000_000)];
    let Some(outcome) = measure_or_skip(&s) else { return };
    let link = &outcome.run.summary.links[0];
    // a packet that began before the window and left in it counts whole: one of 1.25 MB
    let most = 1.0 + 1514.0 / (2.0 * 5e6 / 8.0);
    assert!(link.utilization > 0.95 && link.utilization <= most, "{link:?}");

    let mut s = scenario(100, 500_000, (1, 6), vec![flow("a", "kernel:cubic", 20)]);
    s.links[0].policer = Some(Policer { rate_bps: 10_000_000, burst_bytes: 30_000 });
    let Some(outcome) = measure_or_skip(&s) else { return };
    let link = &outcome.run.summary.links[0];
    assert!(link.drops > 0 && link.utilization < 0.1 + 30_000.0 * 8.0 / (100e6 * 5.0), "{link:?}");
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

/// One SYN more after 1 s and none after 3 s: what fails is a result, and the other flow is not disturbed.
#[test]
fn a_connection_without_an_answer_has_failed_and_ends_no_run() {
    let _alone = exclusive();
    let mut unanswered = flow("unanswered", "kernel:cubic", 20);
    (unanswered.sending.syn_retries, unanswered.route) = (1, Some(vec!["hole".into()]));
    let mut quick = flow("quick", "kernel:cubic", 20);
    (quick.sending.rto_min, quick.route) = (Duration::from_millis(20), Some(vec!["l".into()]));
    let mut s = scenario(20, 200_000, (0, 4), vec![unanswered, quick]);
    for flow in &mut s.flows {
        flow.sending.syn_linear_timeouts = 0;
    }
    let loss = Loss { ppb: WHOLE_PPB, burst: None };
    s.links.push(Link { loss, ..Link::new("hole", 20_000_000, 200_000) });
    let Some(outcome) = measure_or_skip(&s) else { return };
    let [unanswered, quick] = outcome.run.summary.flows.as_slice() else { panic!("two flows") };
    assert_eq!((unanswered.failed, unanswered.goodput_mbps, unanswered.retransmits), (1, 0.0, 1));
    assert!(quick.failed == 0 && quick.goodput_mbps > 15.0, "{quick:?}");
    assert_eq!(outcome.run.summary.links[1].lost, 2, "the SYN and its retransmission");
}

#[test]
fn without_tso_packets_leave_one_by_one() {
    let _alone = exclusive();
    if !crate::support::can_load() {
        return;
    }
    // At 10 Mbit/s a burst has two packets, the least that Linux makes, every 2.4 ms. At 20 Mbit/s each takes
    // 0.6 ms, which the second one waits for the first: 0.3 ms on average. One by one they come every 1.2 ms.
    let waited_ms = |tso: bool| {
        let mut paced = flow("a", "fixed_rate", 20);
        paced.cc.set("rate", "10mbit").expect("a parameter");
        // 17 are in flight; a kernel that skips programs is not judged with the 100,000 of the default
        paced.cc.set("cwnd_pkts", "1000").expect("a parameter");
        paced.sending.tso = tso;
        let outcome = measure_or_skip(&scenario(20, 200_000, (1, 2), vec![paced]))?;
        outcome.run.summary.links[0].queue_delay_mean_ms
    };
    let (Some(bursts), Some(single)) = (waited_ms(true), waited_ms(false)) else { return };
    assert!(bursts > 0.2 && single < 0.1, "{bursts} ms in bursts, {single} ms one by one");
}
