//! Loads an algorithm into the kernel and registers it.

use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::path::Path;

use fairpace_cc::{Algorithm, Params};
use libbpf_rs::{Link, Map, MapCore, MapHandle, MapType};

use crate::adapt::{self, Setup};
use crate::bpffs::{self, Lock};
use crate::error::system_error;
use crate::list::holder;
use crate::object::bad_object;
use crate::transaction::{self, Change, Kind};
use crate::{Error, Features, Object, log, names};

/// Options for loading.
#[derive(Debug, Clone, Default)]
pub struct LoadOptions {
    /// Suffix of the kernel name (`fp_bbq` and `_a` give `fp_bbq_a`), so that several settings of one
    /// algorithm, or several runs, can be in the kernel at once. The whole name has at most 15 characters: a
    /// long kernel name is shortened for the suffix (`fp_nyu_latency` and `_run1` give `fp_nyu_lat_run1`),
    /// which may have 8.
    pub suffix: String,
    /// True if the algorithm is pinned, so that it outlives the process. Otherwise it leaves the kernel with
    /// [`Loaded`], however the process ends.
    pub pin: bool,
}

impl LoadOptions {
    /// Returns options without a pin, and with a name that no other algorithm in the kernel has, in this
    /// process or another one: a suffix of a dot, the process id and a number.
    pub fn unique() -> LoadOptions {
        LoadOptions { suffix: names::unique_suffix(), pin: false }
    }

    /// Returns the kernel name of an algorithm with this suffix.
    pub fn kernel_name(&self, algorithm: Algorithm) -> String {
        names::with_suffix(algorithm.kernel_name(), &self.suffix)
    }
}

/// An algorithm in the kernel, loaded by this process. Unless pinned, dropping it unregisters the algorithm;
/// sockets that use it go on using it until they close.
#[derive(Debug)]
pub struct Loaded {
    name: String,
    algorithm: Option<Algorithm>,
    pub(crate) state_bytes: usize,
    pub(crate) storage: MapHandle,
    pub(crate) counters: MapHandle,
    programs: Vec<Program>,
    registration: Registration,
}

/// The object that keeps an algorithm registered.
#[derive(Debug)]
pub(crate) enum Registration {
    /// A link: unregisters when its last descriptor and pin are gone, however the process ends.
    Link { link: Link },
    /// A map, before 6.4: registered until its element is deleted.
    Map { map: MapHandle, until_dropped: bool },
}

impl Registration {
    /// Pins the link. Before 6.4 there is no link to pin.
    fn pin(&mut self, path: &Path) -> Result<(), Error> {
        match self {
            Registration::Link { link } => {
                link.pin(path).map_err(|error| bpffs::failed(path, system_error(error)))
            }
            Registration::Map { .. } => Ok(()),
        }
    }

    /// Keeps the algorithm registered when this process ends.
    fn stay(&mut self) {
        if let Registration::Map { until_dropped, .. } = self {
            *until_dropped = false;
        }
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        if let Registration::Map { map, until_dropped: true } = self {
            let _ = map.delete(&0u32.to_ne_bytes()); // nothing can be done in a destructor; list shows it
        }
    }
}

/// A program of a loaded algorithm: a hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// Name of the hook.
    pub name: String,
    /// The kernel's id of the program.
    pub id: u32,
    /// Number of instructions that the verifier processed for the program; 0 where the kernel (before 5.16)
    /// does not report it.
    pub verified_instructions: u32,
}

/// Loads a listed algorithm with these parameters and registers it. Sockets can select it by
/// [`Loaded::kernel_name`] when this returns.
///
/// ```no_run
/// use fairpace_cc::{Algorithm, Params};
/// use fairpace_kernel::{LoadOptions, list, load, unload};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut params = Params::defaults(Algorithm::by_name("bbq")?);
/// params.set("alpha", "3ms")?;
/// let loaded = load(&params, &LoadOptions { pin: true, ..LoadOptions::default() })?;
/// for entry in list()? {
///     println!("{}: {:?}", entry.name, entry.status);
/// }
/// unload(loaded.kernel_name())?;
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// The kernel or the process cannot load ([`Features::require`]), the name is bad or taken, the verifier
/// refuses the program, or the BPF file system cannot hold the pin. Nothing stays loaded then.
pub fn load(params: &Params, options: &LoadOptions) -> Result<Loaded, Error> {
    load_object(&Object::listed(params)?, options)
}

/// Loads an object and registers it: an algorithm that [`Object::from_elf`] read, or a listed algorithm.
///
/// # Errors
/// The errors of [`load`].
pub fn load_object(object: &Object, options: &LoadOptions) -> Result<Loaded, Error> {
    let mut all = load_objects(std::slice::from_ref(object), options, &|| false)?;
    all.pop().ok_or_else(|| bad_object(&object.kernel_name, "everything"))
}

/// Loads several objects and registers them, all or none of them. If they are pinned, this holds also when
/// the process is killed meanwhile: the next operation completes or undoes the load ([`crate::repair`]).
/// Before Linux 6.4, which has no links for struct_ops, a killed process leaves the objects that it had
/// registered.
///
/// `stop` is called before each object; if it returns true, nothing is loaded.
///
/// # Errors
/// The errors of [`load`], for the first object that cannot be loaded; [`Error::Interrupted`] if `stop`
/// returned true.
pub fn load_objects(
    objects: &[Object],
    options: &LoadOptions,
    stop: &dyn Fn() -> bool,
) -> Result<Vec<Loaded>, Error> {
    let one = |object| {
        if stop() { Err(Error::Interrupted) } else { load_and_register(object, options, 0) }
    };
    if !options.pin {
        return objects.iter().map(one).collect();
    }
    Features::probe().require_kernel()?;
    let lock = Lock::take_mounting(stop)?;
    transaction::repair_locked(&lock)?;
    // declared before the handles: an undone change removes the pins after they have been dropped
    let change = Change::begin(Kind::Load, &lock)?;
    let mut all = Vec::new();
    for object in objects {
        let mut loaded = one(object)?;
        let place = bpffs::path(&loaded.name);
        if place.exists() {
            // of another program: a repair would have removed ours
            return Err(bpffs::failed(place, io::ErrorKind::AlreadyExists.into()));
        }
        loaded.registration.pin(&change.path(&loaded.name))?;
        all.push(loaded);
    }
    if stop() {
        return Err(Error::Interrupted);
    }
    change.commit()?;
    all.iter_mut().for_each(|loaded| loaded.registration.stay());
    Ok(all)
}

/// Behaviour of an object for tests: `enum cc_testing` of cc/bpf/object.bpf.c.
#[cfg(feature = "testing")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Testing {
    /// Every allocation of a flow's state fails, so that the fallback runs.
    NoStorage = 1,
    /// Decisions are applied without bounds, and no skipped value is corrected.
    NoClamps = 2,
    /// The object acts like a kernel that skips every fourth call of a hook that returns a value.
    Skips = 4,
    /// The object skips like [`Testing::Skips`], and no skipped value is corrected.
    SkipsWithoutHeals = 6,
}

/// Loads an object that behaves differently, for tests.
///
/// # Errors
/// The errors of [`load_object`].
#[cfg(feature = "testing")]
pub fn load_testing(object: &Object, options: &LoadOptions, testing: Testing) -> Result<Loaded, Error> {
    load_and_register(object, options, testing as u32)
}

/// Loads an object and registers it. `testing`: `enum cc_testing` of cc/bpf/object.bpf.c.
fn load_and_register(object: &Object, options: &LoadOptions, testing: u32) -> Result<Loaded, Error> {
    let features = Features::probe();
    features.require_kernel()?;
    let name = names::with_suffix(&object.kernel_name, &options.suffix);
    names::check(&name, options.pin)?;
    if names::available()?.contains(&name) {
        return Err(Error::NameBusy { holder: holder(&name), name });
    }
    let setup = Setup { object, name: &name, testing, replay: false };
    let mut loaded = adapt::load(&setup, &features)?;

    let storage = map(&loaded, &name, |m| m.map_type() == MapType::SkStorage)?;
    let counters = map(&loaded, &name, |m| m.name().to_string_lossy().ends_with(".bss"))?;
    let programs = programs(&loaded)?;

    let registration = register(&mut loaded, &name, features.interface.has_links)?;
    Ok(Loaded {
        name,
        algorithm: object.algorithm,
        state_bytes: object.state_bytes,
        storage,
        counters,
        programs,
        registration,
    })
}

impl Loaded {
    /// The name by which sockets select the algorithm (TCP_CONGESTION).
    pub fn kernel_name(&self) -> &str {
        &self.name
    }

    /// The listed algorithm; `None` for an object of a user.
    pub fn algorithm(&self) -> Option<Algorithm> {
        self.algorithm
    }

    /// The algorithm's programs, one per hook.
    pub fn programs(&self) -> &[Program] {
        &self.programs
    }
}

/// Registers the algorithm of a loaded object under this name.
pub(crate) fn register(
    object: &mut libbpf_rs::Object,
    name: &str,
    has_links: bool,
) -> Result<Registration, Error> {
    let handle = map(object, name, |m| m.map_type() == MapType::StructOps)?;
    let mut link = attach(object, name)?;
    if !has_links {
        // libbpf's stand-in for a link borrows the object's descriptor: it must not act when that is closed
        link.disconnect();
        return Ok(Registration::Map { map: handle, until_dropped: true });
    }
    Ok(Registration::Link { link })
}

fn attach(object: &mut libbpf_rs::Object, name: &str) -> Result<Link, Error> {
    let found = object.maps_mut().find(|m| m.map_type() == MapType::StructOps);
    let mut ops = found.ok_or_else(|| bad_object(name, "its struct_ops"))?;
    let (result, log) = log::with_log(|| ops.attach_struct_ops());
    match result {
        Ok(link) => Ok(link),
        // another process took the name after the check above
        Err(e) if e.kind() == libbpf_rs::ErrorKind::AlreadyExists => {
            Err(Error::NameBusy { name: name.to_owned(), holder: holder(name) })
        }
        Err(e) => Err(Error::Bpf { what: format!("registering {name}"), cause: system_error(e), log }),
    }
}

fn map(
    object: &libbpf_rs::Object,
    name: &str,
    wanted: impl Fn(&Map<'_>) -> bool,
) -> Result<MapHandle, Error> {
    let found = object.maps().find(|m| wanted(m)).ok_or_else(|| bad_object(name, "a map"))?;
    MapHandle::try_from(&found).map_err(Error::bpf("keeping a map of the loaded object"))
}

fn programs(object: &libbpf_rs::Object) -> Result<Vec<Program>, Error> {
    let what = "asking for the loaded programs";
    let loaded = object.progs().filter(|p| p.autoload());
    loaded.map(|p| program(&p).map_err(Error::bpf(what))).collect()
}

/// Returns a program by its descriptor: walking the kernel's list, as libbpf-rs does, requires CAP_SYS_ADMIN.
fn program(program: &libbpf_rs::Program<'_>) -> libbpf_rs::Result<Program> {
    let mut info = libbpf_sys::bpf_prog_info::default();
    let mut bytes = size_of_val(&info) as u32;
    let fd = program.as_fd().as_raw_fd();
    // SAFETY: info is plain data of the size given, without pointers that the kernel would follow
    let result = unsafe { libbpf_sys::bpf_prog_get_info_by_fd(fd, &mut info, &mut bytes) };
    if result < 0 {
        return Err(io::Error::from_raw_os_error(-result).into());
    }
    let name = program.name().to_string_lossy().into_owned();
    Ok(Program { name, id: info.id, verified_instructions: info.verified_insns })
}
