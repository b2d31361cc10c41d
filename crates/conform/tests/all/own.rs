//! Our own BBRv3 and the cases: the preset `bbr3_draft` passes all, `bbr3` fails where Linux differs.

use fairpace_cc::Algorithm;
use fairpace_conform::{Outcome, Own, contained, run};

fn outcomes(algorithm: &str) -> Vec<(String, Outcome)> {
    let cases = contained().expect("the contained cases are cases");
    let algorithm = Algorithm::by_name(algorithm).expect("it is listed");
    cases.iter().map(|case| (case.header.case.clone(), run(case, &mut Own::new(algorithm)))).collect()
}

/// Case and section of each failure.
fn failures(algorithm: &str) -> Vec<(String, String)> {
    let failed = |(case, outcome): (String, Outcome)| match outcome {
        Outcome::Passed { unseen: 0 } => None,
        Outcome::Failed(mismatch) => Some((case, mismatch.section)),
        other => panic!("{algorithm}, {case}: {other:?}"),
    };
    outcomes(algorithm).into_iter().filter_map(failed).collect()
}

#[test]
fn the_draft_as_we_have_it_passes_all_cases_with_everything_observed() {
    assert_eq!(failures("bbr3_draft"), []);
    assert_eq!(outcomes("bbr3_draft").len(), 22);
}

/// As Google ships it: DRAIN at 0.34 instead of 0.5 (A.1, A.3, A.12) and without a limit of rounds, so
/// that it drains below two fifths of the rate (A.4); no return to UP after an undo (A.18). DOWN at 0.91
/// instead of 0.9 is within the tolerance of A.8.
#[test]
fn bbrv3_as_linux_has_it_fails_where_its_constants_and_its_undo_differ_from_the_draft() {
    let expected =
        [("A.1", "5.3.2"), ("A.3", "5.3.2"), ("A.4", "5.3.2"), ("A.12", "5.3.2"), ("A.18", "5.5.11.2")];
    assert_eq!(failures("bbr3"), expected.map(|(case, section)| (case.to_owned(), section.to_owned())));
}

/// What is not BBRv3 is recognised: BBRv1 has neither its states nor its bounds.
#[test]
fn bbrv1_passes_few_cases() {
    let passed = |(_, outcome): &(String, Outcome)| matches!(outcome, Outcome::Passed { .. });
    let passed: Vec<String> = outcomes("bbr1").into_iter().filter(passed).map(|(case, _)| case).collect();
    assert!(passed.len() < 11, "{passed:?}");
}

#[test]
fn the_same_case_has_the_same_outcome_twice() {
    assert_eq!(outcomes("bbr3"), outcomes("bbr3"));
}

/// How the states of a flow look from outside.
#[test]
fn without_a_reported_state_the_cases_pass_by_what_pacing_rate_and_cwnd_show() {
    for (case, outcome) in hidden_outcomes() {
        assert!(matches!(outcome, Outcome::Passed { .. }), "{case}: {outcome:?}");
    }
}

fn hidden_outcomes() -> Vec<(String, Outcome)> {
    let algorithm = Algorithm::by_name("bbr3_draft").expect("it is listed");
    let cases = contained().expect("the contained cases are cases");
    let of = |case: &_| run(case, &mut Hidden(Own::new(algorithm)));
    cases.iter().map(|case| (case.header.case.clone(), of(case))).collect()
}

/// Shows what every transport knows of its algorithm: cwnd and pacing rate.
struct Hidden(Own);

impl fairpace_conform::Subject for Hidden {
    fn hello(&mut self) -> fairpace_conform::protocol::Hello {
        self.0.hello()
    }

    fn init(&mut self, init: &fairpace_conform::protocol::Init) -> fairpace_conform::protocol::Answer {
        hide(self.0.init(init))
    }

    fn on(&mut self, event: &fairpace_conform::protocol::Event) -> fairpace_conform::protocol::Answer {
        hide(self.0.on(event))
    }
}

fn hide(answer: fairpace_conform::protocol::Answer) -> fairpace_conform::protocol::Answer {
    use fairpace_conform::protocol::{Answer, Control};
    match answer {
        Answer::Control(control) => {
            Answer::Control(Control { state: None, bw_Bps: None, min_rtt_us: None, ..control })
        }
        other => other,
    }
}
