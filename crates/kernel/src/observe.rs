//! The state of an algorithm for one socket: read in the kernel, and interpreted by the native build of the
//! same code.

use std::os::fd::{AsRawFd, BorrowedFd};

use fairpace_cc::{Observation, View};
use libbpf_rs::{MapCore, MapFlags};

use crate::object::{STATE_AT, VIEW_AT};
use crate::{Error, Loaded};

/// The state of a socket under an algorithm, at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flow {
    /// Time when the socket started under this algorithm, on the kernel's TCP clock.
    pub since_us: u64,
    /// Number of ACKs that the algorithm has handled.
    pub acks: u64,
    /// The view of the algorithm's last call.
    pub view: View,
    /// The algorithm's observation; `None` for an object of a user, of which there is no native build.
    pub observation: Option<Observation>,
    /// The bytes of `struct NAME`, the algorithm's state.
    pub state: Vec<u8>,
}

impl Loaded {
    /// Returns the state of a socket of this process; `None`: the socket does not use this algorithm (yet, or
    /// any more). Costs about a microsecond, whatever the socket is doing.
    ///
    /// # Errors
    /// The descriptor is not a socket, or the kernel refuses to read its state.
    pub fn observe(&self, socket: BorrowedFd<'_>) -> Result<Option<Flow>, Error> {
        let key = socket.as_raw_fd().to_ne_bytes();
        let what = || format!("reading a socket's state under {}", self.kernel_name());
        match self.storage.lookup(&key, MapFlags::ANY).map_err(Error::bpf(what()))? {
            Some(value) => self.decode(&value).map(Some),
            None => Ok(None),
        }
    }

    fn decode(&self, value: &[u8]) -> Result<Flow, Error> {
        let expected = self.state_bytes;
        let found = value.len().saturating_sub(STATE_AT);
        let foreign = || Error::ForeignState { name: self.kernel_name().to_owned(), expected, found };
        // the kernel rounds the value up to 8 bytes
        let state = value.get(STATE_AT..STATE_AT + expected).ok_or_else(foreign)?;
        let view = value.get(VIEW_AT..VIEW_AT + size_of::<View>()).and_then(View::from_bytes);
        let observation = self.algorithm().map(|algorithm| algorithm.observe_bytes(state)).transpose();
        Ok(Flow {
            since_us: word(value, 0).ok_or_else(foreign)?,
            acks: word(value, 8).ok_or_else(foreign)?,
            view: view.ok_or_else(foreign)?,
            observation: observation.map_err(|_| foreign())?,
            state: state.to_vec(),
        })
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}
