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
        "title = \"timed\"\nduration = \"{duration}\"\n[window]\nfrom = \"0s\"\n[[link]]\n{link}\n[[flow]]\n{flow}\n"
    );
    parse("timed.toml", &text, &[], Target::Simulator).unwrap_or_else(|invalid| panic!("{invalid}"))
}

#[test]
fn a_full_buffer_of_a_time_delays_by_this_time() {
    // 300 ms at 10 Mbit/s are 375,000 bytes: 247 packets of 1514 bytes, the 248th is dropped. A packet waits for
    // up to 247 others and for the rest of the one in transmission, 1.2 ms each: up to 300.4 ms.
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
    // A frame of 2500 bytes every 20 ms, in datagrams of 1292 bytes: 10.3 ms each at 1 Mbit/s, so the link is busy
    // without end. The outage from 1 s to 2 s interrupts one, and 50 frames arrive meanwhile.
    for (queue, word) in [("", "lose"), ("queue = \"fq_codel\"\ntarget = \"10s\"", "lose"), ("", "hold")] {
        let link = format!(
            "rate = \"1mbit\"\nbuffer = \"1MB\"\nrate_at = \"1s 0, 2s 1mbit\"\noutages = \"{word}\"\n{queue}"
        );
        let run = run_with("3s", &link, AUDIO);
        let link = &run.summary.links[0];
        let expected = if word == "lose" { (100, 1) } else { (0, 0) };
        assert_eq!((link.drops, link.lost), expected, "{word} {queue}");
    }
}
