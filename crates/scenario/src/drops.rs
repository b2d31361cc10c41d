//! Packets of a flow that a scenario drops by their number: `drop = ["data 9-10", "syn 1"]`.

use std::fmt;
use std::sync::Arc;

/// The largest number of a packet. Segments of 1448 bytes up to this number are within half of TCP's sequence
/// space of 2^32 bytes, as comparisons of sequence numbers require (RFC 9293, section 3.4).
pub const MOST_NUMBER: u64 = 1_000_000;

/// A kind of packets. Packets of each kind are numbered from 1 in the order in which a connection sends them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum PacketKind {
    /// A SYN of the sender of data; the second SYN is the first retransmission.
    Syn,
    /// A full segment of new data. A retransmission has the number of the original.
    Data,
    /// A SYN-ACK; the second SYN-ACK is the first retransmission.
    SynAck,
    /// A pure ACK of the receiver of data.
    Ack,
}

impl PacketKind {
    /// All kinds, in the order of the canonical form: first the kinds that the sender of data sends.
    pub const ALL: [Self; 4] = [Self::Syn, Self::Data, Self::SynAck, Self::Ack];

    /// The kind's word in a scenario.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Syn => "syn",
            Self::SynAck => "synack",
            Self::Data => "data",
            Self::Ack => "ack",
        }
    }
}

/// Consecutive packets of one kind that are dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dropped {
    /// The kind of the packets.
    pub kind: PacketKind,
    /// The number of the first packet, from 1.
    pub first: u64,
    /// The number of the last packet.
    pub last: u64,
    /// True if the first retransmission of each packet is dropped, too; for data only.
    pub twice: bool,
}

impl fmt::Display for Dropped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind.name(), self.first)?;
        if self.last > self.first {
            write!(f, "-{}", self.last)?;
        }
        if self.twice { f.write_str(" twice") } else { Ok(()) }
    }
}

/// Packets of a flow that are dropped: in order, each packet once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Drops(Arc<[Dropped]>);

impl Default for Drops {
    fn default() -> Self {
        Drops(Arc::from([]))
    }
}

/// Error: an entry of a list of dropped packets that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("\"{entry}\" {reason}")]
pub struct NotDrops {
    /// The index of the entry, from 0.
    pub index: usize,
    /// The entry's text.
    pub entry: String,
    /// The reason why the entry cannot be used.
    pub reason: String,
}

impl Drops {
    /// The forms of an entry, for errors.
    pub(crate) const FORMS: &str = "\"data 9\", \"data 9-10\", \"data 40 twice\", \"syn 1\", \"synack 1\", \
                                    \"ack 3\"; packets of each kind are counted from 1";

    /// Reads entries such as `data 9-10`.
    ///
    /// # Errors
    /// The first entry that does not name packets, or names a packet that an earlier entry has.
    pub fn parse<T: AsRef<str>>(entries: &[T]) -> Result<Self, NotDrops> {
        let wrong = |index: usize, reason: String| NotDrops {
            index,
            entry: entries[index].as_ref().to_owned(),
            reason,
        };
        let read = |(index, entry): (usize, &T)| match entry_of(entry.as_ref()) {
            Ok(dropped) => Ok((dropped, index)),
            Err(reason) => Err(wrong(index, reason)),
        };
        let mut all = entries.iter().enumerate().map(read).collect::<Result<Vec<_>, _>>()?;
        all.sort_by_key(|(dropped, _)| (dropped.kind, dropped.first));
        let twin = all.windows(2).find(|pair| {
            let ((one, _), (next, _)) = (pair[0], pair[1]);
            one.kind == next.kind && one.last >= next.first
        });
        if let Some([(_, one), (_, next)]) = twin {
            let (earlier, later) = (entries[*one.min(next)].as_ref(), *one.max(next));
            return Err(wrong(later, format!("has a packet that \"{earlier}\" has, too")));
        }
        let mut merged: Vec<Dropped> = Vec::with_capacity(all.len());
        for (dropped, _) in all {
            match merged.last_mut() {
                Some(last) if last.continues_in(&dropped) => last.last = dropped.last,
                _ => merged.push(dropped),
            }
        }
        Ok(Drops(merged.into()))
    }

    /// The packets, by kind and then by number. Adjacent ranges are joined.
    pub fn iter(&self) -> impl Iterator<Item = &Dropped> {
        self.0.iter()
    }

    /// True if no packet is dropped.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Dropped {
    /// Returns whether `next` continues this range: the packets that follow, with the same `twice`.
    fn continues_in(&self, next: &Dropped) -> bool {
        (self.kind, self.twice, self.last + 1) == (next.kind, next.twice, next.first)
    }
}

/// Reads an entry; the error says what is wrong with it.
fn entry_of(text: &str) -> Result<Dropped, String> {
    let mut words = text.split_ascii_whitespace();
    let name = words.next().unwrap_or_default();
    let Some(kind) = PacketKind::ALL.into_iter().find(|kind| kind.name() == name) else {
        let names = PacketKind::ALL.map(PacketKind::name).join(", ");
        return Err(format!("does not begin with a kind of packets: {names}"));
    };
    let Some(numbers) = words.next() else { return Err(format!("does not say which {name} packet")) };
    let (first, last) = match numbers.split_once('-') {
        Some((first, last)) => (number_of(first)?, number_of(last)?),
        None => {
            let only = number_of(numbers)?;
            (only, only)
        }
    };
    if last < first {
        return Err(format!("ends at {last}, before it begins"));
    }
    let twice = match words.next() {
        None => false,
        Some("twice") if kind == PacketKind::Data => true,
        Some("twice") if kind == PacketKind::Ack => {
            return Err("is no data: an ACK is never retransmitted".to_owned());
        }
        Some("twice") => return Err(format!("is no data: a retransmitted {name} is {name} {}", last + 1)),
        Some(other) => return Err(format!("has `{other}` where only `twice` may be")),
    };
    match words.next() {
        None => Ok(Dropped { kind, first, last, twice }),
        Some(more) => Err(format!("goes on with `{more}`")),
    }
}

fn number_of(text: &str) -> Result<u64, String> {
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(format!("has `{text}` where a number is wanted"));
    }
    match text.parse() {
        Ok(0) => Err("has the number 0: the first packet is 1".to_owned()),
        Ok(number) if number <= MOST_NUMBER => Ok(number),
        _ => Err(format!("has the number {text}; it may be {MOST_NUMBER} at most")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(entries: &[&str]) -> Vec<String> {
        Drops::parse(entries).unwrap().iter().map(Dropped::to_string).collect()
    }

    #[test]
    fn entries_are_sorted_and_ranges_that_follow_on_each_other_are_one() {
        let entries =
            ["ack 3", "data 40 twice", "data 9", "synack 1", "data 10-12", "syn 1", "data  41 twice"];
        let expected = ["syn 1", "data 9-12", "data 40-41 twice", "synack 1", "ack 3"];
        assert_eq!(shown(&entries), expected);
        assert_eq!(shown(&expected), expected);
        // the first retransmission of one is dropped, that of the other is not
        assert_eq!(shown(&["data 1", "data 2 twice"]), ["data 1", "data 2 twice"]);
        assert!(Drops::parse::<&str>(&[]).unwrap().is_empty());
    }

    #[test]
    fn a_wrong_entry_is_named_with_the_reason() {
        let cases: &[(&[&str], usize, &str)] = &[
            (&["data 1", "fin 1"], 1, "does not begin with a kind of packets: syn, data, synack, ack"),
            (&[""], 0, "does not begin with a kind"),
            (&["DATA 1"], 0, "does not begin with a kind"),
            (&["data"], 0, "does not say which data packet"),
            (&["data x"], 0, "has `x` where a number is wanted"),
            (&["data 1-"], 0, "has `` where a number is wanted"),
            (&["data +1"], 0, "has `+1` where a number is wanted"),
            (&["data 1 - 2"], 0, "has `-` where only `twice` may be"),
            (&["syn 0"], 0, "has the number 0: the first packet is 1"),
            (&["data 1000001"], 0, "has the number 1000001; it may be 1000000 at most"),
            (&["data 99999999999999999999"], 0, "has the number 99999999999999999999; it may be"),
            (&["data 9-8"], 0, "ends at 8, before it begins"),
            (&["ack 3 twice"], 0, "is no data: an ACK is never retransmitted"),
            (&["syn 1 twice"], 0, "is no data: a retransmitted syn is syn 2"),
            (&["data 1 twice twice"], 0, "goes on with `twice`"),
            (&["data 10", "ack 1", "data 9-10"], 2, "has a packet that \"data 10\" has, too"),
            (&["data 9-10 twice", "data 10"], 1, "has a packet that \"data 9-10 twice\" has, too"),
        ];
        for (entries, index, reason) in cases {
            let wrong = Drops::parse(entries).unwrap_err();
            assert_eq!((wrong.index, wrong.entry.as_str()), (*index, entries[*index]), "{wrong}");
            assert!(wrong.reason.starts_with(reason), "{wrong}");
        }
    }
}
