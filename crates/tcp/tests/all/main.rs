//! Sender and receiver over a scripted channel: recovery, marks, and each switch of the sender.

mod channel;
mod marks;
mod receiving;
mod recovery;
mod sending;
mod support;
mod switches;
