//! A check that the kernel gives a flow its state. The state of a flow is in socket storage, and a flow
//! without it is no more than additive increase and multiplicative decrease.
//!
//! From 6.19 on (commit f484f4a3e058) Linux allocates the storage by `kmalloc_nolock`, which always fails on
//! a processor that cannot compare and exchange 16 bytes at once (mm/slub.c, `__CMPXCHG_DOUBLE`). Seen with
//! 7.2.13 and 7.3.4 on a processor without `cx16`: each ACK was handled without state.

use std::fs;

use libbpf_rs::btf::Btf;

use crate::btf;
use crate::check::{Check, Topic};

/// Name of the instruction in /proc/cpuinfo, on a processor of this kind; `None`: not known here.
const INSTRUCTION: Option<&str> = if cfg!(target_arch = "x86_64") {
    Some("cx16")
} else if cfg!(target_arch = "aarch64") {
    Some("atomics")
} else {
    None
};

pub(crate) fn check(btf: &Btf<'_>) -> Check {
    let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let lacks = INSTRUCTION.filter(|instruction| lacks(&cpuinfo, instruction));
    judge(takes_no_lock(btf), lacks)
}

/// Returns whether this kernel allocates socket storage by `kmalloc_nolock`. A member of 6.19, or a later
/// one, shows it.
fn takes_no_lock(btf: &Btf<'_>) -> bool {
    btf::has_member(btf, "bpf_local_storage_map", "use_kmalloc_nolock")
        || btf::has_member(btf, "bpf_local_storage", "mem_charge")
}

/// Returns whether `cpuinfo` has a list of features without the instruction.
fn lacks(cpuinfo: &str, instruction: &str) -> bool {
    let mut lists = cpuinfo.lines().filter_map(|line| {
        let (name, list) = line.split_once(':')?;
        matches!(name.trim(), "flags" | "Features").then_some(list)
    });
    lists.any(|list| !list.split_whitespace().any(|word| word == instruction))
}

fn judge(takes_no_lock: bool, lacks: Option<&str>) -> Check {
    let topic =
        Topic("state of a flow", "a flow without it is no BBR: it has only additive increase and halving");
    match lacks {
        Some(instruction) if takes_no_lock => {
            let found = format!(
                "this kernel gives no socket storage on a processor without `{instruction}` (/proc/cpuinfo)"
            );
            let remedy = "boot Linux 6.18 or older; in a virtual machine, give it a processor that has it";
            topic.missing(found, remedy)
        }
        _ => topic.ok("the kernel has room for it"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::Standing;

    #[test]
    fn a_processor_that_lacks_an_instruction_is_known_by_its_list() {
        let x86 = "processor\t: 0\nflags\t\t: fpu cx8 cx16 sse\nbugs\t\t: cx16\n";
        assert!(!lacks(x86, "cx16"));
        assert!(
            lacks(&x86.replacen("cx16", "cx16x", 1), "cx16"),
            "neither a part of a word, nor another list"
        );
        assert!(lacks("Features\t: fp asimd crc32 cpuid\n", "atomics"));
        assert!(!lacks("Features\t: fp asimd atomics\n", "atomics"));
        assert!(!lacks("", "cx16"), "nothing is said of what is not known");
    }

    #[test]
    fn only_a_kernel_that_needs_the_instruction_is_refused_without_it() {
        let refused = judge(true, Some("cx16"));
        assert_eq!(refused.standing, Standing::Missing);
        assert!(refused.found.contains("`cx16`") && refused.remedy.contains("6.18"), "{refused:?}");
        for (takes_no_lock, lacks) in [(true, None), (false, Some("cx16")), (false, None)] {
            assert_eq!(judge(takes_no_lock, lacks).standing, Standing::Ok);
        }
    }
}
