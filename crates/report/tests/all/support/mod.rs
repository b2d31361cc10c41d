//! Invented runs that look like real ones, for the tests and for a look at the page without a simulator. The
//! shapes follow BBR (10 s cycle of ProbeRTT, gain cycling, overfull queue). No number is a result.

use fairpace_report::{Context, Published, RunContext};
use fairpace_results::{
    Cost, FlowSeries, FlowSummary, LinkSeries, LinkSummary, Run, SCHEMA, ScenarioId, Series, Summary,
};

pub(crate) const PHASES: [&str; 12] = [
    "STARTUP",
    "DRAIN",
    "PROBE_BW_UP",
    "PROBE_BW_DOWN",
    "PROBE_BW_CRUISE",
    "PROBE_BW_REFILL",
    "PROBE_RTT",
    "SLOW_START",
    "AVOIDANCE",
    "FIXED",
    "CONSERVATIVE_SLOW_START",
    "COMPETITIVE",
];

/// A small deterministic generator of noise in -1..1 (an LCG with Knuth's constants).
pub(crate) struct Noise(pub(crate) u64);

impl Noise {
    pub(crate) fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as f64 / f64::from(1u32 << 30) - 1.0
    }
}

/// The properties of an invented run.
pub(crate) struct Shape<'a> {
    pub(crate) on: &'a str,
    pub(crate) cc: &'a str,
    pub(crate) rtts_ms: &'a [f64],
    /// Settled goodput per flow.
    pub(crate) goodputs_mbps: &'a [f64],
    pub(crate) queue_ms: f64,
    pub(crate) duration_s: f64,
    pub(crate) interval_s: f64,
    pub(crate) noise: f64,
}

/// Rate of the invented link in Mbit/s, as in the BBQ paper.
const RATE_MBPS: f64 = 100.0;

pub(crate) fn run(shape: &Shape) -> Run {
    let flows = shape.rtts_ms.len();
    let mut noise = Noise(7 + shape.cc.len() as u64 + shape.on.len() as u64);
    let mut series = Series {
        t_s: vec![],
        flows: vec![FlowSeries::default(); flows],
        links: vec![LinkSeries { backlog_kb: vec![vec![]; flows], ..LinkSeries::default() }],
    };
    let points = (shape.duration_s / shape.interval_s).round() as usize;
    for point in 1..=points {
        let t = point as f64 * shape.interval_s;
        series.t_s.push(t);
        let goodputs: Vec<f64> = (0..flows).map(|i| goodput(shape, i, t, &mut noise)).collect();
        let total: f64 = goodputs.iter().sum::<f64>().max(1e-9);
        let probe_rtt = (t % 10.0) > 9.8 && t > 8.0;
        let fill = if t < 0.4 || (t > 5.1 && t < 5.6) { 2.2 } else { 1.0 };
        let settle = if t < 5.0 { 0.15 } else { 1.0 };
        let queue = shape.queue_ms * fill * settle * if probe_rtt { 0.3 } else { 1.0 + 0.12 * noise.next() };
        let link = &mut series.links[0];
        link.queue_delay_ms.push(queue as f32);
        link.drops.push(0);
        for (i, goodput) in goodputs.iter().enumerate() {
            let running = t > start_s(i);
            let backlog = queue * RATE_MBPS / 8.0 * goodput / total;
            link.backlog_kb[i].push(backlog.max(0.0) as f32);
            point_of_flow(
                shape,
                i,
                t,
                if running { *goodput } else { f64::NAN },
                queue,
                &mut series.flows[i],
                &mut noise,
            );
        }
    }
    let mut summary = summary(shape, &series);
    summary.derive_fairness();
    Run { summary, series, notes: vec![] }
}

fn start_s(flow: usize) -> f64 {
    5.0 * flow as f64
}

fn goodput(shape: &Shape, flow: usize, t: f64, noise: &mut Noise) -> f64 {
    if t <= start_s(flow) {
        return 0.0;
    }
    let running = (0..shape.rtts_ms.len()).filter(|i| t > start_s(*i)).count();
    let alone = RATE_MBPS * 0.955 / running as f64;
    // The share moves from equal to settled within a few seconds of the last start.
    let since = t - start_s(shape.rtts_ms.len() - 1);
    let part = (1.0 - (-since / 3.0).exp()).clamp(0.0, 1.0);
    let target = if since > 0.0 { alone + (shape.goodputs_mbps[flow] - alone) * part } else { alone };
    // After the long flow's ProbeRTT the short one takes more for a while.
    let cycle = (t % 10.0) / 10.0;
    let wave =
        (-cycle * 6.0).exp() * if flow == 0 { 9.0 } else { -9.0 / (shape.rtts_ms.len() - 1).max(1) as f64 };
    let wave = if since > 5.0 && shape.rtts_ms.len() > 1 { wave } else { 0.0 };
    let slow = if t - start_s(flow) < 0.3 { 0.4 } else { 1.0 };
    (slow * (target + wave) + shape.noise * noise.next()).clamp(0.2, RATE_MBPS)
}

fn point_of_flow(
    shape: &Shape,
    i: usize,
    t: f64,
    goodput: f64,
    queue: f64,
    flow: &mut FlowSeries,
    noise: &mut Noise,
) {
    let since = t - start_s(i);
    let (phase, gain) = match (since, (t % 10.0) > 9.8, (since * 8.0) as u64 % 8) {
        (s, ..) if s <= 0.0 => (-1, f64::NAN),
        (s, ..) if s < 0.5 => (0, 2.885),
        (s, ..) if s < 0.7 => (1, 0.347),
        (_, true, _) => (6, 1.0),
        (_, _, 0) => (2, 1.25),
        (_, _, 1) => (3, 0.75),
        _ => (4, 1.0),
    };
    let rtt = shape.rtts_ms[i] + queue;
    let inflight = if phase == 6 { 4.0 } else { goodput * rtt / 12.0 };
    let bw = goodput * (1.08 + 0.04 * noise.next());
    let missing = if since <= 0.0 { f64::NAN } else { 0.0 };
    flow.goodput_mbps.push((if goodput.is_nan() { 0.0 } else { goodput }) as f32);
    flow.rtt_ms.push((rtt + missing + noise.next()) as f32);
    flow.inflight_pkts.push((inflight + missing) as f32);
    flow.cwnd_pkts.push((if phase == 6 { 4.0 } else { inflight * 1.35 } + missing) as f32);
    flow.bw_mbps.push(bw as f32);
    flow.pacing_mbps.push((bw * gain * 0.99) as f32);
    flow.min_rtt_ms.push((shape.rtts_ms[i] + 0.3 * queue + missing) as f32);
    flow.pacing_gain.push(gain as f32);
    flow.phase.push(phase);
}

fn mean(t_s: &[f64], values: &[f32], from: f64) -> f64 {
    let inside: Vec<f64> = t_s
        .iter()
        .zip(values)
        .filter(|(t, x)| **t > from && x.is_finite())
        .map(|(_, x)| f64::from(*x))
        .collect();
    inside.iter().sum::<f64>() / inside.len().max(1) as f64
}

fn summary(shape: &Shape, series: &Series) -> Summary {
    let from = shape.duration_s / 3.0;
    let of = |values: &[f32]| mean(&series.t_s, values, from);
    let flows = shape.rtts_ms.iter().zip(&series.flows).enumerate().map(|(i, (rtt_ms, flow))| FlowSummary {
        name: if shape.rtts_ms.len() == 2 { format!("{rtt_ms} ms") } else { format!("flow-{i:02}") },
        cc: shape.cc.into(),
        rtt_ms: *rtt_ms,
        start_s: start_s(i),
        goodput_mbps: of(&flow.goodput_mbps),
        rtt_mean_ms: Some(of(&flow.rtt_ms)),
        rtt_p50_ms: Some(of(&flow.rtt_ms) - 0.7),
        rtt_p99_ms: Some(of(&flow.rtt_ms) * 1.3),
        ..FlowSummary::default()
    });
    let link = &series.links[0];
    let total: f64 = link.backlog_kb.iter().map(|x| of(x)).sum();
    let link = LinkSummary {
        name: "bottleneck".into(),
        rate_mbps: RATE_MBPS,
        utilization: 0.9997,
        queue_delay_mean_ms: Some(of(&link.queue_delay_ms)),
        queue: "fifo".into(),
        queue_delay_p50_ms: Some(of(&link.queue_delay_ms) * 0.9),
        queue_delay_p95_ms: Some(of(&link.queue_delay_ms) * 1.2),
        queue_delay_p99_ms: Some(of(&link.queue_delay_ms) * 1.4),
        queue_delay_max_ms: Some(of(&link.queue_delay_ms) * 1.6),
        loss_rate: Some(0.0),
        backlog_share: link.backlog_kb.iter().map(|x| of(x) / total).collect(),
        ..LinkSummary::default()
    };
    Summary {
        schema: SCHEMA.into(),
        on: shape.on.into(),
        commit: "37021c4f".into(),
        seed: 1,
        scenario: ScenarioId {
            title: "10 ms against 50 ms".into(),
            hash: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08".into(),
        },
        window_s: [from, shape.duration_s],
        flows: flows.collect(),
        links: vec![link],
        jain: None,
        convergence_s: None,
        max_min_distance: None,
        cost: Cost { wall_s: 1.0, cpu_s: 1.0, data_packets: 480_000 },
    }
}

/// Five invented runs of the demonstration.
pub(crate) fn demonstration() -> (Vec<Run>, Context) {
    let shape = |on, cc, short, long, queue_ms, noise| Shape {
        on,
        cc,
        rtts_ms: &[10.0, 50.0],
        goodputs_mbps: if short > 20.0 { &[50.0, 45.0] } else { &[6.3, 88.7] },
        queue_ms: queue_ms + (short - long) * 0.0,
        duration_s: 60.0,
        interval_s: 0.1,
        noise,
    };
    let mut runs = vec![
        run(&shape("sim", "bbr1", 6.3, 88.0, 37.0, 1.0)),
        run(&shape("sim", "bbq", 50.0, 45.0, 9.0, 1.5)),
        run(&shape("kernel", "kernel:bbr", 6.3, 88.0, 38.0, 3.0)),
        run(&shape("kernel", "bbr1", 6.3, 88.0, 37.0, 3.0)),
        run(&shape("kernel", "bbq", 50.0, 45.0, 10.0, 4.0)),
    ];
    runs[3].notes.push("Emulator lateness: p50 0.0 us, p99 3.1 us, max 0.41 ms (limit 1.0 ms).".into());
    let source = "Ma et al., \"BBQ\", arXiv:1706.09115, section 5.2: 100 Mbit/s, 10 ms and 50 ms, Linux 4.9.";
    let published = |short, long, delay| {
        Some(Published {
            label: "paper".into(),
            goodput_mbps: vec![Some(short), Some(long)],
            queue_delay_mean_ms: Some(delay),
            source: source.into(),
        })
    };
    let labels =
        ["bbr1, simulated", "bbq, simulated", "kernel's own bbr", "fp_bbr1, kernel", "fp_bbq, kernel"];
    let contexts = labels.iter().enumerate().map(|(i, label)| RunContext {
        label: (*label).into(),
        commands: vec![
            "git checkout 37021c4f".into(),
            "fairpace sim scenarios/two-rtts.toml --seed 1".into(),
        ],
        scenario_toml: "title = \"10 ms against 50 ms\"\nduration = \"60s\"\n\n\
            [[link]]\nrate = \"100mbit\"\nbuffer = \"2MB\"\n"
            .into(),
        published: if [1, 4].contains(&i) { published(51.4, 42.5, 8.3) } else { published(6.3, 87.3, 23.4) },
    });
    let context = Context {
        repeat: None,
        beside: Vec::new(),
        why: "BBR gives the flow with the longer round-trip time most of the link. \
            BBQ bounds how long a flow probes, and both get a fair share."
            .into(),
        runs: contexts.collect(),
        phases: PHASES.map(String::from).to_vec(),
    };
    (runs, context)
}
