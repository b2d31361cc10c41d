//! Parameter values as text: "1.25", "3ms", "1%", "true". Exact decimal arithmetic, no floats.

/// The unit of a parameter, in which its raw number counts and users write it. `enum cc_unit` of `params.h`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// A gain in 1/256; written "1.25" or "125%".
    Gain,
    /// A time in microseconds; written with a unit, "3ms".
    Us,
    /// A number of packets of one MSS.
    Pkts,
    /// A number of round trips.
    Rounds,
    /// A plain number.
    Count,
    /// A share in millionths; written "1%" or "100ppm".
    Ppm,
    /// A boolean, 0 or 1; written "true" or "false".
    Bool,
    /// A rate in bytes per second; written "500kB/s" or "4mbit".
    Bps,
    /// A fraction in 1/1024; written "0.7" or "70%".
    Fraction,
}

/// A decimal number as written: `digits / 10^places`.
struct Decimal {
    digits: u64,
    places: u32,
}

impl Unit {
    /// All units, in the order of their numbers in C.
    pub const ALL: [Unit; 9] = [
        Unit::Gain,
        Unit::Us,
        Unit::Pkts,
        Unit::Rounds,
        Unit::Count,
        Unit::Ppm,
        Unit::Bool,
        Unit::Bps,
        Unit::Fraction,
    ];

    /// Returns the unit with this number in C.
    pub fn from_number(number: u32) -> Option<Unit> {
        Unit::ALL.get(number as usize).copied()
    }

    /// Returns the noun for a value, after "it is", for documentation and errors.
    pub fn noun(self) -> &'static str {
        match self {
            Unit::Gain => "a gain",
            Unit::Us => "a time",
            Unit::Pkts => "a number of packets",
            Unit::Rounds => "a number of round trips",
            Unit::Count => "a number",
            Unit::Ppm => "a percentage",
            Unit::Bool => "true or false",
            Unit::Bps => "a rate",
            Unit::Fraction => "a fraction",
        }
    }

    /// Returns the suffixes that may follow the number, each with the raw value of one unit, and whether
    /// values between two raw numbers are rounded (true) or refused.
    fn suffixes(self) -> (&'static [(&'static str, u64, u64)], bool) {
        // (suffix, numerator, denominator) of the raw value of "1<suffix>"
        match self {
            Unit::Gain => (&[("", 256, 1), ("%", 256, 100)], true),
            Unit::Fraction => (&[("", 1024, 1), ("%", 1024, 100)], true),
            Unit::Us => (&[("us", 1, 1), ("ms", 1000, 1), ("s", 1_000_000, 1)], false),
            Unit::Pkts => (&[("", 1, 1), ("pkts", 1, 1), ("pkt", 1, 1)], false),
            Unit::Rounds => (&[("", 1, 1), ("rounds", 1, 1), ("round", 1, 1)], false),
            Unit::Count => (&[("", 1, 1)], false),
            Unit::Ppm => (&[("%", 10_000, 1), ("ppm", 1, 1)], false),
            Unit::Bool => (&[], false),
            Unit::Bps => (
                &[
                    ("B/s", 1, 1),
                    ("kB/s", 1_000, 1),
                    ("MB/s", 1_000_000, 1),
                    ("bit", 1, 8),
                    ("kbit", 125, 1),
                    ("mbit", 125_000, 1),
                    ("gbit", 125_000_000, 1),
                ],
                false,
            ),
        }
    }

    /// Returns the raw number of `text`; `None` when the text cannot be a value of this unit.
    pub(crate) fn parse(self, text: &str) -> Option<u64> {
        let text = text.trim();
        if self == Unit::Bool {
            return match text {
                "true" | "on" | "1" => Some(1),
                "false" | "off" | "0" => Some(0),
                _ => None,
            };
        }
        let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let number = Decimal::parse(&text[..end])?;
        let suffix = text[end..].trim_start();
        let (suffixes, rounds) = self.suffixes();
        let (_, numerator, denominator) = suffixes.iter().find(|(s, _, _)| *s == suffix)?;
        number.times(*numerator, *denominator, rounds)
    }

    /// Returns the shortest text that is read back as this raw number.
    pub fn format(self, raw: u32) -> String {
        let raw64 = u64::from(raw);
        match self {
            Unit::Bool => (raw != 0).to_string(),
            Unit::Pkts | Unit::Rounds | Unit::Count => raw.to_string(),
            Unit::Gain | Unit::Fraction => {
                let unit = if self == Unit::Gain { 256 } else { 1024 };
                let candidates = (0..=4).map(|places| decimal(raw64, unit, places));
                candidates.into_iter().find(|t| self.parse(t) == Some(raw64)).unwrap_or_default()
            }
            Unit::Us if raw >= 1_000_000 => decimal(raw64, 1_000_000, 6) + "s",
            Unit::Us if raw >= 1000 => decimal(raw64, 1000, 3) + "ms",
            Unit::Us => format!("{raw}us"),
            Unit::Ppm => decimal(raw64, 10_000, 4) + "%",
            Unit::Bps if raw >= 1_000_000 => decimal(raw64, 1_000_000, 6) + "MB/s",
            Unit::Bps if raw >= 1000 => decimal(raw64, 1000, 3) + "kB/s",
            Unit::Bps => format!("{raw}B/s"),
        }
    }
}

impl Decimal {
    fn parse(text: &str) -> Option<Decimal> {
        let (whole, part) = text.split_once('.').unwrap_or((text, ""));
        let digits = format!("{whole}{part}");
        // 18 digits fit a u64; a parameter is a u32
        let plausible = !whole.is_empty() && digits.len() <= 18 && !text.ends_with('.');
        let digits = plausible.then(|| digits.parse().ok()).flatten()?;
        Some(Decimal { digits, places: part.len() as u32 })
    }

    /// Returns the number times a ratio, rounded to the nearest whole number; without `rounds` only if the
    /// product is whole.
    fn times(&self, numerator: u64, denominator: u64, rounds: bool) -> Option<u64> {
        let dividend = u128::from(self.digits) * u128::from(numerator);
        let divisor = u128::from(denominator) * 10u128.pow(self.places);
        let exact = dividend.is_multiple_of(divisor);
        (exact || rounds).then(|| u64::try_from((dividend + divisor / 2) / divisor).ok()).flatten()
    }
}

/// Returns `raw / unit` with up to `places` decimals, rounded, without trailing zeros.
fn decimal(raw: u64, unit: u64, places: u32) -> String {
    let scale = 10u64.pow(places);
    let scaled = (raw * scale + unit / 2) / unit;
    let (whole, part) = (scaled / scale, scaled % scale);
    let text = format!("{whole}.{part:0width$}", width = places as usize);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_in_the_unit_that_people_write() {
        for (unit, text, raw) in [
            (Unit::Gain, "1.25", 320),
            (Unit::Gain, "125%", 320),
            (Unit::Gain, "0", 0),
            (Unit::Us, "3ms", 3000),
            (Unit::Us, "0.5 ms", 500),
            (Unit::Us, "10s", 10_000_000),
            (Unit::Pkts, "4", 4),
            (Unit::Pkts, "4 pkts", 4),
            (Unit::Rounds, "10", 10),
            (Unit::Ppm, "1%", 10_000),
            (Unit::Ppm, "0.5%", 5_000),
            (Unit::Ppm, "100ppm", 100),
            (Unit::Bool, "true", 1),
            (Unit::Bool, "off", 0),
            (Unit::Bps, "4kB/s", 4000),
            (Unit::Bps, "1mbit", 125_000),
            (Unit::Bps, "16bit", 2),
            (Unit::Fraction, "0.7", 717),
            (Unit::Fraction, "0.4", 410),
            (Unit::Fraction, "50%", 512),
        ] {
            assert_eq!(unit.parse(text), Some(raw), "{unit:?} {text}");
        }
    }

    #[test]
    fn what_is_not_a_value_of_the_unit_is_refused() {
        for (unit, text) in [
            (Unit::Us, "3"),
            (Unit::Us, "3 parsecs"),
            (Unit::Us, "0.5us"),
            (Unit::Us, "-3ms"),
            (Unit::Gain, "1.25x"),
            (Unit::Gain, ""),
            (Unit::Gain, "."),
            (Unit::Gain, "1."),
            (Unit::Gain, "1.2.3"),
            (Unit::Gain, "99999999999999999999"),
            (Unit::Pkts, "1.5"),
            (Unit::Count, "four"),
            (Unit::Ppm, "1"),
            (Unit::Bool, "yes"),
            (Unit::Bps, "12bit"),
        ] {
            assert_eq!(unit.parse(text), None, "{unit:?} {text:?}");
        }
    }

    #[test]
    fn formatting_and_parsing_are_inverse() {
        for unit in Unit::ALL {
            for raw in (0..5000).chain([10_000_000, 123_456_789, u32::MAX]) {
                let raw = if unit == Unit::Bool { raw & 1 } else { raw };
                let text = unit.format(raw);
                assert_eq!(unit.parse(&text), Some(u64::from(raw)), "{unit:?} {raw} {text:?}");
            }
        }
        assert_eq!(Unit::Gain.format(320), "1.25");
        assert_eq!(Unit::Us.format(3000), "3ms");
        assert_eq!(Unit::Ppm.format(5000), "0.5%");
        assert_eq!(Unit::Fraction.format(717), "0.7");
    }
}
