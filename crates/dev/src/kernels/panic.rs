//! `fairpace panic` in a guest: it visits all network namespaces of the machine.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::net::{TcpListener, TcpStream};
use std::thread::sleep;
use std::time::{Duration, Instant};

use fairpace_kernel::{Namespace, list, namespaces, set_default};
use fairpace_robustness::machine::on_own_thread;
use fairpace_robustness::soak::path::ip;
use nix::sched::{CloneFlags, unshare};
use nix::sys::socket::{getsockopt, setsockopt, sockopt::TcpCongestion};

use super::operator::{DEFAULT, LOOPBACK, Operator, expect_default, expect_still, nothing_left};

/// The default before ours: not `cubic`, which live sockets get.
const FORMER: &str = "reno";
const OURS: &str = "fp_bbr3";
/// Time in which an emulated kernel must free an algorithm without users: some grace periods of RCU.
const FREEING: Duration = Duration::from_secs(20);

/// Checks `fairpace panic`. `open` is a connection that uses [`OURS`], which is loaded.
pub(super) fn check(operator: &mut Operator<'_>, mut open: Option<TcpStream>) -> io::Result<()> {
    fs::write(DEFAULT, FORMER)?;
    operator.perform("default bbr3", &mut |failures| {
        expect_default(failures, OURS);
        // its receiver waits for a minute, and the commands around this one can take as long on a busy host
        expect_still(failures, open.as_mut(), OURS);
    })?;
    let follower = TcpListener::bind((LOOPBACK, 0))?;
    let chooser = TcpListener::bind((LOOPBACK, 0))?;
    setsockopt(&chooser, TcpCongestion, &OsString::from(OURS))?;
    let elsewhere = Elsewhere::make()?;
    operator.perform_and_read("panic", &mut |said, failures| {
        expect_default(failures, FORMER);
        nothing_left(failures);
        // live sockets are moved to what Linux itself would choose
        expect_still(failures, open.as_mut(), "cubic");
        expect(failures, "a listener that chose", accepted_by(&chooser), "cubic");
        expect(failures, "one that did not", accepted_by(&follower), FORMER);
        expect(failures, "it, after another default", accepted_after("cubic", &follower), "cubic");
        elsewhere.expect_freed(failures);
        expect_words(failures, said, "left alone, listeners that never chose an algorithm: 1.");
        expect_words(failures, said, &format!("they keep {OURS} in the kernel"));
    })?;
    fs::write(DEFAULT, FORMER)?;
    operator.perform_and_read("panic --free --walk descriptors --json", &mut |said, failures| {
        expect(failures, "the listener that is freed", accepted_by(&follower), FORMER);
        expect(failures, "it, after another default", accepted_after("cubic", &follower), FORMER);
        for words in [r#""listeners_left":0"#, r#""listeners_moved":1"#, r#""walk":"descriptors""#] {
            expect_words(failures, &said.replace(' ', ""), words);
        }
        expect_freed(failures);
    })
}

/// A network namespace that exists only through its sockets.
struct Elsewhere {
    inode: u32,
    listener: TcpListener,
    connection: TcpStream,
    accepted: TcpStream,
}

impl Elsewhere {
    fn make() -> io::Result<Elsewhere> {
        let make = || {
            unshare(CloneFlags::CLONE_NEWNET)?;
            ip("link set lo up")?;
            fs::write(DEFAULT, FORMER)?;
            set_default(OURS).map_err(io::Error::other)?;
            let listener = TcpListener::bind((LOOPBACK, 0))?;
            setsockopt(&listener, TcpCongestion, &OsString::from(OURS))?;
            let connection = TcpStream::connect(listener.local_addr()?)?;
            let (accepted, _) = listener.accept()?;
            let inode = Namespace::at("/proc/thread-self/ns/net".as_ref())?.inode;
            Ok(Elsewhere { inode, listener, connection, accepted })
        };
        on_own_thread(make)
    }

    fn expect_freed(&self, failures: &mut Vec<String>) {
        expect(failures, "a listener of another namespace", selected(&self.listener), "cubic");
        expect(failures, "a connection of another namespace", selected(&self.connection), "cubic");
        expect(failures, "its other end", selected(&self.accepted), "cubic");
        let all = namespaces().map(|all| all.found).unwrap_or_default();
        let found = all.iter().find(|found| found.inode == self.inode);
        let default = found.and_then(|found| found.enter(fairpace_kernel::default).ok()?.ok());
        expect(failures, "its default", Ok(default.unwrap_or_default()), FORMER);
    }
}

fn selected(socket: &impl std::os::fd::AsFd) -> io::Result<String> {
    Ok(getsockopt(socket, TcpCongestion)?.to_string_lossy().trim_end_matches('\0').to_owned())
}

/// Name of the algorithm that a connection has when a listener accepts it.
fn accepted_by(listener: &TcpListener) -> io::Result<String> {
    let _other = TcpStream::connect(listener.local_addr()?)?;
    selected(&listener.accept()?.0)
}

fn accepted_after(default: &str, listener: &TcpListener) -> io::Result<String> {
    fs::write(DEFAULT, default)?;
    accepted_by(listener)
}

fn expect(failures: &mut Vec<String>, what: &str, found: io::Result<String>, wanted: &str) {
    match found {
        Ok(found) if found == wanted => {}
        Ok(found) => failures.push(format!("{what} has {found}, not {wanted}")),
        Err(error) => failures.push(format!("{what}: {error}")),
    }
}

fn expect_words(failures: &mut Vec<String>, said: &str, words: &str) {
    if !said.contains(words) {
        failures.push(format!("it does not say: {words}"));
    }
}

/// Checks that the kernel has no algorithm of ours, not even an unloaded one.
fn expect_freed(failures: &mut Vec<String>) {
    let deadline = Instant::now() + FREEING;
    loop {
        match list() {
            Ok(entries) if entries.is_empty() => return,
            Ok(_) if Instant::now() < deadline => sleep(Duration::from_millis(50)),
            other => return failures.push(format!("the kernel still has {other:?}")),
        }
    }
}
