//! Scripts of our own, what each of them finds, and texts that are no scripts.

mod language;
mod scripts;
