//! The names of the congestion controls that sockets can select.

use std::fs;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::Error;

/// Longest name of a congestion control: TCP_CA_NAME_MAX (include/net/tcp.h) less its final zero.
const NAME_MAX: usize = 15;
/// Least length of the part of the algorithm's kernel name that stays before a suffix: `fp_` and four
/// letters.
const STEM_LEAST: usize = 7;
/// Radix of the numbers in a unique suffix: digits and small letters.
const RADIX: u32 = 36;
/// Number of unique suffixes of a process: two digits.
const PER_PROCESS: u32 = RADIX * RADIX;
/// Time limit for the kernel to unregister a name, which it does in a work queue.
const UNREGISTER_LIMIT: Duration = Duration::from_secs(2);
const AVAILABLE: &str = "/proc/sys/net/ipv4/tcp_available_congestion_control";

/// Returns a kernel name with a suffix, shortened to leave room for it.
pub(crate) fn with_suffix(kernel_name: &str, suffix: &str) -> String {
    let stem = NAME_MAX.saturating_sub(suffix.len()).max(STEM_LEAST);
    format!("{}{suffix}", kernel_name.get(..stem).unwrap_or(kernel_name))
}

/// Returns a suffix that no name in the kernel has now and that no other call gets, in this process or
/// another one.
pub(crate) fn unique_suffix() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let taken = available().unwrap_or_default();
    let mut suffix = String::new();
    for _ in 0..PER_PROCESS {
        suffix = suffix_of(std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed) % PER_PROCESS);
        if !taken.iter().any(|name| name.ends_with(&suffix)) {
            break;
        }
    }
    suffix
}

/// Returns a suffix of a dot, which no algorithm's name has, the process id and two digits: at most 8
/// characters, since a process id is at most 2^22.
fn suffix_of(process: u32, number: u32) -> String {
    let digit = |n: u32| char::from_digit(n % RADIX, RADIX).expect("less than the radix");
    let mut digits = vec![digit(number), digit(number / RADIX)];
    let mut rest = process;
    while rest > 0 {
        digits.push(digit(rest));
        rest /= RADIX;
    }
    digits.push('.');
    digits.iter().rev().collect()
}

/// Waits until the kernel no longer offers this name.
pub(crate) fn wait_until_gone(name: &str) -> Result<(), Error> {
    let deadline = Instant::now() + UNREGISTER_LIMIT;
    while available()?.iter().any(|n| n == name) {
        if Instant::now() > deadline {
            return Err(Error::StillThere { name: name.to_owned() });
        }
        sleep(Duration::from_millis(5));
    }
    Ok(())
}

/// Checks that Linux accepts the name, and for a pin that the BPF file system does, which reserves the dot.
pub(crate) fn check(name: &str, pin: bool) -> Result<(), Error> {
    let may_hold = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || (b == b'.' && !pin);
    if name.len() > NAME_MAX || !name.bytes().all(may_hold) {
        return Err(Error::BadName { name: name.to_owned() });
    }
    Ok(())
}

/// Returns the names that sockets can select now.
pub(crate) fn available() -> Result<Vec<String>, Error> {
    let text = fs::read_to_string(AVAILABLE).map_err(|cause| Error::Io { path: AVAILABLE.into(), cause })?;
    Ok(text.split_whitespace().map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use fairpace_cc::Algorithm;

    use super::*;

    #[test]
    fn a_long_name_is_shortened_for_a_suffix_and_a_short_one_stays() {
        assert_eq!(with_suffix("fp_bbq", "_a"), "fp_bbq_a");
        assert_eq!(with_suffix("fp_bbq_firstcut", ""), "fp_bbq_firstcut");
        assert_eq!(with_suffix("fp_nyu_latency", "_run1"), "fp_nyu_lat_run1");
        assert_eq!(with_suffix("fp_nyu_latency", "_1234567"), "fp_nyu__1234567");
        assert!(with_suffix("fp_nyu_latency", "_12345678").len() > NAME_MAX, "the stem is never shorter");
    }

    #[test]
    fn unique_suffixes_fit_every_name_and_differ_between_calls_and_processes() {
        let longest = suffix_of(1 << 22, PER_PROCESS - 1);
        assert_eq!((longest.as_str(), suffix_of(1234, 37).as_str()), (".2hwcgzz", ".ya11"));
        assert!(Algorithm::all().all(|a| with_suffix(a.kernel_name(), &longest).len() <= NAME_MAX));
        assert_ne!(suffix_of(1, 0), suffix_of(2, 0));
        assert_ne!(unique_suffix(), unique_suffix());
    }

    #[test]
    fn every_algorithm_has_a_name_that_the_kernel_can_hold() {
        assert!(Algorithm::all().all(|a| a.kernel_name().len() <= NAME_MAX));
    }
}
