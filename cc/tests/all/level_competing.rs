//! LEVEL beside those who fill the queue: ACK scripts of a flow that is squeezed, and of its drains.

use crate::support::level::{F, N, T, steady};
use crate::support::{Ack, Flow, MSS, ack, assert_near, ms, round};
use fairpace_cc::Phase;

/// The queue that others hold, on average: more than 5 ms and 2.75 f.
const Q: u64 = 50 * F;

/// A round in which one packet was delivered, with this queueing delay.
fn squeezed(q_us: u64) -> Ack {
    round(1, T).rtt(T + q_us).inflight(8)
}

/// A queue that falls by a third for a second now and then, and is `drained_us` in a drain. Returns the
/// greatest cwnd outside of drains in the ten rounds after the `drains`-th one.
fn cwnd_after(settings: &[(&str, &str)], drains: u32, drained_us: u64) -> u32 {
    let mut f = steady(settings);
    let (mut seen, mut rounds, mut most) = (0, 0, 0);
    for step in 0..5_000_u64 {
        let before = f.phase();
        match before {
            Phase::Drain => f.on(ack(1).after(ms(20)).rtt(T + drained_us).inflight(8)),
            _ => f.on(squeezed(if step % 80 < 12 { Q * 4 / 5 } else { Q * 6 / 5 })),
        };
        seen += u32::from(before == Phase::Drain && f.phase() == Phase::Avoidance);
        if seen >= drains && f.phase() == Phase::Avoidance {
            most = most.max(f.cwnd());
            rounds += 1;
        }
        if rounds == 10 {
            return most;
        }
    }
    panic!("{seen} drains only");
}

fn steady_pacing(patience: &str) -> u64 {
    let mut f: Flow = steady(&[("drain_interval", "0s"), ("patience", patience)]);
    f.times(400, squeezed(Q));
    f.pacing()
}

#[test]
fn a_squeezed_flow_keeps_a_rate_of_about_ten_packets_a_second() {
    // W is 160 / 2^24 packets/us * (T + q); below three packets pacing reacts to half of q,
    // and f of a packet per T is 8 F
    let w = 160.0 / f64::from(1 << 24) * (T + Q) as f64;
    let expected = w * MSS as f64 * 1e6 / (T + (Q + 8 * F) / 2) as f64;
    assert_near(steady_pacing("5") as f64, expected, expected * 0.01);
    assert!((steady_pacing("0") as f64) < expected / 2.0);
}

#[test]
fn drains_that_no_others_join_make_it_compete() {
    // half of its best rate, N per T, with the least of the queues that it found
    let half = ((T + Q * 4 / 5) * u64::from(N / 2) / T) as u32;
    assert!(cwnd_after(&[("patience", "6")], 5, Q) < half / 4);
    assert!(cwnd_after(&[("patience", "3")], 5, Q) >= half);
}

#[test]
fn drains_that_others_join_do_not() {
    assert!(cwnd_after(&[("patience", "3")], 12, Q / 8) < N);
}

#[test]
fn with_patience_0_it_never_competes() {
    assert!(cwnd_after(&[("patience", "0"), ("drain_interval", "3s")], 12, Q) < N);
}
