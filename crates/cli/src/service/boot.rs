//! The service that runs `fairpace apply` at boot.

use std::fs;
use std::path::{Path, PathBuf};

use fairpace_cli_core::failure::Failure;
use fairpace_cli_core::output::Output;

/// Folders in which systemd looks for units, the administrator's first.
const UNITS: [&str; 4] = [
    "/etc/systemd/system",
    "/run/systemd/system",
    "/usr/local/lib/systemd/system",
    "/usr/lib/systemd/system",
];
const UNIT: &str = "fairpace.service";
/// OpenRC's script, and the folder whose entries enable it.
const OPENRC: (&str, &str) = ("/etc/init.d/fairpace", "/etc/runlevels");

/// State of the boot service: whether it runs at the next boot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Service {
    /// The service is enabled.
    Enabled(PathBuf),
    /// The service is installed, but not enabled.
    Disabled(PathBuf),
    /// The service is not installed.
    Missing,
}

impl Service {
    pub(super) fn of_this_machine() -> Service {
        Service::below(Path::new("/"))
    }

    /// State of the service in a root directory.
    fn below(root: &Path) -> Service {
        let at = |path: &str| root.join(path.trim_start_matches('/'));
        let units = UNITS.map(|folder| at(folder).join(UNIT));
        let script = at(OPENRC.0);
        let Some(found) = units.into_iter().chain([script]).find(|path| path.exists()) else {
            return Service::Missing;
        };
        let links = [(at(UNITS[0]), UNIT), (at(OPENRC.1), "fairpace")];
        let is_enabled = links.iter().any(|(folder, name)| {
            // symbolic links in FOLDER/multi-user.target.wants, FOLDER/default
            fs::read_dir(folder).into_iter().flatten().flatten().any(|entry| {
                fs::symlink_metadata(entry.path().join(name)).is_ok_and(|link| link.is_symlink())
            })
        });
        if is_enabled { Service::Enabled(found) } else { Service::Disabled(found) }
    }

    /// Text on what the service does at the next boot, and on how to enable it if it does nothing.
    pub(super) fn sentence(&self) -> String {
        match self {
            Service::Enabled(unit) => format!("the next boot runs `fairpace apply` ({})", unit.display()),
            Service::Disabled(unit) => {
                format!("the next boot does not run {}: systemctl enable fairpace.service", unit.display())
            }
            Service::Missing => {
                "the next boot runs nothing of ours: no fairpace.service is installed (the packages have it)"
                    .into()
            }
        }
    }
}

/// Prints how to enable the service, if it will not run at the next boot.
pub(super) fn advise(out: &mut Output) -> Result<(), Failure> {
    match Service::of_this_machine() {
        Service::Enabled(_) => Ok(()),
        other => out.line(&other.sentence()),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_unit_runs_at_boot_if_a_target_wants_it() {
        let root = tempfile::tempdir().expect("a folder");
        assert_eq!(Service::below(root.path()), Service::Missing);
        let unit = root.path().join("usr/lib/systemd/system/fairpace.service");
        let wants = root.path().join("etc/systemd/system/multi-user.target.wants");
        for folder in [unit.parent().expect("it has one"), &wants] {
            fs::create_dir_all(folder).expect("a folder");
        }
        fs::write(&unit, "").expect("a file");
        assert_eq!(Service::below(root.path()), Service::Disabled(unit.clone()));
        symlink("/usr/lib/systemd/system/fairpace.service", wants.join("fairpace.service")).expect("a link");
        assert_eq!(Service::below(root.path()), Service::Enabled(unit));
    }
}
