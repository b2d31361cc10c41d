//! The first packet that differs: what a sender sent and which ACKs reached it, in the simulator and on the
//! kernel.
//!
//! Both hosts tell an observer the same: packets as they leave the sender, before anything can drop them, and
//! ACKs as they reach it. A difference in what the receiver did is that of an ACK.

use std::fmt;

use fairpace_cli_core::failure::Failure;
use fairpace_results::observer::{Ack, ConnectionId, Content, Observer};
use fairpace_results::{Monitor, Summary};

use super::cases::Case;

/// Time since the start of a run, ns.
type Nanos = u64;

/// Times that differ by more are a difference of their own, ns: what timers of a kernel with 250 jiffies per
/// second add, twice.
const LATE: Nanos = 8_000_000;
/// Packets that are shown before the first difference, and after it.
const SHOWN: (usize, usize) = (12, 8);

/// What left the sender and what reached it.
#[derive(Debug, Default)]
struct Log {
    sent: Vec<(Nanos, Packet)>,
    got: Vec<(Nanos, Packet)>,
}

/// One packet, by what two hosts must agree on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Packet {
    Syn,
    HandshakeAck,
    Data(u64),
    SynAck,
    Ack(u64, [(u64, u64); 3]),
    Other,
}

impl fmt::Display for Packet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Packet::Syn => write!(f, "SYN"),
            Packet::HandshakeAck => write!(f, "ACK of the SYN-ACK"),
            // numbers as in `drop`
            Packet::Data(seq) => write!(f, "data {}", seq + 1),
            Packet::SynAck => write!(f, "SYN-ACK"),
            Packet::Ack(next, blocks) => {
                write!(f, "ACK of {next}")?;
                for (start, end) in blocks.iter().filter(|(start, end)| start < end) {
                    write!(f, " {}-{end}", start + 1)?;
                }
                Ok(())
            }
            Packet::Other => write!(f, "a packet of another kind"),
        }
    }
}

impl Observer for Log {
    fn sent(&mut self, at_ns: u64, _connection: ConnectionId, content: &Content) {
        let packet = match content {
            Content::Syn => Packet::Syn,
            Content::Data { seq, .. } => Packet::Data(*seq),
            Content::HandshakeAck => Packet::HandshakeAck,
            Content::Datagram { .. } | Content::Ack(_) => Packet::Other,
        };
        self.sent.push((at_ns, packet));
    }

    fn ack(&mut self, at_ns: u64, _connection: ConnectionId, ack: &Ack) {
        let packet = if ack.syn { Packet::SynAck } else { Packet::Ack(ack.next, ack.blocks) };
        self.got.push((at_ns, packet));
    }
}

/// Runs a case once on each host, and says how its packets differ.
pub(super) fn compare(case: &Case, monitor: &mut dyn Monitor) -> Result<String, Failure> {
    let (mut sim, mut kernel) = (Log::default(), Log::default());
    let simulated = case.observe_simulator(monitor, &mut sim)?;
    let (measured, disturbed) = case.observe_kernel(monitor, &mut kernel)?;
    let completion = |summary: &Summary| {
        let s = summary.flows.first().and_then(|flow| flow.completion_s);
        s.map_or("not complete".to_owned(), |s| format!("{:.1} ms", 1e3 * s))
    };
    let sent = Difference::find("left the sender", &sim.sent, &kernel.sent);
    let got = Difference::find("reached the sender", &sim.got, &kernel.got);
    let disturbed = disturbed.map_or(String::new(), |why| format!("the run was disturbed: {why}\n"));
    let (sim, kernel) = (completion(&simulated), completion(&measured));
    Ok(format!(
        "{}: {}\nsimulator {sim}, kernel {kernel}\n{disturbed}{sent}{got}",
        case.name, case.kernel.title
    ))
}

/// Where two sequences differ.
#[derive(Debug)]
struct Difference<'a> {
    what: &'static str,
    sim: &'a [(Nanos, Packet)],
    kernel: &'a [(Nanos, Packet)],
    /// Index of the first packet that is another one, or that only one of them has.
    content: Option<usize>,
    /// Index of the first packet before that, which is the same but not at the same time.
    time: Option<usize>,
}

impl<'a> Difference<'a> {
    fn find(what: &'static str, sim: &'a [(Nanos, Packet)], kernel: &'a [(Nanos, Packet)]) -> Self {
        let both = || sim.iter().zip(kernel);
        let content = both().position(|((_, sim), (_, kernel))| sim != kernel);
        let shorter = sim.len().min(kernel.len());
        let content = content.or((sim.len() != kernel.len()).then_some(shorter));
        let same = both().take(content.unwrap_or(shorter));
        let time = same.map(|((sim, _), (kernel, _))| sim.abs_diff(*kernel)).position(|apart| apart > LATE);
        Self { what, sim, kernel, content, time }
    }
}

impl fmt::Display for Difference<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, sim, kernel, content, time } = self;
        writeln!(f, "{what}: {} packets in the simulator, {} on the kernel", sim.len(), kernel.len())?;
        let show = |packets: &[(Nanos, Packet)], index: usize| {
            packets
                .get(index)
                .map_or("-".to_owned(), |(at, packet)| format!("{:9.3} ms {packet}", *at as f64 / 1e6))
        };
        let mut lines = |title: &str, at: usize| {
            writeln!(f, "{title}")?;
            for index in at.saturating_sub(SHOWN.0)..=at + SHOWN.1 {
                let mark = if index == at { ">" } else { " " };
                let (sim, kernel) = (show(sim, index), show(kernel, index));
                if (sim.as_str(), kernel.as_str()) != ("-", "-") {
                    writeln!(f, "{mark} {:4} {sim:36} {kernel}", index + 1)?;
                }
            }
            Ok(())
        };
        match (time, content) {
            (None, None) => return writeln!(f, "  the same packets at the same times"),
            (Some(time), _) => lines("  the first at another time:", *time)?,
            (None, Some(_)) => {}
        }
        if let Some(content) = content {
            lines("  the first that differs:", *content)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A millisecond, ns.
    const MS: Nanos = 1_000_000;

    fn data(at_ms: &[(u64, u64)]) -> Vec<(Nanos, Packet)> {
        at_ms.iter().map(|(ms, seq)| (ms * MS, Packet::Data(*seq))).collect()
    }

    #[test]
    fn the_first_difference_is_of_content_or_of_time() {
        let found = |sim: &[(u64, u64)], kernel: &[(u64, u64)]| {
            let (sim, kernel) = (data(sim), data(kernel));
            let Difference { content, time, .. } = Difference::find("left", &sim, &kernel);
            (content, time)
        };
        assert_eq!(found(&[(0, 0), (1, 1)], &[(3, 0), (9, 1)]), (None, None));
        assert_eq!(found(&[(0, 0), (1, 1)], &[(0, 0), (10, 1)]), (None, Some(1)));
        assert_eq!(found(&[(0, 0), (1, 1), (2, 2)], &[(0, 0), (1, 1)]), (Some(2), None));
        assert_eq!(found(&[(0, 0), (1, 1)], &[(9, 0), (9, 2)]), (Some(1), Some(0)));
    }

    #[test]
    fn packets_are_numbered_as_in_drop() {
        let (sim, kernel) = (data(&[(0, 0), (5, 1)]), data(&[(0, 0), (5, 4)]));
        let text = Difference::find("left the sender", &sim, &kernel).to_string();
        assert!(text.contains(">    2     5.000 ms data 2                      5.000 ms data 5"), "{text}");
        let ack = Packet::Ack(3, [(5, 7), (0, 0), (0, 0)]);
        assert_eq!(ack.to_string(), "ACK of 3 6-7");
    }
}
