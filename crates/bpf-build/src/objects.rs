//! A folder of compiled objects, as fairpace-kernel ships them: one per line of `algorithms.def`, and the
//! tools.

use std::fs;
use std::path::Path;

use crate::{BpfCompiler, Error, Object, Sources};

/// The file that holds the digest of the sources.
const DIGEST: &str = "SOURCES";

/// Programs of the loader that are no algorithm of the list: `bpf/NAME.bpf.c`.
pub const TOOLS: [&str; 2] = ["socket_iterators", "dctcp_echo"];

/// Compiles every algorithm and preset of the list, in its order, and the [`TOOLS`].
///
/// # Errors
/// The errors of [`BpfCompiler::compile`] and [`Sources::listed`].
pub fn compile_all(compiler: &BpfCompiler) -> Result<Vec<Object>, Error> {
    let listed = compiler.sources().listed()?;
    let algorithms = listed.iter().map(|algorithm| compiler.compile(algorithm));
    algorithms.chain(TOOLS.iter().map(|name| compiler.compile_tool(name))).collect()
}

/// Writes objects to a folder as `NAME.bpf.o`, with the digest of the sources that they were compiled from.
/// Other objects in the folder are removed.
///
/// # Errors
/// The folder cannot be written, or the sources cannot be read.
pub fn write_objects(folder: &Path, objects: &[Object], sources: &Sources) -> Result<(), Error> {
    match fs::remove_dir_all(folder) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => return Err(Error::io(folder)(e)),
        _ => fs::create_dir_all(folder).map_err(Error::io(folder))?,
    }
    for object in objects {
        let path = folder.join(file_name(&object.name));
        fs::write(&path, &object.elf).map_err(Error::io(&path))?;
    }
    let path = folder.join(DIGEST);
    fs::write(&path, sources.digest()? + "\n").map_err(Error::io(&path))
}

/// Reads the objects of the list and the [`TOOLS`] from a folder that [`write_objects`] wrote.
///
/// # Errors
/// [`Error::StaleObjects`] when they were compiled from other sources or an object is missing; else the
/// errors of [`Sources::listed`].
pub fn read_objects(folder: &Path, sources: &Sources) -> Result<Vec<Object>, Error> {
    let stale = |why: String| Error::StaleObjects { folder: folder.to_owned(), why };
    let digest = fs::read_to_string(folder.join(DIGEST)).map_err(|e| stale(format!("{DIGEST}: {e}")))?;
    if digest.trim() != sources.digest()? {
        return Err(stale("they were compiled from other sources".to_owned()));
    }
    let read = |name: &str| {
        let elf = fs::read(folder.join(file_name(name))).map_err(|e| stale(format!("{name}: {e}")))?;
        Ok(Object { name: name.to_owned(), elf, warnings: String::new() })
    };
    let listed = sources.listed()?;
    listed.iter().map(|algorithm| algorithm.name()).chain(TOOLS).map(read).collect()
}

/// Compares the objects in a folder, byte by byte, with other objects of the list.
///
/// # Errors
/// [`Error::StaleObjects`] names the objects that differ; else the errors of [`read_objects`].
pub fn check_objects(folder: &Path, fresh: &[Object], sources: &Sources) -> Result<(), Error> {
    let stored = read_objects(folder, sources)?;
    let differ = stored.iter().zip(fresh).filter(|(stored, fresh)| stored.elf != fresh.elf);
    let names: Vec<&str> = differ.map(|(stored, _)| stored.name.as_str()).collect();
    if names.is_empty() && stored.len() == fresh.len() {
        return Ok(());
    }
    let why = format!("a fresh compilation gives other bytes: {}", names.join(", "));
    Err(Error::StaleObjects { folder: folder.to_owned(), why })
}

fn file_name(name: &str) -> String {
    format!("{name}.bpf.o")
}
