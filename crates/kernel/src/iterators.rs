//! The BPF iterators of `cc/bpf/socket_iterators.bpf.c`: loaded one at a time, and read.

use std::io::{self, Read};

use libbpf_rs::{Iter, IterOpts, Link, Object, ObjectBuilder, OpenObject, ProgramMut};

use crate::object::{bad_object, tool};
use crate::{Error, Features, log};

/// Name of the embedded object.
const OBJECT: &str = "socket_iterators";

/// A program of the object, in the kernel.
#[derive(Debug)]
pub(crate) struct Iterator {
    object: Object,
    program: &'static str,
}

impl Iterator {
    /// Loads an iterator. `configure` sets the object's constants before.
    pub(crate) fn load(
        program: &'static str,
        configure: impl FnOnce(&mut OpenObject) -> Result<(), Error>,
    ) -> Result<Iterator, Error> {
        let (result, log) = log::with_log(|| {
            let opening = Error::bpf(format!("opening {OBJECT}"));
            let mut open = ObjectBuilder::default().open_memory(tool(OBJECT)?).map_err(opening)?;
            for mut other in open.progs_mut().filter(|p| p.name() != program) {
                other.set_autoload(false);
            }
            configure(&mut open)?;
            open.load().map_err(Error::bpf(format!("loading {OBJECT} into the kernel")))
        });
        match result {
            Ok(object) => Ok(Iterator { object, program }),
            Err(error) => {
                // what the kernel or this process lacks says more, and takes as long to find out as loading
                let features = Features::probe();
                features.require()?;
                Err(log::explain(error, &log, OBJECT, true, &features.release))
            }
        }
    }

    /// Attaches the iterator, such as to a map, for [`read`].
    pub(crate) fn attach(
        &self,
        attach: impl FnOnce(&ProgramMut<'_>) -> libbpf_rs::Result<Link>,
    ) -> Result<Link, Error> {
        let found = self.object.progs_mut().find(|p| p.name() == self.program);
        attach(&found.ok_or_else(|| lacks("its program"))?)
            .map_err(Error::bpf(format!("{OBJECT}: attaching {}", self.program)))
    }

    /// Attaches the iterator without a target: it visits all items of its kind.
    pub(crate) fn attach_to_all(&self) -> Result<Link, Error> {
        self.attach(|program| program.attach_iter_with_opts(IterOpts::None))
    }
}

/// Fills the object's configuration, `struct move_config`.
pub(crate) fn configure(open: &mut OpenObject, config: &[u8]) -> Result<(), Error> {
    let map = open.maps_mut().find(|m| m.name().to_string_lossy().ends_with(".config"));
    let mut map = map.ok_or_else(|| lacks("its configuration"))?;
    let value = map.initial_value_mut().filter(|value| value.len() == config.len());
    value.ok_or_else(|| lacks("its configuration"))?.copy_from_slice(config);
    Ok(())
}

/// Runs an iterator once and returns its records of this size. A record that is cut off is left out.
pub(crate) fn read<const BYTES: usize>(link: &Link) -> Result<Vec<[u8; BYTES]>, Error> {
    let what = || format!("{OBJECT}: reading");
    let io_error = |cause: io::Error| Error::Bpf { what: what(), cause, log: String::new() };
    let mut bytes = Vec::new();
    Iter::new(link).map_err(Error::bpf(what()))?.read_to_end(&mut bytes).map_err(io_error)?;
    Ok(bytes.as_chunks::<BYTES>().0.to_vec())
}

/// Returns a field of a record, in this machine's byte order.
pub(crate) fn field<const BYTES: usize>(record: &[u8], at: usize) -> [u8; BYTES] {
    record.get(at..).and_then(|rest| rest.first_chunk()).copied().unwrap_or([0; BYTES])
}

fn lacks(what: &'static str) -> Error {
    bad_object(OBJECT, what)
}
