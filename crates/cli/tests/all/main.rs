//! The program `fairpace` as users run it. Runs in real time are in the binary `real_time`.

mod bad_algorithms;
mod bad_input;
mod commands;
mod conform;
mod crates;
mod evaluate;
mod headers;
mod import;
mod lifecycle;
mod pages;
mod places;
mod repeat;
mod results;
mod support;
mod traces;
mod typed;
mod virtual_time;
