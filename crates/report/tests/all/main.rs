//! The report as a parser and a browser see it.

mod report;
mod support;
