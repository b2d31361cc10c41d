//! The number of packets in flight when a packet was sent, as the kernel host reconstructs it: the ring of
//! `cc/lib/sends.h`, built natively.

use std::ffi::c_void;

use crate::contract::View;
use crate::ffi;

/// Length of the ring in u32.
const WORDS: usize = ffi::SENDS_BYTES / 4;

/// The ring of a flow: the state of the connection at each of the latest ACKs. On each ACK the host first
/// calls [`KernelSends::note`] or [`KernelSends::note_losses`], then the functions that fill a view.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelSends(Box<[u32; WORDS]>);

impl KernelSends {
    /// Returns the ring at the start of a flow with the state `view`.
    #[must_use]
    pub fn new(view: &View) -> KernelSends {
        let mut ring = KernelSends(Box::new([0; WORDS]));
        // SAFETY: the ring has the size (asserted in C) and alignment of struct cc_sends, which is plain
        // u32s.
        unsafe { ffi::cc_native_sends_start(ring.pointer(), view) };
        ring
    }

    /// Adds an entry for an ACK: the numbers of packets delivered, lost and in flight before it; `view` is
    /// the state after it.
    pub fn note(&mut self, view: &View, delivered_pkts: u32, lost_pkts: u32, inflight_pkts: u32) {
        // SAFETY: as in new.
        unsafe {
            ffi::cc_native_sends_note(self.pointer(), view, delivered_pkts, lost_pkts, inflight_pkts);
        }
    }

    /// Adds an entry when losses are reported before the ACK has a rate sample, or without an ACK.
    pub fn note_losses(&mut self, view: &View) {
        // SAFETY: as in new.
        unsafe { ffi::cc_native_sends_note_losses(self.pointer(), view) };
    }

    /// Fills `sample_inflight_pkts` and `sample_lost_pkts` of a view whose other sample fields are filled.
    /// `retransmitted`: the sampled packet was sent more than once.
    pub fn sample(&self, view: &mut View, retransmitted: bool) {
        // SAFETY: as in new; the ring is only read.
        unsafe { ffi::cc_native_sends_sample(self.0.as_ptr().cast(), view, retransmitted) };
    }

    /// Fills a view for [`Event::Lost`](crate::Event::Lost) with the losses since the last report. `end_seq`
    /// is the sequence number after the last lost packet, as far as the host knows. If a retransmission was
    /// lost, the sample of the view, if it has one, is used for it; `sample_retransmitted` as in
    /// [`KernelSends::sample`].
    pub fn lost(&mut self, view: &mut View, end_seq: u32, sample_retransmitted: bool) {
        // SAFETY: as in new.
        unsafe { ffi::cc_native_sends_lost(self.pointer(), view, end_seq, sample_retransmitted) };
    }

    /// Returns whether the sampled packet was sent more than once, by a view with exact sample fields.
    #[must_use]
    pub fn is_retransmitted(&self, truth: &View) -> bool {
        // SAFETY: as in new; the ring is only read.
        unsafe { ffi::cc_native_sends_is_retransmitted(self.0.as_ptr().cast(), truth) }
    }

    fn pointer(&mut self) -> *mut c_void {
        self.0.as_mut_ptr().cast()
    }
}
