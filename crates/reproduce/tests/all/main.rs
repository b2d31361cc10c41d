//! The gallery and the pages of questions as a parser sees them.

mod gallery;
mod pages;
mod support;
