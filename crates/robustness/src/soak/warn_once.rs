//! Warnings that the kernel prints once: `WARN_ON_ONCE` and `pr_warn_once` are silent after their first time,
//! until the next boot or until `clear_warn_once` of debugfs arms them again.

use std::fs;
use std::io;

use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::{CloneFlags, unshare};

use crate::machine::on_own_thread;

/// Mount point of debugfs: a directory that every sysfs has for it.
const DEBUGFS: &str = "/sys/kernel/debug";

/// Arms the warnings again, so that later events cannot trigger a silenced warning. `Err`: the reason why
/// this is not possible; then a warning that already occurred since the boot is not seen.
pub(crate) fn arm() -> Result<(), String> {
    // unshare concerns one thread, which ends here
    on_own_thread(in_own_mounts).map_err(|error| {
        let file = format!("{DEBUGFS}/clear_warn_once");
        format!("warnings that this boot has had before are not seen again: {file}: {error}")
    })
}

fn in_own_mounts() -> io::Result<()> {
    unshare(CloneFlags::CLONE_NEWNS)?;
    mount(None::<&str>, "/", None::<&str>, MsFlags::MS_REC | MsFlags::MS_PRIVATE, None::<&str>)?;
    mount(Some("debugfs"), DEBUGFS, Some("debugfs"), MsFlags::empty(), None::<&str>)?;
    let written = fs::write(format!("{DEBUGFS}/clear_warn_once"), "1");
    umount2(DEBUGFS, MntFlags::MNT_DETACH)?;
    written
}
