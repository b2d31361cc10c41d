//! Flows whose packets are not of 1500 bytes: `mtu`.

use crate::support::{algorithm, bdp_bytes, flow, link, ms, run, scenario, with};
use fairpace_results::{Run, Silent};
use fairpace_scenario::{
    Cc, DualPi2, Ecn, Flow, Handover, Line, Link, Loss, Media, Queue, Scenario, Sending, Window, Writes,
};

/// A flow with this MTU.
fn with_mtu(mut flow: Flow, mtu_bytes: u32) -> Flow {
    flow.sending.mtu_bytes = mtu_bytes;
    flow.name = format!("{} of {mtu_bytes}", flow.name);
    flow
}

/// Payload per byte on the wire: 52 bytes of headers in the MTU, 14 of Ethernet in front of it.
fn payload(mtu_bytes: u32) -> f64 {
    f64::from(mtu_bytes - 52) / f64::from(mtu_bytes + 14)
}

/// Everything of a run but the time that it took.
fn outcome(mut run: Run) -> String {
    run.summary.cost.cpu_s = 0.0;
    run.summary.cost.wall_s = 0.0;
    format!("{run:?}")
}

#[test]
fn a_full_link_carries_the_payload_that_the_mtu_leaves() {
    for mtu in [576, 1280, 1400, 1420, 1500, 9000] {
        let f = with_mtu(with(flow("fixed_cwnd", 20, 0), "cwnd_pkts", "500"), mtu);
        let r = run(&scenario(vec![link(20, 10_000_000)], vec![f], 10, 250));
        let goodput = r.summary.flows[0].goodput_mbps;
        let expected = 20.0 * payload(mtu);
        // whole packets at both ends of the 240 s, of which one is 1.5e-5 at most
        let packet = f64::from(mtu) * 8.0 / 1e6 / 240.0;
        assert!((goodput - expected).abs() <= 2.0 * packet, "{mtu}: {goodput} of {expected} Mbit/s");
        let used = r.summary.links[0].utilization;
        assert!((1.0 - used).abs() < 2e-5, "{mtu}: {used}, in bytes on the wire");
    }
}

#[test]
fn every_algorithm_fills_a_link_with_packets_of_any_length() {
    for cc in ["reno", "cubic", "bbr1", "bbr3", "level", "copa"] {
        for mtu in [1280, 9000] {
            let f = with_mtu(flow(cc, 40, 0), mtu);
            let r = run(&scenario(vec![link(100, bdp_bytes(100, 40))], vec![f], 10, 30));
            let used = r.summary.flows[0].goodput_mbps / payload(mtu);
            assert!((90.0..100.01).contains(&used), "{cc} of {mtu}: {used} Mbit/s on the wire");
        }
    }
}

/// cwnd is counted in packets: BDP and buffer hold fewer packets that are longer.
#[test]
fn the_window_of_reno_is_bdp_and_buffer_in_packets_of_its_length() {
    for mtu in [1280, 1500, 9000] {
        let f = with_mtu(flow("reno", 40, 0), mtu);
        let r = run(&scenario(vec![link(100, bdp_bytes(100, 40))], vec![f], 20, 90));
        let cwnd = &r.series.flows[0].cwnd_pkts[200..];
        let peak = f64::from(cwnd.iter().copied().fold(0.0, f32::max));
        let w = 2.0 * bdp_bytes(100, 40) as f64 / f64::from(mtu + 14);
        assert!((peak / w - 1.0).abs() < 0.05, "{mtu}: peak {peak}, expected {w:.0}");
    }
}

/// Bytes wait, not packets: at a FIFO queue each flow has the rate of its bytes in flight.
#[test]
fn at_one_window_in_packets_rates_are_as_the_lengths_of_packets() {
    let flows = [1280, 9000].map(|mtu| with_mtu(with(flow("fixed_cwnd", 20, 0), "cwnd_pkts", "200"), mtu));
    let r = run(&scenario(vec![link(50, 10_000_000)], flows.to_vec(), 10, 40));
    let rates: Vec<_> = r.summary.flows.iter().map(|f| f.goodput_mbps).collect();
    let expected = (9000.0 - 52.0) / (1280.0 - 52.0);
    assert!((rates[1] / rates[0] / expected - 1.0).abs() < 0.03, "{rates:?} Mbit/s, expected 1:{expected}");
    let wire = rates[0] / payload(1280) + rates[1] / payload(9000);
    assert!((wire - 50.0).abs() < 0.05, "{wire} Mbit/s on the wire");
}

/// A transfer ends with the last packet that it fills.
#[test]
fn a_transfer_takes_the_packets_that_its_bytes_fill() {
    for (mtu, pkts) in [(1280, 82), (1500, 70), (9000, 12)] {
        let mut f = with_mtu(flow("reno", 20, 0), mtu);
        f.traffic.size_bytes = Some(100_000);
        let r = run(&scenario(vec![link(100, 1_000_000)], vec![f], 0, 5));
        assert_eq!(r.summary.flows[0].sent_pkts, Some(pkts), "{mtu}");
        assert!(r.summary.flows[0].completion_s.is_some(), "{mtu}");
    }
}

#[test]
fn a_receive_window_holds_whole_packets_of_the_flows_length() {
    // 100 kB hold 81, 69 and 11 packets; each round trip of 100 ms carries as much
    for mtu in [1280, 1500, 9000] {
        let mut f = with_mtu(with(flow("fixed_cwnd", 100, 0), "cwnd_pkts", "500"), mtu);
        f.receiving.window = Window::Fixed(100_000);
        f.receiving.delayed_ack = false;
        let mss = u64::from(mtu) - 52;
        let r = run(&scenario(vec![link(1000, 10_000_000)], vec![f], 5, 25));
        let expected = (100_000 / mss * mss) as f64 * 8.0 / 1e6 / 0.1;
        let found = r.summary.flows[0].goodput_mbps;
        assert!((0.97..1.001).contains(&(found / expected)), "{mtu}: {found} of {expected} Mbit/s");
    }
}

/// As many bytes of each in flight have the same rate on the wire, though not the same goodput.
#[test]
fn max_min_fairness_is_of_bytes_on_the_wire() {
    let flows = [(1280, "9014"), (9000, "1294")]
        .map(|(mtu, cwnd)| with_mtu(with(flow("fixed_cwnd", 20, 0), "cwnd_pkts", cwnd), mtu));
    let r = run(&scenario(vec![link(100, 100_000_000)], flows.to_vec(), 20, 60));
    let distance = r.summary.max_min_distance.unwrap();
    // goodputs alone would be 0.03 apart
    assert!(distance < 0.015, "{distance}");
}

fn mixed(cc: &str, links: Vec<Link>) -> Scenario {
    let small = Flow { start: ms(300), ..with_mtu(flow(cc, 10, 300), 1280) };
    let mut lazy = with_mtu(flow(cc, 30, 100), 9000);
    lazy.receiving.gro = std::time::Duration::from_micros(200);
    scenario(links, vec![small, lazy, flow("cubic", 20, 0)], 2, 8)
}

#[test]
fn the_fast_path_and_epochs_change_no_result() {
    for cc in ["bbr1", "bbr3", "cubic", "copa"] {
        for links in [
            vec![link(50, 200_000)],
            vec![link(80, 90_000), Link { name: "second".into(), ..link(50, 200_000) }],
        ] {
            let s = mixed(cc, links);
            let per_hop = fairpace_sim::run_per_hop(&s, &mut Silent).expect("the scenario is valid");
            assert!(outcome(run(&s)) == outcome(per_hop), "{cc}, {} links", s.links.len());
        }
    }
}

/// L4S and Classic flows, and video in datagrams and over TCP, with packets of all lengths.
fn all_kinds(link: Link) -> Scenario {
    let ecn = |ecn, flow: Flow| Flow { sending: Sending { ecn, ..flow.sending }, ..flow };
    let writes = |media, mut flow: Flow| {
        flow.traffic.writes = Writes::Frames(media);
        flow
    };
    let flows = vec![
        ecn(Ecn::L4s, with_mtu(flow("prague", 20, 0), 1280)),
        ecn(Ecn::Accurate, with_mtu(flow("cubic", 20, 100), 9000)),
        writes(Media::default(), with_mtu(Flow::new("datagrams", Cc::Uncontrolled, ms(30)), 576)),
        writes(Media { key_every: 30, ..Media::default() }, with_mtu(flow("reno", 30, 200), 1420)),
    ];
    let up = Link { name: "up".to_owned(), ..Link::new("", 5_000_000, 20_000) };
    let flows = flows.into_iter().map(|flow| Flow { reverse: vec![up.name.clone()], ..flow }).collect();
    scenario(vec![link, up], flows, 2, 8)
}

#[test]
fn l4s_media_handovers_and_wifi_step_alike_with_any_mtu() {
    let dualpi2 = Link { queue: Queue::DualPi2(DualPi2::default()), ..link(20, 200_000) };
    let handover = Handover {
        every: std::time::Duration::from_secs(2),
        rate_bps: Some(10_000_000),
        delay: ms(5),
        outage: ms(100),
    };
    for link in [
        Link { handover: Some(handover), ..link(20, 60_000) },
        Link { line: Line { wifi_jitter: Some(ms(4)), ..dualpi2.line.clone() }, ..dualpi2.clone() },
        dualpi2,
    ] {
        let s = all_kinds(link);
        let per_hop = fairpace_sim::run_per_hop(&s, &mut Silent).expect("the scenario is valid");
        let stepped = run(&s);
        assert!(
            stepped.summary.flows.iter().all(|flow| flow.goodput_mbps > 0.1),
            "{:?}",
            stepped.summary.flows
        );
        assert!(outcome(stepped) == outcome(per_hop), "{:?}", s.links[0]);
    }
}

/// ACKs have the headers of TCP with timestamps, and 12 bytes more with the AccECN option (RFC 9768, section
/// 3.2.3), however long the packets are that they acknowledge.
#[test]
fn the_length_of_acks_does_not_depend_on_the_mtu() {
    let up_mbps = 50.0_f64;
    for (ecn, ack_bytes) in [(Ecn::Off, 66.0), (Ecn::Accurate, 78.0)] {
        for mtu in [1280, 9000] {
            let mut f = with_mtu(with(flow("fixed_cwnd", 20, 0), "cwnd_pkts", "500"), mtu);
            f.sending.ecn = ecn;
            f.receiving.delayed_ack = false;
            f.reverse = vec!["up".to_owned()];
            let up = Link::new("up", (up_mbps * 1e6) as u64, 1_000_000);
            let r = run(&scenario(vec![link(20, 10_000_000), up], vec![f], 5, 25));
            let pkts_per_s = r.summary.flows[0].goodput_mbps * 1e6 / 8.0 / f64::from(mtu - 52);
            let bytes = r.summary.links[1].utilization * up_mbps * 1e6 / 8.0 / pkts_per_s;
            assert!((bytes / ack_bytes - 1.0).abs() < 2e-3, "{mtu}: ACKs of {bytes} bytes, not {ack_bytes}");
        }
    }
}

/// At the same rate of losses Reno has the same window in packets, about sqrt(3/2 / p) (Mathis et al., 1997).
#[test]
fn at_the_same_rate_of_losses_rates_of_reno_are_as_the_lengths_of_packets() {
    let flows = [9000, 1280].map(|mtu| with_mtu(flow("reno", 40, 0), mtu));
    let lossy = Link { loss: Loss { ppb: 5_000_000, burst: None }, ..link(1000, 50_000_000) };
    let r = run(&scenario(vec![lossy], flows.to_vec(), 20, 320));
    let [long, short] = [0, 1].map(|i: usize| r.summary.flows[i].goodput_mbps);
    let expected = (9000.0 - 52.0) / (1280.0 - 52.0);
    // each has about 600 halvings
    assert!((long / short / expected - 1.0).abs() < 0.08, "{long}:{short} Mbit/s, expected {expected}:1");
}

#[test]
fn the_default_is_1500() {
    let s = |sending| {
        let f = Flow { sending, ..Flow::new("a", algorithm("cubic"), ms(20)) };
        outcome(run(&scenario(vec![link(20, 100_000)], vec![f], 2, 5)))
    };
    assert_eq!(s(Sending::default()), s(Sending { mtu_bytes: 1500, ..Sending::default() }));
    assert_eq!(Sending::default().mss_bytes(), fairpace_tcp::MSS_BYTES);
}
