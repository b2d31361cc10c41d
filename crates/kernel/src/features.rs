//! Features of this kernel, read from its own type information (BTF) rather than from its version. README.md
//! lists all differences between kernels and the files that handle them.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use fairpace_cc::{Algorithm, Kind};
use libbpf_rs::btf::Btf;

use crate::check::{Check, Standing, Topic};
use crate::{Error, bpffs, btf, log, object, storage, tcp_iterator};

/// The oldest kernel whose verifier lets a congestion control write the pacing rate (6.0), and whose programs
/// are not skipped when an interrupt finds one running (6.1).
const FLOOR: (u32, u32) = (6, 1);

/// Capabilities that loading a struct_ops program requires, with their numbers in linux/capability.h.
const CAPABILITIES: [(&str, u32); 3] = [("CAP_BPF", 39), ("CAP_PERFMON", 38), ("CAP_NET_ADMIN", 12)];
/// Number of the capability that includes these capabilities.
const CAP_SYS_ADMIN: u32 = 21;
const STATUS: &str = "/proc/self/status";

/// Features of a kernel: the checks, and the choices that loading makes.
#[derive(Debug, Clone)]
pub struct Features {
    /// Release of the kernel: `uname -r`.
    pub release: String,
    /// All checks, the basic ones first.
    pub checks: Vec<Check>,
    /// The first check that shows that this kernel cannot load anything.
    unsupported: Option<Check>,
    pub(crate) interface: Interface,
    missing_capabilities: Vec<&'static str>,
    no_btf: Option<(PathBuf, io::ErrorKind, String)>,
    skips_programs: bool,
}

/// The kernel's version of tcp_congestion_ops.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Interface {
    /// True if `cong_control` takes (sk, ack, flag, rs), since 6.10, instead of (sk, rs).
    pub(crate) control_has_flag: bool,
    /// True if `cwnd_event_tx_start` exists, since 7.1.
    pub(crate) has_tx_start: bool,
    /// True if struct_ops maps register through links, since 6.4; since then `tcp_sock.app_limited` is
    /// writable, too.
    pub(crate) has_links: bool,
}

impl Features {
    /// Checks the running kernel and this process's rights. It never fails: missing features are in the
    /// checks.
    pub fn probe() -> Features {
        Features::probe_at(Path::new(VMLINUX), Path::new(STATUS))
    }

    /// Checks a kernel by other files for its BTF and for the process's status, which holds its capabilities:
    /// for a kernel that is not running, and for tests.
    pub fn probe_at(btf: &Path, status: &Path) -> Features {
        let release = release();
        let mut features = Features {
            checks: vec![version(&release)],
            release,
            unsupported: None,
            interface: Interface::default(),
            missing_capabilities: missing_rights(status),
            no_btf: None,
            skips_programs: false,
        };
        features.checks.push(rights(&features.missing_capabilities));
        features.checks.push(jit());
        features.check_btf(btf);
        features.checks.push(file_system());
        features.checks.push(tcp_iterator::check());
        features.unsupported = features.checks.iter().find(|c| c.standing == Standing::Missing).cloned();
        features.checks.insert(0, built());
        features
    }

    /// Returns whether an algorithm leaves the kernel with the process that loaded it, even if the process is
    /// killed. It does since 6.4.
    pub fn has_links(&self) -> bool {
        self.interface.has_links
    }

    /// Returns whether this kernel runs no BPF program while a thread of process 1 runs. A hook that it skips
    /// returns a value that happened to be on the kernel's stack: a cwnd or an ssthresh that no algorithm has
    /// set. `docs/notes/skipped-programs.md` has the evidence.
    pub fn skips_programs(&self) -> bool {
        self.skips_programs
    }

    /// Checks that the listed algorithms can be loaded.
    ///
    /// # Errors
    /// The first missing feature, with the remedy.
    pub fn require(&self) -> Result<(), Error> {
        if let Err(why) = object::built() {
            return Err(Error::NotBuilt { why });
        }
        self.require_kernel()
    }

    /// Checks that this process can load into this kernel: all checks but that of the embedded objects, which
    /// an object of a user does not need.
    ///
    /// # Errors
    /// The first missing feature, with the remedy.
    pub fn require_kernel(&self) -> Result<(), Error> {
        if !self.missing_capabilities.is_empty() {
            return Err(Error::NotPermitted { missing: self.missing_capabilities.clone() });
        }
        if let Some((path, kind, said)) = &self.no_btf {
            return Err(Error::NoBtf { path: path.clone(), cause: io::Error::new(*kind, said.clone()) });
        }
        match &self.unsupported {
            None => Ok(()),
            Some(check) => Err(Error::Unsupported {
                release: self.release.clone(),
                what: format!("{}: {}", check.what, check.found),
                remedy: check.remedy.clone(),
            }),
        }
    }

    fn check_btf(&mut self, path: &Path) {
        let topic =
            Topic("type information (BTF)", "the algorithms find the fields of this kernel's sockets by it");
        // opened first: the system's error says more than libbpf's
        let parse = || log::with_log(|| Btf::from_path(path)).0;
        let parsed = fs::File::open(path)
            .and_then(|_| parse().map_err(|e| io::Error::new(io::ErrorKind::InvalidData, e.to_string())));
        let btf = match parsed {
            Ok(btf) => btf,
            Err(e) => {
                self.no_btf = Some((path.to_owned(), e.kind(), e.to_string()));
                let found = format!("{}: {e}", path.display());
                let remedy =
                    "boot a kernel with CONFIG_DEBUG_INFO_BTF=y, as the stock kernels of distributions are";
                self.checks.push(topic.missing(found, remedy));
                return;
            }
        };
        self.checks.push(topic.ok(path.display().to_string()));
        self.check_interface(&btf);
    }

    fn check_interface(&mut self, btf: &Btf<'_>) {
        let ops = "tcp_congestion_ops";
        let topic = Topic("congestion control in BPF", "an algorithm registers as a struct_ops of this type");
        let arguments = btf::arguments(btf, ops, "cong_control");
        if !btf::has_struct(btf, "bpf_struct_ops_tcp_congestion_ops") {
            let remedy = "boot a kernel with CONFIG_BPF_SYSCALL=y, CONFIG_BPF_JIT=y and CONFIG_INET=y";
            self.checks.push(topic.missing("no bpf_struct_ops_tcp_congestion_ops in BTF", remedy));
        } else if !matches!(arguments, Some(2 | 4)) {
            let found = format!("cong_control takes {arguments:?} arguments; 2 and 4 are known");
            self.checks.push(topic.missing(found, "a newer version of this library may know them"));
        } else {
            self.checks.push(topic.ok("tcp_congestion_ops can be a struct_ops"));
        }
        self.interface = Interface {
            control_has_flag: arguments == Some(4),
            has_tx_start: btf::has_member(btf, ops, "cwnd_event_tx_start"),
            has_links: btf::has_struct(btf, "bpf_struct_ops_link"),
        };
        self.checks.push(patches(&btf::names_of(btf, ops)));
        self.skips_programs = btf::has_member(btf, "bpf_prog_aux", SKIPS_FIELD);
        self.checks.push(process_1(self.skips_programs));
        self.checks.push(storage::check(btf));
        self.checks.push(ecn(self.interface.control_has_flag));
        self.checks.push(links(self.interface.has_links));
    }
}

fn built() -> Check {
    let topic = Topic("kernel objects", "they hold the algorithms, compiled for the kernel");
    match object::built() {
        Ok(objects) => {
            let names: Vec<_> = objects.iter().map(|(name, _)| *name).collect();
            topic.ok(names.join(", "))
        }
        Err(why) => topic.missing("none in this build", why),
    }
}

/// Returns the release of the kernel: `uname -r`.
pub(crate) fn release() -> String {
    nix::sys::utsname::uname()
        .map(|u| u.release().to_string_lossy().into_owned())
        .unwrap_or_else(|_| "unknown".to_owned())
}

fn version(release: &str) -> Check {
    let topic = Topic("kernel version", "older ones do not let BPF set the pacing rate");
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map_while(|n| n.parse::<u32>().ok());
    match (numbers.next(), numbers.next()) {
        (Some(major), Some(minor)) if (major, minor) < FLOOR => {
            let remedy = format!("boot {}.{} or later", FLOOR.0, FLOOR.1);
            topic.missing(release.to_owned(), remedy)
        }
        _ => topic.ok(release.to_owned()),
    }
}

fn rights(missing: &[&'static str]) -> Check {
    let topic = Topic("rights", "the kernel lets only administrators load BPF programs");
    if missing.is_empty() {
        return topic.ok("sufficient");
    }
    let remedy = "run it as root (sudo), outside of a rootless container";
    topic.missing(format!("lacks {}", missing.join(", ")), remedy)
}

/// Checks that this process can list the kernel's BPF objects. This needs CAP_SYS_ADMIN outside of any user
/// namespace; without it the kernel reports no objects.
pub(crate) fn require_walk() -> Result<(), Error> {
    if effective_capabilities(Path::new(STATUS)) >> CAP_SYS_ADMIN & 1 == 0 {
        return Err(Error::NotPermitted { missing: vec!["CAP_SYS_ADMIN"] });
    }
    if is_in_user_namespace() {
        return Err(Error::NotPermitted { missing: vec![ROOT_OF_THE_HOST] });
    }
    Ok(())
}

/// Name of the rights that root of a user namespace lacks: its capabilities count within the namespace only.
const ROOT_OF_THE_HOST: &str = "the rights of root outside of any user namespace (rootless container)";
/// Inode of the first user namespace: PROC_USER_INIT_INO (include/linux/proc_ns.h).
const FIRST_USER_NAMESPACE: u64 = 0xEFFF_FFFD;

fn is_in_user_namespace() -> bool {
    fs::metadata("/proc/self/ns/user").is_ok_and(|namespace| namespace.ino() != FIRST_USER_NAMESPACE)
}

/// Path of the type information of the running kernel.
const VMLINUX: &str = "/sys/kernel/btf/vmlinux";

/// Returns the types of the running kernel. Messages of libbpf about a failure are in the error.
pub(crate) fn kernel_btf() -> Result<Btf<'static>, Error> {
    // opened first: the system's error says more than libbpf's
    let no_btf = |cause| Error::NoBtf { path: VMLINUX.into(), cause };
    fs::File::open(VMLINUX).map_err(no_btf)?;
    let (parsed, _) = log::with_log(Btf::from_vmlinux);
    parsed.map_err(|error| no_btf(io::Error::new(io::ErrorKind::InvalidData, error.to_string())))
}

/// Returns the capabilities in a process's status file; none if it cannot be read.
fn effective_capabilities(status: &Path) -> u64 {
    let text = fs::read_to_string(status).unwrap_or_default();
    let effective = text.lines().find_map(|line| line.strip_prefix("CapEff:"));
    effective.and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok()).unwrap_or(0)
}

/// Returns the rights that this process lacks for loading.
fn missing_rights(status: &Path) -> Vec<&'static str> {
    let missing = missing_capabilities(status);
    if missing.is_empty() && is_in_user_namespace() { vec![ROOT_OF_THE_HOST] } else { missing }
}

fn missing_capabilities(status: &Path) -> Vec<&'static str> {
    let bits = effective_capabilities(status);
    let has = |number: u32| bits >> number & 1 == 1;
    // CAP_SYS_ADMIN includes the two that were split off it in 5.8, but not CAP_NET_ADMIN
    let lacks =
        |&&(name, number): &&(&str, u32)| !(has(number) || (name != "CAP_NET_ADMIN" && has(CAP_SYS_ADMIN)));
    CAPABILITIES.iter().filter(lacks).map(|(name, _)| *name).collect()
}

fn jit() -> Check {
    let topic = Topic("BPF compiler (JIT)", "the kernel runs a struct_ops only as machine code");
    let file = "/proc/sys/net/core/bpf_jit_enable";
    match fs::read_to_string(file).as_deref().map(str::trim) {
        Ok("0") => topic.missing("off", "sysctl net.core.bpf_jit_enable=1"),
        Ok(_) => topic.ok("on"),
        Err(e) => topic.degraded(format!("{file}: {e}"), "if loading fails, look here first"),
    }
}

/// The members of tcp_congestion_ops in the kernels from 6.1 to 7.1 of kernel.org (include/net/tcp.h).
const STOCK_MEMBERS: &str = "ssthresh cong_avoid set_state cwnd_event cwnd_event_tx_start in_ack_event \
                             pkts_acked min_tso_segs cong_control undo_cwnd sndbuf_expand get_info name \
                             owner list key flags init release";

/// Checks for patches: kernels with Google's BBRv3, such as XanMod's and CachyOS's, have tso_segs in the
/// place of min_tso_segs.
fn patches(members: &[String]) -> Check {
    let topic = Topic(
        "patches",
        "another tcp_congestion_ops than kernel.org's is one that was not tested; members go by name",
    );
    let is_stock = |name: &str| STOCK_MEMBERS.split(' ').any(|stock| stock == name);
    let added: Vec<&str> = members.iter().map(String::as_str).filter(|name| !is_stock(name)).collect();
    let mut found = match added.as_slice() {
        [] => "tcp_congestion_ops is as kernel.org has it".to_owned(),
        added => format!("tcp_congestion_ops has {}, which kernel.org's has not", added.join(", ")),
    };
    if !members.iter().any(|name| name == "min_tso_segs") {
        found.push_str("; it lacks min_tso_segs, which no algorithm of ours uses");
    }
    topic.ok(found)
}

/// The field of `struct bpf_prog_aux` by which a kernel decides whether to run a program while process 1
/// runs. Linux of kernel.org has no such field, and skips no hook of TCP.
const SKIPS_FIELD: &str = "init_owned";

fn process_1(skips_programs: bool) -> Check {
    let topic = Topic(
        "programs in process 1",
        "where a hook is skipped, the kernel takes what was on its stack for ssthresh or cwnd, uses it at \
         once or at a later ACK in any process, and may log a warning",
    );
    if !skips_programs {
        return topic.ok("they run as in any process");
    }
    let grow = Algorithm::all().filter(|algorithm| algorithm.kind() == Kind::GrowsCwnd);
    let grow: Vec<&str> = grow.map(Algorithm::name).collect();
    let found = format!(
        "this kernel (bpf_prog_aux.{SKIPS_FIELD}) skips them, so that now and then a flow gets a random \
         cwnd: most often with an algorithm that leaves reductions to the kernel ({}, headers of \
         CC_GROWS_CWND), and with any other one for an ACK or until the end of STARTUP",
        grow.join(", ")
    );
    let remedy = "boot another kernel for work that matters, or use an algorithm that sets cwnd on each ACK; \
                  the testbed does not judge a run with such a cwnd";
    topic.degraded(found, remedy)
}

fn ecn(control_has_flag: bool) -> Check {
    let topic = Topic("ECN echo per ACK", "algorithms that react to ECN marks need it");
    if control_has_flag {
        return topic.ok("cong_control gets the ACK's flags");
    }
    let found =
        "cong_control does not get the ACK's flags; algorithms that track sends get them by another hook";
    topic.degraded(found, "6.10 or later has it")
}

fn links(has_links: bool) -> Check {
    let topic = Topic("BPF links for struct_ops", "they make loading crash-safe and PROBE_RTT samples exact");
    if has_links {
        return topic.ok("yes");
    }
    let found =
        "no: what a killed process loaded stays until it is unloaded; PROBE_RTT cannot mark its samples";
    topic.degraded(found, "6.4 or later has them")
}

fn file_system() -> Check {
    let topic = Topic("BPF file system", "loaded algorithms are pinned there, to outlive the process");
    if !bpffs::may_open() {
        return topic.missing("this process may not open /sys/fs/bpf", "run it as root (sudo)");
    }
    if bpffs::is_mounted() {
        return topic.ok("mounted at /sys/fs/bpf");
    }
    if Path::new("/sys/fs/bpf").is_dir() {
        return topic.ok("not mounted yet; loading mounts it at /sys/fs/bpf");
    }
    topic.degraded("there is no /sys/fs/bpf", "mount sysfs at /sys")
}
