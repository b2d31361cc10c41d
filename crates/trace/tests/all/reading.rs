//! Traces are read back with independent readers.

use std::fs::{self, File};
use std::path::Path;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, UInt32Type};
use arrow_array::{Array, RecordBatch};
use fairpace_results::observer::{
    Ack, ConnectionId, Content, EcnField, LinkEvent, Observer, Packet, SenderState,
};
use fairpace_results::{
    Cost, FlowSeries, FlowSummary, LinkSeries, LinkSummary, Run, ScenarioId, Series, Summary,
};
use fairpace_trace::{Error, FlowInfo, MOST_QLOGS, RunInfo, TraceConfig, Traces};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use pcap_file::pcapng::{Block, PcapNgReader};
use serde_json::Value;

/// Nanoseconds.
const MS: u64 = 1_000_000;

fn run_info() -> RunInfo {
    let flow = |name: &str| FlowInfo {
        name: name.into(),
        cc: "bbr1".into(),
        route: vec![0],
        back: vec![],
        ecn: false,
        accurate_ecn: false,
        is_workload: false,
        mss_bytes: 1448,
    };
    RunInfo {
        title: "a title".into(),
        hash: "00ff".into(),
        seed: 7,
        commit: "0123abc".into(),
        flows: vec![flow("10 ms"), flow("50 ms")],
        links: vec!["bottleneck".into(), "way/back".into()],
        phases: vec!["STARTUP", "DRAIN"],
    }
}

fn run() -> Run {
    let flow = |name: &str| FlowSummary { name: name.into(), cc: "bbr1".into(), ..FlowSummary::default() };
    let series = |x: f32| FlowSeries {
        goodput_mbps: vec![x, f32::NAN],
        rtt_ms: vec![x, x],
        cwnd_pkts: vec![x, x],
        inflight_pkts: vec![x, x],
        pacing_mbps: vec![x, x],
        bw_mbps: vec![x, x],
        min_rtt_ms: vec![x, x],
        pacing_gain: vec![x, x],
        phase: vec![1, -1],
        completion_ms: vec![],
    };
    let link = LinkSummary { name: "bottleneck".into(), ..LinkSummary::default() };
    let link_series = LinkSeries {
        queue_delay_ms: vec![1.5, f32::NAN],
        backlog_kb: vec![vec![1.0, 2.0], vec![3.0, 4.0]],
        drops: vec![0, 9],
    };
    Run {
        summary: Summary {
            schema: String::new(),
            on: "sim".into(),
            commit: String::new(),
            seed: 7,
            scenario: ScenarioId { title: String::new(), hash: String::new() },
            window_s: [0.0, 1.0],
            flows: vec![flow("10 ms"), flow("50 ms")],
            links: vec![link],
            jain: None,
            convergence_s: None,
            max_min_distance: None,
            cost: Cost { wall_s: 0.0, cpu_s: 0.0, data_packets: 0 },
        },
        series: Series {
            t_s: vec![0.1, 0.2],
            flows: vec![series(1.0), series(2.0)],
            links: vec![link_series],
        },
        notes: vec![],
    }
}

fn read(path: &Path) -> (RecordBatch, Vec<(String, Option<String>)>) {
    let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(path).unwrap()).unwrap();
    let metadata = reader.metadata().file_metadata().key_value_metadata().cloned().unwrap_or_default();
    let metadata = metadata.into_iter().map(|entry| (entry.key, entry.value)).collect();
    let batches: Vec<_> = reader.build().unwrap().map(Result::unwrap).collect();
    let schema = batches[0].schema();
    (arrow_select::concat::concat_batches(&schema, &batches).unwrap(), metadata)
}

fn texts(batch: &RecordBatch, column: &str) -> Vec<Option<String>> {
    let array = batch.column_by_name(column).unwrap().as_string::<i32>();
    array.iter().map(|text| text.map(str::to_owned)).collect()
}

fn packet(seq: u64, sent_ns: u64) -> Packet {
    let content = Content::Data { seq, cwr: false, push: false };
    Packet { connection: ConnectionId::default(), bytes: 1514, ecn: EcnField::NotEct, sent_ns, content }
}

/// A handshake, a packet that is dropped, one that is not and its ACK.
fn drive(traces: &mut Traces) {
    let connection = ConnectionId::default();
    let syn = Packet { bytes: 74, content: Content::Syn, ..packet(0, 0) };
    traces.packet(0, 0, LinkEvent::Enqueued, &syn);
    traces.ack(10 * MS, connection, &Ack { syn: true, rwnd_pkts: u64::MAX, ..Ack::default() });
    let state = SenderState { phase: 0, cwnd_pkts: 10, ssthresh_pkts: u32::MAX, ..SenderState::default() };
    traces.sender(10 * MS, connection, || state);
    traces.packet(11 * MS, 0, LinkEvent::Enqueued, &packet(0, 11 * MS));
    traces.packet(12 * MS, 0, LinkEvent::Refused, &packet(1, 12 * MS));
    traces.packet(12 * MS, 1, LinkEvent::Enqueued, &packet(0, 11 * MS));
    traces.packet(13 * MS, 0, LinkEvent::Departed, &packet(0, 11 * MS));
    let ack = Ack { next: 1, echo_ms: 11, rwnd_pkts: u64::MAX, ..Ack::default() };
    traces.ack(21 * MS, connection, &ack);
    let later = SenderState { phase: 1, ca_state: 3, cwnd_pkts: 9, timeouts: 1, ..state };
    traces.sender(21 * MS, connection, || later);
    traces.sender(22 * MS, connection, || later);
    traces.completed(30 * MS, connection, 1448, 30 * MS);
}

fn everything(dir: &Path) {
    let config = TraceConfig { series: true, events: true, qlog: true, captures: vec![0, 1] };
    let mut traces = Traces::create(dir, &config, run_info()).unwrap();
    drive(&mut traces);
    traces.finish(&run()).unwrap();
}

#[test]
fn series_are_parquet_in_long_form_with_gaps_and_the_runs_identity() {
    let dir = tempfile::tempdir().unwrap();
    everything(dir.path());
    let (flows, metadata) = read(&dir.path().join("flows.parquet"));
    assert_eq!(flows.num_rows(), 4);
    assert_eq!(texts(&flows, "flow")[2].as_deref(), Some("50 ms"));
    let goodput = flows.column_by_name("goodput_mbps").unwrap();
    assert!(goodput.is_null(1) && !goodput.is_null(2));
    assert_eq!(texts(&flows, "phase"), [Some("DRAIN".to_owned()), None, Some("DRAIN".to_owned()), None]);
    for (key, value) in [("commit", "0123abc"), ("seed", "7"), ("scenario.hash", "00ff")] {
        let entry = (format!("fairpace.{key}"), Some(value.to_owned()));
        assert!(metadata.contains(&entry), "{entry:?} is not in {metadata:?}");
    }
    let (links, _) = read(&dir.path().join("links.parquet"));
    assert_eq!(links.column_by_name("dropped_pkts").unwrap().as_primitive::<UInt32Type>().values(), &[0, 9]);
    let backlog = links.column_by_name("backlog_kb").unwrap();
    assert_eq!(backlog.as_primitive::<arrow_array::types::Float32Type>().values(), &[4.0, 6.0]);
    let (backlog, _) = read(&dir.path().join("backlog.parquet"));
    assert_eq!(backlog.num_rows(), 4);
}

#[test]
fn each_event_has_one_row() {
    let dir = tempfile::tempdir().unwrap();
    everything(dir.path());
    let (events, _) = read(&dir.path().join("events.parquet"));
    let names: Vec<_> = texts(&events, "event").into_iter().flatten().collect();
    assert_eq!(names, ["phase", "refused", "phase", "recovery", "timeout", "completed"]);
    let [from, to] = ["from", "to"].map(|column| texts(&events, column));
    assert_eq!((from[2].as_deref(), to[2].as_deref()), (Some("STARTUP"), Some("DRAIN")));
    assert_eq!((from[3].as_deref(), to[3].as_deref()), (Some("open"), Some("recovery")));
    assert_eq!(texts(&events, "link")[1].as_deref(), Some("bottleneck"));
    let values = events.column_by_name("value").unwrap().as_primitive::<Float64Type>();
    assert_eq!((values.value(1), values.value(5)), (1.0, 0.03));
    let times = events.column_by_name("t_s").unwrap().as_primitive::<Float64Type>();
    assert_eq!(times.value(0), 0.01);
}

#[test]
fn a_connection_that_continues_after_a_transfer_is_not_a_new_one() {
    let dir = tempfile::tempdir().unwrap();
    let config = TraceConfig { events: true, qlog: true, ..TraceConfig::default() };
    let mut traces = Traces::create(dir.path(), &config, run_info()).unwrap();
    let connection = ConnectionId::default();
    let state = SenderState { phase: 0, timeouts: 1, ..SenderState::default() };
    // the end of the transfer is reported first, when the packet is sent
    traces.completed(5 * MS, connection, 1448, 5 * MS);
    for at in 1..4 {
        traces.sender(at * MS, connection, || state);
    }
    traces.finish(&run()).unwrap();
    let (events, _) = read(&dir.path().join("events.parquet"));
    let names: Vec<_> = texts(&events, "event").into_iter().flatten().collect();
    assert_eq!(names, ["phase", "timeout", "completed"], "in order of time");
    let qlog = fs::read(dir.path().join("10_ms.sqlog")).unwrap();
    assert_eq!(qlog.iter().filter(|byte| **byte == 0x1e).count(), 3, "a header, the state, the metrics");
}

#[test]
fn a_capture_has_headers_times_lengths_and_comments_on_drops() {
    let dir = tempfile::tempdir().unwrap();
    everything(dir.path());
    let mut reader = PcapNgReader::new(File::open(dir.path().join("bottleneck.pcapng")).unwrap()).unwrap();
    let mut packets = Vec::new();
    while let Some(block) = reader.next_block() {
        if let Block::EnhancedPacket(packet) = block.unwrap() {
            packets.push((
                packet.timestamp.as_nanos() as u64 / MS,
                packet.data.len(),
                packet.original_len,
                packet.options.len(),
            ));
        }
    }
    let config = [(0, 74, 74, 0), (10, 74, 74, 0), (11, 66, 1514, 0), (12, 66, 1514, 1), (21, 66, 66, 0)];
    assert_eq!(packets, config);
    let interface = &reader.interfaces()[0];
    assert_eq!((interface.snaplen, u32::from(interface.linktype)), (94, 1));
    assert!(dir.path().join("way_back.pcapng").exists());
}

#[test]
fn qlog_is_a_json_text_sequence_of_what_changed() {
    let dir = tempfile::tempdir().unwrap();
    everything(dir.path());
    let bytes = fs::read(dir.path().join("10_ms.sqlog")).unwrap();
    let records: Vec<Value> = bytes
        .split(|byte| *byte == 0x1e)
        .skip(1)
        .map(|record| serde_json::from_slice(record.strip_suffix(b"\n").unwrap()).unwrap())
        .collect();
    assert_eq!(
        (records[0]["qlog_version"].as_str(), records[0]["qlog_format"].as_str()),
        (Some("0.3"), Some("JSON-SEQ"))
    );
    let names: Vec<_> = records[1..].iter().map(|record| record["name"].as_str().unwrap()).collect();
    let [state, metrics] = ["recovery:congestion_state_updated", "recovery:metrics_updated"];
    assert_eq!(names, [state, metrics, state, metrics]);
    assert_eq!(records[1]["data"]["new"], "startup");
    assert_eq!(records[2]["data"]["congestion_window"], 14_480);
    assert_eq!(records[2]["time"], 10.0);
    assert_eq!(records[3]["data"]["old"], "startup");
    assert_eq!(records[3]["data"]["recovery_state"], "recovery");
    assert_eq!(records[4]["data"].as_object().unwrap().len(), 1, "only what changed: {}", records[4]);
    assert!(dir.path().join("50_ms.sqlog").exists());
}

#[test]
fn the_same_run_gives_the_same_bytes() {
    let dirs = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    dirs.iter().for_each(|dir| everything(dir.path()));
    let mut names: Vec<_> =
        fs::read_dir(dirs[0].path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names.len(), 8, "{names:?}");
    for name in names {
        let [a, b] = [&dirs[0], &dirs[1]].map(|dir| fs::read(dir.path().join(&name)).unwrap());
        assert!(a == b, "{}", name.display());
    }
}

#[test]
fn a_file_that_cannot_be_written_is_an_error() {
    let config = TraceConfig { events: true, ..TraceConfig::default() };
    let error = Traces::create(Path::new("/nowhere/at/all"), &config, run_info()).unwrap_err();
    assert!(error.to_string().contains("/nowhere/at/all/events.parquet"), "{error}");
    let mut many = run_info();
    many.flows = vec![FlowInfo::default(); MOST_QLOGS + 1];
    let dir = tempfile::tempdir().unwrap();
    let config = TraceConfig { qlog: true, ..TraceConfig::default() };
    assert!(matches!(Traces::create(dir.path(), &config, many), Err(Error::TooManyFlows { flows: 201 })));
}

#[test]
fn a_full_disk_is_an_error_at_the_end() {
    let dir = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink("/dev/full", dir.path().join("bottleneck.pcapng")).unwrap();
    let config = TraceConfig { captures: vec![0], ..TraceConfig::default() };
    let Ok(mut traces) = Traces::create(dir.path(), &config, run_info()) else { return };
    drive(&mut traces);
    let error = traces.finish(&run()).unwrap_err();
    assert!(error.to_string().contains("bottleneck.pcapng"), "{error}");
}
