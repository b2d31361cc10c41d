//! Tests of the report with a parser and a browser.

mod looks;
mod report;
mod support;
