//! The parameters of tbf and of queue disciplines: tc-tbf(8), tc-fq_codel(8), tc-codel(8), tc-pie(8),
//! tc-red(8).

use fairpace_scenario::Invalid;

use super::params::{Given, Params};
use super::units::{packets, probability, rate, size, time, whole};
use super::words::Word;
use crate::draft::Entry;
use crate::source::Part;

/// Bytes of a full packet with its Ethernet header, as tc counts it.
pub(crate) const PACKET_BYTES: u64 = 1514;

/// A token bucket filter.
#[derive(Debug, Clone)]
pub(crate) struct Tbf {
    /// Bits per second.
    pub(crate) rate: Given<u64>,
    /// Size of the bucket, bytes.
    pub(crate) burst: Given<u64>,
    /// Bytes that wait, unless the tbf has a child.
    pub(crate) limit: Given<u64>,
}

/// A queue discipline without a rate.
pub(crate) struct Queue {
    /// The discipline, by its name in scenarios.
    pub(crate) name: &'static str,
    pub(crate) part: Part,
    /// The buffer, as the key `buffer` has it.
    pub(crate) buffer: Given<String>,
    /// Keys of the discipline.
    pub(crate) keys: Vec<Entry>,
}

/// Names of the parameters of a tbf.
const TBF_NAMES: [&str; 12] = [
    "rate",
    "burst",
    "buffer",
    "maxburst",
    "limit",
    "latency",
    "mtu",
    "minburst",
    "mpu",
    "overhead",
    "peakrate",
    "linklayer",
];
/// Other names of a parameter, and its own.
const TBF_ALIASES: [[&str; 2]; 3] = [["buffer", "burst"], ["maxburst", "burst"], ["minburst", "mtu"]];

/// Reads the parameters of a tbf; `kind` is its name in the line.
pub(crate) fn tbf(params: &mut Params<'_>, kind: &Word) -> Result<Tbf, Invalid> {
    let (mut speed, mut burst, mut limit, mut latency) = (None, None, None, None);
    while let Some(key) = params.take() {
        match params.name(key, &TBF_NAMES, &TBF_ALIASES)? {
            Some("rate") => speed = Some(params.value(key, rate)?),
            Some("burst") => burst = Some(params.value(key, bucket)?),
            Some("limit") => limit = Some(params.value(key, size)?),
            Some("latency") => latency = Some(params.value(key, time)?),
            // they matter for a peak rate, which is refused
            Some("mtu") => drop(params.value(key, bucket)?),
            Some("mpu" | "overhead") => {
                let given = params.value(key, size)?;
                if given.value > 0 {
                    let why = "a packet of a scenario counts its IP length and 14 bytes";
                    return Err(params.untranslated(&given.part, why, "leave it out"));
                }
            }
            Some("linklayer") => ethernet(params, key)?,
            Some("peakrate") => {
                let given = params.value(key, rate)?;
                if given.value > 0 {
                    let why = "a link has one token bucket";
                    return Err(params.untranslated(&given.part, why, "leave the peak rate out"));
                }
            }
            _ => return Err(params.unknown(key)),
        }
    }
    let missing = |what: &str| {
        let part = Part::new(kind.span.clone(), "tbf");
        params.source.refuse(&part, format!("tbf needs {what}, and tc refuses the line"), "add it")
    };
    let speed = speed.ok_or_else(|| missing("a `rate`"))?;
    let burst = burst.ok_or_else(|| missing("a `burst`"))?;
    if burst.value < PACKET_BYTES {
        let message =
            format!("a bucket of {} bytes never passes a full packet of {PACKET_BYTES}", burst.value);
        return Err(params.source.refuse(&burst.part, message, "write a `burst` of at least 1514 bytes"));
    }
    let limit = match (limit, latency) {
        (Some(limit), None) => limit,
        // as tc computes it: what the rate carries in that time, and a bucket
        (None, Some(Given { value, part })) => {
            let bytes = u128::from(speed.value) * u128::from(value) / 8_000_000_000;
            let bytes = u64::try_from(bytes).unwrap_or(u64::MAX).saturating_add(burst.value);
            Given { value: bytes, part }
        }
        (None, None) => return Err(missing("`latency` or `limit`")),
        (Some(limit), Some(_)) => {
            let message = "tbf has either `limit` or `latency`, and tc refuses both";
            return Err(params.source.refuse(&limit.part, message, "remove one"));
        }
    };
    Ok(Tbf { rate: speed, burst, limit })
}

/// Checks that packets are counted as Ethernet has them, which `tc -d qdisc show` says of every tbf.
fn ethernet(params: &mut Params<'_>, key: &Word) -> Result<(), Invalid> {
    let given = params.value(key, |text| Ok(text.to_owned()))?;
    if given.value == "ethernet" {
        return Ok(());
    }
    let why = "a packet of a scenario counts its IP length and 14 bytes, in no cells";
    Err(params.untranslated(&given.part, why, "leave it out"))
}

/// A size with the size of a cell behind a slash, which does not matter here.
fn bucket(text: &str) -> Result<u64, String> {
    let (bytes, cell) = text.split_once('/').unwrap_or((text, "0"));
    size(cell)?;
    size(bytes)
}

/// Reads the parameters of a queue discipline; `None` if this is no discipline of scenarios.
pub(crate) fn read(params: &mut Params<'_>, kind: &Word) -> Result<Option<Queue>, Invalid> {
    let Some(usual) = Queue::named(&kind.text, kind) else { return Ok(None) };
    let mut queue = usual;
    let mut red = RedSizes::default();
    while let Some(key) = params.take() {
        let known = match queue.name {
            "fifo" => queue.fifo(params, key)?,
            "red" => queue.red(params, key, &mut red)?,
            "pie" => queue.pie(params, key)?,
            _ => queue.codel(params, key)?,
        };
        if !known {
            return Err(params.unknown(key));
        }
    }
    if queue.name == "red" {
        red.finish(params, &mut queue)?;
    }
    Ok(Some(queue))
}

impl Queue {
    /// The discipline of this name in tc, with the limit that it has without parameters.
    fn named(name: &str, kind: &Word) -> Option<Queue> {
        let (name, buffer) = match name {
            // the length of the device's queue, which is 1000 unless it was changed
            "pfifo" => ("fifo", "1000pkts"),
            // as many full packets
            "bfifo" => ("fifo", "1514kB"),
            "codel" => ("codel", "1000pkts"),
            "fq_codel" => ("fq_codel", "10240pkts"),
            "pie" => ("pie", "1000pkts"),
            "red" => ("red", ""),
            _ => return None,
        };
        let part = Part::new(kind.span.clone(), &kind.text);
        let buffer = Given { value: buffer.to_owned(), part: part.clone() };
        Some(Queue { name, part, buffer, keys: Vec::new() })
    }

    fn set(&mut self, params: &Params<'_>, part: &Part, entry: impl FnOnce(String) -> Entry) {
        self.keys.push(entry(params.source.quote(part)));
    }

    fn limit_pkts(&mut self, params: &mut Params<'_>, key: &Word) -> Result<(), Invalid> {
        let Given { value, part } = params.value(key, packets)?;
        self.buffer = Given { value: format!("{value}pkts"), part };
        Ok(())
    }

    fn limit_bytes(&mut self, params: &mut Params<'_>, key: &Word) -> Result<(), Invalid> {
        let Given { value, part } = params.value(key, size)?;
        self.buffer = Given { value: format!("{value}B"), part };
        Ok(())
    }

    /// Adds a key whose value is a time.
    fn time(&mut self, params: &mut Params<'_>, key: &Word, name: &'static str) -> Result<(), Invalid> {
        let Given { value, part } = params.value(key, time)?;
        self.set(params, &part, |from| Entry::time(name, value, from));
        Ok(())
    }

    /// Adds the key `ecn`.
    fn ecn(&mut self, params: &Params<'_>, key: &Word) {
        let value = if key.text == "ecn" { "true" } else { "false" };
        self.set(params, &params.part(key, key), |from| Entry::plain("ecn", value, from));
    }

    fn fifo(&mut self, params: &mut Params<'_>, key: &Word) -> Result<bool, Invalid> {
        match (key.text.as_str(), self.part.key.as_str()) {
            ("limit", "bfifo") => self.limit_bytes(params, key)?,
            ("limit", _) => self.limit_pkts(params, key)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Reads a parameter of codel or fq_codel.
    fn codel(&mut self, params: &mut Params<'_>, key: &Word) -> Result<bool, Invalid> {
        let is_fair = self.name == "fq_codel";
        match key.text.as_str() {
            "limit" => self.limit_pkts(params, key)?,
            "target" => self.time(params, key, "target")?,
            "interval" => self.time(params, key, "codel_interval")?,
            "ce_threshold" => self.time(params, key, "ce_threshold")?,
            "ecn" | "noecn" => self.ecn(params, key),
            "flows" if is_fair => {
                let Given { value, part } = params.value(key, whole)?;
                self.set(params, &part, |from| Entry::plain("fq_buckets", value.to_string(), from));
            }
            "quantum" if is_fair => {
                let Given { value, part } = params.value(key, size)?;
                self.set(params, &part, |from| Entry::text("fq_quantum", format!("{value}B"), from));
            }
            "memory_limit" if is_fair => {
                let part = params.value(key, size)?.part;
                params.warn(&part, "it has no effect: `limit` alone limits the queue");
            }
            "drop_batch" if is_fair => {
                let part = params.value(key, whole)?.part;
                params.warn(&part, "it has no effect: a full queue drops one packet at a time");
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn pie(&mut self, params: &mut Params<'_>, key: &Word) -> Result<bool, Invalid> {
        match key.text.as_str() {
            "limit" => self.limit_pkts(params, key)?,
            "target" => self.time(params, key, "target")?,
            "tupdate" => self.time(params, key, "pie_update")?,
            "ecn" | "noecn" => self.ecn(params, key),
            "alpha" | "beta" => {
                let usual = if key.text == "alpha" { 2 } else { 20 };
                let given = params.value(key, whole)?;
                if given.value != usual {
                    let why = format!("PIE of a scenario has the value of RFC 8033, which is {usual} here");
                    return Err(params.untranslated(&given.part, &why, "leave it out"));
                }
            }
            "bytemode" | "dq_rate_estimator" => {
                let why = "PIE of a scenario drops without regard to size, and measures the delay of packets";
                return Err(params.untranslated(&params.part(key, key), why, "leave it out"));
            }
            "nobytemode" | "no_dq_rate_estimator" => {}
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn red(&mut self, params: &mut Params<'_>, key: &Word, red: &mut RedSizes) -> Result<bool, Invalid> {
        match key.text.as_str() {
            "limit" => self.limit_bytes(params, key)?,
            "min" => red.least = Some(params.value(key, size)?),
            "max" => red.most = Some(params.value(key, size)?),
            "avpkt" => red.packet = Some(params.value(key, size)?),
            "burst" => red.burst = Some(params.value(key, whole)?),
            "probability" => {
                let Given { value, part } = params.value(key, probability)?;
                self.set(params, &part, |from| {
                    Entry::share("red_probability", (value * 1e9).round() as u64, from)
                });
            }
            "bandwidth" => {
                let part = params.value(key, rate)?.part;
                params.warn(&part, "it has no effect: the average of an idle queue falls by the link's rate");
            }
            "ecn" => self.ecn(params, key),
            "harddrop" | "adaptive" | "nodrop" => {
                let why = "RED of a scenario has no such mode";
                return Err(params.untranslated(&params.part(key, key), why, "leave it out"));
            }
            _ => return Ok(false),
        }
        Ok(true)
    }
}

/// Sizes of RED. The burst is in packets of the average size.
#[derive(Default)]
struct RedSizes {
    least: Option<Given<u64>>,
    most: Option<Given<u64>>,
    packet: Option<Given<u64>>,
    burst: Option<Given<u64>>,
}

impl RedSizes {
    /// Adds the keys of RED to the queue.
    fn finish(self, params: &mut Params<'_>, queue: &mut Queue) -> Result<(), Invalid> {
        if queue.buffer.value.is_empty() {
            let message = "red needs a `limit`, and tc refuses the line";
            return Err(params.source.refuse(&queue.part, message, "add it, in bytes"));
        }
        for (name, given) in [("red_min", self.least), ("red_max", self.most)] {
            if let Some(Given { value, part }) = given {
                queue.set(params, &part, |from| Entry::text(name, format!("{value}B"), from));
            }
        }
        let Some(Given { value, part }) = self.burst else { return Ok(()) };
        let packet = self.packet.map_or(1000, |packet| packet.value);
        let full = value.saturating_mul(packet).div_ceil(PACKET_BYTES).max(1);
        if packet != PACKET_BYTES {
            let message = format!("{value} packets of {packet} bytes become {full} of {PACKET_BYTES}");
            params.warn(&part, message);
        }
        queue.set(params, &part, |from| Entry::plain("red_burst", full.to_string(), from));
        Ok(())
    }
}
