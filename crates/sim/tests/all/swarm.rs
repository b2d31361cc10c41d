//! A short swarm, and the generator itself: `make swarm` draws more.

use fairpace_results::Silent;
use fairpace_scenario::Random;
use fairpace_scenario::keys::{self, Key, Kind, Section};
use fairpace_scenario::{Scenario, Set, Target, parse};
use fairpace_sim::swarm;

/// What the canonical form of a scenario never says: it has the values that these stand for.
const SHORTHANDS: &[&str] = &["bdp_rtt", "count", "stagger"];

#[test]
fn twenty_random_scenarios_hold_what_must_hold_of_any() {
    for seed in 1..=20 {
        let scenario = swarm::scenario(seed).expect("what is drawn is valid");
        let (wrong, _) = swarm::check(&scenario);
        assert!(wrong.is_empty(), "make swarm SEED={seed} N=1:\n{}", wrong.join("\n"));
    }
}

#[test]
fn what_is_drawn_is_valid_and_the_same_again() {
    for seed in 0..2_000 {
        let one = swarm::scenario(seed).unwrap_or_else(|invalid| panic!("seed {seed}: {invalid:?}"));
        assert_eq!(Ok(one), swarm::scenario(seed).map_err(|invalid| invalid.to_string()));
    }
}

/// A new key works without a change of the generator: keys that it does not draw are tried by their
/// declarations.
#[test]
fn every_key_is_drawn_or_tried_by_its_declaration() {
    let mut missing: Vec<&Key> = keys::all().filter(|key| !SHORTHANDS.contains(&key.name)).collect();
    for text in (0..400).filter_map(|seed| Some(swarm::scenario(seed).ok()?.to_toml())) {
        missing.retain(|key| !is_in(key, &text));
    }
    for key in missing {
        is_tried_by_its_declaration(key);
    }
}

#[test]
fn keys_of_each_simple_kind_can_be_tried_by_their_declarations() {
    let some = [
        (Section::Link, "loss"),
        (Section::Link, "delay"),
        (Section::Flow, "initial_cwnd"),
        (Section::Flow, "idle_restart"),
        (Section::Flow, "view"),
    ];
    for (section, name) in some {
        is_tried_by_its_declaration(keys::find(section, name).expect("it is a key"));
    }
}

fn is_in(key: &Key, text: &str) -> bool {
    text.lines().any(|line| line.starts_with(&format!("{} = ", key.name)))
}

/// Sets the key to random values of its range in random scenarios. The accounts of `check` need the meaning
/// of each key; what must hold without it is that runs are sound and do not depend on how the engine steps.
fn is_tried_by_its_declaration(key: &Key) {
    let mut tried = 0;
    for seed in 0..60 {
        let Some(scenario) = with(key, seed) else { continue };
        let run = fairpace_sim::run(&scenario, &mut Silent).expect("it was checked");
        let per_hop = fairpace_sim::run_per_hop(&scenario, &mut Silent).expect("it was checked");
        assert_eq!(run.check(), Ok(()), "{}", scenario.to_toml());
        assert_eq!(run.summary.stable_json(), per_hop.summary.stable_json(), "{}", scenario.to_toml());
        tried += 1;
        if tried == 3 {
            return;
        }
    }
    panic!("{key:?} is in {tried} scenarios: crates/sim/src/swarm/draw must draw it, as it needs other keys");
}

/// The random scenario of a seed with a random value of the key, if that is valid and not the default.
fn with(key: &Key, seed: u64) -> Option<Scenario> {
    let mut random = Random::new(seed);
    let value = match key.kind {
        Kind::Bool => (random.below(2) == 0).to_string(),
        Kind::Choice(words) => words[random.below(words.len() as u64) as usize].to_owned(),
        Kind::Integer | Kind::Quantity(_) => {
            // each order of magnitude is as likely as any other
            let least = key.least.max(1);
            let exponent = random.unit() * (key.most as f64 / least as f64).ln();
            key.show(((least as f64 * exponent.exp()) as u64).clamp(least, key.most))
        }
        _ => return None,
    };
    let text = swarm::scenario(seed).ok()?.to_toml();
    let set = Set::new(format!("{key:?}"), value);
    let scenario = parse("drawn.toml", &text, &[set], Target::Simulator).ok()?;
    is_in(key, &scenario.to_toml()).then_some(scenario)
}
