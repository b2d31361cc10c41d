//! Class `signals`: a run gets one signal, or two, at random moments.

use std::ffi::OsString;
use std::time::Duration;

use nix::sys::signal::Signal;

use super::case::{Act, Case};
use super::dice::Dice;
use super::out::{COMPARE, SOME_TIME};

/// Draws an invocation.
pub(super) fn draw(dice: &mut Dice) -> Case {
    // an hour of the scenario takes minutes
    const LONG: [&str; 2] = ["--set", "duration=3600s"];
    let sim = ["sim", "s.toml"];
    let (what, case) = match dice.below(6) {
        0 => ("sim", Case::new(sim).arguments(LONG)),
        1 => ("sim --out", Case::new(sim).arguments(LONG).arguments(["--out", "out"])),
        2 => {
            let trace = ["--out", "out", "--trace", "series,events,qlog"];
            ("sim --trace", Case::new(sim).arguments(LONG).arguments(trace))
        }
        3 => {
            ("sim --pcap", Case::new(sim).arguments(LONG).arguments(["--out", "out", "--pcap", "bottleneck"]))
        }
        4 => {
            let repeat = ["--repeat", "1000", "--jobs", "2", "--out", "out"];
            ("sim --repeat", Case::new(sim).arguments(LONG).arguments(repeat))
        }
        _ => ("compare", Case::new(COMPARE).arguments(["--duration", "3600s", "--out", "out"])),
    };
    let case = case.file("s.toml", SOME_TIME);
    let case = if dice.percent(30) { case.arguments(["--json"]) } else { case };
    with_signals(what, case, dice)
}

fn with_signals(what: &str, mut case: Case, dice: &mut Dice) -> Case {
    use Signal::{SIGCONT, SIGHUP, SIGINT, SIGKILL, SIGQUIT, SIGSTOP, SIGTERM};
    const CAUGHT: [Signal; 3] = [SIGINT, SIGTERM, SIGHUP];
    let first = *dice.pick(&[SIGINT, SIGINT, SIGTERM, SIGTERM, SIGHUP, SIGQUIT, SIGKILL]);
    let mut at = dice.ms(0, 800);
    let mut send = |at: Duration, signal| case.during.push((at, Act::Signal(signal)));
    if dice.percent(10) {
        send(at, SIGSTOP);
        at += dice.ms(1, 100);
        send(at, SIGCONT);
        at += dice.ms(1, 100);
    }
    send(at, first);
    let second = dice.percent(30) && first != SIGKILL;
    if second {
        send(at + dice.ms(0, 50), *dice.pick(&[SIGINT, SIGTERM, SIGHUP, SIGKILL]));
    }
    let names: Vec<_> = case.signals().map(|signal| signal.as_str()).collect();
    case.what = format!("{what}: {}", names.join(", "));
    let code_of = |signal: Signal| 128 + signal as i32;
    case.fits = case.signals().filter(|signal| CAUGHT.contains(signal)).map(code_of).collect();
    let killed = case.signals().any(|signal| matches!(signal, SIGKILL | SIGQUIT)) || second;
    if killed && case.has("--out") {
        // the same command, short
        let again = ["sim", "s.toml", "--set", "duration=100ms", "--out", "out"];
        case.again = Some(again.map(OsString::from).to_vec());
        case.results.push("out".into());
    }
    case
}
