//! A packet that a script expects: what the stack has sent is taken in order, and several packets may be one
//! of the script, as TSO makes them (packetdrill: do_outbound_script_packet, verify_packet_fragments).

use fairpace_tcp::{EcnField, Nanos};

use crate::endpoint::{AnyPush, Sent};
use crate::run::{End, Run, seconds};
use crate::script::{Event, Packet, Span, TcpOption, When};
use crate::segment::ecn_field;

/// How long a packet at any time, `*`, is waited for: a minute.
const ANY_TIME: Nanos = 60_000_000_000;
/// How long the stack runs on, so that a failure can say what it did later.
const LATER: Nanos = 10_000_000_000;

impl Run<'_> {
    /// Takes the next packet of the stack, which must be the expected one at a time from `from` to `to`.
    pub(crate) fn expect(
        &mut self,
        packet: &Packet,
        event: &Event,
        from: Nanos,
        to: Nanos,
    ) -> Result<(), End> {
        let tolerance = self.tolerance(from);
        let deadline = if event.when == When::Any { self.end.now + ANY_TIME } else { to + tolerance };
        let sent = self.take(packet, deadline, &event.span, from, to)?;
        self.compare(packet, &sent, &event.span)?;
        let early = sent.at + tolerance < from;
        if event.when != When::Any && (early || sent.at > to + tolerance) {
            let times = self.times(from, to, tolerance);
            let message = format!("expected {} at {times}", written(packet));
            let detail = format!("the stack sent it at {}", self.at(sent.at));
            return Err(self.fail(&event.span, message, &detail));
        }
        self.note_timestamp(packet, &sent);
        Ok(())
    }

    fn times(&self, from: Nanos, to: Nanos, tolerance: Nanos) -> String {
        let range = if from == to { self.at(from) } else { format!("{} to {}", self.at(from), self.at(to)) };
        format!("{range} (± {})", seconds(tolerance))
    }

    /// Takes packets of the stack until they are as long as the expected one.
    fn take(
        &mut self,
        packet: &Packet,
        deadline: Nanos,
        span: &Span,
        from: Nanos,
        to: Nanos,
    ) -> Result<Sent, End> {
        let mut whole: Option<Sent> = None;
        let (expected, mut piece) = (u64::from(packet.len), 0);
        loop {
            self.of_stack(span, |end| end.advance(deadline.max(end.now), true))?;
            let Some(next) = self.end.out.pop_front() else {
                let times = self.times(from, to, deadline.saturating_sub(to));
                let message = format!("expected {} at {times}", written(packet));
                let before = whole.map(|sent| format!("the stack sent {} of it, and then ", sent.len));
                let later = self.later(deadline)?;
                return Err(self.fail(span, message, &format!("{}{later}", before.unwrap_or_default())));
            };
            self.end.now = self.end.now.max(next.at);
            whole = Some(match whole {
                None => next.clone(),
                Some(sent) if follows(&sent, &next, piece) => joined(sent, &next),
                Some(sent) => {
                    let message = format!("expected {}", written(packet));
                    let detail =
                        format!("the stack sent {}, and then {}", self.said(&sent), self.said(&next));
                    return Err(self.fail(span, message, &detail));
                }
            });
            piece = next.len;
            let sent = whole.as_ref().map_or(0, |sent| sent.len);
            if sent >= expected || piece == 0 || self.judgement.strict_segments {
                return whole.ok_or_else(|| self.fail(span, "nothing was sent".to_owned(), ""));
            }
        }
    }

    /// What the stack does after it should have sent a packet.
    fn later(&mut self, from: Nanos) -> Result<String, End> {
        // a refusal ends the search only
        let _ = self.end.advance(from.max(self.end.now) + LATER, true);
        Ok(match self.end.out.front() {
            Some(sent) => format!("the stack sent {}", self.said(sent)),
            None => format!("the stack sent nothing until {}", self.at(self.end.now)),
        })
    }

    fn said(&self, sent: &Sent) -> String {
        let end = sent.seq + sent.len;
        let ack = sent.ack.map_or_else(String::new, |ack| format!(" ack {ack}"));
        let options = listed(&sent.options);
        format!("{} {}:{end}({}){ack}{options} at {}", sent.flags, sent.seq, sent.len, self.at(sent.at))
    }

    fn compare(&self, packet: &Packet, sent: &Sent, span: &Span) -> Result<(), End> {
        let peer = &self.end.peer;
        let seq = u64::from(packet.seq.wrapping_sub(peer.local_isn));
        let ack = packet.ack.map(|ack| u64::from(ack.wrapping_sub(peer.isn)));
        let is_same = seq == sent.seq
            && u64::from(packet.len) == sent.len
            && ack == sent.ack
            && flags_agree(packet, sent)
            && self.options_agree(packet, sent);
        if is_same && ecn_agrees(packet, sent.ecn) {
            return Ok(());
        }
        let field = if is_same { format!(", with {}", ecn_written(sent.ecn)) } else { String::new() };
        let detail = format!("the stack sent {}{field}", self.said(sent));
        Err(self.fail(span, format!("expected {}", written(packet)), &detail))
    }

    fn options_agree(&self, packet: &Packet, sent: &Sent) -> bool {
        let Some(options) = &packet.options else { return true };
        let expected: Vec<&TcpOption> = options.iter().filter(|option| **option != TcpOption::Nop).collect();
        let isn = self.end.peer.isn;
        let agree = |pair: (&&TcpOption, &TcpOption)| match pair {
            (TcpOption::Timestamp { val, .. }, TcpOption::Timestamp { val: sent, .. }) => {
                self.timestamp_agrees(*val, *sent)
            }
            (TcpOption::Sack(expected), TcpOption::Sack(sent)) => {
                let offset = |(start, end): &(u32, u32)| (start.wrapping_sub(isn), end.wrapping_sub(isn));
                expected.iter().map(offset).eq(sent.iter().copied())
            }
            (expected, sent) => *expected == sent,
        };
        expected.len() == sent.options.len() && expected.iter().zip(&sent.options).all(agree)
    }

    fn timestamp_agrees(&self, expected: u32, sent_ms: u32) -> bool {
        let Some((val, ms)) = self.end.timestamps.first().filter(|_| self.judgement.tick > 0) else {
            return true;
        };
        let elapsed = Nanos::from(sent_ms.wrapping_sub(*ms)) * 1_000_000;
        let said = Nanos::from(expected.wrapping_sub(*val)).saturating_mul(self.judgement.tick);
        let part = (self.end.now - crate::run::START) as f64 * self.judgement.percent / 100.0;
        elapsed.abs_diff(said) <= self.judgement.tolerance.max(part as Nanos)
    }

    /// Notes which time the script's timestamp stands for, since ACKs echo it.
    fn note_timestamp(&mut self, packet: &Packet, sent: &Sent) {
        let val = |options: &[TcpOption]| {
            options.iter().find_map(|option| match option {
                TcpOption::Timestamp { val, .. } => Some(*val),
                _ => None,
            })
        };
        if let (Some(written), Some(ms)) = (packet.options.as_deref().and_then(val), val(&sent.options)) {
            self.end.timestamps.push((written, ms));
        }
    }
}

/// True if a packet can be a part of the same long packet: it continues it, with the same header but for PSH
/// and CWR, and all but the last part have one length.
fn follows(sent: &Sent, next: &Sent, piece: u64) -> bool {
    let header = |sent: &Sent| sent.flags.replace(['P', 'W'], "");
    sent.seq + sent.len == next.seq
        && next.len > 0
        && next.len <= piece
        && header(sent) == header(next)
        && sent.ack == next.ack
        && sent.ecn == next.ecn
}

/// One long packet of two: CWR of the first, PSH of the last.
fn joined(sent: Sent, next: &Sent) -> Sent {
    let cwr = sent.flags.contains('W') && !next.flags.contains('W');
    let flags = if cwr { format!("W{}", next.flags) } else { next.flags.clone() };
    Sent { flags, len: sent.len + next.len, seq: sent.seq, ..next.clone() }
}

fn flags_agree(packet: &Packet, sent: &Sent) -> bool {
    let have = |flag: char| sent.flags.contains(flag);
    let push = match sent.any_push {
        AnyPush::No => packet.has('P') == have('P'),
        AnyPush::Missing => packet.has('P') || !have('P'),
        AnyPush::Yes => true,
    };
    push && ['S', 'F', 'R', 'E', 'W', 'A', 'U', '.'].iter().all(|flag| packet.has(*flag) == have(*flag))
}

fn ecn_agrees(packet: &Packet, sent: EcnField) -> bool {
    match packet.ip.first().map(String::as_str) {
        None => true,
        Some("ect01") => matches!(sent, EcnField::Ect0 | EcnField::Ect1),
        Some(_) => ecn_field(packet) == sent,
    }
}

/// The packet as the script has it.
fn written(packet: &Packet) -> String {
    let ack = packet.ack.map_or_else(String::new, |ack| format!(" ack {ack}"));
    let options = packet.options.as_deref().map_or_else(|| " <...>".to_owned(), listed);
    let ip: String = packet.ip.iter().map(|ip| format!("[{ip}] ")).collect();
    let (seq, end) = (packet.seq, packet.end_seq);
    format!("{ip}{} {seq}:{end}({}){ack}{options}", packet.flags, packet.len)
}

/// The ECN field as scripts write it.
fn ecn_written(field: EcnField) -> &'static str {
    match field {
        EcnField::NotEct => "[noecn]",
        EcnField::Ect0 => "[ect0]",
        EcnField::Ect1 => "[ect1]",
        EcnField::Ce => "[ce]",
    }
}

fn listed(options: &[TcpOption]) -> String {
    let known = options.iter().filter_map(|option| match option {
        TcpOption::Nop => None,
        TcpOption::Mss(mss) => Some(format!("mss {mss}")),
        TcpOption::SackOk => Some("sackOK".to_owned()),
        TcpOption::Wscale(shift) => Some(format!("wscale {shift}")),
        TcpOption::Timestamp { val, .. } => Some(format!("TS val {val}")),
        TcpOption::Sack(blocks) => {
            let blocks: Vec<String> = blocks.iter().map(|(start, end)| format!("{start}:{end}")).collect();
            Some(format!("sack {}", blocks.join(" ")))
        }
        TcpOption::Other(name) => Some(name.clone()),
    });
    let known: Vec<String> = known.collect();
    if known.is_empty() { String::new() } else { format!(" <{}>", known.join(",")) }
}
