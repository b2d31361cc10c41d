//! Audio and video: an encoder that writes frames with deadlines.

use std::time::Duration;

/// The frames of an encoder: the synthetic codec of RFC 8593, section 5, at a constant target rate.
///
/// Frames come at exact intervals, as from a camera: RFC 8593 spreads them, too. The encoder does not follow
/// the network: no congestion control changes its rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Media {
    /// Mean rate of the frames, bits per second; R_v of RFC 8593.
    pub rate_bps: u64,
    /// Frames per second, thousandths; FPS of RFC 8593.
    pub per_s_milli: u64,
    /// Scale of the Laplace distribution of frame sizes, parts of a size in billionths; SCALE_B of RFC 8593.
    pub deviation_ppb: u64,
    /// Distance of key frames: every frame of this number, from the first frame on, is a key frame; 0: there
    /// are no key frames.
    pub key_every: u64,
    /// Bytes of a key frame over the bytes of another frame.
    pub key_weight: u64,
    /// Time after which a frame that is not complete is late, from its writing.
    pub deadline: Duration,
}

impl Default for Media {
    /// Returns 30 frames per second with a scale of 0.15 (RFC 8593, section 5, parameters) and no key frames.
    /// A key frame would have three times the bytes: in RFC 8593 the first frame of a burst has 13.5 kB,
    /// another one 4.17 kB.
    ///
    /// The deadline is 150 ms: up to this value the one-way delay is acceptable to most users of a
    /// conversation (ITU-T G.114). Here the deadline covers the network alone, without encoder, decoder and
    /// playout.
    fn default() -> Self {
        Self {
            rate_bps: 1_000_000,
            per_s_milli: 30_000,
            deviation_ppb: 150_000_000,
            key_every: 0,
            key_weight: 3,
            deadline: Duration::from_millis(150),
        }
    }
}
