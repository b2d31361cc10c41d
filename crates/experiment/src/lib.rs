//! Internal: only Fairpace's own crates use it. Evaluation: how many cases of given criteria an algorithm
//! passes.
//!
//! Criteria are a folder of files. A file is a [`Criterion`]: templates of scenarios, axes whose product
//! gives the cases, and conditions that must hold in each case. [`Criterion::cases`] expands a criterion into
//! scenarios for an algorithm, [`Measured`] has the metrics of a run, [`judge`] compares the metrics with the
//! conditions, and [`Record`] is the result of a whole evaluation, as JSON and as text. [`metric`] evaluates
//! the paths of numbers and series, [`combinations`] the axes, for figures and tables of papers, too.
//!
//! [`evaluation`] runs what the [`Store`] of finished runs does not have, and [`duels`] compares algorithms
//! in pairs, for `fairpace evaluate`, `fairpace-dev run` and Python. The crate defines no summary of a run:
//! `fairpace-results` does.

#![forbid(unsafe_code)]

mod axis;
mod condition;
pub mod contained;
mod criterion;
mod draw;
pub mod duels;
pub mod evaluation;
mod expand;
mod fragment;
mod heat;
mod item;
mod judge;
mod leaderboard;
mod markdown;
mod measure;
pub mod metric;
mod on_kernel;
mod page;
mod paths;
pub mod quick;
mod range;
mod record;
mod report;
mod score;
mod section;
mod source;
pub mod sources;
mod store;
mod template;
mod text;

pub use axis::{Axis, combinations};
pub use condition::Asked;
pub use criterion::{Criterion, load};
pub use draw::seed_of;
pub use expand::{Case, Form};
pub use heat::heat_map;
pub use judge::{Bound, Check, Held, Judged, Side, judge, worst};
pub use markdown::markdown_table;
pub use measure::{Measured, Metric};
pub use range::Range;
pub use record::{
    AlgorithmRecord, CaseRecord, ConditionCount, ConditionRecord, CriterionRecord, KernelRecord, Record,
    SCHEMA, Spread,
};
pub use section::Section;
pub use source::{Source, Wrong, paths_in};
pub use store::Store;
