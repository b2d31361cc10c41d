//! Results of quick cases that the program contains, so that the first `fairpace evaluate ./mine.h --quick`
//! simulates only `mine`. `fairpace-dev quick-records` writes and checks them.
//!
//! A simulation is a function of its scenario, its seed, the algorithms and the simulator. A result is used
//! for the case, seed and sources of algorithms that it was measured with, and for no other: its key is a
//! hash of them. That the simulator still gives these results is tested.

use std::collections::{BTreeMap, HashMap};
use std::io::{Read, Write};
use std::sync::OnceLock;

use fairpace_results::Summary;
use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use sha2::{Digest, Sha256};

use crate::expand::Case;
use crate::measure::{Measured, Metric};
use crate::sources::of_algorithms;

/// The algorithms whose results are contained: those that `fairpace evaluate` measures beside others.
pub const ALGORITHMS: [&str; 5] = ["cubic", "reno", "bbr1", "bbr3", "bbq"];
/// The contained results, as [`pack`] writes them.
const PACKED: &[u8] = include_bytes!("../assets/quick.bin");
/// Bytes of a key: two of 2,000 are equal by chance once in 10^8 times.
const KEY_BYTES: usize = 6;

/// What identifies a result: a hash of the case, the seed and the sources of the algorithms.
pub type Key = [u8; KEY_BYTES];

/// The metrics of a case: those of every case, then those of its conditions; each with the flows that it is
/// computed from.
fn metrics(case: &Case) -> Vec<(Metric, String)> {
    let mut all: Vec<(Metric, String)> = Metric::ALWAYS.map(|metric| (metric, String::new())).into();
    for check in &case.checks {
        let metric = (check.metric, check.of.clone());
        if !all.contains(&metric) {
            all.push(metric);
        }
    }
    all
}

/// Key of a case with a seed.
#[must_use]
pub fn key(case: &Case, seed: u64) -> Key {
    let (hash, available) = (&case.scenario.hash, case.available.to_bits());
    let sources = of_algorithms(&case.scenario);
    let text = format!("{hash} {seed} {available} {:?}{sources}", metrics(case));
    let mut key = Key::default();
    key.copy_from_slice(&Sha256::digest(text)[..KEY_BYTES]);
    key
}

/// The values of a run's metrics, in the order of its case.
#[must_use]
pub fn values(case: &Case, summary: &Summary) -> Vec<f64> {
    let measured = Measured::of(&case.scenario, summary, case.available);
    metrics(case).iter().map(|(metric, of)| measured.value(*metric, of)).collect()
}

/// Results by their keys.
pub type Results = HashMap<Key, Vec<f64>>;

/// The results that this program contains.
pub fn contained() -> &'static Results {
    static RESULTS: OnceLock<Results> = OnceLock::new();
    RESULTS.get_or_init(|| unpack(PACKED).unwrap_or_default())
}

/// The contained result of a case with a seed.
pub(crate) fn measured(case: &Case, seed: u64) -> Option<Measured> {
    let values = contained().get(&key(case, seed))?;
    Some(Measured::kept(metrics(case).into_iter().zip(values.iter().copied()).collect::<BTreeMap<_, _>>()))
}

/// Packs results: all keys, all counts of values, then the values, whose first bytes come before all second
/// bytes, since the first ones are alike.
///
/// # Errors
/// Returns an error if memory cannot be written to, which does not happen.
pub fn pack(results: &Results) -> std::io::Result<Vec<u8>> {
    let mut sorted: Vec<(&Key, &Vec<f64>)> = results.iter().collect();
    sorted.sort_by_key(|(key, _)| **key);
    let mut bytes = u32::try_from(sorted.len()).unwrap_or(u32::MAX).to_le_bytes().to_vec();
    bytes.extend(sorted.iter().flat_map(|(key, _)| **key));
    bytes.extend(sorted.iter().map(|(_, values)| values.len() as u8));
    let values: Vec<[u8; 8]> =
        sorted.iter().flat_map(|(_, values)| values.iter().map(|value| value.to_be_bytes())).collect();
    (0..8).for_each(|plane| bytes.extend(values.iter().map(|value| value[plane])));
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(&bytes)?;
    encoder.finish()
}

/// Unpacks what [`pack`] has packed; `None` if it is something else.
fn unpack(packed: &[u8]) -> Option<Results> {
    let mut bytes = Vec::new();
    DeflateDecoder::new(packed).read_to_end(&mut bytes).ok()?;
    let (count, rest) = bytes.split_first_chunk::<4>()?;
    let count = u32::from_le_bytes(*count) as usize;
    let (keys, rest) = rest.split_at_checked(count.checked_mul(KEY_BYTES)?)?;
    let (counts, planes) = rest.split_at_checked(count)?;
    let all: usize = counts.iter().map(|count| usize::from(*count)).sum();
    if planes.len() != all * 8 {
        return None;
    }
    let value = |index: usize| f64::from_be_bytes(std::array::from_fn(|plane| planes[plane * all + index]));
    let mut first = 0;
    let result = |(key, count): (&[u8], &u8)| {
        let indices = first..first + usize::from(*count);
        first = indices.end;
        Some((Key::try_from(key).ok()?, indices.map(value).collect()))
    };
    keys.chunks_exact(KEY_BYTES).zip(counts).map(result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_back_bit_by_bit() {
        let one = ([1, 2, 3, 4, 5, 6], vec![0.1, f64::INFINITY, -0.0]);
        let results: Results = [one, ([0; 6], Vec::new()), ([9; 6], vec![1.0 / 3.0])].into();
        let packed = pack(&results).unwrap();
        let again = unpack(&packed).unwrap();
        let bits = |of: &Results| {
            let bits = |values: &Vec<f64>| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
            of.iter().map(|(key, values)| (*key, bits(values))).collect::<BTreeMap<_, _>>()
        };
        assert_eq!(bits(&again), bits(&results));
        assert!(unpack(b"something else").is_none());
        assert!(unpack(&packed[..packed.len() / 2]).is_none());
    }

    #[test]
    fn the_contained_results_are_small() {
        assert!(PACKED.len() <= 100_000, "{} bytes", PACKED.len());
    }
}
