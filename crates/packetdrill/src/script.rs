//! A script as values: what `parse.rs` reads and `run.rs` performs. Numbers are those of the script, before
//! sequence numbers are mapped to the connection's.

use std::ops::Range;

use fairpace_tcp::Nanos;

/// A place in the text of the script, bytes.
pub(crate) type Span = Range<usize>;

/// A script of packetdrill.
#[derive(Debug, Clone)]
pub struct Script {
    /// Name of the file, for messages.
    pub(crate) file: String,
    pub(crate) text: String,
    /// The options at its start, such as `--tolerance_usecs=20000`.
    pub(crate) flags: Vec<Flag>,
    pub(crate) events: Vec<Event>,
}

/// An option, `--name=value`.
#[derive(Debug, Clone)]
pub(crate) struct Flag {
    pub(crate) name: String,
    pub(crate) value: String,
    pub(crate) span: Span,
}

#[derive(Debug, Clone)]
pub(crate) struct Event {
    pub(crate) when: When,
    /// End of a system call that blocks, relative to what `when` is relative to.
    pub(crate) end: Option<Nanos>,
    pub(crate) action: Action,
    /// The time and the action.
    pub(crate) span: Span,
}

/// The time of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum When {
    /// A command before or after all events has no time.
    Untimed,
    /// `*`
    Any,
    /// `0.1` or `0.1~0.2`, from the start of the script.
    At(Nanos, Nanos),
    /// `+0.1` or `+0.1~+0.2`, from the event before.
    After(Nanos, Nanos),
}

#[derive(Debug, Clone)]
pub(crate) enum Action {
    Packet(Packet),
    Call(Call),
    /// The text between back quotes.
    Command(String),
    /// The text between `%{` and `}%`, and where it begins.
    Code(String, usize),
    /// A packet of a protocol that is not TCP, or in a tunnel: its first word.
    Foreign(String),
}

/// A TCP packet: `<` goes to the stack, `>` is expected from the stack.
#[derive(Debug, Clone)]
pub(crate) struct Packet {
    pub(crate) inbound: bool,
    /// What stands in brackets before the flags: `ect0`, `tos 0x3`.
    pub(crate) ip: Vec<String>,
    /// True with ports: `8080>80`.
    pub(crate) ports: bool,
    pub(crate) flags: String,
    pub(crate) seq: u32,
    pub(crate) end_seq: u32,
    pub(crate) len: u32,
    pub(crate) ack: Option<u32>,
    pub(crate) win: Option<u32>,
    pub(crate) urg: bool,
    /// `None`: `<...>`, any options.
    pub(crate) options: Option<Vec<TcpOption>>,
}

impl Packet {
    pub(crate) fn has(&self, flag: char) -> bool {
        self.flags.contains(flag)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TcpOption {
    Nop,
    Mss(u32),
    SackOk,
    Wscale(u32),
    Timestamp {
        val: u32,
        ecr: u32,
    },
    Sack(Vec<(u32, u32)>),
    /// An option that the stack has not: its first word.
    Other(String),
}

/// A system call with its arguments and its result.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) name: String,
    pub(crate) args: Vec<Arg>,
    pub(crate) result: Arg,
    /// The name of the error, such as `EINPROGRESS`.
    pub(crate) errno: Option<String>,
}

/// An argument of a system call.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Arg {
    /// `...`
    Any,
    Int(i64),
    Text(String),
    /// `O_RDWR|O_NONBLOCK`: its words.
    Words(Vec<String>),
    /// `[1]`
    List(Vec<Arg>),
    /// `{events=POLLIN}`: fields without a name have an empty one.
    Struct(Vec<(String, Arg)>),
}

impl Arg {
    pub(crate) fn int(&self) -> Option<i64> {
        match self {
            Arg::Int(n) => Some(*n),
            Arg::List(items) if items.len() == 1 => items[0].int(),
            _ => None,
        }
    }

    pub(crate) fn has_word(&self, word: &str) -> bool {
        matches!(self, Arg::Words(words) if words.iter().any(|w| w == word))
    }

    /// The only word, such as `SO_SNDBUF`.
    pub(crate) fn word(&self) -> &str {
        match self {
            Arg::Words(words) if words.len() == 1 => &words[0],
            _ => "",
        }
    }
}
