//! Models by name: every listed model can be evaluated, and errors name what is wrong.

use std::collections::BTreeMap;

use fairpace_papers::models::{Error, catalog, evaluate};
use proptest::prelude::*;

fn arguments(given: &[(&str, f64)]) -> BTreeMap<String, f64> {
    given.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect()
}

#[test]
fn every_model_works_with_its_defaults_and_gives_what_it_lists_and_nothing_else() {
    for model in catalog() {
        let output = evaluate(model.name, &BTreeMap::new()).unwrap();
        assert!(!output.values.is_empty(), "{}", model.name);
        let listed: Vec<_> = model.values.iter().map(|value| value.name).collect();
        for name in output.values.keys() {
            assert!(listed.contains(&name.as_str()), "{} gives {name}", model.name);
        }
        let curves: Vec<_> = output.curves.keys().map(String::as_str).collect();
        let mut listed: Vec<_> = model.curves.iter().map(|curve| curve.name).collect();
        listed.sort_unstable();
        assert_eq!(curves, listed, "{}", model.name);
        for (name, curve) in &output.curves {
            assert!(curve.windows(2).all(|pair| pair[0][0] <= pair[1][0]), "{}: {name}", model.name);
            assert!(!curve.is_empty() && curve.len() <= 2002, "{}: {name} has {}", model.name, curve.len());
        }
    }
}

#[test]
fn defaults_are_in_range_and_all_is_explained() {
    for model in catalog() {
        for argument in &model.arguments {
            let range = argument.least..=argument.most;
            assert!(range.contains(&argument.default), "{} of {}", argument.name, model.name);
            assert!(!argument.meaning.is_empty());
        }
        let mut names: Vec<_> = model.arguments.iter().map(|argument| argument.name).collect();
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{}: {names:?}", model.name);
    }
}

#[test]
fn what_is_unknown_or_out_of_range_is_named_with_what_would_do() {
    let error = evaluate("queueing.simulaton", &BTreeMap::new()).unwrap_err().to_string();
    assert!(
        error.contains("did you mean \"queueing.simulation\"?") && error.contains("mimd.literal"),
        "{error}"
    );
    let error = evaluate("queueing.literal", &arguments(&[("ration", 2.0)])).unwrap_err().to_string();
    assert!(error.contains("\"ration\", did you mean \"ratio\"?"), "{error}");
    let error = evaluate("queueing.literal", &arguments(&[("ratio", 0.5)])).unwrap_err().to_string();
    assert_eq!(error, "ratio=0.5 is out of range: the model queueing.literal takes 1 to 100");
    let error = evaluate("mimd.simulation", &arguments(&[("offset", 1.5)])).unwrap_err().to_string();
    assert_eq!(error, "offset=1.5 is out of range: the model mimd.simulation takes 0 to 7, a whole number");
    let later = arguments(&[("then_at_s", 10.0)]);
    let error = evaluate("queueing.simulation", &later).unwrap_err();
    assert!(matches!(error, Error::NotAbove { name: "duration_s", other: "then_at_s", .. }), "{error}");
}

#[test]
fn no_number_is_out_of_range() {
    for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let error = evaluate("mimd.literal", &arguments(&[("rtt_ms", value)])).unwrap_err();
        assert!(matches!(error, Error::OutOfRange { .. }), "{error}");
    }
}

#[test]
fn a_second_period_begins_anew() {
    let twice = arguments(&[("duration_s", 20.0), ("then_at_s", 10.0), ("then_r0_mbps", 40.0)]);
    let output = evaluate("queueing.simulation", &twice).unwrap();
    assert!(output.values["then_share0"] < 1e-3 && output.values["share0"] < 1e-3);
    let share0 = &output.curves["share0"];
    assert!(share0.iter().any(|[time, share]| *time >= 10.0 && *share > 0.1));
    assert!(share0.last().unwrap()[0] > 19.9);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// Values at both ends of every range and between. Durations are short, because they only cost time.
    #[test]
    fn any_arguments_in_range_give_numbers(
        parts in prop::collection::vec(prop_oneof![Just(0.0), Just(1.0), 0.0..1.0_f64], 20),
    ) {
        for model in catalog() {
            let mut given = BTreeMap::new();
            for (argument, part) in model.arguments.iter().zip(&parts) {
                let value = argument.least + part * (argument.most - argument.least);
                let value = if argument.whole {
                    value.round()
                } else {
                    value.clamp(argument.least, argument.most)
                };
                given.insert(argument.name.to_owned(), value);
            }
            for name in ["duration_s", "then_at_s"] {
                given.entry(name.to_owned()).and_modify(|value| *value = value.min(1.0));
            }
            given.retain(|name, _| model.arguments.iter().any(|argument| argument.name == name));
            match evaluate(model.name, &given) {
                Ok(output) => {
                    prop_assert!(
                        output.values.values().all(|value| value.is_finite()),
                        "{}: {output:?}",
                        model.name
                    );
                    for (name, value) in &output.values {
                        let is_share = name.contains("share");
                        prop_assert!(
                            !is_share || (-1e-9..=1.0 + 1e-9).contains(value),
                            "{} {name}={value}",
                            model.name
                        );
                    }
                }
                Err(error) => prop_assert!(matches!(error, Error::NotAbove { .. }), "{error}"),
            }
        }
    }

    #[test]
    fn any_name_and_any_number_is_an_answer_or_an_error(
        model in ".{0,20}", name in "[a-z0-9_]{0,16}", value: f64,
    ) {
        let given = BTreeMap::from([(name, value)]);
        let _ = evaluate(&model, &given);
        for model in catalog() {
            let _ = evaluate(model.name, &given);
        }
    }
}
