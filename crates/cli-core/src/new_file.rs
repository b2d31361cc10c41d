//! Writes a file in one step in place of an earlier one, and only if the earlier one is unchanged since it
//! was read.

use std::fs::{self, Permissions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use tempfile::{NamedTempFile, PersistError};

/// Result of writing a new file.
#[derive(Debug, PartialEq, Eq)]
pub enum Replaced {
    /// The new file is at its path.
    InPlace,
    /// The earlier file was changed, or another file appeared. That file is unchanged, and the new file is at
    /// this path.
    Beside(PathBuf),
}

/// Writes `text` to `path`, in one step. `earlier` is the content that was read from `path`; `None`: no file
/// existed.
///
/// # Errors
/// Returns the error of the system. `path` is then unchanged.
pub fn replace(path: &Path, earlier: Option<&[u8]>, text: &[u8]) -> io::Result<Replaced> {
    let mut new = temporary(path)?;
    new.write_all(text)?;
    let Some(earlier) = earlier else {
        new.as_file().sync_all()?;
        return put(new, path).or_else(|occupied| beside(occupied, path));
    };
    match fs::metadata(path) {
        Ok(metadata) => new.as_file().set_permissions(metadata.permissions())?,
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    new.as_file().sync_all()?;
    match renameat_with(CWD, new.path(), CWD, path, RenameFlags::EXCHANGE) {
        // what was there is in the temporary file now, so nothing can come between the look and the removal
        Ok(()) if fs::read(new.path()).is_ok_and(|text| text == earlier) => Ok(Replaced::InPlace),
        Ok(()) => {
            if let Err(error) = renameat_with(CWD, new.path(), CWD, path, RenameFlags::EXCHANGE) {
                let _ = new.keep(); // the temporary file is the user's now: it must not be removed
                return Err(error.into());
            }
            beside(new, path)
        }
        Err(rustix::io::Errno::NOENT) => put(new, path).or_else(|occupied| beside(occupied, path)),
        // not every file system can exchange
        Err(_) if fs::read(path)? == earlier => {
            new.persist(path).map(|_| Replaced::InPlace).map_err(|error| error.error)
        }
        Err(_) => beside(new, path),
    }
}

/// Writes a file in one step, in place of any earlier file, and creates its folders.
///
/// # Errors
/// Returns the error of the system. `path` is then unchanged.
pub fn write(path: &Path, text: impl AsRef<[u8]>) -> io::Result<()> {
    fs::create_dir_all(folder(path))?;
    let mut file = temporary(path)?;
    file.write_all(text.as_ref())?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    Ok(())
}

/// Prefix of the names of temporary files. It tells whose they are, if the process is killed.
#[must_use]
pub fn temporary_prefix() -> String {
    format!(".fairpace-{}-", std::process::id())
}

/// Checks, before a long run, that [`replace`] can write to the directory of `path`.
///
/// # Errors
/// Returns an error if it cannot.
pub fn probe(path: &Path) -> io::Result<()> {
    temporary(path)?.close()
}

fn folder(path: &Path) -> &Path {
    path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn temporary(path: &Path) -> io::Result<NamedTempFile> {
    // 0666 less the umask, as for any file that a program makes
    tempfile::Builder::new()
        .prefix(&temporary_prefix())
        .permissions(Permissions::from_mode(0o666))
        .tempfile_in(folder(path))
}

/// Moves the file to a name that is free; if the name exists, returns the file.
fn put(new: NamedTempFile, path: &Path) -> Result<Replaced, NamedTempFile> {
    new.persist_noclobber(path).map(|_| Replaced::InPlace).map_err(|PersistError { file, .. }| file)
}

/// Moves the file to the first free name of `path.new`, `path.new-2` and so on.
fn beside(mut new: NamedTempFile, path: &Path) -> io::Result<Replaced> {
    let mut number = 1u64;
    loop {
        let mut name = path.as_os_str().to_owned();
        name.push(if number == 1 { ".new".to_owned() } else { format!(".new-{number}") });
        let free = PathBuf::from(name);
        match new.persist_noclobber(&free) {
            Ok(_) => return Ok(Replaced::Beside(free)),
            Err(PersistError { file, error }) if error.kind() == ErrorKind::AlreadyExists => new = file,
            Err(PersistError { error, .. }) => return Err(error),
        }
        number += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_in_a_folder_that_all_may_write_to_is_not_for_all_to_change() {
        let dir = tempfile::tempdir().unwrap();
        fs::set_permissions(dir.path(), Permissions::from_mode(0o1777)).unwrap();
        let (ours, usual) = (dir.path().join("ours"), dir.path().join("usual"));
        write(&ours, "").unwrap();
        fs::write(&usual, "").unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode();
        assert_eq!(mode(&ours), mode(&usual));
    }

    #[test]
    fn an_unchanged_file_is_replaced_and_keeps_its_mode() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("page.md");
        assert_eq!(replace(&path, None, b"one").unwrap(), Replaced::InPlace);
        fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
        assert_eq!(replace(&path, Some(b"one"), b"two").unwrap(), Replaced::InPlace);
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_file_that_was_changed_or_made_meanwhile_stays() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("page.md");
        fs::write(&path, "mine").unwrap();
        for (earlier, beside) in [(Some(&b"read"[..]), "page.md.new"), (None, "page.md.new-2")] {
            let beside = dir.path().join(beside);
            assert_eq!(replace(&path, earlier, b"new").unwrap(), Replaced::Beside(beside.clone()));
            assert_eq!(fs::read(&beside).unwrap(), b"new");
            assert_eq!(fs::read(&path).unwrap(), b"mine");
        }
        // one that has gone is made again
        fs::remove_file(&path).unwrap();
        assert_eq!(replace(&path, Some(b"read"), b"new").unwrap(), Replaced::InPlace);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 3);
    }
}
