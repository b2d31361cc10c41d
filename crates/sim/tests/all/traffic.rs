//! Applications that do not always have data.

use std::time::Duration;

use crate::support::{EFFICIENCY, flow, link, ms, run, scenario};
use fairpace_scenario::{Flow, Traffic, Writes};

fn sized(cc: &str, rtt_ms: u64, start_ms: u64, bytes: u64) -> Flow {
    Flow { traffic: Traffic { size_bytes: Some(bytes), ..Traffic::default() }, ..flow(cc, rtt_ms, start_ms) }
}

fn writing(cc: &str, rtt_ms: u64, writes: Writes) -> Flow {
    Flow { traffic: Traffic { writes, ..Traffic::default() }, ..flow(cc, rtt_ms, 0) }
}

#[test]
fn a_transfer_of_the_initial_window_takes_two_round_trips() {
    // SYN and its answer, 0.1 ms until the application is woken, then ten packets; the last one's way to the
    // receiver is half an RTT
    for cc in ["reno", "bbr1"] {
        let r = run(&scenario(vec![link(1000, 1_000_000)], vec![sized(cc, 100, 500, 14_480)], 0, 3));
        let f = &r.summary.flows[0];
        let transmission_s = (74.0 + 10.0 * 1514.0) * 8.0 / 1e9;
        let expected = 0.150 + 0.0001 + transmission_s;
        assert!(
            (f.completion_s.unwrap() - expected).abs() < 1e-6,
            "{cc}: {:?}, expected {expected}",
            f.completion_s
        );
    }
}

#[test]
fn slow_start_doubles_each_round_until_the_transfer_is_done() {
    // 10 + 20 + 40 + 80 packets: the fourth round ends 4.5 RTTs after the SYN
    let r = run(&scenario(vec![link(10_000, 10_000_000)], vec![sized("reno", 100, 0, 150 * 1448)], 0, 3));
    let seen = r.summary.flows[0].completion_s.unwrap();
    assert!((seen - 0.450).abs() < 0.001, "{seen}");
}

#[test]
fn a_large_transfer_takes_its_size_over_the_rate() {
    for cc in ["cubic", "bbr1"] {
        let r = run(&scenario(vec![link(50, 500_000)], vec![sized(cc, 20, 0, 100_000_000)], 0, 40));
        let (least, seen) = (100.0 * 8.0 / (50.0 * EFFICIENCY), r.summary.flows[0].completion_s.unwrap());
        assert!((least..1.05 * least).contains(&seen), "{cc}: {seen} s, at least {least}");
        // whole packets
        let goodput_bytes = r.summary.flows[0].goodput_mbps * 40.0 / 8.0 * 1e6;
        assert!((100e6..100e6 + 1448.0).contains(&goodput_bytes.round()), "{goodput_bytes}");
    }
}

#[test]
fn what_does_not_end_or_has_no_end_has_no_completion_time() {
    let flows = vec![sized("cubic", 20, 0, 1_000_000_000), flow("cubic", 20, 0)];
    let r = run(&scenario(vec![link(50, 500_000)], flows, 0, 5));
    assert!(r.summary.flows.iter().all(|f| f.completion_s.is_none()));
}

#[test]
fn a_stream_gets_its_rate_whatever_the_algorithm() {
    let stream = Writes::Paced { rate_bps: 5_000_000, every: ms(500) };
    for cc in ["bbr1", "bbq", "nyu", "level", "cubic", "reno"] {
        let r = run(&scenario(vec![link(50, 500_000)], vec![writing(cc, 40, stream.clone())], 10, 60));
        let f = &r.summary.flows[0];
        assert!((f.goodput_mbps - 5.0).abs() < 0.1, "{cc}: {} Mbit/s", f.goodput_mbps);
        // chunks of 216 packets and nothing in between: queues are those of slow starts
        assert!(r.summary.links[0].drops == 0, "{cc}: {} drops", r.summary.links[0].drops);
    }
}

#[test]
fn a_stream_faster_than_the_path_waits_and_then_catches_up() {
    // 8 Mbit/s in chunks of a second onto 20 Mbit/s with a bulk flow beside it that stops at 20 s
    let stream = Writes::Paced { rate_bps: 8_000_000, every: Duration::from_secs(1) };
    let bulk = Flow { stop: Some(Duration::from_secs(20)), ..flow("bbr1", 80, 0) };
    let flows = vec![writing("cubic", 20, stream), bulk];
    let r = run(&scenario(vec![link(20, 50_000)], flows, 0, 60));
    let total: f64 = r.series.flows[0].goodput_mbps.iter().map(|m| f64::from(*m) * 0.1).sum();
    // all but what was written in the last second has arrived
    assert!((59.0 * 8.0..=60.0 * 8.0 + 0.1).contains(&total), "{total} Mbit");
}

#[test]
fn an_application_that_pauses_sends_while_it_is_on() {
    let writes = Writes::OnOff { on: Duration::from_secs(2), off: Duration::from_secs(3) };
    for cc in ["bbr1", "level", "cubic"] {
        let r = run(&scenario(vec![link(20, 200_000)], vec![writing(cc, 20, writes.clone())], 0, 50));
        let f = &r.series.flows[0];
        let on: Vec<f32> =
            (0..500).filter(|i| (5..20).contains(&(i % 50))).map(|i| f.goodput_mbps[i]).collect();
        let off: Vec<f32> =
            (0..500).filter(|i| (23..50).contains(&(i % 50))).map(|i| f.goodput_mbps[i]).collect();
        let mean = |v: &[f32]| v.iter().sum::<f32>() / v.len() as f32;
        assert!(mean(&on) > 17.0, "{cc}: {} Mbit/s while on", mean(&on));
        assert_eq!(mean(&off), 0.0, "{cc}");
    }
}

#[test]
fn bbr_keeps_its_estimate_through_samples_that_the_application_limits() {
    // draft-cheng-iccrg-delivery-rate-estimation section 3.4: they do not lower it. 1 Mbit/s in chunks of 25
    // packets.
    let stream = Writes::Paced { rate_bps: 1_000_000, every: ms(300) };
    let writes = |writes| writing("bbr1", 40, writes);
    let mut f = writes(Writes::OnOff { on: ms(4000), off: ms(60_000) });
    f.stop = None;
    let bulk_then_nothing = run(&scenario(vec![link(20, 500_000)], vec![f], 0, 8));
    let bw = |r: &fairpace_results::Run, i: usize| f64::from(r.series.flows[0].bw_mbps[i]);
    assert!((bw(&bulk_then_nothing, 35) / (20.0 * EFFICIENCY) - 1.0).abs() < 0.1);
    assert_eq!(bw(&bulk_then_nothing, 45), bw(&bulk_then_nothing, 75), "no ACKs, no change");
    // a stream alone: every sample is limited, and the estimate is that of its bursts, far above its mean
    // rate
    let r = run(&scenario(vec![link(20, 500_000)], vec![writes(stream)], 0, 30));
    assert!(bw(&r, 250) > 2.0, "{} Mbit/s", bw(&r, 250));
}

#[test]
fn a_flow_that_stops_before_its_size_is_incomplete() {
    let f = Flow { stop: Some(Duration::from_secs(1)), ..sized("cubic", 20, 0, 100_000_000) };
    let r = run(&scenario(vec![link(20, 200_000)], vec![f], 0, 3));
    assert_eq!(r.summary.flows[0].completion_s, None);
}
