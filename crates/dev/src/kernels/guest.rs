//! `fairpace-dev kernel-check`: the checks within a kernel that scripts/kernels.sh has booted.

use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::net::TcpStream;
use std::ops::Range;
use std::path::Path;
use std::time::Duration;

use fairpace_cc::{Algorithm, Params};
use fairpace_kernel::{Features, LoadOptions, Loaded, load};
use fairpace_robustness::hostile::FIRST_RANDOM;
use fairpace_robustness::machine::on_own_thread;
use fairpace_robustness::soak::kernel_log::KernelLog;
use fairpace_robustness::soak::path::{self, RECEIVER};
use fairpace_robustness::soak::reordering::{REORDERED_CONNECTIONS, each};
use fairpace_robustness::soak::traffic::{connected, send, serve};
use nix::sys::socket::{setsockopt, sockopt::TcpCongestion};

use super::operator::{
    DEFAULT, LOOPBACK, Operator, expect_default, expect_still, expect_used, nothing_left, offers, report,
};
use super::panic;
use super::record::Step;
use crate::args::KernelCheckArgs;

/// Bytes of one transfer: the whole pool, so that flows leave slow start even where a packet takes long.
const BYTES: usize = 4 * 1024 * 1024;
/// Number of hostile headers in the check.
const FEW_HEADERS: u32 = 5;
/// Time for which each of these [`FEW_HEADERS`] runs.
const FEW_TIME: Duration = Duration::from_secs(5);
/// Time for which each hostile header runs, if the check has no other steps.
const HOSTILE_TIME: Duration = Duration::from_secs(30);
/// Number of connections of a hostile header.
const HOSTILE_FLOWS: usize = 50;
const LOCKDOWN: &str = "/sys/kernel/security/lockdown";

/// Performs all checks, continues after failures, and writes a line for each step.
pub(super) fn check(args: &KernelCheckArgs, out: &mut (dyn Write + Send)) -> io::Result<()> {
    let log = KernelLog::open();
    report(out, &kernel())?;
    if let Some(time) = args.reordering {
        reordering(time, out)?;
        return report(out, &Step::End { alarms: log.alarms().all() });
    }
    if let (Some(headers), Some(objects)) = (args.hostile, &args.objects) {
        hostile(objects, args.first..args.first.saturating_add(headers), HOSTILE_TIME, out)?;
        return report(out, &Step::End { alarms: Vec::new() }); // each header has its own
    }
    let mut operator = Operator { program: &args.program, has_links: Features::probe().has_links(), out };
    operator.perform("doctor", &mut |_| ())?;
    for step in paths()? {
        report(operator.out, &step)?;
    }
    lifecycle(&mut operator)?;
    // before what warns on purpose
    let alarms = log.alarms().all();
    if let Some(objects) = &args.objects {
        hostile(objects, FIRST_RANDOM..FIRST_RANDOM + FEW_HEADERS, FEW_TIME, out)?;
    }
    report(out, &Step::End { alarms })
}

/// Checks hostile headers with these numbers.
fn hostile(
    objects: &Path,
    numbers: Range<u32>,
    time: Duration,
    out: &mut (dyn Write + Send),
) -> io::Result<()> {
    super::hostile::check(objects, numbers, HOSTILE_FLOWS, time, |header| report(out, &Step::Hostile(header)))
}

/// Checks each algorithm over a path that reorders.
fn reordering(time: Duration, out: &mut (dyn Write + Send)) -> io::Result<()> {
    let all: Vec<Algorithm> = Algorithm::all().collect();
    each(&all, REORDERED_CONNECTIONS, time, |result| {
        report(out, &Step::Reordered(result))?;
        Ok(true)
    })
}

fn kernel() -> Step {
    let text = |path| fs::read_to_string(path).unwrap_or_default();
    // "none integrity [confidentiality]"
    let lockdown = text(LOCKDOWN);
    let active = lockdown.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    Step::Kernel {
        release: text("/proc/sys/kernel/osrelease").trim().to_owned(),
        lockdown: active.map_or("unknown", |(level, _)| level).to_owned(),
    }
}

/// Checks each algorithm on loopback and between two hosts, whose namespaces end with the thread that is in
/// one of them.
fn paths() -> io::Result<Vec<Step>> {
    on_own_thread(|| {
        let receiver = path::enter()?;
        path::ip("link set lo up")?;
        serve(LOOPBACK)?;
        receiver.enter(|| serve(RECEIVER))?;
        Ok(Algorithm::all().map(algorithm).collect())
    })
}

/// Reports ACKs that were handled without the algorithm, because the kernel had no room for its state. The
/// data arrive nevertheless.
fn without_state(loaded: &Loaded) -> Option<String> {
    match loaded.counters() {
        Ok(counters) if counters.fallbacks == 0 => None,
        Ok(counters) => Some(format!("{} ACKs were handled without state", counters.fallbacks)),
        Err(error) => Some(error.to_string()),
    }
}

fn algorithm(algorithm: Algorithm) -> Step {
    let (mut bytes, mut failures) = (0, Vec::new());
    let loaded = match load(&Params::defaults(algorithm), &LoadOptions::default()) {
        Ok(loaded) => loaded,
        Err(error) => {
            let failures = vec![format!("loading: {error}")];
            return Step::Algorithm { name: algorithm.name().into(), instructions: None, bytes, failures };
        }
    };
    for (what, address) in [("loopback", LOOPBACK), ("veth", RECEIVER)] {
        match selected(address, loaded.kernel_name()).and_then(|mut socket| send(&mut socket, 0, BYTES)) {
            Ok(used) if used == loaded.kernel_name() => bytes += BYTES as u64,
            Ok(used) => failures.push(format!("{what}: the socket used {used}")),
            Err(error) => failures.push(format!("{what}: {error}")),
        }
    }
    failures.extend(without_state(&loaded));
    let instructions = loaded.programs().iter().map(|program| program.verified_instructions).sum();
    drop(loaded);
    if offers(algorithm.kernel_name()) {
        failures.push("it is still offered after unloading".to_owned());
    }
    Step::Algorithm { name: algorithm.name().into(), instructions: Some(instructions), bytes, failures }
}

fn selected(address: &str, name: &str) -> io::Result<TcpStream> {
    let socket = connected(address)?;
    setsockopt(&socket, TcpCongestion, &OsString::from(name))?;
    Ok(socket)
}

/// Checks the commands for algorithms on this host, with a socket that is open all the time.
fn lifecycle(operator: &mut Operator<'_>) -> io::Result<()> {
    serve(LOOPBACK)?;
    let former = fs::read_to_string(DEFAULT)?.trim().to_owned();
    let all: Vec<Algorithm> = Algorithm::all().collect();
    let names: Vec<&str> = all.iter().map(|algorithm| algorithm.name()).collect();
    operator.perform(&format!("load {}", names.join(" ")), &mut |failures| {
        let missing = all.iter().filter(|algorithm| !offers(algorithm.kernel_name()));
        failures.extend(missing.map(|algorithm| format!("{} is not offered", algorithm.name())));
    })?;
    operator.perform("unload --all", &mut |failures| nothing_left(failures))?;
    let mut open = None;
    operator.perform("enable bbr3 --default", &mut |failures| {
        expect_default(failures, "fp_bbr3");
        open = expect_used(failures, "fp_bbr3");
    })?;
    operator.perform("replace bbr3 --set beta=0.8", &mut |failures| {
        expect_default(failures, "fp_bbr3");
        expect_still(failures, open.as_mut(), "fp_bbr3");
    })?;
    operator.perform("enable cubic", &mut |failures| expect_default(failures, "fp_bbr3"))?;
    operator.perform("default fp_cubic", &mut |failures| {
        expect_default(failures, "fp_cubic");
        drop(expect_used(failures, "fp_cubic"));
    })?;
    operator.perform("restore", &mut |failures| {
        expect_default(failures, &former);
        drop(expect_used(failures, &former));
    })?;
    panic::check(operator, open)
}
