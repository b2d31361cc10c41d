//! The source of the scenario of an episode: a list, or a text with random values of some keys.

use std::sync::Arc;

use fairpace_scenario::Random;
use fairpace_scenario::keys::{self, Kind, Section};
use fairpace_scenario::quantity::{self, Buffer, Dimension, Limit};
use fairpace_scenario::{Invalid, Scenario, Set, Target, parse};

use crate::error::Error;

/// The scenarios of the episodes of an environment. The seed of an episode decides which scenario it has.
#[derive(Debug, Clone)]
pub enum Scenarios {
    /// A list of scenarios, which have been checked; all are equally likely.
    OneOf(Vec<Arc<Scenario>>),
    /// The text of a scenario file, with some keys drawn.
    Text {
        /// The name of the file in errors; files that the text names are looked for in its folder.
        name: String,
        /// The text of the file.
        text: String,
        /// Other values of keys, in every episode.
        sets: Vec<Set>,
        /// The keys that are drawn.
        drawn: Vec<Drawn>,
    },
}

impl From<Scenario> for Scenarios {
    /// Returns a list of one scenario, which has been checked.
    fn from(scenario: Scenario) -> Self {
        Scenarios::OneOf(vec![Arc::new(scenario)])
    }
}

/// A key of a scenario with a random value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Drawn {
    /// The key, as a [`Set`] names it: `link.rate`, `flow.NAME.rtt`.
    pub key: String,
    /// The least value, with its unit: `4mbit`.
    pub least: String,
    /// The largest value, with a unit of the same kind.
    pub most: String,
    /// The distribution of values between these two.
    pub scale: Scale,
}

/// The distribution of values in their range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// A uniform distribution.
    Uniform,
    /// A distribution with equal probability for each order of magnitude. The least value is above 0.
    Logarithmic,
}

/// Constant that separates these random numbers from those of the simulation, which come from the same seed.
const DRAWS: u64 = 0x6779_6d00_6472_6177;

/// [`Scenarios`] whose ranges have been read.
#[derive(Debug, Clone)]
pub(crate) enum Source {
    OneOf(Vec<Arc<Scenario>>),
    Text { name: String, text: String, sets: Vec<Set>, ranges: Vec<Range> },
}

/// The reason why an episode has no scenario.
pub(crate) enum Unusable {
    /// A list is empty.
    Empty,
    /// The drawn scenario is not valid.
    Invalid(Box<Invalid>),
    /// The drawn scenario cannot be used for this environment: a sentence.
    Unfit(String),
}

impl Unusable {
    /// Returns the error in the episode of this seed.
    pub(crate) fn error(self, environment: usize, seed: u64) -> Error {
        match self {
            Unusable::Empty => Error::NoScenario { environment },
            Unusable::Invalid(invalid) => Error::Scenario { environment, seed, invalid },
            Unusable::Unfit(reason) => Error::Unfit { environment, seed, reason },
        }
    }

    /// Returns the reason as a sentence.
    pub(crate) fn reason(self) -> String {
        match self {
            Unusable::Empty => "there is no scenario".to_owned(),
            Unusable::Invalid(invalid) => {
                let problems: Vec<String> = invalid.problems.iter().map(ToString::to_string).collect();
                problems.join("; ")
            }
            Unusable::Unfit(reason) => reason,
        }
    }
}

impl Source {
    /// Reads the ranges. An error is a sentence.
    pub(crate) fn new(scenarios: Scenarios) -> Result<Self, String> {
        Ok(match scenarios {
            Scenarios::OneOf(list) => Source::OneOf(list),
            Scenarios::Text { name, text, sets, drawn } => {
                let ranges = drawn.iter().map(Range::new).collect::<Result<_, String>>()?;
                Source::Text { name, text, sets, ranges }
            }
        })
    }

    /// Returns the scenario of this seed.
    pub(crate) fn draw(&self, seed: u64) -> Result<Scenario, Unusable> {
        let mut random = Random::new(seed ^ DRAWS);
        let scenario = match self {
            Source::OneOf(list) => {
                let index = random.below(list.len() as u64) as usize;
                Scenario::clone(list.get(index).ok_or(Unusable::Empty)?)
            }
            Source::Text { name, text, sets, ranges } => {
                let drawn = ranges.iter().map(|range| range.draw(&mut random)).collect();
                read(name, text, sets, drawn)?
            }
        };
        Ok(Scenario { seed, ..scenario })
    }

    /// Returns whether `other` draws equal scenarios from equal seeds.
    pub(crate) fn draws_as(&self, other: &Self) -> bool {
        match (self, other) {
            (Source::OneOf(list), Source::OneOf(others)) => {
                let mut pairs = list.iter().zip(others);
                list.len() == others.len() && pairs.all(|(one, other)| Arc::ptr_eq(one, other))
            }
            (
                Source::Text { name, text, sets, ranges },
                Source::Text { name: other_name, text: other_text, sets: other_sets, ranges: other_ranges },
            ) => (name, text, sets, ranges) == (other_name, other_text, other_sets, other_ranges),
            _ => false,
        }
    }

    /// Number of [extremes](Source::extreme).
    pub(crate) fn extremes(&self) -> usize {
        match self {
            Source::OneOf(list) => list.len(),
            Source::Text { ranges, .. } if ranges.len() <= CORNERS_OF => 1 << ranges.len(),
            Source::Text { ranges, .. } => 2 + 2 * ranges.len(),
        }
    }

    /// Returns an extreme: a possible scenario that is likely to be wrong if any is, and its peculiarity. It
    /// is a scenario of the list, or one whose values are at the ends of their ranges.
    pub(crate) fn extreme(&self, number: usize) -> (String, Result<Scenario, Unusable>) {
        match self {
            Source::OneOf(list) => {
                let scenario = list.get(number).map(|scenario| Scenario::clone(scenario));
                (format!("scenario {} of its list", number + 1), scenario.ok_or(Unusable::Empty))
            }
            Source::Text { name, text, sets, ranges } => {
                let end = |(index, range): (usize, &Range)| {
                    range.end(is_at_most(number, index, ranges.len() <= CORNERS_OF))
                };
                let drawn: Vec<Set> = ranges.iter().enumerate().map(end).collect();
                let values: Vec<String> = drawn.iter().map(ToString::to_string).collect();
                (format!("with {}", values.join(", ")), read(name, text, sets, drawn))
            }
        }
    }
}

/// Most ranges of which all corners are extremes: 6 have 64 corners.
const CORNERS_OF: usize = 6;

/// Returns whether an extreme has the largest value of a range. If all corners are extremes, the bits of its
/// number say so; else all ranges are at one end, but from the third extreme on one range, in turn, is at the
/// other end.
fn is_at_most(number: usize, range: usize, is_corner: bool) -> bool {
    if is_corner {
        return number >> range & 1 == 1;
    }
    let is_alone = (number / 2).checked_sub(1) == Some(range);
    (number % 2 == 1) != is_alone
}

/// Reads the scenario of a text with these values.
fn read(name: &str, text: &str, sets: &[Set], drawn: Vec<Set>) -> Result<Scenario, Unusable> {
    let sets: Vec<Set> = sets.iter().cloned().chain(drawn).collect();
    parse(name, text, &sets, Target::Simulator).map_err(|invalid| Unusable::Invalid(Box::new(invalid)))
}

/// The unit of the numbers of a range, which decides how they are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unit {
    Integer,
    Of(Dimension),
    Packets,
    MillionthsOfBdp,
}

impl Unit {
    fn show(self, value: u64) -> String {
        match self {
            Unit::Integer => value.to_string(),
            Unit::Of(dimension) => quantity::show(value, dimension),
            Unit::Packets => format!("{value}pkts"),
            Unit::MillionthsOfBdp => format!("{}.{:06}bdp", value / 1_000_000, value % 1_000_000),
        }
    }
}

/// A key and the range of its values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Range {
    key: String,
    unit: Unit,
    least: u64,
    most: u64,
    scale: Scale,
}

impl Range {
    fn new(drawn: &Drawn) -> Result<Self, String> {
        let Drawn { key, least, most, scale } = drawn;
        let kind = kind(key)
            .ok_or_else(|| format!("there is no key `{key}`; write one as `link.rate` or `flow.NAME.rtt`"))?;
        let read = |text: &str| number(text, kind).map_err(|reason| format!("`{key}`: {reason}"));
        let ((least_unit, least), (most_unit, most)) = (read(least)?, read(most)?);
        let range = format!("`{key}` from {} to {}", drawn.least, drawn.most);
        if least_unit != most_unit {
            return Err(format!("{range}: both need units of the same kind"));
        }
        if least > most {
            return Err(format!("{range}: the least value is above the largest; exchange them"));
        }
        if least == 0 && *scale == Scale::Logarithmic {
            return Err(format!("{range}: a logarithmic range begins above 0"));
        }
        Ok(Range { key: key.clone(), unit: least_unit, least, most, scale: *scale })
    }

    /// Returns the range's largest or least value.
    fn end(&self, is_most: bool) -> Set {
        Set::new(self.key.as_str(), self.unit.show(if is_most { self.most } else { self.least }))
    }

    fn draw(&self, random: &mut Random) -> Set {
        let bits = random.next_u64();
        let span = u128::from(self.most - self.least);
        let value = match self.scale {
            Scale::Uniform => self.least + ((u128::from(bits) * (span + 1)) >> 64) as u64,
            Scale::Logarithmic => {
                // libm, since the standard library's differ from machine to machine
                let (low, high) = (libm::log(self.least as f64), libm::log(self.most as f64));
                let unit = (bits >> 11) as f64 / (1u64 << 53) as f64;
                (libm::exp(low + unit * (high - low)).round() as u64).clamp(self.least, self.most)
            }
        };
        Set::new(self.key.as_str(), self.unit.show(value))
    }
}

/// Returns the kind of the key that a [`Set`] with this name changes.
fn kind(key: &str) -> Option<Kind> {
    let (section, name) = match key.split_once('.') {
        None => (Section::Top, key),
        Some(("window", name)) => (Section::Window, name),
        Some(("link", rest)) => (Section::Link, rest.rsplit('.').next()?),
        Some(("flow", rest)) => (Section::Flow, rest.rsplit('.').next()?),
        Some(_) => return None,
    };
    keys::find(section, name).map(|key| key.kind)
}

fn number(text: &str, kind: Kind) -> Result<(Unit, u64), String> {
    let limit = |limit| match limit {
        Limit::Bytes(bytes) => (Unit::Of(Dimension::Size), bytes),
        Limit::Packets(pkts) => (Unit::Packets, pkts),
    };
    let not_read = |error: quantity::NotAQuantity| error.to_string();
    match kind {
        Kind::Integer => match text.parse() {
            Ok(value) => Ok((Unit::Integer, value)),
            Err(_) => Err(format!("\"{text}\" is not a whole number")),
        },
        Kind::Quantity(dimension) => {
            let value = quantity::parse(text, dimension).map_err(not_read)?;
            Ok((Unit::Of(dimension), value))
        }
        Kind::Buffer => Ok(match quantity::parse_buffer(text).map_err(not_read)? {
            Buffer::Bdp { millionths } => (Unit::MillionthsOfBdp, millionths),
            Buffer::Limit(of) => limit(of),
            Buffer::Time(time) => {
                (Unit::Of(Dimension::Time), u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
            }
        }),
        Kind::Limit => Ok(limit(quantity::parse_limit(text).map_err(not_read)?)),
        _ => Err("only keys with numbers can be drawn; give several scenarios instead".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use proptest::prelude::*;

    const TEXT: &str = r#"
        title = "drawn"
        duration = "2s"
        [[link]]
        rate = "12mbit"
        buffer = "1bdp"
        [[flow]]
        cc = "agent"
        rtt = "30ms"
    "#;

    fn drawn(key: &str, least: &str, most: &str, scale: Scale) -> Drawn {
        Drawn { key: key.to_owned(), least: least.to_owned(), most: most.to_owned(), scale }
    }

    fn source(drawn: Vec<Drawn>) -> Result<Source, String> {
        Source::new(Scenarios::Text {
            name: "drawn.toml".to_owned(),
            text: TEXT.to_owned(),
            sets: Vec::new(),
            drawn,
        })
    }

    fn scenario(source: &Source, seed: u64) -> Scenario {
        match source.draw(seed) {
            Ok(scenario) => scenario,
            Err(unusable) => panic!("{}", unusable.reason()),
        }
    }

    #[test]
    fn drawn_values_are_in_their_ranges_and_follow_from_the_seed() {
        let source = source(vec![
            drawn("link.rate", "2mbit", "50mbit", Scale::Logarithmic),
            drawn("flow.rtt", "10ms", "90ms", Scale::Uniform),
            drawn("link.buffer", "1bdp", "4bdp", Scale::Uniform),
            drawn("link.loss", "0%", "1%", Scale::Uniform),
        ])
        .expect("the ranges are in order");
        let (mut below_10_mbps, mut below_50_ms) = (0, 0);
        for seed in 0..400 {
            let first = scenario(&source, seed);
            assert_eq!(first, scenario(&source, seed));
            assert_eq!(first.seed, seed);
            let (link, rtt_ms) = (&first.links[0], first.flows[0].rtt.as_secs_f64() * 1e3);
            assert!((2_000_000..=50_000_000).contains(&link.rate_bps));
            assert!((10.0..=90.0).contains(&rtt_ms) && link.loss.ppb <= 10_000_000);
            let bdp = link.buffer.bytes() as f64 / (link.rate_bps as f64 / 8e3 * rtt_ms);
            assert!((0.99..4.01).contains(&bdp), "{bdp}");
            below_10_mbps += u32::from(link.rate_bps < 10_000_000);
            below_50_ms += u32::from(rtt_ms < 50.0);
        }
        // half of each, within three standard deviations: sqrt(400) / 2 is 10
        assert!((170..=230).contains(&below_10_mbps), "10 is the geometric mean: {below_10_mbps}");
        assert!((170..=230).contains(&below_50_ms), "{below_50_ms}");
    }

    #[test]
    fn the_extremes_of_ranges_are_all_corners_or_each_end_alone() {
        let patterns = |ranges: usize| -> BTreeSet<Vec<bool>> {
            let keys = (0..ranges).map(|_| drawn("link.rate", "2mbit", "3mbit", Scale::Uniform)).collect();
            let source = source(keys).expect("the ranges are in order");
            let pattern = |n| (0..ranges).map(|range| is_at_most(n, range, ranges <= CORNERS_OF)).collect();
            (0..source.extremes()).map(pattern).collect()
        };
        assert_eq!(patterns(1).len(), 2);
        assert_eq!(patterns(6).len(), 64, "all");
        let many = patterns(9);
        assert_eq!(many.len(), 20);
        for most in [0, 1, 8, 9] {
            let times = if most % 9 == 0 { 1 } else { 9 };
            let is_at = |pattern: &&Vec<bool>| pattern.iter().filter(|is_most| **is_most).count() == most;
            assert_eq!(many.iter().filter(is_at).count(), times, "{most} of 9 at their largest");
        }
    }

    #[test]
    fn every_scenario_of_a_list_comes_up() {
        let named = |title: &str| {
            let set = Set::new("title", title);
            Arc::new(parse("a.toml", TEXT, &[set], Target::Simulator).expect("it is valid"))
        };
        let list = ["a", "b", "c"].map(named).to_vec();
        let source = Source::new(Scenarios::OneOf(list)).expect("a list has no ranges");
        let titles: Vec<String> = (0..300).map(|seed| scenario(&source, seed).title).collect();
        for title in ["a", "b", "c"] {
            let times = titles.iter().filter(|other| *other == title).count();
            assert!((75..=125).contains(&times), "{title}: {times}"); // a third, within three deviations of 8
        }
    }

    #[test]
    fn a_range_that_is_not_in_order_is_refused_with_what_to_write() {
        for (key, least, most, scale, reason) in [
            ("link.speed", "1mbit", "2mbit", Scale::Uniform, "there is no key `link.speed`"),
            ("link.rate", "1", "2mbit", Scale::Uniform, "`link.rate`: \"1\" has no unit"),
            ("link.rate", "3mbit", "2mbit", Scale::Uniform, "the least value is above the largest"),
            ("link.loss", "0%", "2%", Scale::Logarithmic, "a logarithmic range begins above 0"),
            ("link.buffer", "1bdp", "2MB", Scale::Uniform, "both need units of the same kind"),
            ("flow.cc", "bbr1", "reno", Scale::Uniform, "only keys with numbers can be drawn"),
            ("flow.initial_cwnd", "1.5", "9", Scale::Uniform, "is not a whole number"),
        ] {
            let error = source(vec![drawn(key, least, most, scale)]).expect_err(key);
            assert!(error.contains(reason), "{key}: {error}");
        }
    }

    proptest! {
        #[test]
        fn any_range_draws_values_within_it_that_are_read_back(
            bounds in (1u64..=u64::MAX / 2, 1u64..=u64::MAX / 2),
            seed in any::<u64>(),
            unit in prop::sample::select(&[
                Unit::Integer, Unit::Packets, Unit::MillionthsOfBdp,
                Unit::Of(Dimension::Time), Unit::Of(Dimension::Rate), Unit::Of(Dimension::Size),
                Unit::Of(Dimension::Share), Unit::Of(Dimension::Frequency),
            ]),
            scale in prop::sample::select(&[Scale::Uniform, Scale::Logarithmic]),
        ) {
            let (least, most) = (bounds.0.min(bounds.1), bounds.0.max(bounds.1));
            let range = Range { key: "k".to_owned(), unit, least, most, scale };
            let text = range.draw(&mut Random::new(seed)).to_string();
            let text = text.strip_prefix("k=").expect("the key is k");
            let kind = match unit {
                Unit::Integer => Kind::Integer,
                Unit::Packets => Kind::Limit,
                Unit::MillionthsOfBdp => Kind::Buffer,
                Unit::Of(dimension) => Kind::Quantity(dimension),
            };
            let (read_unit, value) = number(text, kind).expect("it is written as it is read");
            prop_assert_eq!(read_unit, unit);
            prop_assert!((least..=most).contains(&value), "{} is {}", text, value);
        }
    }
}
