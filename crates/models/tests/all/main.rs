//! The papers' equations: their published numbers, and what the algebra says for all arguments.

mod evaluate;
mod mimd;
mod queueing;
