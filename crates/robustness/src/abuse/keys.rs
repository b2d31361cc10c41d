//! Class `keys`: every key of a scenario with every hostile value, in the file and by `--set`.

use fairpace_scenario::keys::{self, Key, Section};

use super::case::Case;
use super::dice::Dice;
use super::hostile::{self, Value};

/// Other keys that a key needs so that its own value has an effect: `(key, its companions)`.
const COMPANIONS: &[(&str, &[(&str, &str)])] = &[
    ("policer_rate", &[("policer_burst", "\"30kB\"")]),
    ("policer_burst", &[("policer_rate", "\"1mbit\"")]),
    ("loss_burst", &[("loss", "\"1%\"")]),
    ("loss_in_burst", &[("loss", "\"1%\""), ("loss_burst", "5")]),
    ("loss_outside_burst", &[("loss", "\"1%\""), ("loss_burst", "5")]),
    ("reorders", &[("jitter", "\"1ms\"")]),
    ("from", &[("to", "\"b\"")]),
    ("to", &[("from", "\"a\"")]),
    ("on", &[("off", "\"10ms\"")]),
    ("off", &[("on", "\"10ms\"")]),
    ("write_every", &[("write_rate", "\"1mbit\"")]),
    ("think", &[("response", "\"10kB\"")]),
    ("arrivals", &[("sizes", "\"pareto\"")]),
    ("sizes", &[("arrivals", "\"50/s\"")]),
    ("reorder", &[("reorder_delay", "\"1ms\"")]),
    ("reorder_delay", &[("reorder", "\"1%\"")]),
    ("stagger", &[("count", "3")]),
];

/// Step through all pairs: a prime that does not divide a plausible number of pairs.
const STRIDE: u64 = 7_919;

/// Draws the invocation with this index. In as many invocations as there are pairs of a key and a value, each
/// pair occurs once.
pub(super) fn draw(seed: u64, index: u64, dice: &mut Dice) -> Case {
    let keys: Vec<&Key> = keys::all().collect();
    let pairs = (keys.len() * hostile::VALUES * 2) as u64;
    let pair = ((u128::from(index) * u128::from(STRIDE) + u128::from(seed)) % u128::from(pairs)) as usize;
    let (by_set, pair) = (pair.is_multiple_of(2), pair / 2);
    let (key, number) = (keys[pair % keys.len()], pair / keys.len());
    let value = hostile::value(number, key, dice);
    let name = path(key);
    let shown: String = value.toml.chars().take(40).collect();
    let way = if by_set { "--set" } else { "file" };
    let case = Case::new(["sim", "s.toml"]).what(format!("{name} = {} by {way}", shown.escape_debug()));
    let case = match by_set {
        true => case.arguments(["--set".to_owned(), format!("{name}={}", value.plain)]),
        false => case,
    };
    let case = case.file("s.toml", text(key, (!by_set).then_some(&value)));
    // half of them for programs
    if dice.percent(50) { case.arguments(["--json"]) } else { case }
}

/// The key as an argument of `--set`.
fn path(key: &Key) -> String {
    match key.section {
        Section::Top => key.name.to_owned(),
        Section::Window => format!("window.{}", key.name),
        Section::Link => format!("link.{}", key.name),
        Section::Flow => format!("flow.{}", key.name),
    }
}

/// A scenario of 100 simulated milliseconds, with the key at its place in the file.
fn text(key: &Key, value: Option<&Value>) -> String {
    let mut text = String::new();
    for section in Section::ALL {
        let mut lines: Vec<(&str, String)> = match section {
            Section::Top => vec![("title", "\"t\"".into()), ("duration", "\"100ms\"".into())],
            Section::Window => vec![],
            Section::Link => vec![("rate", "\"2mbit\"".into()), ("buffer", "\"20kB\"".into())],
            Section::Flow => vec![("cc", "\"bbr1\"".into()), ("rtt", "\"10ms\"".into())],
        };
        if section == key.section {
            if let Some(queue) = key.queues.first() {
                lines.push(("queue", hostile::toml_string(queue)));
            }
            let companions = COMPANIONS.iter().find(|(name, _)| *name == key.name);
            let companions = companions.map_or(&[][..], |(_, companions)| companions);
            lines.extend(companions.iter().map(|(name, value)| (*name, (*value).to_owned())));
            if key.name == "trace" {
                lines.retain(|(name, _)| *name != "rate");
            }
            if let Some(value) = value {
                lines.retain(|(name, _)| *name != key.name);
                lines.push((key.name, value.toml.clone()));
            }
        }
        if !lines.is_empty() {
            text.push_str(&format!("{}\n", section.header()));
        }
        lines.iter().for_each(|(name, value)| text.push_str(&format!("{name} = {value}\n")));
    }
    text
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_key_meets_every_value_once() {
        let pairs = (keys::all().count() * hostile::VALUES * 2) as u64;
        let seen: BTreeSet<u64> = (0..pairs).map(|index| (index * STRIDE) % pairs).collect();
        assert_eq!(seen.len() as u64, pairs, "{STRIDE} divides {pairs}");
    }

    #[test]
    fn without_a_hostile_value_the_scenario_of_most_keys_is_valid() {
        let invalid: Vec<&str> = keys::all()
            .filter(|key| {
                let read = fairpace_scenario::parse(
                    "s",
                    &text(key, None),
                    &[],
                    fairpace_scenario::Target::Simulator,
                );
                read.is_err()
            })
            .map(|key| key.name)
            .collect();
        // these have no valid neighbourhood without themselves
        assert!(invalid.len() < keys::all().count() / 4, "{invalid:?}");
    }
}
