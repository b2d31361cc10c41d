//! The criteria of LEVEL expand to what they were defined by; files, judgement and pages.

mod criteria;
mod format;
mod judging;
mod level;
mod media;
mod pages;
mod paths;
mod report;
mod support;
