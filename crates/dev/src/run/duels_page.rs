//! The tables of duels, as Markdown whose columns are aligned in the source, too.

use std::fmt::Write as _;

use fairpace_cli_core::table::{number, percent, short};
use fairpace_experiment::duels::{AlgorithmSettings, Buffer, Duel, Record};
use fairpace_experiment::{Range, markdown_table};

/// Largest range of shares over the runs of a duel that is not marked.
const WIDE: f64 = 0.2;

/// The generated part of the page.
pub(crate) fn generated(record: &Record) -> String {
    let mut page = facts(record);
    page.push_str(
        "\n## In short\n\nThe mean share of an algorithm in its duels with the others, and the loss \
         rate and mean queue delay\nwhen it meets itself.\n\n",
    );
    page.push_str(&overview(record));
    // long names would make columns far wider than their numbers
    let header = names(record).map(|name| name.replace('_', "_<br>"));
    let header: Vec<String> = std::iter::once(String::new()).chain(header).collect();
    for Buffer { name: buffer, bytes } in &record.buffers {
        let _ = write!(page, "\n## Buffer {buffer}: {} kB\n", short(*bytes as f64 / 1e3));
        for (title, cell) in TABLES {
            let row = |row| {
                let cells =
                    names(record).map(|column| met(record, buffer, row, column).map_or(String::new(), cell));
                std::iter::once(row.to_owned()).chain(cells).collect()
            };
            let rows: Vec<Vec<String>> = names(record).map(row).collect();
            let _ = write!(page, "\n{title}:\n\n{}", markdown_table(&header, &rows));
        }
    }
    page
}

/// A duel from the point of view of a row; the flag is set if the algorithm of the row is the duel's column.
type Met<'a> = (&'a Duel, bool);

/// A function that returns the text of a table's cell for a duel.
type Shown = fn(Met<'_>) -> String;

const TABLES: [(&str, Shown); 3] = [
    ("Share of the row against the column, %", |met| {
        let wide = met.0.share_range.is_some_and(|[least, most]| most - least > WIDE);
        format!("{}{}", if wide { "~" } else { "" }, percent(share(met), 0))
    }),
    ("Loss rate of the link, %", loss),
    ("Mean queue delay, ms", delay),
];

fn names(record: &Record) -> impl Iterator<Item = &str> {
    record.algorithms.iter().map(|algorithm| &*algorithm.name)
}

fn met<'a>(record: &'a Record, buffer: &str, row: &str, column: &str) -> Option<Met<'a>> {
    let duel = |row, column| {
        let is_it = |duel: &&Duel| (&*duel.buffer, &*duel.row, &*duel.column) == (buffer, row, column);
        record.duels.iter().find(is_it)
    };
    duel(row, column).map(|of| (of, false)).or_else(|| Some((duel(column, row)?, true)))
}

fn share((duel, is_column): Met<'_>) -> Option<f64> {
    duel.share.map(|share| if is_column { 1.0 - share } else { share })
}

/// Text of the loss rate; a rate below 1 % has a second decimal.
fn loss((duel, _): Met<'_>) -> String {
    match duel.loss_rate {
        Some(0.0) => "0".to_owned(),
        Some(rate) if rate < 0.01 => percent(Some(rate), 2),
        rate => percent(rate, 1),
    }
}

fn delay((duel, _): Met<'_>) -> String {
    number(duel.queue_delay_mean_ms, 1)
}

/// A paragraph on how the numbers were measured and how to read them.
fn facts(record: &Record) -> String {
    let Record { commit, command, seed, seeds, scenarios_hash, rate_mbps, rtt_ms, window_s, .. } = record;
    let [from, to] = window_s.map(short);
    let runs: usize = record.duels.iter().map(|duel| duel.runs).sum();
    let settings = |algorithm: &AlgorithmSettings| {
        let pairs: Vec<_> = algorithm.set.iter().map(|(name, value)| format!("{name}={value}")).collect();
        (!pairs.is_empty()).then(|| format!("{} with {}", algorithm.name, pairs.join(" ")))
    };
    let settings: Vec<_> = record.algorithms.iter().filter_map(settings).collect();
    let mut text = format!(
        "Two flows with an RTT of {} ms on {} Mbit/s, measured from {from} to {to} s. \
         Each pair meets in both orders, {seeds} runs in\n\
         each; a cell is their mean. \
         On the diagonal an algorithm meets itself, and the share is that of the flow that\n\
         started first. `~` marks a share whose runs differ by more than {} points.\n",
        short(*rtt_ms),
        short(*rate_mbps),
        short(WIDE * 100.0)
    );
    if !settings.is_empty() {
        let _ = writeln!(text, "All algorithms have their defaults, except: {}.", settings.join("; "));
    }
    let _ = write!(
        text,
        "\n| | |\n|---|---|\n| command | `{command}` |\n| simulations | {runs}, seeds {seed} to {} |\n\
         | scenarios | `{scenarios_hash}` |\n| commit | `{commit}` |\n",
        seed + u64::from(*seeds) - 1
    );
    text
}

/// A table with a row per algorithm and columns per buffer: mean share in duels with other algorithms, and
/// loss rate and queueing delay of the link when both flows run the algorithm.
fn overview(record: &Record) -> String {
    let mut header = vec![String::new()];
    for title in ["share, %", "loss, %", "delay, ms"] {
        header.extend(record.buffers.iter().map(|buffer| format!("{title}<br>{}", buffer.name)));
    }
    let row = |name: &str| {
        let others = |buffer: &Buffer| {
            let met = names(record)
                .filter(|other| *other != name)
                .filter_map(|other| met(record, &buffer.name, name, other));
            percent(Range::known(met.filter_map(share)).map(|shares| shares.mean), 0)
        };
        let itself = |cell: fn(Met<'_>) -> String| {
            let met = record.buffers.iter().map(|buffer| met(record, &buffer.name, name, name));
            met.map(|met| met.map_or(String::new(), cell)).collect::<Vec<_>>()
        };
        let shares = record.buffers.iter().map(others).collect();
        [vec![name.to_owned()], shares, itself(loss), itself(delay)].concat()
    };
    markdown_table(&header, &names(record).map(row).collect::<Vec<_>>())
}
