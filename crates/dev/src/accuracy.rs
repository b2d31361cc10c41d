//! `fairpace-dev accuracy`: how exactly the kernel host reports each packet's sending and loss to BBRv3.
//!
//! One flow at a time runs over the testbed's emulated path. The true numbers come from the kernel's own
//! sockets and packets, by the BPF programs of fairpace-kernel's tests.

#[path = "../../kernel/tests/real_time/truth/mod.rs"]
mod truth;

use std::fmt::Write as _;

use fairpace_cli_core::args::Global;
use fairpace_cli_core::failure::{Exit, Failure};
use fairpace_cli_core::output::Output;
use serde::Serialize;

use crate::args::AccuracyArgs;
use crate::marked_page::{MarkedPage, Page, publish};
use truth::{Case, run as measure};

const PAGE: Page = Page { command: "accuracy", title: "Accuracy of the kernel host" };

/// A billionth is the unit of shares of packets.
const PERCENT_PPB: u64 = 10_000_000;

/// Differences of one value on one path: reported minus true, in packets.
#[derive(Debug, Serialize)]
struct Row {
    path: &'static str,
    what: &'static str,
    count: usize,
    /// Share of differences that are zero.
    exact: f64,
    /// Count, exact share and percentiles, as cells of a table.
    #[serde(skip)]
    cells: String,
}

/// One path.
#[derive(Debug, Serialize)]
struct Measured {
    path: &'static str,
    goodput_mbps: f64,
    acks: u64,
    /// LOST events.
    events: u64,
    /// Tests of BBRv3 whether more than 2 % of the packets in flight were lost...
    questions: u64,
    /// ...and those of them that have another result with the true numbers.
    wrong_answers: u64,
}

/// What `--json` prints.
#[derive(Debug, Serialize)]
struct Record {
    kernel: String,
    seconds: u64,
    paths: Vec<Measured>,
    differences: Vec<Row>,
}

fn cases(seconds: u64) -> Vec<Case> {
    vec![
        Case::new("clean: 100 Mbit/s, 20 ms, 2 MB", 100, 20, 2_000_000, seconds),
        Case::new("bursts: 1 Gbit/s, 20 ms, 10 MB", 1000, 20, 10_000_000, seconds),
        Case::new("small buffer: 50 Mbit/s, 30 ms, 40 kB", 50, 30, 40_000, seconds),
        Case::new("small buffer: 500 Mbit/s, 40 ms, 250 kB", 500, 40, 250_000, seconds),
        Case::new("random loss of 1 %: 50 Mbit/s, 30 ms, 1 MB", 50, 30, 1_000_000, seconds)
            .with_loss(PERCENT_PPB),
        Case::new("reordering of 1 % by 12 ms: 50 Mbit/s, 30 ms, 1 MB", 50, 30, 1_000_000, seconds)
            .with_reordering(PERCENT_PPB, 12),
    ]
}

pub(crate) fn run(args: &AccuracyArgs, global: Global, out: &mut Output) -> Result<(), Failure> {
    // an unusable page is an error before the long run
    let marked = args.out.as_deref().map(|path| MarkedPage::open(path, PAGE)).transpose()?;
    fairpace_testbed::check_machine(&fairpace_testbed::Options::default())?;
    let kernel = fairpace_kernel::Features::probe().release;
    let mut record = Record { kernel, seconds: args.seconds, paths: Vec::new(), differences: Vec::new() };
    for case in cases(args.seconds) {
        let found = measure(&case, &format!("_{:x}", std::process::id() & 0xfffff)).map_err(|error| {
            let help = "it needs root, clang, and Linux 6.10 or later; `fairpace doctor` says more";
            Failure::new(Exit::Unsupported, format!("{}: {error}", case.name), help)
        })?;
        record.paths.push(Measured {
            path: case.name,
            goodput_mbps: found.goodput_mbps,
            acks: found.acks as u64,
            events: found.events as u64,
            questions: found.questions as u64,
            wrong_answers: found.wrong_answers as u64,
        });
        let rows = found.rows().into_iter().filter(|(_, differences)| differences.count() > 0);
        record.differences.extend(rows.map(|(what, differences)| Row {
            path: case.name,
            what,
            count: differences.count(),
            exact: differences.exact(),
            cells: differences.to_string(),
        }));
    }
    publish(marked, &tables(&record), &record, global, out)
}

fn tables(record: &Record) -> String {
    let mut page = format!(
        "Linux {}, BBRv3, {} s per path.\n\n\
         | path | what | n | exact | min | p1 | p10 | p50 | p90 | p99 | max |\n\
         |---|---|---|---|---|---|---|---|---|---|---|\n",
        record.kernel, record.seconds
    );
    for Row { path, what, cells, .. } in &record.differences {
        let _ = writeln!(page, "| {path} | {what} | {cells} |");
    }
    page.push_str(
        "\n| path | goodput, Mbit/s | ACKs | LOST events | tests for 2 % of loss \
         | other result than with true values |\n\
         |---|---|---|---|---|---|\n",
    );
    for path in &record.paths {
        let Measured { path, goodput_mbps, acks, events, questions, wrong_answers } = path;
        let _ = writeln!(
            page,
            "| {path} | {goodput_mbps:.1} | {acks} | {events} | {questions} | {wrong_answers} |"
        );
    }
    page
}
