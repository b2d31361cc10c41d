//! A temporary folder with files for a run of the program.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// A scenario that runs for two seconds with two flows, on a path that no machine is too slow for.
pub const TWO_FLOWS: &str = r#"title = "two flows"
duration = "2s"

[window]
from = "1s"

[[link]]
rate = "10mbit"
buffer = "200kB"

[[flow]]
cc = "bbr1"
rtt = "40ms"

[[flow]]
cc = "reno"
rtt = "60ms"
start = "500ms"
"#;

/// A folder for one test. It is removed when it is dropped.
///
/// Its methods panic when the file system refuses.
pub struct Folder(TempDir);

impl Folder {
    /// Returns an empty folder.
    pub fn create() -> Folder {
        Folder(tempfile::Builder::new().prefix("fairpace-test-").tempdir().expect("a temporary folder"))
    }

    /// The path of the folder.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Returns the path of a file in the folder, as an argument.
    pub fn file(&self, name: &str) -> String {
        self.path().join(name).to_str().expect("temporary paths are UTF-8").to_owned()
    }

    /// Writes a file, and returns its path.
    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path().join(name);
        fs::write(&path, text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        path
    }

    /// Returns the text of a file.
    pub fn read(&self, name: &str) -> String {
        let path = self.path().join(name);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// Returns the names of all files and folders in the folder, also hidden ones, in order.
    pub fn files(&self) -> Vec<String> {
        let entries = fs::read_dir(self.path()).expect("the folder exists");
        let name = |entry: fs::DirEntry| entry.file_name().to_string_lossy().into_owned();
        let mut names: Vec<String> = entries.map(|entry| name(entry.expect("an entry"))).collect();
        names.sort();
        names
    }
}
