//! A short swarm, and the generator itself: `make swarm` draws more.

use std::collections::BTreeSet;

use crate::{check, draw};
use fairpace_scenario::keys;

/// What the canonical form of a scenario never says: it has the values that these stand for.
const SHORTHANDS: &[&str] = &["bdp_rtt", "count", "stagger"];

#[test]
fn twenty_random_scenarios_hold_what_must_hold_of_any() {
    for seed in 1..=20 {
        let scenario = draw::scenario(seed).expect("what is drawn is valid");
        let (wrong, _) = check::check(&scenario);
        assert!(wrong.is_empty(), "make swarm SEED={seed} N=1:\n{}", wrong.join("\n"));
    }
}

#[test]
fn what_is_drawn_is_valid_and_the_same_again() {
    for seed in 0..2_000 {
        let one = draw::scenario(seed).unwrap_or_else(|invalid| panic!("seed {seed}: {invalid:?}"));
        assert_eq!(Ok(one), draw::scenario(seed).map_err(|invalid| invalid.to_string()));
    }
}

/// A new key is drawn too, or listed above with the reason why not.
#[test]
fn every_key_is_drawn() {
    let mut missing: BTreeSet<&str> =
        keys::all().map(|key| key.name).filter(|name| !SHORTHANDS.contains(name)).collect();
    for text in (0..400).filter_map(|seed| Some(draw::scenario(seed).ok()?.to_toml())) {
        missing.retain(|name| !text.lines().any(|line| line.starts_with(&format!("{name} = "))));
    }
    assert!(missing.is_empty(), "never drawn: {missing:?}");
}
