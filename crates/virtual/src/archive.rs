//! An initramfs: an archive in the format of cpio that Linux unpacks ("newc" in buffer-format.rst of
//! Documentation/driver-api/early-userspace). Equal files give equal bytes: neither time nor owner of a file
//! is in it.

use std::collections::BTreeSet;

/// First bytes of an entry.
const MAGIC: &str = "070701";
/// File type and permissions of a folder, as of stat(2).
const FOLDER: u32 = 0o040_755;
/// The same of a program.
const PROGRAM: u32 = 0o100_755;
/// The same of a character device.
const DEVICE: u32 = 0o020_600;
/// Name of the entry after which nothing follows.
const END: &str = "TRAILER!!!";

/// An archive that is being written.
#[derive(Debug, Default)]
pub(crate) struct Archive {
    bytes: Vec<u8>,
    entries: u32,
    folders: BTreeSet<String>,
}

impl Archive {
    /// Adds an executable file, and the folders that it is in. The path has no slash at its begin.
    pub(crate) fn file(&mut self, path: &str, content: &[u8]) {
        self.folders_of(path);
        self.entry(path, PROGRAM, (0, 0), content);
    }

    /// Adds a folder.
    pub(crate) fn folder(&mut self, path: &str) {
        self.folders_of(path);
        if self.folders.insert(path.to_owned()) {
            self.entry(path, FOLDER, (0, 0), &[]);
        }
    }

    /// Adds a character device.
    pub(crate) fn device(&mut self, path: &str, major: u32, minor: u32) {
        self.folders_of(path);
        self.entry(path, DEVICE, (major, minor), &[]);
    }

    /// The bytes of the archive.
    pub(crate) fn finish(mut self) -> Vec<u8> {
        self.entry(END, 0, (0, 0), &[]);
        self.bytes
    }

    fn folders_of(&mut self, path: &str) {
        let ends: Vec<usize> = path.match_indices('/').map(|(at, _)| at).collect();
        for end in ends {
            let folder = path[..end].to_owned();
            if self.folders.insert(folder.clone()) {
                self.entry(&folder, FOLDER, (0, 0), &[]);
            }
        }
    }

    fn entry(&mut self, path: &str, mode: u32, (major, minor): (u32, u32), content: &[u8]) {
        self.entries += 1;
        // the kernel takes files with equal numbers and several links as one
        let (number, links) = (self.entries, 1);
        let (size, name_size) = (content.len() as u32, path.len() as u32 + 1);
        let fields = [number, mode, 0, 0, links, 0, size, 0, 0, major, minor, name_size, 0];
        self.bytes.extend(MAGIC.as_bytes());
        fields.iter().for_each(|field| self.bytes.extend(format!("{field:08x}").as_bytes()));
        self.bytes.extend(path.as_bytes());
        self.bytes.push(0);
        self.pad();
        self.bytes.extend(content);
        self.pad();
    }

    /// Names and contents end at multiples of four bytes.
    fn pad(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Path, mode and content of each entry.
    fn entries(mut bytes: &[u8]) -> Vec<(String, u32, Vec<u8>)> {
        let mut all = Vec::new();
        loop {
            assert_eq!(&bytes[..6], MAGIC.as_bytes());
            let field = |at: usize| {
                let text = std::str::from_utf8(&bytes[6 + at * 8..14 + at * 8]).expect("hexadecimal");
                u32::from_str_radix(text, 16).expect("hexadecimal")
            };
            let (mode, size, name) = (field(1), field(6) as usize, field(11) as usize);
            let path = String::from_utf8(bytes[110..110 + name - 1].to_vec()).expect("text");
            let from = (110 + name).next_multiple_of(4);
            if path == END {
                return all;
            }
            all.push((path, mode, bytes[from..from + size].to_vec()));
            bytes = &bytes[(from + size).next_multiple_of(4)..];
        }
    }

    #[test]
    fn folders_come_once_and_before_what_is_in_them() {
        let mut archive = Archive::default();
        archive.file("lib/x/a", b"12345");
        archive.folder("lib");
        archive.file("lib/x/b", b"");
        archive.device("dev/console", 5, 1);
        let found = entries(&archive.finish());
        let paths: Vec<&str> = found.iter().map(|(path, ..)| path.as_str()).collect();
        assert_eq!(paths, ["lib", "lib/x", "lib/x/a", "lib/x/b", "dev", "dev/console"]);
        assert_eq!((found[1].1, found[2].1, found[5].1), (FOLDER, PROGRAM, DEVICE));
        assert_eq!(found[2].2, b"12345");
    }
}
