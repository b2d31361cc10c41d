//! What happens on links at given times, against what can be computed by hand.

use fairpace_results::{Run, Silent};
use fairpace_scenario::{Scenario, Target, parse};

use crate::support::run;

/// Runs a scenario of one link and one flow of these keys for so long.
///
/// The result does not depend on whether packets take the fast path.
fn run_with(duration: &str, link: &str, flow: &str) -> Run {
    let scenario = read(duration, link, flow);
    let run = run(&scenario);
    let per_hop = fairpace_sim::run_per_hop(&scenario, &mut Silent).expect("the scenario is valid");
    assert_eq!(run.summary.stable_json(), per_hop.summary.stable_json());
    run
}

fn read(duration: &str, link: &str, flow: &str) -> Scenario {
    let text = format!(
        "title = \"timed\"\nduration = \"{duration}\"\n[window]\nfrom = \"0s\"\n\
         [[link]]\n{link}\n[[flow]]\n{flow}\n"
    );
    parse("timed.toml", &text, &[], Target::Simulator).unwrap_or_else(|invalid| panic!("{invalid}"))
}

#[test]
fn a_full_buffer_of_a_time_delays_by_this_time() {
    // 300 ms at 10 Mbit/s are 375,000 bytes: 247 packets of 1514 bytes, the 248th is dropped. A packet waits
    // for up to 247 others and for the rest of the one in transmission, 1.2 ms each: up to 300.4 ms.
    let link = "rate = \"10mbit\"\nbuffer = \"300ms\"";
    let run = run_with("10s", link, "cc = \"fixed_cwnd\"\nrtt = \"20ms\"\nset = { cwnd_pkts = \"400\" }");
    let queue = &run.summary.links[0];
    let longest_ms = queue.queue_delay_max_ms.unwrap();
    assert!(queue.drops > 0 && (298.0..=300.4).contains(&longest_ms), "{queue:?}");
}

/// Audio of 50 frames a second, each of 2500 bytes in two datagrams, that nothing slows down.
const AUDIO: &str =
    "cc = \"none\"\nrtt = \"20ms\"\nmedia_rate = \"1mbit\"\nframes = \"50/s\"\nframe_deviation = \"0%\"";

#[test]
fn everything_that_leaves_in_a_second_of_loss_is_lost_and_nothing_else() {
    // 50 frames of 2 datagrams begin to leave in the second from 1 s on, each within 2 ms
    for queue in ["", "queue = \"codel\""] {
        let link = format!("rate = \"10mbit\"\nbuffer = \"1MB\"\nloss_at = \"1s 100%, 2s 0%\"\n{queue}");
        let run = run_with("3s", &link, AUDIO);
        assert_eq!((run.summary.links[0].lost, run.summary.links[0].drops), (100, 0), "{queue}");
    }
}

#[test]
fn an_outage_that_loses_drops_what_arrives_and_the_packet_in_transmission() {
    // A frame of 2500 bytes every 20 ms, in datagrams of 1292 bytes: 10.3 ms each at 1 Mbit/s, so the link is
    // busy without end. The outage from 1 s to 2 s interrupts one, and 50 frames arrive meanwhile.
    for (queue, word) in [
        ("", "lose"),
        ("queue = \"fq_codel\"\ntarget = \"9s\"\ncodel_interval = \"10s\"", "lose"),
        ("", "hold"),
    ] {
        let link = format!(
            "rate = \"1mbit\"\nbuffer = \"1MB\"\nrate_at = \"1s 0, 2s 1mbit\"\noutages = \"{word}\"\n{queue}"
        );
        let run = run_with("3s", &link, AUDIO);
        let link = &run.summary.links[0];
        let expected = if word == "lose" { (100, 1) } else { (0, 0) };
        assert_eq!((link.drops, link.lost), expected, "{word} {queue}");
    }
}

#[test]
fn normal_jitter_is_around_the_delay_and_in_each_direction_by_itself() {
    // Packets 100 ms apart wait for none ahead, so the RTT is 60 ms and the transmission of 1514 bytes. Its
    // measure is of the data's way, and has the deviation of the line, whatever that of the ACKs is.
    let rtt_ms = 60.0 + 1514.0 * 8.0 / 100e6 * 1e3;
    // The mean is of exact times. The others are edges of the histogram's classes, the lower one of the
    // minimum and the upper one of a percentile: 2^15 ns wide from 2^25 ns, which is 34 ms, and 2^16 ns from
    // 67 ms.
    let (below_ms, above_ms) = (0.033, 0.066);
    let link = "rate = \"100mbit\"\nbuffer = \"1MB\"\ndelay = \"30ms\"";
    let flow = "cc = \"fixed_cwnd\"\nrtt = \"60ms\"\nwrite_rate = \"115840bit\"\nwrite_every = \"100ms\"";
    let data = "jitter = \"5ms\"\njitter_distribution = \"normal\"";
    let acks = "ack_jitter = \"3ms\"\nack_jitter_distribution = \"normal\"";
    for (link_keys, flow_keys, deviation_ms) in [(data, "", 5.0), ("", acks, 0.0), (data, acks, 5.0)] {
        let run = run_with("1000s", &format!("{link}\n{link_keys}"), &format!("{flow}\n{flow_keys}"));
        let flow = &run.summary.flows[0];
        let (mean, low, high) =
            (flow.rtt_mean_ms.unwrap(), flow.rtt_min_ms.unwrap(), flow.rtt_p95_ms.unwrap());
        // 10,000 packets, four standard errors: 1 / 100 of a deviation for the mean, and sqrt(0.95 * 0.05) /
        // 100 by the density of 0.1031 for the 95th percentile, which is at 1.645 deviations. None is beyond
        // four.
        assert!((mean - rtt_ms).abs() < 4.0 * 0.01 * deviation_ms + 1e-6, "{mean}");
        let high_error = high - (rtt_ms + 1.645 * deviation_ms);
        assert!(high_error.abs() < 4.0 * 0.0212 * deviation_ms + above_ms, "{high}");
        let least = rtt_ms - 4.0 * deviation_ms;
        assert!((least - below_ms..=rtt_ms - 3.0 * deviation_ms).contains(&low), "{low}");
    }
}

#[test]
fn a_lost_burst_is_lost_whole() {
    // a paced window of 400 packets of 1448 bytes in 40 ms: bursts of 1 ms are 10 packets; 2 % of them are
    // lost, and as many packets, but ten at a time: between two losses are 500 packets
    let link = "rate = \"1gbit\"\nbuffer = \"10MB\"";
    let flow = "cc = \"fixed_rate\"\nrtt = \"40ms\"\nset = { rate = \"14.5MB/s\" }";
    let count = |key: &str| {
        let run = run_with("20s", link, &format!("{flow}\n{key}"));
        let flow = &run.summary.flows[0];
        (flow.retransmits as f64, run.summary.cost.data_packets as f64)
    };
    assert_eq!(count("").0, 0.0);
    let (lost, all) = count("tso_loss = \"2%\"");
    // a binomial of all / 10 bursts, four standard deviations
    let deviation = 10.0 * (all / 10.0 * 0.02 * 0.98).sqrt();
    assert!((lost - 0.02 * all).abs() < 4.0 * deviation, "{lost} of {all}");
}

#[test]
fn writes_leave_at_their_times() {
    // 10 packets at 0 s and 1 s, and a packet for the byte at 2.5 s: it arrives half an RTT and its
    // transmission, of 1.2112 ms, later. The first write waits for the handshake, which the second does not.
    let link = "rate = \"10mbit\"\nbuffer = \"1MB\"";
    let flow =
        "cc = \"reno\"\nrtt = \"20ms\"\nwrites = \"0s 14480B, 1s 14480B, 2500ms 1B\"\nstart = \"500ms\"";
    let run = run_with("5s", link, flow);
    let only = &run.summary.flows[0];
    let completion_s = only.completion_s.unwrap();
    assert!((completion_s - (2.5 + 0.010 + 0.001_211)).abs() < 1e-5, "{completion_s}");
    // 21 packets of payload in 5 s
    assert!((only.goodput_mbps - 21.0 * 1448.0 * 8.0 / 5e6).abs() < 1e-9, "{}", only.goodput_mbps);
}
