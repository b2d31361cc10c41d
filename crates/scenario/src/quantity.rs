//! Numbers with their unit: "100mbit", "50ms", "2MB", "100pkts", "1.5bdp", "50/s".
//!
//! Decimal fractions are exact: nothing passes through floating point, so that a value means the same on
//! every machine. A value is rounded to the unit in which it is stored (nanosecond, bit per second, byte).

use std::time::Duration;

/// The dimension of a quantity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dimension {
    /// A time, stored in nanoseconds.
    Time,
    /// A rate, stored in bits per second.
    Rate,
    /// A size, stored in bytes.
    Size,
    /// A share, stored in billionths of the whole.
    Share,
    /// A frequency, stored in thousandths per second.
    Frequency,
}

impl Dimension {
    /// All dimensions.
    pub const ALL: [Self; 5] = [Self::Time, Self::Rate, Self::Size, Self::Share, Self::Frequency];

    /// Units from the smallest to the largest, with their factor to the stored unit.
    const fn units(self) -> &'static [(&'static str, u64)] {
        match self {
            Self::Time => &[
                ("ns", 1),
                ("us", 1_000),
                ("ms", 1_000_000),
                ("s", 1_000_000_000),
                ("min", 60_000_000_000),
                ("h", 3_600_000_000_000),
            ],
            Self::Rate => &[("bit", 1), ("kbit", 1_000), ("mbit", 1_000_000), ("gbit", 1_000_000_000)],
            Self::Size => &[
                ("B", 1),
                ("kB", 1_000),
                ("MB", 1_000_000),
                ("GB", 1_000_000_000),
                ("KiB", 1 << 10),
                ("MiB", 1 << 20),
                ("GiB", 1 << 30),
            ],
            Self::Share => &[("ppb", 1), ("ppm", 1_000), ("%", 10_000_000)],
            Self::Frequency => &[("/s", 1_000)],
        }
    }

    /// The noun with its article, as in "a time".
    #[must_use]
    pub const fn noun(self) -> &'static str {
        match self {
            Self::Time => "a time",
            Self::Rate => "a rate",
            Self::Size => "a size",
            Self::Share => "a percentage",
            Self::Frequency => "a number per second",
        }
    }

    /// The noun without article, as in "time".
    #[must_use]
    pub(crate) fn name(self) -> &'static str {
        self.noun().trim_start_matches("a ")
    }

    /// An example of a quantity of this dimension.
    #[must_use]
    pub const fn example(self) -> &'static str {
        match self {
            Self::Time => "50ms",
            Self::Rate => "100mbit",
            Self::Size => "2MB",
            Self::Share => "1%",
            Self::Frequency => "50/s",
        }
    }

    /// The units in words, such as "ns, us, ms, s, min or h".
    #[must_use]
    pub fn unit_list(self) -> String {
        let names: Vec<_> = self.units().iter().map(|(name, _)| *name).collect();
        match names.split_last() {
            Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
            last => last.map(|(last, _)| (*last).to_owned()).unwrap_or_default(),
        }
    }

    fn factor(self, unit: &str) -> Option<u64> {
        let unit = match self {
            Self::Time if unit == "µs" => "us".to_owned(),
            Self::Rate => unit.strip_suffix("/s").unwrap_or(unit).to_ascii_lowercase(),
            Self::Size if unit == "KB" => "kB".to_owned(),
            _ => unit.to_owned(),
        };
        self.units().iter().find(|(name, _)| *name == unit).map(|(_, factor)| *factor)
    }
}

/// Error: a text that is no quantity, with the problem and what to write.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}; {help}")]
pub struct NotAQuantity {
    /// Description of the problem.
    pub message: String,
    /// Advice: what to write.
    pub help: String,
    /// True if the text is a quantity, but below zero.
    pub(crate) is_negative: bool,
}

impl NotAQuantity {
    fn new(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { message: message.into(), help: help.into(), is_negative: false }
    }
}

/// A decimal number: `digits / 10^decimals`.
struct Decimal {
    digits: u128,
    decimals: u32,
}

impl Decimal {
    fn parse(text: &str) -> Option<Self> {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        let fraction = fraction.trim_end_matches('0');
        let is_number = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
        // 20 digits before the point, as the largest number has, and 18 behind it fit into 128 bits; where
        // their product with a factor does not, it is above the largest number in any case
        if whole.is_empty()
            || !is_number(whole)
            || !is_number(fraction)
            || whole.len() > 20
            || fraction.len() > 18
            || text.ends_with('.')
        {
            return None;
        }
        let digits = format!("{whole}{fraction}").parse().ok()?;
        Some(Self { digits, decimals: u32::try_from(fraction.len()).ok()? })
    }

    /// Returns `self * factor`, rounded to the nearest whole number. A product that is too large becomes the
    /// largest number, which no range allows.
    fn times(&self, factor: u128) -> u64 {
        let unit = 10u128.pow(self.decimals);
        let product = self.digits.saturating_mul(factor).saturating_add(unit / 2) / unit;
        u64::try_from(product).unwrap_or(u64::MAX)
    }
}

fn split(text: &str) -> (&str, &str) {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && !matches!(c, '.' | '-' | '+')).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    (number, unit.trim_start())
}

/// Reads a decimal number without a unit, times `factor`.
pub(crate) fn decimal(text: &str, factor: u64) -> Option<u64> {
    Some(Decimal::parse(text)?.times(factor.into()))
}

/// Reads a quantity, in its stored unit.
///
/// # Errors
/// When `text` is not a number followed by a unit of this dimension, or is negative.
pub fn parse(text: &str, dimension: Dimension) -> Result<u64, NotAQuantity> {
    let (number, unit) = split(text);
    let noun = dimension.noun();
    let usual = || format!("write it like \"{}\"; units are {}", dimension.example(), dimension.unit_list());
    if number.starts_with('-') {
        let negative = NotAQuantity::new(format!("\"{text}\" is negative"), usual());
        return Err(NotAQuantity { is_negative: true, ..negative });
    }
    let Some(decimal) = Decimal::parse(number) else {
        return Err(NotAQuantity::new(format!("\"{text}\" is not {noun}"), usual()));
    };
    if let Some(factor) = dimension.factor(unit) {
        return Ok(decimal.times(factor.into()));
    }
    // zero is the same in every unit
    if unit.is_empty() && decimal.digits == 0 {
        return Ok(0);
    }
    Err(wrong_unit(number, unit, dimension))
}

fn wrong_unit(number: &str, unit: &str, wanted: Dimension) -> NotAQuantity {
    let noun = wanted.noun();
    let units = wanted.unit_list();
    if unit.is_empty() {
        let written = match wanted {
            Dimension::Time => format!("\"{number}ms\" or \"{number}s\""),
            Dimension::Rate => format!("\"{number}mbit\""),
            Dimension::Size => format!("\"{number}kB\" or \"{number}MB\""),
            Dimension::Share => format!("\"{number}%\""),
            Dimension::Frequency => format!("\"{number}/s\""),
        };
        let help = format!("write the unit with the number, as in {written}; units are {units}");
        return NotAQuantity::new(format!("\"{number}\" has no unit"), help);
    }
    let usual = format!("write it like \"{}\"; units are {units}", wanted.example());
    let not_a_unit = format!("\"{unit}\" is not a unit of {}", wanted.name());
    if let Some((name, _)) = wanted.units().iter().find(|(name, _)| name.eq_ignore_ascii_case(unit)) {
        return NotAQuantity::new(not_a_unit, format!("did you mean \"{number}{name}\"? Units are {units}"));
    }
    for other in Dimension::ALL {
        if other != wanted && other.factor(unit).is_some() {
            let message = format!("\"{number}{unit}\" is {}, but {noun} is wanted", other.noun());
            return NotAQuantity::new(message, usual);
        }
    }
    if let Some(prefix) = unit.to_ascii_lowercase().strip_suffix("bps").filter(|p| p.len() < 2) {
        let message = format!("\"{unit}\" is ambiguous: some tools read it as bits, others as bytes");
        let help = format!("write \"{number}{prefix}bit\" for bits per second; units are {units}");
        return NotAQuantity::new(message, help);
    }
    NotAQuantity::new(not_a_unit, usual)
}

/// Reads a time.
///
/// # Errors
/// The errors of [`parse`].
pub fn parse_time(text: &str) -> Result<Duration, NotAQuantity> {
    parse(text, Dimension::Time).map(Duration::from_nanos)
}

/// Reads steps, such as "10s 50mbit, 20s 0": times and values in their stored units.
///
/// # Errors
/// When a step is not a time and a quantity of this dimension.
pub fn parse_steps(text: &str, dimension: Dimension) -> Result<Vec<(u64, u64)>, NotAQuantity> {
    let step = |step: &str| {
        let (time, value) = step.trim().split_once(char::is_whitespace).ok_or_else(|| {
            let message = format!("\"{}\" is not a time and {}", step.trim(), dimension.noun());
            NotAQuantity::new(message, format!("write it like \"{}\"", example_steps(dimension)))
        })?;
        Ok((parse(time, Dimension::Time)?, parse(value.trim(), dimension)?))
    };
    text.split(',').map(step).collect()
}

/// Writes steps as [`parse_steps`] reads them.
#[must_use]
pub fn show_steps(steps: &[(u64, u64)], dimension: Dimension) -> String {
    let step =
        |(time, value): &(u64, u64)| format!("{} {}", show(*time, Dimension::Time), show(*value, dimension));
    steps.iter().map(step).collect::<Vec<_>>().join(", ")
}

/// An example of steps.
pub(crate) fn example_steps(dimension: Dimension) -> String {
    let later = match dimension {
        Dimension::Rate => "20mbit",
        Dimension::Share => "30%",
        Dimension::Size => "10kB",
        _ => "80ms",
    };
    format!("10s {later}, 20s {}", dimension.example())
}

/// Billionths in a whole.
pub const WHOLE_PPB: u64 = 1_000_000_000;

/// A full-sized packet on the wire: 1500 bytes of IP and an Ethernet header. A smaller buffer lets no full
/// packet pass.
pub const PACKET_BYTES: u64 = 1500 + ETHERNET_BYTES;

/// An Ethernet header on the wire, bytes.
pub(crate) const ETHERNET_BYTES: u64 = 14;

/// The limit of a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// Bytes on the wire, headers included.
    Bytes(u64),
    /// Packets of any size.
    Packets(u64),
}

impl Limit {
    /// The limit in bytes; packets count as full packets.
    #[must_use]
    pub fn bytes(self) -> u64 {
        match self {
            Limit::Bytes(bytes) => bytes,
            Limit::Packets(pkts) => pkts.saturating_mul(PACKET_BYTES),
        }
    }

    /// Returns whether `bytes` and `pkts` are more than the limit allows.
    #[inline]
    #[must_use]
    pub fn is_exceeded_by(self, bytes: u64, pkts: u64) -> bool {
        match self {
            Limit::Bytes(most) => bytes > most,
            Limit::Packets(most) => pkts > most,
        }
    }
}

/// A buffer as written: a limit, a multiple of the bandwidth-delay product, or a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Buffer {
    /// A limit in bytes or packets.
    Limit(Limit),
    /// A multiple of the bandwidth-delay product.
    Bdp {
        /// Millionths of a BDP: 1,000,000 is one BDP.
        millionths: u64,
    },
    /// What the link carries in this time, as the `latency` of Linux's tbf.
    Time(Duration),
}

impl Buffer {
    /// The limit that the buffer has on a link of this rate, with `rtt` as the product's delay.
    #[must_use]
    pub fn limit(self, rate_bps: u64, rtt: Duration) -> Limit {
        match self {
            Self::Limit(limit) => limit,
            Self::Bdp { millionths } => carried(rate_bps, rtt, millionths),
            Self::Time(time) => carried(rate_bps, time, 1_000_000),
        }
    }
}

/// Returns the bytes that a link of this rate carries in `time`, times `millionths` of a whole.
fn carried(rate_bps: u64, time: Duration, millionths: u64) -> Limit {
    let bit_ns = u128::from(rate_bps) * time.as_nanos();
    let bytes = bit_ns.saturating_mul(millionths.into()) / (8 * 1_000_000_000 * 1_000_000);
    Limit::Bytes(u64::try_from(bytes).unwrap_or(u64::MAX))
}

/// Reads a buffer size: a size, packets such as "100pkts", a multiple of the BDP such as "1.5bdp", or a time
/// such as "300ms".
///
/// # Errors
/// The errors of [`parse`].
pub fn parse_buffer(text: &str) -> Result<Buffer, NotAQuantity> {
    let (number, unit) = split(text);
    if unit.eq_ignore_ascii_case("bdp") && !number.starts_with('-') {
        return match Decimal::parse(number) {
            Some(decimal) => Ok(Buffer::Bdp { millionths: decimal.times(1_000_000) }),
            None => Err(NotAQuantity::new(
                format!("\"{text}\" is not a size"),
                "write it like \"1.5bdp\" or \"2MB\"",
            )),
        };
    }
    if Dimension::Time.factor(unit).is_some() {
        return parse_time(text).map(Buffer::Time);
    }
    parse_limit(text).map(Buffer::Limit).map_err(|mut error| {
        error.help.push_str(
            ", a multiple of the bandwidth-delay product, as in \"1.5bdp\", or a time, as in \"300ms\"",
        );
        error
    })
}

/// Reads a size, or packets such as "100pkts".
///
/// # Errors
/// The errors of [`parse`].
pub fn parse_limit(text: &str) -> Result<Limit, NotAQuantity> {
    let (number, unit) = split(text);
    if matches!(unit, "pkts" | "pkt" | "packets") && !number.starts_with('-') {
        return match Decimal::parse(number) {
            Some(decimal) if decimal.decimals == 0 => Ok(Limit::Packets(decimal.times(1))),
            _ => Err(NotAQuantity::new(
                format!("\"{text}\" is not a whole number of packets"),
                "write it like \"100pkts\"",
            )),
        };
    }
    parse(text, Dimension::Size).map(Limit::Bytes).map_err(|mut error| {
        error.help.push_str(", or packets, as in \"100pkts\"");
        error
    })
}

/// Writes a limit as [`parse_limit`] reads it.
#[must_use]
pub fn show_limit(limit: Limit) -> String {
    match limit {
        Limit::Bytes(bytes) => show(bytes, Dimension::Size),
        Limit::Packets(pkts) => format!("{pkts}pkts"),
    }
}

/// Writes a quantity in the largest unit that needs no fraction: 1100000000 as "1100mbit", 0 as "0s".
#[must_use]
pub fn show(value: u64, dimension: Dimension) -> String {
    // powers of ten up to seconds: "90s" reads better than "1.5min", and "2GB" better than "1953125KiB"
    let units: Vec<_> = dimension
        .units()
        .iter()
        .filter(|(name, _)| !matches!(*name, "min" | "h" | "KiB" | "MiB" | "GiB"))
        .collect();
    let zero = match dimension {
        Dimension::Time => "s",
        Dimension::Share => "%",
        _ => units[0].0,
    };
    if value == 0 {
        return format!("0{zero}");
    }
    if dimension == Dimension::Frequency {
        let number = format!("{}.{:03}", value / 1_000, value % 1_000);
        return format!("{}/s", number.trim_end_matches('0').trim_end_matches('.'));
    }
    let (name, factor) =
        units.into_iter().rev().find(|(_, factor)| value.is_multiple_of(*factor)).unwrap_or(&("", 1));
    format!("{}{name}", value / factor)
}

/// Mean length of a bad period of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BurstLength {
    /// A number of packets; at least 1. The line stays bad while no packet is sent.
    Pkts(u64),
    /// A time, whatever is sent.
    Time(Duration),
}

impl BurstLength {
    /// Shortest and longest mean time, ns: a full packet at 12 Gbit/s takes 1 us, and an hour is longer than
    /// most runs.
    pub(crate) const RANGE_NS: (u64, u64) = (1_000, 3_600_000_000_000);

    /// The range of times in words.
    pub(crate) fn time_range() -> String {
        let (least, most) = Self::RANGE_NS;
        format!("{} to {}", show(least, Dimension::Time), show(most, Dimension::Time))
    }
}

/// Writes a time as [`show`] does.
#[must_use]
pub fn show_time(time: Duration) -> String {
    show(ns(time), Dimension::Time)
}

/// A time in ns, the stored unit of times; 584 years and more are `u64::MAX`.
#[must_use]
pub fn ns(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
