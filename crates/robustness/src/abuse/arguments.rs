//! Class `arguments`: every subcommand of clap's tree with random options.

use clap::{Arg, Command, CommandFactory as _};
use nix::sys::signal::Signal;

use super::case::{Act, Case};
use super::dice::Dice;
use super::hostile;

/// Values with which a command works, by the name of an argument.
const USUAL: &[(&str, &str)] = &[
    ("file", "s.toml"),
    ("rate", "10mbit"),
    ("buffer", "100kB"),
    ("rtt", "10ms,20ms"),
    ("cc", "bbr1,reno"),
    ("duration", "2s"),
    ("stagger", "100ms"),
    ("warmup", "1s"),
    ("out", "out"),
    ("dir", "out"),
    ("repeat", "2"),
    ("jobs", "2"),
    ("seed", "7"),
    ("sets", "flow.cc=reno"),
    ("names", "reno"),
    ("suffix", "_x"),
    ("pcap", "bottleneck"),
    ("cases", "A.1"),
    ("record", "out"),
    ("adaptor", "./not-there"),
];

/// A scenario whose simulation takes almost no time.
pub(super) const SCENARIO: &str = "title = \"t\"\nduration = \"200ms\"\n\
    [[link]]\nrate = \"2mbit\"\nbuffer = \"20kB\"\n\
    [[flow]]\ncc = \"bbr1\"\nrtt = \"10ms\"\n[[flow]]\ncc = \"reno\"\nrtt = \"20ms\"\n";

/// Draws an invocation: of each subcommand in turn, or without a subcommand.
///
/// The commands run without rights: with rights, `load`, `testbed` and `demo` would change the kernel.
pub(super) fn draw(index: u64, dice: &mut Dice) -> Case {
    let mut program = fairpace::Cli::command();
    program.build();
    let commands: Vec<&Command> = program.get_subcommands().collect();
    let Some(command) = commands.get(index as usize % (commands.len() + 1)) else {
        return without_command(dice);
    };
    let mut words = vec![command.get_name().to_owned()];
    let mut given: Vec<&Arg> = command.get_arguments().filter(|arg| is_given(arg, dice)).collect();
    if !given.is_empty() && dice.percent(20) {
        given.push(*dice.pick(&given)); // twice
    }
    for arg in &given {
        words.extend(of_argument(arg, dice));
    }
    if dice.percent(15) {
        let stray =
            ["--frobnicate", "-", "--", "--json=1", "-qqqq", "--help", "-h", "--version", "--no-color"];
        words.push((*dice.pick(&stray)).to_owned());
    }
    let case = Case::new(words.clone()).what(words.join(" ").chars().take(80).collect::<String>());
    let mut case = case.file("s.toml", SCENARIO).fits(codes(command.get_name())).result("out");
    case.unprivileged = true;
    if command.get_name() == "new" {
        case = words.iter().fold(case, |case, word| case.result(format!("{word}.h")));
    }
    if command.get_name() == "man" {
        // any stray word may be its directory
        case = words.iter().fold(case, |case, word| case.result(word));
    }
    if command.get_name() == "evaluate" || words.iter().any(|word| word == "--repeat") {
        // 100,000 runs are allowed, and take longer than an invocation may
        case.during.push((dice.ms(1_000, 3_000), Act::Signal(Signal::SIGINT)));
        case.fits.push(130);
    }
    case
}

/// The permitted exit codes of a command without rights, each also with `--help` (0) or a wrong argument (2).
fn codes(command: &str) -> &'static [i32] {
    match command {
        "sim" | "demo" | "man" | "new" => &[0, 2, 5],
        "conform" => &[0, 2, 5, 7],
        // on the kernel it needs rights
        "compare" | "evaluate" => &[0, 2, 3, 5],
        // without rights there is no result to write, but a directory that is checked first
        "testbed" => &[0, 2, 3, 5],
        "load" | "unload" | "list" | "doctor" => &[0, 2, 3],
        "enable" | "disable" | "apply" | "replace" | "default" | "restore" | "status" | "panic" => &[0, 2, 3],
        _ => &[0, 2],
    }
}

fn without_command(dice: &mut Dice) -> Case {
    let words: Vec<String> = (0..dice.below(4)).map(|_| hostile::argument(dice)).collect();
    Case::new(words).what("no command").fits([0, 2])
}

fn is_given(arg: &Arg, dice: &mut Dice) -> bool {
    let required = arg.is_required_set() || arg.is_positional();
    dice.percent(if required { 90 } else { 25 })
}

/// Draws the words of an argument.
fn of_argument(arg: &Arg, dice: &mut Dice) -> Vec<String> {
    let flag = arg.get_long().map(|long| format!("--{long}"));
    if !arg.get_action().takes_values() {
        return flag.into_iter().collect();
    }
    let value = value(arg, dice);
    match flag {
        Some(flag) if dice.percent(30) => vec![format!("{flag}={value}")],
        Some(flag) => vec![flag, value],
        None => vec![value],
    }
}

fn value(arg: &Arg, dice: &mut Dice) -> String {
    let possible = arg.get_possible_values();
    let usual = USUAL.iter().find(|(name, _)| arg.get_id() == name).map(|(_, value)| *value);
    // only words go where a program might write: everything that it makes must be in the scratch directory
    let is_path = matches!(arg.get_id().as_str(), "out" | "dir" | "record");
    match (possible.is_empty(), usual) {
        (false, _) if dice.percent(70) => dice.pick(&possible).get_name().to_owned(),
        (true, Some(usual)) if is_path || dice.percent(55) => usual.to_owned(),
        _ => hostile::argument(dice),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_subcommand_is_drawn() {
        let drawn = |index| draw(index, &mut Dice::new(1, 2, index)).args;
        for name in fairpace::Cli::command().get_subcommands().map(Command::get_name) {
            assert!((0..40).any(|index| drawn(index).first().is_some_and(|word| word == name)), "{name}");
        }
    }

    #[test]
    fn what_makes_a_command_work_belongs_to_an_argument() {
        let program = fairpace::Cli::command();
        let known =
            |name: &str| program.get_subcommands().any(|sub| sub.get_arguments().any(|a| a.get_id() == name));
        let unknown: Vec<_> = USUAL.iter().filter(|(name, _)| !known(name)).collect();
        assert!(unknown.is_empty(), "{unknown:?}");
    }
}
