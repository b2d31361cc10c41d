//! The results of a run: one row per flow, or per link.
//!
//! Columns have the names and numbers of `summary.json`, rounded as there; columns of a part of the summary
//! begin with the part's name, such as `completions_p50_ms`.

use fairpace_results::{Column, FlowSummary, LinkSummary, Read, Run, round};

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
            Results::Flows => table(FlowSummary::COLUMNS, &run.summary.flows, run_info),
            Results::Links => table(LinkSummary::COLUMNS, &run.summary.links, run_info),
        }
    }
}

fn kind<R>(read: &Read<R>) -> Kind {
    match read {
        Read::Text(_) => Kind::Utf8,
        Read::Count(_) => Kind::UInt64,
        Read::Number(_) => Kind::Float64,
    }
}

fn column<R>(read: &Read<R>, records: &[R]) -> table::Column {
    match read {
        Read::Text(of) => table::Column::texts(records.iter().map(|record| Some(of(record)))),
        Read::Count(of) => table::Column::UInt64(records.iter().map(of).collect()),
        Read::Number(of) => {
            let known = |record| of(record).filter(|x| x.is_finite()).map(round);
            table::Column::Float64(records.iter().map(known).collect())
        }
    }
}

fn table<R>(columns: &[Column<R>], records: &[R], run_info: &RunInfo) -> Result<ArrowTable, Error> {
    let named: Vec<_> = columns.iter().map(|(name, read)| (*name, kind(read))).collect();
    let mut rows = Batch::new(&named);
    rows.write(columns.iter().map(|(_, read)| column(read, records)).collect())?;
    ArrowTable::of(rows, run_info)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use fairpace_results::{Completions, LossBursts, MediaSummary, Summary};
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
        assert_eq!(columns(FlowSummary::COLUMNS), renamed("name", "flow", fields(&json["flows"][0])));
        let mut links = renamed("name", "link", fields(&json["links"][0]));
        assert!(links.remove("backlog_share"), "it is a list, and a table of its own in the series");
        assert_eq!(columns(LinkSummary::COLUMNS), links);
    }
}
