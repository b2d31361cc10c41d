//! The bounds of decisions in the running kernel, and what is put right where the kernel skips programs.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::fd::AsFd;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::support::{connect, enter_own_namespace, has_kernel, listener, load_as, params};
use fairpace_cc::{Bounds, CaState, Clamps, Decision, View};
use fairpace_kernel::{Call, Counters, Loaded, Replay, Testing};
use fairpace_test_support::Random;

/// Decisions that are compared.
const DECISIONS: usize = 20_000;
/// Linux's TCP_INFINITE_SSTHRESH.
const INFINITE: u32 = 0x7fff_ffff;
/// What is waited for comes within this time, also on a busy machine.
const LIMIT: Duration = Duration::from_secs(60);
/// The largest cwnd of a decision in the kernel.
const MOST_CWND: u32 = 1 << 24;

/// The native build and the JITed one bound any decision alike, byte for byte.
#[test]
fn any_decision_is_bounded_alike_in_the_kernel() {
    if !has_kernel() {
        return;
    }
    let mut kernel = Replay::new(&params("reno")).unwrap_or_else(|e| panic!("{e}"));
    let mut random = Random::new(1);
    let mut counts = Clamps::default();
    for number in 0..DECISIONS {
        let mut any = || match random.between(0, 3) {
            0 => [0, 1, 2, 0x7fff_fffe, 0x7fff_ffff, 1 << 31, u64::from(u32::MAX), u64::MAX]
                [random.between(0, 7) as usize],
            _ => random.bits() >> random.between(0, 63),
        };
        let mut view = View {
            pacing_rate_Bps: any(),
            max_pacing_rate_Bps: any() | any(),
            mss_bytes: any() as u16 as u32,
            cwnd_pkts: any() as u32,
            prior_cwnd_pkts: any() as u32,
            ssthresh_pkts: any() as u32,
            inflight_pkts: any() as u32,
            delivered_pkts: any() as u32,
            srtt_us: any() as u32,
            min_rtt_us: any() as u32,
            ..View::default()
        };
        let decided = Decision {
            pacing_rate_Bps: any(),
            cwnd_pkts: any() as u32,
            ssthresh_pkts: any() as u32,
            app_limited_until_pkts: any() as u32,
            min_burst_pkts: any() as u32,
        };
        view.ca_state = [CaState::Open, CaState::Cwr, CaState::Recovery, CaState::Loss][number % 4];
        let bounds = Bounds::from_bits(any() as u32 & 15);
        let (mut ours, mut theirs) = (decided, decided);
        counts += bounds.clamp(&view, &mut ours);
        kernel.call(Call::Clamp(bounds), &view, &mut theirs).expect("replay");
        assert_eq!(ours.as_bytes(), theirs.as_bytes(), "{decided:?} {bounds:?} {view:?}");
        assert_eq!(counts, kernel.clamps(), "{decided:?} {bounds:?} {view:?}");
    }
    assert!(counts.named().iter().all(|(_, count)| *count > 1000), "each bound was reached: {counts:?}");
}

/// What was seen of a socket's values while it lost packets.
#[derive(Debug, Default)]
struct Seen {
    looks: u32,
    /// Views of the algorithm with a cwnd or an ssthresh that no decision has.
    foreign: u32,
    cwnd_most: u32,
    counters: Counters,
}

/// A connection over loopback with a queue that drops every now and then, looked at after each write until
/// `enough`.
fn lossy_transfer(loaded: &Loaded, enough: fn(&Seen) -> bool) -> Seen {
    enter_own_namespace();
    // a queue of 40 packets overflows again and again
    for line in ["ip link set lo mtu 1500", "tc qdisc add dev lo root tbf rate 100mbit burst 10kb limit 60kb"]
    {
        let mut words = line.split(' ');
        let ran = Command::new(words.next().expect("a program")).args(words).status();
        assert!(ran.is_ok_and(|status| status.success()), "{line}");
    }
    fs::write("/proc/sys/net/ipv4/tcp_wmem", "4096 16384 1048576").expect("the namespace's own");
    let listener = listener();
    let (mut sender, mut receiver) = connect(&listener, loaded.kernel_name());
    let reader = std::thread::spawn(move || {
        let mut bytes = vec![0; 1 << 16];
        while receiver.read(&mut bytes).is_ok_and(|read| read > 0) {}
    });
    let (begun, bytes, mut seen) = (Instant::now(), vec![0; 16 << 10], Seen::default());
    while !enough(&seen) && begun.elapsed() < LIMIT {
        sender.write_all(&bytes).expect("write");
        look(loaded, &sender, &mut seen);
        seen.counters = loaded.counters().expect("counters");
    }
    drop(sender);
    reader.join().expect("reader");
    seen
}

fn look(loaded: &Loaded, sender: &TcpStream, seen: &mut Seen) {
    let Some(flow) = loaded.observe(sender.as_fd()).expect("observe") else { return };
    let View { cwnd_pkts, ssthresh_pkts, .. } = flow.view;
    seen.looks += 1;
    seen.foreign += u32::from(cwnd_pkts > MOST_CWND || (MOST_CWND..INFINITE).contains(&ssthresh_pkts));
    seen.cwnd_most = seen.cwnd_most.max(cwnd_pkts);
}

/// Every fourth call of `ssthresh` and `undo_cwnd` returns random bits, as on a kernel that skips programs.
/// Healed, no algorithm sees them at the next ACK; not healed, cwnd has them.
#[test]
fn what_a_skipped_program_returns_is_put_right() {
    if !has_kernel() {
        return;
    }
    let of = |algorithm, testing, enough| move || lossy_transfer(&load_as(algorithm, testing), enough);
    std::thread::scope(|scope| {
        let both = ["cubic", "reno", "bbr1"].map(|algorithm| {
            let healed = scope.spawn(of(algorithm, Testing::Skips, |seen| seen.counters.heals >= 10));
            let left = scope.spawn(of(algorithm, Testing::SkipsWithoutHeals, |seen| seen.foreign > 0));
            (algorithm, healed, left)
        });
        for (algorithm, healed, left) in both {
            let (healed, left) = (healed.join().expect("transfer"), left.join().expect("transfer"));
            assert!(healed.counters.heals >= 10, "{algorithm}: {healed:?}");
            assert_eq!(healed.counters.clamps, Clamps::default(), "{algorithm}: {healed:?}");
            assert!(healed.cwnd_most < 100_000, "{algorithm}: {healed:?}");
            assert!(
                left.foreign > 0 && left.counters.heals == 0,
                "without, values stay: {algorithm}: {left:?}"
            );
        }
    });
}
