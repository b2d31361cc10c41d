//! The initramfs of the guest: this program as the first process, its libraries, and kernel modules.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::archive::Archive;
use crate::{Error, Kernel};

/// The program, where the kernel finds it.
pub(crate) const PROGRAM: &str = "init";
/// Folder of the modules.
pub(crate) const MODULES: &str = "modules";
/// Folders on which the guest mounts file systems.
const MOUNT_POINTS: [&str; 4] = ["proc", "sys", "dev", "tmp"];
/// The console, for messages of the kernel and of programs (Documentation/admin-guide/devices.txt of Linux),
/// and what Rust opens instead where there is none, as in User-mode Linux.
const DEVICES: [(&str, u32, u32); 2] = [("dev/console", 5, 1), ("dev/null", 1, 3)];

/// The initramfs with this program, and with the modules of a kernel that has any.
///
/// # Errors
/// [`Error::Read`].
pub(crate) fn build(program: &Path, kernel: Option<&Kernel>) -> Result<Vec<u8>, Error> {
    let mut archive = Archive::default();
    MOUNT_POINTS.iter().for_each(|folder| archive.folder(folder));
    DEVICES.iter().for_each(|(path, major, minor)| archive.device(path, *major, *minor));
    archive.file(PROGRAM, &loadable(read(program)?));
    for library in libraries(program)? {
        let inside = library.to_string_lossy().trim_start_matches('/').to_owned();
        archive.file(&inside, &loadable(read(&library)?));
    }
    archive.folder(MODULES);
    for (name, path) in kernel.into_iter().flat_map(|kernel| kernel.modules(is_wanted)) {
        archive.file(&format!("{MODULES}/{name}.ko"), &unpacked(&path)?);
    }
    Ok(archive.finish())
}

/// Whether the guest needs a module: the devices of the testbed, and the kernel's congestion controls, which
/// it would otherwise load on demand. None needs another one.
fn is_wanted(module: &str) -> bool {
    module == "tun" || (module.starts_with("tcp_") && module != "tcp_diag")
}

fn read(path: &Path) -> Result<Vec<u8>, Error> {
    fs::read(path).map_err(|cause| Error::Read { what: path.display().to_string(), cause })
}

/// A module without its compression, which not every kernel can read.
fn unpacked(path: &Path) -> Result<Vec<u8>, Error> {
    let tool = match path.extension().and_then(|extension| extension.to_str()) {
        Some("xz") => "xz",
        Some("zst") => "zstd",
        _ => return read(path),
    };
    let failed = |cause| Error::Read { what: format!("{} by `{tool} -dc`", path.display()), cause };
    let output = Command::new(tool).arg("-dc").arg(path).output().map_err(failed)?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    Err(failed(io::Error::other(String::from_utf8_lossy(&output.stderr).trim().to_owned())))
}

/// The libraries of a program and its loader, by the loader itself (ld.so(8)). A static program has none.
fn libraries(program: &Path) -> Result<Vec<PathBuf>, Error> {
    let failed = |cause| Error::Read { what: format!("the libraries of {}", program.display()), cause };
    let output = Command::new(program).env("LD_TRACE_LOADED_OBJECTS", "1").output().map_err(failed)?;
    Ok(paths(&String::from_utf8_lossy(&output.stdout)))
}

/// The paths in lines such as `libc.so.6 => /lib/libc.so.6 (0x00007f...)` and `/lib64/ld.so (0x00007f...)`.
fn paths(text: &str) -> Vec<PathBuf> {
    let path = |line: &str| line.split_whitespace().find(|word| word.starts_with('/')).map(PathBuf::from);
    text.lines().filter_map(path).collect()
}

/// Bytes of the header of an ELF file of 64 bits (elf(5)).
const ELF_HEADER: usize = 64;
/// Place of `e_phoff` in it: where the program headers begin.
const ELF_PROGRAM_HEADERS: usize = 32;
/// Place of `e_shoff`: where the sections begin.
const ELF_SECTIONS: usize = 40;
/// Place of `e_phnum`: the number of program headers.
const ELF_PROGRAM_HEADER_COUNT: usize = 56;
/// Place of `e_shnum` and `e_shstrndx`: the number of sections, and the section with their names.
const ELF_SECTION_COUNTS: usize = 60;
/// Bytes of a program header.
const ELF_PROGRAM_HEADER: usize = 56;

/// The part of an ELF file that is loaded when it runs. What follows, such as debug information, may be ten
/// times as large, and the guest would unpack it at each boot.
fn loadable(mut elf: Vec<u8>) -> Vec<u8> {
    let Some(end) = end_of_segments(&elf).filter(|end| *end < elf.len()) else { return elf };
    elf.truncate(end);
    elf[ELF_SECTIONS..ELF_SECTIONS + 8].fill(0);
    elf[ELF_SECTION_COUNTS..ELF_SECTION_COUNTS + 4].fill(0);
    elf
}

/// The end of the last segment in the file; `None`: it is no ELF file of 64 bits, little-endian.
fn end_of_segments(elf: &[u8]) -> Option<usize> {
    if !elf.starts_with(b"\x7fELF\x02\x01") {
        return None;
    }
    let number = |at: usize, size: usize| {
        let mut bytes = [0; 8];
        bytes[..size].copy_from_slice(elf.get(at..at.checked_add(size)?)?);
        usize::try_from(u64::from_le_bytes(bytes)).ok()
    };
    let (first, count) = (number(ELF_PROGRAM_HEADERS, 8)?, number(ELF_PROGRAM_HEADER_COUNT, 2)?);
    let mut end = ELF_HEADER.max(first.checked_add(count * ELF_PROGRAM_HEADER)?);
    for header in (0..count).map(|index| first + index * ELF_PROGRAM_HEADER) {
        // its offset and its size in the file
        end = end.max(number(header + 8, 8)?.checked_add(number(header + 32, 8)?)?);
    }
    Some(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_found_in_what_the_loader_writes() {
        let text = "\tlinux-vdso.so.1 (0x00007ffc)\n\tlibz.so.1 => /lib/x/libz.so.1 (0x00007f11)\n\
                    \t/lib64/ld-linux-x86-64.so.2 (0x00007f22)\n";
        assert_eq!(paths(text), [Path::new("/lib/x/libz.so.1"), Path::new("/lib64/ld-linux-x86-64.so.2")]);
        assert_eq!(paths("\tstatically linked\n"), <[PathBuf; 0]>::default());
    }

    #[test]
    fn a_program_without_the_part_that_is_not_loaded_still_runs() {
        let this = std::env::current_exe().expect("a test program");
        let all = read(&this).expect("it runs");
        let size = all.len();
        let loaded = loadable(all);
        assert!(loaded.len() < size, "{} of {size} bytes", loaded.len());
        let folder = tempfile::tempdir().expect("a folder");
        let copy = folder.path().join("program");
        // with the permission to run
        fs::copy(&this, &copy).and_then(|_| fs::write(&copy, &loaded)).expect("ours");
        let output = Command::new(&copy).arg("--list").output().expect("it is a program");
        assert!(output.status.success() && String::from_utf8_lossy(&output.stdout).contains(": test"));
        assert_eq!(loadable(b"no program".to_vec()), b"no program");
        assert_eq!(loadable(b"\x7fELF\x02\x01".to_vec()), b"\x7fELF\x02\x01", "too short");
    }

    #[test]
    fn modules_are_the_tun_driver_and_congestion_controls() {
        let wanted = ["tun", "tcp_bbr", "tcp_dctcp"];
        assert!(wanted.into_iter().all(is_wanted) && !["tcp_diag", "tunnel4"].into_iter().any(is_wanted));
    }
}
