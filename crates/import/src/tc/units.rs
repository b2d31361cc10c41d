//! Numbers with the units of tc(8), which differ from those of scenarios: `mbps` is bytes, and `kb` is 1024.

/// Largest number that is read: beyond every range of a scenario, and far below the largest `u64`.
const MOST: f64 = 1e18;

/// A number and its unit, in lower case; the error says what is wrong with the number.
fn split(text: &str) -> Result<(f64, String), String> {
    if text.starts_with('-') {
        return Err(format!("\"{text}\" is negative"));
    }
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    match number.parse::<f64>() {
        Ok(number) if number.is_finite() => Ok((number, unit.to_ascii_lowercase())),
        _ => Err(format!("\"{text}\" is not a number")),
    }
}

fn scaled(text: &str, noun: &str, factors: &[(&str, f64)]) -> Result<u64, String> {
    let (number, unit) = split(text)?;
    let Some((_, factor)) = factors.iter().find(|(name, _)| *name == unit) else {
        return Err(format!("\"{unit}\" is not a unit of {noun} of tc"));
    };
    let value = (number * factor).round();
    if value > MOST { Err(format!("\"{text}\" is too large")) } else { Ok(value as u64) }
}

/// A rate, bits per second. Without a unit it is bits; `bps` is bytes per second.
pub(crate) fn rate(text: &str) -> Result<u64, String> {
    if text.ends_with('%') {
        return Err(format!("\"{text}\" is a part of the rate of a device, which no line says"));
    }
    let factors = [
        ("", 1.0),
        ("bit", 1.0),
        ("kbit", 1e3),
        ("mbit", 1e6),
        ("gbit", 1e9),
        ("tbit", 1e12),
        ("kibit", 1024.0),
        ("mibit", 1_048_576.0),
        ("gibit", 1_073_741_824.0),
        ("tibit", 1_099_511_627_776.0),
        ("bps", 8.0),
        ("kbps", 8e3),
        ("mbps", 8e6),
        ("gbps", 8e9),
        ("tbps", 8e12),
        ("kibps", 8.0 * 1024.0),
        ("mibps", 8.0 * 1_048_576.0),
        ("gibps", 8.0 * 1_073_741_824.0),
        ("tibps", 8.0 * 1_099_511_627_776.0),
    ];
    scaled(text, "rates", &factors)
}

/// A time, ns. Without a unit it is microseconds.
pub(crate) fn time(text: &str) -> Result<u64, String> {
    let factors = [
        ("", 1e3),
        ("s", 1e9),
        ("sec", 1e9),
        ("secs", 1e9),
        ("ms", 1e6),
        ("msec", 1e6),
        ("msecs", 1e6),
        ("us", 1e3),
        ("usec", 1e3),
        ("usecs", 1e3),
        ("ns", 1.0),
        ("nsec", 1.0),
        ("nsecs", 1.0),
    ];
    scaled(text, "times", &factors)
}

/// A size, bytes. `k` and `kb` are 1024 bytes, `kbit` is 128.
pub(crate) fn size(text: &str) -> Result<u64, String> {
    let (kibi, mebi, gibi) = (1024.0, 1_048_576.0, 1_073_741_824.0);
    let factors = [
        ("", 1.0),
        ("b", 1.0),
        ("k", kibi),
        ("kb", kibi),
        ("m", mebi),
        ("mb", mebi),
        ("g", gibi),
        ("gb", gibi),
        ("kbit", kibi / 8.0),
        ("mbit", mebi / 8.0),
        ("gbit", gibi / 8.0),
    ];
    scaled(text, "sizes", &factors)
}

/// A share, as a number from 0 to 1. `%` may be left out.
pub(crate) fn share(text: &str) -> Result<f64, String> {
    let (number, unit) = split(text)?;
    match unit.as_str() {
        "" | "%" if number <= 100.0 => Ok(number / 100.0),
        "" | "%" => Err(format!("\"{text}\" is more than 100 %")),
        _ => Err(format!("\"{text}\" is not a percentage")),
    }
}

/// A probability from 0 to 1.
pub(crate) fn probability(text: &str) -> Result<f64, String> {
    match split(text)? {
        (number, unit) if unit.is_empty() && number <= 1.0 => Ok(number),
        _ => Err(format!("\"{text}\" is not a probability from 0 to 1")),
    }
}

/// A whole number.
pub(crate) fn whole(text: &str) -> Result<u64, String> {
    match text.parse::<u64>() {
        Ok(number) if number as f64 <= MOST => Ok(number),
        _ => Err(format!("\"{text}\" is not a whole number")),
    }
}

/// A seed, which `tc qdisc show` writes with up to 64 bits.
pub(crate) fn seed(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("\"{text}\" is not a whole number"))
}

/// A number of packets, which `tc qdisc show` writes as `1000p`.
pub(crate) fn packets(text: &str) -> Result<u64, String> {
    whole(text.strip_suffix('p').unwrap_or(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_those_of_tc() {
        let rates = ["10mbit", "1mbps", "8bps", "1000", "1.5Mbit", "1kibit", "10Gbit"];
        let expected = [10_000_000, 8_000_000, 64, 1_000, 1_500_000, 1_024, 10_000_000_000];
        assert_eq!(rates.map(|text| rate(text).unwrap()), expected);
        let times = ["100ms", "1s", "250", "10us", "1.5ms", "2secs"];
        let expected = [100_000_000, 1_000_000_000, 250_000, 10_000, 1_500_000, 2_000_000_000];
        assert_eq!(times.map(|text| time(text).unwrap()), expected);
        let sizes = ["32kbit", "5kb", "1m", "1540", "32Kb", "3000b"];
        assert_eq!(sizes.map(|text| size(text).unwrap()), [4_096, 5_120, 1_048_576, 1_540, 32_768, 3_000]);
        assert_eq!(["1%", "0.5", "100%"].map(|text| share(text).unwrap()), [0.01, 0.005, 1.0]);
    }

    #[test]
    fn what_is_no_quantity_of_tc_is_refused() {
        for text in ["", "fast", "-1mbit", "10mb", "nan", "inf", "1e9", "50%", "99999999999gbit", "1.2.3"] {
            assert!(rate(text).is_err(), "{text}");
        }
        for text in ["10min", "-5ms", "ms", "1h"] {
            assert!(time(text).is_err(), "{text}");
        }
        assert!(size("1kib").is_err() && share("101%").is_err() && share("1ppm").is_err());
        assert!(packets("1000p") == Ok(1_000) && packets("p").is_err());
        assert!(whole("1.5").is_err() && whole("-1").is_err() && probability("2").is_err());
    }
}
