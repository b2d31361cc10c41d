//! A run: both sides, the emulator between them, the flows, and the record.

use crate::application::response_bytes;
use crate::clock::{Clock, cpu_of_thread};
use crate::control::Controls;
use crate::coordinator::{Coordinated, Coordinator, FlowTelemetry};
use crate::cwnd;
use crate::emulator::{Devices, Emulator, EmulatorRecord};
use crate::flows::{self, Received, Senders};
use crate::lateness::{FlowLateness, Lateness, Tolerance};
use crate::namespace::{self, Device, Host, Side};
use crate::packet::ETHERNET_HEADER_BYTES;
use crate::requests::Requests;
use crate::telemetry::Delivered;
use crate::{Disturbance, Error, Options, preflight};
use fairpace_kernel::Features;
use fairpace_netem::{FlowMeter, Ideal, Measured, Nanos, SECOND, Schedule, Transfers, build};
use fairpace_results::observer::{NullObserver, Observer};
use fairpace_results::{Cost, FlowSeries, FlowSummary, Monitor, Run};
use fairpace_scenario::{Ecn, Flow, Scenario, Sending, ns};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Time between the creation of the threads and the start of the run: by then they all run.
const LEAD_IN: Duration = Duration::from_millis(20);

/// A run, and the lateness of its emulator and its flows.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// The record of the run.
    pub run: Run,
    /// The lateness of the emulator and the flows.
    pub lateness: Lateness,
    /// The reason why the run must not be judged; `None`: it may be judged.
    pub disturbed: Option<Disturbance>,
}

/// The two sides of the path.
struct Endpoints {
    sender: Device,
    senders: Senders,
    receiver: Device,
    listeners: Vec<OwnedFd>,
}

/// The inputs of a run.
struct Plan<'a> {
    scenario: &'a Scenario,
    controls: &'a Controls,
    schedule: Schedule,
    tolerance: Tolerance,
    wake_early: bool,
}

/// The measurements of the threads of a run.
struct Parts {
    emulated: EmulatorRecord,
    received: Vec<Received>,
    telemetry: Coordinated,
    /// CPU time of the threads that have ended.
    cpu: Duration,
}

/// Runs a scenario once, and reports whether the run may be judged.
///
/// # Errors
/// The errors of [`crate::run`], except [`Error::Disturbed`].
pub fn measure(scenario: &Scenario, monitor: &mut dyn Monitor, options: &Options) -> Result<Outcome, Error> {
    observe(scenario, monitor, options, &mut NullObserver)
}

/// Runs a scenario as [`measure`] does, with an observer. `observer` gets the packets of the senders as they
/// leave their host, and the ACKs as they reach it ([`Observer::sent`], [`Observer::ack`]). An ACK has
/// neither window nor marks.
///
/// # Errors
/// The errors of [`measure`].
pub fn observe<O: Observer + Send>(
    scenario: &Scenario,
    monitor: &mut dyn Monitor,
    options: &Options,
    observer: &mut O,
) -> Result<Outcome, Error> {
    preflight::check(scenario, &options.tun)?;
    let (began, cpu_before) = (Instant::now(), cpu_of_thread());
    // Dropped last: the kernel keeps an algorithm while sockets use it.
    let controls = Controls::prepare(scenario)?;
    let endpoints = connect_endpoints(scenario, &controls)?;
    let rtts = scenario.flows.iter().flat_map(|f| f.rtt_at.iter().map(|(_, rtt)| *rtt).chain([f.rtt]));
    let mut tolerance = Tolerance::for_rtt(rtts.min().unwrap_or_default());
    if options.virtual_time {
        tolerance.buffer_limited = 1.0;
    }
    let plan = Plan {
        scenario,
        controls: &controls,
        schedule: build::schedule(scenario),
        tolerance,
        wake_early: options.wake_early,
    };
    let parts = perform(&plan, &endpoints, monitor, observer)?;
    let lost =
        |device: &Device| device.lost_before_read().map_err(Error::setup("read a device's statistics"));
    let lost = lost(&endpoints.sender)? + lost(&endpoints.receiver)?;
    let Coordinated { latest, buffer_limited, ref flows } = parts.telemetry;
    let largest_pkts: Vec<u32> = flows.iter().map(|flow| flow.largest_cwnd_pkts).collect();
    let flows = FlowLateness { command_max: Duration::from_nanos(latest), buffer_limited };
    let lateness = parts.emulated.recorder.summary(lost, flows);
    let cost = Cost {
        wall_s: began.elapsed().as_secs_f64(),
        cpu_s: (parts.cpu + cpu_of_thread() - cpu_before).as_secs_f64(),
        data_packets: parts.emulated.data_packets,
    };
    let mut run = record(&plan, options, parts, lateness, cost);
    for (index, flow) in run.summary.flows.iter_mut().enumerate() {
        flow.failed = u64::from(endpoints.senders.has_failed(index));
    }
    run.notes.extend(controls.notes());
    let skipped = cwnd::violation(scenario, &largest_pkts).filter(|_| Features::probe().skips_programs());
    let late = || tolerance.violation(&lateness).map(Disturbance::Late);
    Ok(Outcome { run, lateness, disturbed: skipped.map(Disturbance::Skipped).or_else(late) })
}

fn connect_endpoints(scenario: &Scenario, controls: &Controls) -> Result<Endpoints, Error> {
    let flows = scenario.flows.iter().enumerate();
    let controlled: Vec<_> = flows.map(|(i, flow)| (flow, controls.kernel_name(i))).collect();
    // the same for all: a scenario whose flows differ is refused
    let all = |setting: fn(&Sending) -> bool| scenario.flows.iter().all(|flow| setting(&flow.sending));
    let accurate = scenario.flows.iter().any(|flow| flow.sending.ecn.is_accurate());
    let host = Host {
        mtu_bytes: flows::largest_mtu(&scenario.flows),
        tso: all(|sending| sending.tso),
        sack: all(|sending| sending.sack),
        accurate_ecn: accurate.then(|| all(|sending| sending.accecn_option)),
    };
    let (sender, sockets) = namespace::create(Side::Sender, host, || flows::open_senders(&controlled))?;
    let listen = || flows::open_listeners(&scenario.flows);
    let (receiver, listeners) = namespace::create(Side::Receiver, host, listen)?;
    Ok(Endpoints { sender, senders: Senders::new(sockets, &scenario.flows)?, receiver, listeners })
}

/// A guard that sets `stop` when dropped, unless disarmed: when a thread fails or panics, the others end too.
struct StopOnFailure<'a>(&'a AtomicBool);

impl StopOnFailure<'_> {
    fn watch<T, E>(stop: &AtomicBool, work: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        let guard = StopOnFailure(stop);
        let result = work();
        if result.is_ok() {
            std::mem::forget(guard);
        }
        result
    }

    /// Runs `work` with such a guard on a thread of its own, whose CPU time is added. Other runs of this
    /// process do not count.
    fn watch_thread<T, E>(
        stop: &AtomicBool,
        cpu_ns: &AtomicU64,
        work: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, E> {
        let result = Self::watch(stop, work);
        cpu_ns.fetch_add(ns(cpu_of_thread()), Ordering::Relaxed);
        result
    }
}

impl Drop for StopOnFailure<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Starts the threads, coordinates the run, and collects their measurements.
fn perform<O: Observer + Send>(
    plan: &Plan<'_>,
    endpoints: &Endpoints,
    monitor: &mut dyn Monitor,
    observer: &mut O,
) -> Result<Parts, Error> {
    let &Plan { scenario, controls, schedule, tolerance, wake_early } = plan;
    let Endpoints { sender, senders, receiver, listeners } = endpoints;
    let clock = Clock::starting_in(LEAD_IN);
    let devices = Devices { sender, receiver };
    let emulator = Emulator::new(scenario, devices, clock, schedule, tolerance, wake_early, observer)?;
    let received = scenario
        .flows
        .iter()
        .map(|flow| {
            let meter = FlowMeter::new(schedule, scenario.flows.len());
            Received::new(meter, flow, controls.of_receiver(flow))
        })
        .collect();
    let requests = Requests::new(&scenario.flows);
    let (stop, cpu_ns) = (&AtomicBool::new(false), &AtomicU64::new(0));
    let flow_broke = |(flow, cause): (usize, std::io::Error)| Error::Flow {
        flow: scenario.flows[flow].name.clone(),
        cause,
    };
    std::thread::scope(|scope| {
        // Whatever happens below, the threads are stopped.
        let over = StopOnFailure(stop);
        let thread = |name: &str| std::thread::Builder::new().name(format!("fp-{name}"));
        let no_thread = |e| Error::setup("start a thread")(e);
        let path = thread("emulator")
            .spawn_scoped(scope, move || StopOnFailure::watch_thread(stop, cpu_ns, || emulator.run(stop)))
            .map_err(no_thread)?;
        let writer = thread("senders")
            .spawn_scoped(scope, move || {
                StopOnFailure::watch_thread(stop, cpu_ns, || senders.write(&scenario.flows, clock, stop))
            })
            .map_err(no_thread)?;
        let reader = thread("receivers")
            .spawn_scoped(scope, move || {
                StopOnFailure::watch_thread(stop, cpu_ns, || {
                    flows::receive(listeners, senders, received, requests, clock, stop)
                })
            })
            .map_err(no_thread)?;
        let coordinator = Coordinator::new(scenario, controls, senders, clock, schedule);
        let telemetry = StopOnFailure::watch(stop, || coordinator.run(monitor, stop));
        let emulated = join(path);
        drop(over);
        let (written, received) = (join(writer).map_err(flow_broke), join(reader));
        // The emulator's failure is the cause of others, and a flow's failure the cause of one in its
        // telemetry.
        let emulated = emulated?;
        written?;
        let cpu = Duration::from_nanos(cpu_ns.load(Ordering::Relaxed)); // all threads have been joined
        Ok(Parts { emulated, received: received?, telemetry: telemetry?, cpu })
    })
}

fn join<T>(thread: std::thread::ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

fn record(plan: &Plan<'_>, options: &Options, parts: Parts, lateness: Lateness, cost: Cost) -> Run {
    let &Plan { scenario, schedule, .. } = plan;
    let Parts { emulated, received, telemetry, .. } = parts;
    let mut notes = notes(&emulated, lateness);
    notes.extend(scenario.flows.iter().zip(&telemetry.flows).filter_map(marks_known));
    let ideals = emulated.network.paths.iter().map(|path| path.ideal);
    let measured = received.into_iter().zip(emulated.flows).zip(telemetry.flows).zip(ideals);
    let flows = scenario.flows.iter().zip(measured);
    let flows = flows.map(|(flow, (((mut received, mut path), telemetry), ideal))| {
        received.meter.finish(schedule.end);
        // lateness of the start is recorded as such, and no part of the flow's time
        let transfers = transfers(flow, &received.transfers, ideal, schedule);
        let has_transfers = flow.traffic.total_bytes().or(response_bytes(flow)).is_some();
        let only_ns = flow.traffic.total_bytes().and(transfers.first_ns());
        let cc = flow.cc.to_string();
        let of = |meter: &FlowMeter| meter.summary(&flow.name, &cc, ns(flow.rtt), ns(flow.start));
        let summary = FlowSummary {
            set: flow.cc.named_settings(),
            completion_s: only_ns.map(|ns| ns as f64 / SECOND as f64),
            completions: has_transfers.then(|| transfers.summary()),
            goodput_mbps: of(&received.meter).goodput_mbps,
            retransmits: telemetry.retransmits,
            ..of(&path)
        };
        let mut points = FlowSeries::default();
        path.fill(&mut points);
        let rtt_ms = std::mem::take(&mut points.rtt_ms);
        received.meter.fill(&mut points);
        let (goodput_mbps, completion_ms) = (points.goodput_mbps, transfers.percentiles_ms());
        (summary, FlowSeries { goodput_mbps, rtt_ms, completion_ms, ..telemetry.series })
    });
    let measured = Measured {
        on: "kernel",
        commit: options.commit.clone(),
        points: schedule.points().collect(),
        flows: flows.collect(),
        cost,
        notes,
    };
    fairpace_netem::record(scenario, &emulated.network, measured)
}

/// Returns the meter of a flow's transfers, of which the first begins with the handshake.
fn transfers(
    flow: &Flow,
    measured: &[(Nanos, Option<Nanos>)],
    ideal: Ideal,
    schedule: Schedule,
) -> Transfers {
    let bytes = response_bytes(flow).or(flow.traffic.total_bytes()).unwrap_or_default();
    let pkts = bytes.div_ceil(flow.sending.mss_bytes().into()).max(1);
    let pkt_bytes = flow.sending.mtu_bytes + ETHERNET_HEADER_BYTES;
    let mut transfers = Transfers::new(schedule.window);
    for (place, (began, done)) in measured.iter().enumerate() {
        transfers.begins(*began);
        if let Some(done) = done {
            let ideal_ns = ideal.ns(pkts.saturating_mul(pkt_bytes.into()), place == 0);
            transfers.completed(*began, *done, ideal_ns);
        }
    }
    transfers
}

/// Returns what the sender of a flow with ECN knows of marks, which is what its algorithm sees.
fn marks_known((flow, telemetry): (&Flow, &FlowTelemetry)) -> Option<String> {
    let Delivered { pkts, marked_pkts } = telemetry.delivered;
    (flow.sending.ecn != Ecn::Off).then(|| {
        format!("flow `{}`: its sender knows of {marked_pkts} marks on {pkts} packets delivered", flow.name)
    })
}

fn notes(emulated: &EmulatorRecord, lateness: Lateness) -> Vec<String> {
    let mut notes = vec![lateness.to_string()];
    if !emulated.real_time {
        notes.push("the emulator ran without real-time priority: expect more lateness".to_owned());
    }
    if emulated.foreign_packets > 0 {
        notes.push(format!("{} packets belonged to no flow and were discarded", emulated.foreign_packets));
    }
    notes
}
