//! Tests of the report with a parser and a browser.

mod report;
mod support;
