//! Shared memory in which a process notes the calls into its plugins. Another process reads the notes when
//! the first process ends or stalls.

use std::cell::Cell;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use memmap2::MmapRaw;
use rustix::fs::{MemfdFlags, ftruncate, memfd_create};

/// Number of threads that can be watched; further threads share their slots.
const SLOTS: usize = 1024;
/// Size of a slot, bytes: a cache line, as each thread writes to its own slot all the time.
const SLOT_BYTES: usize = 64;

/// The entry points of an algorithm, as a [`Watch`] names them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum Function {
    /// The function `NAME_init`.
    Init = 1,
    /// The function `NAME_on_ack`.
    OnAck = 2,
    /// The function `NAME_on_event`.
    OnEvent = 3,
    /// The function `NAME_observe`.
    Observe = 4,
}

impl Function {
    /// The end of the function's name in C: `on_ack`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Init => "init",
            Self::OnAck => "on_ack",
            Self::OnEvent => "on_event",
            Self::Observe => "observe",
        }
    }

    const fn from_number(number: u32) -> Option<Self> {
        match number {
            1 => Some(Self::Init),
            2 => Some(Self::OnAck),
            3 => Some(Self::OnEvent),
            4 => Some(Self::Observe),
            _ => None,
        }
    }
}

/// Notes of the calls into plugins, a slot for each thread.
#[derive(Debug)]
pub struct Watch {
    memory: MmapRaw,
    file: OwnedFd,
}

/// A call that has not returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct InCall {
    /// Index of the plugin, in the order in which plugins were loaded.
    pub plugin: u32,
    /// The called function.
    pub function: Function,
    /// Number of the call in its thread: two notes with equal numbers are of one call.
    pub number: u64,
}

thread_local! {
    static SLOT: Cell<Option<usize>> = const { Cell::new(None) };
}
static NEXT_SLOT: AtomicU32 = AtomicU32::new(0);

// A note: the number of the call, above 8 bits for the plugin and 3 bits for the function; no function: not
// in a call.
const PLUGIN_SHIFT: u32 = 3;
const NUMBER_SHIFT: u32 = 11;

impl Watch {
    /// Returns new memory, without notes.
    ///
    /// # Errors
    /// The system has no memory.
    pub fn new() -> std::io::Result<Self> {
        let file = memfd_create("fairpace-watch", MemfdFlags::empty())?;
        ftruncate(&file, (SLOTS * SLOT_BYTES) as u64)?;
        Self::open(file)
    }

    /// Opens the memory of another process, by the file that it was given.
    ///
    /// # Errors
    /// The file is no such memory.
    pub fn open(file: OwnedFd) -> std::io::Result<Self> {
        let memory = MmapRaw::map_raw(&file)?;
        if memory.len() != SLOTS * SLOT_BYTES {
            return Err(std::io::Error::other("this is no memory of a watch"));
        }
        Ok(Self { memory, file })
    }

    /// The memory as a file, for a child process.
    #[must_use]
    pub fn file(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    /// Returns the calls that have not returned, at most one of each thread.
    #[must_use]
    pub fn in_call(&self) -> Vec<InCall> {
        let note = |slot| {
            let note = self.slot(slot).load(Ordering::Relaxed);
            let function = Function::from_number(note as u32 & ((1 << PLUGIN_SHIFT) - 1))?;
            let plugin = (note >> PLUGIN_SHIFT) as u32 & 0xff;
            Some(InCall { plugin, function, number: note >> NUMBER_SHIFT })
        };
        (0..SLOTS).filter_map(note).collect()
    }

    #[inline]
    pub(crate) fn enter(&self, plugin: u32, function: u32) {
        let slot = self.own();
        let number = (slot.load(Ordering::Relaxed) >> NUMBER_SHIFT).wrapping_add(1);
        let note = number << NUMBER_SHIFT | u64::from(plugin) << PLUGIN_SHIFT | u64::from(function);
        slot.store(note, Ordering::Relaxed);
    }

    #[inline]
    pub(crate) fn leave(&self) {
        let slot = self.own();
        slot.store(slot.load(Ordering::Relaxed) >> PLUGIN_SHIFT << PLUGIN_SHIFT, Ordering::Relaxed);
    }

    /// Returns this thread's slot.
    #[inline]
    fn own(&self) -> &AtomicU64 {
        let slot = SLOT.get().unwrap_or_else(|| {
            let slot = NEXT_SLOT.fetch_add(1, Ordering::Relaxed) as usize % SLOTS;
            SLOT.set(Some(slot));
            slot
        });
        self.slot(slot)
    }

    #[inline]
    fn slot(&self, slot: usize) -> &AtomicU64 {
        debug_assert!(slot < SLOTS);
        // SAFETY: within the memory, of which the length was checked; aligned, as a page is; only used as
        // atomic numbers, also by the other process.
        unsafe { &*self.memory.as_ptr().add(slot * SLOT_BYTES).cast::<AtomicU64>() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_process_sees_a_call_that_does_not_return() {
        let mine = Watch::new().unwrap();
        let other = Watch::open(mine.file().try_clone_to_owned().unwrap()).unwrap();
        assert_eq!(other.in_call(), []);
        mine.enter(2, Function::OnEvent as u32);
        let [call] = other.in_call()[..] else { panic!("one thread") };
        assert_eq!((call.plugin, call.function), (2, Function::OnEvent));
        mine.leave();
        assert_eq!(other.in_call(), []);
        mine.enter(0, Function::OnAck as u32);
        assert!(other.in_call()[0].number > call.number);
    }
}
