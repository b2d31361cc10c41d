//! The same for the keys of Wi-Fi, handovers, cellular links, audio and video.

use crate::key_errors::check;
use crate::support::problem;

#[test]
fn of_wifi_and_handovers() {
    check(
        "buffer = \"2MB\"",
        &[
            (
                "buffer = \"2MB\"\nwifi_jitter = \"100us\"",
                "out-of-range",
                "`wifi_jitter` is 100us; it must be at least 1ms",
                "1ms to 91ms",
            ),
            (
                "buffer = \"2MB\"\njitter = \"1ms\"\nwifi_jitter = \"7ms\"",
                "impossible",
                "`wifi_jitter` and `jitter` exclude each other",
                "leave out",
            ),
            (
                "buffer = \"2MB\"\nhandover_delay = \"12ms\"",
                "missing-key",
                "`handover_delay` has no effect without `handover_every`",
                "handover_every = \"15s\"",
            ),
            (
                "buffer = \"2MB\"\nhandover_every = \"15s\"",
                "impossible",
                "nothing changes at a handover",
                "`handover_rate`",
            ),
            (
                "buffer = \"2MB\"\nhandover_every = \"15s\"\nhandover_rate = \"200mbit\"",
                "impossible",
                "after a handover the link would have 200mbit, more than `rate`",
                "at most `rate`",
            ),
            (
                "buffer = \"2MB\"\nhandover_every = \"1s\"\nhandover_outage = \"1s\"",
                "impossible",
                "outages of 1s at handovers every 1s leave no time to send",
                "shorter",
            ),
            (
                "buffer = \"2MB\"\nhandover_every = \"1s\"\nhandover_delay = \"1ms\"\nrate_at = \"1s 1mbit\"",
                "impossible",
                "`handover_every` and `rate_at` exclude each other",
                "leave out",
            ),
        ],
    );
}

#[test]
fn of_cellular_links() {
    check(
        "buffer = \"2MB\"",
        &[
            (
                "buffer = \"2MB\"\ncellular_spread = \"400%\"",
                "out-of-range",
                "`cellular_spread` is 400%; it must be at most 300%",
                "1% to 300%",
            ),
            (
                "buffer = \"2MB\"\ncellular_memory = \"2s\"",
                "missing-key",
                "`cellular_memory` has no effect without `cellular_spread`",
                "cellular_spread = \"85%\"",
            ),
            (
                "buffer = \"2MB\"\ncellular_spread = \"85%\"\ncellular_outage = \"1s\"",
                "missing-key",
                "`cellular_outage` has no effect without `cellular_outage_every`",
                "cellular_outage_every = \"10s\"",
            ),
            (
                "buffer = \"2MB\"\ncellular_spread = \"85%\"\nrate_at = \"1s 1mbit\"",
                "impossible",
                "`cellular_spread` and `rate_at` exclude each other",
                "leave out",
            ),
        ],
    );
}

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
