//! Adapts an object to the running kernel and loads it.

use libbpf_rs::btf::Btf;
use libbpf_rs::{AsRawLibbpf, MapType, ObjectBuilder, OpenMapMut, OpenObject};

use crate::features::Interface;
use crate::object::is_listed;
use crate::{Error, Features, Object, btf, log, object};

/// The flag BPF_F_LINK of linux/bpf.h: the struct_ops registers through a link.
const BPF_F_LINK: u32 = 1 << 13;
/// The kernel's struct of a congestion control.
const OPS: &str = "tcp_congestion_ops";

/// Settings with which an object is loaded.
pub(crate) struct Setup<'a> {
    pub(crate) object: &'a Object,
    /// Name of the algorithm in the kernel.
    pub(crate) name: &'a str,
    /// Behaviour for tests: `enum cc_testing` of cc/bpf/object.bpf.c.
    pub(crate) testing: u32,
    /// True in tests that load the replay program beside the hooks.
    pub(crate) replay: bool,
}

/// Opens, adapts and loads an object.
pub(crate) fn load(setup: &Setup<'_>, features: &Features) -> Result<libbpf_rs::Object, Error> {
    let (result, log) = log::with_log(|| {
        let what = || format!("opening the object of {}", setup.object.kernel_name);
        let elf = &setup.object.elf;
        let mut open = ObjectBuilder::default().open_memory(elf).map_err(Error::bpf(what()))?;
        adapt(&mut open, setup, &features.interface).map_err(Error::bpf(what()))?;
        open.load().map_err(Error::bpf(format!("loading {} into the kernel", setup.name)))
    });
    let listed = setup.object.algorithm.is_some_and(is_listed);
    result.map_err(|e| log::explain(e, &log, setup.name, listed, &features.release))
}

/// Opens an object of the loader that is a congestion control, names it and loads it.
pub(crate) fn load_tool(
    tool: &'static str,
    name: &str,
    features: &Features,
) -> Result<libbpf_rs::Object, Error> {
    let elf = object::tool(tool)?;
    let (result, log) = log::with_log(|| {
        let what = || format!("opening the object of {tool}");
        let mut open = ObjectBuilder::default().open_memory(elf).map_err(Error::bpf(what()))?;
        let types = Btf::from_raw("object", elf).and_then(|types| types.ok_or_else(|| lacks("BTF")));
        let types = types.map_err(Error::bpf(what()))?;
        for mut map in open.maps_mut().filter(|map| map.map_type() == MapType::StructOps) {
            let named =
                adapt_link(&mut map, &features.interface).and_then(|()| set_name(&mut map, &types, name));
            named.map_err(Error::bpf(what()))?;
        }
        open.load().map_err(Error::bpf(format!("loading {name} into the kernel")))
    });
    result.map_err(|e| log::explain(e, &log, name, true, &features.release))
}

/// Chooses between the shapes that hooks have in different kernels, and sets name and parameters.
fn adapt(open: &mut OpenObject, setup: &Setup<'_>, kernel: &Interface) -> libbpf_rs::Result<()> {
    let types = Btf::from_raw("object", &setup.object.elf)?.ok_or_else(|| lacks("BTF"))?;
    let two_argument_control = program(open, "cong_control_2");
    for mut program in open.progs_mut() {
        if program.name() == "replay" {
            program.set_autoload(setup.replay);
        }
    }
    for mut map in open.maps_mut() {
        let map_name = map.name().to_string_lossy().into_owned();
        if map.map_type() == MapType::StructOps {
            adapt_link(&mut map, kernel)?;
            set_name(&mut map, &types, setup.name)?;
            let control = if kernel.control_has_flag { None } else { two_argument_control };
            adapt_ops(&mut map, &types, control, kernel.has_tx_start)?;
        } else if map_name.ends_with(".config") {
            configure(&mut map, &types, setup, kernel)?;
        } else if map_name == "cc_replay_map" {
            map.set_autocreate(setup.replay)?;
        }
    }
    Ok(())
}

/// Address by which libbpf identifies a program, as a struct_ops map holds it before load.
type ProgramAddress = usize;

fn program(open: &mut OpenObject, name: &str) -> Option<ProgramAddress> {
    open.progs_mut().find(|p| p.name() == name).map(|p| p.as_libbpf_object().as_ptr() as ProgramAddress)
}

/// Registers without a link on a kernel that has none.
fn adapt_link(map: &mut OpenMapMut<'_>, kernel: &Interface) -> libbpf_rs::Result<()> {
    if kernel.has_links {
        return Ok(());
    }
    let flags = map.map_flags() & !BPF_F_LINK;
    map.set_map_flags(flags)
}

fn set_name(map: &mut OpenMapMut<'_>, types: &Btf<'_>, name: &str) -> libbpf_rs::Result<()> {
    let mut field = [0; 16]; // TCP_CA_NAME_MAX
    field[..name.len()].copy_from_slice(name.as_bytes()); // checked to be at most 15 bytes
    let value = map.initial_value_mut().ok_or_else(|| lacks(OPS))?;
    write_member(value, types, Member { of: OPS, name: "name" }, &field)
}

fn adapt_ops(
    map: &mut OpenMapMut<'_>,
    types: &Btf<'_>,
    control: Option<ProgramAddress>,
    has_tx_start: bool,
) -> libbpf_rs::Result<()> {
    let value = map.initial_value_mut().ok_or_else(|| lacks(OPS))?;
    let mut write =
        |member: &str, bytes: &[u8]| write_member(value, types, Member { of: OPS, name: member }, bytes);
    if let Some(address) = control {
        write("cong_control", &address.to_ne_bytes())?;
    }
    // where the event has a hook of its own, cwnd_event never gets it
    let dropped = if has_tx_start { "cwnd_event" } else { "cwnd_event_tx_start" };
    write(dropped, &0usize.to_ne_bytes())
}

/// Fills `struct cc_config` of cc/bpf/object.bpf.c.
fn configure(
    map: &mut OpenMapMut<'_>,
    types: &Btf<'_>,
    setup: &Setup<'_>,
    kernel: &Interface,
) -> libbpf_rs::Result<()> {
    let config = "cc_config";
    let value = map.initial_value_mut().ok_or_else(|| lacks(config))?;
    let mut write =
        |member: &str, bytes: &[u8]| write_member(value, types, Member { of: config, name: member }, bytes);
    write("may_set_app_limited", &u32::from(kernel.has_links).to_ne_bytes())?;
    write("testing", &setup.testing.to_ne_bytes())?;
    write("params", &setup.object.parameter_bytes())
}

/// A member of a struct, by name.
struct Member<'a> {
    of: &'a str,
    name: &'a str,
}

/// Writes bytes at the place of the member in the object's BTF.
fn write_member(
    value: &mut [u8],
    types: &Btf<'_>,
    member: Member<'_>,
    bytes: &[u8],
) -> libbpf_rs::Result<()> {
    let at = btf::offset(types, member.of, member.name).ok_or_else(|| lacks(member.name))?;
    value.get_mut(at..at + bytes.len()).ok_or_else(|| lacks(member.name))?.copy_from_slice(bytes);
    Ok(())
}

/// Returns the error for an object that cc/bpf/object.bpf.c does not compile to.
fn lacks(what: &str) -> libbpf_rs::Error {
    std::io::Error::new(std::io::ErrorKind::InvalidData, format!("the object lacks {what}")).into()
}

#[cfg(test)]
mod tests {
    use fairpace_cc::{Algorithm, Params};

    use super::*;

    /// Runs the real verifier on a program that it must refuse: the hook of another kernel.
    #[test]
    fn the_hook_of_another_kernel_is_refused_with_the_verifiers_words() {
        let mut features = Features::probe();
        if let Err(e) = features.require() {
            return fairpace_test_support::skip(&e.to_string());
        }
        features.interface.control_has_flag = !features.interface.control_has_flag;
        let algorithm = Algorithm::by_name("bbr1").expect("it exists");
        let object = Object::listed(&Params::defaults(algorithm)).expect("an object");
        let setup = Setup { object: &object, name: "fp_refused", testing: 0, replay: false };
        let error = load(&setup, &features).expect_err("it must not load");
        let Error::Refused { name, log, .. } = &error else { panic!("{error:?}") };
        assert_eq!(name, "fp_refused");
        assert!(log.contains("cong_control"), "{log}");
    }
}
