//! Invented records that look like measured ones.

use fairpace_papers::figure::{
    Figure, Hosts, Is, Kernel, Kind, Line, Measure, Paper, Plot, Shape, Stack, Value,
};
use fairpace_papers::record::{
    Compared, Cost, Drawn, Finding, Mean, Measured, Numbers, PaperRecords, Picture, Record, Verdict,
};
use fairpace_scenario::Target;

/// Reproducible noise between -1 and 1.
fn noise(i: usize) -> f64 {
    let hash = (i as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let hash = (hash ^ (hash >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    ((hash >> 40) as f64 / (1u64 << 23) as f64) - 1.0
}

pub(crate) fn measure() -> Measure {
    toml::from_str("run = 'bbr'\nof = 'flow.short.goodput_mbps'").unwrap()
}

pub(crate) fn line(label: &str) -> Line {
    Line {
        label: label.into(),
        measure: measure(),
        against: String::new(),
        published: vec![],
        reference: false,
    }
}

pub(crate) fn plot(kind: Kind, x: &str, y: &str, lines: Vec<Line>) -> Plot {
    let defaults: Plot = toml::from_str("kind = 'time'\nx = ''\ny = ''\nline = []").unwrap();
    Plot { kind, x: x.into(), y: y.into(), lines, ..defaults }
}

fn value(what: &str, unit: &str, published: f64, tolerance_ratio: f64, is: Is) -> Value {
    Value {
        what: what.into(),
        unit: unit.into(),
        measure: measure(),
        published,
        is,
        tolerance: 0.0,
        tolerance_ratio,
        tolerance_why: "A made-up reason.".into(),
        in_words: false,
        causes: vec![],
        by_construction: String::new(),
        quote: format!("A made-up sentence that reports {published} {unit} for the {what}."),
    }
}

pub(crate) fn shape(what: &str, along: Option<fairpace_papers::figure::Along>) -> Shape {
    Shape {
        what: what.into(),
        quote: "A made-up sentence.".into(),
        ours: false,
        by_construction: String::new(),
        measure: measure(),
        is: Is::Above,
        than: along.is_none().then(measure),
        factor: 3.0,
        tolerance_ratio: 0.1,
        tolerance_why: "The made-up picture has a grid of 10 %.".into(),
        along,
    }
}

pub(crate) fn figure(title: &str, plots: Vec<Plot>, values: Vec<Value>, shapes: Vec<Shape>) -> Figure {
    let defaults: Figure =
        toml::from_str("title = ''\nsource = ''\nsetup = ''\nexpect = ''\nrun = []").unwrap();
    Figure {
        title: title.into(),
        source: "figure 5, section 3.2".into(),
        setup: "Made up. 100 Mbit/s, 2 MB FIFO, two flows of 10 and 50 ms; 120 s, means from 30 s on.".into(),
        expect:
            "Equal RTTs share equally. The longer the other flow's RTT, the less the short flow has: what a \
                 flow adds to the queue while it probes is in proportion to its RTT."
                .into(),
        kernel: Some(Kernel::default()),
        values,
        shapes,
        plots,
        ..defaults
    }
}

fn mean(mean: f64, half: f64) -> Mean {
    Mean { n: 5, mean, half: Some(half) }
}

pub(crate) fn measured(
    on: Target,
    verdict: Verdict,
    values: Vec<Compared>,
    shapes: Vec<Compared>,
    lines: Vec<Vec<Drawn>>,
    kinds: &[Kind],
) -> Measured {
    let pictures = lines.into_iter().zip(kinds).enumerate();
    Measured {
        on,
        stack: String::new(),
        cost: Cost {
            commit: "0123456789ab".into(),
            kernel: String::new(),
            scenarios_hash: "89abcdef".into(),
            runs: 40,
            wall_s: 61.0,
            cpu_s: 118.0,
            packets: 12_400_000,
        },
        verdict,
        values,
        shapes,
        pictures: pictures.map(|(plot, (lines, kind))| Picture { plot, kind: *kind, lines }).collect(),
    }
}

/// A line through a function.
pub(crate) fn drawn(x: &[f64], y: impl Fn(f64) -> Option<f64>, half: impl Fn(f64) -> Option<f64>) -> Drawn {
    Drawn { x: x.to_vec(), y: x.iter().map(|x| y(*x)).collect(), half: x.iter().map(|x| half(*x)).collect() }
}

fn seconds(to: f64, step: f64) -> Vec<f64> {
    (0..(to / step) as usize).map(|i| i as f64 * step).collect()
}

fn record(id: &str, figure: Figure, measured: Vec<Measured>) -> Record {
    Record { paper: "made-up".into(), id: id.into(), figure, stacks: vec![Stack::default()], measured }
}

fn finding(holds: bool) -> Finding {
    if holds { Finding::Holds } else { Finding::Contradicted }
}

fn held(ours: Vec<Mean>, holds: bool) -> Compared {
    Compared { numbers: Numbers { ours, complete: true }, finding: finding(holds), tried: Vec::new() }
}

fn compared(ours: Mean, holds: bool) -> Compared {
    let numbers = Numbers { ours: vec![ours], complete: true };
    Compared { numbers, finding: finding(holds), tried: Vec::new() }
}

/// A sweep with intervals, published points and a kernel that measured some of it.
fn sweep() -> Record {
    let x = [10.0, 15.0, 20.0, 30.0, 50.0, 100.0, 150.0, 200.0];
    let share = |x: f64| Some(100.0 * (10.0 / x).powf(1.4) / 2.0);
    let mut lines = vec![line("BBQ"), line("BBR")];
    lines[0].published = vec![[100.0, 37.1]];
    let mut figure = figure(
        "Share of a 10 ms flow by the other's RTT: BBQ and BBR",
        vec![plot(Kind::Sweep, "RTT of the other flow, ms", "share of the 10 ms flow, %", lines)],
        vec![
            value("share of the 10 ms flow against 100 ms under BBQ", "%", 37.1, 0.15, Is::About),
            value("that share over BBR's", "", 4.62, 0.15, Is::About),
            value("share of A against 15 ms", "%", 25.0, 0.04, Is::Below),
        ],
        vec![
            shape("under BBR the share falls as the RTTs part", Some(fairpace_papers::figure::Along::Falls)),
            shape("against 50 ms BBQ is fairer, several times", None),
        ],
    );
    figure.differs =
        "The ratio at 100 ms is larger than the paper's because our BBR leaves less to the short flow."
            .into();
    let bbq = |x: f64| Some(50.0 - 9.0 * (x / 10.0).ln().sqrt() + 3.0 * noise(x as usize));
    let lines = vec![drawn(&x, bbq, |x| Some(1.0 + x / 60.0)), drawn(&x, share, |_| Some(0.8))];
    let real = [10.0, 15.0, 50.0, 100.0];
    let kernel = vec![
        drawn(&real, |x| bbq(x).map(|y| y - 2.0), |_| Some(3.0)),
        drawn(&real, |x| share(x).map(|y| y + 2.0), |_| Some(2.0)),
    ];
    let held = vec![
        held(x.iter().map(|x| mean(share(*x).unwrap(), 0.8)).collect(), true),
        held(vec![mean(38.2, 1.0), mean(15.6, 0.9)], true),
    ];
    let sim = vec![
        compared(mean(36.4, 2.1), true),
        compared(mean(9.4, 0.52), false),
        compared(mean(22.1, 1.1), true),
    ];
    let real = vec![compared(mean(34.4, 3.9), true), compared(mean(4.9, 0.52), true), Compared::default()];
    record(
        "fig15",
        figure,
        vec![
            measured(Target::Simulator, Verdict::Partly, sim, held.clone(), vec![lines], &[Kind::Sweep]),
            measured(Target::Testbed, Verdict::Partly, real, held, vec![kernel], &[Kind::Sweep]),
        ],
    )
}

/// Goodput over two minutes, in both places.
fn over_time() -> Record {
    let t = seconds(120.0, 0.1);
    let plots =
        vec![plot(Kind::Time, "time, s", "goodput, Mbit/s", vec![line("10 ms flow"), line("50 ms flow")])];
    let values = vec![
        value("goodput of the 10 ms flow", "Mbit/s", 6.3, 0.25, Is::About),
        value("goodput of the 50 ms flow", "Mbit/s", 87.3, 0.05, Is::About),
    ];
    let flow = |offset: f64, wave: f64| {
        drawn(
            &t,
            move |t| {
                let settled = if offset > 50.0 {
                    90.0 * (1.0 - (-t / 3.0).exp())
                } else {
                    95.0 * (-t / 4.0).exp() + 6.0
                };
                Some((settled + wave * noise((t * 10.0) as usize + offset as usize)).max(0.0))
                    .filter(|_| !(60.0..64.0).contains(&t))
            },
            |_| None,
        )
    };
    let sim = vec![compared(mean(6.1, 0.4), true), compared(mean(88.1, 0.4), true)];
    let lines = || vec![vec![flow(0.0, 2.0), flow(60.0, 6.0)]];
    record(
        "fig01",
        figure("Goodput of two BBR flows over time", plots, values, vec![]),
        vec![
            measured(Target::Simulator, Verdict::Replicated, sim.clone(), vec![], lines(), &[Kind::Time]),
            measured(Target::Testbed, Verdict::Replicated, sim, vec![], lines(), &[Kind::Time]),
        ],
    )
}

/// Logarithmic axes over five decades, with an ideal curve and a zero.
fn logarithmic() -> Record {
    let x = [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 50.0];
    let mut lines = vec![line("BBR"), line("CUBIC"), line("ideal")];
    lines[2].reference = true;
    lines[1].published = vec![[0.1, 10.0]];
    let mut plot = plot(Kind::Sweep, "random loss, %", "goodput, Mbit/s", lines);
    (plot.log_x, plot.log_y) = (true, true);
    let bbr = drawn(&x, |x| Some(if x > 20.0 { 0.0 } else { 96.0 * (1.0 - x / 100.0) }), |_| Some(2.0));
    let cubic = drawn(&x, |x| Some(90.0 / (1.0 + 80.0 * x)), |x| Some(9.0 / (1.0 + 80.0 * x)));
    let ideal = drawn(&x, |x| Some(100.0 - x), |_| None);
    let mut figure = figure(
        "Goodput under random loss, 0.001 % to 50 %",
        vec![plot],
        vec![value("goodput of BBR at 5 %", "Mbit/s", 95.0, 0.05, Is::Above)],
        vec![shape("BBR keeps the link to 5 % of loss", None)],
    );
    figure.differs = "CUBIC is less slow than in the paper: its timeouts are shorter here.\n\n\
                      A second paragraph says what shows it."
        .into();
    let held = vec![held(vec![mean(91.0, 2.0), mean(42.0, 1.0)], false)];
    let sim = vec![compared(mean(91.2, 2.0), true)];
    record(
        "fig08",
        figure,
        vec![measured(
            Target::Simulator,
            Verdict::Not,
            sim,
            held,
            vec![vec![bbr, cubic, ideal]],
            &[Kind::Sweep],
        )],
    )
}

fn bars() -> Record {
    let published = [1.08, 1.09, 0.56, 0.99];
    let names = [
        "original, 2 flows",
        "improved, 2 flows",
        "original, 3 flows of 20, 40 and 80 ms",
        "improved, 3 flows",
    ];
    let lines = names
        .iter()
        .zip(published)
        .map(|(name, y)| Line { published: vec![[0.0, y]], ..line(name) })
        .collect();
    let one = |y: f64, half: f64| Drawn { x: vec![], y: vec![Some(y)], half: vec![Some(half)] };
    let sim: Vec<Drawn> = published.iter().map(|y| one(y * 0.93, 0.04)).collect();
    let kernel = published.iter().map(|y| one(y * 1.03, 0.08)).collect();
    let values = names.iter().zip(published).map(|(name, y)| value(name, "", y, 0.1, Is::About)).collect();
    let held = |f: f64| published.iter().map(|y| compared(mean(y * f, 0.04), true)).collect::<Vec<_>>();
    record(
        "table1",
        figure(
            "Rate, fairness and queue of the original and the improved BBR",
            vec![plot(Kind::Bars, "", "Jain's index", lines)],
            values,
            vec![],
        ),
        vec![
            measured(Target::Simulator, Verdict::Replicated, held(0.93), vec![], vec![sim], &[Kind::Bars]),
            measured(Target::Testbed, Verdict::Replicated, held(1.03), vec![], vec![kernel], &[Kind::Bars]),
        ],
    )
}

fn phase_and_cdf() -> Record {
    let t = seconds(60.0, 0.05);
    let spiral = |turn: f64| Drawn {
        x: t.iter().map(|t| 550.0 + 400.0 * (-t / 20.0).exp() * (t / 2.0 + turn).cos()).collect(),
        y: t.iter().map(|t| Some(550.0 + 400.0 * (-t / 20.0).exp() * (t / 2.0 + turn).sin())).collect(),
        half: vec![],
    };
    let sorted: Vec<f64> = (1..=40).map(|i| f64::from(i * i) / 4.0 + 3.0).collect();
    let cdf = |factor: f64| Drawn {
        x: sorted.iter().map(|x| x * factor).collect(),
        y: (1..=40).map(|i| Some(f64::from(i) / 40.0)).collect(),
        half: vec![],
    };
    let mut distribution = plot(
        Kind::Cdf,
        "median RTT, ms",
        "part of the connections",
        vec![line("control A"), line("control B"), line("BBR")],
    );
    distribution.log_x = true;
    let plots = vec![
        plot(
            Kind::Phase,
            "rate of flow 1, Mbit/s",
            "rate of flow 2, Mbit/s",
            vec![line("Reno"), line("BBR")],
        ),
        distribution,
    ];
    let mut figure = figure(
        "Where two flows go from any start",
        plots,
        vec![],
        vec![shape("Reno ends at the fair point", None)],
    );
    (figure.kernel, figure.no_kernel) =
        (None, "One machine cannot have links of 1.1 Gbit/s and the delays of the paper at once.".into());
    let held = vec![held(vec![mean(1.0, 0.1), mean(0.9, 0.1)], true)];
    let lines = vec![vec![spiral(0.0), spiral(2.0)], vec![cdf(1.0), cdf(1.05), cdf(0.5)]];
    record(
        "fig02",
        figure,
        vec![measured(
            Target::Simulator,
            Verdict::Replicated,
            vec![],
            held,
            lines,
            &[Kind::Phase, Kind::Cdf],
        )],
    )
}

/// Twenty lines with long names.
fn many() -> Record {
    let x = [1.0, 2.0, 4.0];
    let names: Vec<String> =
        (0..20).map(|i| format!("BBRv{} against CUBIC, {} ms", i % 3 + 1, 10 * i)).collect();
    let lines = names.iter().map(|name| line(name)).collect();
    let drawn = (0..20)
        .map(|i| {
            drawn(&x, |x| Some(1.0 - 0.03 * f64::from(i) / x + 0.01 * noise(i as usize)), |_| Some(0.01))
        })
        .collect();
    let plot = plot(Kind::Sweep, "buffer, BDP", "Jain's index", lines);
    record(
        "fig03",
        figure("Fairness over the grid, each pair", vec![plot], vec![], vec![]),
        vec![measured(Target::Simulator, Verdict::Not, vec![], vec![], vec![drawn], &[Kind::Sweep])],
    )
}

/// One of every kind of picture, verdict and difficulty.
pub(crate) fn papers() -> Vec<PaperRecords> {
    let lines = vec![Line { published: vec![[0.4, 133.0], [2.0, 2.0]], ..line("BBR over CUBIC") }];
    let not_run = record(
        "fig07",
        figure(
            "An 8 MB receive buffer on a path of 200 ms",
            vec![plot(Kind::Sweep, "loss, %", "ratio", lines)],
            vec![value("ratio", "times", 133.0, 0.5, Is::About)],
            vec![shape("the buffer is the bound", None)],
        ),
        vec![],
    );
    let bare = record("fig09", figure("Nothing but words", vec![], vec![], vec![]), vec![]);
    let paper = |title: &str, records: &[Record]| Paper {
        title: title.into(),
        authors: "A. Author et al., 2017".into(),
        published: "nowhere".into(),
        about:
            "These records are invented for a look at the gallery: they are no measurements, and no paper \
                published them."
                .into(),
        figures: records.iter().map(|r| r.id.clone()).collect(),
        hosts: Hosts::default(),
        stacks: vec![],
    };
    let first = vec![over_time(), sweep(), logarithmic(), not_run];
    let second = vec![bars(), phase_and_cdf(), many(), bare];
    [
        ("made-up", "Made up: a paper with curves", first),
        ("made-up-2", "Made up: a paper with other pictures", second),
    ]
    .into_iter()
    .map(|(id, title, mut records)| {
        records.iter_mut().for_each(|record| record.paper = id.into());
        PaperRecords { id: id.into(), paper: paper(title, &records), records }
    })
    .collect()
}
