//! Frames of audio or video: the times when an encoder writes them, and their sizes.

use fairpace_scenario::{Media, Random, WHOLE_PPB};

use crate::time::{Nanos, SECOND};

/// The synthetic codec of RFC 8593, section 5, in its steady state, with key frames.
///
/// A frame has the mean size times 1 + d, where d has a Laplace distribution around 0 (section 5.3). d is
/// limited to -1..1 at both ends, so the mean stays exact. The transient after a change of the target rate
/// (sections 5.1 and 5.2) is left out, since the rate never changes, and so is the spread of intervals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frames {
    media: Media,
}

/// Number of parts of a frequency of 1 per second.
const MILLI: u128 = 1_000;

impl Frames {
    /// Returns the frames of these settings.
    pub fn new(media: Media) -> Self {
        Frames { media }
    }

    /// Returns the time from the start to the frame of this number, from 0 on.
    pub(crate) fn after(&self, number: u64) -> Nanos {
        let ns = u128::from(number) * u128::from(SECOND) * MILLI / u128::from(self.media.per_s_milli.max(1));
        Nanos::try_from(ns).unwrap_or(Nanos::MAX)
    }

    /// Returns the bytes of the frame of this number, at least 1.
    pub(crate) fn bytes(&self, number: u64, random: &mut Random) -> u64 {
        let Media { rate_bps, per_s_milli, deviation_ppb, key_every, key_weight, .. } = self.media;
        let mean = rate_bps as f64 / 8.0 * 1e3 / per_s_milli.max(1) as f64;
        let usual = match key_every {
            0 => mean,
            // one key frame and `key_every - 1` others have `key_every` mean sizes together
            every => mean * every as f64 / (every - 1 + key_weight) as f64,
        };
        let is_key = key_every > 0 && number.is_multiple_of(key_every);
        let size = if is_key { usual * key_weight as f64 } else { usual };
        let deviation = laplace(random) * (deviation_ppb as f64 / WHOLE_PPB as f64);
        ((size * (1.0 + deviation.clamp(-1.0, 1.0))).round() as u64).max(1)
    }
}

/// Returns a number with the Laplace distribution of scale 1 around 0. The logarithm is libm's, which gives
/// equal results on every machine.
fn laplace(random: &mut Random) -> f64 {
    let exponential = -libm::log(1.0 - random.unit());
    if random.below(2) == 0 { exponential } else { -exponential }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(media: Media, count: u64) -> Vec<u64> {
        let (frames, mut random) = (Frames::new(media), Random::new(1));
        (0..count).map(|number| frames.bytes(number, &mut random)).collect()
    }

    fn mean(sizes: &[u64]) -> f64 {
        sizes.iter().sum::<u64>() as f64 / sizes.len() as f64
    }

    /// RFC 8593, section 5, parameters: B0 is 4.17 kB at 1 Mbit/s and 30 frames per second.
    #[test]
    fn a_frame_has_the_mean_size_of_the_rfc() {
        let sizes = sizes(Media { deviation_ppb: 0, ..Media::default() }, 10);
        assert_eq!(sizes, [4_167; 10]);
    }

    /// Section 5.3: a Laplace distribution of scale s around B0 has a mean absolute deviation of s, and half
    /// of its values are within s ln 2.
    #[test]
    fn sizes_have_a_laplace_distribution() {
        let count = 100_000;
        let sizes = sizes(Media::default(), count);
        let b0 = 1e6 / 8.0 / 30.0;
        let deviations: Vec<f64> = sizes.iter().map(|size| (*size as f64 / b0 - 1.0).abs()).collect();
        let absolute = deviations.iter().sum::<f64>() / count as f64;
        let inner = deviations.iter().filter(|d| **d < 0.15 * 2f64.ln()).count() as f64 / count as f64;
        // four standard deviations each: 0.15 x sqrt(2) and 0.15 of one value, half of sqrt(1/n) of a share
        assert!((mean(&sizes) / b0 - 1.0).abs() < 4.0 * 0.212 / 316.0, "{}", mean(&sizes));
        assert!((absolute - 0.15).abs() < 4.0 * 0.15 / 316.0, "{absolute}");
        assert!((inner - 0.5).abs() < 4.0 * 0.5 / 316.0, "{inner}");
        assert!(sizes.iter().all(|size| *size as f64 <= 2.0 * b0 + 1.0));
    }

    #[test]
    fn key_frames_are_larger_and_the_mean_stays() {
        let media = Media { deviation_ppb: 0, key_every: 30, key_weight: 3, ..Media::default() };
        let sizes = sizes(media, 300);
        // 30 x 4166.67 bytes over 32 parts
        assert_eq!((sizes[0], sizes[1], sizes[29], sizes[30]), (11_719, 3_906, 3_906, 11_719));
        assert!((mean(&sizes) - 1e6 / 240.0).abs() < 1.0, "{}", mean(&sizes));
    }

    #[test]
    fn frames_keep_their_rate_for_ever() {
        let frames = Frames::new(Media::default());
        assert_eq!([0, 1, 2, 3].map(|n| frames.after(n)), [0, 33_333_333, 66_666_666, 100_000_000]);
        assert_eq!(frames.after(30 * 86_400), 86_400 * SECOND);
    }
}
