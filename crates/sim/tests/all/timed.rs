//! What happens on links at given times, against what can be computed by hand.

use fairpace_results::Run;
use fairpace_scenario::{Scenario, Target, parse};

use crate::support::run;

/// Runs a scenario of one link and one flow of these keys for so long.
fn run_with(duration: &str, link: &str, flow: &str) -> Run {
    run(&read(duration, link, flow))
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
