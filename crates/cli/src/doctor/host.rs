//! Checks of what may forbid loading on a kernel that could load: lockdown, containers, SELinux. They also
//! report restrictions that no longer apply.

use fairpace_kernel::Check;

use super::{Machine, Topic};

/// All checks of this module. `can_load`: whether rights and kernel were found to permit loading.
pub(super) fn checks(machine: &Machine, can_load: bool) -> Vec<Check> {
    vec![lockdown(machine), container(machine, can_load), selinux(machine), memory_lock()]
}

/// Checks lockdown. The kernel's file has the form `none [integrity] confidentiality`.
fn lockdown(machine: &Machine) -> Check {
    let topic = Topic("lockdown", "with confidentiality the kernel refuses BPF helpers that read its memory");
    let Ok(text) = machine.read("sys/kernel/security/lockdown") else {
        return topic.ok("not in this kernel, or securityfs is not mounted");
    };
    let mode = text.split_whitespace().find_map(|word| word.strip_prefix('[')?.strip_suffix(']'));
    match mode {
        // measured: docs/kernels.md
        Some("confidentiality") => topic.ok("confidentiality: the algorithms call none of these helpers"),
        Some(mode) => topic.ok(mode),
        None => topic.degraded(format!("not understood: {text}"), "see kernel_lockdown(7)"),
    }
}

fn container(machine: &Machine, can_load: bool) -> Check {
    let topic = Topic("container", "the kernel is the host's, and what is loaded is offered in all of it");
    match (container_kind(machine), can_load) {
        (None, _) => topic.ok("none was noticed"),
        (Some(kind), true) => topic.ok(format!("{kind}, with the rights that loading takes")),
        (Some(kind), false) => topic.degraded(
            format!("{kind}, without the rights that loading takes"),
            "load on the host; containers then select the algorithm by name. A guest of a VPS provider that \
             shares its kernel (LXC, OpenVZ) cannot load at all",
        ),
    }
}

/// Kind of the container, from the marks that systemd, container engines and OpenVZ leave for programs.
fn container_kind(machine: &Machine) -> Option<String> {
    if let Ok(kind) = machine.read("run/systemd/container")
        && !kind.is_empty()
    {
        return Some(kind);
    }
    let environment = machine.read("proc/1/environ").unwrap_or_default();
    if let Some(kind) = environment.split('\0').find_map(|entry| entry.strip_prefix("container="))
        && !kind.is_empty()
    {
        return Some(kind.to_owned());
    }
    let marks = [(".dockerenv", "Docker"), ("run/.containerenv", "Podman")];
    let marked = marks.iter().find(|(path, _)| machine.at(path).exists());
    let openvz = machine.at("proc/vz").exists() && !machine.at("proc/bc").exists();
    marked.map(|(_, kind)| (*kind).to_owned()).or_else(|| openvz.then(|| "OpenVZ".to_owned()))
}

/// Checks whether SELinux confines this process. The label of a process that it does not confine contains one
/// of the words listed here.
fn selinux(machine: &Machine) -> Check {
    let topic = Topic("SELinux", "a confined service must not call bpf(2)");
    match machine.read("sys/fs/selinux/enforce").as_deref() {
        Err(_) => topic.ok("not active"),
        Ok("1") => {
            let label = machine.read("proc/self/attr/current").unwrap_or_default();
            let label = label.trim_end_matches('\0').to_owned();
            if ["unconfined", "initrc_t", "init_t", ":sysadm_t"].iter().any(|free| label.contains(free)) {
                topic.ok(format!("enforcing; this process is {label}"))
            } else {
                topic.degraded(
                    format!("enforcing; this process is {label}"),
                    "run it as root or as the service of the package; `ausearch -m avc` shows refusals",
                )
            }
        }
        Ok(_) => topic.ok("permissive"),
    }
}

fn memory_lock() -> Check {
    // the floor of all versions that we support is 6.1
    let topic = Topic("memlock", "until Linux 5.11 BPF needed a higher RLIMIT_MEMLOCK");
    topic.ok("no limit: the memory of BPF is part of the cgroup's")
}

#[cfg(test)]
mod tests {
    use fairpace_kernel::Standing;

    use super::super::tests::machine;
    use super::*;

    #[test]
    fn the_lockdown_in_force_is_the_one_in_brackets() {
        for (text, found, standing) in [
            ("none [integrity] confidentiality\n", "integrity", Standing::Ok),
            ("none integrity [confidentiality]\n", "confidentiality", Standing::Ok),
            ("[none] integrity confidentiality\n", "none", Standing::Ok),
        ] {
            let (_folder, machine) = machine(&[("sys/kernel/security/lockdown", text)]);
            let check = lockdown(&machine);
            assert!(check.found.starts_with(found) && check.standing == standing, "{check:?}");
        }
        let (_folder, machine) = machine(&[]);
        assert_eq!(lockdown(&machine).standing, Standing::Ok);
    }

    #[test]
    fn a_container_is_named_and_matters_only_without_rights() {
        for (path, text, kind) in [
            ("run/systemd/container", "lxc\n", "lxc"),
            ("proc/1/environ", "TERM=linux\0container=podman\0", "podman"),
            (".dockerenv", "", "Docker"),
            ("proc/vz/version", "", "OpenVZ"),
        ] {
            let (_folder, machine) = machine(&[(path, text)]);
            assert_eq!(container_kind(&machine).as_deref(), Some(kind));
            assert_eq!(container(&machine, true).standing, Standing::Ok);
            assert_eq!(container(&machine, false).standing, Standing::Degraded);
        }
        let (_folder, machine) = machine(&[("proc/vz/version", ""), ("proc/bc/0", "")]);
        assert_eq!(container_kind(&machine), None, "the host of OpenVZ");
    }

    #[test]
    fn selinux_matters_where_it_enforces_and_confines() {
        let enforce = ("sys/fs/selinux/enforce", "1");
        let label = |text| ("proc/self/attr/current", text);
        let free = "unconfined_u:unconfined_r:unconfined_t:s0\0";
        for (files, standing) in [
            (&[enforce, label(free)][..], Standing::Ok),
            (&[enforce, label("system_u:system_r:httpd_t:s0")], Standing::Degraded),
            (&[("sys/fs/selinux/enforce", "0")], Standing::Ok),
            (&[], Standing::Ok),
        ] {
            let (_folder, machine) = machine(files);
            assert_eq!(selinux(&machine).standing, standing);
        }
    }
}
