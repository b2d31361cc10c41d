//! Random paths follow from their seed, and are in their ranges.

use std::path::Path;

use fairpace_experiment::{Criterion, Form, seed_of};

use crate::support::{criterion, level};

#[test]
fn a_seed_is_the_text_of_its_digits() {
    let hash = "0123456789abcdef0123456789abcdef01234567";
    assert_eq!(seed_of(hash), seed_of(hash));
    let all = [hash, &hash.replace('7', "8"), &hash[..39], &hash[..16], "0", "00000000000000000"];
    for (index, one) in all.iter().enumerate() {
        assert!(seed_of(one).is_some(), "{one}");
        assert!(all[..index].iter().all(|other| seed_of(other) != seed_of(one)), "{one}");
    }
    assert_eq!([seed_of(""), seed_of("g"), seed_of("-1")], [None; 3]);
}

#[test]
fn paths_follow_from_the_seed_and_the_algorithm_does_not_change_them() {
    let criterion = criterion("paths");
    let draw = |cc, count, seed| criterion.paths(cc, &[], count, seed).unwrap();
    let (few, more) = (draw("bbr1", 5, 7), draw("bbr1", 30, 7));
    assert_eq!(few[..], more[..5], "more paths begin with the same ones");
    let other = draw("reno", 5, 7);
    assert_eq!(other[3].scenario.to_toml(), few[3].scenario.to_toml().replace("\"bbr1\"", "\"reno\""));
    assert_ne!(draw("bbr1", 5, 8)[0].scenario.hash, few[0].scenario.hash);
    assert!(criterion.cases("bbr1", &[], Form::Full, "").unwrap().is_empty());
    assert!(level().iter().filter(|criterion| criterion.is_drawn()).count() == 2);
}

#[test]
fn paths_are_in_their_ranges_and_use_them() {
    let cases = criterion("paths").paths("bbr1", &[], 300, seed_of("c0ffee").unwrap()).unwrap();
    let (mut slow, mut fast, mut few, mut many, mut shallow) = (0, 0, 0, 0, 0);
    for case in &cases {
        let (link, flows) = (&case.scenario.links[0], &case.scenario.flows);
        assert!((2_000_000..=10_000_000_000).contains(&link.rate_bps), "{}", link.rate_bps);
        assert!((2..=50).contains(&flows.len()));
        let ms = |time: std::time::Duration| time.as_secs_f64() * 1e3;
        assert!(flows.iter().all(|flow| (2.0..=300.0).contains(&ms(flow.rtt)) && ms(flow.start) <= 5_000.0));
        let longest = flows.iter().map(|flow| ms(flow.rtt)).fold(0.0, f64::max);
        let bdp = link.buffer.bytes() as f64 / (link.rate_bps as f64 / 8e3 * longest);
        assert!((0.499..=16.001).contains(&bdp) || link.buffer.bytes() == 4 * 1514, "{bdp}");
        assert_eq!((case.scenario.window.0.as_secs(), case.scenario.duration.as_secs()), (20, 60));
        slow += usize::from(link.rate_bps < 5_000_000);
        fast += usize::from(link.rate_bps > 1_000_000_000);
        few += usize::from(flows.len() < 10);
        many += usize::from(flows.len() > 40);
        shallow += usize::from(bdp < 1.0);
    }
    // shares of 300: 0.11, 0.27, 0.16, 0.2, 0.2
    assert!(
        [slow, fast, few, many, shallow].iter().all(|count| (15..120).contains(count)),
        "{slow} {fast} {few}"
    );
}

/// A criterion of random paths whose senders are up to half of an RTT away from the link.
fn with_access() -> Criterion {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../evaluation/level/random-paths.toml");
    let text = std::fs::read_to_string(path).unwrap();
    let text = text.replace("start = [", "access_delay = [0, 0.5]\nstart = [");
    Criterion::parse(Path::new("draw.toml"), &text).unwrap()
}

#[test]
fn the_queue_may_be_anywhere_on_the_way() {
    let cases = with_access().paths("bbr1", &[], 100, 7).unwrap();
    let flows = || cases.iter().flat_map(|case| &case.scenario.flows);
    let parts: Vec<f64> =
        flows().map(|flow| flow.access_delay.as_secs_f64() / flow.rtt.as_secs_f64()).collect();
    assert!(parts.iter().all(|part| (0.0..=0.5).contains(part)));
    let below = |bound| parts.iter().filter(|part| **part < bound).count() as f64 / parts.len() as f64;
    assert!((below(0.125) - 0.25).abs() < 0.05 && (below(0.25) - 0.5).abs() < 0.05, "uniform");
    // the path itself does not depend on where its queue is
    let (first, without) = (&cases[0].scenario, &criterion("paths").paths("bbr1", &[], 1, 7).unwrap()[0]);
    assert_eq!(first.links[0].rate_bps, without.scenario.links[0].rate_bps);
    assert!(without.scenario.flows.iter().all(|flow| flow.access_delay.is_zero()));
}

#[test]
fn what_is_wrong_with_a_draw_is_named() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../evaluation/level/random-paths.toml");
    let text = std::fs::read_to_string(path).unwrap();
    let wrong = [
        ("flows = [2, 50]", "flows = [50, 2]", "draw.flows", "the first value is the greater one"),
        ("flows = [2, 50]", "flows = [0, 50]", "draw.flows", "two numbers above 0"),
        ("flows = [2, 50]", "flows = [2, 5e6]", "draw.flows", "5000000 flows are too many"),
        ("flows = [2, 50]", "flow = [2, 50]", "draw.flow", "there is no key `flow`"),
        ("rate = [\"2mbit\", ", "rate = [\"2mbps\", ", "draw.rate", "mbps"),
        ("rtt = [\"2ms\", ", "rtt = [", "draw.rtt", "a list of two values"),
        ("start = [", "access_delay = [0, 1.5]\nstart = [", "draw.access_delay", "two parts from 0 to 1"),
        ("from = \"20s\"", "from = \"twenty\"", "draw.from", "twenty"),
        ("duration = \"60s\"", "duration = \"long\"", "draw.duration", "long"),
        ("[draw]", "[axis]\nrate = [\"1mbit\"]\n[draw]", "axis", "random paths have no `axis`"),
        ("below = 5", "below = \"{five}\"", "median.1", "cannot depend on an axis"),
    ];
    for (replaced, by, key, message) in wrong {
        assert!(text.contains(replaced), "{replaced}");
        let invalid = Criterion::parse(Path::new("draw.toml"), &text.replace(replaced, by)).expect_err(by);
        let is_it =
            |problem: &fairpace_scenario::Problem| problem.key == key && problem.message.contains(message);
        assert!(invalid.problems.iter().any(|problem| is_it(problem) && problem.line > 0), "{by}: {invalid}");
    }
}
