//! The papers' equations: their published numbers, and algebraic properties for all arguments.

mod evaluate;
mod mimd;
mod queueing;
