//! What is known of a script before it runs: its options, the peer that it plays, and whether it needs what
//! the stack has not.

use fairpace_scenario::Problem;
use fairpace_tcp::Nanos;

use crate::agreed::Peer;
use crate::parse::problem;
use crate::python;
use crate::script::{Action, Event, Flag, Packet, Script, Span, TcpOption, When};

/// packetdrill's own tolerance, ns.
const TOLERANCE_NS: Nanos = 4_000_000;
/// packetdrill's own tolerance in per cent of the time since the event before.
const TOLERANCE_PERCENT: f64 = 12.5;

/// Options that say how packetdrill itself runs.
const WITHOUT_EFFECT: &[&str] = &[
    "bind_port",
    "connect_port",
    "debug",
    "gateway_ip",
    "init_scripts",
    "ip_version",
    "is_anyip",
    "local_ip",
    "mss",
    "netmask_ip",
    "remote_ip",
    "send_omit_free",
    "speed",
    "verbose",
];

/// How exactly a script is judged.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Judgement {
    pub(crate) tolerance: Nanos,
    pub(crate) percent: f64,
    /// Length of a tick of TCP's timestamps; 0: timestamps are not compared.
    pub(crate) tick: Nanos,
    /// True if an expected packet is one packet, not several that follow each other.
    pub(crate) strict_segments: bool,
}

impl Script {
    /// The failure of the script at a place of its text.
    pub(crate) fn failed(&self, span: &Span, message: String, detail: &str) -> Box<Problem> {
        Box::new(problem("failed", message, detail).within(&self.file, &self.text, span.clone()))
    }

    /// The refusal of a script at a place of its text.
    pub(crate) fn refused(&self, span: &Span, what: &str) -> Box<Problem> {
        let message = format!("the simulated stack has not: {what}");
        let help = "docs/packetdrill.md lists what can be expressed";
        Box::new(problem("refused", message, help).within(&self.file, &self.text, span.clone()))
    }

    /// The tolerances that the script's options set.
    pub(crate) fn judgement(&self) -> Result<Judgement, Box<Problem>> {
        let mut judgement = Judgement {
            tolerance: TOLERANCE_NS,
            percent: TOLERANCE_PERCENT,
            tick: 0,
            strict_segments: false,
        };
        for flag in &self.flags {
            let Flag { name, value, span } = flag;
            let us = value.parse::<u32>().map(|us| Nanos::from(us) * 1_000);
            let percent = value.parse::<f64>().ok().filter(|percent| (0.0..=100.0).contains(percent));
            match (name.as_str(), us, percent) {
                ("tolerance_usecs", Ok(ns), _) => judgement.tolerance = ns,
                ("tcp_ts_tick_usecs", Ok(ns), _) => judgement.tick = ns,
                ("tolerance_percent", _, Some(percent)) => judgement.percent = percent,
                ("strict_segments", ..) => judgement.strict_segments = true,
                ("ip_version", ..) if !matches!(value.as_str(), "ipv4" | "") => {
                    return Err(self.refused(span, &format!("--ip_version={value}: packets are IPv4's")));
                }
                (known, ..) if WITHOUT_EFFECT.contains(&known) => {}
                _ => return Err(self.refused(span, &format!("the option --{name}={value}"))),
            }
        }
        Ok(judgement)
    }

    /// Refuses what no state of the stack could make possible.
    pub(crate) fn check(&self) -> Result<(), Box<Problem>> {
        self.events.iter().try_for_each(|event| {
            let refused = |what: &str| Err(self.refused(&event.span, what));
            let is_range = matches!(event.when, When::At(from, to) | When::After(from, to) if from < to);
            let outbound = matches!(&event.action, Action::Packet(packet) if !packet.inbound);
            if (is_range || event.when == When::Any) && !outbound {
                let message = "only a packet that is expected has a range of times, or `*`".to_owned();
                return Err(self.failed(&event.span, message, "give the time of the event"));
            }
            match &event.action {
                Action::Foreign(name) => refused(&format!("packets of {name}")),
                Action::Code(code, at) => {
                    python::read(code).map(drop).map_err(|what| self.refused(&(*at..*at + code.len()), &what))
                }
                Action::Packet(packet) => match unknown(packet) {
                    Some(what) => refused(&what),
                    None if packet.end_seq.wrapping_sub(packet.seq) != packet.len => {
                        let message = format!(
                            "{}:{}({}) has another length than it says",
                            packet.seq, packet.end_seq, packet.len
                        );
                        Err(self.failed(&event.span, message, "the number in brackets is the difference"))
                    }
                    None => Ok(()),
                },
                Action::Call(_) | Action::Command(_) => Ok(()),
            }
        })
    }

    fn packets(&self) -> impl Iterator<Item = &Packet> {
        self.events.iter().filter_map(|event: &Event| match &event.action {
            Action::Packet(packet) => Some(packet),
            _ => None,
        })
    }

    /// The peer that the script plays.
    pub(crate) fn peer(&self) -> Peer {
        let syn = |inbound: bool| self.packets().find(move |p| p.inbound == inbound && p.has('S'));
        let (its, ours) = (syn(true), syn(false));
        let isn = its.map_or(0, |packet| packet.seq);
        let mut bounds = vec![1];
        for packet in self.packets().filter(|packet| packet.inbound && packet.len > 0 && !packet.has('S')) {
            let start = u64::from(packet.seq.wrapping_sub(isn)).max(1);
            bounds.extend([start, start + u64::from(packet.len)]);
        }
        bounds.sort_unstable();
        bounds.dedup();
        let spans = |packet: &Packet| {
            let start = u64::from(packet.seq.wrapping_sub(isn));
            let within = start + 1..start + u64::from(packet.len);
            bounds.iter().any(|byte| within.contains(byte))
        };
        let jumbo = self.packets().any(|packet| packet.inbound && packet.len > 0 && spans(packet));
        Peer {
            options: its.and_then(|packet| packet.options.clone()).unwrap_or_default(),
            agrees_to_ecn: its.is_some_and(|packet| packet.has('E') && !packet.has('W')),
            isn,
            local_isn: ours.map_or(0, |packet| packet.seq),
            bounds,
            jumbo,
        }
    }
}

/// What a packet needs that no packet of the stack has.
fn unknown(packet: &Packet) -> Option<String> {
    const ECN: [&str; 5] = ["ect0", "ect1", "ce", "noecn", "ect01"];
    if packet.ports {
        return Some("a second pair of ports".to_owned());
    }
    if let Some(ip) = packet.ip.iter().find(|ip| !ECN.contains(&ip.as_str())) {
        return Some(format!("[{ip}] of the IP header"));
    }
    if packet.inbound && packet.options.is_none() {
        return Some("a packet that arrives with any options".to_owned());
    }
    if packet.flags.contains(|c: char| !"SFRPEWAU.-".contains(c)) {
        return Some(format!("the flags {}", packet.flags));
    }
    let other = packet.options.iter().flatten().find_map(|option| match option {
        TcpOption::Other(name) => Some(name),
        _ => None,
    })?;
    let known = match other.split_whitespace().next().unwrap_or("") {
        "FO" | "FOEXP" => "fast open: ",
        "md5" => "MD5 signatures: ",
        "ECN" => "the option of accurate ECN: ",
        _ => "",
    };
    Some(format!("{known}the TCP option {other}"))
}
