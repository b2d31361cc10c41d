//! Loss detection and recovery, by scripted ACKs. The RTT is 100 ms.

use crate::support::{Script, range};
use fairpace_cc::CaState::{Cwr, Disorder, Loss, Open, Recovery};
use fairpace_cc::{Event, Kind};

/// Owns cwnd: recovery without PRR, so that only what is lost decides what is sent.
fn fixed_window(cwnd: u32, supply: u64) -> Script {
    let mut s = Script::new(Kind::OwnsCwnd, cwnd, supply);
    assert_eq!(s.sent(), range(0, u64::from(cwnd).min(supply)));
    s
}

#[test]
fn three_sacked_packets_mark_the_hole_lost_at_once() {
    let mut s = fixed_window(10, 100);
    assert_eq!(s.ack(200, 0, &[(1, 2)]), [10]);
    assert_eq!(s.sender.ca_state(), Disorder);
    assert_eq!(s.ack(202, 0, &[(1, 3)]), [11]);
    // RFC 8985 section 6.2 step 4: no reordering window once three were SACKed
    assert_eq!(s.ack(204, 0, &[(1, 4)]), [0, 12]);
    assert_eq!(s.sender.ca_state(), Recovery);
    assert_eq!((s.last_ack().losses_pkts, s.last_ack().acked_pkts, s.last_ack().lost_pkts), (1, 1, 1));
    assert_eq!(s.sender.inflight_pkts(), 10);
}

#[test]
fn fewer_wait_a_quarter_of_the_minimum_rtt_and_the_timer_detects_the_loss() {
    let mut s = fixed_window(10, 10);
    assert_eq!(s.ack(200, 0, &[(8, 9)]), []);
    // RACK waits RTT + min_rtt/4 from sending (100 + 125 ms), and Linux 2 ms more. 27 ms are 7 jiffies, and
    // half of one late.
    assert_eq!(s.timer(), (230_000, range(0, 8)));
    assert_eq!(s.sender.ca_state(), Recovery);
    // 9 was sent with 8 but after it: still in flight
    assert_eq!(s.sender.inflight_pkts(), 9);
}

#[test]
fn a_packet_sent_after_the_one_delivered_is_not_lost() {
    let mut s = fixed_window(10, 100);
    assert_eq!(s.ack(200, 0, &[(1, 4)]), [0, 10, 11, 12]);
    // 5..10 were sent in the same burst as 3 but follow it
    assert_eq!(s.sender.inflight_pkts(), 10);
    assert_eq!(s.last_ack().losses_pkts, 1);
}

#[test]
fn recovery_ends_when_the_recovery_point_is_acknowledged() {
    let mut s = fixed_window(10, 100);
    assert_eq!(s.ack(200, 0, &[(1, 10)]), [0, 10, 11, 12, 13, 14, 15, 16, 17, 18]);
    assert_eq!(s.ack(301, 10, &[]), [19]);
    assert_eq!(s.sender.ca_state(), Open);
    assert!(!s.events().contains(&Event::Undo));
    assert_eq!(s.states(), [Recovery, Open]);
    assert_eq!(s.sender.stats().recoveries, 1);
}

#[test]
fn a_lost_retransmission_is_detected_without_a_timeout() {
    let mut s = fixed_window(10, 100);
    assert_eq!(s.ack(200, 0, &[(1, 10)]), [0, 10, 11, 12, 13, 14, 15, 16, 17, 18]);
    // what was sent after the retransmission of 0 arrives: 0 was lost again
    assert_eq!(s.ack(301, 0, &[(1, 11)]), [0, 19]);
    assert_eq!(s.last_ack().losses_pkts, 1);
    assert_eq!(s.sender.stats().timeouts, 0);
}

#[test]
fn a_tail_loss_is_probed_after_two_rtts_with_the_last_packet() {
    let mut s = fixed_window(10, 5);
    let (at_us, sent) = s.timer();
    // RFC 8985 section 7.2: 2 SRTT, and Linux 2 ms: 51 jiffies, and half of one late
    assert_eq!((at_us, sent), (100_000 + 204_000 + 2_000, vec![4]));
    assert_eq!(s.sender.stats().probes, 1);
    // the SACK for the probe reveals the rest
    assert_eq!(s.ack(406, 2, &[(4, 5)]), []);
    let (at_us, sent) = s.timer();
    assert_eq!(sent, [2, 3], "at {at_us}");
    assert_eq!(s.ack(600, 5, &[]), []);
    assert_eq!((s.sender.ca_state(), s.sender.stats().timeouts), (Open, 0));
}

/// Linux: tcp_send_loss_probe calls __tcp_retransmit_skb, which does not count in retrans_out.
#[test]
fn a_probe_takes_no_place_of_a_retransmission() {
    let mut s = fixed_window(10, 10);
    assert_eq!(s.ack(200, 8, &[]), []);
    assert_eq!(s.timer().1, [9]);
    assert_eq!(s.sender.inflight_pkts(), 2, "the probe is the packet that is in flight already");
    let at = s.now / crate::support::MS + 100;
    assert_eq!(s.ack(at, 8, &[(9, 10)]), [8], "the hole at once, with the SACK of the probe");
    assert_eq!(s.ack(at + 100, 10, &[]), []);
    assert_eq!((s.sender.ca_state(), s.sender.stats().timeouts), (Open, 0));
}

/// RACK watches the probe by the time at which it left: a packet that left later arrives, so it is lost.
#[test]
fn a_lost_probe_is_found_by_what_left_after_it() {
    let mut s = fixed_window(10, 5);
    assert_eq!(s.timer(), (306_000, vec![4]));
    s.sender.write(s.now, 4, &mut Vec::new());
    assert_eq!(s.ack(394, 0, &[(5, 6)]), range(0, 4), "the probe may still be on its way");
    assert_eq!(s.ack(395, 0, &[(5, 8)]), [4]);
    assert_eq!((s.sender.ca_state(), s.sender.stats().retransmitted_pkts), (Recovery, 6));
}

/// Linux: tcp_init_undo counts a probe that is a retransmission, since its D-SACK may come.
#[test]
fn a_d_sack_of_the_probe_alone_undoes_no_reduction() {
    let mut s = Script::new(Kind::GrowsCwnd, 10, 10);
    assert_eq!(s.sent(), range(0, 10));
    assert_eq!(s.timer().1, [9]);
    let at = s.now / crate::support::MS;
    // 0 is lost; 9 arrives twice, and the first of the two begins the recovery
    assert_eq!(s.ack(at + 90, 0, &[(1, 10)]), [0]);
    let reduced = s.sender.ssthresh_pkts();
    s.ack(at + 100, 0, &[(9, 10), (1, 10)]);
    assert_eq!((s.sender.stats().undos, s.sender.ssthresh_pkts()), (0, reduced));
}

/// Linux: tcp_ack, no_queue. Without it the next ACK would be taken for that of a repaired loss.
#[test]
fn a_d_sack_after_the_last_ack_ends_the_probe() {
    let mut s = Script::new(Kind::GrowsCwnd, 10, 5);
    s.sent();
    assert_eq!(s.timer().1, [4]);
    assert_eq!(s.ack(310, 5, &[]), []);
    s.ack(402, 5, &[(4, 5)]);
    s.sender.write(s.now, 2, &mut Vec::new());
    s.ack(502, 7, &[]);
    assert_eq!((s.sender.cwnd_pkts(), s.sender.ca_state()), (10, Open));
    assert!(!s.events().contains(&Event::Reduce));
}

/// Linux: tcp_dsack_seen adds to tp->delivered, so PRR lets one packet more leave.
#[test]
fn a_packet_that_arrives_twice_counts_as_delivered() {
    let mut s = fixed_window(10, 100);
    assert_eq!(s.ack(200, 0, &[(1, 10)]), [0, 10, 11, 12, 13, 14, 15, 16, 17, 18]);
    s.ack_echo(290, 10, &[], 250); // the original of 0 was late, and its echo is ambiguous
    s.ack(301, 11, &[(0, 1)]);
    assert_eq!(s.last_ack().acked_pkts, 2, "packet 10, and packet 0 again");
}

#[test]
fn a_probe_sends_new_data_if_there_is_any() {
    let mut s = fixed_window(10, 100);
    assert_eq!(s.timer(), (306_000, vec![10]));
    assert_eq!(s.sender.inflight_pkts(), 11, "a probe may exceed cwnd");
}

#[test]
fn a_lone_packet_is_probed_later_since_its_ack_may_be_delayed() {
    let mut s = fixed_window(10, 1);
    // the RTO of the first RTT sample, 3 RTTs, comes before 2 SRTT + 200 ms. Beyond 252 ms the timer wheel
    // has steps of 32 ms.
    assert_eq!(s.timer(), (416_000, vec![0]));
    assert_eq!(s.sender.stats().timeouts + s.sender.stats().probes, 1);
}

#[test]
fn a_loss_that_the_probe_repaired_reduces_the_window_once() {
    let mut s = Script::new(Kind::GrowsCwnd, 10, 5);
    assert_eq!(s.sent(), range(0, 5));
    assert_eq!(s.timer().1, [4]);
    // everything arrives, but only one copy of 4; more data shows that the ACK is not the original's
    assert_eq!(s.ack(402, 5, &[]), []);
    s.sender.write(s.now, 5, &mut Vec::new());
    assert_eq!(s.ack(503, 7, &[]), []);
    assert!(s.states().contains(&Cwr), "{:?}", s.states());
    assert_eq!(s.sender.cwnd_pkts(), 5);
}

#[test]
fn a_spurious_probe_is_detected_by_its_d_sack_and_reduces_nothing() {
    let mut s = Script::new(Kind::GrowsCwnd, 10, 5);
    s.sent();
    assert_eq!(s.timer().1, [4]);
    assert_eq!(s.ack(310, 5, &[]), []);
    assert_eq!(s.ack(402, 5, &[(4, 5)]), []);
    assert_eq!((s.sender.cwnd_pkts(), s.sender.ca_state()), (10, Open));
    assert!(!s.events().contains(&Event::Reduce));
}

#[test]
fn timeouts_back_off_and_retransmit_the_oldest_packet() {
    let mut s = fixed_window(10, 100);
    assert_eq!(s.timer().1, [10], "a probe first");
    // RTO = 3 RTTs after the first sample, from the probe on; late by half a step of the timer wheel
    let mut expected_us = 306_000;
    for (backed_off, late) in
        [(300_000, 16_000), (600_000, 16_000), (1_200_000, 16_000), (2_400_000, 128_000)]
    {
        expected_us += backed_off + late;
        assert_eq!(s.timer(), (expected_us, vec![0]));
        assert_eq!((s.sender.ca_state(), s.sender.cwnd_pkts(), s.sender.inflight_pkts()), (Loss, 1, 1));
    }
    assert_eq!(s.sender.stats().timeouts, 4);
    assert_eq!(s.events().iter().filter(|e| **e == Event::Reduce).count(), 1, "one reduction per window");
}

#[test]
fn after_a_real_timeout_everything_is_retransmitted() {
    let mut s = Script::new(Kind::GrowsCwnd, 10, 10);
    s.sent();
    assert_eq!(s.timer().1, [9]);
    assert_eq!(s.timer().1, [0]);
    assert_eq!(s.sender.ca_state(), Loss);
    // F-RTO, RFC 5682: no new data to try, so the loss is taken as real
    let at = s.now / crate::support::MS + 100;
    assert_eq!(s.ack(at, 1, &[]), [1]);
    assert_eq!(s.ack(at + 100, 2, &[]), [2]);
    assert_eq!(s.sender.ca_state(), Loss);
    assert_eq!(s.ack(at + 200, 10, &[]), []);
    assert_eq!((s.sender.ca_state(), s.sender.inflight_pkts()), (Open, 0));
}

#[test]
fn a_spurious_timeout_is_undone_when_the_original_arrives() {
    let mut s = Script::new(Kind::GrowsCwnd, 10, 100);
    s.sent();
    s.timer();
    assert_eq!(s.timer().1, [0]);
    assert_eq!(s.sender.cwnd_pkts(), 1);
    // the ACK echoes the time of the first transmission (Eifel)
    let at = s.now / crate::support::MS + 10;
    s.ack_echo(at, 2, &[], 100);
    assert_eq!(s.sender.ca_state(), Open);
    assert!(s.sender.cwnd_pkts() >= 10);
    assert_eq!(s.sender.stats().undos, 1);
    assert!(s.events().contains(&Event::Undo));
}

#[test]
fn frto_undoes_a_timeout_without_timestamps_when_new_data_overtakes() {
    let mut s = Script::new(Kind::GrowsCwnd, 10, 100);
    s.sent();
    s.timer();
    assert_eq!(s.timer().1, [0]);
    // step 2b: an ACK that advances lets two new packets go instead of retransmissions
    let at = s.now / crate::support::MS + 100;
    let sent = s.ack(at, 1, &[]);
    assert!(sent.iter().all(|seq| *seq >= 11), "{sent:?}");
    // step 3b: data that was never retransmitted is acknowledged
    s.ack(at + 1, 3, &[]);
    assert_eq!((s.sender.ca_state(), s.sender.stats().undos), (Open, 1));
    assert!(s.sender.cwnd_pkts() >= 10);
}

#[test]
fn a_recovery_from_mere_reordering_is_undone_by_d_sacks() {
    let mut s = Script::new(Kind::GrowsCwnd, 20, 20);
    assert_eq!(s.sent(), range(0, 20));
    s.ack(200, 4, &[]);
    assert_eq!(s.ack(201, 4, &[(5, 9)]), [4]);
    assert_eq!(s.sender.ca_state(), Recovery);
    let reduced = s.sender.ssthresh_pkts();
    // the original of 4 was delayed; the echo is ambiguous, the D-SACK of the second copy is not
    s.ack_echo(202, 10, &[], 250);
    assert_eq!(s.sender.ca_state(), Recovery);
    s.ack_echo(302, 10, &[(4, 5)], 250);
    assert_eq!(s.sender.stats().undos, 1);
    assert!(s.sender.ssthresh_pkts() > reduced);
    assert!(s.sender.cwnd_pkts() >= 20);
}

#[test]
fn prr_halves_what_is_in_flight_over_one_round() {
    // RFC 9937 section 6.2: 20 in flight, one lost, ssthresh 10: one packet is sent for every two delivered
    let mut s = Script::new(Kind::GrowsCwnd, 20, 1000);
    assert_eq!(s.sent(), range(0, 20));
    let at = 200;
    let sent: Vec<usize> = (1..20).map(|i| s.ack(at + i, 0, &[(1, 1 + i)]).len()).collect();
    assert_eq!(s.sender.ssthresh_pkts(), 10);
    let in_recovery: usize = sent[2..].iter().sum();
    assert!((9..=11).contains(&in_recovery), "{sent:?}");
    assert!(sent[2..].iter().all(|n| *n <= 1), "no bursts: {sent:?}");
    assert_eq!(s.sender.inflight_pkts(), 10, "{sent:?}");
    // the hole is filled: the window is ssthresh
    s.ack(at + 120, 21, &[]);
    assert_eq!((s.sender.ca_state(), s.sender.cwnd_pkts()), (Open, 10));
}

#[test]
fn prr_grows_cwnd_again_after_many_losses() {
    // 20 in flight, 15 lost: in flight is below ssthresh at once, so delivery may be matched and then
    // exceeded
    let mut s = Script::new(Kind::GrowsCwnd, 40, 20);
    assert_eq!(s.sent(), range(0, 20));
    s.ack(200, 0, &[(15, 16)]);
    s.ack(201, 0, &[(15, 17)]);
    let first = s.ack(202, 0, &[(15, 18)]);
    assert_eq!(s.sender.ssthresh_pkts(), 20);
    assert_eq!(first, [0], "as much as was delivered");
    assert_eq!(s.ack(203, 0, &[(15, 19)]).len(), 1);
    assert_eq!(s.ack(204, 0, &[(15, 20)]).len(), 1);
    // progress without new losses: one more each time (slow-start bound)
    assert_eq!(s.ack(302, 1, &[(15, 20)]).len(), 2);
    assert_eq!(s.ack(303, 2, &[(15, 20)]).len(), 2);
}

/// RACK marks the hole when a later packet arrives. The control gets LOST before the ACK and before Recovery.
#[test]
fn an_algorithm_that_tracks_sends_gets_each_loss_with_the_packets_snapshot() {
    let mut s = Script::tracking(10, 100);
    assert_eq!(s.sent(), range(0, 10));
    // 10 leaves with 9 in flight before it
    assert_eq!(s.ack(200, 1, &[]), [10]);
    // 1 and 2 are missing when 10 is SACKed
    s.ack(300, 1, &[(3, 11)]);
    let log = s.log.borrow();
    let lost: Vec<_> = log.events.iter().filter(|(e, _)| *e == Event::Lost).map(|(_, v)| v).collect();
    assert_eq!(lost.len(), 2);
    for (n, v) in lost.iter().enumerate() {
        let n = n as u32;
        assert_eq!((v.losses_pkts, v.lost_pkts, v.sample_lost_pkts), (1, n + 1, n + 1));
        // the initial burst: packet 1 was the second in flight, 2 the third
        assert_eq!(v.sample_inflight_pkts, 2 + n);
        assert_eq!(v.sample_end_seq, (2 + n) * fairpace_tcp::MSS_BYTES + 1);
    }
    let recovery = log.events.iter().position(|(e, v)| *e == Event::CaState && v.ca_state == Recovery);
    assert!(log.events.iter().position(|(e, _)| *e == Event::Lost) < recovery);
    // the sample of that ACK is of 10, the last one sent; two have been lost since
    let v = log.acks.last().unwrap();
    assert_eq!((v.sample_inflight_pkts, v.sample_lost_pkts, v.losses_pkts), (10, 2, 2));
    assert_eq!(v.sample_end_seq, 11 * fairpace_tcp::MSS_BYTES + 1);
}

#[test]
fn a_timeout_reports_each_loss_before_the_state_changes() {
    let mut s = Script::tracking(4, 4);
    assert_eq!(s.sent(), range(0, 4));
    s.timer(); // the probe
    s.timer(); // the timeout
    let log = s.log.borrow();
    let reported: Vec<_> = log.events.iter().map(|(e, v)| (*e, v.ca_state, v.sample_inflight_pkts)).collect();
    let from = reported.iter().position(|(e, ..)| *e == Event::Lost).expect("losses");
    let lost: Vec<_> = reported[from..].iter().take_while(|(e, ..)| *e == Event::Lost).collect();
    // the probe retransmitted 3, with 4 in flight before it
    assert_eq!(lost.iter().map(|(.., inflight)| *inflight).collect::<Vec<_>>(), [1, 2, 3, 5]);
    assert_eq!(reported[from + 4].0, Event::Reduce);
    assert_eq!((reported[from + 5].0, reported[from + 5].1), (Event::CaState, Loss));
}

#[test]
fn a_repaired_tail_loss_is_reported_when_later_data_is_acknowledged() {
    let mut s = Script::tracking(4, 4);
    s.sent();
    s.ack(200, 3, &[]);
    let (_, probe) = s.timer();
    assert_eq!(probe, [3]);
    let at = s.now / crate::support::MS + 100;
    // the ACK of the probe, or of the original: not known yet
    s.ack(at, 4, &[]);
    assert!(s.last_ack().is_probe_ack);
    assert!(!s.events().contains(&Event::ProbeRepaired));
    let mut more = Vec::new();
    s.sender.write(s.now, 2, &mut more);
    s.ack(at + 100, 6, &[]);
    assert!(!s.last_ack().is_probe_ack);
    // google/bbr v3: CA_EVENT_TLP_RECOVERY before tcp_init_cwnd_reduction
    let events = s.events();
    let repaired = events.iter().position(|e| *e == Event::ProbeRepaired).expect("the probe repaired a loss");
    assert_eq!(events[repaired + 1..repaired + 3], [Event::Reduce, Event::CaState]);
    // the same with a tail that was sent when there was no more to send
    s.sender.write(s.now, 2, &mut more);
    s.ack(at + 200, 7, &[]);
    assert_eq!(s.timer().1, [7]);
    let at = s.now / crate::support::MS + 100;
    s.ack(at, 8, &[]);
    s.sender.write(s.now, 1, &mut more);
    s.ack(at + 100, 9, &[]);
    let log = s.log.borrow();
    let reported = log.events.iter().filter(|(e, _)| *e == Event::ProbeRepaired);
    assert_eq!(reported.map(|(_, v)| v.is_app_limited).collect::<Vec<_>>(), [false, true]);
}
