//! The same for the keys of audio and video.

use crate::key_errors::check;
use crate::support::problem;

#[test]
fn of_audio_and_video() {
    check(
        "start =",
        &[
            (
                "frames = \"50/s\"\nstart =",
                "missing-key",
                "`frames` has no effect without `media_rate`",
                "media_rate = \"1mbit\"",
            ),
            (
                "media_rate = \"1mbit\"\nkey_weight = 3\nstart =",
                "missing-key",
                "`key_weight` has no effect without `key_every`",
                "key_every = 30",
            ),
            (
                "media_rate = \"1mbit\"\nsize = \"1MB\"\nstart =",
                "impossible",
                "`media_rate` and `size` exclude each other",
                "leave out",
            ),
            (
                "media_rate = \"1mbit\"\ndeadline = \"11s\"\nstart =",
                "out-of-range",
                "`deadline` is 11s; it must be at most 10s",
                "1ms to 10s",
            ),
        ],
    );
    let problem = problem("cc = \"bbr1\"", "cc = \"none\"");
    assert_eq!((problem.kind, problem.line), ("impossible", 9));
    assert_eq!(problem.message, "a flow without congestion control has no rate of its own");
}
