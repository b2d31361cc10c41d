//! Invalid and extreme values for scenarios and command lines.

use std::fmt::Write as _;

use fairpace_scenario::keys::{Key, Kind};

use super::dice::Dice;

/// Length of a long argument, bytes. Linux permits 128 KiB (MAX_ARG_STRLEN); this length leaves room for a
/// key.
const LONG: usize = 100_000;
/// Depth of nested tables and arrays: deeper than any parser's recursion limit.
const DEPTH: usize = 3_000;

/// A value, as a TOML file and as an argument contain it.
#[derive(Debug, Clone)]
pub(super) struct Value {
    /// Text of the value in a file.
    pub(super) toml: String,
    /// Text of the value after `KEY=`.
    pub(super) plain: String,
}

impl Value {
    fn text(text: impl Into<String>) -> Self {
        let plain = text.into();
        Self { toml: toml_string(&plain), plain }
    }

    fn raw(text: impl Into<String>) -> Self {
        let plain: String = text.into();
        Self { toml: plain.clone(), plain }
    }
}

/// A text as a basic string of TOML.
pub(super) fn toml_string(text: &str) -> String {
    let mut string = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => string.extend(['\\', c]),
            c if c.is_control() => {
                let _ = write!(string, "\\u{:04x}", c as u32); // a String takes everything
            }
            c => string.push(c),
        }
    }
    string.push('"');
    string
}

/// Short texts without a zero byte.
pub(super) const TEXTS: [&str; 72] = [
    "",
    " ",
    "\t",
    "-",
    "--",
    "-1",
    "-1ms",
    "-0",
    "0",
    "0ms",
    "0bit",
    "1",
    "1e400",
    "1e400s",
    "-1e400mbit",
    "1e-400ms",
    "NaN",
    "nan",
    "nanms",
    "inf",
    "-inf",
    "infinity%",
    "18446744073709551615",
    "18446744073709551616",
    "9223372036854775807",
    "99999999999999999999999999ms",
    "99999999999999999999999999gbit",
    "0.00000000000000000000000000000000001s",
    "0x10",
    "0x7fffffffffffffff",
    "1_000ms",
    "1,5ms",
    "1 GB",
    "1mbps",
    "10ms 10ms",
    "+5ms",
    "٣ms",
    "1\u{a0}ms",
    "1.5bdp",
    "-1.5bdp",
    "100%",
    "101%",
    "1e3%",
    "true",
    "null",
    "None",
    "\u{1b}[31mred\u{1b}[0m",
    "\u{1b}]0;pwned\u{7}",
    "\u{7}\u{8}\u{7f}",
    "\u{9b}31m",
    "\u{85}next",
    "a\nb\tc\rd",
    "\u{202e}drawkcab",
    "\u{feff}1ms",
    "e\u{301}\u{301}\u{301}\u{301}",
    "äöü ß 日本語",
    "👩‍👩‍👧‍👦",
    "../../etc/passwd",
    "/dev/zero",
    "/dev/full/x",
    "/proc/self/mem",
    "%s%n%x%d",
    "$(id)`id`",
    "=cmd|' /C calc'!A0",
    "<script>alert(1)</script>",
    "'; DROP TABLE flows; --",
    "{}{0}{:?}",
    "10s 20mbit, 5s 10mbit",
    "10s",
    ", , ,",
    "[[flow]]",
    "\"quoted\"",
];

/// Texts that only a file can contain.
const RAW: [&str; 34] = [
    "",
    "42",
    "-1",
    "0",
    "1.5",
    "9223372036854775807",
    "-9223372036854775808",
    "9223372036854775808",
    "1e400",
    "-1e400",
    "1e-400",
    "nan",
    "-nan",
    "inf",
    "-inf",
    "true",
    "false",
    "[]",
    "[[]]",
    "{}",
    "[1, 2, 3]",
    "[\"1s\", 2, {}, []]",
    "{ a = 1 }",
    "{ a = { a = { a = {} } } }",
    "[{ }, { }]",
    "1979-05-27T07:32:00Z",
    "07:32:00",
    "\"\"\"\nseveral\nlines\"\"\"",
    "'literal \\u0000'",
    "0xdeadbeefdeadbeefdeadbeef",
    "\"unfinished",
    "\"\\u0000\"",
    "\"\\ud800\"",
    "bare",
];

/// Number of values that [`value`] can return.
pub(super) const VALUES: usize = TEXTS.len() + RAW.len() + 14;

/// The value with this number.
pub(super) fn value(number: usize, key: &Key, dice: &mut Dice) -> Value {
    if let Some(text) = TEXTS.get(number) {
        return Value::text(*text);
    }
    let number = number - TEXTS.len();
    if let Some(raw) = RAW.get(number) {
        return Value::raw(*raw);
    }
    match number - RAW.len() {
        0 => Value::text("A".repeat(LONG)),
        1 => Value::text("9".repeat(LONG)),
        2 => Value::text(format!("0.{}1ms", "0".repeat(LONG / 10))),
        3 => Value::text("\u{1b}[2J".repeat(LONG / 100)),
        4 => Value::text("日".repeat(LONG / 10)),
        5 => Value::raw("9".repeat(LONG)),
        6 => Value::raw(format!("{}{}", "[".repeat(DEPTH), "]".repeat(DEPTH))),
        7 => Value::raw(format!("{}1{}", "{ a = ".repeat(DEPTH), " }".repeat(DEPTH))),
        8 => Value::raw(format!("[{}]", "\"1s\", ".repeat(LONG / 10))),
        9 => Value::raw(format!("[{}]", "{}, ".repeat(LONG / 20))),
        10 => Value::text("10s 5mbit, ".repeat(LONG / 20)),
        11 => of_range(key, key.least, false),
        12 => of_range(key, key.most, false),
        _ => of_range(key, if dice.percent(50) { key.most } else { key.least }, true),
    }
}

/// An end of the key's range, or a value beyond that end.
fn of_range(key: &Key, end: u64, beyond: bool) -> Value {
    let end = match (beyond, end == key.most) {
        // a day of simulated time does not end in ten seconds of real time
        (false, true) if key.name == "duration" => 1_000_000_000,
        (false, _) => end,
        (true, true) => end.saturating_add(1),
        (true, false) => end.saturating_sub(1),
    };
    match key.kind {
        Kind::Integer | Kind::BurstLength => Value::raw(end.to_string()),
        Kind::Bool => Value::raw("1"),
        Kind::Choice(words) => Value::text(words[words.len() - 1].to_uppercase()),
        Kind::Text | Kind::Trace | Kind::TimeTable(_) | Kind::Sizes | Kind::Algorithm => {
            Value::text("n".repeat((end as usize).min(LONG)))
        }
        Kind::Links => Value::raw(format!("[{}]", "\"bottleneck\", ".repeat((end as usize).min(1_000)))),
        Kind::Drops => {
            let entries =
                (1..=end.min(2_000)).map(|n| format!("\"data {n}{}\"", ["", " twice"][n as usize % 2]));
            Value::raw(format!("[{}]", entries.collect::<Vec<_>>().join(", ")))
        }
        Kind::Parameters => Value::raw("{ alpha = \"3ms\" }"),
        Kind::Steps(_) => Value::text(format!("50ms {}", key.show(end))),
        Kind::Quantity(_) | Kind::Buffer | Kind::Limit => Value::text(key.show(end)),
    }
}

/// A text for an argument: without a zero byte, and not longer than Linux permits.
pub(super) fn argument(dice: &mut Dice) -> String {
    const NUMBERS: [&str; 12] = [
        "0",
        "1",
        "-1",
        "2147483647",
        "2147483648",
        "4294967296",
        "9223372036854775807",
        "9223372036854775808",
        "18446744073709551615",
        "340282366920938463463374607431768211456",
        "1e9",
        "0x10",
    ];
    match dice.below(20) {
        0 => "A".repeat(LONG),
        1 => "1,".repeat(LONG / 10),
        2 => "\u{1b}[2J".repeat(1_000),
        3..=8 => (*dice.pick(&NUMBERS)).to_owned(),
        _ => (*dice.pick(&TEXTS)).to_owned(),
    }
}
