//! Counts of events that should not occur to a loaded algorithm.

use fairpace_cc::Clamps;
use libbpf_rs::query::MapInfo;
use libbpf_rs::{MapCore, MapFlags, MapHandle};

use crate::list::sibling;
use crate::{Entry, Error, Loaded};

/// Counts since an algorithm was loaded, over all its sockets: `struct cc_counters` of cc/bpf/flow.h.
/// All counts are 0 with a listed algorithm on a kernel that has memory and skips no program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counters {
    /// Number of ACKs that were handled without state because the kernel had no memory for it.
    pub fallbacks: u64,
    /// Number of values of cwnd and ssthresh that no hook had decided, and that were corrected: the kernel
    /// skips programs (docs/notes/skipped-programs.md).
    pub heals: u64,
    /// Decisions that were outside their bounds: a defect of the algorithm's header.
    pub clamps: Clamps,
}

impl Counters {
    /// Notes for a reader of results, a sentence each; empty if all counts are 0.
    #[must_use]
    pub fn sentences(&self) -> Vec<String> {
        let Counters { fallbacks, heals, clamps } = self;
        let fallbacks = (*fallbacks > 0).then(|| {
            format!("{fallbacks} ACKs were handled without state, because the kernel had no memory for it")
        });
        let heals = (*heals > 0).then(|| {
            format!(
                "{heals} values of cwnd or ssthresh that nothing had decided were put right: the kernel \
                 skips programs"
            )
        });
        let clamps = (clamps.total() > 0).then(|| {
            format!("decisions that would stop or break a connection were changed: {}", clamps.sentence())
        });
        [fallbacks, heals, clamps].into_iter().flatten().collect()
    }

    /// Reads the counts from bytes of the kernel; 0 for events that an older version of the shim does not
    /// count.
    fn from_bytes(bytes: &[u8]) -> Counters {
        let word = |at: usize| {
            let bytes = bytes.get(at * 8..).and_then(<[u8]>::first_chunk);
            bytes.map_or(0, |bytes| u64::from_ne_bytes(*bytes))
        };
        Counters::from_values(word)
    }

    /// The counts from the values of struct cc_counters, each by its place.
    pub(crate) fn from_values(value: impl Fn(usize) -> u64) -> Counters {
        let clamps = Clamps::from_array(std::array::from_fn(|field| value(2 + field)));
        Counters { fallbacks: value(0), heals: value(1), clamps }
    }
}

fn read(map: &MapHandle, name: &str) -> Result<Counters, Error> {
    let what = format!("reading the counters of {name}");
    let value = map.lookup(&0u32.to_ne_bytes(), MapFlags::ANY).map_err(Error::bpf(what))?;
    Ok(Counters::from_bytes(&value.unwrap_or_default()))
}

/// Returns the counters of a loaded algorithm. `None`: the algorithm is no longer loaded.
///
/// # Errors
/// The kernel does not let the algorithm's map be read.
pub fn counters(entry: &Entry) -> Result<Option<Counters>, Error> {
    let is_bss = |map: &MapInfo| map.name.to_string_lossy().ends_with(".bss");
    sibling(entry, is_bss)?.map(|map| read(&map, &entry.name)).transpose()
}

impl Loaded {
    /// Returns the counts since the algorithm was loaded, over all sockets.
    ///
    /// # Errors
    /// The kernel does not let the counters be read.
    pub fn counters(&self) -> Result<Counters, Error> {
        read(&self.counters, self.kernel_name())
    }
}
