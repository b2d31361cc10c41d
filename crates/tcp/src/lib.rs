//! A Linux-like TCP sender and receiver, without I/O
