//! The manifest: the list of a result's files with their hashes, which determines what may be removed.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::OFlags;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// Name of the manifest in a result directory.
pub(super) const NAME: &str = "manifest.json";
const SCHEMA: &str = "fairpace.manifest/1";
/// Bytes of a block in which a file is read for its hash.
const CHUNK_BYTES: usize = 1 << 16;
/// Largest manifest that is read, bytes: 100 bytes a file, so 600,000 files.
const MOST_BYTES: u64 = 64_000_000;

/// The files that a run wrote. A directory may be replaced only if it holds these files, unchanged, and no
/// others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Manifest {
    schema: String,
    /// The files by path in the directory, with `/` between parts.
    files: BTreeMap<String, Content>,
}

/// Content of a file when it was written, as size and hash.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Content {
    bytes: u64,
    sha256: String,
}

/// Content of a directory, as [`look`] finds it.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// The directory is empty.
    Empty,
    /// The directory has the result of an earlier run, as that run wrote it. Files of it may be missing.
    Result(Manifest),
    /// The directory has a file that no run wrote, or that was changed since.
    Foreign(Foreign),
}

/// A file or directory because of which a result directory must not be changed.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Foreign {
    /// Path of the file or directory, within the result directory.
    pub(super) path: PathBuf,
    /// The reason, as a text after the path.
    pub(super) why: &'static str,
}

impl Manifest {
    /// The manifest of all files that `dir` holds.
    pub(super) fn of(dir: &Path) -> io::Result<Self> {
        let mut files = BTreeMap::new();
        for entry in entries(dir)? {
            if entry.kind == Kind::File && entry.path != Path::new(NAME) {
                files.insert(key(&entry.path)?, Content::of(&dir.join(&entry.path))?);
            }
        }
        Ok(Self { schema: SCHEMA.to_owned(), files })
    }

    /// The manifest in `dir`; `None` if it has none that a run wrote.
    pub(super) fn read(dir: &Path) -> io::Result<Option<Self>> {
        Self::read_file(&dir.join(NAME))
    }

    /// The manifest in this file. Its author is not trusted: with a path that leads out of the directory it
    /// is not a manifest.
    pub(super) fn read_file(path: &Path) -> io::Result<Option<Self>> {
        match fs::symlink_metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Ok(found) if !found.is_file() || found.len() > MOST_BYTES => return Ok(None),
            other => other?,
        };
        let mut text = Vec::new();
        open(path)?.take(MOST_BYTES).read_to_end(&mut text)?;
        let manifest: Option<Self> = serde_json::from_slice(&text).ok();
        let is_ours = |manifest: &Self| manifest.schema == SCHEMA && manifest.paths().all(stays_inside);
        Ok(manifest.filter(is_ours))
    }

    /// The manifest as indented JSON.
    pub(super) fn to_json(&self) -> io::Result<String> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }

    /// Paths of the listed files.
    pub(super) fn paths(&self) -> impl Iterator<Item = &Path> {
        self.files.keys().map(Path::new)
    }

    pub(super) fn lists(&self, path: &Path) -> bool {
        self.paths().any(|listed| listed == path)
    }

    /// Whether a file in `dir` is unchanged since it was written.
    pub(super) fn is_unchanged(&self, dir: &Path, path: &Path) -> io::Result<bool> {
        let Some(content) = path.to_str().and_then(|path| self.files.get(path)) else { return Ok(false) };
        let file = dir.join(path);
        // the length first: it costs nothing
        Ok(fs::symlink_metadata(&file)?.len() == content.bytes && Content::of(&file)? == *content)
    }
}

/// Whether a path of a manifest names a file in the directory of that manifest.
fn stays_inside(path: &Path) -> bool {
    let is_name = |part| matches!(part, Component::Normal(_));
    path != Path::new(NAME) && path.file_name().is_some() && path.components().all(is_name)
}

/// Opens a regular file. It follows no link, and does not wait for a FIFO at the path.
fn open(path: &Path) -> io::Result<File> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path)
}

impl Content {
    fn of(path: &Path) -> io::Result<Self> {
        let mut file = open(path)?;
        let mut hash = Sha256::new();
        let mut chunk = vec![0; CHUNK_BYTES];
        let mut bytes = 0;
        loop {
            let read = file.read(&mut chunk)?;
            if read == 0 {
                break;
            }
            bytes += read as u64;
            hash.update(chunk.get(..read).unwrap_or_default());
        }
        let sha256 = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Self { bytes, sha256 })
    }
}

/// Examines the content of `dir`. `ignored` is the name of an entry that does not count.
pub(super) fn look(dir: &Path, ignored: Option<&Path>) -> io::Result<Found> {
    let counts = |path: &Path| ignored.is_none_or(|ignored| !path.starts_with(ignored));
    let Some(manifest) = Manifest::read(dir)? else {
        // not everything below it: it may be a whole file system
        let names = fs::read_dir(dir)?.map(|entry| Ok(PathBuf::from(entry?.file_name())));
        let names = names.collect::<io::Result<Vec<_>>>()?;
        let Some(path) = names.into_iter().filter(|path| counts(path)).min() else { return Ok(Found::Empty) };
        let why = "was not written by this version of fairpace: the directory has no manifest.json of it";
        return Ok(Found::Foreign(Foreign { path, why }));
    };
    for entry in entries(dir)?.into_iter().filter(|entry| counts(&entry.path)) {
        if let Some(why) = foreign(dir, &entry, &manifest)? {
            return Ok(Found::Foreign(Foreign { path: entry.path, why }));
        }
    }
    Ok(Found::Result(manifest))
}

/// The reason why an entry of a result directory is not part of the result; `None` if it is.
fn foreign(dir: &Path, entry: &Entry, manifest: &Manifest) -> io::Result<Option<&'static str>> {
    const UNKNOWN: &str = "was not written by fairpace";
    let path = &entry.path;
    Ok(match entry.kind {
        Kind::File if path == Path::new(NAME) => None,
        Kind::File if !manifest.lists(path) => Some(UNKNOWN),
        Kind::File if !manifest.is_unchanged(dir, path)? => Some("was changed after the run that wrote it"),
        Kind::File => None,
        Kind::Directory if manifest.paths().any(|listed| listed.starts_with(path)) => None,
        Kind::Directory | Kind::Other => Some(UNKNOWN),
    })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    File,
    Directory,
    /// A symbolic link, device, socket or FIFO.
    Other,
}

struct Entry {
    path: PathBuf,
    kind: Kind,
}

/// All entries below `dir`, by path in it, parents first. Links are not followed.
fn entries(dir: &Path) -> io::Result<Vec<Entry>> {
    let mut all = Vec::new();
    let mut open = vec![PathBuf::new()];
    while let Some(inside) = open.pop() {
        for entry in fs::read_dir(dir.join(&inside))? {
            let entry = entry?;
            let path = inside.join(entry.file_name());
            let kind = match entry.file_type()? {
                kind if kind.is_file() => Kind::File,
                kind if kind.is_dir() => Kind::Directory,
                _ => Kind::Other,
            };
            if kind == Kind::Directory {
                open.push(path.clone());
            }
            all.push(Entry { path, kind });
        }
    }
    all.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(all)
}

fn key(path: &Path) -> io::Result<String> {
    let text = path.to_str().ok_or_else(|| io::Error::other("a file name is not UTF-8"))?;
    Ok(text.to_owned())
}
