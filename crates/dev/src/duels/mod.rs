//! `fairpace-dev duels`: every algorithm against every other one on one link, and the page with the results.

mod page;

use fairpace_cli_core::args::Global;
use fairpace_cli_core::failure::Failure;
use fairpace_cli_core::output::Output;
use fairpace_cli_core::signals::Signals;
use fairpace_experiment::duels::Plan;

use crate::args::DuelsArgs;
use crate::marked_page::{Page, publish};

const PAGE: Page = Page { command: "duels", title: "Duels" };

pub(crate) fn run(
    args: &DuelsArgs,
    global: Global,
    signals: &Signals,
    out: &mut Output,
) -> Result<(), Failure> {
    let names = args.duels.names()?;
    let plan = Plan::new(&args.duels, &names)?;
    let marked = args.out.open(PAGE)?;
    let record = plan.measure(args.jobs, signals, global.quiet)?;
    publish(marked, &page::generated(&record), &record, global, out)
}
