//! Data files of flent (`.flent`, `.flent.gz`), format 3 and 4: JSON with a common grid of times and a series
//! of each flow or ping. Rates are Mbit/s, and pings are ms.

use std::io::Read as _;

use fairpace_results::{RECORD_SCHEMA, Record, RecordFlow, RecordSeries, round};
use fairpace_scenario::{Invalid, Problem};

use crate::Imported;
use crate::json::{Node, read};
use crate::source::{Source, Warning};

/// Most bytes of an uncompressed file: an hour of a hundred series in steps of 200 ms has 36 MB.
const MOST_BYTES: u64 = 256 << 20;
/// The first bytes of a file that gzip has compressed.
const GZIP: [u8; 2] = [0x1f, 0x8b];
/// The newest format that is known.
const NEWEST: f64 = 4.0;

/// The text of a file, which may be compressed.
pub(crate) fn text(name: &str, bytes: &[u8]) -> Result<String, Invalid> {
    let refuse = |message: String, help: &str| {
        let problem = Problem::of("import", "not-translated", "", message, help);
        Err(Invalid { problems: vec![problem.in_file(name)] })
    };
    let mut plain = Vec::new();
    let read = match bytes.starts_with(&GZIP) {
        true => flate2::read::GzDecoder::new(bytes).take(MOST_BYTES + 1).read_to_end(&mut plain),
        false => bytes.take(MOST_BYTES + 1).read_to_end(&mut plain),
    };
    if let Err(error) = read {
        return refuse(
            format!("it cannot be decompressed, perhaps because it is truncated: {error}"),
            "copy the file in full",
        );
    }
    if plain.len() as u64 > MOST_BYTES {
        return refuse(format!("it is larger than {} MiB", MOST_BYTES >> 20), "measure for a shorter time");
    }
    match String::from_utf8(plain) {
        Ok(text) => Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text)),
        Err(_) => refuse(
            "it is neither text nor compressed by gzip".to_owned(),
            "name the file that the tool wrote, and save it as UTF-8",
        ),
    }
}

/// Translates a data file of flent to a record.
pub(crate) fn import(source: Source<'_>, record_name: &str) -> Result<Imported<Record>, Invalid> {
    let value = read(source)?;
    let root = Node::root(source, &value);
    let mut warnings = Vec::new();
    if let Some(version) = root.get("version")
        && version.number()? > NEWEST
    {
        warnings.push(version.warning(format!("the format is newer than the known format {NEWEST}")));
    }
    let t_s = times(&root.needed("x_values")?)?;
    let results = root.needed("results")?;
    let flows = flows(&results, &t_s, &mut warnings)?;
    if flows.is_empty() {
        return Err(results.refuse(
            "it has neither TCP flows nor pings",
            "measure with a test such as `rrul` or `tcp_upload`",
        ));
    }
    let metadata = root.get("metadata");
    let program = metadata.as_ref().and_then(|of| of.text_at("FLENT_VERSION"));
    let record = Record {
        schema: RECORD_SCHEMA.to_owned(),
        name: record_name.to_owned(),
        tool: program.map_or_else(|| "flent".to_owned(), |version| format!("flent {version}")),
        source: source.name.to_owned(),
        flows,
        notes: warnings.iter().map(ToString::to_string).collect(),
    };
    record
        .check()
        .map_err(|wrong| source.refuse_all(format!("the record {wrong}"), "repeat the measurement"))?;
    Ok(Imported { made: record, warnings })
}

fn times(x_values: &Node<'_>) -> Result<Vec<f64>, Invalid> {
    let mut t_s: Vec<f64> = Vec::new();
    for item in x_values.items() {
        let time = round(item.number()?);
        if let Some(last) = t_s.last().filter(|last| **last >= time) {
            let message = format!("the time {time} s follows {last} s");
            return Err(item.refuse(message, "times must grow"));
        }
        t_s.push(time);
    }
    if t_s.is_empty() {
        return Err(x_values.refuse("there is no time", "name a data file of one test"));
    }
    Ok(t_s)
}

/// The quantity of a series, by its name.
enum Quantity {
    Goodput,
    Ping,
    /// cwnd or RTT of the flow whose name precedes `::`.
    OfSocket,
    Other,
}

fn quantity(name: &str) -> Quantity {
    // tests with N streams count them, as in "TCP upload::2" and "TCP upload::2::tcp_cwnd"
    let is_count = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    match name.rsplit_once("::") {
        Some((_, "tcp_cwnd" | "tcp_rtt")) => return Quantity::OfSocket,
        Some((_, last)) if !is_count(last) => return Quantity::Other,
        _ => {}
    }
    // what flent computes of other series
    if ["avg", "sum", "totals", "mean", "fairness"].iter().any(|word| name.ends_with(word)) {
        return Quantity::Other;
    }
    match name {
        _ if name.starts_with("TCP ") => Quantity::Goodput,
        _ if name.starts_with("Ping (ms)") => Quantity::Ping,
        _ => Quantity::Other,
    }
}

fn flows(results: &Node<'_>, t_s: &[f64], warnings: &mut Vec<Warning>) -> Result<Vec<RecordFlow>, Invalid> {
    let names: Vec<&String> = results.value.as_object().map_or(Vec::new(), |of| of.keys().collect());
    let mut flows = Vec::new();
    for name in &names {
        let Some(node) = results.get(name) else { continue };
        let mut series = RecordSeries { t_s: t_s.to_vec(), ..RecordSeries::default() };
        match quantity(name) {
            Quantity::Goodput => {
                series.goodput_mbps = values(&node, t_s.len())?;
                for (what, into) in [("tcp_rtt", &mut series.rtt_ms), ("tcp_cwnd", &mut series.cwnd_pkts)] {
                    if let Some(of) = results.get(&format!("{name}::{what}")) {
                        *into = values(&of, t_s.len())?;
                    }
                }
            }
            Quantity::Ping => series.rtt_ms = values(&node, t_s.len())?,
            Quantity::OfSocket => {
                let flow = name.rsplit_once("::").map_or("", |(flow, _)| flow);
                if !names.iter().any(|other| *other == flow) {
                    warnings.push(node.warning("it is left out: the flow that it belongs to has no series"));
                }
                continue;
            }
            Quantity::Other => {
                warnings.push(node.warning("it is left out: it is neither a TCP flow nor a ping"));
                continue;
            }
        }
        let (goodput_mbps, rtt_mean_ms) = (mean(&series.goodput_mbps), mean(&series.rtt_ms));
        let cc = None;
        flows.push(RecordFlow {
            name: (*name).clone(),
            cc,
            goodput_mbps,
            rtt_mean_ms,
            retransmits: None,
            series,
        });
    }
    Ok(flows)
}

/// The values of a series; `null` is a missing value.
fn values(series: &Node<'_>, points: usize) -> Result<Vec<f32>, Invalid> {
    let mut values = Vec::new();
    for item in series.items() {
        values.push(if item.value.is_null() { f32::NAN } else { item.number()? as f32 });
    }
    if values.len() != points {
        let message = format!("it has {} values for {points} times", values.len());
        return Err(series.refuse(message, "copy the file in full"));
    }
    Ok(values)
}

/// The mean of the values that are not missing.
fn mean(values: &[f32]) -> Option<f64> {
    let present: Vec<f64> = values.iter().filter(|x| !x.is_nan()).map(|x| f64::from(*x)).collect();
    (!present.is_empty()).then(|| present.iter().sum::<f64>() / present.len() as f64)
}
