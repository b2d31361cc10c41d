//! The names that a script's Python knows: the fields of `struct tcp_info` that the stack has, and Linux's
//! constants (include/uapi/linux/tcp.h).

use fairpace_tcp::Nanos;

use crate::endpoint::{Endpoint, Stage};
use crate::evaluate::Stop;
use crate::python::Value;

/// Constants of Linux.
const CONSTANTS: &[(&str, i128)] = &[
    ("TCP_ESTABLISHED", 1),
    ("TCP_SYN_SENT", 2),
    ("TCP_SYN_RECV", 3),
    ("TCP_FIN_WAIT1", 4),
    ("TCP_FIN_WAIT2", 5),
    ("TCP_TIME_WAIT", 6),
    ("TCP_CLOSE", 7),
    ("TCP_CLOSE_WAIT", 8),
    ("TCP_LAST_ACK", 9),
    ("TCP_LISTEN", 10),
    ("TCP_CLOSING", 11),
    ("TCP_CA_Open", 0),
    ("TCP_CA_Disorder", 1),
    ("TCP_CA_CWR", 2),
    ("TCP_CA_Recovery", 3),
    ("TCP_CA_Loss", 4),
    ("TCPI_OPT_TIMESTAMPS", 1),
    ("TCPI_OPT_SACK", 2),
    ("TCPI_OPT_WSCALE", 4),
    ("TCPI_OPT_ECN", 8),
    ("TCPI_OPT_ECN_SEEN", 16),
    ("TCPI_OPT_SYN_DATA", 32),
    ("TCPI_OPT_USEC_TS", 64),
    ("TCPI_OPT_TFO_CHILD", 128),
];

/// Fields that packetdrill knows and the stack does not count.
const NOT_COUNTED: &[&str] = &[
    "tcpi_ato",
    "tcpi_delivery_rate",
    "tcpi_delivery_rate_app_limited",
    "tcpi_fackets",
    "tcpi_last_ack_sent",
    "tcpi_max_pacing_rate",
    "tcpi_pmtu",
    "tcpi_probes",
    "tcpi_rcv_mss",
    "tcpi_rcv_ooopack",
    "tcpi_rcv_rtt",
    "tcpi_rcv_space",
    "tcpi_rcv_ssthresh",
    "tcpi_rcv_wnd",
    "tcpi_rehash",
    "tcpi_reord_seen",
    "tcpi_segs_out",
    "tcpi_sndbuf_limited",
    "tcpi_total_rto_recoveries",
    "tcpi_total_rto_time",
];

/// Returns the value of a name.
pub(crate) fn value(end: &Endpoint, name: &str) -> Result<Value, Stop> {
    if let Some((_, value)) = CONSTANTS.iter().find(|(known, _)| *known == name) {
        return Ok(Value::Int(*value));
    }
    if let Some(value) = of_sender(end, name).or_else(|| of_connection(end, name)) {
        return Ok(Value::Int(value.into()));
    }
    if NOT_COUNTED.contains(&name) || name.contains("accecn") || name.starts_with("tcpi_received_") {
        return Err(Stop::Wrong(format!("the field {name}")));
    }
    Err(Stop::Unknown(name.to_owned()))
}

fn of_sender(end: &Endpoint, name: &str) -> Option<u64> {
    let (sender, mss) = (&end.sender, u64::from(end.agreed.mss));
    let (info, stats) = (sender.info(), sender.stats());
    let unsent = info.written.saturating_sub(info.snd_nxt);
    Some(match name {
        "tcpi_ca_state" => sender.ca_state() as u64,
        "tcpi_snd_cwnd" => sender.cwnd_pkts().into(),
        "tcpi_snd_ssthresh" => sender.ssthresh_pkts().into(),
        "tcpi_unacked" => info.packets_out.into(),
        "tcpi_sacked" => info.sacked_out.into(),
        "tcpi_lost" => info.lost_out.into(),
        "tcpi_retrans" => info.retrans_out.into(),
        "tcpi_reordering" => info.reordering_pkts,
        "tcpi_retransmits" | "tcpi_backoff" => info.timeouts_in_a_row.into(),
        "tcpi_rto" => info.rto_us,
        "tcpi_rtt" => sender.srtt_us(),
        "tcpi_rttvar" => info.rtt_deviation_us,
        "tcpi_min_rtt" => info.min_rtt_us.unwrap_or(u64::from(u32::MAX)),
        "tcpi_delivered" => info.delivered_pkts.into(),
        "tcpi_delivered_ce" => info.delivered_ce_pkts.into(),
        "tcpi_dsack_dups" => info.dsack_pkts,
        "tcpi_total_retrans" => stats.retransmitted_pkts,
        "tcpi_total_rto" => stats.timeouts,
        "tcpi_data_segs_out" => stats.sent_pkts,
        "tcpi_bytes_sent" => stats.sent_pkts * mss,
        "tcpi_bytes_retrans" => stats.retransmitted_pkts * mss,
        // with the SYN
        "tcpi_bytes_acked" => sender.snd_una() * mss + u64::from(end.stage == Stage::Established),
        "tcpi_notsent_bytes" => unsent * mss,
        "tcpi_pacing_rate" => sender.pacing_rate_Bps(),
        _ => return None,
    })
}

fn of_connection(end: &Endpoint, name: &str) -> Option<u64> {
    let since_ms = |at: Nanos| (end.now - at) / 1_000_000;
    let (clocks, (advertised, wscale)) = (&end.clocks, end.setup.announced());
    Some(match name {
        "tcpi_state" => state(end),
        "tcpi_options" => options(end),
        "tcpi_snd_mss" => end.agreed.mss.into(),
        "tcpi_advmss" => u64::from(advertised) - if end.agreed.timestamps { 12 } else { 0 },
        "tcpi_snd_wscale" => end.agreed.wscale.unwrap_or(0).into(),
        "tcpi_rcv_wscale" => end.agreed.wscale.map_or(0, |_| wscale).into(),
        "tcpi_snd_wnd" => end.window.bytes,
        "tcpi_last_data_sent" => since_ms(clocks.data_sent),
        "tcpi_last_data_recv" => since_ms(clocks.data_received),
        "tcpi_last_ack_recv" => since_ms(clocks.ack_received),
        "tcpi_busy_time" => clocks.busy / 1_000,
        "tcpi_rwnd_limited" => clocks.rwnd_limited / 1_000,
        "tcpi_bytes_received" => end.rcv_nxt().saturating_sub(1),
        "tcpi_segs_in" => clocks.segs_in,
        "tcpi_data_segs_in" => clocks.data_segs_in,
        _ => return None,
    })
}

fn state(end: &Endpoint) -> u64 {
    let fins = &end.fins;
    match end.stage {
        Stage::Closed | Stage::Reset => 7,
        Stage::Listening => 10,
        Stage::SynReceived => 3,
        Stage::SynSent => 2,
        Stage::Established => match (fins.sent.is_some(), fins.acknowledged, fins.received) {
            (false, _, false) => 1,
            (false, _, true) => 8,
            (true, false, false) => 4,
            (true, true, false) => 5,
            (true, true, true) => 6,
            (true, false, true) => 11,
        },
    }
}

fn options(end: &Endpoint) -> u64 {
    let agreed = &end.agreed;
    let set = [agreed.timestamps, agreed.sack, agreed.wscale.is_some(), agreed.ecn];
    set.iter().enumerate().map(|(bit, is_set)| u64::from(*is_set) << bit).sum()
}
