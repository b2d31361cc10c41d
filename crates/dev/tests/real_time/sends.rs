//! The kernel host reports each packet's sending and loss to BBRv3 as they happened. `make accuracy` prints
//! more.

use std::ffi::OsString;
use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::sleep;
use std::time::Duration;

use fairpace_cc::{Event, View};
use fairpace_dev::truth::{Case, Comparison, Record, Recorder, is_shown_by, run};
use fairpace_kernel::Features;
use fairpace_results::Silent;
use fairpace_test_support::{announce, exclusive, skip};
use fairpace_testbed::ATTEMPTS;
use nix::libc;
use nix::sched::{CloneFlags, unshare};
use nix::sys::socket::{setsockopt, sockopt::TcpCongestion};

/// Part of the samples whose packets in flight must be exact to the packet. What is not exact is near losses.
const EXACT: f64 = 0.95;

/// Whether this machine can load algorithms; if not, the test is reported as skipped.
fn has_kernel() -> bool {
    let features = Features::probe().require();
    if let Err(error) = &features {
        skip(&error.to_string());
    }
    features.is_ok()
}

/// A suffix that no other test or process uses at the moment.
fn suffix() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("_{:x}{:x}", std::process::id() & 0xffff, NEXT.fetch_add(1, Ordering::Relaxed) & 0xf)
}

/// Of a run that the machine did not disturb. `None`, said loudly: not on this machine, or not now.
fn compare(name: &'static str, link: &'static str, flow: &'static str, seconds: u64) -> Option<Comparison> {
    let case = Case { name, link, flow, seconds };
    if !has_kernel() {
        return None;
    }
    let release = Features::probe().release;
    if !is_shown_by(&release) {
        announce(
            "SKIPPED",
            &format!("{release} does not show what happened to a packet; Linux 6.10 and later do"),
        );
        return None;
    }
    if let Err(e) = fairpace_testbed::check_machine(&fairpace_testbed::Options::default()) {
        skip(&e.to_string());
        return None;
    }
    for _ in 0..ATTEMPTS {
        let found = run(&case, &suffix(), &mut Silent).unwrap_or_else(|e| panic!("{e}"));
        let Some(why) = &found.disturbed else { return Some(found) };
        announce("DISTURBED", why);
    }
    announce("NOT JUDGED", &format!("the machine disturbed {ATTEMPTS} runs"));
    None
}

#[test]
fn on_a_clean_path_every_packet_is_known_as_it_was() {
    let _alone = exclusive();
    let Some(found) = compare("clean", "rate = '50mbit'\nbuffer = '1MB'", "rtt = '20ms'", 3) else { return };
    assert!(found.sample_inflight.count() > 1_000, "{found:?}");
    assert!(found.sample_inflight.exact() > 0.999, "{}", found.sample_inflight);
    assert!(found.sample_lost.exact() > 0.999, "{}", found.sample_lost);
    assert!(
        found.stateless_inflight.exact() < EXACT,
        "what needs no memory is as good: {}",
        found.stateless_inflight
    );
}

#[test]
fn losses_at_a_small_buffer_are_reported_and_judged_as_they_were() {
    let _alone = exclusive();
    let Some(found) = compare("small buffer", "rate = '20mbit'\nbuffer = '20kB'", "rtt = '20ms'", 4) else {
        return;
    };
    assert!(found.lost_events > 10, "{found:?}");
    assert!(found.event_losses.exact() > 0.97, "how many were lost: {}", found.event_losses);
    assert!(found.sample_inflight.exact() > EXACT, "{}", found.sample_inflight);
    assert!(found.event_inflight.within(10) > 0.8, "{}", found.event_inflight);
    let wrong = found.loss_tests_wrong as f64 / found.loss_tests as f64;
    assert!(found.loss_tests > 50 && wrong < 0.03, "{} of {}", found.loss_tests_wrong, found.loss_tests);
    assert!(
        found.stateless_inflight.exact() < EXACT,
        "what needs no memory is as good: {}",
        found.stateless_inflight
    );
}

#[test]
fn reordered_packets_are_known_as_they_were_sent() {
    let _alone = exclusive();
    let flow = "rtt = '20ms'\nreorder = '2%'\nreorder_delay = '10ms'";
    let Some(found) = compare("reordering", "rate = '20mbit'\nbuffer = '1MB'", flow, 4) else { return };
    assert!(found.lost_events > 0, "late by more than a quarter of the RTT, they count as lost: {found:?}");
    assert!(found.event_losses.exact() > 0.9, "how many were lost: {}", found.event_losses);
    assert!(found.sample_inflight.exact() > EXACT, "{}", found.sample_inflight);
}

/// Moves the calling thread, and those that it starts, into a network namespace of their own with a loopback
/// device; it goes away with the last of them.
fn enter_own_namespace() {
    unshare(CloneFlags::CLONE_NEWNET).expect("unshare");
    let status = std::process::Command::new("ip").args(["link", "set", "lo", "up"]).status().expect("ip");
    assert!(status.success(), "ip link set lo up");
}

/// A connection over loopback whose sending side uses a congestion control from its first packet.
fn connect(congestion_control: &str) -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).expect("bind");
    // set on the listener, it holds for the sockets that it accepts
    setsockopt(&listener, TcpCongestion, &OsString::from(congestion_control)).expect("TCP_CONGESTION");
    let receiver = TcpStream::connect(listener.local_addr().expect("bound")).expect("connect");
    let (sender, _) = listener.accept().expect("accept");
    (sender, receiver)
}

/// The records of a flow over loopback, in a namespace of its own that `prepare` sets up.
fn records(prepare: impl FnOnce(), work: impl FnOnce(TcpStream, TcpStream)) -> Vec<Record> {
    enter_own_namespace();
    prepare();
    let recorder = Recorder::start(&suffix()).unwrap_or_else(|e| panic!("{e}"));
    let (sender, receiver) = connect(recorder.kernel_name());
    sender.set_nodelay(true).expect("TCP_NODELAY");
    receiver.set_read_timeout(Some(Duration::from_secs(20))).expect("timeout");
    work(sender, receiver);
    recorder.finish().unwrap_or_else(|e| panic!("{e}"))
}

fn acks(records: &[Record]) -> impl Iterator<Item = &View> {
    records.iter().filter_map(|r| if let Record::Ack(view) = r { Some(&**view) } else { None })
}

/// Sends a small packet and waits for it to arrive.
fn ping(sender: &mut TcpStream, receiver: &mut TcpStream) {
    sender.write_all(b"x").expect("write");
    receiver.read_exact(&mut [0]).expect("read");
}

/// Makes a socket drop all that arrives, or accept it again.
fn set_dropping(socket: &TcpStream, dropping: bool) {
    let mut accept_nothing =
        libc::sock_filter { code: (libc::BPF_RET | libc::BPF_K) as u16, jt: 0, jf: 0, k: 0 };
    let program = libc::sock_fprog { len: 1, filter: &raw mut accept_nothing };
    let option = if dropping { libc::SO_ATTACH_FILTER } else { libc::SO_DETACH_FILTER };
    let bytes = size_of_val(&program) as libc::socklen_t;
    // SAFETY: the kernel reads the program, and the one instruction that it points to, during the call only
    let result = unsafe {
        libc::setsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, option, (&raw const program).cast(), bytes)
    };
    assert_eq!(result, 0, "{}", std::io::Error::last_os_error());
}

#[test]
fn a_tail_loss_that_a_probe_repaired_is_reported() {
    let _alone = exclusive();
    if !has_kernel() {
        return;
    }
    let records = records(
        || {},
        |mut sender, mut receiver| {
            for _ in 0..20 {
                ping(&mut sender, &mut receiver);
            }
            set_dropping(&receiver, true);
            sender.write_all(b"x").expect("write");
            sleep(Duration::from_millis(50)); // a probe for a single packet goes out after 200 ms
            set_dropping(&receiver, false);
            receiver.read_exact(&mut [0]).expect("the probe arrives");
            ping(&mut sender, &mut receiver); // only what comes next shows that but one of the two arrived
            ping(&mut sender, &mut receiver);
        },
    );
    let probe_acks = acks(&records).filter(|view| view.is_probe_ack).count();
    assert_eq!(probe_acks, 1, "the ACK of the probe");
    let repaired =
        records.iter().filter(|r| matches!(r, Record::Event(e, _) if *e == Event::ProbeRepaired as u32));
    assert_eq!(repaired.count(), 1, "{records:?}");
}

#[test]
fn whether_both_ends_agreed_on_ecn_is_reported() {
    let _alone = exclusive();
    if !has_kernel() {
        return;
    }
    for (setting, agreed) in [("0", false), ("1", true)] {
        let set = || fs::write("/proc/sys/net/ipv4/tcp_ecn", setting).expect("tcp_ecn of this namespace");
        let records = records(set, |mut sender, mut receiver| ping(&mut sender, &mut receiver));
        assert!(acks(&records).count() > 0);
        assert!(acks(&records).all(|view| view.ecn == agreed), "tcp_ecn = {setting}: {records:?}");
    }
}
