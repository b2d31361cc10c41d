//! Short flows that are drawn from a seed: `experiments/validation/short/draw.toml` says from what.
//!
//! A flow depends on the seed and its number alone, and becomes the text of a scenario file: what is run can
//! be written to a file and run by itself.

use std::fmt::{self, Write as _};

use fairpace_scenario::{Random, Sending};
use serde::Deserialize;

/// A file with a table `[draw]`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    draw: Draw,
}

/// From what flows are drawn. Pairs are the least and the most.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Draw {
    seed: u64,
    flows: u32,
    duration: String,
    packets: (u64, u64),
    buffer_packets: (u64, u64),
    rtt_us: (u64, u64),
    rate_kbps: (u64, u64),
    drops: Drops,
    #[serde(rename = "kind")]
    kinds: Vec<Kind>,
}

/// Algorithm and settings of a flow.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Kind {
    cc: String,
    sack: bool,
    pacing: Option<bool>,
}

/// What a flow's key `drop` has.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Drops {
    most: u64,
    burst: (u64, u64),
    one: u64,
    several: u64,
    twice: u64,
    ack: u64,
    syn: u64,
}

/// A drawn flow.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Drawn {
    pub(super) name: String,
    /// Algorithm and settings, for counts.
    pub(super) kind: String,
    /// A scenario file.
    pub(super) toml: String,
}

impl Draw {
    /// Reads a file; `None` if it has no table `[draw]`, and is thus a scenario.
    ///
    /// # Errors
    /// What is wrong with the table.
    pub(super) fn parse(text: &str) -> Option<Result<Draw, toml::de::Error>> {
        let is_draw = toml::from_str::<toml::Table>(text).is_ok_and(|table| table.contains_key("draw"));
        is_draw.then(|| toml::from_str(text).map(|file: File| file.draw))
    }

    /// All flows, in order.
    pub(super) fn flows(&self) -> impl Iterator<Item = Drawn> {
        (1..=self.flows).map(|number| self.flow(number))
    }

    fn flow(&self, number: u32) -> Drawn {
        // a generator of its own: a flow does not depend on what was drawn for others
        let mut random = Random::new(Random::new(self.seed ^ u64::from(number) << 32).next_u64());
        let packets = between(&mut random, self.packets);
        let buffer = between(&mut random, self.buffer_packets);
        let rtt_us = magnitude(&mut random, self.rtt_us);
        let rate_kbps = magnitude(&mut random, self.rate_kbps);
        let drops = self.drops.draw(&mut random, packets);
        let kind = &self.kinds[(number - 1) as usize % self.kinds.len()];
        let Kind { cc, sack, pacing } = kind;

        let settings = [
            Some(format!("sack = {sack}")),
            pacing.map(|pacing| format!("pacing = {pacing}")),
            (!drops.is_empty()).then(|| format!("drop = {drops:?}")),
        ];
        let mut toml = format!(
            "title = \"{packets} packets of {cc} over {rtt_us} us at {rate_kbps} kbit/s\"\n\
             duration = \"{}\"\ninterval = \"1s\"\n\n[window]\nfrom = \"0s\"\n\n\
             [[link]]\nrate = \"{rate_kbps}kbit\"\nbuffer = \"{buffer}pkts\"\n\n\
             [[flow]]\ncc = \"{cc}\"\nrtt = \"{rtt_us}us\"\nsize = \"{}B\"\n",
            self.duration,
            packets * u64::from(Sending::default().mss_bytes()),
        );
        for line in settings.into_iter().flatten() {
            let _ = writeln!(toml, "{line}"); // a String does not fail
        }
        Drawn { name: format!("short-{number:03}"), kind: kind.to_string(), toml }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Kind { cc, sack, pacing } = self;
        let sack = if *sack { "with SACK" } else { "without SACK" };
        let paced = if *pacing == Some(true) { ", paced" } else { "" };
        write!(f, "{cc} {sack}{paced}")
    }
}

impl Drops {
    /// Entries for a flow of this many packets. No two of them name the same packet.
    fn draw(&self, random: &mut Random, packets: u64) -> Vec<String> {
        let (mut entries, mut taken) = (Vec::new(), Vec::new());
        for _ in 0..between(random, (0, self.most)) {
            let mut chosen = random.below(self.one + self.several + self.twice + self.ack + self.syn);
            let mut is = |often: u64| {
                let is = chosen < often;
                chosen = if is { u64::MAX } else { chosen - often };
                is
            };
            let (one, several, twice, ack) = (is(self.one), is(self.several), is(self.twice), is(self.ack));
            let first = between(random, (1, packets));
            let burst = between(random, self.burst);
            let last = if several { (first + burst - 1).min(packets) } else { first };
            let entry = match () {
                _ if one || (several && first == last) => format!("data {first}"),
                _ if several => format!("data {first}-{last}"),
                _ if twice => format!("data {first} twice"),
                _ if ack => format!("ack {}", first.div_ceil(2)),
                _ => "syn 1".to_owned(),
            };
            let what = entry.split_whitespace().next().unwrap_or_default().to_owned();
            let numbers = if what == "data" { first..=last } else { 1..=packets };
            let is_taken = |(other, range): &(String, std::ops::RangeInclusive<u64>)| {
                *other == what && range.start() <= numbers.end() && numbers.start() <= range.end()
            };
            if !taken.iter().any(is_taken) {
                taken.push((what, numbers));
                entries.push(entry);
            }
        }
        entries
    }
}

/// Uniform, both ends included.
fn between(random: &mut Random, (least, most): (u64, u64)) -> u64 {
    least + random.below(most.saturating_sub(least) + 1)
}

/// Each order of magnitude is as likely as any other; both ends included.
fn magnitude(random: &mut Random, (least, most): (u64, u64)) -> u64 {
    let ratio = (most + 1) as f64 / least as f64;
    ((least as f64 * (random.unit() * ratio.ln()).exp()) as u64).clamp(least, most)
}

#[cfg(test)]
mod tests {
    use sha2::{Digest, Sha256};

    use super::*;

    const FILE: &str = include_str!("../../../../../experiments/validation/short/draw.toml");

    fn draw() -> Draw {
        Draw::parse(FILE).expect("it is a draw").expect("it is valid")
    }

    /// Whoever changes the seed or the generator draws other flows than those that were judged.
    #[test]
    fn the_flows_are_those_that_were_fixed_before_the_first_run() {
        let mut sum = Sha256::new();
        draw().flows().for_each(|flow| sum.update(flow.toml));
        let sum: String = sum.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(sum, "f4418772371a05706ded6153eff81e353069d8bd0beab8228b3f510803b1002d");
    }

    #[test]
    fn a_flow_depends_on_the_seed_and_its_number_alone() {
        let few: Vec<_> = Draw { flows: 5, ..draw() }.flows().collect();
        let all: Vec<_> = draw().flows().collect();
        assert_eq!((all.len(), &all[..5]), (200, &few[..]));
        let other: Vec<_> = Draw { seed: 39, ..draw() }.flows().collect();
        assert!(all.iter().zip(&other).all(|(a, b)| a.name == b.name && a.toml != b.toml));
    }

    #[test]
    fn each_kind_of_drop_occurs_and_no_packet_is_named_twice() {
        let text: String = draw().flows().map(|flow| flow.toml).collect();
        for what in ["\"data 1\"", " twice\"", "\"ack ", "\"syn 1\"", "-"] {
            assert!(text.contains(what), "{what}");
        }
        let drops = draw().drops;
        for seed in 0..1_000 {
            let entries = drops.draw(&mut Random::new(seed), 6);
            let mut packets = Vec::new();
            for data in entries.iter().filter_map(|entry| entry.strip_prefix("data ")) {
                let range = data.trim_end_matches(" twice");
                let (first, last) = range.split_once('-').unwrap_or((range, range));
                packets.extend(first.parse::<u64>().unwrap()..=last.parse().unwrap());
            }
            let named = packets.len();
            packets.sort_unstable();
            packets.dedup();
            assert_eq!(packets.len(), named, "{entries:?}");
            assert!(packets.iter().all(|packet| (1..=6).contains(packet)), "{entries:?}");
        }
    }

    #[test]
    fn a_scenario_is_no_draw_and_a_wrong_draw_is_an_error() {
        assert!(Draw::parse("title = \"a scenario\"").is_none());
        assert!(Draw::parse("[draw]\nseed = 1\nsede = 2").is_some_and(|draw| draw.is_err()));
    }
}
