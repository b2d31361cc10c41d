//! Class `environment`: closed descriptors, full devices, odd variables, low limits, no `/proc`.

use std::ffi::OsString;

use nix::sys::signal::Signal;

use super::arguments::SCENARIO;
use super::case::Case;
use super::dice::Dice;
use super::perform::Rights;

/// A condition: lines of `sh`, and the results that they additionally permit.
struct Condition {
    what: &'static str,
    line: String,
    /// Further permitted exit codes.
    fits: &'static [i32],
    mute: bool,
    loud: bool,
    unprivileged: bool,
}

impl Condition {
    fn new(what: &'static str, line: &str, fits: &'static [i32]) -> Self {
        Self { what, line: line.to_owned(), fits, mute: false, loud: false, unprivileged: false }
    }

    fn mute(self) -> Self {
        Self { mute: true, ..self }
    }
}

/// Commands that are run: `(arguments, permitted exit codes)`.
const COMMANDS: &[(&str, &[i32])] = &[
    ("sim s.toml", &[0]),
    ("sim s.toml --json", &[0]),
    ("sim s.toml --out out", &[0]),
    ("sim s.toml --out out --trace series,events,qlog", &[0]),
    ("sim s.toml --repeat 8 --jobs 8", &[0]),
    ("sim s.toml --set flow.cc=nothing", &[2]),
    ("sim missing.toml --json", &[2]),
    (
        "compare --rate 10mbit --buffer 100kB --rtt 10ms,20ms --cc bbr1,reno --duration 2s --warmup 1s \
         --stagger 100ms",
        &[0],
    ),
    ("algorithms", &[0]),
    ("algorithms --json", &[0]),
    ("list", &[0, 3]),
    ("doctor", &[0, 3]),
    ("doctor --json", &[0, 3]),
    ("--help", &[0]),
    ("completions bash", &[0]),
    ("man out", &[0]),
    ("man", &[0]),
    ("--frobnicate", &[2]),
];

/// Name of the limit "files have at most 4 kB": with it the kernel may end the program by a signal (SIGXFSZ).
const SMALL_FILES: &str = "files of 4 kB";
/// Arguments of the next start after that condition.
const AGAIN: [&str; 4] = ["sim", "s.toml", "--out", "out"];

/// Draws an invocation under one condition, or under two.
pub(super) fn draw(rights: Rights, dice: &mut Dice) -> Case {
    let (command, codes) = *dice.pick(COMMANDS);
    let mut case = Case::new(command.split(' ')).file("s.toml", SCENARIO).fits(codes).result("out");
    let number = if dice.percent(75) { 1 } else { 2 };
    let mut words = Vec::new();
    for _ in 0..number {
        let condition = condition(rights, dice);
        words.push(condition.what);
        case.fits.extend(condition.fits);
        case.mute |= condition.mute;
        case.loud |= condition.loud;
        case.unprivileged |= condition.unprivileged;
        case.shell.push(condition.line);
        if condition.what == SMALL_FILES {
            case.ends.push(Signal::SIGXFSZ);
            case.again = case.has("--out").then(|| AGAIN.map(OsString::from).to_vec());
        }
    }
    // what takes the shell's place comes last, and limits after redirections, for which it needs descriptors
    case.shell.sort_by_key(|line| (line.starts_with("exec unshare"), line.starts_with("ulimit")));
    let words = words.join(" and ");
    case.what(format!("{command} with {words}"))
}

fn condition(rights: Rights, dice: &mut Dice) -> Condition {
    match dice.below(4) {
        0 => descriptors(dice),
        1 => limits(rights, dice),
        _ => variables(dice),
    }
}

fn descriptors(dice: &mut Dice) -> Condition {
    let new = Condition::new;
    match dice.below(9) {
        0 => new("closed stdin", "exec <&-", &[]),
        1 => new("closed stdout", "exec >&-", &[5]).mute(),
        2 => new("closed stderr", "exec 2>&-", &[]).mute(),
        3 => new("all three closed", "exec <&- >&- 2>&-", &[5]).mute(),
        4 => new("stdout on /dev/full", "exec >/dev/full", &[5]).mute(),
        5 => new("stderr on /dev/full", "exec 2>/dev/full", &[]).mute(),
        6 => new("stdin from a directory", "exec <.", &[]),
        7 => new("stdout that may only be read", "exec 1</dev/null", &[5]).mute(),
        _ => new("stdin from /dev/zero", "exec </dev/zero", &[]),
    }
}

/// Draws limits of resources. If a limit makes the system refuse a call, the failure may be "unexpected".
fn limits(rights: Rights, dice: &mut Dice) -> Condition {
    let new = Condition::new;
    match dice.below(9) {
        // a user of its own, since no limit of processes binds root
        0 | 1 => {
            let line = format!("ulimit -p {}", dice.within(1, 4));
            Condition { unprivileged: true, ..new("a limit of processes", &line, &[1, 3]) }
        }
        2 => new("1 GB of address space", "ulimit -v 1000000", &[1, 3]),
        3 => new("8 descriptors", "ulimit -n 8", &[1, 2, 3, 5]),
        // it ends a program like any other that writes more, by SIGXFSZ
        4 => new(SMALL_FILES, "ulimit -f 8", &[5]).mute(),
        5 => new("a small stack", "ulimit -s 512", &[]),
        6 => new("a directory that is gone", "mkdir gone; cd gone; rmdir ../gone", &[2, 5]),
        7 => Condition { unprivileged: true, ..new("umask 777", "umask 777", &[5]) },
        _ if rights.can_mount => {
            let hide = "mount -t tmpfs none /proc && exec \"$@\"";
            let line = format!("exec {} sh -c '{hide}' sh \"$@\"", rights.unshare());
            new("no /proc", &line, &[1, 3])
        }
        _ => new("a small stack", "ulimit -s 512", &[]),
    }
}

fn variables(dice: &mut Dice) -> Condition {
    let plain: [&str; 19] = [
        "unset HOME",
        "unset HOME USER LOGNAME SHELL",
        "export HOME=/nonexistent",
        "export TMPDIR=/nonexistent",
        "export TMPDIR=/dev/null",
        "export LANG=de_DE.ISO-8859-1",
        "export LC_ALL=tlh LANG=$(printf '\\377')",
        "export COLUMNS=0",
        "export COLUMNS=1",
        "export COLUMNS=7 LINES=0",
        "export COLUMNS=99999999999999999999",
        "export COLUMNS=65536",
        "export COLUMNS=-5",
        "export NO_COLOR=1 TERM=dumb",
        "export NO_COLOR= TERM=$(printf '\\033[2J')",
        "export RUST_BACKTRACE=full RUST_LIB_BACKTRACE=1",
        "export RAYON_NUM_THREADS=0",
        "export FAIRPACE_REQUIRE_KERNEL=x FAIRPACE_JOBS=-1 FAIRPACE_COLOR=$(printf '\\033')",
        "export TZ=/dev/zero",
    ];
    let messages: [&str; 7] = [
        "export FAIRPACE_LOG=garbage",
        "export FAIRPACE_LOG='[{=,'",
        "export FAIRPACE_LOG=$(printf '\\033]0;pwned\\007')",
        "export FAIRPACE_LOG=$(printf '\\377')",
        "export FAIRPACE_LOG=trace RUST_LOG=trace",
        "export FAIRPACE_LOG=fairpace_sim=trace,,=,debug",
        "export FAIRPACE_LOG=$(head -c 100000 /dev/zero | tr '\\0' a)",
    ];
    if dice.percent(25) {
        let line: &&str = dice.pick(&messages);
        let condition = Condition::new("messages of its libraries", line, &[]);
        return Condition { loud: true, ..condition };
    }
    let line: &&str = dice.pick(&plain);
    Condition::new("odd variables", line, &[])
}
