//! What a link is made of beside its rate: its queue, its line, a trace in place of the rate.

use std::sync::Arc;
use std::time::Duration;

use crate::Steps;
use crate::keys::PACKET_BYTES;

/// How much a queue holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// Bytes, headers included.
    Bytes(u64),
    /// Packets of any size.
    Packets(u64),
}

impl Limit {
    /// In bytes; packets count as full ones.
    #[must_use]
    pub fn bytes(self) -> u64 {
        match self {
            Limit::Bytes(bytes) => bytes,
            Limit::Packets(pkts) => pkts.saturating_mul(PACKET_BYTES),
        }
    }
}

/// Which packets wait, which are dropped or marked, and in what order they leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Queue {
    /// First in, first out; what does not fit is dropped.
    #[default]
    Fifo,
    /// A FIFO that marks ECN-capable packets which find more than this waiting (a step, as data centres use it).
    Step(Limit),
    /// Random early detection.
    Red(Red),
    /// Controlled delay, RFC 8289.
    Codel(Codel),
    /// A queue with CoDel for each of many buckets of flows, served in turn, RFC 8290.
    FqCodel(FqCodel),
    /// Proportional integral controller enhanced, RFC 8033.
    Pie(Pie),
}

/// Whose RED.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RedRules {
    /// Linux: sch_red.
    Linux,
    /// Floyd and Jacobson 1993.
    Floyd,
}

/// Settings of RED. Thresholds are bytes of average backlog.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Red {
    /// Whose rules.
    pub rules: RedRules,
    /// Below this average nothing is dropped.
    pub min_bytes: u64,
    /// Above this average everything is.
    pub max_bytes: u64,
    /// The probability just below `max_bytes`, billionths.
    pub max_ppb: u64,
    /// What the average forgives, full packets: it sets the average's weight, as tc's `burst` does.
    pub burst_pkts: u64,
    /// From `max_bytes` to twice of it the probability grows to one (Floyd's gentle variant; his rules only).
    pub gentle: bool,
    /// Marks ECN-capable packets where it would drop them early.
    pub ecn: bool,
}

/// Settings of CoDel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Codel {
    /// Waiting time that is acceptable for good.
    pub target: Duration,
    /// For how long it may be exceeded; about the largest RTT.
    pub interval: Duration,
    /// Marks ECN-capable packets instead of dropping them.
    pub ecn: bool,
    /// Marks ECN-capable packets that waited longer than this, whatever the rest says.
    pub ce_threshold: Option<Duration>,
}

/// Settings of FQ-CoDel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FqCodel {
    /// What runs in each bucket.
    pub codel: Codel,
    /// Buckets that connections are hashed to.
    pub buckets: u32,
    /// Bytes that a bucket may send in its turn.
    pub quantum_bytes: u32,
}

/// Settings of PIE.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pie {
    /// The delay that it steers for.
    pub target: Duration,
    /// From one computation of the probability to the next.
    pub update: Duration,
    /// Marks ECN-capable packets instead of dropping them while the probability is at most 10 %.
    pub ecn: bool,
}

impl Queue {
    /// The names of all of them, as they are written.
    pub(crate) const NAMES: &[&str] = &["fifo", "step", "red", "red_floyd", "codel", "fq_codel", "pie"];

    /// As it is written.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Queue::Fifo => "fifo",
            Queue::Step(_) => "step",
            Queue::Red(Red { rules: RedRules::Linux, .. }) => "red",
            Queue::Red(Red { rules: RedRules::Floyd, .. }) => "red_floyd",
            Queue::Codel(_) => "codel",
            Queue::FqCodel(_) => "fq_codel",
            Queue::Pie(_) => "pie",
        }
    }

    /// What results call it: its name, and whose rules it follows where they differ.
    #[must_use]
    pub fn title(&self) -> &'static str {
        match self {
            Queue::Red(Red { rules: RedRules::Linux, .. }) => "red (Linux)",
            Queue::Red(Red { gentle: true, .. }) => "red (Floyd, gentle)",
            Queue::Red(_) => "red (Floyd)",
            other => other.name(),
        }
    }
}

impl Red {
    /// As tc sets it up before a queue of so many bytes when no more is said (iproute2, tc/q_red.c): `max` is a quarter of the queue, `min` a
    /// third of `max`.
    #[must_use]
    pub fn before(rules: RedRules, limit_bytes: u64) -> Self {
        let max_bytes = (limit_bytes / 4).max(2);
        Self::between(rules, (max_bytes / 3).max(1), max_bytes)
    }

    /// With these thresholds, and the rest as tc has it: a probability of 2 %, and a burst of (2 min + max) / 3 in full packets, the guideline
    /// of tc-red(8); no less than min, which tc refuses.
    #[must_use]
    pub fn between(rules: RedRules, min_bytes: u64, max_bytes: u64) -> Self {
        let guideline = min_bytes.saturating_mul(2).saturating_add(max_bytes) / (3 * PACKET_BYTES);
        let burst_pkts = guideline.max(min_bytes.div_ceil(PACKET_BYTES));
        Red { rules, min_bytes, max_bytes, max_ppb: 20_000_000, burst_pkts, gentle: false, ecn: false }
    }
}

impl Default for Codel {
    /// The RFC's.
    fn default() -> Self {
        let (target, interval) = (Duration::from_millis(5), Duration::from_millis(100));
        Codel { target, interval, ecn: false, ce_threshold: None }
    }
}

impl Default for FqCodel {
    /// The RFC's, and Linux's.
    fn default() -> Self {
        FqCodel { codel: Codel { ecn: true, ..Codel::default() }, buckets: 1024, quantum_bytes: 1514 }
    }
}

impl Default for Pie {
    /// The RFC's, and Linux's.
    fn default() -> Self {
        Pie { target: Duration::from_millis(15), update: Duration::from_millis(15), ecn: false }
    }
}

/// What lies behind a link's queue: propagation, and what happens on the way.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Line {
    /// Propagation to what follows; part of a flow's RTT.
    pub delay: Duration,
    /// Each packet takes up to so much longer, uniformly at random.
    pub jitter: Duration,
    /// Packets may overtake each other by their jitter; otherwise they keep their order.
    pub reorders: bool,
    /// Share of packets that arrive twice, billionths.
    pub duplicate_ppb: u64,
}

/// Opportunities to deliver, in Mahimahi's format, in place of a rate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trace {
    /// The file's name as it was written.
    pub file: String,
    /// Milliseconds since the start at which up to 1514 bytes can leave, in order; several may be equal. The last one is also the
    /// period after which all of them come again.
    pub opportunities_ms: Arc<[u32]>,
}

/// Later delays of a receiver or values of that kind.
pub type Delays = Steps<Duration>;
