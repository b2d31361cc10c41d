//! Links and connections: who has a link, what it loses, and how packets come to it.

use std::time::Duration;

use fairpace_scenario::{Link, Loss, Policer, WHOLE_PPB};

use crate::measured;
use crate::scenarios::{flow, scenario};

pub(crate) fn a_flow_that_starts_late_and_stops_early_leaves_the_link_to_the_other() {
    let mut guest = flow("guest", "kernel:bbr", 10);
    (guest.start, guest.stop) = (Duration::from_secs(2), Some(Duration::from_secs(4)));
    let s = scenario(20, 200_000, (1, 6), vec![flow("host", "kernel:bbr", 20), guest]);
    let outcome = measured(&s);
    let series = &outcome.run.series;
    let mean_between = |flow: usize, from: f64, to: f64| {
        let points = series.t_s.iter().zip(&series.flows[flow].goodput_mbps);
        let inside: Vec<f32> = points.filter(|(t, _)| **t > from && **t <= to).map(|(_, v)| *v).collect();
        f64::from(inside.iter().sum::<f32>()) / inside.len() as f64
    };
    assert_eq!(mean_between(1, 0.0, 2.0), 0.0, "the guest has not started");
    assert!(mean_between(1, 2.5, 4.0) > 1.0, "the guest gets something");
    assert_eq!(mean_between(1, 4.5, 6.0), 0.0, "the guest has stopped");
    let (host, guest) = (&series.flows[0], &series.flows[1]);
    let again = mean_between(0, 5.0, 6.0);
    assert!(again > 17.0, "the host has the link again: {again} Mbit/s; {host:?}; {:?}", outcome.lateness);
    assert!(guest.cwnd_pkts[5].is_nan() && !guest.cwnd_pkts[30].is_nan() && guest.cwnd_pkts[55].is_nan());
    assert!(host.bw_mbps[15] > 15.0 && host.phase[15] >= 0, "bbr tells all");
    // The SYN is the packet with the least RTT: it takes 0.03 ms on the link, a full packet 0.61 ms. Were it
    // sent before the emulator's clock runs, it would wait, and the data would have the least.
    let least = host.min_rtt_ms[15];
    assert!((20.0..20.5).contains(&least), "{least} ms");
}

pub(crate) fn of_two_links_in_a_row_the_slower_one_has_the_queue() {
    let mut s = scenario(50, 200_000, (1, 3), vec![flow("a", "kernel:cubic", 10)]);
    s.links.push(Link::new("narrow", 20_000_000, 50_000));
    let outcome = measured(&s);
    let [wide, narrow] = outcome.run.summary.links.as_slice() else { panic!("two links") };
    assert!(narrow.utilization > 0.9 && wide.utilization < 0.5, "{wide:?} {narrow:?}");
    assert!(narrow.queue_delay_mean_ms > wide.queue_delay_mean_ms, "{wide:?} {narrow:?}");
    // 10 ms, the two queues, and 0.24 ms and 0.61 ms of transmission.
    let expected = 10.85 + narrow.queue_delay_mean_ms.unwrap() + wide.queue_delay_mean_ms.unwrap();
    let rtt = outcome.run.summary.flows[0].rtt_mean_ms.unwrap();
    assert!((rtt - expected).abs() < 0.3, "{rtt} against {expected}");
}

pub(crate) fn a_link_loses_polices_and_changes_its_rate_as_in_the_simulator() {
    let mut s = scenario(20, 500_000, (0, 5), vec![flow("a", "kernel:bbr", 20)]);
    s.links[0].loss.ppb = 10_000_000;
    s.links[0].rate_at = vec![(Duration::from_millis(2500), 40_000_000)];
    let outcome = measured(&s);
    let (summary, series) = (&outcome.run.summary, &outcome.run.series);
    let (link, retransmitted) = (&summary.links[0], summary.flows[0].retransmits);
    assert!(link.utilization > 0.7 && link.utilization <= 1.0001, "{link:?}");
    // 1 % of what left the link: 11,000 packets or so, four standard deviations are 0.4 %
    let sent = (link.lost + summary.cost.data_packets) as f64;
    assert!((0.006..0.014).contains(&(link.lost as f64 / sent)), "{} of {sent}", link.lost);
    assert!(retransmitted >= link.lost / 2, "{retransmitted} sent again, {} lost", link.lost);
    let mean = |from: f64, to: f64| {
        let points = series.t_s.iter().zip(&series.flows[0].goodput_mbps);
        let inside: Vec<f32> = points.filter(|(t, _)| **t > from && **t <= to).map(|(_, v)| *v).collect();
        f64::from(inside.iter().sum::<f32>()) / inside.len() as f64
    };
    assert!(mean(1.0, 2.5) > 12.0 && mean(3.5, 5.0) > 24.0, "{:?}", series.flows[0].goodput_mbps);

    // Eight times slower. Goodput does not bound the rate, since a hole that closes releases what came
    // before; what left the link does, exactly.
    let mut s = scenario(40, 500_000, (2, 4), vec![flow("a", "kernel:bbr", 20)]);
    s.links[0].rate_at = vec![(Duration::from_secs(1), 5_000_000)];
    let outcome = measured(&s);
    let link = &outcome.run.summary.links[0];
    // a packet that began before the window and left in it counts whole: one of 1.25 MB
    let most = 1.0 + 1514.0 / (2.0 * 5e6 / 8.0);
    assert!(link.utilization > 0.95 && link.utilization <= most, "{link:?}");

    let mut s = scenario(100, 500_000, (1, 6), vec![flow("a", "kernel:cubic", 20)]);
    s.links[0].policer = Some(Policer { rate_bps: 10_000_000, burst_bytes: 30_000 });
    let outcome = measured(&s);
    let link = &outcome.run.summary.links[0];
    assert!(link.drops > 0 && link.utilization < 0.1 + 30_000.0 * 8.0 / (100e6 * 5.0), "{link:?}");
}

/// One SYN more after 1 s and none after 3 s: what fails is a result, and the other flow is not disturbed.
pub(crate) fn a_connection_without_an_answer_has_failed_and_ends_no_run() {
    let mut unanswered = flow("unanswered", "kernel:cubic", 20);
    (unanswered.sending.syn_retries, unanswered.route) = (1, Some(vec!["hole".into()]));
    let mut quick = flow("quick", "kernel:cubic", 20);
    (quick.sending.rto_min, quick.route) = (Duration::from_millis(20), Some(vec!["l".into()]));
    let mut s = scenario(20, 200_000, (0, 4), vec![unanswered, quick]);
    for flow in &mut s.flows {
        flow.sending.syn_linear_timeouts = 0;
    }
    let loss = Loss { ppb: WHOLE_PPB, burst: None };
    s.links.push(Link { loss, ..Link::new("hole", 20_000_000, 200_000) });
    let outcome = measured(&s);
    let [unanswered, quick] = outcome.run.summary.flows.as_slice() else { panic!("two flows") };
    assert_eq!((unanswered.failed, unanswered.goodput_mbps, unanswered.retransmits), (1, 0.0, 1));
    assert!(quick.failed == 0 && quick.goodput_mbps > 15.0, "{quick:?}");
    assert_eq!(outcome.run.summary.links[1].lost, 2, "the SYN and its retransmission");
}

pub(crate) fn without_tso_packets_leave_one_by_one() {
    // At 10 Mbit/s a burst has two packets, the least that Linux makes, every 2.4 ms. At 20 Mbit/s each takes
    // 0.6 ms, which the second one waits for the first: 0.3 ms on average. One by one they come every 1.2 ms.
    let waited_ms = |tso: bool| {
        let mut paced = flow("a", "fixed_rate", 20);
        paced.cc.set("rate", "10mbit").expect("a parameter");
        paced.sending.tso = tso;
        let run = measured(&scenario(20, 200_000, (1, 2), vec![paced])).run;
        run.summary.links[0].queue_delay_mean_ms.expect("packets pass")
    };
    let (bursts, single) = (waited_ms(true), waited_ms(false));
    assert!(bursts > 0.2 && single < 0.1, "{bursts} ms in bursts, {single} ms one by one");
}
