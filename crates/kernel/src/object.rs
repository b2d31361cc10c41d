//! The embedded objects: opening one, adapting it to the running kernel and loading it.

use std::sync::Mutex;

use fairpace_cc::{Algorithm, Params};
use libbpf_rs::btf::Btf;
use libbpf_rs::{AsRawLibbpf, Object, ObjectBuilder, OpenMapMut, OpenObject, PrintLevel, set_print};

use crate::features::Interface;
use crate::{Error, Features, btf};

include!(concat!(env!("OUT_DIR"), "/objects.rs"));

/// BPF_F_LINK of linux/bpf.h: the struct_ops registers through a link.
const BPF_F_LINK: u32 = 1 << 13;
/// Lines of the verifier's log that an error shows: the complaint is at the end.
const LOG_LINES: usize = 25;

/// Name and ELF bytes of each object, or why there are none.
pub(crate) fn built() -> Result<&'static [(&'static str, &'static [u8])], &'static str> {
    OBJECTS
}

/// Does this program contain kernel objects? Without clang at build time it does not.
pub fn is_built() -> bool {
    OBJECTS.is_ok()
}

/// How an object shall come out.
pub(crate) struct Setup<'a> {
    pub(crate) params: &'a Params,
    /// Name in the kernel.
    pub(crate) name: &'a str,
    /// For tests: act as if no flow could have memory for its state.
    pub(crate) deny_storage: bool,
    /// For tests: load the replay program beside the hooks.
    pub(crate) replay: bool,
}

/// Opens, adapts and loads.
pub(crate) fn load(setup: &Setup<'_>, features: &Features) -> Result<Object, Error> {
    let elf = elf(setup.params.algorithm())?;
    let (result, log) = with_log(|| {
        let what = || format!("opening the kernel object of {}", setup.params.algorithm());
        let mut open = ObjectBuilder::default().open_memory(elf).map_err(Error::bpf(what()))?;
        adapt(&mut open, elf, setup, &features.interface).map_err(Error::bpf(what()))?;
        open.load().map_err(Error::bpf(format!("loading {} into the kernel", setup.name)))
    });
    result.map_err(|e| explain(e, log, setup.name, &features.release))
}

fn elf(algorithm: Algorithm) -> Result<&'static [u8], Error> {
    let objects = built().map_err(|why| Error::NotBuilt { why })?;
    let found = objects.iter().find(|(name, _)| *name == algorithm.name());
    // build.rs and fairpace-cc read the same list; a test holds them together
    found.map(|(_, elf)| *elf).ok_or(Error::BadObject { algorithm, lacks: "all of its code" })
}

/// Chooses between the shapes that hooks have in different kernels, and sets name and parameters.
fn adapt(open: &mut OpenObject, elf: &[u8], setup: &Setup<'_>, kernel: &Interface) -> libbpf_rs::Result<()> {
    let ours = Btf::from_raw("object", elf)?.ok_or_else(|| bad_object("BTF"))?;
    let two_argument_control = program(open, "cong_control_2");
    for mut program in open.progs_mut() {
        if program.name() == "replay" {
            program.set_autoload(setup.replay);
        }
    }
    for mut map in open.maps_mut() {
        let map_name = map.name().to_string_lossy().into_owned();
        if map_name == setup.params.algorithm().kernel_name() {
            if !kernel.has_links {
                let flags = map.map_flags() & !BPF_F_LINK;
                map.set_map_flags(flags)?;
            }
            let control = if kernel.control_has_flag { None } else { two_argument_control };
            adapt_ops(&mut map, &ours, setup.name, control, kernel.has_tx_start)?;
        } else if map_name.ends_with(".config") {
            configure(&mut map, &ours, setup, kernel)?;
        } else if map_name == "cc_replay_map" {
            map.set_autocreate(setup.replay)?;
        }
    }
    Ok(())
}

/// Address by which libbpf knows a program, as it stands in a struct_ops map before load; 0: no such program.
type ProgramAddress = usize;

fn program(open: &mut OpenObject, name: &str) -> Option<ProgramAddress> {
    open.progs_mut().find(|p| p.name() == name).map(|p| p.as_libbpf_object().as_ptr() as ProgramAddress)
}

fn adapt_ops(
    map: &mut OpenMapMut<'_>,
    ours: &Btf<'_>,
    name: &str,
    control: Option<ProgramAddress>,
    has_tx_start: bool,
) -> libbpf_rs::Result<()> {
    let ops = "tcp_congestion_ops";
    let value = map.initial_value_mut().ok_or_else(|| bad_object(ops))?;
    let mut write = |member: &str, bytes: &[u8]| {
        let at = btf::offset(ours, ops, member).ok_or_else(|| bad_object(member))?;
        value.get_mut(at..at + bytes.len()).ok_or_else(|| bad_object(member))?.copy_from_slice(bytes);
        libbpf_rs::Result::Ok(())
    };
    let mut field = [0; 16];
    field[..name.len()].copy_from_slice(name.as_bytes()); // checked to be at most 15 bytes
    write("name", &field)?;
    if let Some(address) = control {
        write("cong_control", &address.to_ne_bytes())?;
    }
    // where the event has a hook of its own, cwnd_event never sees it
    let dropped = if has_tx_start { "cwnd_event" } else { "cwnd_event_tx_start" };
    write(dropped, &0usize.to_ne_bytes())
}

/// struct cc_config of cc/bpf/object.bpf.c.
fn configure(
    map: &mut OpenMapMut<'_>,
    ours: &Btf<'_>,
    setup: &Setup<'_>,
    kernel: &Interface,
) -> libbpf_rs::Result<()> {
    let value = map.initial_value_mut().ok_or_else(|| bad_object("cc_config"))?;
    let mut write = |member: &str, bytes: &[u8]| {
        let at = btf::offset(ours, "cc_config", member).ok_or_else(|| bad_object(member))?;
        value.get_mut(at..at + bytes.len()).ok_or_else(|| bad_object(member))?.copy_from_slice(bytes);
        libbpf_rs::Result::Ok(())
    };
    write("may_set_app_limited", &u32::from(kernel.has_links).to_ne_bytes())?;
    write("deny_storage", &u32::from(setup.deny_storage).to_ne_bytes())?;
    write("params", setup.params.as_bytes())
}

/// The object is not what cc/bpf/object.bpf.c makes: a bug of the build, told rather than trusted.
fn bad_object(lacks: &str) -> libbpf_rs::Error {
    std::io::Error::new(std::io::ErrorKind::InvalidData, format!("the embedded object lacks {lacks}")).into()
}

/// libbpf prints through one function for the whole process: one caller at a time collects.
static COLLECTING: Mutex<()> = Mutex::new(());
static PRINTED: Mutex<String> = Mutex::new(String::new());

fn collect(_: PrintLevel, line: String) {
    if let Ok(mut printed) = PRINTED.lock() {
        printed.push_str(&line);
    }
}

/// Runs `work` and returns with its result what libbpf had to say meanwhile.
pub(crate) fn with_log<T>(work: impl FnOnce() -> T) -> (T, String) {
    let _one = COLLECTING.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let before = set_print(Some((PrintLevel::Warn, collect)));
    let result = work();
    set_print(before);
    let mut printed = PRINTED.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    (result, std::mem::take(&mut *printed))
}

fn last_lines(log: &str) -> String {
    let lines: Vec<&str> = log.lines().collect();
    lines[lines.len().saturating_sub(LOG_LINES)..].join("\n")
}

/// Sorts a failure: libbpf's log tells a refusal by the verifier from everything else.
pub(crate) fn explain(error: Error, log: String, name: &str, release: &str) -> Error {
    let Error::Bpf { what, source, .. } = error else { return error };
    if log.contains("BEGIN PROG LOAD LOG") {
        return Error::Refused { name: name.to_owned(), release: release.to_owned(), log: last_lines(&log) };
    }
    if source.kind() == libbpf_rs::ErrorKind::PermissionDenied {
        // all capabilities, but those of a container's user namespace
        return Error::NotPermitted { missing: vec!["the rights of root outside of any container"] };
    }
    Error::Bpf { what, source, log: last_lines(&log) }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    /// Straight to standard error: the test harness swallows what eprintln! says in a test that passes.
    fn skipped(why: &str) {
        let test = std::thread::current().name().unwrap_or("test").to_owned();
        let _ = writeln!(std::io::stderr(), "SKIPPED: {test} because {why}");
    }

    fn failed(kind: std::io::ErrorKind) -> Error {
        Error::Bpf { what: "loading".into(), source: std::io::Error::from(kind).into(), log: String::new() }
    }

    #[test]
    fn a_failure_with_a_verifier_log_is_a_refusal_and_shows_its_end() {
        let log: String = (0..100).map(|n| format!("line {n}\n")).collect();
        let log = format!("-- BEGIN PROG LOAD LOG --\n{log}-- END PROG LOAD LOG --\n");
        let error = explain(failed(std::io::ErrorKind::PermissionDenied), log, "fp_x", "6.18");
        let Error::Refused { name, log, .. } = error else { panic!("{error}") };
        assert_eq!(name, "fp_x");
        assert!(log.contains("line 99") && !log.contains("line 50"), "{log}");
    }

    #[test]
    fn a_denial_without_a_log_is_a_lack_of_rights() {
        let error = explain(failed(std::io::ErrorKind::PermissionDenied), String::new(), "fp_x", "6.18");
        assert!(matches!(error, Error::NotPermitted { .. }), "{error}");
        let error = explain(failed(std::io::ErrorKind::OutOfMemory), "libbpf: no\n".into(), "fp_x", "6.18");
        assert!(matches!(&error, Error::Bpf { log, .. } if log == "libbpf: no"), "{error}");
    }

    #[test]
    fn the_objects_are_those_of_the_native_build() {
        let Ok(objects) = built() else { return skipped("this build has no kernel objects") };
        let names: Vec<_> = objects.iter().map(|(name, _)| *name).collect();
        let native: Vec<_> = Algorithm::all().map(Algorithm::name).collect();
        assert_eq!(names, native);
    }

    /// The real verifier, and a program that it must refuse: the hook of another kernel.
    #[test]
    fn the_hook_of_another_kernel_is_refused_with_the_verifiers_words() {
        let mut features = Features::probe();
        if let Err(e) = features.require() {
            let required = std::env::var("FAIRPACE_REQUIRE_KERNEL").is_ok_and(|v| v == "1");
            assert!(!required, "FAIRPACE_REQUIRE_KERNEL=1, but: {e}");
            return skipped(&e.to_string());
        }
        features.interface.control_has_flag = !features.interface.control_has_flag;
        let algorithm = Algorithm::by_name("bbr1").expect("it exists");
        let params = Params::defaults(algorithm);
        let setup = Setup { params: &params, name: "fp_refused", deny_storage: false, replay: false };
        let error = load(&setup, &features).expect_err("it must not load");
        let Error::Refused { name, log, .. } = &error else { panic!("{error:?}") };
        assert_eq!(name, "fp_refused");
        assert!(log.contains("cong_control"), "{log}");
    }
}
