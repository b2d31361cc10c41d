//! Algorithms that were compiled after this program: each is a shared library of `native/native.c` and one
//! header. `fairpace-bpf-build` compiles them.
//!
//! A library runs in this process, with all rights of this process. A false pointer in it may write anywhere.
//! So load it in a process that may be lost, and let another process read its [`Watch`].

use std::error::Error as _;
use std::ffi::{CStr, c_char};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

use libloading::{Library, Symbol};

use crate::algorithm::{Algorithm, FIRST_LOADED, MOST_LOADED, Origin, entry_of};
use crate::ffi;
use crate::watch::{Function, Watch};

/// The entry points of a library.
pub(crate) struct Code {
    pub(crate) init: ffi::Init,
    pub(crate) on_ack: ffi::OnAck,
    pub(crate) on_event: ffi::OnEvent,
    pub(crate) observe: ffi::Observe,
}

/// The code of loaded libraries, which is never unloaded: an algorithm is a number that may be kept for ever.
static CODES: [OnceLock<Code>; MOST_LOADED] = [const { OnceLock::new() }; MOST_LOADED];
static LOADING: Mutex<()> = Mutex::new(());
static WATCH: OnceLock<Watch> = OnceLock::new();

/// The reason why a library was not loaded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PluginError {
    /// The dynamic loader does not accept the library, or it lacks an entry point.
    #[error("{} cannot be loaded: {}", .library.display(), reason(.cause))]
    Library {
        /// Path of the library.
        library: PathBuf,
        /// Error of the loader.
        cause: libloading::Error,
    },
    /// Another algorithm, which is not of the same header, has this name.
    #[error("there is an algorithm \"{name}\" already: give {} another name", .header.display())]
    Taken {
        /// The name of the algorithm: that of the header's file.
        name: &'static str,
        /// Path of the header.
        header: PathBuf,
    },
    /// The library does not hold a single algorithm in the form that this version of the crate expects.
    #[error("{} is no algorithm of this version: {what}", .library.display())]
    Form {
        /// Path of the library.
        library: PathBuf,
        /// Description of the problem.
        what: String,
    },
    /// This process has loaded as many libraries as it can.
    #[error("at most {MOST_LOADED} headers can be loaded, a changed one counts again")]
    TooMany,
}

/// Returns the loader's message, which libloading keeps as the source of its own message.
fn reason(error: &libloading::Error) -> String {
    error.source().map_or_else(|| error.to_string(), ToString::to_string)
}

/// A header that was compiled to a library.
#[derive(Debug, Clone)]
pub struct Compiled {
    /// Path of the shared library.
    pub library: PathBuf,
    /// The origin of the library.
    pub origin: Origin,
}

/// Reports calls into libraries to this watch from now on. The first watch stays.
pub fn watch(watch: Watch) {
    let _ = WATCH.set(watch);
}

/// Loads a library. The algorithm has the name of its header's file. If a library of the same header is
/// loaded already, the name means the new one from now on; flows that run go on with the old one.
///
/// # Safety
/// The library's code runs in this process. It must have been compiled from `native/native.c` of this
/// version.
///
/// # Errors
/// The library cannot be loaded, or has a name that another algorithm has.
pub unsafe fn load(compiled: Compiled) -> Result<Algorithm, PluginError> {
    let Compiled { library, origin } = compiled;
    let _one_at_a_time = LOADING.lock().unwrap_or_else(PoisonError::into_inner);
    // SAFETY: as this function's own
    let (code, rows) = unsafe { open(&library) }
        .map_err(|cause| PluginError::Library { library: library.clone(), cause })?;
    let form = |what: String| PluginError::Form { library: library.clone(), what };
    let [row] = rows else { return Err(form(format!("it has {} algorithms", rows.len()))) };
    if row.state_bytes as usize > ffi::STATE_BYTES || row.parameter_count as usize > ffi::MAX_PARAMETERS {
        return Err(form("its state or its parameters are too many".to_owned()));
    }
    // SAFETY: as this function's own: the pointers are null, or to texts in the library
    unsafe { check_texts(row) }.map_err(form)?;
    let entry = entry_of(row).ok_or_else(|| form("a parameter has an unknown unit".to_owned()))?;
    if let Some(wrong) = entry.parameters.iter().find(|of| !(of.least..=of.most).contains(&of.default)) {
        return Err(form(format!("the default of {} is outside of its range", wrong.name)));
    }
    let is_other = |known: &Algorithm| known.header() != Some(&origin.header);
    if Algorithm::all().chain(Algorithm::loaded()).any(|known| known.name() == entry.name && is_other(&known))
    {
        return Err(PluginError::Taken { name: entry.name, header: origin.header });
    }
    let place = CODES.iter().find(|place| place.get().is_none()).ok_or(PluginError::TooMany)?;
    // first: the number is known to others only when the algorithm is in the table
    let _ = place.set(code);
    Algorithm::add(entry, origin).ok_or(PluginError::TooMany)
}

/// Checks that the texts of a header are valid.
///
/// # Safety
/// Each pointer is null, or points to bytes that a zero ends.
unsafe fn check_texts(row: &'static ffi::Algorithm) -> Result<(), String> {
    let check = |pointer: *const c_char, what: &str| {
        let no_text = || format!("{what} is no text in UTF-8");
        if pointer.is_null() {
            return Err(no_text());
        }
        // SAFETY: the caller's
        unsafe { CStr::from_ptr(pointer) }.to_str().map(drop).map_err(|_| no_text())
    };
    check(row.title, "its title")?;
    check(row.source, "its source")?;
    for parameter in ffi::parameters(row) {
        check(parameter.what, "what a parameter does")?;
        check(parameter.why, "the reason of a parameter's default")?;
    }
    Ok(())
}

/// Returns the entry points of a library, and its table.
///
/// # Safety
/// The conditions of [`load`].
unsafe fn open(path: &Path) -> Result<(Code, &'static [ffi::Algorithm]), libloading::Error> {
    // SAFETY: the caller's; the symbols have these types in native/native.c
    unsafe {
        let library = Library::new(path)?;
        let table: Symbol<'_, ffi::Algorithms> = library.get(b"cc_native_algorithms\0")?;
        let mut count = 0;
        let first = table(&mut count);
        let rows = std::slice::from_raw_parts(first, count as usize);
        let code = Code {
            init: *library.get(b"cc_native_init\0")?,
            on_ack: *library.get(b"cc_native_on_ack\0")?,
            on_event: *library.get(b"cc_native_on_event\0")?,
            observe: *library.get(b"cc_native_observe\0")?,
        };
        std::mem::forget(library);
        Ok((code, rows))
    }
}

/// Calls an entry point of a plugin, visibly for the watch.
///
/// # Safety
/// The conditions of the C function that `call` calls.
#[inline(never)] // or every call of a listed algorithm would save the registers that this needs
pub(crate) unsafe fn call(id: u32, function: Function, call: impl FnOnce(&'static Code)) {
    let index = id & !FIRST_LOADED;
    let Some(code) = CODES.get(index as usize).and_then(OnceLock::get) else { return };
    let watch = WATCH.get();
    if let Some(watch) = watch {
        watch.enter(index, function as u32);
    }
    call(code);
    if let Some(watch) = watch {
        watch.leave();
    }
}
