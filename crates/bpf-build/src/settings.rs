//! The settings of a preset, `parameter=value` as users write them, as C for `bpf/object.bpf.c`.

/// Units: the unit as users write it, the end of the names of such parameters, and the raw value of one unit.
const UNITS: [(&str, &str, &str); 15] = [
    ("pkts", "", "1"),
    ("pkt", "", "1"),
    ("rounds", "", "1"),
    ("round", "", "1"),
    ("ppm", "", "1"),
    ("us", "_us", "1"),
    ("ms", "_us", "1000"),
    ("s", "_us", "1000000"),
    ("B/s", "_Bps", "1"),
    ("kB/s", "_Bps", "1000"),
    ("MB/s", "_Bps", "1000000"),
    ("bit", "_Bps", "0.125"),
    ("kbit", "_Bps", "125"),
    ("mbit", "_Bps", "125000"),
    ("gbit", "_Bps", "125000000"),
];

/// Returns the macro `CC_SETTINGS` for these settings, as in clang's `-D`; the error is the first text that
/// is no setting. The meaning of a number without a unit and of a percentage depends on the parameter, and is
/// left to the C.
pub(crate) fn definition(settings: &str) -> Result<String, &str> {
    let entries: Result<String, &str> =
        settings.split_whitespace().map(|setting| entry(setting).ok_or(setting)).collect();
    Ok(format!("CC_SETTINGS(S)={}", entries?))
}

/// Returns an entry of the macro: `S(name in C, raw value)`.
fn entry(setting: &str) -> Option<String> {
    let (name, value) = setting.split_once('=')?;
    let is_c_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if name.is_empty() || !name.chars().all(is_c_name) {
        return None;
    }
    let raw = match value {
        "on" | "true" => return Some(format!("S({name}, 1)")),
        "off" | "false" => return Some(format!("S({name}, 0)")),
        _ => value,
    };
    let end = raw.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(raw.len());
    let (number, unit) = raw.split_at(end);
    number.parse::<f64>().ok()?;
    match unit {
        "" => Some(format!("S({name}, {number} * CC_ONE({name}))")),
        "%" => Some(format!("S({name}, {number} * CC_ONE_PERCENT({name}))")),
        _ => {
            let (_, suffix, one) = UNITS.iter().find(|(written, ..)| *written == unit)?;
            Some(format!("S({name}{suffix}, {number} * {one})"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_become_raw_numbers_in_c_and_other_texts_are_errors() {
        let settings = "beta=0.7 pacing_margin=0% lt_clock=4ms rate=1mbit lt_bw=off min_cwnd_pkts=4pkts";
        let c = "CC_SETTINGS(S)=S(beta, 0.7 * CC_ONE(beta))\
                 S(pacing_margin, 0 * CC_ONE_PERCENT(pacing_margin))\
                 S(lt_clock_us, 4 * 1000)S(rate_Bps, 1 * 125000)S(lt_bw, 0)S(min_cwnd_pkts, 4 * 1)";
        assert_eq!(definition(settings), Ok(c.to_owned()));
        assert_eq!(definition(""), Ok("CC_SETTINGS(S)=".to_owned()));
        for bad in ["beta", "beta=", "beta=.", "beta=1.2.3", "beta=4parsecs", "be-ta=1", "=1"] {
            assert_eq!(definition(bad), Err(bad));
        }
    }
}
