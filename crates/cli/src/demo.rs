//! `fairpace demo`: the first experiment of the BBQ paper, simulated and on the running kernel, and the same
//! experiment with LEVEL, an algorithm of this project. The `headline.svg` of a full run is
//! `docs/img/demo.svg`.

use std::time::Duration;

use fairpace_cli_core::args::PathArgs;
use fairpace_cli_core::comparison::Comparison;
use fairpace_cli_core::failure::{Exit, Failure};
use fairpace_cli_core::host;
use fairpace_cli_core::kernel_host::KernelHost;
use fairpace_cli_core::place::Place;
use fairpace_cli_core::result_dir::ResultDir;
use fairpace_cli_core::signals::Signals;
use fairpace_cli_core::table::{self, number, short, table};
use fairpace_kernel::Features;
use fairpace_report::Published;
use fairpace_results::{Run, Summary};
use fairpace_scenario::Scenario;
use fairpace_scenario::quantity::show_time;
use fairpace_testbed::{Options, check_machine};
use serde::Serialize;

use crate::args::DemoArgs;
use crate::call::Call;
use crate::store::{self, Case};

/// Length of a run in virtual time, which takes three times as long on a core.
const IN_VIRTUAL_TIME: Duration = Duration::from_secs(20);
/// Time from the start of the first flow to the start of the second one, as in the paper.
const STAGGER: Duration = Duration::from_secs(5);
const TITLE: &str = "Flows with RTTs of 10 and 50 ms share a link";
const WHY: &str = "\
    Two flows of the same algorithm share 100 Mbit/s and a 2 MB FIFO. \
    One has an RTT of 10 ms, the other of 50 ms, and starts 5 s later. \
    With BBR the flow with the long RTT takes most of the link; BBQ was made to share it. \
    LEVEL, an experiment of this project, makes rates equal with a short queue. \
    It is not ready to be used: beside CUBIC or BBR it often gets less than its share.";
/// The algorithms that run in the simulator, and in the kernel as eBPF. The kernel's own `bbr` follows in a
/// last column.
const ALGORITHMS: [&str; 3] = ["bbr1", "bbq", "level"];
const KERNEL_BBR: &str = "kernel:bbr";
/// The source of the published values.
const SOURCE: &str = "\
    Ma, Jiang, Wang, Li: Towards RTT Fairness of Congestion-Based Congestion Control, arXiv:1706.09115, 2017";

/// The paper's goodputs in Mbit/s of the flows with 10 and 50 ms, and its mean queueing delay in ms.
fn published(cc: &str) -> Option<Published> {
    let (goodput, delay) = match cc {
        "bbr1" | KERNEL_BBR => ([6.3, 87.3], 23.4),
        "bbq" => ([51.4, 42.5], 8.3),
        _ => return None,
    };
    Some(Published {
        label: "paper".into(),
        goodput_mbps: goodput.map(Some).to_vec(),
        queue_delay_mean_ms: Some(delay),
        source: SOURCE.into(),
    })
}

/// A run that was planned.
#[derive(Clone, Copy)]
struct Planned {
    cc: &'static str,
    place: Place,
    duration: Duration,
}

/// A run that was performed.
type Done = (Planned, Scenario);

/// A run that was skipped, and the reason.
#[derive(Debug, Serialize)]
struct Skipped {
    what: String,
    why: String,
}

#[derive(Serialize)]
struct DemoRecord<'a> {
    runs: Vec<&'a Summary>,
    skipped: &'a [Skipped],
    report: String,
}

pub(crate) fn run(args: &DemoArgs, Call { global, signals, out }: Call<'_>) -> Result<(), Failure> {
    if args.duration <= STAGGER {
        let stagger = show_time(STAGGER);
        let message = format!("--duration must be longer than {stagger}, when the second flow starts");
        let help = "write --duration 60s, as the paper has it, or 10s at least";
        return Err(Failure::new(Exit::Usage, message, help));
    }
    let (planned, mut skipped) = plan(args);
    let dir = ResultDir::prepare(&args.out)?;
    let mut done: Vec<Done> = Vec::new();
    let mut runs: Vec<Run> = Vec::new();
    let (mut disturbed, mut replaced) = (None, Vec::new());
    for item in planned {
        let scenario = scenario(&item)?;
        let label = item.label();
        match host::run(&scenario, item.place.target(), &label, &signals, global.quiet) {
            Ok(run) => {
                runs.push(run);
                done.push((item, scenario));
            }
            Err(failure) if lacks_algorithm(&item, &failure) => {
                skipped.push(Skipped { what: label, why: failure.to_string() });
            }
            // a disturbed run has no result; the others have
            Err(failure) if failure.is_disturbance() => {
                skipped.push(Skipped { what: label, why: failure.to_string() });
                replaced.push(item.in_virtual_time());
                disturbed = Some(failure);
            }
            Err(failure) => return Err(failure),
        }
    }
    if !replaced.is_empty() {
        match in_virtual_time(&replaced, &signals, global.quiet) {
            Ok((items, more)) => {
                disturbed = None;
                done.extend(items);
                runs.extend(more);
            }
            Err(failure) if failure.is_interruption() => return Err(failure),
            // the other runs have results
            Err(failure) => {
                let why = format!("{failure}; {}", failure.help().unwrap_or_default());
                skipped.push(Skipped { what: "the same in virtual time".into(), why });
            }
        }
    }
    let cases = done.iter().map(|(item, scenario)| case(item, scenario)).collect();
    dir.write(store::several(TITLE, cases, &runs, WHY, &[])?)?;
    let report = args.out.join("report.html").display().to_string();
    if global.json {
        let runs = runs.iter().map(|run| &run.summary).collect();
        out.json(&DemoRecord { runs, skipped: &skipped, report })?;
    } else {
        out.text(&page(&done, &runs, &skipped, &report))?;
    }
    disturbed.map_or(Ok(()), Err)
}

impl Planned {
    fn label(&self) -> String {
        format!("{}, {}", self.cc, self.place.description())
    }

    /// The run that is shown if the machine disturbs this one.
    fn in_virtual_time(&self) -> Self {
        Self { place: Place::Virtual(None), duration: self.duration.min(IN_VIRTUAL_TIME), ..*self }
    }
}

/// Performs runs on a kernel in virtual time, where no load disturbs them.
fn in_virtual_time(
    planned: &[Planned],
    signals: &Signals,
    quiet: bool,
) -> Result<(Vec<Done>, Vec<Run>), Failure> {
    let scenarios = planned.iter().map(scenario).collect::<Result<Vec<_>, _>>()?;
    let kernel = KernelHost::open(Place::Virtual(None), None, &scenarios, signals, quiet)?;
    let run = |(item, scenario): (&Planned, &Scenario)| {
        host::perform(&item.label(), signals, quiet, |progress| kernel.run(scenario, progress, true))
    };
    let runs = planned.iter().zip(&scenarios).map(run).collect::<Result<_, _>>()?;
    Ok((planned.iter().copied().zip(scenarios).collect(), runs))
}

fn case<'a>(item: &Planned, scenario: &'a Scenario) -> Case<'a> {
    Case { published: published(item.cc), ..Case::new(item.label(), scenario, item.place) }
}

/// The runs that this machine can perform, and the runs that it cannot.
fn plan(args: &DemoArgs) -> (Vec<Planned>, Vec<Skipped>) {
    let on = |place| move |cc| Planned { cc, place, duration: args.duration };
    let mut planned: Vec<_> = ALGORITHMS.map(on(Place::Simulator)).into();
    let skip = |what: &str, why: String| Skipped { what: what.to_owned(), why };
    if args.sim_only {
        return (planned, vec![skip("all runs on the running kernel", "--sim-only asks for that".into())]);
    }
    if let Err(error) = check_machine(&Options::default()) {
        return (planned, vec![skip("all runs on the running kernel", with_remedy(&error))]);
    }
    let mut skipped = Vec::new();
    match Features::probe().require() {
        Ok(()) => planned.extend(ALGORITHMS.map(on(Place::Kernel))),
        Err(error) => {
            let what = format!("{} on the running kernel", ALGORITHMS.join(", "));
            skipped.push(skip(&what, with_remedy(&error)));
        }
    }
    planned.push(on(Place::Kernel)(KERNEL_BBR));
    (planned, skipped)
}

/// Text of an error with its help.
fn with_remedy<E: miette::Diagnostic>(error: &E) -> String {
    match error.help() {
        Some(help) => format!("{error}; {help}"),
        None => error.to_string(),
    }
}

/// Whether a run failed because the kernel was built without its own `bbr`. The demonstration then continues
/// without it.
fn lacks_algorithm(item: &Planned, failure: &Failure) -> bool {
    item.cc.starts_with("kernel:") && failure.code() == Exit::Usage as i32
}

fn scenario(item: &Planned) -> Result<Scenario, Failure> {
    // at most a third of the run, but not before both flows have started
    let warmup = (item.duration / 3).min(Duration::from_secs(20)).max(STAGGER);
    let path = PathArgs {
        rate: "100mbit".to_owned(),
        buffer: "2MB".to_owned(),
        rtt: ["10ms", "50ms"].map(str::to_owned).into(),
        duration: show_time(item.duration),
        stagger: Some(STAGGER),
        warmup: Some(show_time(warmup)),
    };
    let comparison = Comparison { path: &path, target: item.place.target(), sets: &[] };
    comparison.scenario(item.cc).map_err(Failure::from)
}

fn page(done: &[Done], runs: &[Run], skipped: &[Skipped], report: &str) -> String {
    let mut out = format!("{}\n\n", WHY.replace(". ", ".\n"));
    if let Some(run) = runs.first() {
        let [from, to] = run.summary.window_s;
        out.push_str(&format!("Goodput in Mbit/s, measured from {} to {} s:\n\n", short(from), short(to)));
    }
    let header = ["algorithm", "", "10 ms flow", "paper", "50 ms flow", "paper", "queueing delay ms", "Jain"];
    let mut lines = table(&header, 2);
    for ((Planned { cc, place, .. }, _), run) in done.iter().zip(runs) {
        let paper = published(cc).map(|published| published.goodput_mbps).unwrap_or_default();
        let goodput = |flow: usize| number(run.summary.flows.get(flow).map(|flow| flow.goodput_mbps), 1);
        let stated = |flow: usize| number(paper.get(flow).copied().flatten(), 1);
        lines.add_row([
            (*cc).to_owned(),
            place.description().to_owned(),
            goodput(0),
            stated(0),
            goodput(1),
            stated(1),
            number(run.summary.links.first().and_then(|link| link.queue_delay_mean_ms), 1),
            number(run.summary.jain, 3),
        ]);
    }
    out.push_str(&table::text(&lines));
    out.push_str(&format!("\nPaper: {SOURCE}.\n"));
    for (Planned { cc, place, duration }, _) in done {
        if matches!(place, Place::Virtual(_)) {
            let length = show_time(*duration);
            out.push_str(&format!("In virtual time instead of a disturbed run: {cc}, {length}.\n"));
        }
    }
    for Skipped { what, why } in skipped {
        out.push_str(&format!("Skipped: {what}, because {why}.\n"));
    }
    out.push_str(&format!("Report: {report}\n"));
    out
}
