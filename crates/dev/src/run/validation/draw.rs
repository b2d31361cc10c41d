//! Short flows that are drawn from a seed, from the ranges in `experiments/validation/short/draw.toml`.
//!
//! A flow depends only on the seed and its number, and becomes the text of a scenario file, so that each
//! scenario can be written to a file and run alone.

use std::ops::RangeInclusive;

use fairpace_scenario::{Random, Sending};
use serde::Deserialize;

/// A file with a table `[draw]`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    pub(super) draw: Draw,
}

/// The ranges from which flows are drawn. Pairs are the least and the greatest value.
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

/// A kind of flow: its algorithm and settings.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Kind {
    cc: String,
    sack: bool,
    pacing: Option<bool>,
}

/// The range of packets that the key `drop` of a flow names.
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
    /// Algorithm and settings, by which flows are counted.
    pub(super) kind: String,
    /// Text of the scenario file.
    pub(super) toml: String,
}

impl Draw {
    /// Iterates over all drawn flows, in order.
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
        let with = if *sack { "with" } else { "without" };
        let paced = if *pacing == Some(true) { ", paced" } else { "" };

        let mut toml = format!(
            "title = \"{packets} packets of {cc} over {rtt_us} us at {rate_kbps} kbit/s\"\n\
             duration = \"{}\"\ninterval = \"1s\"\n\n[window]\nfrom = \"0s\"\n\n\
             [[link]]\nrate = \"{rate_kbps}kbit\"\nbuffer = \"{buffer}pkts\"\n\n\
             [[flow]]\ncc = \"{cc}\"\nrtt = \"{rtt_us}us\"\nsize = \"{}B\"\nsack = {sack}\n",
            self.duration,
            packets * u64::from(Sending::default().mss_bytes()),
        );
        toml.extend(pacing.map(|pacing| format!("pacing = {pacing}\n")));
        if !drops.is_empty() {
            toml += &format!("drop = {drops:?}\n");
        }
        Drawn { name: format!("short-{number:03}"), kind: format!("{cc} {with} SACK{paced}"), toml }
    }
}

impl Drops {
    /// Draws entries of `drop` for a flow of this many packets. No two entries name the same packet.
    fn draw(&self, random: &mut Random, packets: u64) -> Vec<String> {
        let (mut entries, mut taken) = (Vec::new(), Vec::new());
        for _ in 0..between(random, (0, self.most)) {
            let often = [self.one, self.several, self.twice, self.ack, self.syn];
            let mut chosen = random.below(often.iter().sum());
            let is_kind = |often: &u64| {
                let is_it = chosen < *often;
                chosen = chosen.saturating_sub(*often);
                is_it
            };
            let kind = often.iter().position(is_kind);
            let first = between(random, (1, packets));
            let burst = between(random, self.burst);
            let last = if kind == Some(1) { (first + burst - 1).min(packets) } else { first };
            let (what, numbers, entry) = match kind {
                Some(0 | 1) if first == last => ("data", first..=last, format!("data {first}")),
                Some(0 | 1) => ("data", first..=last, format!("data {first}-{last}")),
                Some(2) => ("data", first..=last, format!("data {first} twice")),
                Some(3) => ("ack", 1..=packets, format!("ack {}", first.div_ceil(2))),
                _ => ("syn", 1..=packets, "syn 1".to_owned()),
            };
            let is_taken = |(other, range): &(&str, RangeInclusive<u64>)| {
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

/// Draws an integer from a uniform distribution, both ends included.
fn between(random: &mut Random, (least, most): (u64, u64)) -> u64 {
    least + random.below(most.saturating_sub(least) + 1)
}

/// Draws an integer such that each order of magnitude is equally likely; both ends included.
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
        toml::from_str::<File>(FILE).expect("it is a draw").draw
    }

    /// The drawn flows are fixed: another seed or generator would draw other flows than those that were
    /// judged.
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
    fn a_draw_with_an_unknown_key_is_refused() {
        assert!(toml::from_str::<File>(FILE).is_ok());
        assert!(toml::from_str::<File>(&FILE.replacen("seed =", "sede = 2\nseed =", 1)).is_err());
    }
}
