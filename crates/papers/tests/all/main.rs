//! The gallery, the index and the pages of questions as a parser sees them; the equations of models.

mod gallery;
mod models;
mod pages;
mod support;
