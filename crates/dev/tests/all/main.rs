//! The program `fairpace-dev`. Commands run within the test process, except where a signal ends them.

mod abuse;
mod csv_files;
mod duels;
mod evaluations;
mod figures;
mod level_theory;
mod limit;
mod packetdrill;
mod pages;
mod recipe;
mod records;
mod support;
mod swarm;
mod tables;
mod validation;
