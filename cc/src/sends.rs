//! How the kernel's host finds out what a packet knew when it was sent: the ring of `cc/lib/sends.h`, built natively.

use std::ffi::c_void;

use crate::contract::View;
use crate::ffi;

const WORDS: usize = ffi::SENDS_BYTES / 4;

/// One flow's ring: what each of the latest ACKs found. The host calls [`KernelSends::note`] or
/// [`KernelSends::note_losses`] first, then asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelSends(Box<[u32; WORDS]>);

impl KernelSends {
    /// At the start of the flow.
    #[must_use]
    pub fn new(view: &View) -> KernelSends {
        let mut ring = KernelSends(Box::new([0; WORDS]));
        // SAFETY: the ring has the size (asserted in C) and alignment of struct cc_sends, which is plain u32s.
        unsafe { ffi::cc_native_sends_start(ring.pointer(), view) };
        ring
    }

    /// An ACK found so many delivered, lost and in flight before it changed anything; `view` is from after that.
    pub fn note(&mut self, view: &View, delivered_pkts: u32, lost_pkts: u32, inflight_pkts: u32) {
        // SAFETY: as in new.
        unsafe {
            ffi::cc_native_sends_note(self.pointer(), view, delivered_pkts, lost_pkts, inflight_pkts);
        }
    }

    /// Losses are to be told outside of an algorithm's turn on an ACK.
    pub fn note_losses(&mut self, view: &View) {
        // SAFETY: as in new.
        unsafe { ffi::cc_native_sends_note_losses(self.pointer(), view) };
    }

    /// Writes `sample_inflight_pkts` and `sample_lost_pkts` by the other fields about the sample. `resent`: the sampled
    /// packet was sent more than once.
    pub fn sample(&self, view: &mut View, resent: bool) {
        // SAFETY: as in new; the ring is only read.
        unsafe { ffi::cc_native_sends_sample(self.0.as_ptr().cast(), view, resent) };
    }

    /// Writes what [`Event::Lost`](crate::Event::Lost) tells of the losses since it was last told. `end_seq`: after the
    /// last packet that was lost, as far as a host can tell. The view's sample, if it has one, stands in for a lost
    /// retransmission; `sample_resent` as in [`KernelSends::sample`].
    pub fn lost(&mut self, view: &mut View, end_seq: u32, sample_resent: bool) {
        // SAFETY: as in new.
        unsafe { ffi::cc_native_sends_lost(self.pointer(), view, end_seq, sample_resent) };
    }

    /// Whether the sampled packet was sent more than once, by a view that says truly what it knew.
    #[must_use]
    pub fn is_resent(&self, truth: &View) -> bool {
        // SAFETY: as in new; the ring is only read.
        unsafe { ffi::cc_native_sends_is_resent(self.0.as_ptr().cast(), truth) }
    }

    fn pointer(&mut self) -> *mut c_void {
        self.0.as_mut_ptr().cast()
    }
}
