//! Random paths: cases that follow from a seed, and were not chosen.

use std::fmt::Write as _;
use std::time::Duration;

use fairpace_scenario::Random;
use fairpace_scenario::quantity::{Dimension, parse as parse_quantity, parse_time, show, show_time};

use crate::read::{Reader, Table, ends, number};
use toml::de::{DeArray, DeValue};

/// Flows of a path: a `[[flow]]` for each is a short text.
const MOST_FLOWS: f64 = 1_000.0;

/// The ranges of what is drawn: least and most.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Draw {
    /// Bits per second of the link; each order of magnitude is as likely as any other.
    rate_bps: [u64; 2],
    /// Number of flows.
    flows: [u64; 2],
    /// RTT of each flow, nanoseconds; as the rate.
    rtt_ns: [u64; 2],
    /// Buffer in BDP of the longest RTT; as the rate.
    bdp: [f64; 2],
    /// Host jitter of all flows, nanoseconds.
    host_jitter_ns: [u64; 2],
    /// Start of each flow, nanoseconds.
    start_ns: [u64; 2],
    /// Begin of the measured interval, and the end of the run.
    from: Duration,
    duration: Duration,
}

impl Draw {
    /// Reads `[draw]`, if there is one.
    pub(crate) fn read(reader: &mut Reader<'_>, top: Table<'_, '_>) -> Option<Self> {
        const KEYS: [&str; 8] = ["rate", "flows", "rtt", "bdp", "host_jitter", "start", "from", "duration"];
        let (path, value, table) = reader.table(top, "draw")?;
        let of = Table { table, path: &path, span: ends(value) };
        reader.known(of, &KEYS);
        for other in
            ["template", "axis", "quick", "page"].into_iter().filter(|key| top.table.contains_key(*key))
        {
            let help = "leave one of them out";
            let message = format!("random paths have no `{other}`");
            reader.complain(reader.place(top, other), "impossible", other, message, help);
        }
        let rate_bps = quantities(reader, of, "rate", Dimension::Rate);
        let flows = numbers(reader, of, "flows");
        if let Some([_, most]) = flows.filter(|[_, most]| *most > MOST_FLOWS) {
            let message = format!("{most} flows are too many");
            let help = format!("at most {MOST_FLOWS}");
            reader.complain(reader.place(of, "flows"), "out-of-range", &of.key("flows"), message, help);
        }
        let rtt_ns = quantities(reader, of, "rtt", Dimension::Time);
        let bdp = numbers(reader, of, "bdp");
        let host_jitter_ns = quantities(reader, of, "host_jitter", Dimension::Time);
        let start_ns = quantities(reader, of, "start", Dimension::Time);
        let (from, duration) = (time(reader, of, "from"), time(reader, of, "duration"));
        Some(Self {
            rate_bps: rate_bps?,
            flows: flows?.map(|number| number as u64),
            rtt_ns: rtt_ns?,
            bdp: bdp?,
            host_jitter_ns: host_jitter_ns?,
            start_ns: start_ns?,
            from: from?,
            duration: duration?,
        })
    }
}

/// A path that was drawn.
pub(crate) struct Path {
    pub(crate) rate_bps: u64,
    bdp: f64,
    host_jitter_us: u64,
    /// RTT and start of each flow, microseconds.
    flows: Vec<(u64, u64)>,
}

impl Draw {
    /// The path of a seed.
    pub(crate) fn path(&self, seed: u64) -> Path {
        let mut dice = Dice(Random::new(seed));
        // whole microseconds, as a person would write a scenario
        let us = |range: [u64; 2]| range.map(|ns| ns / 1_000);
        let rtt_us = us(self.rtt_ns).map(|us| us as f64);
        let rate_bps = dice.magnitude(self.rate_bps.map(|bps| bps as f64)) as u64;
        let count = dice.between(self.flows);
        let bdp = dice.magnitude(self.bdp);
        let host_jitter_us = dice.between(us(self.host_jitter_ns));
        let flow = |_| (dice.magnitude(rtt_us) as u64, dice.between(us(self.start_ns)));
        Path { rate_bps, bdp, host_jitter_us, flows: (0..count).map(flow).collect() }
    }

    /// Begin of the measured interval, and the end of the run.
    pub(crate) fn interval(&self) -> [Duration; 2] {
        [self.from, self.duration]
    }
}

impl Path {
    /// "57mbit, 12 flows, 0.8bdp".
    pub(crate) fn name(&self) -> String {
        let mbps = self.rate_bps as f64 / 1e6;
        let decimals = if mbps < 10.0 { 1 } else { 0 };
        format!("{mbps:.decimals$}mbit, {} flows, {:.1}bdp", self.flows.len(), self.bdp)
    }

    /// As a scenario file.
    pub(crate) fn text(&self, title: &str, cc: &str, least_bytes: u64, interval: [Duration; 2]) -> String {
        let Self { rate_bps, bdp, host_jitter_us, flows } = self;
        let longest_us = flows.iter().map(|(rtt_us, _)| *rtt_us).max().unwrap_or_default();
        let bytes = (*rate_bps as f64 / 8.0 * longest_us as f64 / 1e6 * bdp) as u64;
        let bytes = bytes.max(least_bytes);
        let [from, duration] = interval.map(show_time);
        let rate = show(*rate_bps, Dimension::Rate);
        let mut text = format!(
            "title = \"{title}\"\nduration = \"{duration}\"\nwindow.from = \"{from}\"\n\n[[link]]\n\
             rate = \"{rate}\"\nbuffer = \"{bytes}B\"\n"
        );
        for (index, (rtt_us, start_us)) in (1..).zip(flows) {
            let _ = write!(
                text,
                "\n[[flow]]\nname = \"{index}\"\ncc = \"{cc}\"\nrtt = \"{rtt_us}us\"\n\
                 start = \"{start_us}us\"\n\
                 host_jitter = \"{host_jitter_us}us\"\n"
            );
        }
        text
    }
}

/// The seed that a text of hexadecimal digits stands for, such as a commit's hash; all of its digits count.
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
    /// Uniform, both ends included.
    fn between(&mut self, [least, most]: [u64; 2]) -> u64 {
        least + self.0.below(most.saturating_sub(least) + 1)
    }

    /// Each order of magnitude is as likely as any other. libm gives the same bits on every machine.
    fn magnitude(&mut self, [least, most]: [f64; 2]) -> f64 {
        (least * libm::exp(libm::log(most / least) * self.0.unit())).clamp(least, most)
    }
}

fn time(reader: &mut Reader<'_>, of: Table<'_, '_>, key: &str) -> Option<Duration> {
    let text = reader.text(of, key)?;
    match parse_time(&text) {
        Ok(time) => Some(time),
        Err(error) => {
            reader.complain(reader.place(of, key), "wrong-unit", &of.key(key), error.message, error.help);
            None
        }
    }
}

fn quantity(
    reader: &mut Reader<'_>,
    of: Table<'_, '_>,
    key: &str,
    text: &str,
    dimension: Dimension,
) -> Option<u64> {
    match parse_quantity(text, dimension) {
        Ok(number) => Some(number),
        Err(error) => {
            reader.complain(reader.place(of, key), "wrong-unit", &of.key(key), error.message, error.help);
            None
        }
    }
}

/// The least and the most value of a range.
fn ends_of<'t, 'i>(reader: &mut Reader<'_>, of: Table<'t, 'i>, key: &str) -> Option<&'t DeArray<'i>> {
    match of.table.get(key).map(toml::Spanned::get_ref) {
        Some(DeValue::Array(items)) if items.len() == 2 => Some(items),
        _ => {
            let help = format!("write {key} = [least, most]");
            let message = format!("`{key}` must be a list of two values");
            reader.complain(reader.place(of, key), "wrong-type", &of.key(key), message, help);
            None
        }
    }
}

fn quantities(
    reader: &mut Reader<'_>,
    of: Table<'_, '_>,
    key: &str,
    dimension: Dimension,
) -> Option<[u64; 2]> {
    let mut numbers = Vec::new();
    for item in ends_of(reader, of, key)?.iter() {
        let text = item.get_ref().as_str().unwrap_or_default();
        numbers.push(quantity(reader, of, key, text, dimension)?);
    }
    in_order(reader, of, key, [*numbers.first()?, *numbers.get(1)?])
}

fn numbers(reader: &mut Reader<'_>, of: Table<'_, '_>, key: &str) -> Option<[f64; 2]> {
    let items: Vec<f64> =
        ends_of(reader, of, key)?.iter().filter_map(|item| number(item.get_ref())).collect();
    match items[..] {
        [least, most] if least > 0.0 => in_order(reader, of, key, [least, most]),
        _ => {
            let message = format!("`{key}` must have two numbers above 0");
            reader.complain(
                reader.place(of, key),
                "wrong-type",
                &of.key(key),
                message,
                "write them without quotes",
            );
            None
        }
    }
}

fn in_order<T: PartialOrd + Copy>(
    reader: &mut Reader<'_>,
    of: Table<'_, '_>,
    key: &str,
    range: [T; 2],
) -> Option<[T; 2]> {
    if range[0] <= range[1] {
        return Some(range);
    }
    let message = "the first value is the greater one";
    reader.complain(reader.place(of, key), "out-of-range", &of.key(key), message, "write the least first");
    None
}
