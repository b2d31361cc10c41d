//! `fairpace-dev accuracy`: how exactly the kernel host reports each packet's sending and loss to BBRv3.
//!
//! One flow at a time runs over the testbed's emulated path. The true numbers come from the kernel's own
//! sockets and packets, by the BPF programs of `truth`.

use std::fmt::Write as _;

use fairpace_cli_core::args::Global;
use fairpace_cli_core::failure::{Exit, Failure};
use fairpace_cli_core::host;
use fairpace_cli_core::output::Output;
use fairpace_cli_core::signals::Signals;
use fairpace_kernel::Features;
use serde::Serialize;

use crate::args::AccuracyArgs;
use crate::marked_page::{Page, publish};
use crate::truth::{self, Case, Comparison};

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

/// One path: the counts of a [`Comparison`].
#[derive(Debug, Serialize)]
struct Measured {
    path: &'static str,
    goodput_mbps: f64,
    acks: usize,
    samples_not_compared: usize,
    lost_events: usize,
    lost_events_not_compared: usize,
    /// LOST events that came after a retransmission of one of their packets.
    lost_events_late: usize,
    loss_tests: usize,
    loss_tests_wrong: usize,
}

impl Measured {
    fn of(path: &'static str, found: &Comparison) -> Self {
        Self {
            path,
            goodput_mbps: found.goodput_mbps,
            acks: found.acks,
            samples_not_compared: found.unmatched,
            lost_events: found.events,
            lost_events_not_compared: found.unmatched_events,
            lost_events_late: found.late_events,
            loss_tests: found.questions,
            loss_tests_wrong: found.wrong_answers,
        }
    }
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

pub(crate) fn run(
    args: &AccuracyArgs,
    global: Global,
    signals: &Signals,
    out: &mut Output,
) -> Result<(), Failure> {
    let marked = args.out.open(PAGE)?;
    let kernel = check_machine()?;
    let mut record = Record { kernel, seconds: args.seconds, paths: Vec::new(), differences: Vec::new() };
    for case in cases(args.seconds) {
        let suffix = format!("_{:x}", std::process::id() & 0xfffff);
        let found = host::perform(case.name, signals, global.quiet, |progress| {
            truth::run(&case, &suffix, progress).map_err(|failure| failure.of_part(case.name))
        })?;
        record.paths.push(Measured::of(case.name, &found));
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

/// The release of the running kernel, if it can load the watched algorithm and shows what happens to each
/// packet.
fn check_machine() -> Result<String, Failure> {
    fairpace_testbed::check_machine(&fairpace_testbed::Options::default())?;
    let features = Features::probe();
    features.require_kernel()?;
    if !truth::is_shown_by(&features.release) {
        let message = format!("Linux {} does not show what happens to each packet", features.release);
        return Err(Failure::new(Exit::Unsupported, message, "Linux 6.10 and later do"));
    }
    Ok(features.release)
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
        "\n| path | goodput, Mbit/s | ACKs | samples not compared | LOST events | of them not compared \
         | of them after a retransmission | tests for 2 % of loss | other result than with true values |\n\
         |---|---|---|---|---|---|---|---|---|\n",
    );
    for path in &record.paths {
        let counts = [
            path.acks,
            path.samples_not_compared,
            path.lost_events,
            path.lost_events_not_compared,
            path.lost_events_late,
            path.loss_tests,
            path.loss_tests_wrong,
        ];
        let counts: Vec<_> = counts.iter().map(usize::to_string).collect();
        let _ = writeln!(page, "| {} | {:.1} | {} |", path.path, path.goodput_mbps, counts.join(" | "));
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::assert_documented;

    #[test]
    fn the_tables_have_every_count_and_the_record_is_documented() {
        let found = Comparison {
            goodput_mbps: 47.5,
            acks: 1,
            unmatched: 2,
            events: 3,
            unmatched_events: 4,
            late_events: 5,
            questions: 6,
            wrong_answers: 7,
            ..Comparison::default()
        };
        let record = Record {
            kernel: "6.18".into(),
            seconds: 20,
            paths: vec![Measured::of("clean", &found)],
            differences: vec![Row {
                path: "clean",
                what: "x",
                count: 1,
                exact: 1.0,
                cells: "1 | 100.0 %".into(),
            }],
        };
        let page = tables(&record);
        assert!(page.contains("| clean | x | 1 | 100.0 % |"), "{page}");
        assert!(page.contains("| clean | 47.5 | 1 | 2 | 3 | 4 | 5 | 6 | 7 |"), "{page}");
        assert_documented("accuracy", &record);
    }
}
