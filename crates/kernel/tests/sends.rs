//! What BBRv3 is told in this kernel of each packet's sending and loss is what happened. `make accuracy` shows more.

mod common;
mod truth;

use common::{has_kernel, skipped, suffix};
use truth::{Case, Comparison, run};

/// Part of the samples whose packets in flight must be exact to the packet. What is not exact is near losses.
const EXACT: f64 = 0.95;

/// `None`, said loudly: not on this machine.
fn compare(case: &Case) -> Option<Comparison> {
    if !has_kernel() {
        return None;
    }
    if let Err(e) = fairpace_testbed::check_machine(&fairpace_testbed::Options::default()) {
        let required = std::env::var("FAIRPACE_REQUIRE_KERNEL").is_ok_and(|v| v == "1");
        assert!(!required, "FAIRPACE_REQUIRE_KERNEL=1, but: {e}");
        skipped("what a packet knew", &e.to_string());
        return None;
    }
    Some(run(case, &suffix()).unwrap_or_else(|e| panic!("{e}")))
}

#[test]
fn on_a_clean_path_every_packet_is_known_as_it_was() {
    let Some(found) = compare(&Case::new("clean", 50, 20, 1_000_000, 3)) else { return };
    assert!(found.sample_inflight.count() > 1_000, "{found:?}");
    assert!(found.sample_inflight.exact() > 0.999, "{}", found.sample_inflight);
    assert!(found.sample_lost.exact() > 0.999, "{}", found.sample_lost);
    assert!(
        found.stateless_inflight.exact() < EXACT,
        "what needs no memory is as good: {}",
        found.stateless_inflight
    );
}

#[test]
fn losses_at_a_small_buffer_are_told_and_judged_as_they_were() {
    let Some(found) = compare(&Case::new("small buffer", 20, 20, 20_000, 4)) else { return };
    assert!(found.events > 10, "{found:?}");
    assert!(found.event_losses.exact() > 0.97, "how many were lost: {}", found.event_losses);
    assert!(found.sample_inflight.exact() > EXACT, "{}", found.sample_inflight);
    assert!(found.event_inflight.within(10) > 0.8, "{}", found.event_inflight);
    let wrong = found.wrong_answers as f64 / found.questions as f64;
    assert!(found.questions > 50 && wrong < 0.03, "{} of {}", found.wrong_answers, found.questions);
    assert!(
        found.stateless_inflight.exact() < EXACT,
        "what needs no memory is as good: {}",
        found.stateless_inflight
    );
}
