//! The link against queueing theory, and invariants under arbitrary arrivals.

use fairpace_netem::{EcnField, Fifo, Limit, Link, Packet, SECOND, Schedule, Transmitter};
use fairpace_scenario::Random;
use proptest::prelude::*;

fn link<T: Copy>(rate_bps: u64, limit_bytes: u64, flows: usize, end: u64) -> Link<T> {
    Link::new(Fifo::new(Transmitter::wire(rate_bps), Limit::Bytes(limit_bytes), flows, whole(end)))
}

fn whole(end: u64) -> Schedule {
    Schedule { window: (0, end), interval: end, end }
}

#[test]
fn m_d_1_mean_wait_matches_pollaczek_khinchine() {
    // 1000 bytes at 8 Mbit/s: service 1 ms. Mean wait = rho / (2 (1 - rho)) services.
    for rho in [0.3, 0.6, 0.8] {
        let end = 2_000 * SECOND;
        let mut link = link(8_000_000, u64::MAX, 1, end);
        let (mut random, mut now) = (Random::new(7), 0.0f64);
        while now < (end - SECOND) as f64 {
            now += -(1.0 - random.unit()).ln() * 1e6 / rho;
            let at = now as u64;
            while link.poll(at).is_some() {}
            link.push(at, Packet { flow: 0, connection: 0, bytes: 1000, ecn: EcnField::NotEct, payload: () })
                .unwrap();
        }
        while link.poll(end).is_some() {}
        link.finish(end);
        let s = link.summary("l");
        let (mean, expected) = (s.queue_delay_mean_ms.unwrap(), rho / (2.0 * (1.0 - rho)));
        assert!((mean / expected - 1.0).abs() < 0.02, "rho {rho}: {mean} ms, expected {expected} ms");
        assert!((s.utilization - rho).abs() < 0.01, "rho {rho}: utilization {}", s.utilization);
    }
}

#[test]
fn an_overloaded_link_drops_the_excess_and_stays_full() {
    // Twice the rate for 10 s into a buffer of ten packets: half is dropped, the wait is ten services.
    let end = 10 * SECOND;
    let mut link = link(8_000_000, 10_000, 1, end);
    let mut dropped = 0;
    for at in (0..end).step_by(500_000) {
        while link.poll(at).is_some() {}
        dropped += u64::from(
            link.push(at, Packet { flow: 0, connection: 0, bytes: 1000, ecn: EcnField::NotEct, payload: () })
                .is_err(),
        );
    }
    link.finish(end);
    let s = link.summary("l");
    assert_eq!(s.drops, dropped);
    assert!((s.drops as f64 / 10_000.0 - 1.0).abs() < 0.01, "{}", s.drops);
    assert!((s.utilization - 1.0).abs() < 0.001, "{}", s.utilization);
    assert!((s.queue_delay_mean_ms.unwrap() - 9.5).abs() < 0.6, "{s:?}");
}

proptest! {
    /// Nothing is lost or invented, the limit holds, the link is work-conserving in FIFO order, and by
    /// Little's law the integral of the backlog is the sum of bytes times wait - exactly.
    #[test]
    fn invariants_hold_for_any_arrivals(
        rate in 1_000u64..10_000_000_000,
        limit in 0u64..200_000,
        arrivals in prop::collection::vec((0u64..3_000_000, 40u32..9000, 0u32..3), 1..300),
    ) {
        let end = 40_000_000 * SECOND;
        let mut link = link(rate, limit, 3, end);
        let (mut now, mut sent, mut dropped, mut seq) = (0, 0u64, 0u64, 0u32);
        let mut left: Vec<(u64, u64, Packet<u32>)> = Vec::new();
        for (gap, bytes, flow) in arrivals {
            now += gap;
            left.extend(std::iter::from_fn(|| link.poll(now)).map(|d| (d.at, d.waited_ns, d.packet)));
            sent += 1;
            let free = link.is_empty();
            match link.push(now, Packet { flow, connection: 0, bytes, ecn: EcnField::NotEct, payload: seq }) {
                Ok(()) => {
                    let service = u64::from(bytes) as f64 * 8e9 / rate as f64;
                    // the next to leave may be an earlier one, but then it leaves before this one could
                    let next = link.next_event().unwrap();
                    prop_assert!(!free || next as f64 >= now as f64 + service - 1.5);
                }
                Err(_) => { dropped += 1; prop_assert!(!free); }
            }
            seq += 1;
            prop_assert!(link.backlog_bytes(now) <= limit);
            prop_assert_eq!(sent, dropped + left.len() as u64 + link.len() as u64);
        }
        left.extend(std::iter::from_fn(|| link.poll(end - 1)).map(|d| (d.at, d.waited_ns, d.packet)));
        link.finish(end);
        prop_assert_eq!(sent, dropped + left.len() as u64);
        prop_assert!(left.windows(2).all(|w| w[0].0 <= w[1].0 && w[0].2.payload < w[1].2.payload));
        for flow in 0..3 {
            let waited: u128 = left.iter().filter(|l| l.2.flow == flow)
                .map(|l| u128::from(l.2.bytes) * u128::from(l.1)).sum();
            prop_assert_eq!(link.meter().backlog_byte_ns(flow), waited);
        }
    }
}
