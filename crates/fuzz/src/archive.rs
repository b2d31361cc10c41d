//! The inputs of a target in one file: a tar archive, compressed with gzip.
//!
//! Equal inputs give equal bytes. Entries are in the order of their names, with a fixed time, owner and mode,
//! and the header of gzip has neither a time nor an operating system. Any `tar -xzf` unpacks it.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use flate2::{Compression, GzBuilder};

/// The mode of each entry: a file that its owner can write and everyone can read.
const MODE: u32 = 0o644;
/// The operating system in the header of gzip: "unknown" (RFC 1952, section 2.3.1).
const NO_SYSTEM: u8 = 255;

/// The reason why inputs could not be packed or unpacked.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The system refused to read or write a file or folder, or an archive is damaged.
    #[error("{}: {source}", path.display())]
    Io {
        /// Path of the file or folder.
        path: PathBuf,
        /// The system's error, or the damage of the archive.
        source: io::Error,
    },
    /// A file, or an entry of an archive, is no regular file with a plain name.
    #[error("{}: \"{name}\" is no regular file with a plain name in UTF-8", path.display())]
    NotAnInput {
        /// Path of the folder or archive.
        path: PathBuf,
        /// Name of the file or entry in it.
        name: String,
    },
    /// Two inputs have the same name and different bytes.
    #[error("{}: another input has the name \"{name}\"; rename the file to what it shows", path.display())]
    NameTaken {
        /// Path of the archive that the inputs are added to.
        path: PathBuf,
        /// The name of both inputs.
        name: String,
    },
}

impl Error {
    fn io(path: &Path) -> impl Fn(io::Error) -> Error {
        move |source| Error::Io { path: path.to_owned(), source }
    }

    fn not_an_input(path: &Path, name: &Path) -> Error {
        Error::NotAnInput { path: path.to_owned(), name: name.display().to_string() }
    }
}

/// The inputs of a target, by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Corpus {
    /// The inputs: a plain file name, and the bytes.
    pub inputs: BTreeMap<String, Vec<u8>>,
}

impl Corpus {
    /// Reads all inputs of an archive.
    ///
    /// # Errors
    /// The archive cannot be read, is damaged, or contains something other than files with plain names.
    pub fn of_archive(path: &Path) -> Result<Corpus, Error> {
        let failed = Error::io(path);
        let packed = fs::read(path).map_err(&failed)?;
        let mut archive = tar::Archive::new(GzDecoder::new(&packed[..]));
        let mut inputs = BTreeMap::new();
        for entry in archive.entries().map_err(&failed)? {
            let mut entry = entry.map_err(&failed)?;
            let name = entry.path().map_err(&failed)?.into_owned();
            let is_file = entry.header().entry_type().is_file();
            let Some(plain) = plain(&name).filter(|_| is_file) else {
                return Err(Error::not_an_input(path, &name));
            };
            let mut data = Vec::new();
            entry.read_to_end(&mut data).map_err(&failed)?;
            inputs.insert(plain.to_owned(), data);
        }
        Ok(Corpus { inputs })
    }

    /// Reads all files of a folder.
    ///
    /// # Errors
    /// The folder or a file cannot be read, or the folder has something other than files with plain names.
    pub fn of_folder(path: &Path) -> Result<Corpus, Error> {
        let mut inputs = BTreeMap::new();
        for entry in fs::read_dir(path).map_err(Error::io(path))? {
            let entry = entry.map_err(Error::io(path))?;
            let is_file = entry.file_type().map_err(Error::io(&entry.path()))?.is_file();
            let name = PathBuf::from(entry.file_name());
            let Some(plain) = plain(&name).filter(|_| is_file) else {
                return Err(Error::not_an_input(path, &name));
            };
            let data = fs::read(entry.path()).map_err(Error::io(&entry.path()))?;
            inputs.insert(plain.to_owned(), data);
        }
        Ok(Corpus { inputs })
    }

    /// Returns the bytes of the archive, which are equal for equal inputs.
    ///
    /// # Errors
    /// An input has a name that a tar archive cannot hold.
    pub fn pack(&self) -> io::Result<Vec<u8>> {
        let gzip = GzBuilder::new().mtime(0).operating_system(NO_SYSTEM);
        let mut archive = tar::Builder::new(gzip.write(Vec::new(), Compression::best()));
        for (name, data) in &self.inputs {
            let mut header = tar::Header::new_gnu();
            header.set_size(data.len() as u64);
            header.set_mode(MODE);
            header.set_mtime(0);
            header.set_uid(0);
            header.set_gid(0);
            archive.append_data(&mut header, name, &data[..])?;
        }
        archive.into_inner()?.finish()
    }

    /// Writes the archive in the place of an earlier one, in one step.
    ///
    /// # Errors
    /// The system's error; the earlier archive is unchanged then.
    pub fn write(&self, path: &Path) -> Result<(), Error> {
        let packed = self.pack().map_err(Error::io(path))?;
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new("."));
        // 0666 less the umask, as for any file that a program makes
        let mut new = tempfile::Builder::new()
            .permissions(Permissions::from_mode(0o666))
            .tempfile_in(folder)
            .map_err(Error::io(folder))?;
        new.write_all(&packed).map_err(Error::io(path))?;
        new.persist(path).map_err(|error| Error::Io { path: path.to_owned(), source: error.error })?;
        Ok(())
    }
}

/// Adds files to an archive, under their names, and writes it again. If there is no archive, the function
/// makes one. A file that the archive contains already, with its name, changes nothing.
///
/// # Errors
/// A file cannot be read, or another input has its name, or the archive cannot be read or written. The
/// archive is unchanged then.
pub fn add(archive: &Path, files: &[PathBuf]) -> Result<Corpus, Error> {
    let mut corpus = match Corpus::of_archive(archive) {
        Err(Error::Io { source, .. }) if source.kind() == ErrorKind::NotFound => Corpus::default(),
        read => read?,
    };
    for file in files {
        let name = file.file_name().map(Path::new).and_then(plain);
        let name = name.ok_or_else(|| Error::not_an_input(file, file))?;
        let data = fs::read(file).map_err(Error::io(file))?;
        let is_other = corpus.inputs.insert(name.to_owned(), data.clone()).is_some_and(|old| old != data);
        if is_other {
            return Err(Error::NameTaken { path: archive.to_owned(), name: name.to_owned() });
        }
    }
    corpus.write(archive)?;
    Ok(corpus)
}

/// Returns the name, if it is plain: in UTF-8, without folders.
fn plain(name: &Path) -> Option<&str> {
    name.to_str().filter(|text| name.file_name().is_some_and(|last| last == *text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn corpus(inputs: &[(&str, &[u8])]) -> Corpus {
        Corpus { inputs: inputs.iter().map(|(name, data)| ((*name).to_owned(), data.to_vec())).collect() }
    }

    /// Returns a folder with files of these names and contents.
    fn folder(inputs: &[(&str, &[u8])]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        inputs.iter().for_each(|(name, data)| fs::write(folder.path().join(name), data).unwrap());
        folder
    }

    #[test]
    fn a_folder_gives_the_same_bytes_whatever_the_order_times_and_modes_of_its_files() {
        let one = folder(&[("a", b"1"), ("b", b""), ("c", &[0xff, 0])]);
        let other = folder(&[("c", &[0xff, 0]), ("a", b"1"), ("b", b"")]);
        fs::set_permissions(other.path().join("a"), Permissions::from_mode(0o700)).unwrap();
        let file = fs::File::options().append(true).open(other.path().join("c")).unwrap();
        file.set_modified(std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000)).unwrap();
        let packed = |folder: &tempfile::TempDir| Corpus::of_folder(folder.path()).unwrap().pack().unwrap();
        assert_eq!(packed(&one), packed(&other));
        assert_ne!(packed(&one), corpus(&[("a", b"1")]).pack().unwrap());
    }

    #[test]
    fn entries_are_sorted_with_fixed_metadata_and_gzip_has_no_time() {
        let packed = corpus(&[("b", b"2"), ("a", b"1")]).pack().unwrap();
        // magic, deflate, no flags, no time, slowest compression, unknown system: RFC 1952
        assert_eq!(packed[..10], [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 2, 255]);
        let mut archive = tar::Archive::new(GzDecoder::new(&packed[..]));
        let entries = archive.entries().unwrap().map(|entry| {
            let header = entry.unwrap().header().clone();
            let name = header.path().unwrap().display().to_string();
            let of = (header.uid().unwrap(), header.gid().unwrap());
            (name, header.mtime().unwrap(), of, header.mode().unwrap())
        });
        let wanted = |name: &str| (name.to_owned(), 0, (0, 0), MODE);
        assert_eq!(entries.collect::<Vec<_>>(), [wanted("a"), wanted("b")]);
    }

    #[test]
    fn what_is_added_is_read_again() {
        let new = folder(&[("a", b"1"), ("long", &[7; 20_000])]);
        let path = new.path().join("x.tar.gz");
        let added = add(&path, &[new.path().join("long")]).unwrap();
        assert_eq!(added, corpus(&[("long", &[7; 20_000])]));
        let added = add(&path, &[new.path().join("a"), new.path().join("long")]).unwrap();
        assert_eq!(added, corpus(&[("a", b"1"), ("long", &[7; 20_000])]));
        assert_eq!(Corpus::of_archive(&path).unwrap(), added);
        assert_eq!(fs::read(&path).unwrap(), added.pack().unwrap());
    }

    #[test]
    fn a_name_of_another_input_is_refused_and_the_archive_stays() {
        let (old, new) = (folder(&[("a", b"1")]), folder(&[("a", b"2"), ("b", b"")]));
        let path = old.path().join("x.tar.gz");
        add(&path, &[old.path().join("a")]).unwrap();
        let before = fs::read(&path).unwrap();
        let error = add(&path, &[new.path().join("b"), new.path().join("a")]).unwrap_err();
        assert!(matches!(&error, Error::NameTaken { name, .. } if name == "a"), "{error}");
        assert_eq!(fs::read(&path).unwrap(), before);
        assert_eq!(fs::read_dir(old.path()).unwrap().count(), 2, "nothing else is left");
    }

    #[test]
    fn folders_and_missing_files_are_no_inputs() {
        let new = folder(&[]);
        fs::create_dir(new.path().join("sub")).unwrap();
        let path = new.path().join("x.tar.gz");
        assert!(matches!(Corpus::of_folder(new.path()), Err(Error::NotAnInput { .. })));
        assert!(matches!(add(&path, &[new.path().join("sub")]), Err(Error::Io { .. })));
        assert!(matches!(add(&path, &[new.path().join("sub/..")]), Err(Error::NotAnInput { .. })));
        assert!(matches!(add(&path, &[new.path().join("none")]), Err(Error::Io { .. })));
        assert!(!path.exists());
    }

    #[test]
    fn a_damaged_archive_and_one_with_folders_are_refused() {
        let new = folder(&[]);
        let path = new.path().join("x.tar.gz");
        let packed = corpus(&[("a", &[1; 3000])]).pack().unwrap();
        fs::write(&path, &packed[..packed.len() - 20]).unwrap();
        assert!(matches!(Corpus::of_archive(&path), Err(Error::Io { .. })));
        fs::write(&path, corpus(&[("a/b", b"")]).pack().unwrap()).unwrap();
        let error = Corpus::of_archive(&path).unwrap_err();
        assert!(
            error.to_string().ends_with("\"a/b\" is no regular file with a plain name in UTF-8"),
            "{error}"
        );
    }
}
