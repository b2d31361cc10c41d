//! Values of a parameter beside its default, from what the algorithm says about it.

use fairpace_cc::{Parameter, Unit};
use fairpace_scenario::Set;

use super::LEVEL;

/// A gain of 1 as a raw number (`CC_GAIN_UNIT`).
const NEUTRAL_GAIN: u32 = 256;
/// Factors of the distance from the value that does nothing.
const BELOW: [f64; 2] = [0.5, 0.8];
/// See [`BELOW`].
const ABOVE: [f64; 2] = [1.25, 2.0];

/// The raw value from which a parameter begins to have an effect: a gain of 1 if it may not be less, else 0.
fn origin(parameter: &Parameter) -> u32 {
    match parameter.unit {
        Unit::Gain if parameter.least == NEUTRAL_GAIN => NEUTRAL_GAIN,
        _ => 0,
    }
}

/// The raw value that switches a parameter's mechanism off. `None`: it has none, or that is the default.
pub(super) fn off(parameter: &Parameter) -> Option<u32> {
    let origin = origin(parameter);
    (parameter.least == origin && parameter.default != origin).then_some(origin)
}

/// Two raw values below the default and two above, or fewer where the range ends; rising. A switch has none.
///
/// They are at 0.5, 0.8, 1.25 and 2 times the default's distance from the value that does nothing. Where
/// whole numbers are too few for that they are its neighbours.
pub(super) fn steps(parameter: &Parameter) -> [Vec<u32>; 2] {
    if parameter.unit == Unit::Bool {
        return [Vec::new(), Vec::new()];
    }
    let (origin, default) = (i64::from(origin(parameter)), i64::from(parameter.default));
    let distance = (default - origin) as f64;
    let at = |factor: f64| origin + (factor * distance).round() as i64;
    let near = at(BELOW[1]).min(default - 1);
    let below = [at(BELOW[0]).min(near - 1), near];
    // a parameter that is off has no distance
    let least = match parameter.unit {
        _ if distance > 0.0 => 1,
        Unit::Count | Unit::Rounds | Unit::Pkts => 1,
        _ => (i64::from(parameter.most) - origin) / 8,
    };
    let near = at(ABOVE[0]).max(default + least);
    let above = [near, at(ABOVE[1]).max(near + least)];
    [below, above].map(|values| {
        let range = i64::from(parameter.least)..=i64::from(parameter.most);
        let within = values.map(|value| value.clamp(*range.start(), *range.end()));
        let mut within: Vec<u32> =
            within.into_iter().filter(|value| *value != default).map(|v| v as u32).collect();
        within.dedup();
        within
    })
}

/// The change of a parameter to this raw value; none if that is its default.
pub(super) fn sets(parameter: &Parameter, raw: u32) -> Vec<Set> {
    let set = || Set::new(format!("{LEVEL}.{}", parameter.name), parameter.unit.format(raw));
    if raw == parameter.default { Vec::new() } else { vec![set()] }
}

/// A raw value as a number in the unit that a table has: times in ms.
pub(super) fn number(unit: Unit, raw: u32) -> f64 {
    let one = match unit {
        Unit::Gain => f64::from(NEUTRAL_GAIN),
        Unit::Us => 1e3,
        Unit::Ppm => 1e4,
        Unit::Fraction => 1024.0,
        Unit::Pkts | Unit::Rounds | Unit::Count | Unit::Bool | Unit::Bps => 1.0,
    };
    f64::from(raw) / one
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parameter(unit: Unit, default: u32, least: u32, most: u32) -> Parameter {
        Parameter { name: "p", c_name: "p", unit, default, least, most, meaning: "", reason: "" }
    }

    #[test]
    fn values_are_at_the_factors_of_the_default() {
        assert_eq!(steps(&parameter(Unit::Us, 2050, 100, 100_000)), [vec![1025, 1640], vec![2563, 4100]]);
        assert_eq!(steps(&parameter(Unit::Rounds, 128, 0, 10_000)), [vec![64, 102], vec![160, 256]]);
    }

    #[test]
    fn small_whole_numbers_have_their_neighbours() {
        assert_eq!(steps(&parameter(Unit::Count, 5, 0, 100)), [vec![3, 4], vec![6, 10]]);
        assert_eq!(steps(&parameter(Unit::Count, 2, 0, 100)), [vec![0, 1], vec![3, 4]]);
        assert_eq!(steps(&parameter(Unit::Count, 1, 0, 100)), [vec![0], vec![2, 3]]);
    }

    #[test]
    fn values_stay_within_the_range() {
        assert_eq!(steps(&parameter(Unit::Us, 10, 6, 15)), [vec![6, 8], vec![13, 15]]);
        assert_eq!(steps(&parameter(Unit::Us, 10, 10, 12)), [vec![], vec![12]]);
        assert_eq!(steps(&parameter(Unit::Count, 0, 0, 100)), [vec![], vec![1, 2]]);
        assert_eq!(steps(&parameter(Unit::Us, 0, 0, 800)), [vec![], vec![100, 200]]);
    }

    #[test]
    fn a_gain_that_may_not_be_below_1_varies_by_what_it_has_more() {
        assert_eq!(steps(&parameter(Unit::Gain, 276, 256, 1024)), [vec![266, 272], vec![281, 296]]);
        assert_eq!(off(&parameter(Unit::Gain, 276, 256, 1024)), Some(256));
        assert_eq!(steps(&parameter(Unit::Gain, 64, 2, 512)), [vec![32, 51], vec![80, 128]]);
    }

    #[test]
    fn what_may_be_0_and_is_not_can_be_switched_off() {
        assert_eq!(off(&parameter(Unit::Bool, 1, 0, 1)), Some(0));
        assert_eq!(off(&parameter(Unit::Count, 5, 0, 100)), Some(0));
        assert_eq!(off(&parameter(Unit::Bool, 0, 0, 1)), None, "it is off");
        assert_eq!(off(&parameter(Unit::Us, 2050, 100, 100_000)), None);
        assert_eq!(steps(&parameter(Unit::Bool, 1, 0, 1)), [Vec::<u32>::new(), Vec::new()]);
    }

    #[test]
    fn every_value_is_one_that_level_takes() {
        let level = fairpace_cc::Algorithm::by_name(LEVEL).unwrap();
        for parameter in level.parameters() {
            let [below, above] = steps(parameter);
            assert!(below.len() <= 2 && above.len() <= 2);
            for raw in below.iter().chain(&above).chain(&off(parameter)) {
                let mut params = fairpace_cc::Params::defaults(level);
                params.set(parameter.name, &parameter.unit.format(*raw)).unwrap();
                assert_eq!(params.get(parameter.name), Some(*raw));
                assert_eq!(sets(parameter, *raw).len(), 1);
            }
            assert_eq!(sets(parameter, parameter.default), []);
        }
    }
}
