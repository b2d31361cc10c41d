//! `fairpace-dev soak --reordering`: runs each algorithm for a time over a path that reorders packets.
//!
//! Reordering makes senders reduce and undo all the time, so that the kernel uses the values that `ssthresh`
//! and `undo_cwnd` return. Each ACK is checked: no algorithm sets a cwnd outside of `CWND_PKTS`. On a kernel
//! that skips programs such a cwnd is reported and not judged.

use std::io;
use std::ops::RangeInclusive;
use std::thread::sleep;
use std::time::{Duration, Instant};

use fairpace_cc::{Algorithm, Params};
use fairpace_kernel::{Features, LoadOptions, load};
use serde::{Deserialize, Serialize};

use super::acks::AckCounter;
use super::flows::{Flows, HostCounters};
use super::kernel_log::KernelLog;
use super::path::{self, RECEIVER};
use super::traffic::serve;
use super::warn_once;
use crate::machine::on_own_thread;

/// Range of a valid cwnd, packets. The path holds hundreds of packets for all connections together.
const CWND_PKTS: RangeInclusive<u32> = 1..=100_000;
/// Default number of simultaneous connections.
pub const REORDERED_CONNECTIONS: usize = 100;
/// Time between two samples of all connections.
const SAMPLE_EVERY: Duration = Duration::from_millis(50);

/// The result of an algorithm.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reordered {
    /// Name of the algorithm.
    pub algorithm: String,
    /// Number of ACKs that senders received.
    pub acks: u64,
    /// Number of ACKs that found a cwnd outside of its range.
    pub absurd: u64,
    /// Number of samples of the connections.
    pub samples: u64,
    /// The least and the largest sampled cwnd, packets.
    pub cwnd_pkts: (u32, u32),
    /// Number of fast recoveries.
    pub recoveries: u64,
    /// Number of reductions that were undone.
    pub undos: u64,
    /// Decisions that the shim clamped, by field, in words; empty: none.
    #[serde(default)]
    pub clamps: String,
    /// Number of values that the shim corrected because no call had decided them.
    #[serde(default)]
    pub heals: u64,
    /// Bytes of whole transfers, each checked.
    pub bytes: u64,
    /// Failures, a sentence each.
    pub failures: Vec<String>,
    /// Observations that a kernel that skips programs may cause.
    pub not_judged: Vec<String>,
}

/// The path: slow enough for an emulated machine on a busy host. Its buffer holds 400 ms, 13 packets for each
/// of 100 connections. The slower device gets 3.1 % of the packets and has 3.6 % of the rate, so they wait
/// some 30 ms on average. On a kernel that skips programs, cubic gets invalid cwnds within 10 s here.
const PATH: path::Reordering = path::Reordering { rate_kbit: 40_000, buffer_bytes: 2_000_000, ratio: 28 };

/// Runs each algorithm on a path of its own, one after the other, and reports each result. `more` decides
/// whether to continue.
///
/// # Errors
/// Returns an error if the path cannot be created, or if `more` fails.
pub fn each(
    algorithms: &[Algorithm],
    connections: usize,
    time: Duration,
    mut more: impl FnMut(Reordered) -> io::Result<bool> + Send,
) -> io::Result<()> {
    let work = || {
        let receiver = path::enter()?;
        path::reorder(&receiver, PATH)?;
        receiver.enter(|| serve(RECEIVER))?;
        for algorithm in algorithms {
            if !more(run(*algorithm, connections, time))? {
                break;
            }
        }
        Ok(())
    };
    // the namespaces end with the thread that is in them
    on_own_thread(work)
}

/// Runs an algorithm on the path of the calling thread's host.
fn run(algorithm: Algorithm, connections: usize, time: Duration) -> Reordered {
    let mut result = Reordered {
        algorithm: algorithm.name().to_owned(),
        cwnd_pkts: (u32::MAX, 0),
        ..Reordered::default()
    };
    result.not_judged.extend(warn_once::arm().err());
    let log = KernelLog::open();
    if let Err(error) = observe(algorithm, connections, time, &mut result) {
        result.failures.push(error.to_string());
    }
    let alarms = log.alarms();
    result.failures.extend(alarms.failures);
    result.not_judged.extend(alarms.not_judged);
    let wrong = result.absurd_text().into_iter().chain(result.changed_text());
    let wrong: Vec<String> = wrong.collect();
    if Features::probe().skips_programs() {
        result.not_judged.extend(wrong);
    } else {
        result.failures.extend(wrong);
    }
    result
}

/// The reason why the results are no evidence, if there is one: the path made no sender reduce and undo.
#[must_use]
pub fn shows_nothing<'r>(results: impl IntoIterator<Item = &'r Reordered>) -> Option<String> {
    let mut undos = 0;
    for result in results {
        undos += result.undos;
        if result.recoveries == 0 {
            return Some(format!("no sender of {} reduced, so it shows nothing", result.algorithm));
        }
    }
    (undos == 0).then(|| "no sender took a reduction back, so it shows nothing".to_owned())
}

impl Reordered {
    /// Text of the result: a line, and one for each failure.
    #[must_use]
    pub fn text(&self) -> String {
        let (least, most) = self.cwnd_pkts;
        let Self { algorithm, acks, samples, recoveries, undos, .. } = self;
        let mut out = format!(
            "{algorithm:12} {acks} ACKs, cwnd {least} to {most} in {samples} samples, \
             {recoveries} recoveries, {undos} undos, {:.1} MB\n",
            self.bytes as f64 / 1e6
        );
        for said in &self.not_judged {
            out.push_str(&format!("NOT JUDGED: {said}\n"));
        }
        for failure in &self.failures {
            out.push_str(&format!("failure: {failure}\n"));
        }
        out
    }

    /// Text on changed decisions of an algorithm that must have none: a listed algorithm that decides by
    /// itself stays within its bounds, and its decisions are in force.
    fn changed_text(&self) -> Option<String> {
        let by_itself = self.algorithm.parse().is_ok_and(|cc| fairpace_sim::decides_by_itself(&cc));
        let clamped =
            (!self.clamps.is_empty()).then(|| format!("decisions were out of bounds: {}", self.clamps));
        let healed = (self.heals > 0).then(|| format!("{} values had not been decided", self.heals));
        let texts: Vec<_> = clamped.into_iter().chain(healed).collect();
        (by_itself && !texts.is_empty()).then(|| texts.join("; "))
    }

    fn absurd_text(&self) -> Option<String> {
        let (least, most) = self.cwnd_pkts;
        let sampled = self.samples > 0 && !(CWND_PKTS.contains(&least) && CWND_PKTS.contains(&most));
        (self.absurd > 0 || sampled).then(|| {
            let (absurd, acks, lowest, highest) =
                (self.absurd, self.acks, CWND_PKTS.start(), CWND_PKTS.end());
            format!(
                "{absurd} of {acks} ACKs found a cwnd that is not within {lowest} and {highest}; sampled: \
                 {least} to {most}"
            )
        })
    }
}

fn observe(
    algorithm: Algorithm,
    connections: usize,
    time: Duration,
    result: &mut Reordered,
) -> Result<(), Box<dyn std::error::Error>> {
    let loaded = load(&Params::defaults(algorithm), &LoadOptions::unique())?;
    let before = HostCounters::read()?;
    let acks = AckCounter::start()?;
    let (least, most) = (CWND_PKTS.start(), CWND_PKTS.end());
    let absurd = AckCounter::start_of(&format!("snd_cwnd < {least} || snd_cwnd > {most}"))?;
    let flows = Flows::start(connections, loaded.kernel_name())?;
    let begun = Instant::now();
    while begun.elapsed() < time {
        sleep(SAMPLE_EVERY);
        result.note(&flows)?;
    }
    (result.acks, result.absurd) = (acks.count()?, absurd.count()?);
    let counters = HostCounters::read()?.since(before);
    let changed = loaded.counters()?;
    (result.clamps, result.heals) = (changed.clamps.sentence(), changed.heals);
    (result.recoveries, result.undos) = (counters.recoveries, counters.undos);
    let (bytes, failures) = flows.finish();
    result.bytes = bytes;
    result.failures.extend(failures);
    Ok(())
}

impl Reordered {
    fn note(&mut self, flows: &Flows) -> io::Result<()> {
        for info in flows.sample() {
            let cwnd_pkts = info?.tcpi_snd_cwnd;
            self.samples += 1;
            self.cwnd_pkts = (self.cwnd_pkts.0.min(cwnd_pkts), self.cwnd_pkts.1.max(cwnd_pkts));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(cwnd_pkts: (u32, u32), absurd: u64) -> Reordered {
        Reordered { acks: 1000, absurd, samples: 100, cwnd_pkts, recoveries: 1, ..Reordered::default() }
    }

    #[test]
    fn a_cwnd_is_absurd_outside_of_its_range_whether_sampled_or_found_by_an_ack() {
        for (cwnd_pkts, absurd, is) in
            [((1, 100_000), 0, false), ((0, 100_000), 0, true), ((1, 100_001), 0, true), ((1, 10), 1, true)]
        {
            assert_eq!(result(cwnd_pkts, absurd).absurd_text().is_some(), is, "{cwnd_pkts:?} {absurd}");
        }
    }

    #[test]
    fn a_listed_algorithm_whose_decision_was_changed_is_wrong() {
        let changed = |algorithm: &str, clamps: &str, heals| {
            let (algorithm, clamps) = (algorithm.to_owned(), clamps.to_owned());
            Reordered { algorithm, clamps, heals, ..Reordered::default() }.changed_text()
        };
        let cwnd = "decisions were out of bounds: cwnd once";
        assert_eq!(changed("cubic", "cwnd once", 0).as_deref(), Some(cwnd));
        assert!(changed("cubic", "cwnd once", 1).unwrap().ends_with("; 1 values had not been decided"));
        assert!(changed("bbr3", "", 1).is_some());
        // the rate of fixed_rate is the user's
        assert!(changed("cubic", "", 0).is_none() && changed("fixed_rate", "pacing rate once", 0).is_none());
    }

    #[test]
    fn a_path_without_reductions_or_undos_shows_nothing() {
        let quiet = result((1, 10), 0);
        let undone = Reordered { undos: 3, ..quiet.clone() };
        assert!(shows_nothing([&quiet, &quiet]).is_some());
        assert_eq!(shows_nothing([&quiet, &undone]), None);
        assert!(shows_nothing([&undone, &Reordered { recoveries: 0, ..undone.clone() }]).is_some());
    }
}
