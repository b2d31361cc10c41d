//! The simulator against what is known without simulating.

use crate::support::{EFFICIENCY, bdp_bytes, flow, link, ms, run, scenario, with};
use fairpace_cc::Phase;
use fairpace_scenario::{Link, Trace};

/// Packets per second of a link, 1514 bytes each.
fn pkts_per_s(rate_mbps: u64) -> f64 {
    rate_mbps as f64 * 1e6 / 8.0 / 1514.0
}

#[test]
fn one_flow_fills_a_link_with_a_buffer_of_one_bdp() {
    for (cc, least) in [
        ("bbr1", 0.96),
        ("bbr1_drain", 0.94),
        ("bbq", 0.94),
        ("nyu", 0.94),
        ("nyu_curve", 0.94),
        ("level", 0.94),
        ("cubic", 0.99),
        ("reno", 0.99),
    ] {
        let r = run(&scenario(vec![link(20, bdp_bytes(20, 40))], vec![flow(cc, 40, 0)], 10, 40));
        let s = &r.summary;
        let used = s.links[0].utilization;
        assert!((least..=1.0001).contains(&used), "{cc}: utilization {used}");
        // without loss in flight at the edges of the window, goodput is the utilization less headers and
        // copies
        let goodput = s.flows[0].goodput_mbps / 20.0 / EFFICIENCY;
        assert!((goodput - used).abs() < 0.01, "{cc}: goodput {goodput}, utilization {used}");
    }
}

#[test]
fn a_trace_that_is_used_up_gives_its_mean_rate() {
    // five full packets in 7 ms, two of them at the end of a period, and a window of 1000 periods
    let trace = Trace::read("test.trace", "0\n1\n1\n7\n7\n").unwrap();
    let mean_mbps = 5.0 * 1514.0 * 8.0 / 7e3;
    let l = Link { trace: Some(trace.clone()), ..Link::new("cell", trace.mean_bps(), 2_000_000) };
    let mut s = scenario(vec![l], vec![with(flow("fixed_cwnd", 40, 0), "cwnd_pkts", "1000")], 0, 12);
    s.window = (ms(3 * 700), ms(13 * 700));
    let summary = run(&s).summary;
    assert_eq!(summary.links[0].utilization, 1.0);
    assert_eq!(summary.links[0].rate_mbps, trace.mean_bps() as f64 / 1e6);
    assert!((summary.links[0].rate_mbps - mean_mbps).abs() < 1e-6);
    let goodput = summary.flows[0].goodput_mbps;
    assert!((goodput / (mean_mbps * EFFICIENCY) - 1.0).abs() < 1e-9, "{goodput} of {mean_mbps}");
}

#[test]
fn bbr_keeps_a_deep_buffer_nearly_empty_and_loss_based_flows_fill_it() {
    let queue_ms = |cc| {
        let r = run(&scenario(vec![link(20, 4 * bdp_bytes(20, 40))], vec![flow(cc, 40, 0)], 20, 60));
        r.summary.links[0].queue_delay_mean_ms.unwrap()
    };
    assert!(queue_ms("bbr1") < 8.0);
    for cc in ["cubic", "reno"] {
        assert!(queue_ms(cc) > 80.0, "{cc}");
    }
}

#[test]
fn bbr_startup_doubles_each_round_and_ends_three_rounds_after_the_pipe_is_full() {
    // 100 Mbit/s at 50 ms: a BDP of 413 packets
    let mut s = scenario(vec![link(100, 20_000_000)], vec![flow("bbr1", 50, 0)], 0, 4);
    s.interval = crate::support::ms(10);
    let r = run(&s);
    let f = &r.series.flows[0];
    let full_ms =
        f.bw_mbps.iter().position(|bw| f64::from(*bw) > 0.95 * 100.0 * EFFICIENCY).unwrap() as f64 * 10.0;
    // a handshake, log2(413 / 10) = 5.4 doublings, a round until the last sample is in, some queue
    assert!((6.5..10.0).contains(&(full_ms / 50.0)), "the pipe was full after {} base RTTs", full_ms / 50.0);
    let startup_ms = f.phase.iter().rposition(|p| *p == Phase::Startup as i8).unwrap() as f64 * 10.0;
    let peak_ms = f64::from(f.rtt_ms.iter().copied().fold(0.0, f32::max));
    // rounds are as long as the RTT that the growing queue makes
    let rounds = (startup_ms - full_ms) / peak_ms;
    assert!((2.0..4.0).contains(&rounds), "STARTUP went on for {rounds:.1} rounds");
    // ACM Queue, "Startup": cwnd bounds the queue to (2.89 - 1) BDP; room for bursts adds some packets
    assert!((2.5 * 50.0..2.89 * 50.0 + 10.0).contains(&peak_ms), "RTT peak {peak_ms} ms");
}

#[test]
fn bbr_visits_probe_rtt_every_ten_seconds_for_200_ms() {
    let mut s = scenario(vec![link(20, 1_000_000)], vec![flow("bbr1", 40, 0)], 0, 45);
    s.interval = crate::support::ms(20);
    let r = run(&s);
    let probing: Vec<bool> = r.series.flows[0].phase.iter().map(|p| *p == Phase::ProbeRtt as i8).collect();
    let visits = probing.windows(2).filter(|w| !w[0] && w[1]).count();
    assert_eq!(visits, 4, "in 45 s");
    let points = probing.iter().filter(|p| **p).count();
    let each_ms = points as f64 * 20.0 / visits as f64;
    assert!((200.0..400.0).contains(&each_ms), "{each_ms} ms each");
}

#[test]
fn reno_saws_between_half_and_all_of_bdp_and_buffer() {
    // W = BDP + buffer. A tooth grows from W/2 to W by one packet a round and carries 3/8 W^2 packets.
    let (rate, rtt) = (20, 40);
    let bdp = bdp_bytes(rate, rtt);
    let r = run(&scenario(vec![link(rate, bdp)], vec![flow("reno", rtt, 0)], 20, 120));
    let w = 2.0 * bdp as f64 / 1514.0;
    let expected = 100.0 * pkts_per_s(rate) / (0.375 * w * w);
    let drops = &r.series.links[0].drops[200..];
    let teeth = drops.windows(2).filter(|d| d[0] == 0 && d[1] > 0).count() as f64;
    assert!((teeth / expected - 1.0).abs() < 0.1, "{teeth} teeth, expected {expected:.1}");
    let cwnd = &r.series.flows[0].cwnd_pkts[200..];
    let peak = cwnd.iter().copied().fold(0.0, f32::max);
    assert!((f64::from(peak) / w - 1.0).abs() < 0.05, "peak {peak}, expected {w:.0}");
    let trough = cwnd.iter().copied().fold(f32::MAX, f32::min);
    assert!((f64::from(trough) / w - 0.5).abs() < 0.05, "trough {trough}, expected {:.0}", w / 2.0);
}

#[test]
fn cubic_follows_its_curve_after_every_loss() {
    // RFC 9438 sections 4.2, 4.6, 4.7: from 0.7 W the window follows 0.4 (t - K)^3 + W_max, where W_max is W,
    // or 0.85 W when W is less than the maximum before
    let (rate, rtt) = (100, 100);
    let r = run(&scenario(vec![link(rate, bdp_bytes(rate, rtt) / 2)], vec![flow("cubic", rtt, 0)], 0, 60));
    let cwnd: Vec<f64> = r.series.flows[0].cwnd_pkts.iter().map(|c| f64::from(*c)).collect();
    let drops = &r.series.links[0].drops;
    let losses: Vec<usize> = (1..drops.len()).filter(|i| drops[*i] > 0 && drops[*i - 1] == 0).collect();
    assert!(losses.len() >= 4, "{losses:?}");
    let mut before = 0.0;
    for (i, epoch) in losses.windows(2).enumerate() {
        // a drop is noticed an RTT later
        let w = cwnd[epoch[0] - 1..epoch[0] + 3].iter().copied().fold(0.0, f64::max);
        let w_max = if w < before { 0.85 * w } else { w };
        before = w_max;
        if i == 0 {
            continue; // slow start ends with a loss at a window that the series is too coarse for
        }
        let k_s = ((w_max - 0.7 * w) / 0.4).cbrt();
        // the loss is noticed after an RTT of 150 ms and recovered from after one more: then the curve begins
        for (t_s, seen) in (7..).map(|i| f64::from(i) / 10.0).zip(&cwnd[epoch[0] + 10..epoch[1]]) {
            let curve = 0.4 * (t_s - k_s).powi(3) + w_max;
            assert!((seen / curve - 1.0).abs() < 0.02, "{t_s:.1} s after {w}: {seen}, curve {curve:.0}");
        }
    }
}

#[test]
fn littles_law_holds_at_the_queue() {
    let flows = vec![flow("bbr1", 10, 0), flow("cubic", 50, 1000)];
    let r = run(&scenario(vec![link(20, 200_000)], flows, 10, 30));
    let link = &r.summary.links[0];
    // mean backlog = arrival rate x mean wait; the last interval of the series is the end of the window
    let points = 100..300;
    let backlog_kb: f64 = r.series.links[0]
        .backlog_kb
        .iter()
        .flat_map(|f| &f[points.clone()])
        .map(|kb| f64::from(*kb))
        .sum::<f64>()
        / 200.0;
    let expected_kb = link.utilization * link.rate_mbps / 8.0 * link.queue_delay_mean_ms.unwrap();
    assert!((backlog_kb / expected_kb - 1.0).abs() < 0.005, "{backlog_kb} kB, expected {expected_kb}");
    assert!((link.backlog_share.iter().sum::<f64>() - 1.0).abs() < 1e-9);
}

#[test]
fn goodput_shares_follow_backlog_shares_where_the_queue_never_empties() {
    // The BBQ paper's argument: a FIFO serves each flow in proportion to what it has queued.
    let flows = vec![flow("cubic", 10, 0), flow("cubic", 50, 1000)];
    let r = run(&scenario(vec![link(20, 400_000)], flows, 10, 60));
    let (share, backlog) = (r.summary.flows[0].share.unwrap(), r.summary.links[0].backlog_share[0]);
    assert!((share - backlog).abs() < 0.02, "goodput {share}, backlog {backlog}");
}

#[test]
fn rtts_are_the_base_plus_queue_plus_transmission() {
    let r = run(&scenario(vec![link(20, 400_000)], vec![flow("cubic", 40, 0)], 10, 30));
    let (f, l) = (&r.summary.flows[0], &r.summary.links[0]);
    let transmission_ms = 1514.0 * 8.0 / 20e3;
    let expected = 40.0 + l.queue_delay_mean_ms.unwrap() + transmission_ms;
    assert!((f.rtt_mean_ms.unwrap() - expected).abs() < 0.05, "{:?}, expected {expected}", f.rtt_mean_ms);
    assert!(f.rtt_p99_ms.unwrap() <= 40.0 + 400e3 * 8.0 / 20e3 + 3.0 * transmission_ms);
    assert!(f.rtt_p50_ms.unwrap() <= f.rtt_p99_ms.unwrap());
}

#[test]
fn a_longer_rtt_wins_with_bbr_and_loses_with_cubic_and_reno() {
    let share_of_short = |cc| {
        let flows = vec![flow(cc, 10, 0), flow(cc, 50, 1000)];
        run(&scenario(vec![link(20, 500_000)], flows, 20, 80)).summary.flows[0].share.unwrap()
    };
    assert!(share_of_short("bbr1") < 0.3);
    assert!(share_of_short("cubic") > 0.5);
    assert!(share_of_short("reno") > 0.5);
}

#[test]
fn two_bbr_flows_of_one_rtt_share_and_keep_about_a_bdp_queued() {
    // each flow's cwnd is 2 BDP of its own estimate, both estimates are high (Hock et al., ICNP 2017), and on
    // a BDP of 66 packets the room that each cwnd leaves for bursts is not small
    let flows = vec![flow("bbr1", 40, 0), flow("bbr1", 40, 1000)];
    let r = run(&scenario(vec![link(20, 1_000_000)], flows, 30, 120));
    let queue = r.summary.links[0].queue_delay_mean_ms.unwrap();
    assert!((0.5 * 40.0..1.5 * 40.0).contains(&queue), "queue {queue} ms");
    assert!(r.summary.jain.unwrap() > 0.9, "{:?}", r.summary.jain);
}
