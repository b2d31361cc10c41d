//! A table of a rate over time, as CSV. The header names the columns of times and rates with their units:
//! `time_s,rate_mbit`, `t [ms];bandwidth [kbit/s]`.

use std::time::Duration;

use fairpace_scenario::Invalid;
use fairpace_scenario::quantity::{Dimension, show, show_time};

use crate::draft::{Draft, Entry};
use crate::source::{Part, Source, Warning};
use crate::{Imported, Options};

/// RTT of the flow: the default of `fairpace compare`.
const RTT: Duration = Duration::from_millis(40);
/// Nanoseconds in a millisecond.
const MS: u64 = 1_000_000;
/// Words that name a column of times, and a column of rates.
const TIME_WORDS: [&str; 7] = ["time", "t", "timestamp", "at", "elapsed", "seconds", "ms"];
const RATE_WORDS: [&str; 8] =
    ["rate", "bandwidth", "bw", "throughput", "capacity", "bitrate", "speed", "goodput"];
/// Units of times, ns.
const TIME_UNITS: [(&str, f64); 12] = [
    ("s", 1e9),
    ("sec", 1e9),
    ("secs", 1e9),
    ("second", 1e9),
    ("seconds", 1e9),
    ("ms", 1e6),
    ("msec", 1e6),
    ("milliseconds", 1e6),
    ("us", 1e3),
    ("usec", 1e3),
    ("microseconds", 1e3),
    ("ns", 1.0),
];
/// Words of columns whose unit is one of time, and which are no times of rows.
const OTHER_WORDS: [&str; 6] = ["rtt", "delay", "latency", "jitter", "ping", "duration"];
/// Units of rates, bits per second. The first letter of bytes is a capital B, as in MBps. Without another
/// case `kb` and `mb` may mean either.
const RATE_UNITS: [(&str, f64); 19] = [
    ("bit", 1.0),
    ("bits", 1.0),
    ("bps", 1.0),
    ("kbit", 1e3),
    ("kbps", 1e3),
    ("mbit", 1e6),
    ("mbits", 1e6),
    ("mbps", 1e6),
    ("gbit", 1e9),
    ("gbps", 1e9),
    ("kbits", 1e3),
    ("gbits", 1e9),
    ("byte", 8.0),
    ("bytes", 8.0),
    ("kb", 0.0),
    ("mb", 0.0),
    ("gb", 0.0),
    ("kib", 0.0),
    ("mib", 0.0),
];
/// Units of rates whose meaning depends on the case of their letters, bits per second.
const CASED_UNITS: [(&str, f64); 11] = [
    ("B", 8.0),
    ("kB", 8e3),
    ("KB", 8e3),
    ("MB", 8e6),
    ("GB", 8e9),
    ("KiB", 8.0 * 1024.0),
    ("MiB", 8.0 * 1_048_576.0),
    ("GiB", 8.0 * 1_073_741_824.0),
    ("Kb", 1e3),
    ("Mb", 1e6),
    ("Gb", 1e9),
];

/// A column: its index, its name, and the factor to ns or bits per second.
struct Column {
    index: usize,
    name: String,
    factor: f64,
}

/// A row: its line, its time in ns, its rate in bits per second.
struct Row {
    line: u64,
    ns: u64,
    bps: u64,
}

/// Translates a table to a scenario.
pub(crate) fn import(source: Source<'_>, options: &Options) -> Result<Imported<String>, Invalid> {
    let lines: Vec<&str> = source.text.lines().collect();
    let (_, first) = header_line(source);
    let delimiter = [b'\t', b';', b','].into_iter().find(|c| first.as_bytes().contains(c)).unwrap_or(b',');
    let mut reader = csv::ReaderBuilder::new()
        .delimiter(delimiter)
        .comment(Some(b'#'))
        .trim(csv::Trim::All)
        .from_reader(source.text.as_bytes());
    let mut warnings = Vec::new();
    let header = reader.headers().cloned().map_err(|error| wrong(source, &error))?;
    let [time, rate] = columns(source, &header, &mut warnings)?;
    let mut rows: Vec<Row> = Vec::new();
    let mut origin = None;
    for record in reader.records() {
        let record = record.map_err(|error| wrong(source, &error))?;
        // the reader counts comments and empty lines before a record to the record
        let line = record.position().map_or(0, csv::Position::line);
        let skipped = lines.iter().skip((line as usize).saturating_sub(1)).take_while(|line| !is_row(line));
        let line = line + skipped.count() as u64;
        let at = value(source, line, &record, &time)?;
        let ns = since(*origin.get_or_insert(at), at, time.factor);
        let bps = (value(source, line, &record, &rate)? * rate.factor).round() as u64;
        if let Some(last) = rows.last().filter(|last| last.ns >= ns) {
            let [before, now] = [last.ns, ns].map(|ns| show(ns, Dimension::Time));
            let part = part(source, line, &time.name);
            return Err(source.refuse(
                &part,
                format!("the time {now} follows {before}"),
                "sort the rows by time",
            ));
        }
        rows.push(Row { line, ns, bps });
    }
    scenario(source, rows, [time, rate], warnings, options)
}

/// The number and the text of the line of the header. Comments and empty lines may precede it.
fn header_line(source: Source<'_>) -> (u64, &str) {
    (1..).zip(source.text.lines()).find(|(_, line)| is_row(line)).unwrap_or((1, ""))
}

/// Whether a line is neither empty nor a comment.
fn is_row(line: &str) -> bool {
    !line.trim().is_empty() && !line.starts_with('#')
}

/// The line `line` of the input, as a part that is named by its column.
fn part(source: Source<'_>, line: u64, column: &str) -> Part {
    let start = source.offset(usize::try_from(line).unwrap_or(usize::MAX), 1);
    let length = source.text[start..].find('\n').unwrap_or(source.text.len() - start);
    Part::new(start..start + length, column)
}

fn wrong(source: Source<'_>, error: &csv::Error) -> Invalid {
    let line = error.position().map_or(1, csv::Position::line);
    source.refuse(&part(source, line, ""), format!("it is no table: {error}"), "write a value in each column")
}

/// The time `at` of a row in ns. Of a time since 1970 the number has fewer digits than that: they are rounded
/// in the distance to the first row, whose time is `origin`.
fn since(origin: f64, at: f64, factor: f64) -> u64 {
    let step = |of: f64| 10f64.powf((of * f64::EPSILON * factor).max(1.0).log10().ceil());
    let steps = |time: f64, step: f64| (time * factor / step).round() as i64 * step as i64;
    let ns = steps(origin, step(origin)) + steps(at - origin, step(at));
    u64::try_from(ns).unwrap_or(0)
}

/// A number that is not negative.
fn value(source: Source<'_>, line: u64, record: &csv::StringRecord, of: &Column) -> Result<f64, Invalid> {
    let text = record.get(of.index).unwrap_or_default();
    let help = match text.contains(',') {
        true => "write a decimal point, and no comma within a number",
        false => "write a number that is not negative",
    };
    let refuse = |message: String| Err(source.refuse(&part(source, line, &of.name), message, help));
    match text.parse::<f64>() {
        Ok(number) if number.is_nan() || number.is_infinite() => refuse(format!("\"{text}\" is no number")),
        Ok(number) if number < 0.0 => refuse(format!("{text} is negative")),
        // rates beyond that are out of the range of every key, and times are after the year 2250
        Ok(number) if number * of.factor > 9e18 => refuse(format!("{text} is too large")),
        Ok(number) => Ok(number),
        Err(_) if text.is_empty() => refuse("the value is missing".to_owned()),
        Err(_) => refuse(format!("\"{text}\" is no number")),
    }
}

/// The words of a column's name, in lower case: "Rate [Mbit/s]" is rate, mbit, s.
fn words(name: &str) -> Vec<String> {
    let words = name.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect()
}

/// The unit of a name: the last word that is one.
fn unit(words: &[String], units: &[(&str, f64)]) -> Option<f64> {
    words.iter().rev().find_map(|word| units.iter().find(|(name, _)| name == word)).map(|(_, factor)| *factor)
}

/// The columns of times and rates.
fn columns(
    source: Source<'_>,
    header: &csv::StringRecord,
    warnings: &mut Vec<Warning>,
) -> Result<[Column; 2], Invalid> {
    let first = part(source, header_line(source).0, "");
    if header.len() == 1 && !header[0].is_empty() {
        let help = "separate the columns by commas, semicolons or tabs";
        return Err(source.refuse(&first, "the header has one column", help));
    }
    let has = |name: &str, of: &[&str]| words(name).iter().any(|word| of.contains(&word.as_str()));
    let is_rate = |name: &str| has(name, &RATE_WORDS) || unit(&words(name), &RATE_UNITS).is_some();
    let is_time = |name: &str| has(name, &TIME_WORDS) && !is_rate(name) && !has(name, &OTHER_WORDS);
    let find = |what: &str, is: &dyn Fn(&str) -> bool, example: &str| {
        let found: Vec<(usize, &str)> = header.iter().enumerate().filter(|(_, name)| is(name)).collect();
        match found[..] {
            [(index, name)] => Ok((index, name.to_owned())),
            [] => {
                let message = format!("the header names no column of {what}");
                Err(source.refuse(&first, message, format!("name one with its unit, as in `{example}`")))
            }
            [(_, one), (_, other), ..] => {
                let message = format!("the header names two columns of {what}: \"{one}\" and \"{other}\"");
                Err(source.refuse(&first, message, "leave one of them"))
            }
        }
    };
    let (at_time, time) = find("times", &is_time, "time_s")?;
    let (at_rate, rate) = find("rates", &is_rate, "rate_mbit")?;
    let refuse = |name: &str, what: &str, help: &str| {
        let part = Part::new(first.span.clone(), name);
        Err(source.refuse(&part, format!("the header says no unit of {what} that is known"), help))
    };
    let Some(time_factor) = unit(&words(&time), &TIME_UNITS) else {
        return refuse(&time, "times", "write s, ms, us or ns into the name, as in `time_s`");
    };
    let mut rate_factor = unit(&words(&rate), &RATE_UNITS).unwrap_or(0.0);
    let cased = rate.split(|c: char| !c.is_alphanumeric()).find_map(|word| {
        let unit = word.strip_suffix("ps").unwrap_or(word);
        CASED_UNITS.into_iter().find(|(of, _)| *of == unit)
    });
    if let Some((_, factor)) = cased {
        rate_factor = factor;
    }
    let is_bytes = cased.is_some_and(|(unit, _)| unit.ends_with('B'));
    if rate_factor == 0.0 {
        return refuse(&rate, "rates", "write bit, kbit, mbit or gbit into the name, as in `rate_mbit`");
    }
    if !is_bytes && words(&rate).iter().any(|word| word.len() == 4 && word.ends_with("bps")) {
        let part = Part::new(first.span.clone(), &rate);
        warnings.push(source.warning(&part, "it is read as bits per second; tc means bytes by it"));
    }
    for (index, name) in header.iter().enumerate().filter(|(index, _)| ![at_time, at_rate].contains(index)) {
        let name = if name.is_empty() { format!("column {}", index + 1) } else { name.to_owned() };
        let part = Part::new(first.span.clone(), name);
        warnings.push(source.warning(&part, "the column is left out: it is neither a time nor a rate"));
    }
    let time = Column { index: at_time, name: time, factor: time_factor };
    Ok([time, Column { index: at_rate, name: rate, factor: rate_factor }])
}

fn scenario(
    source: Source<'_>,
    rows: Vec<Row>,
    [time, rate]: [Column; 2],
    mut warnings: Vec<Warning>,
    options: &Options,
) -> Result<Imported<String>, Invalid> {
    let (Some(first), Some(last)) = (rows.first(), rows.last()) else {
        return Err(source.refuse_all("the table has no row", "add a row for each rate"));
    };
    let Some(start) = rows.iter().find(|row| row.bps > 0) else {
        return Err(source.refuse(
            &part(source, first.line, &rate.name),
            "all rates are 0",
            "add a row with a rate",
        ));
    };
    if first.ns > 0 {
        let message =
            format!("times are counted from the first row, which is at {}", show(first.ns, Dimension::Time));
        warnings.push(source.warning(&part(source, first.line, &time.name), message));
    }
    if first.bps == 0 {
        let message = "a run cannot begin with an outage: this one begins after 1us";
        warnings.push(source.warning(&part(source, first.line, &rate.name), message));
    }
    // the last rate holds as long as a row does on average
    let span = last.ns - first.ns;
    let row_ns = if rows.len() > 1 { span / (rows.len() as u64 - 1) } else { 60_000_000_000 };
    let mut steps = Vec::new();
    let mut now = start.bps;
    for row in &rows {
        if row.bps != now {
            let at = (row.ns - first.ns).max(1_000);
            steps.push(format!("{} {}", show(at, Dimension::Time), show(row.bps, Dimension::Rate)));
            now = row.bps;
        }
    }
    let lines = format!("lines {} to {}: {}", first.line, last.line, rate.name);
    let mut link = vec![Entry::text("name", "bottleneck", "")];
    link.push(Entry::rate("rate", start.bps, format!("line {}", start.line)));
    if !steps.is_empty() {
        link.push(Entry::text("rate_at", steps.join(", "), lines));
    }
    let rtt = options.rtt.unwrap_or(RTT);
    let buffer = options.buffer.clone().unwrap_or_else(|| bdp(&rows, row_ns, rtt));
    let from = if options.buffer.is_some() { "--buffer" } else { "the mean rate times the RTT" };
    link.push(Entry::text("buffer", buffer, from));
    let from = if options.rtt.is_some() { "--rtt" } else { "the table has no RTT" };
    let flow = vec![Entry::text("rtt", show_time(rtt), from)];
    let length_ns = span.saturating_add(row_ns);
    // a mean of rows may have any number of decimals
    let length_ns = if length_ns > MS { length_ns - length_ns % MS } else { length_ns };
    let length = Duration::from_nanos(length_ns);
    let duration = Some((length, format!("to line {}, and as long as a row", last.line)));
    let assumptions = vec![format!("Each rate of \"{}\" holds from its time to the next row.", rate.name)];
    Draft { source, tool: "csv", assumptions, warnings, duration, links: vec![link], flow }.finish(options)
}

/// The bytes of the mean rate times the RTT, at least ten full packets.
fn bdp(rows: &[Row], row_ns: u64, rtt: Duration) -> String {
    let ends = rows.iter().skip(1).map(|row| row.ns);
    let lengths = rows.iter().zip(ends).map(|(row, end)| (row.bps, end - row.ns));
    let all: Vec<(u64, u64)> = lengths.chain(rows.last().map(|row| (row.bps, row_ns))).collect();
    let bit_ns: f64 = all.iter().map(|(bps, ns)| *bps as f64 * *ns as f64).sum();
    let length: f64 = all.iter().map(|(_, ns)| *ns as f64).sum();
    let bytes = bit_ns / length.max(1.0) * rtt.as_secs_f64() / 8.0;
    format!("{}B", (bytes.round() as u64).clamp(15_140, 16_000_000_000))
}
