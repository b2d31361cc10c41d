//! LEVEL: how it starts, drains, and steers the queueing delay (cc/level.h, docs/level.md).

use crate::support::level::*;
use crate::support::{Ack, Flow, MSS, ack, assert_near, ms, round, s};
use fairpace_cc::Phase;

// ---- STARTUP ----

#[test]
fn startup_doubles_the_window_in_each_round_and_paces_at_twice_of_it() {
    let mut f = new(&[]);
    assert_eq!((f.phase(), f.cwnd(), f.gain()), (Phase::Startup, 8, 512));
    for pkts in [8, 16, 32, 64] {
        f.on(carried(pkts, 0));
        assert_eq!((f.phase(), f.cwnd()), (Phase::Startup, 2 * pkts));
        assert_near(f.pacing() as f64, f64::from(4 * pkts) * MSS as f64 * 1e6 / T as f64, 1.0);
    }
    f.times(64, ack(1));
    assert_eq!(f.cwnd(), 192, "with each packet, not only at the end of a round");
}

#[test]
fn before_the_first_rtt_startup_paces_as_if_it_were_a_millisecond() {
    assert_eq!(new(&[]).pacing(), 2 * 8 * MSS * 1000);
}

#[test]
fn startup_ends_when_the_queue_is_above_the_level() {
    for (q_us, phase) in [(F, Phase::Startup), (F + 1, Phase::Drain)] {
        assert_eq!(startup_at(N, &[]).on(queue(q_us)).phase(), phase, "{q_us} us");
    }
}

#[test]
fn on_long_paths_a_queue_of_a_sixteenth_of_the_base_rtt_ends_startup() {
    for (q_us, phase) in [(T / 16, Phase::Startup), (T / 16 + 1, Phase::Drain)] {
        assert_eq!(startup_at(N, &[("level", "100us")]).on(queue(q_us)).phase(), phase, "{q_us} us");
    }
}

#[test]
fn a_queue_ends_startup_within_a_round() {
    let mut f = startup_at(N, &[]);
    f.on(ack(1).after(ms(10)).rtt(T + 2 * F));
    assert_eq!(f.phase(), Phase::Drain);
}

/// Short of a sixteenth of T, bursts that have gone by the next round do not end it.
#[test]
fn startup_ends_after_two_rounds_in_a_row_with_the_mean_queue_above_the_level() {
    for (queues_us, phase) in [([1000, 0, 1000], Phase::Startup), ([0, 1000, 1000], Phase::Drain)] {
        let mut f = startup_at(N, &[("level", "100us")]);
        for (q_us, pkts) in queues_us.into_iter().zip([2 * N, 4 * N, 8 * N]) {
            assert_eq!(f.phase(), Phase::Startup);
            f.on(carried(pkts, q_us));
        }
        assert_eq!(f.phase(), phase, "{queues_us:?} us");
    }
}

/// A single sample lacks the jitter that is in the means which q is made of.
#[test]
fn single_samples_are_the_base_rtt_only_in_startup() {
    let mut f = new(&[]);
    f.on(ack(1).after(ms(1)).rtt(T)); // in a block with the next
    f.on(carried(N / 2, 1000)).on(carried(N, 1000));
    assert_eq!((f.phase(), base_us(&f)), (Phase::Startup, T));
    f.times(3, carried(N, 1000));
    assert_eq!((f.phase(), base_us(&f)), (Phase::Drain, T + 750));
}

#[test]
fn startup_ends_after_three_rounds_that_are_not_a_quarter_faster() {
    let mut f = startup_at(N, &[]);
    f.times(2, carried(N * 5 / 4 - 1, 0)).on(carried(N * 5 / 4, 0)); // the third is
    f.times(2, carried(N * 5 / 4, 0));
    assert_eq!(f.phase(), Phase::Startup);
    assert_eq!(f.on(carried(N * 5 / 4, 0)).phase(), Phase::Drain);
}

#[test]
fn startup_ends_with_more_than_12_percent_of_loss() {
    // in 512 packets, over which loss is averaged: 11.9 and 12.1 %
    for (lost, phase) in [(61, Phase::Startup), (62, Phase::Drain)] {
        let mut f = new(&[]);
        f.on(carried(512 - lost, 0).losses(lost));
        assert_eq!(f.phase(), phase, "{lost} lost");
    }
}

#[test]
fn after_startup_the_window_is_what_the_path_carries_at_the_level() {
    let mut f = draining_at(N, &[]);
    end_drain(&mut f);
    assert_eq!(f.cwnd(), 68); // (65536 + 4098) / 1024
    assert_near(window(&f, 0), f64::from(N) + R_F, 0.001);
}

/// A round may be older than what the last packets have found.
#[test]
fn the_last_sample_counts_for_the_rate_of_the_path_if_it_is_greater() {
    for (sampled, expected) in [(N / 2, N), (2 * N, 2 * N)] {
        let mut f = startup_at(N, &[]);
        f.on(ack(1).after(ms(10)).rtt(T + 2 * F).delivered(sampled, T));
        assert_near(rate(&f), f64::from(expected), 0.01);
    }
}

// ---- drains ----

#[test]
fn a_drain_leaves_a_quarter_of_the_bdp_for_the_base_rtt_and_40_ms() {
    let mut f = draining_at(N, &[]);
    assert_eq!((f.cwnd(), f.gain()), (N / 4, 256));
    assert_near(f.pacing() as f64, f64::from(N / 4) * MSS as f64 * 1e6 / T as f64, 1.0);
    f.on(ack(1).after(T + ms(40) - 1));
    assert_eq!((f.phase(), f.cwnd()), (Phase::Drain, N / 4));
    f.on(ack(1).after(1));
    assert_eq!((f.phase(), f.cwnd()), (Phase::Avoidance, 68));
}

#[test]
fn neither_the_rate_nor_the_window_is_learnt_from_a_drain_and_the_two_rounds_after() {
    let mut f = draining_at(N, &[]);
    end_drain(&mut f);
    for q_us in [3 * F / 2, 3 * F] {
        f.on(carried(N / 4, 3 * F)); // the first has a block of the drain in its mean
        assert_near(rate(&f), f64::from(N), 0.01);
        assert_near(window(&f, q_us), f64::from(N) + R_F, 0.001);
    }
    f.on(carried(N / 4, 3 * F));
    assert_near(rate(&f), f64::from(N) * (1.0 - 0.75 / 4.0), 0.01);
    assert!(window(&f, 3 * F) < f64::from(N) + R_F - 1.0);
}

/// Rounds with this ACK from the lowest RTT of the drain that ended to the next drain.
fn rounds_to_drain(f: &mut Flow, ack: Ack) -> u64 {
    for rounds in 1..1000 {
        if f.on(ack).phase() == Phase::Drain {
            return rounds;
        }
    }
    panic!("no drain in 1000 rounds");
}

#[test]
fn drains_come_1_2_4_8_and_then_10_s_after_the_lowest_rtt() {
    let mut f = draining_at(N, &[]);
    // 8 T are 524 ms and more than 500. Each drain begins T early, when its effect is due.
    for expected in [16, 32, 64, 128, s(10).div_ceil(T), s(10).div_ceil(T)] {
        end_drain(&mut f);
        assert_eq!(rounds_to_drain(&mut f, queue(F)), expected - 1);
    }
}

/// With what is exchanged at the end of a drain, f / q, between 0.83 and 1.2 it is not far off.
#[test]
fn after_an_exchange_that_is_far_off_the_next_drain_comes_4_s_after_the_lowest_rtt() {
    // all below 5 ms, above which drains come after 4 s anyway
    let (pkts, level_us) = (4 * N, F / 2);
    let soon = [16, 32, s(4).div_ceil(T), s(4).div_ceil(T), s(4).div_ceil(T)];
    let late = [16, 32, 64, 128, s(10).div_ceil(T)];
    for (percent, expected) in [(80, soon), (85, late), (118, late), (122, soon)] {
        // W need not change for that
        let mut f = draining_at(pkts, &[("exchange", "off"), ("gain", "0.01")]);
        for rounds in expected {
            end_drain(&mut f);
            let found = rounds_to_drain(&mut f, carried(pkts, level_us * percent / 100));
            assert_eq!(found, rounds - 1, "q is {percent} % of f");
        }
        // once W fits, from there on they come later and later
        let fits = carried(pkts, level_us);
        end_drain(&mut f);
        let last = rounds_to_drain(&mut f, fits);
        assert_eq!(last + 1, expected[4]);
        for next in [s(8), s(10)] {
            end_drain(&mut f);
            let next = if expected == soon { next } else { s(10) };
            assert_eq!(rounds_to_drain(&mut f, fits) + 1, next.div_ceil(T));
        }
    }
}

#[test]
fn a_low_rtt_puts_the_next_drain_off() {
    let mut f = draining_at(N, &[]);
    end_drain(&mut f);
    f.times(10, queue(F)).times(2, queue(0)); // others have drained
    assert_eq!(rounds_to_drain(&mut f, queue(F)), 15);
}

#[test]
fn without_an_interval_there_are_no_drains() {
    let mut f = steady(&[("drain_interval", "0s")]);
    for _ in 0..1000 {
        assert_eq!(f.on(queue(F)).phase(), Phase::Avoidance);
    }
}

// ---- steering ----

/// W / 4 * (f - q) / (T + f), where W is r (T + f): r (f - q) / 4.
#[test]
fn the_window_moves_by_a_quarter_of_what_the_queue_is_off() {
    for (q_us, expected) in [(0, R_F / 4.0), (F / 2, R_F / 8.0), (F, 0.0), (2 * F, -R_F / 4.0)] {
        assert_near(change(&mut steady(&[]), F, queue(q_us), q_us), expected, 0.003);
    }
    for (gain, part) in [("0.125", 8.0), ("0.5", 2.0)] {
        assert_near(change(&mut steady(&[("gain", gain)]), F, queue(0), 0), R_F / part, 0.003);
    }
}

#[test]
fn a_round_changes_the_window_by_a_quarter_at_most() {
    let w = f64::from(N) + R_F;
    let mut f = steady(&[("gain", "2")]);
    assert_near(change(&mut f, F, queue(100 * F), 100 * F), -w / 4.0, 0.01);
    let mut f = steady_at(N, 204_799, &[("level", "100ms"), ("gain", "2")]);
    let w = (T + 204_799) as f64 / 1024.0;
    assert_near(change(&mut f, 204_799, queue(0).inflight(1000), 0), w / 4.0, 0.01);
}

#[test]
fn the_level_falls_with_the_square_root_of_the_rate() {
    for (pkts, level_us) in [(N / 4, 2 * F), (N, F), (4 * N, F / 2), (16 * N, F / 4)] {
        let r = f64::from(pkts) / T as f64;
        let held = change(&mut steady_at(pkts, level_us, &[]), level_us, carried(pkts, level_us), level_us);
        assert_near(held, 0.0, 0.01);
        let grown = change(&mut steady_at(pkts, level_us, &[]), level_us, carried(pkts, 0), 0);
        assert_near(grown, r * level_us as f64 / 4.0, 0.01);
    }
}

#[test]
fn the_queue_is_the_mean_of_a_round() {
    let mut f = steady(&[]);
    for q_us in [3 * F, 2 * F, 2 * F] {
        f.on(ack(1).after(ms(10)).rtt(T + q_us).inflight(N));
    }
    let q_us = 8 * F / 4;
    f.on(queue(F).after(T - ms(30)).acked(N - 3));
    assert_near(window(&f, q_us), f64::from(N) + R_F * 0.75, 0.003);
}

/// A whole burst counts once, with its mean.
#[test]
fn acks_within_10_ms_are_one_block() {
    let mut f = steady(&[]);
    for q_us in [0, 0, 0, 8 * F] {
        f.on(ack(1).after(ms(2)).rtt(T + q_us).inflight(N)); // a block so far of 2 F
    }
    f.on(ack(1).after(ms(2)).rtt(T + 2 * F).inflight(N));
    f.on(queue(0).after(T - ms(10)).acked(N - 5));
    assert_near(window(&f, F), f64::from(N) + R_F, 0.003);
}

#[test]
fn the_rate_is_a_mean_of_about_four_rounds() {
    let mut f = steady(&[]);
    for expected in [80.0, 92.0, 101.0] {
        f.on(carried(2 * N, F)); // a quarter of the way to 128
        assert_near(rate(&f), expected, 0.1);
    }
    for expected in [75.8, 56.8] {
        f.on(carried(0, F)); // and of the way to 0
        assert_near(rate(&f), expected, 0.1);
    }
}

#[test]
fn noise_raises_the_level() {
    // the host's minimum is 8 ms below all that this flow sees: noise of 8 ms less f / 4
    let noise = 8000 - F / 4;
    for (gain, level_us) in [("0", F), ("1", F + noise), ("2", F + 2 * noise), ("16", F + 8 * F)] {
        let all: Vec<_> = PLAIN.iter().copied().chain([("noise_gain", gain)]).collect();
        let mut f = Flow::start_with("level", &all, |v| {
            (v.cwnd_pkts, v.delivered_pkts, v.min_rtt_us) = (N, 1000, T as u32);
        });
        while f.phase() == Phase::Startup {
            f.on(queue(8000));
        }
        while f.phase() == Phase::Drain {
            f.on(ack(1).after(ms(10)).rtt(T + 8000));
        }
        f.times(2, queue(8000));
        let expected = (level_us as f64 - 8000.0) / 1024.0 / 4.0;
        assert_near(change(&mut f, 8000, queue(8000), 8000), expected, 0.003);
    }
}

#[test]
fn a_low_price_lets_the_window_grow_faster_from_round_to_round() {
    let mut f = steady_at(N, 204, &[("level", "100us"), ("growth_rounds", "128")]); // by 0.05 packets else
    let mut expected = window(&f, 204);
    for k in 1..=3 {
        f.on(queue(50)); // a quarter of the level is 51 us
        expected *= 1.0 + f64::from(k) / 128.0;
        assert_near(window(&f, 50), expected, 0.01);
    }
    f.on(queue(51));
    expected += expected / 4.0 * (204.0 - 51.0) / (T as f64 + 204.0);
    assert_near(window(&f, 51), expected, 0.01);
    f.on(queue(0));
    assert_near(window(&f, 0), expected * 129.0 / 128.0, 0.02); // from the start again
}

#[test]
fn that_growth_never_exceeds_a_quarter_in_a_round() {
    let mut f = steady_at(N, 204, &[("level", "100us"), ("growth_rounds", "128"), ("drain_interval", "0s")]);
    let mut last = window(&f, 204);
    for k in 1..50 {
        f.on(carried(N, 0).inflight(1 << 24));
        let w = window(&f, 0);
        assert_near(w / last, 1.0 + f64::from(k.min(32)) / 128.0, 0.001);
        last = w;
    }
}

#[test]
fn loss_is_a_price() {
    // 16 of 80 packets: 20 %, which weigh 80 / 512 of a mean that was 0. 3.1 % of 4 cost 25/32 of the level.
    let lossy = |q_us| queue(q_us).losses(16);
    assert_near(change(&mut steady(&[]), F, lossy(0), 0), R_F / 4.0 * 7.0 / 32.0, 0.003);
    let q_us = F * 7 / 32;
    assert_near(change(&mut steady(&[]), F, lossy(q_us), q_us), 0.0, 0.003);
    assert_near(change(&mut steady(&[]), F, lossy(F), F), -R_F / 4.0 * 25.0 / 32.0, 0.003);
}

#[test]
fn to_slow_flows_loss_costs_no_more_than_5_ms() {
    let f_us = 10_239; // 5 ms * 2.048
    let mut f = steady_at(N, f_us, &[("level", "5ms")]);
    let price_us = 5000.0 * 25.0 / 32.0;
    let expected = (f_us as f64 - price_us) / 1024.0 / 4.0;
    assert_near(change(&mut f, f_us, queue(0).losses(16), 0), expected, 0.003);
}

#[test]
fn loss_alone_leaves_seven_eighths_of_what_is_in_flight() {
    let settings = [("drain_interval", "0s")];
    let mut f = steady(&settings);
    f.times(50, queue(0).losses(16));
    assert_near(window(&f, 0), f64::from(N) * 7.0 / 8.0, 0.01);
    let mut f = steady(&settings);
    f.times(50, queue(F + 1).losses(16));
    assert!(window(&f, F + 1) < f64::from(N) / 2.0, "with a queue above the level it goes on");
}

#[test]
fn the_ack_of_a_lone_packet_that_the_receiver_held_is_no_queue() {
    let alone = |q_us| round(1, T).rtt(T + q_us).prior_inflight(N).inflight(0);
    assert_near(change(&mut steady(&[]), F, alone(ms(40) + 1), F), 0.0, 0.001);
    let counted = |ack| change(&mut steady(&[]), F, ack, ms(40));
    assert!(counted(alone(ms(40))) < -1.0, "40 ms are not more than 40 ms");
    let held = alone(ms(40)).rtt(T + ms(40) + 1);
    assert!(counted(held.inflight(1)) < -1.0, "others are in flight");
    assert!(counted(held.acked(2)) < -1.0, "two packets are acknowledged at once");
}
