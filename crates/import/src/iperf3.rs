//! The JSON of iperf3 (`iperf3 --json`), as version 3.1 and later write it at the client or the server.
//!
//! A sender reports goodput as bytes that the application wrote, cwnd in bytes and RTT in microseconds; a
//! receiver reports the bytes that arrived, and nothing else.

use fairpace_results::{RECORD_SCHEMA, Record, RecordFlow, RecordSeries, round};
use fairpace_scenario::Invalid;

use crate::Imported;
use crate::json::{Node, read};
use crate::source::{Part, Source, Warning};

/// Payload of a full packet with an MTU of 1500 and timestamps, bytes.
const MSS: f64 = 1448.0;
/// What is wrong with `--bidir`, and what to do.
const TWO_DIRECTIONS: &str = "two directions in one record cannot be translated";
const ONE_DIRECTION: &str = "measure each direction on its own";

/// Translates the JSON of iperf3 to a record.
pub(crate) fn import(source: Source<'_>, record_name: &str) -> Result<Imported<Record>, Invalid> {
    let first = source.text.lines().next().unwrap_or_default();
    if serde_json::from_str(first).is_ok_and(|value: serde_json::Value| value.get("event").is_some()) {
        let help = "run iperf3 with `--json`, not with `--json-stream`";
        return Err(source.refuse(&Part::new(0..first.len(), "event"), "it is a stream of events", help));
    }
    let value = read(source)?;
    let root = Node::root(source, &value);
    if let Some(error) = root.get("error") {
        let message = format!("iperf3 reports an error: {}", error.value.as_str().unwrap_or("unknown"));
        return Err(error.refuse(message, "repeat the measurement"));
    }
    let start = root.needed("start")?;
    let mut warnings = Vec::new();
    kind(&start, &mut warnings)?;
    let mss = mss(&start, &mut warnings)?;
    let intervals = root.needed("intervals")?;
    // older versions, such as 3.12, do not say `bidir` at the start
    let other_direction = intervals.items().find_map(|interval| interval.get("sum_bidir_reverse"));
    if let Some(other) = other_direction {
        return Err(other.refuse(TWO_DIRECTIONS, ONE_DIRECTION));
    }
    let mut flows = series(&intervals, mss, &mut warnings)?;
    let end = root.get("end");
    totals(end.as_ref(), &mut flows)?;
    let record = Record {
        schema: RECORD_SCHEMA.to_owned(),
        name: record_name.to_owned(),
        tool: start.text_at("version").unwrap_or("iperf3").to_owned(),
        source: source.name.to_owned(),
        flows,
        notes: warnings.iter().map(ToString::to_string).collect(),
    };
    record
        .check()
        .map_err(|wrong| source.refuse_all(format!("the record {wrong}"), "repeat the measurement"))?;
    Ok(Imported { made: record, warnings })
}

/// Checks what was measured: TCP in one direction.
fn kind(start: &Node<'_>, warnings: &mut Vec<Warning>) -> Result<(), Invalid> {
    let Some(test) = start.get("test_start") else { return Ok(()) };
    if let Some(protocol) = test.get("protocol").filter(|protocol| protocol.value != "TCP") {
        let message = format!("{} cannot be translated: a record has TCP flows", protocol.value);
        return Err(protocol.refuse(message, "measure without `-u` and `--sctp`"));
    }
    if test.is_set("bidir") {
        return Err(test.needed("bidir")?.refuse(TWO_DIRECTIONS, ONE_DIRECTION));
    }
    if test.is_set("reverse") {
        let message = "with -R this end receives: the record has no series of RTT, cwnd and retransmissions";
        warnings.push(test.needed("reverse")?.warning(message));
    }
    Ok(())
}

/// Bytes of payload in a packet, in which cwnd is counted.
fn mss(start: &Node<'_>, warnings: &mut Vec<Warning>) -> Result<f64, Invalid> {
    for key in ["tcp_mss", "tcp_mss_default"] {
        if let Some(bytes) = start.number_at(key)?.filter(|bytes| *bytes >= 1.0) {
            return Ok(bytes);
        }
    }
    warnings.push(start.warning(format!("it has no MSS: cwnd is counted in packets of {MSS} bytes")));
    Ok(MSS)
}

/// A stream while its intervals are read.
struct Stream {
    socket: f64,
    end_s: f64,
    flow: RecordFlow,
}

fn series(intervals: &Node<'_>, mss: f64, warnings: &mut Vec<Warning>) -> Result<Vec<RecordFlow>, Invalid> {
    let mut streams: Vec<Stream> = Vec::new();
    let mut omitted = None;
    for interval in intervals.items() {
        for part in interval.needed("streams")?.items() {
            if part.is_set("omitted") {
                omitted.get_or_insert(part);
                continue;
            }
            let socket = part.needed("socket")?.number()?;
            let at = streams.iter().position(|stream| stream.socket == socket).unwrap_or_else(|| {
                let name = format!("stream {}", streams.len() + 1);
                let flow = RecordFlow { name, ..RecordFlow::default() };
                streams.push(Stream { socket, end_s: 0.0, flow });
                streams.len() - 1
            });
            point(&part, mss, &mut streams[at])?;
        }
    }
    if let Some(part) = omitted {
        warnings.push(part.warning("intervals that iperf3 omits (-O) are left out"));
    }
    let mut flows: Vec<RecordFlow> = streams.into_iter().map(|stream| stream.flow).collect();
    if flows.is_empty() {
        return Err(intervals.refuse("there is no interval", "measure with an interval, as in `-i 1`"));
    }
    let is_sender = flows.iter().any(|flow| !all_missing(&flow.series.cwnd_pkts));
    if is_sender {
        let message = "goodput of an interval is what the sender wrote, which fills its buffer at the start";
        warnings.push(intervals.warning(message));
    }
    for series in flows.iter_mut().map(|flow| &mut flow.series) {
        for values in [&mut series.rtt_ms, &mut series.cwnd_pkts, &mut series.retransmits] {
            if all_missing(values) {
                values.clear();
            }
        }
    }
    Ok(flows)
}

fn all_missing(values: &[f32]) -> bool {
    values.iter().all(|value| value.is_nan())
}

/// Adds an interval to a stream.
fn point(part: &Node<'_>, mss: f64, stream: &mut Stream) -> Result<(), Invalid> {
    let (start, end) = (part.needed("start")?, part.needed("end")?);
    let (start_s, end_s) = (start.number()?, end.number()?);
    // two clocks are read at the border of two intervals: they may overlap by some microseconds
    if start_s < stream.end_s - 1e-2 || end_s <= stream.end_s.max(start_s) {
        let message =
            format!("the interval from {start_s} to {end_s} s follows one that ends at {} s", stream.end_s);
        return Err(start.refuse(message, "intervals must be in the order of time"));
    }
    stream.end_s = end_s;
    let RecordSeries { t_s, goodput_mbps, rtt_ms, cwnd_pkts, retransmits } = &mut stream.flow.series;
    t_s.push(round(end_s));
    let value = |number: Option<f64>, scale: f64| number.map_or(f32::NAN, |number| (number * scale) as f32);
    goodput_mbps.push(value(Some(part.needed("bits_per_second")?.number()?), 1e-6));
    rtt_ms.push(value(part.number_at("rtt")?, 1e-3));
    cwnd_pkts.push(value(part.number_at("snd_cwnd")?, 1.0 / mss));
    retransmits.push(value(part.number_at("retransmits")?, 1.0));
    Ok(())
}

/// Adds the values of the whole measurement: of the receiver where it reported, else of the sender.
fn totals(end: Option<&Node<'_>>, flows: &mut [RecordFlow]) -> Result<(), Invalid> {
    let cc = end.and_then(|end| end.text_at("sender_tcp_congestion"));
    for flow in flows.iter_mut() {
        flow.cc = cc.map(str::to_owned);
    }
    let streams: Vec<Node<'_>> =
        end.and_then(|end| end.get("streams")).map_or(Vec::new(), |all| all.items().collect());
    for (flow, stream) in flows.iter_mut().zip(&streams) {
        let (sender, receiver) = (stream.get("sender"), stream.get("receiver"));
        let mean = |of: &Option<Node<'_>>| match of {
            Some(of) => Ok(of.number_at("bits_per_second")?.filter(|bps| *bps > 0.0)),
            None => Ok(None),
        };
        flow.goodput_mbps = mean(&receiver)?.or(mean(&sender)?).map(|bps| bps / 1e6);
        if let Some(sender) = sender {
            flow.retransmits = sender.number_at("retransmits")?.map(|count| count as u64);
            flow.rtt_mean_ms = sender.number_at("mean_rtt")?.filter(|us| *us > 0.0).map(|us| us / 1e3);
        }
    }
    for flow in flows {
        let RecordSeries { t_s, goodput_mbps, .. } = &flow.series;
        flow.goodput_mbps = flow.goodput_mbps.or_else(|| mean_over_time(t_s, goodput_mbps));
    }
    Ok(())
}

/// The mean of a rate over intervals, each of which ends at its time.
fn mean_over_time(t_s: &[f64], values: &[f32]) -> Option<f64> {
    let starts = std::iter::once(0.0).chain(t_s.iter().copied());
    let sum: f64 =
        starts.zip(t_s).zip(values).map(|((from, to), value)| (to - from) * f64::from(*value)).sum();
    t_s.last().map(|end| sum / end).filter(|mean| mean.is_finite())
}
