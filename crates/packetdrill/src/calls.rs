//! System calls: what the application of the script does. Data is counted, not stored.

use fairpace_tcp::Nanos;

use crate::endpoint::Stage;
use crate::fd::{Blocked, Fd};
use crate::run::{End, Run};
use crate::script::{Arg, Call, Span};

/// Most bytes of one write: what the model keeps per packet fits into memory then.
const MOST_WRITTEN: i64 = 256 << 20;
/// The number of the error of a connection that was reset (Linux).
const ECONNRESET: i64 = 104;
/// The flags of fcntl of a socket (Linux).
const O_RDWR: i64 = 2;
/// The flag of fcntl of a socket that does not block (Linux).
const O_NONBLOCK: i64 = 0o4000;

/// Socket options that change nothing here.
const WITHOUT_EFFECT: &[&str] = &[
    "IP_BIND_ADDRESS_NO_PORT",
    "IP_MTU_DISCOVER",
    "IP_RECVERR",
    "IP_TOS",
    "SO_KEEPALIVE",
    "SO_MARK",
    "SO_PRIORITY",
    "SO_RCVBUF",
    "SO_RCVLOWAT",
    "SO_REUSEADDR",
    "SO_REUSEPORT",
    "TCP_NODELAY",
];

/// What a call returns at once.
enum Done {
    Value(i64),
    Error(&'static str),
    /// It waits for the handshake, or reads this many bytes at most; the value comes later.
    Waits {
        reads: Option<u64>,
    },
}

impl Run<'_> {
    pub(crate) fn call(&mut self, call: &Call, span: &Span, ends: Option<Nanos>) -> Result<(), End> {
        if let Some(blocked) = &self.blocked {
            let message = format!("{} still waits when {} is called", blocked.name, call.name);
            return Err(self.fail(span, message, "the handshake or the data for it has not come"));
        }
        if call.errno.as_deref() == Some("EFAULT") {
            return Err(self.refuse(span, "memory of the application, and so no bad address"));
        }
        let done = self.performed(call, span)?;
        let (value, errno) = match done {
            Done::Waits { reads } => {
                let (name, result) = (call.name.clone(), call.result.clone());
                self.blocked = Some(Blocked { reads, name, ends, result, span: span.clone() });
                return self.check_blocked();
            }
            Done::Value(value) => (value, None),
            Done::Error(name) => (-1, Some(name)),
        };
        if ends.is_some_and(|ends| ends > self.end.now + self.tolerance(self.end.now)) {
            return Err(self.refuse(span, &format!("a {} that waits", call.name)));
        }
        let expected = call.result.int();
        let is_expected = call.result == Arg::Any || expected == Some(value);
        if is_expected && call.errno.as_deref() == errno {
            return Ok(());
        }
        let expected = match &call.result {
            Arg::Int(value) => returned(*value, call.errno.as_deref()),
            _ => "a number".to_owned(),
        };
        let message = format!("expected {} to return {expected}", call.name);
        Err(self.fail(span, message, &format!("it returned {}", returned(value, errno))))
    }

    /// Checks that no call waits at the end of the script.
    pub(crate) fn check_end(&mut self) -> Result<(), End> {
        let Some(Blocked { name, span, .. }) = self.blocked.take() else { return Ok(()) };
        let message = format!("{name} still waits at the end of the script");
        Err(self.fail(&span, message, "the handshake or the data for it has not come"))
    }

    /// Ends the call that waits, if what it waits for has come, and checks when.
    pub(crate) fn check_blocked(&mut self) -> Result<(), End> {
        let Some(blocked) = &self.blocked else { return Ok(()) };
        let ready = match blocked.reads {
            Some(_) => self.readable() > 0,
            None => self.end.stage == Stage::Established,
        };
        if !ready {
            return Ok(());
        }
        let Blocked { ends, name, span, reads, result } = blocked.clone();
        self.blocked = None;
        if let Some(most) = reads {
            let bytes = self.readable().min(most);
            self.read += bytes;
            if result != Arg::Any && result.int() != Some(bytes as i64) {
                let expected = result.int().map_or_else(|| "a number".to_owned(), |value| value.to_string());
                let message = format!("expected {name} to return {expected}");
                return Err(self.fail(&span, message, &format!("it returned {bytes}")));
            }
        }
        match ends {
            Some(ends) if ends.abs_diff(self.end.now) > self.tolerance(ends) => {
                let message = format!("expected {name} to end at {}", self.at(ends));
                Err(self.fail(&span, message, &format!("it ended at {}", self.at(self.end.now))))
            }
            _ => Ok(()),
        }
    }

    fn readable(&self) -> u64 {
        let received = self.end.rcv_nxt() - u64::from(self.end.fins.received);
        received.saturating_sub(1 + self.read)
    }

    fn performed(&mut self, call: &Call, span: &Span) -> Result<Done, End> {
        let first = call.args.first().and_then(Arg::int).unwrap_or(-1);
        match call.name.as_str() {
            "socket" => self.socket(call, span),
            "bind" => Ok(Done::Value(0)),
            "listen" => {
                self.fd(first, span)?.is_listener = true;
                self.end.stage = Stage::Listening;
                Ok(Done::Value(0))
            }
            "accept" | "accept4" => self.accept(call, first, span),
            "connect" => self.connect(first, span),
            "write" | "send" | "sendto" | "writev" | "sendmsg" => self.write(call, first, span),
            "read" | "recv" | "recvfrom" => self.read(call, first, span),
            "close" => self.close(first, span),
            "fcntl" => self.fcntl(call, first, span),
            "setsockopt" => self.setsockopt(call, span),
            "getsockopt" => self.getsockopt(call, span),
            "ioctl" => self.ioctl(call, span),
            other => Err(self.refuse(span, &format!("the system call {other}"))),
        }
    }

    /// The number of the error of a connection that was reset. The first call that asks for it takes it, as
    /// Linux's sock_error does.
    fn take_error(&mut self) -> Option<i64> {
        let is_new = self.end.stage == Stage::Reset && !std::mem::replace(&mut self.error_taken, true);
        is_new.then_some(ECONNRESET)
    }

    fn fd(&mut self, fd: i64, span: &Span) -> Result<&mut Fd, End> {
        if !self.fds.contains_key(&fd) {
            return Err(self.fail(
                span,
                format!("there is no file descriptor {fd}"),
                "open it with socket()",
            ));
        }
        Ok(self.fds.entry(fd).or_insert(Fd { is_listener: false, nonblocking: false }))
    }

    fn socket(&mut self, call: &Call, span: &Span) -> Result<Done, End> {
        let other =
            ["SOCK_DGRAM", "SOCK_RAW", "SOCK_SEQPACKET", "IPPROTO_UDP", "IPPROTO_MPTCP", "IPPROTO_SCTP"];
        let is_of = |word: &&&str| call.args.iter().any(|arg| arg.has_word(word));
        if let Some(word) = other.iter().find(is_of) {
            return Err(self.refuse(span, &format!("a socket with {word}, which is not TCP's")));
        }
        let fd = call.result.int().unwrap_or(-1);
        let nonblocking = call.args.iter().any(|arg| arg.has_word("SOCK_NONBLOCK"));
        self.fds.insert(fd, Fd { is_listener: false, nonblocking });
        Ok(Done::Value(fd))
    }

    fn accept(&mut self, call: &Call, listener: i64, span: &Span) -> Result<Done, End> {
        let nonblocking = self.fd(listener, span)?.nonblocking;
        if self.end.stage != Stage::Established && nonblocking {
            return Ok(Done::Error("EAGAIN"));
        }
        let fd = call.result.int().unwrap_or(-1);
        let flags = call.args.iter().any(|arg| arg.has_word("SOCK_NONBLOCK"));
        self.fds.insert(fd, Fd { is_listener: false, nonblocking: flags });
        match self.end.stage {
            Stage::Established => Ok(Done::Value(fd)),
            _ => Ok(Done::Waits { reads: None }),
        }
    }

    fn connect(&mut self, fd: i64, span: &Span) -> Result<Done, End> {
        let nonblocking = self.fd(fd, span)?.nonblocking;
        if nonblocking && self.end.stage == Stage::SynSent {
            return Ok(Done::Error("EALREADY"));
        }
        if self.end.stage == Stage::Established {
            return Ok(if nonblocking { Done::Value(0) } else { Done::Error("EISCONN") });
        }
        self.of_stack(span, |end| end.connect())?;
        Ok(if nonblocking { Done::Error("EINPROGRESS") } else { Done::Waits { reads: None } })
    }

    fn write(&mut self, call: &Call, fd: i64, span: &Span) -> Result<Done, End> {
        self.fd(fd, span)?;
        let unknown = |word: &&String| !["MSG_NOSIGNAL", "MSG_DONTWAIT"].contains(&word.as_str());
        let words = call.args.iter().skip(2).flat_map(|arg| match arg {
            Arg::Words(words) => words.as_slice(),
            _ => &[],
        });
        if let Some(flag) = words.into_iter().find(unknown) {
            return Err(self.refuse(span, &format!("{} with {flag}", call.name)));
        }
        let bytes = match call.name.as_str() {
            "writev" => call.args.get(1).map_or(0, vectors),
            "sendmsg" => message_bytes(call.args.get(1)),
            _ => call.args.get(2).and_then(Arg::int).unwrap_or(0),
        };
        if !(0..=MOST_WRITTEN).contains(&bytes) {
            return Err(self.refuse(span, &format!("a write of {bytes} bytes")));
        }
        match self.end.stage {
            Stage::Established => {}
            Stage::Reset => return Ok(Done::Error(self.take_error().map_or("EPIPE", |_| "ECONNRESET"))),
            _ => return Err(self.refuse(span, "data before the handshake")),
        }
        self.of_stack(span, |end| end.write(bytes as u64))?;
        Ok(Done::Value(bytes))
    }

    fn read(&mut self, call: &Call, fd: i64, span: &Span) -> Result<Done, End> {
        let nonblocking =
            self.fd(fd, span)?.nonblocking || call.args.iter().any(|a| a.has_word("MSG_DONTWAIT"));
        let most = call.args.get(2).and_then(Arg::int).unwrap_or(0).max(0) as u64;
        let bytes = self.readable().min(most);
        if bytes == 0 && self.end.stage == Stage::Reset {
            return Ok(self.take_error().map_or(Done::Value(0), |_| Done::Error("ECONNRESET")));
        }
        if bytes == 0 && !self.end.fins.received {
            return Ok(if nonblocking { Done::Error("EAGAIN") } else { Done::Waits { reads: Some(most) } });
        }
        self.read += bytes;
        Ok(Done::Value(bytes as i64))
    }

    fn close(&mut self, fd: i64, span: &Span) -> Result<Done, End> {
        let is_listener = self.fd(fd, span)?.is_listener;
        if !is_listener {
            if self.readable() > 0 {
                return Err(self.refuse(span, "the RST of a close with data that was not read"));
            }
            self.of_stack(span, |end| end.close())?;
        }
        self.fds.remove(&fd);
        Ok(Done::Value(0))
    }

    fn fcntl(&mut self, call: &Call, fd: i64, span: &Span) -> Result<Done, End> {
        let flags = call.args.get(2);
        let nonblocking = flags.is_some_and(|flags| flags.has_word("O_NONBLOCK"));
        let fd = self.fd(fd, span)?;
        match call.args.get(1).map(Arg::word) {
            Some("F_GETFL") => Ok(Done::Value(O_RDWR | if fd.nonblocking { O_NONBLOCK } else { 0 })),
            Some("F_SETFL") => {
                fd.nonblocking = nonblocking;
                Ok(Done::Value(0))
            }
            _ => Err(self.refuse(span, "this fcntl")),
        }
    }

    fn setsockopt(&mut self, call: &Call, span: &Span) -> Result<Done, End> {
        let (name, value) = (call.args.get(2).map_or("", Arg::word), call.args.get(3));
        let refused = match name {
            "SO_SNDBUF" => {
                self.send_buffer = value.and_then(Arg::int);
                return Ok(Done::Value(0));
            }
            "TCP_CONGESTION" => {
                let algorithm = match value {
                    Some(Arg::Text(name)) => name.clone(),
                    Some(Arg::List(items)) => match items.as_slice() {
                        [Arg::Text(name)] => name.clone(),
                        _ => String::new(),
                    },
                    _ => String::new(),
                };
                self.of_stack(span, |end| match end.stage {
                    Stage::Established => Err("another congestion control within a connection".to_owned()),
                    _ => end.setup.algorithm(&algorithm),
                })?;
                return Ok(Done::Value(0));
            }
            name if WITHOUT_EFFECT.contains(&name) => return Ok(Done::Value(0)),
            "TCP_MAXSEG" => "MSS changes (TCP_MAXSEG)",
            "TCP_FASTOPEN" | "TCP_FASTOPEN_CONNECT" | "TCP_FASTOPEN_KEY" => "fast open",
            "TCP_MD5SIG" => "MD5 signatures",
            "SO_ZEROCOPY" => "zero copy",
            "TCP_CORK" => "corked data (TCP_CORK)",
            "SO_TIMESTAMPING" => "timestamps of packets for the application",
            name => return Err(self.refuse(span, &format!("the socket option {name}"))),
        };
        Err(self.refuse(span, refused))
    }

    fn getsockopt(&mut self, call: &Call, span: &Span) -> Result<Done, End> {
        let (name, expected) = (call.args.get(2).map_or("", Arg::word), call.args.get(3).and_then(Arg::int));
        let value = match (name, self.send_buffer) {
            ("SO_ERROR", _) => self.take_error().unwrap_or(0),
            ("SO_SNDBUF", Some(bytes)) => bytes.saturating_mul(2), // Linux doubles what is set
            ("TCP_MAXSEG", _) => self.end.agreed.mss.into(),
            _ => return Err(self.refuse(span, &format!("the socket option {name}"))),
        };
        if expected.is_some_and(|expected| expected != value) {
            let message = format!("expected {name} to be {}", expected.unwrap_or(0));
            return Err(self.fail(span, message, &format!("it is {value}")));
        }
        Ok(Done::Value(0))
    }

    /// `ioctl(4, SIOCINQ, [1000]) = 0` and SIOCOUTQ: bytes to read, and bytes not acknowledged.
    fn ioctl(&mut self, call: &Call, span: &Span) -> Result<Done, End> {
        let info = self.end.sender.info();
        let unacknowledged = (info.written - self.end.sender.snd_una()) * u64::from(self.end.agreed.mss);
        let value = match call.args.get(1).map(Arg::word) {
            Some("SIOCINQ" | "FIONREAD") => self.readable(),
            Some("SIOCOUTQ") => unacknowledged,
            _ => return Err(self.refuse(span, "this ioctl")),
        };
        match call.args.get(2).and_then(Arg::int) {
            Some(expected) if expected != value as i64 => {
                Err(self.fail(span, format!("expected {expected} bytes"), &format!("there are {value}")))
            }
            _ => Ok(Done::Value(0)),
        }
    }
}

/// A result as scripts write it: `1000`, `-1 EAGAIN`.
fn returned(value: i64, errno: Option<&str>) -> String {
    errno.map_or_else(|| value.to_string(), |errno| format!("{value} {errno}"))
}

/// Bytes of `[{..., 1000}, {..., 2000}]`.
fn vectors(arg: &Arg) -> i64 {
    let Arg::List(items) = arg else { return 0 };
    let length = |item: &Arg| match item {
        Arg::Struct(fields) => fields.last().and_then(|(_, value)| value.int()).unwrap_or(0),
        _ => 0,
    };
    items.iter().map(length).fold(0, i64::saturating_add)
}

/// Bytes of the vectors of a `msghdr`.
fn message_bytes(arg: Option<&Arg>) -> i64 {
    let Some(Arg::Struct(fields)) = arg else { return 0 };
    fields.iter().find(|(name, _)| name == "msg_iov").map_or(0, |(_, value)| vectors(value))
}
