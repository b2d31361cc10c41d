//! What papers report, held against what we measure.
//!
//! A figure or table of a paper is a folder `reproduction/PAPER/FIGURE/`: scenarios, and a `figure.toml`
//! ([`figure`]) that says what to run, what the paper reports with its words, what must hold, and how the
//! picture looks. Running it gives a [`record`]: the same with our numbers and a verdict, from which the
//! gallery and REPRODUCTION.md are written.
//!
//! It computes no metric: numbers come from `fairpace-results` (runs) and `fairpace-models` (equations).
//! Who runs the scenarios, and how many at a time, is the program's business.

pub mod cache;
pub mod figure;
pub mod gallery;
pub mod grid;
pub mod index;
pub mod load;
pub mod measure;
pub mod pages;
pub mod plan;
pub mod record;
pub mod results;
pub mod sheet;
pub mod source;
pub mod table;
pub mod text;

mod check;
mod draw;
mod judge;
mod paths;
#[cfg(test)]
mod sample;
