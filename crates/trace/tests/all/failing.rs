//! Traces that cannot be written.

use std::os::unix::fs::symlink;
use std::sync::atomic::Ordering;

use fairpace_results::observer::{ConnectionId, Content, EcnField, LinkEvent, Observer, Packet};
use fairpace_trace::{FlowInfo, RunInfo, TraceConfig, Traces};

#[test]
fn a_full_disk_raises_the_flag_during_the_run_and_the_error_says_what_it_is() {
    let dir = tempfile::tempdir().unwrap();
    symlink("/dev/full", dir.path().join("bottleneck.pcapng")).unwrap();
    let flow = FlowInfo { route: vec![0], mss_bytes: 1448, ..FlowInfo::default() };
    let run_info = RunInfo { flows: vec![flow], links: vec!["bottleneck".into()], ..RunInfo::default() };
    let config = TraceConfig { captures: vec![0], ..TraceConfig::default() };
    let mut traces = Traces::create(dir.path(), &config, run_info).unwrap();
    let flag = traces.failure_flag();
    assert!(!flag.load(Ordering::Relaxed));
    // more than the buffers hold
    for seq in 0..10_000 {
        let content = Content::Data { seq, cwr: false, push: false };
        let connection = ConnectionId::default();
        let packet = Packet { connection, bytes: 1500, ecn: EcnField::NotEct, sent_ns: seq, content };
        traces.packet(seq, 0, LinkEvent::Enqueued, &packet);
    }
    assert!(flag.load(Ordering::Relaxed));
    let said = traces.failure().unwrap().to_string();
    assert!(said.contains("bottleneck.pcapng") && said.contains("No space left on device"), "{said}");
}
