//! Sender and receiver over a scripted channel: handshake, recovery, marks, and each switch of the sender.

mod channel;
mod handshake;
mod marks;
mod receiving;
mod recovery;
mod sending;
mod support;
mod switches;
