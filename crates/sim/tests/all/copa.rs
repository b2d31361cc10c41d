//! What Arun and Balakrishnan, "Copa", NSDI 2018, say of Copa, and where a host of today makes a difference
//! (cc/copa.h). Sections are those of the paper.

use crate::support::{bdp_bytes, flow, link, ms, run, scenario, with};
use fairpace_cc::Phase;
use fairpace_results::Run;
use fairpace_scenario::Flow;

/// A flow as in the paper's implementation: packets leave one by one, and the receiver acknowledges each.
fn plain(rtt_ms: u64, start_ms: u64) -> Flow {
    let mut f = flow("copa", rtt_ms, start_ms);
    f.sending.tso = false;
    f.receiving.delayed_ack = false;
    f
}

/// Flows for a minute at a buffer of half a second, measured in the second half; points of 10 ms.
fn minute(flows: Vec<Flow>, rate_mbps: u64) -> Run {
    let mut s = scenario(vec![link(rate_mbps, rate_mbps * 62_500)], flows, 30, 60);
    s.interval = ms(10);
    run(&s)
}

/// Share of the second half of the run in COMPETITIVE.
fn competitive(r: &Run, flow: usize) -> f64 {
    let half = &r.series.flows[flow].phase[r.series.flows[flow].phase.len() / 2..];
    half.iter().filter(|p| **p == Phase::Competitive as i8).count() as f64 / half.len() as f64
}

/// Mean number of packets that wait, of 1514 bytes.
fn queue_pkts(r: &Run, rate_mbps: u64) -> f64 {
    r.summary.links[0].queue_delay_mean_ms.unwrap() * rate_mbps as f64 * 1e3 / 8.0 / 1514.0
}

/// Section 3: cwnd sees the queue late, the queue goes from 0 to 2.5 / delta packets and back in 5 RTTs.
#[test]
fn cwnd_swings_by_two_and_a_half_inverses_of_delta_in_five_rtts() {
    let r = minute(vec![plain(50, 0)], 100);
    let cwnd = &r.series.flows[0].cwnd_pkts[3000..];
    let (least, most) = cwnd.iter().fold((f32::MAX, 0f32), |(a, b), c| (a.min(*c), b.max(*c)));
    assert!((4.0..=6.0).contains(&(most - least)), "{least} to {most} packets, 2.5 / delta are 5");
    let middle = (least + most) / 2.0;
    let rises = cwnd.windows(2).filter(|w| w[0] < middle && w[1] >= middle).count() as f64;
    let rtts = 30.0 / 0.050 / rises;
    assert!((4.5..5.5).contains(&rtts), "{rtts} RTTs");
}

/// Section 3: the mean of a swing from 0 to 2.5 / delta is 1.25 / delta.
#[test]
fn the_queue_is_one_and_a_quarter_inverse_of_delta_for_each_flow() {
    for (n, delta, rate_mbps, rtt_ms) in
        [(1, 0.5, 100, 50), (1, 0.1, 100, 50), (1, 0.5, 10, 100), (4, 0.5, 50, 40)]
    {
        let flows = (0..n)
            .map(|i| with(with(plain(rtt_ms, 500 * i), "delta", &delta.to_string()), "competitive", "off"));
        let r = minute(flows.collect(), rate_mbps);
        let (found, expected) = (queue_pkts(&r, rate_mbps), 1.25 / delta * n as f64);
        assert!(
            (0.7..1.4).contains(&(found / expected)),
            "{n} of delta {delta}: {found} of {expected} packets"
        );
        assert!(r.summary.links[0].utilization > 0.98, "{}", r.summary.links[0].utilization);
        assert_eq!(r.summary.links[0].drops, 0);
    }
}

/// Section 2: at the same dq all have the same rate.
#[test]
fn flows_with_equal_rtts_share_equally() {
    for n in [2, 4, 8] {
        let r = minute((0..n).map(|i| with(plain(20, 500 * i), "competitive", "off")).collect(), 40);
        let jain = r.summary.jain.unwrap();
        assert!(jain > 0.995, "{n}: {jain}");
    }
}

/// Section 2.2: the queue of Copa alone is nearly empty every five RTTs, so that it never competes.
#[test]
fn alone_it_stays_in_default_where_each_packet_is_acknowledged() {
    for (rate_mbps, rtt_ms) in [(10, 20), (10, 50), (10, 100), (100, 20), (100, 50), (1, 100)] {
        let r = minute(vec![plain(rtt_ms, 0)], rate_mbps);
        assert_eq!(competitive(&r, 0), 0.0, "{rate_mbps} Mbit/s, {rtt_ms} ms");
    }
}

/// With an ACK for two packets the sender misses the empty queue: each sample has the transmission of the
/// packet before in it, but for those of the lone packets that make RTTmin.
#[test]
fn with_delayed_acks_it_takes_itself_for_a_competitor_now_and_then() {
    let mut f = plain(50, 0);
    f.receiving.delayed_ack = true;
    let r = minute(vec![f], 10);
    let share = competitive(&r, 0);
    assert!((0.05..0.25).contains(&share), "{share}");
}

/// Section 2.2: beside a flow that fills the buffer.
#[test]
fn beside_flows_that_fill_the_buffer_it_competes() {
    for rival in ["cubic", "reno"] {
        let share = |competes| {
            let flows = vec![with(flow("copa", 50, 0), "competitive", competes), flow(rival, 50, 300)];
            let r = run(&scenario(vec![link(20, 2 * bdp_bytes(20, 50))], flows, 30, 90));
            (r.summary.flows[0].share.unwrap(), competitive(&r, 0))
        };
        let ((on, time), (off, _)) = (share("on"), share("off"));
        assert!((0.35..0.65).contains(&on) && time > 0.7, "{rival}: {on}, {time} of the time in COMPETITIVE");
        assert!(off < 0.1, "{rival}: {off} without COMPETITIVE: it yields");
    }
}

/// Section 2.2: it goes back when the competitor is gone.
#[test]
fn default_comes_back_when_the_competitor_has_gone() {
    let mut rival = flow("cubic", 50, 1000);
    rival.stop = Some(ms(20_000));
    let r = minute(vec![plain(50, 0), rival], 20);
    let time = competitive(&r, 0);
    assert!(time < 0.1, "{time}");
}

/// All have the same target at the same dq, so the paper's abstract claims more fairness than CUBIC's with
/// RTTs that differ. But RTTstanding is the least RTT of srtt / 2: for the longer RTT that is a whole swing
/// of the shorter one, whose queue therefore seems shorter, and the longer gets more. It is fairer than Reno;
/// CUBIC has a Jain index of 0.92 here, Copa one of 0.88.
#[test]
fn rtts_that_differ_matter_less_than_to_reno_and_favour_the_longer() {
    let rates = |flows: [Flow; 2]| {
        let r = run(&scenario(vec![link(50, bdp_bytes(50, 100))], flows.to_vec(), 30, 90));
        (r.summary.flows[0].goodput_mbps, r.summary.flows[1].goodput_mbps, r.summary.jain.unwrap())
    };
    let (short, long, jain) = rates([20, 100].map(|rtt| with(plain(rtt, 0), "competitive", "off")));
    let reno = rates([20, 100].map(|rtt| flow("reno", rtt, 0)));
    assert!(long > short && jain > 0.85, "{short}, {long} Mbit/s");
    assert!(reno.0 > 3.0 * reno.1 && jain > reno.2, "{jain}, Reno {reno:?}");
}

/// Without `turn_at_once`, as in the paper, the velocity keeps an oscillation alive, see cc/copa.h.
#[test]
fn the_papers_velocity_can_swing_for_good() {
    let used = |at_once| {
        let f = with(with(plain(50, 0), "turn_at_once", at_once), "competitive", "off");
        minute(vec![f], 100).summary.links[0].utilization
    };
    let (on, off) = (used("on"), used("off"));
    assert!(on > 0.99 && off < 0.5, "{on}, with the paper's {off}");
}

/// A buffer that never shows the target's delay: loss ends growth, see cc/copa.h.
#[test]
fn loss_bounds_it_at_a_buffer_of_two_packets() {
    let loss_rate = |most| {
        let f = with(flow("copa", 20, 0), "loss_most", most);
        run(&scenario(vec![link(20, 3028)], vec![f], 5, 20)).summary.flows[0].loss_rate.unwrap()
    };
    let (bounded, paper) = (loss_rate("20%"), loss_rate("100%"));
    assert!(bounded < 0.2 && paper > 0.25, "{bounded}, as in the paper {paper}");
}
