//! Limits of a flow other than its congestion control: buffers, ECN, restarts after a pause.
//!
//! With `--path RATE,RTT` the buffers are judged for that path; without it they are only shown.

use std::time::Duration;

use fairpace_kernel::Check;

use super::{Machine, Topic};
use crate::args::PathArg;

const RECEIVE: &str = "proc/sys/net/ipv4/tcp_rmem";
const SEND: &str = "proc/sys/net/ipv4/tcp_wmem";
/// Bytes of buffer that the kernel needs for a byte in flight: half of a receive buffer is window
/// (tcp_adv_win_scale = 1, the default), and a sender keeps data for a round until it is acknowledged while
/// it sends the data of the next round.
const BUFFER_PER_BYTE: u64 = 2;
/// Rate for which a buffer is shown without `--path`, bytes per second: 1 Gbit/s.
const GBIT_BPS: u64 = 125_000_000;
/// Number of bytes in a mebibyte.
const MIB: u64 = 1 << 20;

pub(super) fn checks(machine: &Machine, path: Option<PathArg>) -> Vec<Check> {
    vec![
        buffer(machine, "receive buffer", RECEIVE, path),
        buffer(machine, "send buffer", SEND, path),
        ecn(machine),
        idle(machine),
    ]
}

/// Bytes in flight that fill the path.
fn bdp(rate_bit_per_s: u64, rtt: Duration) -> u64 {
    let bytes = u128::from(rate_bit_per_s).saturating_mul(rtt.as_nanos()) / 8 / 1_000_000_000;
    u64::try_from(bytes).unwrap_or(u64::MAX / BUFFER_PER_BYTE)
}

fn buffer(machine: &Machine, what: &'static str, file: &str, path: Option<PathArg>) -> Check {
    let topic = Topic(
        what,
        "a flow never has more on its way than half of its buffers, whatever its congestion control",
    );
    let key = file.trim_start_matches("proc/sys/").replace('/', ".");
    let [least, usual, most] = machine.numbers(file)[..] else {
        return topic.degraded(format!("{key} cannot be read"), "mount /proc");
    };
    let Some(path) = path else {
        let rtt_ms = most / BUFFER_PER_BYTE * 1_000 / GBIT_BPS;
        return topic.ok(format!("up to {}: 1 Gbit/s up to an RTT of {rtt_ms} ms", size(most)));
    };
    let needed = bdp(path.rate_bit_per_s, path.rtt).saturating_mul(BUFFER_PER_BYTE);
    let found = format!("up to {}; this path needs {}", size(most), size(needed));
    if most >= needed {
        return topic.ok(found);
    }
    let enough = needed.div_ceil(MIB).saturating_mul(MIB);
    topic.degraded(found, format!("sysctl -w {key}=\"{least} {usual} {enough}\""))
}

fn size(bytes: u64) -> String {
    if bytes >= MIB {
        format!("{:.1} MiB", bytes as f64 / MIB as f64)
    } else {
        format!("{} KiB", bytes >> 10)
    }
}

fn ecn(machine: &Machine) -> Check {
    let topic = Topic("tcp_ecn", "marks of routers reach a sender only where both ends agreed on ECN");
    let found = match machine.numbers("proc/sys/net/ipv4/tcp_ecn")[..] {
        [0] => "0: off".to_owned(),
        [1] => "1: asked for, and accepted".to_owned(),
        [2] => "2: accepted from others, not asked for".to_owned(),
        // accurate ECN, since 6.18 (Documentation/networking/ip-sysctl.rst)
        [other] => format!("{other}: with accurate ECN"),
        _ => "not readable".to_owned(),
    };
    topic.ok(found)
}

fn idle(machine: &Machine) -> Check {
    let topic = Topic(
        "tcp_slow_start_after_idle",
        "fp_cubic and fp_reno begin again after a pause, as Linux's own; the others decide by themselves",
    );
    match machine.numbers("proc/sys/net/ipv4/tcp_slow_start_after_idle")[..] {
        [0] => topic.ok("off"),
        [_] => topic.ok("on: fp_cubic and fp_reno begin again after a pause"),
        _ => topic.ok("not readable"),
    }
}

#[cfg(test)]
mod tests {
    use fairpace_kernel::Standing;

    use super::super::tests::machine;
    use super::*;

    /// A path of 1 Gbit/s and 100 ms, with a BDP of 12.5 MB.
    const LONG: PathArg = PathArg { rate_bit_per_s: 1_000_000_000, rtt: Duration::from_millis(100) };

    #[test]
    fn a_buffer_below_two_bdp_is_too_small_and_one_of_two_is_not() {
        let (_folder, machine) =
            machine(&[(RECEIVE, "4096 131072 24999999"), (SEND, "4096\t16384\t25000000\n")]);
        let [receive, send, ..] = &checks(&machine, Some(LONG))[..] else { panic!("two buffers") };
        assert_eq!((receive.standing, send.standing), (Standing::Degraded, Standing::Ok));
        assert_eq!(receive.remedy, "sysctl -w net.ipv4.tcp_rmem=\"4096 131072 25165824\"");
    }

    #[test]
    fn without_a_path_the_limit_is_shown() {
        let (_folder, machine) = machine(&[(RECEIVE, "4096 131072 6291456"), (SEND, "1 2 4194304")]);
        let check = &checks(&machine, None)[0];
        assert_eq!(check.found, "up to 6.0 MiB: 1 Gbit/s up to an RTT of 25 ms");
    }

    #[test]
    fn any_path_has_a_product() {
        assert_eq!(bdp(u64::MAX, Duration::MAX), u64::MAX / 2);
        assert_eq!(bdp(0, Duration::ZERO), 0);
    }
}
