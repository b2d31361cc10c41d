//! Kernels that `scripts/fetch-kernel.sh` has fetched: Debian's packages, unpacked in the user's cache.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use crate::Error;

/// Folder of the kernels within the user's cache.
const FOLDER: &str = "fairpace-tools/kernels";
/// A package's name is this, the release, and [`FLAVOUR`]. Its folder has the version of the package, too.
const PACKAGE: &str = "linux-image-";
/// Debian's kernel for virtual machines: the smallest one.
const FLAVOUR: &str = "-cloud-amd64";
/// The file that a complete folder has.
const COMPLETE: &str = "done";
/// The script that fetches kernels, where the package of Fairpace puts it.
const INSTALLED_SCRIPT: &str = "/usr/share/fairpace/fetch-kernel.sh";

/// A kernel of the cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kernel {
    folder: PathBuf,
    /// The release, such as `6.12.57+deb13`, without the flavour.
    release: String,
    /// The version of the package, such as `6.12.57-1`.
    version: String,
}

impl Kernel {
    /// Finds the newest kernel of a series such as `6.12`; without a series the newest one.
    ///
    /// # Errors
    /// [`Error::NoKernel`], [`Error::Series`].
    pub fn find(series: Option<&str>) -> Result<Self, Error> {
        let asked = series.map(|text| numbers(text).ok_or_else(|| Error::Series { text: text.to_owned() }));
        let asked = asked.transpose()?;
        Self::newest(&cache().unwrap_or_default().join(FOLDER), asked.as_deref()).ok_or_else(|| {
            let which = series.map_or_else(String::new, |series| format!(" {series}"));
            Error::NoKernel { help: fetch(&which), which }
        })
    }

    fn newest(folder: &Path, series: Option<&[u32]>) -> Option<Self> {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let all = entries.filter_map(|entry| Self::of(entry.path()));
        let all = all.filter(|of| series.is_none_or(|series| of.order().starts_with(series)));
        all.max_by_key(|of| (of.order(), of.version.clone()))
    }

    /// The kernel in a folder of the cache; `None`: it is another folder, or is not complete.
    fn of(folder: PathBuf) -> Option<Self> {
        let name = folder.file_name()?.to_str()?.strip_prefix(PACKAGE)?;
        let (release, version) = name.split_once(FLAVOUR)?;
        let (release, version) = (release.to_owned(), version.strip_prefix('-')?.to_owned());
        folder.join(COMPLETE).exists().then_some(Self { folder, release, version })
    }

    /// The numbers of the version: those of the release may be older, as that of a series at its begin.
    fn order(&self) -> Vec<u32> {
        numbers(&self.version).unwrap_or_default()
    }

    /// The version, such as `6.12.57-1`.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Whether it is later than a series.
    pub(crate) fn is_after(&self, series: [u32; 2]) -> bool {
        self.order().iter().take(2).copied().gt(series)
    }

    /// The compressed kernel.
    ///
    /// # Errors
    /// [`Error::Read`]: the folder has none.
    pub(crate) fn image(&self) -> Result<PathBuf, Error> {
        let is_it = |path: &Path| {
            path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"vmlinuz"))
        };
        self.files().into_iter().find(|path| is_it(path)).ok_or_else(|| Error::Read {
            what: format!("the kernel in {}", self.folder.display()),
            cause: std::io::ErrorKind::NotFound.into(),
        })
    }

    /// The modules that are `wanted` by their names, in the order of their paths. They may be compressed.
    pub(crate) fn modules(&self, wanted: impl Fn(&str) -> bool) -> Vec<(String, PathBuf)> {
        let name = |path: &Path| {
            let name = path.file_name()?.to_str()?;
            let (name, _) = name.split_once(".ko")?;
            wanted(name).then(|| name.to_owned())
        };
        self.files().into_iter().filter_map(|path| Some((name(&path)?, path))).collect()
    }

    /// All files, in the order of their paths.
    fn files(&self) -> Vec<PathBuf> {
        let (mut folders, mut files) = (vec![self.folder.clone()], Vec::new());
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                match entry.file_type() {
                    Ok(kind) if kind.is_dir() => folders.push(entry.path()),
                    Ok(kind) if kind.is_file() => files.push(entry.path()),
                    _ => {}
                }
            }
        }
        files.sort();
        files
    }
}

/// The command that fetches a kernel; `which` is empty, or a series after a space.
pub(crate) fn fetch(which: &str) -> String {
    let which = if which.is_empty() { " 6.12" } else { which };
    match Path::new(INSTALLED_SCRIPT).exists() {
        true => format!("{INSTALLED_SCRIPT}{which}"),
        false => format!("scripts/fetch-kernel.sh{which}"),
    }
}

/// The user's cache.
pub(crate) fn cache() -> Option<PathBuf> {
    let set = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set("XDG_CACHE_HOME").or_else(|| Some(set("HOME")?.join(".cache")))
}

/// The numbers at the begin of a version: those of "6.12.57-1" are 6, 12 and 57. `None`: it begins with
/// something else.
fn numbers(version: &str) -> Option<Vec<u32>> {
    let end = version.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(version.len());
    let numbers: Option<Vec<u32>> = version[..end].split('.').map(|number| number.parse().ok()).collect();
    numbers.filter(|numbers| !numbers.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cached(names: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a folder");
        for name in names {
            fs::create_dir_all(folder.path().join(name).join("boot")).expect("ours");
            fs::write(folder.path().join(name).join(COMPLETE), "").expect("ours");
        }
        folder
    }

    #[test]
    fn the_newest_kernel_of_a_series_is_by_the_version_of_its_package() {
        let names = [
            "linux-image-6.1.0-9-cloud-amd64-6.1.27-1",
            "linux-image-6.1.0-56-cloud-amd64-6.1.192-2",
            "linux-image-6.12.57+deb13-cloud-amd64-6.12.57-1",
            "packages",
        ];
        let folder = cached(&names);
        let version = |series: Option<&[u32]>| Kernel::newest(folder.path(), series).map(|of| of.version);
        assert_eq!(version(None).as_deref(), Some("6.12.57-1"));
        assert_eq!(version(Some(&[6, 1])).as_deref(), Some("6.1.192-2"));
        assert_eq!(version(Some(&[6, 18])), None);
        fs::remove_file(folder.path().join(names[2]).join(COMPLETE)).expect("ours");
        assert_eq!(version(None).as_deref(), Some("6.1.192-2"), "the other one is not complete");
    }

    #[test]
    fn files_of_a_kernel_are_found_wherever_its_packages_have_them() {
        let name = "linux-image-6.19.1-cloud-amd64-6.19.1-1";
        let folder = cached(&[name]);
        for path in
            ["usr/lib/modules/6/kernel/tun.ko.xz", "usr/lib/modules/6/kernel/other.ko", "boot/vmlinuz-6"]
        {
            let path = folder.path().join(name).join(path);
            fs::create_dir_all(path.parent().expect("it has one")).expect("ours");
            fs::write(path, "").expect("ours");
        }
        let kernel = Kernel::newest(folder.path(), None).expect("it is complete");
        assert!(kernel.image().expect("there is one").ends_with("boot/vmlinuz-6"));
        let names: Vec<String> =
            kernel.modules(|name| name == "tun").into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["tun"]);
        assert!(kernel.is_after([6, 18]) && !kernel.is_after([6, 19]));
    }

    #[test]
    fn a_series_is_numbers() {
        assert_eq!(numbers("6.12"), Some(vec![6, 12]));
        assert_eq!(numbers("6.12.57-1"), Some(vec![6, 12, 57]));
        assert_eq!([numbers("six"), numbers(""), numbers("6.")], [None, None, None]);
    }
}
