//! The gallery, the index and the pages of questions as a parser sees them.

mod gallery;
mod index;
mod pages;
mod support;
