//! `fairpace-dev bbq-gap`: which settings decide how BBQ shares the link of its paper's first experiment;
//! the tables of docs/bbq.md.

use std::fmt::Write as _;
use std::time::Duration;

use fairpace_cc::Phase;
use fairpace_cli_core::args::{Global, PathArgs};
use fairpace_cli_core::batch;
use fairpace_cli_core::comparison::Comparison;
use fairpace_cli_core::failure::Failure;
use fairpace_cli_core::output::Output;
use fairpace_cli_core::signals::Signals;
use fairpace_results::{FlowSeries, Run, Series, Summary};
use fairpace_scenario::{Scenario, Set, Target};
use serde::Serialize;

use crate::args::{BbqGapArgs, BbqTable};
use crate::marked_page::{Page, publish};
use crate::spread::Spread;

const TITLE: &str = "BBQ: what decides how it shares a link";
const SHARES: Page = Page { command: "bbq-gap shares", title: TITLE };
const PHASES: Page = Page { command: "bbq-gap phases", title: TITLE };

/// Rate, buffer and RTTs of the first experiment of Ma et al., arXiv 1706.09115.
const RATE: &str = "100mbit";
const BUFFER: &str = "2MB";
const RTTS: [&str; 2] = ["10ms", "50ms"];
/// The second flow starts this much after the first, as in the paper.
const STAGGER: Duration = Duration::from_secs(5);
/// Begin of the measurement window: both flows have left STARTUP long before.
const WARMUP: &str = "30s";
/// Seeds of each setting of the table of shares.
const SEEDS: u64 = 5;
/// Distance of two points of the series from which lengths of phases are read: much less than the shortest
/// phase, 1 ms.
const STEP: Duration = Duration::from_micros(100);

/// Receivers as those of the paper: Linux acknowledges a PSH since 6.7.
const PSH_ACK: (&str, &str) = ("flow.psh_ack", "false");
/// Settings of the table of shares: an algorithm, and a change of a parameter or of all flows' hosts.
const SETTINGS: [(&str, &str); 17] = [
    ("bbr1", ""),
    ("bbr1", "flow.psh_ack=true"),
    ("bbq", ""),
    ("bbq", "flow.psh_ack=true"),
    ("bbq", "until_inflight=true"),
    ("bbq", "beta=0%"),
    ("bbq", "beta=0.5%"),
    ("bbq", "beta=2%"),
    ("bbq", "beta=5%"),
    ("bbq", "alpha=1ms"),
    ("bbq", "alpha=2ms"),
    ("bbq", "alpha=5ms"),
    ("bbq", "alpha=10ms"),
    ("bbq", "cwnd_gain=2.5"),
    ("bbq", "cwnd_gain=4"),
    ("bbq", "extra_acked_gain=0"),
    ("bbq", "pacing_margin=0%"),
];
/// Settings of the table of phases, all of BBQ.
const PHASE_SETTINGS: [&str; 3] = ["", "alpha=1ms", "cwnd_gain=2.5"];
/// The phases of PROBE_BW in the order of its columns.
const CYCLE: [Phase; 3] = [Phase::ProbeBwUp, Phase::ProbeBwDown, Phase::ProbeBwCruise];

pub(crate) fn run(
    args: &BbqGapArgs,
    global: Global,
    signals: &Signals,
    out: &mut Output,
) -> Result<(), Failure> {
    let page = match args.table {
        BbqTable::Shares => SHARES,
        BbqTable::Phases => PHASES,
    };
    let marked = args.out.open(page)?;
    match args.table {
        BbqTable::Shares => {
            let rows = shares(signals, global.quiet)?;
            publish(marked, &shares_table(&rows), &rows, global, out)
        }
        BbqTable::Phases => {
            let rows = phases(signals, global.quiet)?;
            publish(marked, &phases_table(&rows), &rows, global, out)
        }
    }
}

fn scenario(cc: &str, setting: &str, duration: &str, more: &[Set]) -> Result<Scenario, Failure> {
    let mut sets = more.to_vec();
    let (key, value) = match setting.split_once('=') {
        Some((key, value)) if key.starts_with("flow.") => (key.to_owned(), value),
        Some((parameter, value)) => (format!("{cc}.{parameter}"), value),
        None => (PSH_ACK.0.to_owned(), PSH_ACK.1),
    };
    if key != PSH_ACK.0 {
        sets.push(Set::argument("--set", PSH_ACK.0, PSH_ACK.1));
    }
    sets.push(Set::argument("--set", key, value));
    let path = PathArgs {
        rate: RATE.to_owned(),
        buffer: BUFFER.to_owned(),
        rtt: RTTS.map(str::to_owned).into(),
        duration: duration.to_owned(),
        stagger: STAGGER,
        warmup: WARMUP.to_owned(),
    };
    let comparison = Comparison { path: &path, target: Target::Simulator, sets: &sets };
    Ok(comparison.scenario(cc)?)
}

/// A row of the table of shares.
#[derive(Debug, Serialize)]
struct Shares {
    algorithm: &'static str,
    setting: &'static str,
    /// Of the flows with 10 and 50 ms.
    goodput_mbps: [Spread; 2],
    queue_delay_mean_ms: Spread,
}

fn shares(signals: &Signals, quiet: bool) -> Result<Vec<Shares>, Failure> {
    let mut scenarios = Vec::new();
    for (cc, setting) in SETTINGS {
        let scenario = scenario(cc, setting, "120s", &[])?;
        scenarios.extend((1..=SEEDS).map(|seed| Scenario { seed, ..scenario.clone() }));
    }
    let runs = batch::simulate_all(&scenarios, None, signals, quiet, |_, run| run.summary)?;
    let row = |((algorithm, setting), runs): ((&'static str, &'static str), &[Summary])| {
        let over = |of: &dyn Fn(&Summary) -> f64| Spread::of(&runs.iter().map(of).collect::<Vec<_>>());
        Shares {
            algorithm,
            setting,
            goodput_mbps: [0, 1].map(|flow| over(&|run| run.flows[flow].goodput_mbps)),
            queue_delay_mean_ms: over(&|run| run.links[0].queue_delay_mean_ms.unwrap_or(f64::NAN)),
        }
    };
    Ok(SETTINGS.into_iter().zip(runs.chunks(SEEDS as usize)).map(row).collect())
}

fn shares_table(rows: &[Shares]) -> String {
    let mut table = format!(
        "{SEEDS} seeds each, measured from {WARMUP} to 120s: mean (lowest to highest).\n\n\
         | | 10 ms flow, Mbit/s | 50 ms flow, Mbit/s | queueing delay, ms |\n|---|---|---|---|\n"
    );
    for Shares { algorithm, setting, goodput_mbps: [short, long], queue_delay_mean_ms } in rows {
        let (short, long) = (short.text(1), long.text(1));
        let name = format!("{algorithm} {setting}");
        let _ = writeln!(table, "| {} | {short} | {long} | {:.1} |", name.trim(), queue_delay_mean_ms.mean);
    }
    table
}

/// A row of the table of phases: one flow under one setting.
#[derive(Debug, Serialize)]
struct Phases {
    setting: &'static str,
    flow: &'static str,
    /// Median lengths of the phases up, down and cruise.
    lengths_ms: [f64; 3],
    bandwidth_estimate_mbps: f64,
    goodput_mbps: f64,
    cwnd_pkts: f64,
    inflight_pkts: f64,
}

fn phases(signals: &Signals, quiet: bool) -> Result<Vec<Phases>, Failure> {
    let interval = Set::argument("--set", "interval", format!("{}us", STEP.as_micros()));
    let scenario = |setting: &&str| scenario("bbq", setting, "60s", std::slice::from_ref(&interval));
    let scenarios = PHASE_SETTINGS.iter().map(scenario).collect::<Result<Vec<_>, _>>()?;
    let rows = batch::simulate_all(&scenarios, None, signals, quiet, |index, run: Run| {
        let from_s = scenarios[index].window.0.as_secs_f64();
        [0, 1].map(|flow| phases_of(&run.series, flow, PHASE_SETTINGS[index], from_s))
    })?;
    Ok(rows.into_iter().flatten().collect())
}

fn phases_of(series: &Series, flow: usize, setting: &'static str, from_s: f64) -> Phases {
    let first = series.t_s.partition_point(|t| *t < from_s);
    let of: &FlowSeries = &series.flows[flow];
    let lengths = |phase: Phase| {
        let runs = of.phase[first..].chunk_by(|a, b| a == b).filter(|run| run[0] == phase as i8);
        median(runs.map(|run| run.len() as f64 * STEP.as_secs_f64() * 1e3).collect())
    };
    let mean = |column: &[f32]| {
        let values = column[first..].iter().map(|value| f64::from(*value));
        values.sum::<f64>() / (column.len() - first) as f64
    };
    Phases {
        setting,
        flow: RTTS[flow],
        lengths_ms: CYCLE.map(lengths),
        bandwidth_estimate_mbps: mean(&of.bw_mbps),
        goodput_mbps: mean(&of.goodput_mbps),
        cwnd_pkts: mean(&of.cwnd_pkts),
        inflight_pkts: mean(&of.inflight_pkts),
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => f64::NAN,
        n if n % 2 == 0 => (values[n / 2 - 1] + values[n / 2]) / 2.0,
        n => values[n / 2],
    }
}

fn phases_table(rows: &[Phases]) -> String {
    let mut table = String::from(
        "| | flow | up, ms | down, ms | cruise, ms \
         | bandwidth estimate, Mbit/s | goodput | cwnd | inflight |\n\
         |---|---|---|---|---|---|---|---|---|\n",
    );
    for row in rows {
        let [up, down, cruise] = row.lengths_ms;
        let name = format!("bbq {}", row.setting);
        let _ = writeln!(
            table,
            "| {} | {} | {up:.1} | {down:.1} | {cruise:.1} | {:.1} | {:.1} | {:.1} | {:.1} |",
            name.trim(),
            row.flow,
            row.bandwidth_estimate_mbps,
            row.goodput_mbps,
            row.cwnd_pkts,
            row.inflight_pkts
        );
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::assert_documented;

    #[test]
    fn both_records_are_documented() {
        let spread = Spread::of(&[1.0]);
        let shares = Shares {
            algorithm: "bbq",
            setting: "",
            goodput_mbps: [spread, spread],
            queue_delay_mean_ms: spread,
        };
        assert_documented("bbq-gap shares", &[shares]);
        let phases = Phases {
            setting: "",
            flow: "10ms",
            lengths_ms: [1.0; 3],
            bandwidth_estimate_mbps: 1.0,
            goodput_mbps: 1.0,
            cwnd_pkts: 1.0,
            inflight_pkts: 1.0,
        };
        assert_documented("bbq-gap phases", &[phases]);
    }
}
