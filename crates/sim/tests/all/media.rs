//! Audio and video: delays, losses and deadlines that can be computed by hand.

use std::time::Duration;

use crate::support::{flow, link, ms, run, scenario};
use fairpace_results::{MediaSummary, Run, Silent};
use fairpace_scenario::{Cc, Flow, FqCodel, Link, Loss, Media, Queue, Scenario, Writes};

/// Headers of a datagram on the wire, bytes: Ethernet, IP, UDP, RTP.
const HEADERS: f64 = 54.0;

fn sends(media: Media, rtt_ms: u64) -> Flow {
    let mut flow = Flow::new("call", Cc::Uncontrolled, ms(rtt_ms));
    flow.traffic.writes = Writes::Frames(media);
    flow
}

/// 64 kbit/s in packets of 20 ms: 160 bytes each.
fn audio() -> Media {
    Media { rate_bps: 64_000, per_s_milli: 50_000, deviation_ppb: 0, ..Media::default() }
}

/// 1 Mbit/s in 30 frames per second: 4167 bytes each, in three packets of 1389.
fn video() -> Media {
    Media { deviation_ppb: 0, ..Media::default() }
}

fn media(run: &Run, flow: usize) -> MediaSummary {
    run.summary.flows[flow].media.clone().expect("it is audio or video")
}

/// To three digits, as percentiles are kept.
fn near(seen: Option<f64>, ms: f64) -> bool {
    seen.is_some_and(|seen| (seen / ms - 1.0).abs() < 1e-3)
}

#[test]
fn on_an_empty_link_the_delay_is_transmission_and_propagation() {
    let r = run(&scenario(vec![link(10, 100_000)], vec![sends(audio(), 40)], 1, 11));
    let (flow, seen) = (&r.summary.flows[0], media(&r, 0));
    let delay_ms = (160.0 + HEADERS) * 8.0 / 10e6 * 1e3 + 20.0;
    for delay in [seen.delay_p50_ms, seen.delay_p99_ms, seen.frame_delay_p50_ms, seen.frame_delay_p99_ms] {
        assert!(near(delay, delay_ms), "{seen:?}, expected {delay_ms}");
    }
    // one bucket of the histogram at 20 ms has 16 us
    assert!(seen.delay_variation_p99_ms.unwrap() < 0.017, "{seen:?}");
    assert_eq!((seen.late, seen.lost, seen.late_or_lost, seen.longest_freeze_ms), (0, 0, Some(0.0), 0.0));
    // the deadlines of the last 150 ms are after the end: frames from 1 s to 10.84 s count
    assert_eq!(seen.frames, 493);
    assert_eq!((flow.sent_pkts, flow.retransmits, flow.loss_rate), (Some(500), 0, Some(0.0)));
    assert!((flow.goodput_mbps - 0.064).abs() < 1e-9, "{}", flow.goodput_mbps);
    // the round trip as its packets meet it: the way back adds its propagation
    assert!(near(flow.rtt_p50_ms, delay_ms + 20.0), "{flow:?}");
}

#[test]
fn a_frame_is_complete_with_the_last_of_its_packets() {
    let r = run(&scenario(vec![link(10, 100_000)], vec![sends(video(), 40)], 1, 11));
    let seen = media(&r, 0);
    let packet_ms = (4_167.0 / 3.0 + HEADERS) * 8.0 / 10e6 * 1e3;
    assert!(near(seen.frame_delay_p50_ms, 3.0 * packet_ms + 20.0), "{seen:?}");
    assert!(near(seen.delay_p50_ms, 2.0 * packet_ms + 20.0), "{seen:?}");
    assert!((seen.delay_variation_p99_ms.unwrap() - 2.0 * packet_ms).abs() < 0.03, "{seen:?}");
    // 4167 bytes, which is 1 Mbit/s rounded up to a byte per frame
    assert!((r.summary.flows[0].goodput_mbps - 1.0).abs() < 2e-4, "{:?}", r.summary.flows[0]);
}

/// 4167 bytes are 4 packets of at most 1240 in datagrams, and of 1228 over TCP; 1 of either with an MTU of
/// 9000.
#[test]
fn a_frame_takes_the_packets_that_the_mtu_allows() {
    for (mtu_bytes, pkts) in [(1280, 4), (1500, 3), (9000, 1)] {
        for cc in [Cc::Uncontrolled, flow("reno", 40, 0).cc] {
            let over_udp = cc == Cc::Uncontrolled;
            let mut call = Flow { cc, ..sends(video(), 40) };
            call.sending.mtu_bytes = mtu_bytes;
            let r = run(&scenario(vec![link(10, 100_000)], vec![call], 1, 11));
            let flow = &r.summary.flows[0];
            // 30 frames per second from 1 to 11 s
            assert_eq!(flow.sent_pkts, Some(300 * pkts), "MTU of {mtu_bytes}, {flow:?}");
            // over TCP whole packets count
            let expected =
                if over_udp { 1.0 } else { 300.0 * pkts as f64 * f64::from(mtu_bytes - 52) * 8.0 / 1e7 };
            assert!((flow.goodput_mbps / expected - 1.0).abs() < 2e-3, "MTU of {mtu_bytes}, {flow:?}");
            assert_eq!(media(&r, 0).late_or_lost, Some(0.0));
        }
    }
}

/// Twice as much as the link carries keeps its queue full, of packets of 214 bytes: half of them are dropped.
#[test]
fn in_a_full_queue_the_delay_is_that_of_the_queue_and_the_rest_is_lost() {
    let packet = 160.0 + HEADERS;
    let (rate, buffer) = (50.0 * packet * 8.0 / 2.0, 20.0 * packet);
    let slow = Link::new("slow", rate as u64, buffer as u64);
    let patient = Media { deadline: Duration::from_secs(2), ..audio() };
    let r = run(&scenario(vec![slow], vec![sends(patient, 40)], 5, 65));
    let seen = media(&r, 0);
    // a packet that is let in finds 19 waiting and one on the wire, which has just begun or is half sent
    let full_ms = 20.0 + 20.5 * packet * 8.0 / rate * 1e3;
    assert!((seen.delay_p50_ms.unwrap() / full_ms - 1.0).abs() < 0.03, "{seen:?}, expected {full_ms}");
    assert!((seen.late_or_lost.unwrap() - 0.5).abs() < 0.01 && seen.late == 0, "{seen:?}");
    assert!((r.summary.flows[0].loss_rate.unwrap() - 0.5).abs() < 0.01, "{:?}", r.summary.flows[0]);
    // every other frame is missing: 20 ms, or twice that where the rhythm slips
    assert!((20.0..=40.0).contains(&seen.longest_freeze_ms), "{seen:?}");
}

/// With room for all, the queue grows by half a second in each second. A frame that is written at t waits for
/// t / 2, so that those up to twice the deadline are in time.
#[test]
fn on_a_link_that_is_too_slow_frames_are_in_time_until_the_queue_is_as_long_as_the_deadline() {
    let packet = 160.0 + HEADERS;
    let rate = 50.0 * packet * 8.0 / 1.5;
    let slow = Link::new("slow", rate as u64, 10_000_000);
    let media_of = Media { deadline: ms(500), ..audio() };
    let r = run(&scenario(vec![slow], vec![sends(media_of, 40)], 0, 10));
    let seen = media(&r, 0);
    // in time: t / 2 + one transmission + 20 ms <= 500 ms
    let transmission_s = packet * 8.0 / rate;
    let in_time = (2.0 * (0.5 - 0.02 - transmission_s) * 50.0).floor() + 1.0;
    let frames = 9.5 * 50.0 + 1.0;
    assert_eq!(seen.frames as f64, frames);
    let expected = 1.0 - in_time / frames;
    assert!((seen.late_or_lost.unwrap() - expected).abs() < 1.5 / frames, "{seen:?}, expected {expected}");
    // those of the last third of the run are still in the queue at its end
    assert!((seen.lost as f64 / frames - (9.5 - 10.0 / 1.5) / 9.5).abs() < 0.02, "{seen:?}");
    assert!((seen.longest_freeze_ms / 1e3 - (frames - in_time) / 50.0).abs() < 0.05, "{seen:?}");
}

#[test]
fn a_frame_is_lost_with_any_of_its_packets() {
    let lossy = Link { loss: Loss { ppb: 20_000_000, burst: None }, ..link(10, 100_000) };
    let r = run(&scenario(vec![lossy], vec![sends(video(), 40)], 0, 600));
    let seen = media(&r, 0);
    let expected = 1.0 - 0.98f64.powi(3);
    // four standard deviations of a share of 18,000 frames
    let slack = 4.0 * (expected * (1.0 - expected) / 18_000.0).sqrt();
    assert!((seen.late_or_lost.unwrap() - expected).abs() < slack, "{seen:?}, expected {expected}");
    assert_eq!(seen.late, 0);
}

#[test]
fn frames_over_tcp_wait_for_retransmissions() {
    let over_tcp = |loss_ppb| {
        let mut sender = flow("cubic", 40, 0);
        sender.traffic.writes = Writes::Frames(video());
        let lossy = Link { loss: Loss { ppb: loss_ppb, burst: None }, ..link(10, 100_000) };
        let r = run(&scenario(vec![lossy], vec![sender], 2, 62));
        media(&r, 0)
    };
    let clean = over_tcp(0);
    // three packets, each a whole one
    assert!(near(clean.frame_delay_p99_ms, 3.0 * 1514.0 * 8.0 / 10e6 * 1e3 + 20.0), "{clean:?}");
    assert_eq!(clean.late_or_lost, Some(0.0));
    // a lost packet takes one RTT more, at least, and is not lost for good
    let lossy = over_tcp(20_000_000);
    assert!(lossy.frame_delay_p99_ms.unwrap() > clean.frame_delay_p99_ms.unwrap() + 40.0, "{lossy:?}");
    assert_eq!(lossy.lost, 0);
}

/// RFC 9743, section 5.2: what an algorithm does to real-time traffic depends on the queue, too.
#[test]
fn a_neighbour_that_fills_the_queue_makes_frames_late_unless_flows_are_queued_apart() {
    let beside = |queue| {
        let shared = Link { queue, ..link(10, 500_000) };
        media(&run(&scenario(vec![shared], vec![sends(video(), 40), flow("cubic", 40, 0)], 10, 40)), 0)
    };
    // 400 ms of queue, of which CUBIC keeps more than 70 %
    let fifo = beside(Queue::Fifo);
    assert!(fifo.late_or_lost.unwrap() > 0.99, "{fifo:?}");
    assert!(fifo.delay_p99_ms.unwrap() < 20.0 + 502_000.0 * 8.0 / 10e6 * 1e3, "{fifo:?}");
    let apart = beside(Queue::FqCodel(FqCodel::default()));
    assert_eq!(apart.late_or_lost, Some(0.0), "{apart:?}");
}

#[test]
fn frames_do_not_depend_on_how_the_simulation_steps() {
    let key_frames = Media { key_every: 30, ..Media::default() };
    let flows = vec![sends(key_frames, 40), flow("bbr1", 20, 0), {
        let mut over_tcp = Flow { name: "over tcp".to_owned(), ..flow("cubic", 60, 100) };
        over_tcp.traffic.writes = Writes::Frames(Media::default());
        over_tcp
    }];
    for link in [link(5, 40_000), Link { loss: Loss { ppb: 10_000_000, burst: None }, ..link(5, 400_000) }] {
        let s = Scenario { seed: 7, ..scenario(vec![link], flows.clone(), 2, 12) };
        let per_hop = fairpace_sim::run_per_hop(&s, &mut Silent).expect("the scenario is valid");
        assert_eq!(run(&s).summary.stable_json(), per_hop.summary.stable_json());
    }
}

/// Without datagrams, connections with frames run in epochs.
#[test]
fn frames_over_tcp_do_not_depend_on_epochs() {
    let mut over_tcp = flow("bbr1", 60, 0);
    over_tcp.traffic.writes = Writes::Frames(Media { rate_bps: 3_000_000, ..Media::default() });
    let s = scenario(vec![link(5, 40_000)], vec![over_tcp, flow("cubic", 20, 0)], 2, 12);
    let per_hop = fairpace_sim::run_per_hop(&s, &mut Silent).expect("the scenario is valid");
    let r = run(&s);
    assert_eq!(r.summary.stable_json(), per_hop.summary.stable_json());
    assert!(media(&r, 0).late_or_lost.unwrap() > 0.0, "it was too easy: {:?}", media(&r, 0));
}
