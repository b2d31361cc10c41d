//! Internal: only Fairpace's own crates use it. The experiments of papers, and the comparison of our results
//! with theirs.
//!
//! A figure or table of a paper is a folder `reproduction/PAPER/FIGURE/` with scenarios and a `figure.toml`
//! ([`figure`]): the runs, what the paper reports in its own words, the shapes that must hold, and the plots.
//! The runs of a figure give a [`record`]: the numbers of its checks. REPRODUCTION.md ([`front`]), a [`page`]
//! for each paper and the [`gallery`] are generated from figures and records.
//!
//! This crate computes no metric: numbers come from `fairpace-experiment` (runs) and [`models`] (equations).
//! It does not run scenarios: `fairpace-dev run` does.

#![forbid(unsafe_code)]

pub mod csv_file;
pub mod figure;
pub mod front;
pub mod gallery;
pub mod judge;
pub mod kept;
pub mod load;
pub mod measure;
pub mod models;
pub mod page;
pub mod plan;
pub mod record;
pub mod results;
pub mod sheet;
pub mod shown;
pub mod source;
pub mod table;
pub mod tables;
pub mod tally;
pub mod text;

mod check;
mod draw;
mod keys;
mod paths;
mod places;
mod runs;
#[cfg(test)]
mod tests;
pub mod values;
