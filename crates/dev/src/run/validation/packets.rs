//! The first packet that differs between simulator and kernel: packets that a sender sent, and ACKs that
//! reached it.
//!
//! Both hosts report the same events to an observer: packets as they leave the sender, before anything can
//! drop them, and ACKs as they reach it. A difference in the receiver's behaviour appears as a difference of
//! an ACK.

use std::fmt::Write as _;

use fairpace_cli_core::failure::Failure;
use fairpace_results::observer::{Ack, ConnectionId, Content, Observer};
use fairpace_results::{Monitor, Summary};
use fairpace_testbed::Options;

use super::cases::Case;

/// Time since the start of a run, ns.
type Nanos = u64;

/// Largest difference of times that does not count, ns: twice the resolution of timers of a kernel with 250
/// jiffies per second.
const LATE: Nanos = 8_000_000;
/// Number of packets that are shown before and after the first difference.
const SHOWN: (usize, usize) = (12, 8);

/// A packet: its time, and the text that must be equal on both hosts.
type Packet = (Nanos, String);

/// The packets that left the sender, and those that reached it.
#[derive(Debug, Default)]
struct Log {
    sent: Vec<Packet>,
    got: Vec<Packet>,
}

impl Observer for Log {
    fn sent(&mut self, at_ns: u64, _connection: ConnectionId, content: &Content) {
        let packet = match content {
            Content::Syn => "SYN".to_owned(),
            // numbers as in `drop`
            Content::Data { seq, .. } => format!("data {}", seq + 1),
            Content::HandshakeAck => "ACK of the SYN-ACK".to_owned(),
            Content::Datagram { .. } | Content::Ack(_) => "a packet of another kind".to_owned(),
        };
        self.sent.push((at_ns, packet));
    }

    fn ack(&mut self, at_ns: u64, _connection: ConnectionId, ack: &Ack) {
        let packet = if ack.syn { "SYN-ACK".to_owned() } else { shown(ack.next, &ack.blocks) };
        self.got.push((at_ns, packet));
    }
}

/// Text of an ACK with its blocks, as in `drop`.
fn shown(next: u64, blocks: &[(u64, u64)]) -> String {
    let blocks = blocks.iter().filter(|(start, end)| start < end);
    let blocks = blocks.map(|(start, end)| format!(" {}-{end}", start + 1));
    format!("ACK of {next}{}", blocks.collect::<String>())
}

/// Runs a case once on each host, and returns a text on how its packets differ.
pub(super) fn compare(case: &Case, monitor: &mut dyn Monitor) -> Result<String, Failure> {
    let (mut sim, mut kernel) = (Log::default(), Log::default());
    let simulated = fairpace_sim::run_with(&case.sim, monitor, &mut sim)?.summary;
    let measured = fairpace_testbed::observe(&case.kernel, monitor, &Options::default(), &mut kernel)?;
    let completion = |summary: &Summary| {
        let s = summary.flows.first().and_then(|flow| flow.completion_s);
        s.map_or("not complete".to_owned(), |s| format!("{:.1} ms", 1e3 * s))
    };
    let mut text = format!("{}: {}\nsimulator {}", case.name, case.kernel.title, completion(&simulated));
    let _ = writeln!(text, ", kernel {}", completion(&measured.run.summary));
    text.extend(measured.disturbed.map(|why| format!("the run was disturbed: {why}\n")));
    Ok(text + &differences("left", &sim.sent, &kernel.sent) + &differences("reached", &sim.got, &kernel.got))
}

/// Index of the first packet that differs or that only one of the sequences has, and index of the first
/// packet before it that is equal but at another time.
fn first(sim: &[Packet], kernel: &[Packet]) -> [Option<usize>; 2] {
    let mut both = sim.iter().zip(kernel);
    let shorter = sim.len().min(kernel.len());
    let content = both.clone().position(|((_, sim), (_, kernel))| sim != kernel);
    let content = content.or((sim.len() != kernel.len()).then_some(shorter));
    let time = both.position(|((sim, _), (kernel, _))| sim.abs_diff(*kernel) > LATE);
    [content, time.filter(|time| *time < content.unwrap_or(shorter))]
}

/// Text on where the packets that left or reached the sender differ.
fn differences(what: &str, sim: &[Packet], kernel: &[Packet]) -> String {
    let (many, real) = (sim.len(), kernel.len());
    let mut text = format!("{what} the sender: {many} packets in the simulator, {real} on the kernel\n");
    let show = |packets: &[Packet], index: usize| {
        let packet = packets.get(index);
        packet.map_or("-".to_owned(), |(at, packet)| format!("{:9.3} ms {packet}", *at as f64 / 1e6))
    };
    let [content, time] = first(sim, kernel);
    if content.or(time).is_none() {
        text.push_str("  the same packets at the same times\n");
    }
    for (title, at) in [("  the first at another time:", time), ("  the first that differs:", content)] {
        let Some(at) = at else { continue };
        let _ = writeln!(text, "{title}");
        for index in at.saturating_sub(SHOWN.0)..=(at + SHOWN.1).min(many.max(real) - 1) {
            let mark = if index == at { ">" } else { " " };
            let (sim, kernel) = (show(sim, index), show(kernel, index));
            let _ = writeln!(text, "{mark} {:4} {sim:36} {kernel}", index + 1);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One millisecond, ns.
    const MS: Nanos = 1_000_000;

    fn data(at_ms: &[(u64, u64)]) -> Vec<Packet> {
        at_ms.iter().map(|(ms, seq)| (ms * MS, format!("data {}", seq + 1))).collect()
    }

    #[test]
    fn the_first_difference_is_of_content_or_of_time() {
        let found = |sim: &[(u64, u64)], kernel: &[(u64, u64)]| first(&data(sim), &data(kernel));
        assert_eq!(found(&[(0, 0), (1, 1)], &[(3, 0), (9, 1)]), [None, None]);
        assert_eq!(found(&[(0, 0), (1, 1)], &[(0, 0), (10, 1)]), [None, Some(1)]);
        assert_eq!(found(&[(0, 0), (1, 1), (2, 2)], &[(0, 0), (1, 1)]), [Some(2), None]);
        assert_eq!(found(&[(0, 0), (1, 1)], &[(9, 0), (9, 2)]), [Some(1), Some(0)]);
    }

    #[test]
    fn packets_are_numbered_as_in_drop() {
        let (sim, kernel) = (data(&[(0, 0), (5, 1)]), data(&[(0, 0), (5, 4)]));
        let text = differences("left", &sim, &kernel);
        assert!(text.contains(">    2     5.000 ms data 2                      5.000 ms data 5"), "{text}");
        assert_eq!(shown(3, &[(5, 7), (0, 0), (0, 0)]), "ACK of 3 6-7");
    }
}
