//! qlog of a sender's variables, one file per flow: a JSON text sequence (RFC 7464) in qlog 0.3, which
//! viewers read (draft-ietf-quic-qlog-main-schema-02; events of draft-ietf-quic-qlog-quic-events-01, section
//! 5).
//!
//! `recovery:metrics_updated` has the variables that changed since the last such event,
//! `recovery:congestion_state_updated` the algorithm's phase. These fields are additions, which qlog allows:
//! `bandwidth_estimate` (bit/s), `pacing_gain`, `cwnd_gain`, `recovery_state`. `group_id` is the index of the
//! connection in its flow.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use fairpace_results::observer::{ConnectionId, SenderState};
use serde_json::{Map, Value, json};

use crate::{Error, MOST_QLOGS, RunInfo, ca_state, create, failed, file_names};

/// The byte before each record, RFC 7464, section 2.2.
const RECORD_SEPARATOR: u8 = 0x1e;

/// The open qlog files.
#[derive(Debug)]
pub(crate) struct Qlog {
    files: Vec<Log>,
    last: HashMap<ConnectionId, Last>,
}

#[derive(Debug)]
struct Log {
    path: PathBuf,
    file: BufWriter<File>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Last {
    /// The last reported state; `None`: no state was reported yet.
    state: Option<SenderState>,
    is_completed: bool,
}

impl Log {
    fn record(&mut self, record: &Value) -> Result<(), Error> {
        let path = &self.path;
        let wrong = |error: &dyn std::fmt::Display| failed(path, error);
        self.file.write_all(&[RECORD_SEPARATOR]).map_err(|error| wrong(&error))?;
        serde_json::to_writer(&mut self.file, record).map_err(|error| wrong(&error))?;
        self.file.write_all(b"\n").map_err(|error| wrong(&error))
    }
}

impl Qlog {
    pub(crate) fn create(dir: &Path, run_info: &RunInfo) -> Result<Self, Error> {
        if run_info.flows.len() > MOST_QLOGS {
            return Err(Error::TooManyFlows { flows: run_info.flows.len() });
        }
        let names = file_names(run_info.flows.iter().map(|flow| flow.name.as_str()));
        let mut files = Vec::new();
        for (name, flow) in names.iter().zip(&run_info.flows) {
            let path = dir.join(format!("{name}.sqlog"));
            let protocol = if flow.cc == "none" { "UDP" } else { "TCP" };
            let mut log = Log { file: create(&path)?, path };
            log.record(&json!({
                "qlog_version": "0.3",
                "qlog_format": "JSON-SEQ",
                "title": run_info.title,
                "description": format!("{} with {}, simulated by Fairpace", flow.name, flow.cc),
                "trace": {
                    "vantage_point": { "type": "server" },
                    "common_fields": {
                        "time_format": "relative",
                        "reference_time": 0,
                        "protocol_type": [protocol],
                    },
                    "configuration": {
                        "commit": run_info.commit,
                        "seed": run_info.seed,
                        "scenario": run_info.hash,
                        "algorithm": flow.cc,
                    },
                },
            }))?;
            files.push(log);
        }
        Ok(Qlog { files, last: HashMap::new() })
    }

    pub(crate) fn sender(
        &mut self,
        at_ns: u64,
        connection: ConnectionId,
        state: &SenderState,
        run_info: &RunInfo,
    ) -> Result<(), Error> {
        let Some(log) = self.files.get_mut(connection.flow as usize) else { return Ok(()) };
        let before = self.last.get(&connection).copied();
        let is_completed = before.is_some_and(|last| last.is_completed);
        if is_completed && state.inflight_pkts == 0 {
            self.last.remove(&connection); // all data is acknowledged, so no event follows
        } else {
            self.last.insert(connection, Last { state: Some(*state), is_completed });
        }
        let before = before.and_then(|last| last.state);
        let event = |name: &str, data| event(at_ns, connection, name, data);
        if let Some(data) = congestion_state(before.as_ref(), state, run_info) {
            log.record(&event("recovery:congestion_state_updated", data))?;
        }
        let data = changed(before.as_ref(), state, run_info.mss_bytes(connection));
        if !data.is_empty() {
            log.record(&event("recovery:metrics_updated", data))?;
        }
        Ok(())
    }

    pub(crate) fn completed(&mut self, connection: ConnectionId, run_info: &RunInfo) {
        if run_info.is_workload(connection) {
            self.last.entry(connection).or_default().is_completed = true;
        }
    }

    pub(crate) fn finish(self) -> Result<(), Error> {
        let close = |mut log: Log| log.file.flush().map_err(|error| failed(&log.path, &error));
        self.files.into_iter().try_for_each(close)
    }
}

/// Returns a record of an event. Times are in ms.
fn event(at_ns: u64, connection: ConnectionId, name: &str, data: Map<String, Value>) -> Value {
    json!({
        "time": at_ns as f64 / 1e6,
        "group_id": connection.index.to_string(),
        "name": name,
        "data": data,
    })
}

/// Returns a record of phase and recovery state, if either changed.
fn congestion_state(
    before: Option<&SenderState>,
    now: &SenderState,
    run_info: &RunInfo,
) -> Option<Map<String, Value>> {
    if before.is_some_and(|before| before.phase == now.phase && before.ca_state == now.ca_state) {
        return None;
    }
    let name = |state: &SenderState| run_info.phase(state.phase).map(str::to_lowercase);
    let mut data = Map::new();
    if let Some(old) = before.and_then(name) {
        data.insert("old".into(), old.into());
    }
    data.insert("new".into(), name(now).unwrap_or_else(|| "unknown".to_owned()).into());
    data.insert("recovery_state".into(), ca_state(now.ca_state).into());
    Some(data)
}

/// Returns the variables by their qlog names. RTTs are in ms, amounts in bytes, rates in bit/s.
fn variables(state: &SenderState, mss_bytes: u32) -> [(&'static str, Option<Value>); 10] {
    let bytes = |pkts: u32| Value::from(u64::from(pkts) * u64::from(mss_bytes));
    let gain = |gain: u32| (gain > 0).then(|| Value::from(f64::from(gain) / 256.0));
    let is_known = |x: &u64| *x > 0;
    [
        ("smoothed_rtt", Some(state.srtt_us).filter(is_known).map(|us| Value::from(us as f64 / 1e3))),
        ("min_rtt", state.min_rtt_us.map(|us| Value::from(f64::from(us) / 1e3))),
        ("congestion_window", Some(bytes(state.cwnd_pkts))),
        ("ssthresh", (state.ssthresh_pkts != u32::MAX).then(|| bytes(state.ssthresh_pkts))),
        ("bytes_in_flight", Some(bytes(state.inflight_pkts))),
        ("packets_in_flight", Some(state.inflight_pkts.into())),
        ("pacing_rate", state.pacing_rate_Bps.map(|rate| Value::from(rate.saturating_mul(8)))),
        (
            "bandwidth_estimate",
            Some(state.bw_Bps).filter(is_known).map(|bw| Value::from(bw.saturating_mul(8))),
        ),
        ("pacing_gain", gain(state.pacing_gain_256)),
        ("cwnd_gain", gain(state.cwnd_gain_256)),
    ]
}

/// Returns the variables that changed.
fn changed(before: Option<&SenderState>, now: &SenderState, mss_bytes: u32) -> Map<String, Value> {
    let before = before.map(|before| variables(before, mss_bytes));
    let is_new = |index: usize, value: &Option<Value>| before.as_ref().is_none_or(|b| b[index].1 != *value);
    let all = variables(now, mss_bytes).into_iter().enumerate();
    let new = all.filter(|(index, (_, value))| is_new(*index, value));
    new.filter_map(|(_, (name, value))| Some((name.to_owned(), value?))).collect()
}
