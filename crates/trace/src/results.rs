//! The results of a run: one row per flow, or per link.
//!
//! Columns have the names and numbers of `summary.json`, rounded as there; columns of a part of the summary
//! begin with the part's name, such as `completions_p50_ms`.

use fairpace_results::{Completions, FlowSummary, LinkSummary, MediaSummary, Run, round};

use crate::table::{self, Batch, Kind, Rows};
use crate::{ArrowTable, Error, RunInfo};

/// A table of results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Results {
    /// A table with one row per flow.
    Flows,
    /// A table with one row per link.
    Links,
}

impl Results {
    /// Returns the table of a run.
    ///
    /// # Errors
    /// [`Error::Table`], only after a defect of this crate.
    pub fn table(self, run_info: &RunInfo, run: &Run) -> Result<ArrowTable, Error> {
        match self {
            Results::Flows => table(FLOWS, &run.summary.flows, run_info),
            Results::Links => table(LINKS, &run.summary.links, run_info),
        }
    }
}

/// The function that reads a column from its record.
enum Read<R> {
    Text(fn(&R) -> &str),
    Count(fn(&R) -> Option<u64>),
    Number(fn(&R) -> Option<f64>),
}

impl<R> Read<R> {
    fn kind(&self) -> Kind {
        match self {
            Read::Text(_) => Kind::Utf8,
            Read::Count(_) => Kind::UInt64,
            Read::Number(_) => Kind::Float64,
        }
    }

    fn column(&self, records: &[R]) -> table::Column {
        match self {
            Read::Text(of) => table::Column::texts(records.iter().map(|record| Some(of(record)))),
            Read::Count(of) => table::Column::UInt64(records.iter().map(of).collect()),
            Read::Number(of) => {
                let known = |record| of(record).filter(|x| x.is_finite()).map(round);
                table::Column::Float64(records.iter().map(known).collect())
            }
        }
    }
}

/// A column's name, and the function that reads it.
type Column<R> = (&'static str, Read<R>);

fn table<R>(columns: &[Column<R>], records: &[R], run_info: &RunInfo) -> Result<ArrowTable, Error> {
    let named: Vec<_> = columns.iter().map(|(name, read)| (*name, read.kind())).collect();
    let mut rows = Batch::new(&named);
    rows.write(columns.iter().map(|(_, read)| read.column(records)).collect())?;
    ArrowTable::of(rows, run_info)
}

fn transfers(flow: &FlowSummary) -> Option<&Completions> {
    flow.completions.as_ref()
}

fn media(flow: &FlowSummary) -> Option<&MediaSummary> {
    flow.media.as_ref()
}

const FLOWS: &[Column<FlowSummary>] = &[
    ("flow", Read::Text(|f| &f.name)),
    ("cc", Read::Text(|f| &f.cc)),
    ("rtt_ms", Read::Number(|f| Some(f.rtt_ms))),
    ("start_s", Read::Number(|f| Some(f.start_s))),
    ("completion_s", Read::Number(|f| f.completion_s)),
    ("failed", Read::Count(|f| Some(f.failed))),
    ("goodput_mbps", Read::Number(|f| Some(f.goodput_mbps))),
    ("share", Read::Number(|f| f.share)),
    ("sent_pkts", Read::Count(|f| f.sent_pkts)),
    ("retransmits", Read::Count(|f| Some(f.retransmits))),
    ("dropped_pkts", Read::Count(|f| Some(f.dropped_pkts))),
    ("loss_rate", Read::Number(|f| f.loss_rate)),
    ("marked_pkts", Read::Count(|f| Some(f.marked_pkts))),
    ("rtt_mean_ms", Read::Number(|f| f.rtt_mean_ms)),
    ("rtt_min_ms", Read::Number(|f| f.rtt_min_ms)),
    ("rtt_p50_ms", Read::Number(|f| f.rtt_p50_ms)),
    ("rtt_p95_ms", Read::Number(|f| f.rtt_p95_ms)),
    ("rtt_p99_ms", Read::Number(|f| f.rtt_p99_ms)),
    ("completions_began", Read::Count(|f| Some(transfers(f)?.began))),
    ("completions_completed", Read::Count(|f| Some(transfers(f)?.completed))),
    ("completions_mean_ms", Read::Number(|f| transfers(f)?.mean_ms)),
    ("completions_p50_ms", Read::Number(|f| transfers(f)?.p50_ms)),
    ("completions_p95_ms", Read::Number(|f| transfers(f)?.p95_ms)),
    ("completions_p99_ms", Read::Number(|f| transfers(f)?.p99_ms)),
    ("completions_slowdown_mean", Read::Number(|f| transfers(f)?.slowdown_mean)),
    ("completions_slowdown_p50", Read::Number(|f| transfers(f)?.slowdown_p50)),
    ("completions_slowdown_p95", Read::Number(|f| transfers(f)?.slowdown_p95)),
    ("completions_slowdown_p99", Read::Number(|f| transfers(f)?.slowdown_p99)),
    ("media_frames", Read::Count(|f| Some(media(f)?.frames))),
    ("media_late", Read::Count(|f| Some(media(f)?.late))),
    ("media_lost", Read::Count(|f| Some(media(f)?.lost))),
    ("media_late_or_lost", Read::Number(|f| media(f)?.late_or_lost)),
    ("media_longest_freeze_ms", Read::Number(|f| Some(media(f)?.longest_freeze_ms))),
    ("media_frame_delay_p50_ms", Read::Number(|f| media(f)?.frame_delay_p50_ms)),
    ("media_frame_delay_p95_ms", Read::Number(|f| media(f)?.frame_delay_p95_ms)),
    ("media_frame_delay_p99_ms", Read::Number(|f| media(f)?.frame_delay_p99_ms)),
    ("media_delay_p50_ms", Read::Number(|f| media(f)?.delay_p50_ms)),
    ("media_delay_p95_ms", Read::Number(|f| media(f)?.delay_p95_ms)),
    ("media_delay_p99_ms", Read::Number(|f| media(f)?.delay_p99_ms)),
    ("media_delay_variation_p99_ms", Read::Number(|f| media(f)?.delay_variation_p99_ms)),
];

const LINKS: &[Column<LinkSummary>] = &[
    ("link", Read::Text(|l| &l.name)),
    ("queue", Read::Text(|l| &l.queue)),
    ("rate_mbps", Read::Number(|l| Some(l.rate_mbps))),
    ("utilization", Read::Number(|l| Some(l.utilization))),
    ("queue_delay_mean_ms", Read::Number(|l| l.queue_delay_mean_ms)),
    ("queue_delay_p50_ms", Read::Number(|l| l.queue_delay_p50_ms)),
    ("queue_delay_p95_ms", Read::Number(|l| l.queue_delay_p95_ms)),
    ("queue_delay_p99_ms", Read::Number(|l| l.queue_delay_p99_ms)),
    ("queue_delay_max_ms", Read::Number(|l| l.queue_delay_max_ms)),
    ("drops", Read::Count(|l| Some(l.drops))),
    ("early_drops", Read::Count(|l| Some(l.early_drops))),
    ("loss_rate", Read::Number(|l| l.loss_rate)),
    ("lost", Read::Count(|l| Some(l.lost))),
    ("marks", Read::Count(|l| Some(l.marks))),
    ("duplicates", Read::Count(|l| Some(l.duplicates))),
    ("loss_bursts_longest_s", Read::Number(|l| Some(l.loss_bursts?.longest_s))),
    ("loss_bursts_long", Read::Count(|l| Some(l.loss_bursts?.long))),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use fairpace_results::{LossBursts, Summary};
    use serde_json::Value;

    use super::*;

    /// Returns the names of a record's fields in JSON. Fields of an object in the record have the object's
    /// name before theirs.
    fn fields(record: &Value) -> BTreeSet<String> {
        let within = |(name, value): (&String, &Value)| match value {
            Value::Object(part) => part.keys().map(|key| format!("{name}_{key}")).collect(),
            _ => vec![name.clone()],
        };
        record.as_object().map(|fields| fields.iter().flat_map(within).collect()).unwrap_or_default()
    }

    fn columns<R>(columns: &[Column<R>]) -> BTreeSet<String> {
        columns.iter().map(|(name, _)| (*name).to_owned()).collect()
    }

    #[test]
    fn every_field_of_the_summary_is_a_column() {
        let flow = FlowSummary {
            completions: Some(Completions::default()),
            media: Some(MediaSummary::default()),
            ..FlowSummary::default()
        };
        let link = LinkSummary { loss_bursts: Some(LossBursts::default()), ..LinkSummary::default() };
        let summary = Summary { flows: vec![flow], links: vec![link], ..Summary::default() };
        let json: Value = serde_json::from_str(&summary.stable_json()).unwrap();
        let renamed = |name: &str, to: &str, mut fields: BTreeSet<String>| {
            assert!(fields.remove(name));
            fields.insert(to.to_owned());
            fields
        };
        assert_eq!(columns(FLOWS), renamed("name", "flow", fields(&json["flows"][0])));
        let mut links = renamed("name", "link", fields(&json["links"][0]));
        assert!(links.remove("backlog_share"), "it is a list, and a table of its own in the series");
        assert_eq!(columns(LINKS), links);
    }
}
