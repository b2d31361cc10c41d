//! `fairpace-dev duels`: every algorithm against every other one on one link, and the page with the results.

mod page;
mod plan;
mod record;

use fairpace_cc::Algorithm;
use fairpace_cli_core::args::Global;
use fairpace_cli_core::batch;
use fairpace_cli_core::failure::{Exit, Failure};
use fairpace_cli_core::output::Output;
use fairpace_cli_core::signals::Signals;
use fairpace_scenario::quantity::show_time;

use crate::args::DuelsArgs;
use crate::marked_page::{Page, publish};
use plan::Plan;

const PAGE: Page = Page { command: "duels", title: "Duels" };

pub(crate) fn run(
    args: &DuelsArgs,
    global: Global,
    signals: &Signals,
    out: &mut Output,
) -> Result<(), Failure> {
    let names = names(&args.cc)?;
    let plan = Plan::new(args, &names)?;
    let marked = args.out.open(PAGE)?;
    let outcomes =
        batch::simulate_all(plan.scenarios(), args.jobs.at_a_time, signals, global.quiet, |_, run| {
            run.summary
        })?;
    let record = plan.record(command(args), &outcomes);
    publish(marked, &page::generated(&record), &record, global, out)
}

/// The algorithms of `--cc`, or all.
fn names(asked: &[String]) -> Result<Vec<String>, Failure> {
    if asked.is_empty() {
        return Ok(Algorithm::all().map(|algorithm| algorithm.name().to_owned()).collect());
    }
    // a header is called by its name; what is no algorithm is an error of the scenarios
    let name =
        |written: &String| Algorithm::by_name(written).map_or(written.clone(), |of| of.name().to_owned());
    let asked: Vec<String> = asked.iter().map(name).collect();
    match asked.iter().enumerate().find(|(index, name)| asked[..*index].contains(name)) {
        Some((_, twice)) => Err(Failure::new(
            Exit::Usage,
            format!("--cc names {twice} twice"),
            "each algorithm meets itself without being named twice",
        )),
        None => Ok(asked),
    }
}

/// The command that measures the same again, with all defaults. `--out` and `--jobs` do not change the
/// result and are left out.
fn command(args: &DuelsArgs) -> String {
    let DuelsArgs { cc, rate, rtt, buffer, duration, warmup, stagger, seeds, seed, sets, out: _, jobs: _ } =
        args;
    let mut words = vec!["fairpace-dev duels".to_owned()];
    if !cc.is_empty() {
        words.push(format!("--cc {}", cc.join(",")));
    }
    words.push(format!("--rate {rate} --rtt {rtt} --buffer {}", buffer.join(",")));
    words.push(format!("--duration {duration} --warmup {warmup} --stagger {}", show_time(*stagger)));
    words.push(format!("--seeds {seeds} --seed {seed}"));
    words.extend(sets.iter().map(|set| format!("--set {set}")));
    words.join(" ")
}
