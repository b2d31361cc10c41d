//! Random paths: cases that are drawn from a seed, so that no author chose them.

use std::fmt::Write as _;
use std::time::Duration;

use fairpace_scenario::Random;
use fairpace_scenario::quantity::{Dimension, parse as parse_quantity, parse_time, show, show_time};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use crate::source::wrong;

/// Most flows of a path. The text of a scenario with a `[[flow]]` for each stays short.
const MOST_FLOWS: f64 = 1_000.0;

/// Ranges from which a path is drawn: the least and the greatest value of each quantity.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Draw {
    /// Rate of the link, bits per second; each order of magnitude is equally likely.
    #[serde(rename = "rate", deserialize_with = "rates")]
    rate_bps: [u64; 2],
    /// Number of flows of the path.
    #[serde(deserialize_with = "counts")]
    flows: [u64; 2],
    /// RTT of each flow, nanoseconds; each order of magnitude is equally likely.
    #[serde(rename = "rtt", deserialize_with = "times")]
    rtt_ns: [u64; 2],
    /// Buffer in BDP of the longest RTT; each order of magnitude is equally likely.
    #[serde(deserialize_with = "sizes")]
    bdp: [f64; 2],
    /// Jitter of the hosts of all flows, nanoseconds.
    #[serde(rename = "host_jitter", deserialize_with = "times")]
    host_jitter_ns: [u64; 2],
    /// Start time of each flow, nanoseconds.
    #[serde(rename = "start", deserialize_with = "times")]
    start_ns: [u64; 2],
    /// Propagation delay from the sender to the link, in parts of the flow's RTT: from 0 to 0.5 the queue is
    /// anywhere on the way there. Without it the senders are at the link.
    #[serde(default, deserialize_with = "parts")]
    access_delay: Option<[f64; 2]>,
    /// Begin of the measurement window; `to` is its end and the end of the run.
    #[serde(deserialize_with = "time")]
    from: Duration,
    #[serde(deserialize_with = "time")]
    duration: Duration,
}

/// A path that was drawn from a seed.
pub(crate) struct Path {
    pub(crate) rate_bps: u64,
    bdp: f64,
    host_jitter_us: u64,
    flows: Vec<Drawn>,
}

/// A flow that was drawn, with times in microseconds.
struct Drawn {
    rtt_us: u64,
    start_us: u64,
    access_us: Option<u64>,
}

impl Draw {
    /// Draws the path of a seed.
    pub(crate) fn path(&self, seed: u64) -> Path {
        let mut dice = Dice(Random::new(seed));
        // whole microseconds, as a person would write a scenario
        let us = |range: [u64; 2]| range.map(|ns| ns / 1_000);
        let rtt_us = us(self.rtt_ns).map(|us| us as f64);
        let rate_bps = dice.magnitude(self.rate_bps.map(|bps| bps as f64)) as u64;
        let count = dice.between(self.flows);
        let bdp = dice.magnitude(self.bdp);
        let host_jitter_us = dice.between(us(self.host_jitter_ns));
        let flow = |_| {
            let (rtt_us, start_us) = (dice.magnitude(rtt_us) as u64, dice.between(us(self.start_ns)));
            let part = self.access_delay.map(|[least, most]| least + (most - least) * dice.0.unit());
            Drawn { rtt_us, start_us, access_us: part.map(|part| (rtt_us as f64 * part) as u64) }
        };
        Path { rate_bps, bdp, host_jitter_us, flows: (0..count).map(flow).collect() }
    }

    /// Begin of the measurement window, and the end of the run.
    pub(crate) fn interval(&self) -> [Duration; 2] {
        [self.from, self.duration]
    }
}

impl Path {
    /// Name of the path's case: "57mbit, 12 flows, 0.8bdp".
    pub(crate) fn name(&self) -> String {
        let mbps = self.rate_bps as f64 / 1e6;
        let decimals = if mbps < 10.0 { 1 } else { 0 };
        format!("{mbps:.decimals$}mbit, {} flows, {:.1}bdp", self.flows.len(), self.bdp)
    }

    /// The text of the path's scenario file.
    pub(crate) fn text(&self, title: &str, cc: &str, least_bytes: u64, interval: [Duration; 2]) -> String {
        let Self { rate_bps, bdp, host_jitter_us, flows } = self;
        let longest_us = flows.iter().map(|flow| flow.rtt_us).max().unwrap_or_default();
        let bytes = (*rate_bps as f64 / 8.0 * longest_us as f64 / 1e6 * bdp) as u64;
        let bytes = bytes.max(least_bytes);
        let [from, duration] = interval.map(show_time);
        let rate = show(*rate_bps, Dimension::Rate);
        let mut text = format!(
            "title = \"{title}\"\nduration = \"{duration}\"\nwindow.from = \"{from}\"\n\n[[link]]\n\
             rate = \"{rate}\"\nbuffer = \"{bytes}B\"\n"
        );
        for (index, Drawn { rtt_us, start_us, access_us }) in (1..).zip(flows) {
            let _ = write!(
                text,
                "\n[[flow]]\nname = \"{index}\"\ncc = \"{cc}\"\nrtt = \"{rtt_us}us\"\n\
                 start = \"{start_us}us\"\n\
                 host_jitter = \"{host_jitter_us}us\"\n"
            );
            if let Some(access_us) = access_us {
                let _ = writeln!(text, "access_delay = \"{access_us}us\"");
            }
        }
        text
    }
}

/// The seed for a text of hexadecimal digits, such as the hash of a commit; every digit changes the seed.
/// `None` for any other text.
#[must_use]
pub fn seed_of(hex: &str) -> Option<u64> {
    let digits: Vec<u64> = hex.chars().map(|c| c.to_digit(16).map(u64::from)).collect::<Option<_>>()?;
    let mixed = |seed: u64, digits: &[u64]| {
        let word = digits.iter().fold(0, |word, digit| word << 4 | digit);
        Random::new(seed ^ word).next_u64()
    };
    (!digits.is_empty()).then(|| digits.chunks(16).fold(0, mixed))
}

struct Dice(Random);

impl Dice {
    /// Draws an integer from a uniform distribution, both ends included.
    fn between(&mut self, [least, most]: [u64; 2]) -> u64 {
        least + self.0.below(most.saturating_sub(least) + 1)
    }

    /// Draws a number such that each order of magnitude is equally likely. libm gives the same bits on every
    /// machine.
    fn magnitude(&mut self, [least, most]: [f64; 2]) -> f64 {
        (least * libm::exp(libm::log(most / least) * self.0.unit())).clamp(least, most)
    }
}

/// Reads the least and the greatest value of a range; `number` reads each of the two.
fn ends<'de, D: Deserializer<'de>, W: Deserialize<'de>, T: PartialOrd>(
    from: D,
    number: impl Fn(W) -> Result<T, String>,
) -> Result<[T; 2], D::Error> {
    let ends = Vec::<W>::deserialize(from)?.into_iter().map(number).collect::<Result<Vec<T>, _>>();
    let ends = ends.and_then(|ends| {
        ends.try_into()
            .map_err(|_| wrong("wrong-type", "it must be a list of two values", "write [least, most]"))
    });
    let is_ordered = |ends: &[T; 2]| ends[0] <= ends[1];
    let disorder = || wrong("out-of-range", "the first value is the greater one", "write the least first");
    ends.and_then(|ends| Some(ends).filter(is_ordered).ok_or_else(disorder)).map_err(D::Error::custom)
}

fn quantity(text: &str, dimension: Dimension) -> Result<u64, String> {
    parse_quantity(text, dimension).map_err(|error| wrong("wrong-unit", error.message, error.help))
}

fn rates<'de, D: Deserializer<'de>>(from: D) -> Result<[u64; 2], D::Error> {
    ends(from, |text: String| quantity(&text, Dimension::Rate))
}

fn times<'de, D: Deserializer<'de>>(from: D) -> Result<[u64; 2], D::Error> {
    ends(from, |text: String| quantity(&text, Dimension::Time))
}

fn sizes<'de, D: Deserializer<'de>>(from: D) -> Result<[f64; 2], D::Error> {
    ends(from, |number: f64| match number.is_finite() && number > 0.0 {
        true => Ok(number),
        false => Err(wrong("wrong-type", "it must have two numbers above 0", "write them without quotes")),
    })
}

/// Reads a range of parts: from 0 to 1.
fn parts<'de, D: Deserializer<'de>>(from: D) -> Result<Option<[f64; 2]>, D::Error> {
    let part = |number: f64| match (0.0..=1.0).contains(&number) {
        true => Ok(number),
        false => {
            Err(wrong("out-of-range", "it must have two parts from 0 to 1", "[0, 0.5]: half of the RTT"))
        }
    };
    ends(from, part).map(Some)
}

fn counts<'de, D: Deserializer<'de>>(from: D) -> Result<[u64; 2], D::Error> {
    let ends = sizes(from)?;
    let help = format!("at most {MOST_FLOWS}");
    match ends[1] <= MOST_FLOWS {
        true => Ok(ends.map(|number| number as u64)),
        false => {
            Err(D::Error::custom(wrong("out-of-range", format!("{} flows are too many", ends[1]), help)))
        }
    }
}

fn time<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
    let time = parse_time(&String::deserialize(from)?);
    time.map_err(|error| D::Error::custom(wrong("wrong-unit", error.message, error.help)))
}
