//! Inputs of each tool beside their translations, and any text.

mod any_text;
mod snapshots;
