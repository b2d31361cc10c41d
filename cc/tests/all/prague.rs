//! Prague (draft-briscoe-iccrg-prague-congestion-control-04, "the draft"; RFC 9331).

use crate::support::{Ack, Flow, ack, ms, s};
use fairpace_cc::{CaState, INFINITE, Phase};

/// The RTT of all scripts but those on the virtual RTT.
const RTT: u64 = 40_000;

/// A flow with ECN that fills its window.
fn prague(settings: &[(&str, &str)], rtt_us: u64) -> Flow {
    Flow::start_with("prague", settings, |v| {
        (v.cwnd_limited, v.ecn, v.srtt_us) = (true, true, rtt_us as u32);
    })
}

/// The same in avoidance, with a cwnd of 100 packets, after a mark that found alpha at 1.
fn avoidance(settings: &[(&str, &str)], rtt_us: u64) -> Flow {
    let mut f = prague(settings, rtt_us);
    f.view.cwnd_pkts = 200;
    f.on(ack(0).marked(1).after(0));
    assert_eq!((f.cwnd(), f.ssthresh(), f.phase()), (100, 100, Phase::Avoidance));
    f
}

/// One ACK for a whole round trip of 100 packets.
fn whole(marked: u32, rtt_us: u64) -> Ack {
    ack(100).marked(marked).after(rtt_us).inflight(100).rtt(rtt_us)
}

#[test]
fn slow_start_doubles_and_paces_at_twice_the_rate_of_cwnd() {
    // sections 2.4.5 and 2.5.1
    let mut f = prague(&[], RTT);
    assert_eq!((f.cwnd(), f.ssthresh(), f.phase()), (10, INFINITE, Phase::SlowStart));
    assert_eq!(f.decision.pacing_rate_Bps, 2 * 10 * 1448 * 1_000_000 / RTT);
    assert_eq!(f.times(10, ack(1)).cwnd(), 20);
    assert_eq!(f.decision.min_burst_pkts, 1);
    let paced = avoidance(&[], RTT);
    assert_eq!(paced.decision.pacing_rate_Bps, 100 * 1448 * 1_000_000 / RTT);
}

#[test]
fn the_first_mark_halves_cwnd_and_ends_slow_start() {
    // section 2.4.5; alpha starts at 1: RFC 8257, section 3.3
    let mut f = prague(&[], RTT);
    f.times(54, ack(1));
    assert_eq!(f.on(ack(0).marked(1)).cwnd(), 32);
    assert_eq!((f.ssthresh(), f.phase()), (32, Phase::Avoidance));
}

#[test]
fn alpha_averages_the_share_of_marks_by_a_sixteenth_per_round_trip() {
    // section 2.3.2. Every 2nd round trip of these is reduced, by alpha / 2 each: cwnd shows alpha.
    let mut f = avoidance(&[], RTT);
    let mut alpha = 1.0;
    for round in 1..=60 {
        f.view.cwnd_pkts = 1_000_000;
        f.on(whole(10, RTT));
        if round > 1 {
            alpha += (0.1 - alpha) / 16.0;
        } else {
            // the mark of the set-up came with no packet
            alpha += (0.11 - alpha) / 16.0;
        }
        let reduced = 1.0 - f64::from(f.cwnd()) / 1e6;
        assert!((reduced - alpha / 2.0).abs() < 1e-3, "{round}: {reduced} for an alpha of {alpha}");
    }
    assert!(alpha < 0.12, "it has come near the share: {alpha}");
}

#[test]
fn alpha_waits_for_the_first_mark() {
    let mut f = prague(&[], RTT);
    f.times(30, ack(1).after(RTT).inflight(0));
    let before = f.cwnd();
    assert_eq!(f.on(ack(0).marked(1)).cwnd(), before / 2, "30 round trips without a mark teach nothing");
}

#[test]
fn marks_reduce_once_per_round_trip() {
    // section 2.4.2
    let mut f = avoidance(&[("alpha_gain", "0.0009765625")], RTT);
    f.times(39, ack(1).marked(1).inflight(100));
    assert_eq!(f.cwnd(), 100, "39 ms after the last one");
    let alpha_is_about_1 = f.on(ack(1).marked(1).inflight(100)).cwnd();
    assert_eq!(alpha_is_about_1, 50);
    assert_eq!(f.times(39, ack(1).marked(1).inflight(100)).cwnd(), 50);
}

#[test]
fn cwnd_grows_by_a_packet_per_round_trip_without_marks_also_while_it_is_reduced() {
    // section 2.4.3: the reduction was in this round trip
    let mut f = avoidance(&[], RTT);
    assert_eq!(f.times(99, ack(1).inflight(100)).cwnd(), 100);
    assert_eq!(f.times(2, ack(1).inflight(100)).cwnd(), 101);
    // marked packets do not count: half of them, half the growth
    let mut f = avoidance(&[], s(100));
    f.times(101, ack(2).marked(1).inflight(100));
    assert_eq!(f.cwnd(), 101);
}

#[test]
fn a_small_reduction_is_not_lost_in_rounding() {
    // An alpha of 1 % takes half a packet of 100, and 99 packets without a mark add 0.99: two round trips add
    // 0.98, three 1.47. The first has an alpha of 2 %, since the mark of the set-up came with no packet.
    let mut f = avoidance(&[("alpha_gain", "1")], RTT);
    let mut after = || f.on(whole(1, RTT)).cwnd();
    assert_eq!([after(), after(), after(), after()], [100, 100, 100, 101]);
}

#[test]
fn reduction_and_increase_balance_at_two_marks_per_round_trip() {
    // W p / 2 = 1: section 2.1, what makes it scalable. A queue that marks 2 % of all packets.
    let mut f = avoidance(&[("rtt_virt", "0ms")], RTT);
    f.view.cwnd_pkts = 300;
    let mut carry = 0.0;
    for _ in 0..2000 {
        let pkts = f.cwnd();
        carry += 0.02 * f64::from(pkts);
        let marked = carry as u32;
        carry -= f64::from(marked);
        f.on(ack(pkts).marked(marked).after(RTT).inflight(pkts).rtt(RTT));
    }
    assert!((95..=106).contains(&f.cwnd()), "{}", f.cwnd());
}

/// Mean cwnd of a flow on a path of `rtt_us` on which each packet is marked with 1 %; ten ACKs per RTT.
fn balanced(rtt_us: u64) -> f64 {
    let mut f = avoidance(&[("rtt_virt_after_rounds", "0")], rtt_us);
    let (mut random, mut sends, mut sum, acks) = (1u64, 0.0, 0.0, 600 * s(1) / rtt_us);
    for step in 0..acks {
        sends += f64::from(f.cwnd()) / 10.0;
        let pkts = sends as u32;
        sends -= f64::from(pkts);
        let marked = (0..pkts).filter(|_| {
            // Knuth's MMIX: the upper half is random enough
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 33) % 100 == 0
        });
        let ack = ack(pkts).marked(marked.count() as u32).after(rtt_us / 10).inflight(f.cwnd()).rtt(rtt_us);
        f.on(ack);
        if step >= acks / 2 {
            sum += f64::from(f.cwnd());
        }
    }
    sum / (acks - acks / 2) as f64
}

#[test]
fn below_25_ms_the_rate_does_not_depend_on_the_rtt() {
    // Section 2.4.4: W / RTT = 2 / (p RTT_virt), if each virtual RTT has a reduction; at 1 % and 25 ms 200
    // packets. After a virtual RTT the next mark reduces. Of random marks, two per virtual RTT, it comes half
    // of one later on average, which makes 300 packets the limit.
    let at_25 = balanced(ms(25));
    assert!((200.0..300.0).contains(&at_25), "{at_25}");
    for rtt_ms in [5, 10, 20] {
        let rate = balanced(ms(rtt_ms)) / rtt_ms as f64;
        assert!((rate / (at_25 / 25.0) - 1.0).abs() < 0.1, "{rtt_ms} ms: {rate} packets per ms, {at_25}");
    }
    // above, it does, as for Reno
    let at_50 = balanced(ms(50));
    assert!((at_50 / at_25 - 1.0).abs() < 0.1, "{at_50} {at_25}");
}

#[test]
fn the_virtual_rtt_holds_after_500_round_trips() {
    // section 2.4.4: M^2 = (5 / 25)^2 = 1/25 packet per round trip
    let grown = |f: &mut Flow, rounds: u32| {
        let before = f.cwnd();
        for _ in 0..rounds {
            f.on(ack(f.cwnd()).after(ms(5)).inflight(f.cwnd()).rtt(ms(5)));
        }
        f.cwnd() - before
    };
    let mut f = avoidance(&[], ms(5));
    assert!((49..=50).contains(&grown(&mut f, 50)), "as on a path of 5 ms at first");
    f.idle(ms(5) * 450);
    f.view.cwnd_pkts = 100;
    assert_eq!(grown(&mut f, 51), 2);
}

#[test]
fn loss_halves_like_reno() {
    // section 2.4.1
    let mut f = avoidance(&[], RTT);
    f.on(ack(0).after(RTT));
    f.recovery();
    assert_eq!((f.cwnd(), f.ssthresh(), f.phase()), (50, 50, Phase::Avoidance));
    assert_eq!(f.on(ack(50).inflight(50)).cwnd(), 50, "no growth while recovering");
    f.ca_state(CaState::Open);
    assert_eq!(f.times(51, ack(1).inflight(50)).cwnd(), 51);
}

#[test]
fn a_mark_and_a_loss_in_one_round_trip_halve_together() {
    // section 2.4.1; alpha is 1/2 here: the mark takes a quarter
    let mut f = avoidance(&[("alpha_gain", "1")], RTT);
    f.on(whole(0, RTT));
    f.on(whole(50, RTT)); // alpha is 1/2 from this ACK on, and it reduces
    let before = f64::from(f.cwnd()) / 0.75;
    f.recovery();
    assert!((f64::from(f.cwnd()) - before / 2.0).abs() < 1.0, "{} of {before}", f.cwnd());
    // a mark after the loss takes nothing more in this round trip
    let after = f.cwnd();
    assert_eq!(f.on(ack(1).marked(1).inflight(50)).cwnd(), after);
}

#[test]
fn a_timeout_restarts_slow_start_up_to_half() {
    let mut f = avoidance(&[], RTT);
    f.on(ack(0).after(RTT));
    f.timeout();
    assert_eq!(f.ssthresh(), 50);
    f.view.max_inflight_pkts = 50;
    f.on(ack(1));
    assert_eq!((f.cwnd(), f.phase()), (3, Phase::SlowStart), "from the least cwnd of 2");
    f.times(47, ack(1));
    assert_eq!((f.cwnd(), f.phase()), (50, Phase::Avoidance));
}

#[test]
fn the_host_enters_cwr_for_a_mark_and_for_a_loss_that_a_probe_repaired() {
    // with a mark, on_ack reduces by alpha
    let mut marked = avoidance(&[], RTT);
    marked.on(ack(0).after(RTT));
    marked.view.delivered_ce_pkts += 1;
    marked.reduce_to(CaState::Cwr);
    assert_eq!(marked.cwnd(), 100);
    // without, it is a loss: RFC 8985, section 7.4.2
    let mut repaired = avoidance(&[], RTT);
    repaired.on(ack(0).after(RTT));
    repaired.reduce_to(CaState::Cwr);
    assert_eq!(repaired.cwnd(), 50);
}

#[test]
fn a_spurious_reduction_is_undone() {
    let mut f = avoidance(&[], RTT);
    f.on(ack(0).after(RTT));
    let rate = f.decision.pacing_rate_Bps;
    assert_eq!(f.recovery().cwnd(), 50);
    assert_eq!(f.decision.pacing_rate_Bps, rate / 2);
    assert_eq!(f.undo().cwnd(), 100);
    assert_eq!(f.decision.pacing_rate_Bps, rate, "at once: cwnd may be sent before the next ACK");
    assert_eq!(f.on(ack(1).inflight(99)).cwnd(), 100, "and it stays");
}

#[test]
fn without_ecn_it_is_reno_with_pacing() {
    let mut f = Flow::start_with("prague", &[], |v| (v.cwnd_limited, v.srtt_us) = (true, ms(5) as u32));
    f.times(90, ack(1));
    f.recovery();
    assert_eq!(f.ca_state(CaState::Open).cwnd(), 50);
    f.idle(s(10));
    // no virtual RTT: a packet per round trip, though the RTT is 5 ms and 500 of them have passed
    assert_eq!(f.times(51, ack(1).inflight(50)).cwnd(), 51);
}

#[test]
fn cwnd_that_is_not_used_does_not_grow_and_a_host_that_reduces_it_is_followed() {
    // RFC 7661
    let mut f = avoidance(&[], RTT);
    f.view.cwnd_limited = false;
    assert_eq!(f.times(500, ack(1)).cwnd(), 100);
    f.view.cwnd_limited = true;
    f.view.cwnd_pkts = 20; // an idle period: RFC 2861
    f.view.ssthresh_pkts = 20;
    assert_eq!(f.times(21, ack(1).inflight(20)).cwnd(), 21);
}
