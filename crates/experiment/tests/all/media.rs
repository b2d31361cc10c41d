//! Conditions about audio and video beside the algorithm.

use std::path::Path;

use fairpace_experiment::{Case, Criterion, Form, Measured, Metric, judge};
use fairpace_results::{MediaSummary, Summary};
use fairpace_scenario::Invalid;

use crate::support::{run, small};

const FLOWS: &str = "flow = [{ name = \"own\", rtt = \"20ms\" }, { name = \"call\", cc = \"none\", \
                     media_rate = \"1mbit\", rtt = \"40ms\", count = 2 }]";

/// The small criterion with calls in its template and this condition.
fn criterion(metric: &str, of: &str, at_most: f64) -> Result<Vec<Case>, Invalid> {
    let text = small("flow = [{ each = \"rtts\", apart = \"500ms\", rtt = \"{rtts}ms\" }]", FLOWS)
        .replace("metric = \"queue_ms\"", &format!("metric = \"{metric}\"\nof = \"{of}\""))
        .replace("at_most = \"{most}\"", &format!("at_most = {at_most}"))
        .replace("name = \"{rate} {rtts}ms\"", "name = \"{rate}\"")
        .replace("rtts = [[10, 10], [10, 50]]\n", "");
    Criterion::parse(Path::new("small.toml"), &text)?.cases("reno", &[], Form::Full, "")
}

/// A run in which the second call is the worse one.
fn summary(case: &Case) -> Summary {
    let mut summary = run(&case.scenario, &[8.0, 1.0, 1.0], 0.0, 0.0);
    for (flow, part) in summary.flows[1..].iter_mut().zip([0.01, 0.02]) {
        let delay_p95_ms = (part < 0.02).then_some(80.0);
        flow.media = Some(MediaSummary { late_or_lost: Some(part), delay_p95_ms, ..MediaSummary::default() });
    }
    summary
}

#[test]
fn the_worst_of_the_named_flows_is_judged() {
    let holds = |metric, at_most| {
        let case = criterion(metric, "call", at_most).unwrap().remove(0);
        judge(&case.checks, 1, Measured::of(&case.scenario, &summary(&case), 1.0)).holds()
    };
    assert_eq!([holds("late_frames", 0.02), holds("late_frames", 0.0199)], [true, false]);
    // nothing of the second call arrived
    assert!(!holds("delay_95_ms", 1e9));
    let case = criterion("delay_95_ms", "call", 80.0).unwrap().remove(0);
    let mut first = summary(&case);
    first.flows[2].media.as_mut().unwrap().delay_p95_ms = Some(79.0);
    let value = Measured::of(&case.scenario, &first, 1.0).value(Metric::Delay95Ms, "call");
    assert_eq!(value, 80.0);
}

#[test]
fn a_condition_of_media_needs_flows_with_frames() {
    let invalid = criterion("late_frames", "own", 0.1).unwrap_err();
    assert!(invalid.to_string().contains("`own` has no audio or video in the case `S1 10mbit`"), "{invalid}");
    assert!(
        criterion("late_frames", "talk", 0.1).unwrap_err().to_string().contains("there is no flow `talk`")
    );
}
