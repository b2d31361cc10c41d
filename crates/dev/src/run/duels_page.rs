//! The tables, as Markdown that is aligned as plain text, too.

use std::collections::HashMap;
use std::fmt::Write as _;

use fairpace_cli_core::table::{number, percent, short};
use fairpace_experiment::duels::{AlgorithmSettings, Duel, Record};
use fairpace_experiment::markdown_table;

/// Runs of one duel that differ by more than this are marked.
const WIDE: f64 = 0.2;

/// Everything between the marks.
pub(crate) fn generated(record: &Record) -> String {
    let mut page = facts(record);
    page.push_str(
        "\n## In short\n\nThe mean share of an algorithm in its duels with the others, and the loss \
         rate and mean queue delay\nwhen it meets itself.\n\n",
    );
    page.push_str(&overview(record));
    for buffer in &record.buffers {
        let by_names = by_names(record, &buffer.name);
        let _ = write!(page, "\n## Buffer {}: {} kB\n", buffer.name, short(buffer.bytes as f64 / 1e3));
        for (title, cell) in TABLES {
            let _ = write!(
                page,
                "\n{title}:\n\n{}",
                matrix(record, |row, column| {
                    by_names
                        .get(&(row, column))
                        .map(|(duel, swapped)| cell(duel, *swapped))
                        .unwrap_or_default()
                })
            );
        }
    }
    page
}

/// The text of a cell; the flag is set where row and column are swapped.
type Cell = fn(&Duel, bool) -> String;

const TABLES: [(&str, Cell); 3] = [
    ("Share of the row against the column, %", |duel, swapped| {
        let wide = duel.share_range.is_some_and(|[least, most]| most - least > WIDE);
        let mark = if wide { "~" } else { "" };
        format!("{mark}{}", percent(share(duel, swapped), 0))
    }),
    ("Loss rate of the link, %", |duel, _| loss(duel)),
    ("Mean queue delay, ms", |duel, _| number(duel.queue_delay_mean_ms, 1)),
];

/// How the numbers were measured and how to read them.
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

/// Per algorithm and buffer: its mean share in duels with others, and the loss and queueing delay of the link
/// when it meets itself.
fn overview(record: &Record) -> String {
    let mut header = vec!["".to_owned()];
    let titles = ["share, %", "loss, %", "delay, ms"];
    for title in titles {
        header.extend(record.buffers.iter().map(|buffer| format!("{title}<br>{}", buffer.name)));
    }
    let tables: Vec<_> = record.buffers.iter().map(|buffer| by_names(record, &buffer.name)).collect();
    let row = |name: &str| {
        let others = |duels: &HashMap<(&str, &str), (&Duel, bool)>| {
            let met = record.algorithms.iter().filter(|other| other.name != name);
            let shares = met.filter_map(|other| duels.get(&(name, other.name.as_str())));
            let shares: Vec<f64> = shares.filter_map(|(duel, swapped)| share(duel, *swapped)).collect();
            let mean = shares.iter().sum::<f64>() / shares.len() as f64;
            percent((!shares.is_empty()).then_some(mean), 0)
        };
        let itself = |cell: fn(&Duel) -> String| {
            tables
                .iter()
                .map(move |duels| duels.get(&(name, name)).map(|(duel, _)| cell(duel)).unwrap_or_default())
        };
        let mut cells = vec![name.to_owned()];
        cells.extend(tables.iter().map(others));
        cells.extend(itself(loss));
        cells.extend(itself(|duel| number(duel.queue_delay_mean_ms, 1)));
        cells
    };
    markdown_table(
        &header,
        &record.algorithms.iter().map(|algorithm| row(&algorithm.name)).collect::<Vec<_>>(),
    )
}

/// The duels at one buffer by row and column, each in both orders.
fn by_names<'a>(record: &'a Record, buffer: &str) -> HashMap<(&'a str, &'a str), (&'a Duel, bool)> {
    let mut found = HashMap::new();
    for duel in record.duels.iter().filter(|duel| duel.buffer == buffer) {
        found.insert((duel.column.as_str(), duel.row.as_str()), (duel, true));
        found.insert((duel.row.as_str(), duel.column.as_str()), (duel, false));
    }
    found
}

fn matrix(record: &Record, cell: impl Fn(&str, &str) -> String) -> String {
    let names: Vec<&str> = record.algorithms.iter().map(|algorithm| algorithm.name.as_str()).collect();
    // long names would make columns far wider than their numbers
    let header = std::iter::once(String::new()).chain(names.iter().map(|name| name.replace('_', "_<br>")));
    let rows = names.iter().map(|row| {
        std::iter::once((*row).to_owned()).chain(names.iter().map(|column| cell(row, column))).collect()
    });
    markdown_table(&header.collect::<Vec<_>>(), &rows.collect::<Vec<Vec<String>>>())
}

fn share(duel: &Duel, swapped: bool) -> Option<f64> {
    duel.share.map(|share| if swapped { 1.0 - share } else { share })
}

/// Losses below 1 % have a second decimal.
fn loss(duel: &Duel) -> String {
    match duel.loss_rate {
        Some(0.0) => "0".to_owned(),
        Some(rate) if rate < 0.01 => percent(Some(rate), 2),
        rate => percent(rate, 1),
    }
}
