//! What is said about a machine that cannot load algorithms.

use std::fs;
use std::path::Path;

use crate::support::has_kernel;
use fairpace_kernel::{Error, Features, Standing, is_built};
use fairpace_test_support::skip;

const BTF: &str = "/sys/kernel/btf/vmlinux";
const STATUS: &str = "/proc/self/status";

/// /proc/self/status of a process with these effective capabilities.
fn status(capabilities: u64) -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new().expect("temporary file");
    fs::write(&file, format!("Name:\tx\nCapPrm:\tffffffffffffffff\nCapEff:\t{capabilities:016x}\n"))
        .expect("write");
    file
}

fn missing(features: &Features) -> Vec<&'static str> {
    features.checks.iter().filter(|c| c.standing == Standing::Missing).map(|c| c.what).collect()
}

#[test]
fn this_kernel_passes() {
    if !has_kernel() {
        return;
    }
    let features = Features::probe();
    assert_eq!(missing(&features), [""; 0]);
    assert!(features.checks.len() >= 7);
    assert!(features.checks.iter().all(|c| !c.found.is_empty() && !c.matters.is_empty()));
}

#[test]
fn without_rights_the_missing_capabilities_are_named() {
    if !is_built() {
        return skip("this build has no kernel objects");
    }
    for (capabilities, lacking) in [
        (0, vec!["CAP_BPF", "CAP_PERFMON", "CAP_NET_ADMIN"]),
        (1 << 12, vec!["CAP_BPF", "CAP_PERFMON"]),
        (1 << 21, vec!["CAP_NET_ADMIN"]),
        (1 << 39 | 1 << 38, vec!["CAP_NET_ADMIN"]),
    ] {
        let features = Features::probe_at(Path::new(BTF), status(capabilities).path());
        let Err(Error::NotPermitted { missing }) = features.require() else { panic!("{features:?}") };
        assert_eq!(missing, lacking);
    }
    let features = Features::probe_at(Path::new(BTF), status(1 << 12 | 1 << 21).path());
    assert!(!missing(&features).contains(&"rights"));
}

#[test]
fn a_status_that_cannot_be_read_grants_nothing() {
    let features = Features::probe_at(Path::new(BTF), Path::new("/nonexistent/status"));
    assert!(missing(&features).contains(&"rights"));
}

#[test]
fn without_type_information_the_file_is_named() {
    let nothing = Path::new("/nonexistent/btf");
    let garbage = tempfile::NamedTempFile::new().expect("temporary file");
    fs::write(&garbage, "this is not BTF").expect("write");
    let all_rights = status(u64::MAX);
    for path in [nothing, garbage.path()] {
        let features = Features::probe_at(path, all_rights.path());
        assert!(missing(&features).contains(&"type information (BTF)"));
        if is_built() {
            let Err(Error::NoBtf { path: named, cause }) = features.require() else { panic!("{features:?}") };
            assert_eq!(named, path);
            assert!(!cause.to_string().is_empty());
        }
    }
}

/// BTF (Documentation/bpf/btf.rst) with `struct bpf_prog_aux { u8 FIELD; }` and no other struct.
fn btf_of(field: &str) -> tempfile::NamedTempFile {
    // info of struct btf_type: the kind, and the number of members
    let (int, struct_of_one) = (1 << 24, 4 << 24 | 1);
    let strings = format!("\0u8\0bpf_prog_aux\0{field}\0");
    // names by their places in the strings; a byte of 8 bits, then the struct and its member
    let types: [u32; 10] = [1, int, 1, 8, 4, struct_of_one, 1, 17, 1, 0];
    let types: Vec<u8> = types.into_iter().flat_map(u32::to_le_bytes).collect();
    let lengths =
        [24, 0, types.len(), types.len(), strings.len()].map(|length| (length as u32).to_le_bytes());
    let magic_and_version = [0x9f, 0xeb, 1, 0];
    let file = tempfile::NamedTempFile::new().expect("temporary file");
    fs::write(&file, [&magic_and_version, &*lengths.concat(), &*types, strings.as_bytes()].concat())
        .expect("write");
    file
}

#[test]
fn a_kernel_that_skips_programs_is_known_by_a_field_of_its_btf() {
    let all_rights = status(u64::MAX);
    for (field, skips, standing) in [
        ("init_owned", true, Standing::Degraded),
        ("init_owner", false, Standing::Ok),
        ("used_maps", false, Standing::Ok),
    ] {
        let features = Features::probe_at(btf_of(field).path(), all_rights.path());
        assert_eq!(features.skips_programs(), skips, "{field}");
        let check = features.checks.iter().find(|check| check.what == "programs in process 1");
        let check = check.unwrap_or_else(|| panic!("{features:?}"));
        assert_eq!(check.standing, standing, "{check:?}");
        // an administrator reads which algorithms it is about: by their kind, and by name
        let named =
            ["cubic", "reno", "CC_GROWS_CWND", "prague"].iter().all(|name| check.found.contains(name));
        assert_eq!(named, skips, "{check:?}");
        assert!(!check.found.contains("bbr"), "it sets cwnd on each ACK: {check:?}");
    }
}

#[test]
fn every_check_that_fails_says_what_to_do() {
    let features = Features::probe_at(Path::new("/nonexistent/btf"), Path::new(STATUS));
    let bad = features.checks.iter().filter(|c| c.standing != Standing::Ok);
    assert!(bad.clone().count() > 0);
    assert!(bad.clone().all(|c| !c.remedy.is_empty()), "{:?}", bad.collect::<Vec<_>>());
}
