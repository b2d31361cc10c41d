//! `fairpace-dev accuracy`: how exactly the kernel host reports each packet's sending and loss to BBRv3.
//!
//! One flow at a time runs over the testbed's emulated path. The BPF programs of `truth` read the true
//! numbers from the kernel's own sockets and packets.

use fairpace_cli_core::args::Global;
use fairpace_cli_core::failure::{Exit, Failure};
use fairpace_cli_core::host;
use fairpace_cli_core::output::Output;
use fairpace_cli_core::signals::Signals;
use fairpace_kernel::Features;
use serde::Serialize;

use crate::args::AccuracyArgs;
use crate::marked_page::{Page, publish, table};
use crate::truth::{self, Case, Comparison};

const PAGE: Page = Page { command: "accuracy", title: "Accuracy of the kernel host" };

/// Differences of one value on one path: reported minus true, in packets.
#[derive(Debug, Serialize)]
struct Row {
    path: &'static str,
    what: &'static str,
    count: usize,
    /// Share of differences that are zero, 0 to 1.
    exact: f64,
    /// Cells of a table: number, exact share and percentiles of the differences.
    #[serde(skip)]
    cells: String,
}

/// Results on one path.
#[derive(Debug, Serialize)]
struct Measured {
    path: &'static str,
    #[serde(flatten)]
    found: Comparison,
}

/// The record that `--json` prints.
#[derive(Debug, Serialize)]
struct Record {
    kernel: String,
    seconds: u64,
    paths: Vec<Measured>,
    differences: Vec<Row>,
}

/// Name, link and flow of each path.
const PATHS: [[&str; 3]; 6] = [
    ["clean: 100 Mbit/s, 20 ms, 2 MB", "rate = '100mbit'\nbuffer = '2MB'", "rtt = '20ms'"],
    ["bursts: 1 Gbit/s, 20 ms, 10 MB", "rate = '1gbit'\nbuffer = '10MB'", "rtt = '20ms'"],
    ["small buffer: 50 Mbit/s, 30 ms, 40 kB", "rate = '50mbit'\nbuffer = '40kB'", "rtt = '30ms'"],
    ["small buffer: 500 Mbit/s, 40 ms, 250 kB", "rate = '500mbit'\nbuffer = '250kB'", "rtt = '40ms'"],
    [
        "random loss of 1 %: 50 Mbit/s, 30 ms, 1 MB",
        "rate = '50mbit'\nbuffer = '1MB'\nloss = '1%'",
        "rtt = '30ms'",
    ],
    [
        "reordering of 1 % by 12 ms: 50 Mbit/s, 30 ms, 1 MB",
        "rate = '50mbit'\nbuffer = '1MB'",
        "rtt = '30ms'\nreorder = '1%'\nreorder_delay = '12ms'",
    ],
];

pub(crate) fn run(
    args: &AccuracyArgs,
    global: Global,
    signals: &Signals,
    out: &mut Output,
) -> Result<(), Failure> {
    let marked = args.out.open(PAGE)?;
    let kernel = check_machine()?;
    let mut record = Record { kernel, seconds: args.seconds, paths: Vec::new(), differences: Vec::new() };
    for [name, link, flow] in PATHS {
        let case = Case { name, link, flow, seconds: args.seconds };
        let suffix = format!("_{:x}", std::process::id() & 0xfffff);
        let found = host::perform(name, signals, global.quiet, |progress| {
            truth::run(&case, &suffix, progress).map_err(|failure| failure.of_part(name))
        })?;
        let rows = found.rows().into_iter().filter(|(_, differences)| differences.count() > 0);
        record.differences.extend(rows.map(|(what, differences)| Row {
            path: name,
            what,
            count: differences.count(),
            exact: differences.exact(),
            cells: differences.to_string(),
        }));
        record.paths.push(Measured { path: name, found });
    }
    publish(marked, &tables(&record), &record, global, out)
}

/// Returns the release of the running kernel, if it can load the watched algorithm and shows what happens to
/// each packet.
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
    let differences = |Row { path, what, cells, .. }: &Row| format!("{path} | {what} | {cells}");
    let counts = |Measured { path, found }: &Measured| {
        let Comparison { goodput_mbps, acks, loss_tests, loss_tests_wrong, .. } = found;
        let (samples, events) = (found.samples_not_compared, found.lost_events);
        let (not_compared, late) = (found.lost_events_not_compared, found.lost_events_late);
        format!(
            "{path} | {goodput_mbps:.1} | {acks} | {samples} | {events} | {not_compared} | {late} \
             | {loss_tests} | {loss_tests_wrong}"
        )
    };
    format!(
        "Linux {}, BBRv3, {} s per path.\n\n{}\n{}",
        record.kernel,
        record.seconds,
        table(
            "path | what | n | exact | min | p1 | p10 | p50 | p90 | p99 | max",
            record.differences.iter().map(differences)
        ),
        table(
            "path | goodput, Mbit/s | ACKs | samples not compared | LOST events | of them not compared \
             | of them after a retransmission | tests for 2 % of loss | other result than with true values",
            record.paths.iter().map(counts)
        )
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::documented::assert_documented;

    #[test]
    fn the_tables_have_every_count_and_the_record_is_documented() {
        let found = Comparison {
            goodput_mbps: 47.5,
            acks: 1,
            samples_not_compared: 2,
            lost_events: 3,
            lost_events_not_compared: 4,
            lost_events_late: 5,
            loss_tests: 6,
            loss_tests_wrong: 7,
            ..Comparison::default()
        };
        let record = Record {
            kernel: "6.18".into(),
            seconds: 20,
            paths: vec![Measured { path: "clean", found }],
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
