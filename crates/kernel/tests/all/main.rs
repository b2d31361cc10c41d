//! Loading into this machine's kernel, TCP flows there, and the native build compared with the eBPF build.

mod bounds;
mod flows;
mod loading;
mod namespaces;
mod parity;
mod probe;
mod service;
mod sockets;
mod support;
mod users_object;
mod verifier;
