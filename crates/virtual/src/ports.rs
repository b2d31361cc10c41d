//! The guest's side of the channel to the host: port I/O, which ends before the next instruction begins.
//!
//! - QEMU's debug console: a byte that is written to its port is appended to a file of the host.
//! - QEMU's firmware configuration (docs/specs/fw_cfg.rst of QEMU): files of the host, read byte by byte.
//! - The watchdog iB700: a write starts it, and when its time is over, QEMU pauses the machine.

use std::io;
use std::thread;
use std::time::Duration;

/// Port of the debug console; the default of QEMU.
pub(crate) const CONSOLE: u16 = 0xe9;
/// Port of the watchdog (drivers/watchdog/ib700wdt.c of Linux) by which it stops.
const WATCHDOG_STOP: u16 = 0x441;
/// Its port by which it starts, with a number for its time.
const WATCHDOG_START: u16 = 0x443;
/// The time of the watchdog, by the table of its driver.
const TWO_SECONDS: u8 = 14;
/// Time for which the guest is idle so that the watchdog finds it idle: twice that of the watchdog.
const IDLE: Duration = Duration::from_secs(4);
/// Port of the firmware configuration to which the number of an item is written.
const SELECT: u16 = 0x510;
/// Its port from which the bytes of the item are read.
const DATA: u16 = 0x511;
/// The item that lists the files: their number, then an entry for each.
const FOLDER: u16 = 0x19;
/// Bytes of an entry: size, number of the item, reserved, name.
const ENTRY_BYTES: usize = 64;
/// Most bytes of a name, its zero included.
const NAME_BYTES: usize = 56;

/// Lets this process use ports.
///
/// # Errors
/// It is not root, or the machine has no ports.
pub(crate) fn open() -> io::Result<()> {
    machine::open()
}

/// Writes to the debug console.
pub(crate) fn write(bytes: &[u8]) {
    bytes.iter().for_each(|byte| machine::write_byte(CONSOLE, *byte));
}

/// Lets QEMU pause the machine, and returns after the host has continued it.
///
/// The machine is idle when the watchdog pauses it. If an instruction paused it, QEMU's clock might jump to
/// the next timer before QEMU notices, or might not, by the load of the host: boots differed by 2 ms. With
/// the watchdog the jump to its own time is the last one.
pub(crate) fn pause() {
    machine::write_byte(WATCHDOG_START, TWO_SECONDS);
    thread::sleep(IDLE);
    machine::write_byte(WATCHDOG_STOP, 0);
}

/// Executes instructions for ever.
pub(crate) fn spin() -> ! {
    machine::spin()
}

/// Reads a file of the firmware configuration; `None`: there is none of this name.
pub(crate) fn file(name: &str) -> Option<Vec<u8>> {
    machine::write_word(SELECT, FOLDER);
    let mut count = [0; 4];
    machine::read(DATA, &mut count);
    let entries: Vec<[u8; ENTRY_BYTES]> = (0..u32::from_be_bytes(count))
        .map(|_| {
            let mut entry = [0; ENTRY_BYTES];
            machine::read(DATA, &mut entry);
            entry
        })
        .collect();
    let (size, item) =
        entries.iter().map(listed).find_map(|(of, size, item)| (of == name).then_some((size, item)))?;
    machine::write_word(SELECT, item);
    let mut content = vec![0; size as usize];
    machine::read(DATA, &mut content);
    Some(content)
}

/// Name, size and item of an entry. Numbers are big-endian.
fn listed(entry: &[u8; ENTRY_BYTES]) -> (String, u32, u16) {
    let [a, b, c, d, e, f, ..] = *entry;
    let name = &entry[ENTRY_BYTES - NAME_BYTES..];
    let length = name.iter().position(|byte| *byte == 0).unwrap_or(NAME_BYTES);
    let name = String::from_utf8_lossy(&name[..length]).into_owned();
    (name, u32::from_be_bytes([a, b, c, d]), u16::from_be_bytes([e, f]))
}

#[cfg(target_arch = "x86_64")]
mod machine {
    use std::arch::asm;
    use std::io;

    /// The I/O privilege level at which all ports may be used.
    const ALL_PORTS: libc::c_int = 3;

    pub(super) fn open() -> io::Result<()> {
        // SAFETY: it changes rights of this thread and touches no memory.
        if unsafe { libc::iopl(ALL_PORTS) } == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// The longest block that QEMU translates as one has 511 instructions (CF_COUNT_MASK). It skips those
    /// that do nothing, so that a second of them takes it a few milliseconds.
    pub(super) fn spin() -> ! {
        // SAFETY: the instructions touch nothing.
        unsafe {
            asm!(
                "2:",
                ".rept 500",
                "nop",
                ".endr",
                "jmp 2b",
                options(nomem, nostack, preserves_flags, noreturn)
            )
        }
    }

    pub(super) fn write_byte(port: u16, value: u8) {
        // SAFETY: the instruction touches no memory. Without the right of `open` the process gets a signal.
        unsafe { asm!("out dx, al", in("dx") port, in("al") value, options(nomem, nostack, preserves_flags)) }
    }

    pub(super) fn write_word(port: u16, value: u16) {
        // SAFETY: as in `write_byte`.
        unsafe { asm!("out dx, ax", in("dx") port, in("ax") value, options(nomem, nostack, preserves_flags)) }
    }

    pub(super) fn read(port: u16, to: &mut [u8]) {
        for byte in to {
            // SAFETY: as in `write_byte`.
            unsafe {
                asm!("in al, dx", in("dx") port, out("al") *byte, options(nomem, nostack, preserves_flags))
            }
        }
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod machine {
    use std::io;

    pub(super) fn open() -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(super) fn spin() -> ! {
        loop {
            std::hint::spin_loop();
        }
    }

    pub(super) fn write_byte(_: u16, _: u8) {}

    pub(super) fn write_word(_: u16, _: u16) {}

    pub(super) fn read(_: u16, _: &mut [u8]) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_has_size_item_and_name() {
        let mut entry = [0; ENTRY_BYTES];
        entry[..6].copy_from_slice(&[0, 0, 1, 2, 0, 0x21]);
        entry[8..11].copy_from_slice(b"a/b");
        assert_eq!(listed(&entry), ("a/b".to_owned(), 0x102, 0x21));
    }
}
