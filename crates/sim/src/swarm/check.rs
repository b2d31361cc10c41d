//! Conditions that must hold for every run.

use std::cell::Cell;
use std::path::{Path, PathBuf};

use fairpace_netem::rate_steps;
use fairpace_results::{LinkSummary, MediaSummary, Monitor, Run};
use fairpace_scenario::{
    Cc, Distribution, Ecn, Flow, Limit, Link, Queue, RedRules, Route, Scenario, Target, WHOLE_PPB, Window,
    Writes, load,
};

use super::ledger::{Account, LONGEST_PAUSE_NS, Ledger};

/// Bytes that an opportunity of a trace can deliver.
const OPPORTUNITY_BYTES: f64 = 1514.0;
/// An Ethernet header, bytes.
const ETHERNET_BYTES: f64 = 14.0;
/// Headers of a datagram without Ethernet, bytes: IPv4, UDP and RTP.
const DATAGRAM_HEADERS_BYTES: u32 = 40;
/// Most checks of the monitor by the engine, each after 16,384 events. A run that needs more than 100 million
/// events hangs, or does work for every packet that should be rare.
const MOST_LOOKS: u32 = 6_000;

/// A monitor that stops a run after [`MOST_LOOKS`] checks by the engine, so that a run without end fails on
/// every machine alike.
struct StepLimit(Cell<u32>);

impl Monitor for StepLimit {
    fn progress(&mut self, _done_s: f64, _total_s: f64) {}
    fn stop(&self) -> bool {
        self.0.set(self.0.get() + 1);
        self.0.get() > MOST_LOOKS
    }
}

fn step_limit() -> StepLimit {
    StepLimit(Cell::new(0))
}

/// Returns all failures of a scenario's runs, in words, and the data packets that one of the runs delivered.
#[inline] // compiled where it is called, as `runs` is
pub fn check(scenario: &Scenario) -> (Vec<String>, u64) {
    let runs = match runs(scenario) {
        Ok(runs) => runs,
        Err(why) => return (vec![why], 0),
    };
    let Runs { run, again, per_hop, mut ledger } = runs;
    ledger.close();
    let mut wrong = std::mem::take(&mut ledger.wrong);
    wrong.truncate(3);
    if let Err(why) = run.check() {
        wrong.push(why);
        return (wrong, 0);
    }
    wrong.extend(difference("written to a file, read and run again", &run, &again));
    wrong.extend(difference("run with every departure as an event", &run, &per_hop));
    for (index, flow) in scenario.flows.iter().enumerate() {
        wrong.extend(self::flow(scenario, index, flow, &run, &ledger));
    }
    for (index, link) in scenario.links.iter().enumerate() {
        wrong.extend(self::link(scenario, index, link, &run, &ledger.links[index]));
    }
    wrong.extend(shares(&run));
    (wrong, run.summary.cost.data_packets)
}

/// Three runs of a scenario.
struct Runs {
    run: Run,
    again: Run,
    per_hop: Run,
    ledger: Ledger,
}

/// Runs a scenario three times. `inline`: with an observed engine compiled in this crate, the compiler
/// inlines less of the engine without observer, which then takes up to 4 % more instructions per packet
/// (`make count`).
#[inline]
fn runs(scenario: &Scenario) -> Result<Runs, String> {
    let read = read_back(scenario)?;
    let mut ledger = Ledger::new(scenario);
    let failed = |error: crate::Error| error.to_string();
    Ok(Runs {
        run: crate::run(scenario, &mut step_limit()).map_err(failed)?,
        again: crate::run_with(&read, &mut step_limit(), &mut ledger).map_err(failed)?,
        per_hop: crate::run_per_hop(scenario, &mut step_limit()).map_err(failed)?,
        ledger,
    })
}

/// Writes a scenario and the files that it names; returns the path of the scenario file.
///
/// # Errors
/// A file cannot be written.
pub fn write(scenario: &Scenario, folder: &Path) -> std::io::Result<PathBuf> {
    let bundle = scenario.bundle();
    for (name, text) in &bundle.files {
        std::fs::write(folder.join(name), text)?;
    }
    let path = folder.join("scenario.toml");
    std::fs::write(&path, bundle.toml)?;
    Ok(path)
}

/// Returns the scenario as read from its files.
fn read_back(scenario: &Scenario) -> Result<Scenario, String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let path = write(scenario, folder.path()).map_err(|error| error.to_string())?;
    let read = load(&path, &[], Target::Simulator).map_err(|invalid| {
        let problems: Vec<_> = invalid.problems.iter().map(|p| format!("{}: {}", p.key, p.message)).collect();
        format!("its file cannot be read: {}", problems.join("; "))
    })?;
    if read.hash != scenario.hash {
        return Err("its file has another hash".to_owned());
    }
    Ok(read)
}

/// Returns the difference of two runs, if they differ.
fn difference(what: &str, one: &Run, other: &Run) -> Option<String> {
    // as text, because NaN is not equal to itself
    let text = |run: &Run| format!("{}{:?}", run.summary.stable_json(), run.series);
    let (one, other) = (text(one), text(other));
    let at = one.bytes().zip(other.bytes()).position(|(a, b)| a != b)?;
    let part = |text: &str| text.chars().skip(at.saturating_sub(60)).take(120).collect::<String>();
    Some(format!("{what}, the result is another: `{}` became `{}`", part(&one), part(&other)))
}

fn shares(run: &Run) -> Option<String> {
    let sum: f64 = run.summary.flows.iter().filter_map(|flow| flow.share).sum();
    let none = run.summary.flows.iter().all(|flow| flow.share.is_none());
    let jain = run.summary.jain.unwrap_or(1.0);
    let n = run.summary.flows.len() as f64;
    let right = (none || (sum - 1.0).abs() < 1e-9) && (1.0 / n - 1e-9..=1.0 + 1e-9).contains(&jain);
    (!right).then(|| format!("shares sum to {sum}, Jain's index is {jain} for {n} flows"))
}

/// Returns the length of each interval of the series, s.
fn intervals(run: &Run) -> impl Iterator<Item = f64> {
    let begins = std::iter::once(&0.0).chain(&run.series.t_s);
    run.series.t_s.iter().zip(begins).map(|(ends, begins)| ends - begins)
}

fn integral(run: &Run, column: &[f32]) -> f64 {
    intervals(run).zip(column).map(|(length, value)| length * f64::from(*value)).sum()
}

fn flow(scenario: &Scenario, index: usize, flow: &Flow, run: &Run, ledger: &Ledger) -> Vec<String> {
    let (summary, series) = (&run.summary.flows[index], &run.series.flows[index]);
    let mut wrong = Vec::new();
    let mut must = |holds: bool, what: &dyn Fn() -> String| {
        if !holds {
            wrong.push(format!("flow {}: {}", flow.name, what()));
        }
    };
    let finite = [Some(summary.goodput_mbps), summary.share, summary.completion_s, summary.rtt_mean_ms];
    must(finite.iter().flatten().all(|x| x.is_finite() && *x >= 0.0), &|| format!("{summary:?}"));
    let rates = series.goodput_mbps.iter().chain(series.pacing_mbps.iter().filter(|x| !x.is_nan()));
    must(rates.clone().all(|x| x.is_finite() && *x >= 0.0), &|| {
        "a rate is negative or not finite".to_owned()
    });
    // no RTT is below the base RTT, less what normal jitter of the lines takes off
    let shortest = flow.rtt_at.iter().map(|(_, rtt)| *rtt).fold(flow.rtt, std::time::Duration::min);
    let below = |link: &Link| match link.line.jitter_shape.distribution {
        Distribution::Uniform => std::time::Duration::ZERO,
        Distribution::Normal => link.line.jitter_shape.most(link.line.jitter),
    };
    let shortest = shortest.saturating_sub(scenario.links.iter().map(below).sum());
    let shortest_ms = shortest.as_secs_f64() * 1e3;
    let rtts = series.rtt_ms.iter().filter(|x| !x.is_nan()).map(|x| f64::from(*x)).chain(summary.rtt_mean_ms);
    let least = rtts.fold(f64::MAX, f64::min);
    must(least >= shortest_ms * (1.0 - 1e-6) - 1e-5, &|| {
        format!("an RTT of {least} ms where the base RTT is {shortest_ms} ms")
    });
    wrong_media(summary.media.as_ref(), scenario, &mut must);
    // Goodput cannot exceed the data packets that left a link. A filled hole makes many packets available at
    // once, but none twice.
    let payload_bytes = match flow.cc {
        Cc::Uncontrolled => flow.sending.mtu_bytes - DATAGRAM_HEADERS_BYTES,
        _ => flow.sending.mss_bytes(),
    };
    let goodput_pkts = integral(run, &series.goodput_mbps) * 1e6 / 8.0 / f64::from(payload_bytes);
    let route = &scenario.routes()[index];
    for link in &route.forward {
        let left = ledger.links[*link as usize].flows[index].data_pkts as f64;
        must(goodput_pkts <= left * (1.0 + 1e-5) + 0.01, &|| {
            format!("{goodput_pkts:.2} packets of goodput, but {left} left link {link}")
        });
    }
    if must_deliver(scenario, flow, route, ledger) {
        must(goodput_pkts > 0.0, &|| "it delivered nothing".to_owned());
        let last_s = scenario.duration.as_secs_f64() - LONGEST_PAUSE_S;
        let late =
            series.goodput_mbps.iter().zip(&run.series.t_s).any(|(rate, t)| *t >= last_s && *rate > 0.0);
        let (passed, missing) = at_last(route, index, ledger);
        must(late || (passed == 0 && missing > 0), &|| {
            format!(
                "it is stuck: nothing in the last {LONGEST_PAUSE_S} s, in which {passed} packets passed its \
                 path and {missing} were dropped"
            )
        });
    }
    wrong
}

/// Checks the metrics of audio and video.
fn wrong_media(
    media: Option<&MediaSummary>,
    scenario: &Scenario,
    must: &mut dyn FnMut(bool, &dyn Fn() -> String),
) {
    let Some(media) = media else { return };
    let window_ms = (scenario.window.1 - scenario.window.0).as_secs_f64() * 1e3;
    let delays = [media.delay_p50_ms, media.delay_p95_ms, media.delay_p99_ms];
    let of_frames = [media.frame_delay_p50_ms, media.frame_delay_p95_ms, media.frame_delay_p99_ms];
    let right = media.late + media.lost <= media.frames
        && media.late_or_lost.is_some() == (media.frames > 0)
        && media.longest_freeze_ms <= window_ms + LONGEST_INTERVAL_MS
        && delays.is_sorted()
        && of_frames.is_sorted()
        && media.delay_variation_p99_ms.is_none_or(|ms| ms >= 0.0 && Some(ms) <= media.delay_p99_ms);
    must(right, &|| format!("{media:?}"));
}

/// Longest time from a frame to the next: at the least rate of frames.
const LONGEST_INTERVAL_MS: f64 = 200.0;

/// [`LONGEST_PAUSE_NS`] in seconds.
const LONGEST_PAUSE_S: f64 = LONGEST_PAUSE_NS as f64 / 1e9;

/// Returns whether the flow always has data to send, and a path that delivers it.
fn must_deliver(scenario: &Scenario, flow: &Flow, route: &Route, ledger: &Ledger) -> bool {
    let lasts = scenario.duration.saturating_sub(flow.start).as_secs_f64();
    let endless = flow.traffic.size_bytes.is_none()
        && matches!(flow.traffic.writes, Writes::Always)
        && flow.tso_loss_ppb == 0;
    let packet_bytes = f64::from(flow.sending.mtu_bytes) + ETHERNET_BYTES;
    let open = |link: &Link| {
        let slowest = link.rate_at.iter().map(|(_, rate)| *rate).fold(link.rate_bps, u64::min);
        slowest >= 50_000
            && link.loss.ppb < 50_000_000
            && link.loss_at.rows.is_empty()
            && link.policer.is_none()
            && link.handover.is_none()
            && link.cellular.is_none()
            && buffer_bytes(link, packet_bytes) >= 10.0 * packet_bytes
    };
    // Linux's RED goes on to mark above its maximum, where it drops every packet that is not ECN-capable,
    // SYNs too. A flow of BBRv1 with ECN, which answers no mark, keeps it there for good.
    let any_ecn = scenario.flows.iter().any(|flow| flow.sending.ecn != Ecn::Off);
    let may_starve = |link: &Link| match link.queue {
        Queue::Red(red) => any_ecn && red.ecn && red.rules == RedRules::Linux,
        _ => false,
    };
    let links = route.forward.iter().chain(&route.back).map(|link| &scenario.links[*link as usize]);
    endless
        && flow.arrivals.is_none()
        && flow.stop.is_none()
        && flow.drop.is_empty()
        && lasts > 1.2 * LONGEST_PAUSE_S
        && flow.ack_loss_ppb < 200_000_000
        && flow.receiving.window == Window::Ample
        && links.clone().count() <= 3
        && links.into_iter().all(|link| open(link) && !may_starve(link))
        && route.forward.iter().chain(&route.back).all(|link| ledger.links[*link as usize].loss() < 0.2)
}

/// Packets of a flow that passed its path in the last [`LONGEST_PAUSE_S`], and packets that were lost or
/// dropped there. A flow whose retransmissions are all dropped, as by a queue that another flow keeps full,
/// waits for its next timeout and still makes progress. Seeds 31000736 and 31002754 have five timeouts in a
/// row.
fn at_last(route: &Route, index: usize, ledger: &Ledger) -> (u64, u64) {
    let at = |link: &u32| &ledger.links[*link as usize].flows[index];
    let passed = route.forward.last().map_or(0, |link| at(link).late_pkts);
    (passed, route.forward.iter().map(|link| at(link).late_missing_pkts).sum())
}

fn link(scenario: &Scenario, index: usize, link: &Link, run: &Run, account: &Account) -> Vec<String> {
    let (summary, series) = (&run.summary.links[index], &run.series.links[index]);
    let mut wrong = Vec::new();
    let mut must = |holds: bool, what: &dyn Fn() -> String| {
        if !holds {
            wrong.push(format!("link {}: {}", link.name, what()));
        }
    };
    let (from, to) = (scenario.window.0.as_secs_f64(), scenario.window.1.as_secs_f64());
    let packet_bytes = largest_packet_bytes(scenario);
    let once_bits = (packet_bytes + link.burst_bytes.unwrap_or(0) as f64) * 8.0;
    let possible = capacity_bits(scenario, index, from, to);
    let used = summary.utilization * possible;
    must(used >= 0.0 && used <= possible * (1.0 + 1e-9) + once_bits, &|| {
        format!("{used} of {possible} bits")
    });
    let lasts = scenario.duration.as_secs_f64();
    let (all, left) = (capacity_bits(scenario, index, 0.0, lasts), account.left_bytes as f64 * 8.0);
    must(left <= all * (1.0 + 1e-9) + once_bits, &|| format!("{left} of {all} bits in the whole run"));
    let shares: f64 = summary.backlog_share.iter().sum();
    must(shares == 0.0 || (shares - 1.0).abs() < 1e-9, &|| format!("backlog shares sum to {shares}"));
    must(summary.loss_rate.is_none_or(|rate| (0.0..=1.0).contains(&rate)), &|| format!("{summary:?}"));
    must(summary.queue_delay_mean_ms.is_none_or(f64::is_finite), &|| format!("{summary:?}"));
    must(series.backlog_kb.iter().flatten().all(|x| x.is_finite() && *x >= 0.0), &|| {
        "a backlog is negative or not finite".into()
    });
    let most_kb = (buffer_bytes(link, packet_bytes) + packet_bytes) / 1e3;
    let backlogs =
        (0..run.series.t_s.len()).map(|i| series.backlog_kb.iter().map(|flow| f64::from(flow[i])).sum());
    let highest = backlogs.fold(0.0, f64::max);
    must(highest <= most_kb * (1.0 + 1e-5), &|| format!("{highest} kB waited where {most_kb} kB fit"));
    waits(link, packet_bytes, summary, account, &mut must);
    for (flow, used) in account.flows.iter().enumerate() {
        let inside = used.inside_byte_ns as f64;
        let waiting = integral(run, &series.backlog_kb[flow]) * 1e12;
        littles_law(
            account,
            packet_bytes,
            inside,
            waiting,
            used.service_byte_ns,
            scenario.duration.as_nanos() as f64,
            &mut |what| {
                must(false, &|| format!("flow {flow}: {what}"));
            },
        );
    }
    wrong
}

/// Returns the length of the longest packet of any flow on the wire, bytes.
fn largest_packet_bytes(scenario: &Scenario) -> f64 {
    let mtus = scenario.flows.iter().map(|flow| flow.sending.mtu_bytes);
    f64::from(mtus.max().unwrap_or_default()) + ETHERNET_BYTES
}

/// Returns the bytes that the queue of a link holds, if packets have this length.
fn buffer_bytes(link: &Link, packet_bytes: f64) -> f64 {
    match link.buffer {
        Limit::Bytes(bytes) => bytes as f64,
        Limit::Packets(pkts) => pkts as f64 * packet_bytes,
    }
}

/// Checks Little's law: the integral of the backlog is the sum over all packets of bytes times waiting time.
/// Meters measure the first, an observer of packets that came and went the second, less their transmission.
fn littles_law(
    account: &Account,
    packet_bytes: f64,
    inside: f64,
    waiting: f64,
    service: f64,
    length_ns: f64,
    complain: &mut dyn FnMut(String),
) {
    // the series is in single precision; departures are rounded to the nanosecond
    let slack = 1e-6 * inside + 2.0 * packet_bytes * (account.left_bytes as f64 / 64.0 + 1.0);
    // what is being transmitted at the end
    let unfinished = packet_bytes * packet_bytes * account.byte_ns.unwrap_or(0.0);
    let sent = inside - waiting;
    let right = match account.byte_ns {
        Some(_) => sent >= service - slack && sent <= service + unfinished + slack,
        // at most one packet is being transmitted at a time
        None => sent >= -slack && sent <= packet_bytes * length_ns + slack,
    };
    if !right {
        complain(format!(
            "the backlog's integral is {waiting:e} byte-ns, but packets were there for {inside:e} and were \
             being sent for {service:e}"
        ));
    }
}

/// Checks waiting times: meter and observer must agree, and the size of the queue bounds them.
fn waits(
    link: &Link,
    packet_bytes: f64,
    summary: &LinkSummary,
    account: &Account,
    must: &mut dyn FnMut(bool, &dyn Fn() -> String),
) {
    if account.byte_ns.is_none() || account.mixes_copies {
        return;
    }
    let mean_ms = account.window_wait_ns / account.window_pkts as f64 / 1e6;
    let seen = summary.queue_delay_mean_ms;
    let alike = seen.map_or(account.window_pkts == 0, |seen| (seen - mean_ms).abs() <= 1e-5 + 1e-9 * mean_ms);
    must(alike, &|| format!("a mean wait of {seen:?} ms, an observer measured {mean_ms} ms"));
    // a packet of a flow with little to send goes first in fair queueing, and others wait for it
    if !matches!(link.queue, Queue::FqCodel(_)) {
        let ahead = buffer_bytes(link, packet_bytes) + 2.0 * packet_bytes;
        // of two queues each has its share while both have packets
        let share = match &link.queue {
            Queue::DualPi2(dual) => dual.classic_share_ppb.min(WHOLE_PPB - dual.classic_share_ppb),
            _ => WHOLE_PPB,
        };
        let most_ns = ahead * 8e9 / link.rate_bps as f64 * (WHOLE_PPB as f64 / share as f64);
        let longest = account.longest_wait_ns;
        must(longest <= most_ns, &|| {
            format!("a wait of {longest} ns, but the queue is empty after {most_ns}")
        });
    }
}

/// Returns the bits that can leave from one time to another, s, in addition to the tokens of a bucket.
fn capacity_bits(scenario: &Scenario, index: usize, from: f64, to: f64) -> f64 {
    let link = &scenario.links[index];
    if let Some(trace) = &link.trace {
        let period = f64::from(*trace.opportunities_ms.last().unwrap_or(&1)) / 1e3;
        let cycles = (from / period).floor() as u64..=(to / period).floor() as u64;
        let at = |cycle: u64, ms: &u32| cycle as f64 * period + f64::from(*ms) / 1e3;
        let times = cycles.flat_map(|cycle| trace.opportunities_ms.iter().map(move |ms| at(cycle, ms)));
        return times.filter(|t| *t >= from - 1e-9 && *t <= to + 1e-9).count() as f64
            * OPPORTUNITY_BYTES
            * 8.0;
    }
    let steps: Vec<(f64, u64)> =
        rate_steps(scenario, index).into_iter().map(|(at, rate)| (at as f64 / 1e9, rate)).collect();
    let begins = std::iter::once((0.0, link.rate_bps)).chain(steps.iter().copied());
    let ends = steps.iter().map(|(at, _)| *at).chain([f64::MAX]);
    begins
        .zip(ends)
        .map(|((begins, rate), ends)| rate as f64 * (ends.min(to) - begins.max(from)).max(0.0))
        .sum()
}
