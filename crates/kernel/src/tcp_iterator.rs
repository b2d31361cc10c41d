//! A check whether a walk over all TCP sockets (the BPF iterator `tcp`) can panic the kernel: CVE-2026-64575.
//!
//! Linux 6.17 made the iterator keep its place among sockets that come and go. Since then, if it cannot grow
//! the array in which it holds a batch of sockets, it releases them twice. Linux 6.18.42 and 7.1.6 do not.
//! BTF does not show the difference, so the check uses the version, and a distribution's kernel may have the
//! fix, or the fault, in another version.

use std::fs;

use crate::check::{Check, Topic};

/// First and last versions of kernel.org that have the fault.
const FAULTY: [([u32; 3], [u32; 3]); 2] = [([6, 17, 0], [6, 18, 41]), ([6, 19, 0], [7, 1, 5])];
/// The first series that has never had the fault. It is not known here which of its release candidates was
/// the first without the fault.
const FIXED_SERIES: [u32; 2] = [7, 2];
/// File with the release of the kernel: `uname -r`.
const RELEASE: &str = "/proc/sys/kernel/osrelease";
/// File in which Ubuntu's kernels name the version of kernel.org that they are made from.
const SIGNATURE: &str = "/proc/version_signature";
/// File with `uname -v`, in which Debian's kernels name that version.
const VERSION: &str = "/proc/sys/kernel/version";

/// The way to reach all sockets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Walk {
    /// The kernel's own lists (the BPF iterator `tcp`): also sockets that no process has open.
    Iterator,
    /// The descriptors of processes. This walk misses connections that are not accepted yet, connections that
    /// a program has closed and that still send, and sockets of processes that this process may not trace.
    Descriptors,
}

impl Walk {
    /// Returns the iterator, unless the running kernel has a version that the iterator can panic.
    pub fn of_this_kernel() -> Walk {
        if is_faulty(&Version::of_this_kernel()) { Walk::Descriptors } else { Walk::Iterator }
    }
}

/// The known parts of a kernel's version.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Version {
    /// Series and patch of the version of kernel.org. `None`: not understood.
    numbers: Option<[u32; 3]>,
    is_candidate: bool,
    /// Text of the version for messages.
    text: String,
}

impl Version {
    fn of_this_kernel() -> Version {
        let read = |path| fs::read_to_string(path).unwrap_or_default();
        Version::read(read(RELEASE).trim(), &read(VERSION), &read(SIGNATURE))
    }

    /// Reads a version. A release such as `6.17.0-5-generic` names the series, and for a distribution its own
    /// count; the other two texts may name the patch.
    fn read(release: &str, version: &str, signature: &str) -> Version {
        let of_release = numbers(release);
        let debian = version.split_once("Debian ").map(|(_, rest)| rest);
        let ubuntu = signature.strip_prefix("Ubuntu ").and_then(|rest| rest.split_whitespace().last());
        let is_of_this_series = |found: &[u32; 3]| of_release.is_some_and(|own| own[..2] == found[..2]);
        let better = debian.into_iter().chain(ubuntu).filter_map(numbers).find(is_of_this_series);
        let text = match (better, of_release) {
            (Some(better), Some(own)) if better != own => {
                let [major, minor, patch] = better;
                format!("{release} (made from {major}.{minor}.{patch})")
            }
            _ => release.to_owned(),
        };
        Version { numbers: better.or(of_release), is_candidate: release.contains("-rc"), text }
    }
}

/// Returns the first two or three numbers of a version; `7.2` is `7.2.0`.
fn numbers(text: &str) -> Option<[u32; 3]> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let mut numbers = text[..end].split('.').map_while(|number| number.parse::<u32>().ok());
    Some([numbers.next()?, numbers.next()?, numbers.next().unwrap_or(0)])
}

fn is_faulty(version: &Version) -> bool {
    let Some(numbers) = version.numbers else { return false };
    FAULTY.iter().any(|(first, last)| (first..=last).contains(&&numbers))
        || (version.is_candidate && numbers[..2] == FIXED_SERIES)
}

/// Returns the check for [`crate::Features`].
pub(crate) fn check() -> Check {
    check_of(&Version::of_this_kernel())
}

fn check_of(version: &Version) -> Check {
    let topic = Topic(
        "walk over TCP sockets",
        "`panic` moves live sockets by the BPF iterator `tcp`, which can panic Linux 6.17 to 6.18.41 and \
         6.19 to 7.1.5 when memory is short (CVE-2026-64575)",
    );
    let text = &version.text;
    if !is_faulty(version) {
        let found = match version.numbers {
            Some(_) => format!("{text} is, by its version, not among those of CVE-2026-64575"),
            None => format!("the version {text} is not understood: CVE-2026-64575 is not excluded"),
        };
        return topic.ok(found);
    }
    topic.degraded(
        format!(
            "{text} is, by its version, among those of CVE-2026-64575; whether it has the fix is not known"
        ),
        "boot 6.18.42, 7.1.6 or later, or a distribution's kernel whose changelog names the CVE. Until then \
         `panic` finds sockets by the descriptors of processes, and says what that misses; with the fix, \
         `panic --walk iterator` misses nothing",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::Standing;

    /// Kernels: release, `uname -v`, `/proc/version_signature`, and whether the kernel has the fault.
    const KERNELS: [(&str, &str, &str, bool); 30] = [
        ("6.1.0", "", "", false),
        ("6.16.12", "", "", false),
        ("6.17.0", "", "", true),
        ("6.17", "", "", true),
        ("6.17.13-arch1-1", "", "", true),
        ("6.18.0-rc4", "", "", true),
        ("6.18.41", "", "", true),
        ("6.18.42", "", "", false),
        ("6.18.44-fc-v657", "", "", false),
        ("6.18.100", "", "", false),
        ("6.19.1", "", "", true),
        ("7.0.3", "", "", true),
        ("7.1.5", "", "", true),
        ("7.1.6", "", "", false),
        ("7.2", "", "", false),
        ("7.2.0", "", "", false),
        ("7.2.0-rc2", "", "", true),
        ("7.10.1", "", "", false),
        ("10.0.0", "", "", false),
        // Debian: the patch is in the release, and before trixie in `uname -v` only
        ("6.18.15+deb14-cloud-amd64", "#1 SMP PREEMPT_DYNAMIC Debian 6.18.15-1 (2026-02-27)", "", true),
        ("6.18.44+deb14-amd64", "#1 SMP PREEMPT_DYNAMIC Debian 6.18.44-1 (2026-11-02)", "", false),
        ("6.1.0-49-amd64", "#1 SMP PREEMPT_DYNAMIC Debian 6.1.180-1 (2026-10-01)", "", false),
        ("6.18.0-9-amd64", "#1 SMP PREEMPT_DYNAMIC Debian 6.18.44-1 (2026-11-02)", "", false),
        ("6.18.0-2-amd64", "#1 SMP PREEMPT_DYNAMIC Debian 6.18.9-1 (2026-02-07)", "", true),
        // Ubuntu: the release has 0 and a count of its own, the signature the patch
        ("6.17.0-5-generic", "#5-Ubuntu SMP PREEMPT_DYNAMIC", "Ubuntu 6.17.0-5.5-generic 6.17.1\n", true),
        ("6.14.0-37-generic", "#37-Ubuntu SMP", "Ubuntu 6.14.0-37.37-generic 6.14.11\n", false),
        ("7.1.0-12-generic", "#12-Ubuntu SMP", "Ubuntu 7.1.0-12.12-generic 7.1.8\n", false),
        ("7.1.0-12-generic", "#12-Ubuntu SMP", "", true),
        // of another series: it says nothing of this kernel
        ("6.18.3", "#1 SMP Debian 6.12.95-1 (2026-01-01)", "", true),
        ("unknown", "", "", false),
    ];

    #[test]
    fn the_versions_of_the_cve_are_known_by_all_that_a_kernel_says_of_its_own() {
        for (release, version, signature, wanted) in KERNELS {
            let read = Version::read(release, version, signature);
            assert_eq!(is_faulty(&read), wanted, "{release} {version} {signature}: {read:?}");
            let check = check_of(&read);
            let standing = if wanted { Standing::Degraded } else { Standing::Ok };
            assert_eq!(check.standing, standing, "{check:?}");
            assert!(check.found.contains("CVE-2026-64575") && check.found.contains(release), "{check:?}");
            assert_eq!(check.remedy.contains("6.18.42"), wanted, "{check:?}");
        }
    }

    #[test]
    fn a_check_says_what_is_known_and_no_more() {
        let found = |release, signature| check_of(&Version::read(release, "", signature)).found;
        let ubuntu = found("6.17.0-5-generic", "Ubuntu 6.17.0-5.5-generic 6.17.1");
        assert!(ubuntu.starts_with("6.17.0-5-generic (made from 6.17.1) is, by its version,"), "{ubuntu}");
        assert!(ubuntu.ends_with("whether it has the fix is not known"), "{ubuntu}");
        let unknown = found("unknown", "");
        assert!(unknown.contains("not understood") && unknown.contains("not excluded"), "{unknown}");
    }
}
