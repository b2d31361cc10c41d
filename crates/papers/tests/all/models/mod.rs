//! The papers' equations: their published numbers, and algebraic properties for all arguments.

mod evaluate;
mod level;
mod mimd;
mod queueing;
