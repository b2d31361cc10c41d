//! An administrator in a guest: commands, and checks after each.

use std::fs;
use std::io::{self, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;

use fairpace_cc::Algorithm;
use fairpace_robustness::machine::offered;
use fairpace_robustness::soak::traffic::{connected, send};

use super::record::Step;

/// Bytes of a transfer after each command: enough to need many ACKs, and few enough for an emulated machine.
const FEW_BYTES: usize = 512 * 1024;
pub(super) const LOOPBACK: &str = "127.0.0.1";
pub(super) const DEFAULT: &str = "/proc/sys/net/ipv4/tcp_congestion_control";
/// Exit code for a command that this kernel cannot perform.
const UNSUPPORTED: i32 = 3;

pub(super) fn report(out: &mut dyn Write, step: &Step) -> io::Result<()> {
    serde_json::to_writer(&mut *out, step)?;
    writeln!(out)?;
    out.flush()
}

pub(super) fn offers(name: &str) -> bool {
    offered().iter().any(|offered| offered == name)
}

/// A check after a command, which adds the failures that it finds.
type After<'a> = &'a mut dyn FnMut(&mut Vec<String>);

pub(super) struct Operator<'a> {
    pub(super) program: &'a Path,
    pub(super) has_links: bool,
    pub(super) out: &'a mut dyn Write,
}

impl Operator<'_> {
    /// Performs a command, which must succeed, and a check after it.
    pub(super) fn perform(&mut self, line: &str, after: After<'_>) -> io::Result<()> {
        self.perform_and_read(line, &mut |_, failures| after(failures))
    }

    /// Performs a command, which must succeed, and a check that gets the command's output.
    pub(super) fn perform_and_read(
        &mut self,
        line: &str,
        after: &mut dyn FnMut(&str, &mut Vec<String>),
    ) -> io::Result<()> {
        let ended = Command::new(self.program).args(line.split(' ')).env("NO_COLOR", "1").output()?;
        let said = [ended.stdout, ended.stderr].concat();
        let mut failures = Vec::new();
        // where struct_ops have no links, nothing loaded can be replaced: refusing it is right
        let refused =
            line.starts_with("replace ") && !self.has_links && ended.status.code() == Some(UNSUPPORTED);
        if !refused && !ended.status.success() {
            failures.push(format!("ended with {:?}", ended.status.code()));
        }
        let output = String::from_utf8_lossy(&said).into_owned();
        after(&output, &mut failures);
        let step = Step::Command { line: line.to_owned(), code: ended.status.code(), output, failures };
        report(self.out, &step)
    }
}

pub(super) fn nothing_left(failures: &mut Vec<String>) {
    let left = Algorithm::all().filter(|algorithm| offers(algorithm.kernel_name()));
    failures.extend(left.map(|algorithm| format!("{} is still offered", algorithm.kernel_name())));
}

pub(super) fn expect_default(failures: &mut Vec<String>, name: &str) {
    let now = fs::read_to_string(DEFAULT).unwrap_or_default();
    if now.trim() != name {
        failures.push(format!("the default is {}, not {name}", now.trim()));
    }
}

/// Checks that a new socket that selects no algorithm gets this algorithm, and moves data.
pub(super) fn expect_used(failures: &mut Vec<String>, name: &str) -> Option<TcpStream> {
    let mut socket = connected(LOOPBACK).map_err(|error| failures.push(format!("connecting: {error}"))).ok();
    expect_still(failures, socket.as_mut(), name);
    socket
}

/// Checks that an open socket has this algorithm, and still moves data.
pub(super) fn expect_still(failures: &mut Vec<String>, socket: Option<&mut TcpStream>, name: &str) {
    let Some(socket) = socket else { return failures.push("there is no open socket".to_owned()) };
    match send(socket, 0, FEW_BYTES) {
        Ok(used) if used == name => {}
        Ok(used) => failures.push(format!("the socket uses {used}, not {name}")),
        Err(error) => failures.push(format!("the socket: {error}")),
    }
}
