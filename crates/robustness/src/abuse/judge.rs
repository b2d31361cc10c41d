//! The rules that hold for each invocation, whatever its input.

use nix::sys::signal::Signal;
use serde_json::Value;

use super::case::Case;
use super::perform::{Over, Seen};

/// Largest output of a command that fails, bytes.
const ERROR_BYTES: u64 = 64_000;
/// Commands that catch signals. A signal ends any other command at once, which leaves nothing to clean up.
const CATCHING: [&str; 7] = ["sim", "testbed", "compare", "demo", "load", "unload", "list"];
/// The signals that these commands catch.
const CAUGHT: [Signal; 3] = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP];
/// Largest memory of a command that refuses its input, kB.
const REFUSAL_KB: i64 = 500_000;

/// A violation of a rule.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Violation {
    /// Name of the rule.
    pub(super) rule: &'static str,
    /// Description of the violation. Violations with the same cause have the same words, as far as possible.
    pub(super) what: String,
}

impl Violation {
    pub(super) fn new(rule: &'static str, what: impl Into<String>) -> Self {
        Self { rule, what: what.into() }
    }
}

/// Returns the violations in an invocation.
pub(super) fn judge(case: &Case, seen: &Seen) -> Vec<Violation> {
    let mut found = Vec::new();
    found.extend(end(case, seen));
    found.extend(control(seen));
    // what is cut off in the middle has no form
    if seen.over.is_none() && !found.iter().any(|violation| violation.rule == "panic") {
        found.extend(form(case, seen));
    }
    let refused = seen.code.is_some_and(|code| code != 0) && seen.signal.is_none();
    if refused && seen.peak_kb > REFUSAL_KB {
        found.push(Violation::new("memory", format!("more than {} MB for a refusal", REFUSAL_KB / 1_000)));
    }
    found.extend(seen.left.first().map(|path| Violation::new("leftover", skeleton(path))));
    // the replay names the file
    found.extend(seen.lost.first().map(|_| Violation::new("lost", case.what.clone())));
    found.extend(seen.before.iter().flat_map(|seen| other_start("an earlier run", &[0], seen)));
    // what a killed process left may be a reason to refuse --out
    found.extend(seen.again.iter().flat_map(|seen| other_start("the next start", &[0, 5], seen)));
    found
}

/// The violations in a start before or after the invocation that the case tests.
fn other_start(which: &str, fits: &[i32], seen: &Seen) -> Vec<Violation> {
    let case = Case { what: which.to_owned(), fits: fits.to_vec(), ..Case::default() };
    let said = |found: Violation| Violation { what: format!("{which}: {}", found.what), ..found };
    judge(&case, seen).into_iter().map(said).collect()
}

/// The violations in the form of the output.
fn form(case: &Case, seen: &Seen) -> Vec<Violation> {
    let mut found: Vec<Violation> = json(case, seen).into_iter().collect();
    if seen.code != Some(0) && !case.loud && seen.output_bytes > ERROR_BYTES {
        found.push(Violation::new("length", format!("an error of more than {} kB", ERROR_BYTES / 1_000)));
    }
    let is_silent = seen.code.is_some_and(|code| code != 0) && seen.stderr.is_empty();
    if is_silent && !case.mute && seen.sent.len() < 2 {
        found
            .push(Violation::new("silent", format!("exit {} without a word", seen.code.unwrap_or_default())));
    }
    found
}

/// The violation in the way in which the program ended.
fn end(case: &Case, seen: &Seen) -> Option<Violation> {
    let stderr = String::from_utf8_lossy(&seen.stderr);
    if let Some(over) = seen.over {
        return Some(match over {
            Over::Time => Violation::new("hang", "still there at the limit of time"),
            Over::Memory => Violation::new("memory", "more than 2 GB"),
            Over::Output => Violation::new("flood", "more than 64 MB of output"),
        });
    }
    if let Some(at) = stderr.find("panicked at ") {
        let place: String = stderr[at..].lines().next().unwrap_or_default().chars().take(120).collect();
        // the path to a crate's source is the machine's
        let place =
            place.rsplit_once("/src/").map_or(place.clone(), |(_, place)| format!("panicked at {place}"));
        return Some(Violation::new("panic", place));
    }
    if let Some(signal) = seen.signal {
        return death(case, seen, signal);
    }
    let code = seen.code?;
    // a signal that was due after the end had no effect
    let late = seen.sent.is_empty() && case.signals().next().is_some() && code == 0;
    if late {
        return None;
    }
    if case.fits.contains(&code) {
        // an unexpected failure fits only where the system has refused something, and then it says what
        let is_explained = code != 1 || case.mute || stderr.contains("(os error ");
        let what = || format!("exit 1 without an error of the system: {}", message(&stderr));
        return (!is_explained).then(|| Violation::new("internal", what()));
    }
    let rule = if code == 1 { "internal" } else { "code" };
    Some(Violation::new(rule, format!("exit {code}, not {}: {}", codes(&case.fits), message(&stderr))))
}

/// The violation in a death by a signal. It is permitted if the signal was sent, and if the program could not
/// catch it or had caught another one before.
fn death(case: &Case, seen: &Seen, signal: i32) -> Option<Violation> {
    let is = |sent: &&Signal| **sent as i32 == signal;
    let Some(sent) = seen.sent.iter().chain(&case.ends).find(is) else {
        return Some(Violation::new("crash", format!("ended by signal {signal}")));
    };
    let catches = case.args.first().is_some_and(|name| CATCHING.iter().any(|catching| name == catching));
    let caught = seen.sent.iter().filter(|sent| CAUGHT.contains(sent)).count();
    let fits = !catches || !CAUGHT.contains(sent) || seen.early.contains(sent) || caught > 1;
    let what = || format!("ended by {}, not with exit {}", sent.as_str(), 128 + signal);
    (!fits).then(|| Violation::new("signal", what()))
}

fn codes(fits: &[i32]) -> String {
    let mut fits = fits.to_vec();
    fits.sort_unstable();
    fits.dedup();
    fits.iter().map(ToString::to_string).collect::<Vec<_>>().join("|")
}

/// Message of the error, without the parts that differ between invocations.
fn message(stderr: &str) -> String {
    let of_json = stderr.lines().last().and_then(|line| serde_json::from_str::<Value>(line).ok());
    let of_json = of_json.and_then(|error| Some(error["error"]["message"].as_str()?.to_owned()));
    let of_text = || {
        let line = stderr.lines().find(|line| line.trim_start().starts_with(['×', 'e', 'E']));
        line.or_else(|| stderr.lines().next()).unwrap_or_default().to_owned()
    };
    skeleton(&of_json.unwrap_or_else(of_text))
}

/// A text without the parts that differ between invocations: numbers, paths, kernel names and quoted words.
fn skeleton(text: &str) -> String {
    let mut unquoted = String::new();
    let mut quote = None;
    for c in text.trim_start_matches([' ', '×']).chars() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some(_), _) => continue,
            (None, '"' | '`') => quote = Some(c),
            _ => {}
        }
        let c = if c.is_ascii_digit() { '#' } else { c };
        let is_repeated = c == '#' && unquoted.ends_with('#');
        if !is_repeated && !c.is_control() {
            unquoted.push(c);
        }
    }
    let general = |word: &str| match word {
        word if word.starts_with('/') => "PATH".to_owned(),
        word if word.starts_with("fp_") => "fp_*".to_owned(),
        word => match word.find(".fairpace-") {
            Some(at) => format!("{}.fairpace-*", &word[..at]),
            None => word.to_owned(),
        },
    };
    let words: Vec<String> = unquoted.split(' ').map(general).collect();
    words.join(" ").chars().take(80).collect()
}

/// The violation in the output with `--json`: an error is an object, and so is a result.
fn json(case: &Case, seen: &Seen) -> Option<Violation> {
    // behind `--` it is no option
    let asks = case.args.iter().take_while(|word| *word != "--").any(|word| word == "--json");
    let asks = asks && !case.mute && seen.signal.is_none();
    let other = ["--help", "-h", "help", "--version", "-V", "completions", "man"];
    if !asks || other.iter().any(|word| case.has(word)) {
        return None;
    }
    let code = seen.code?;
    if code == 0 {
        let valid = serde_json::from_slice::<serde::de::IgnoredAny>(&seen.stdout).is_ok();
        return (!valid).then(|| Violation::new("json", "a result that is not JSON"));
    }
    if seen.stderr.is_empty() {
        return None; // another rule's
    }
    let stderr = String::from_utf8_lossy(&seen.stderr);
    let error: Option<Value> = stderr.lines().last().and_then(|line| serde_json::from_str(line).ok());
    let exit_code = error.map(|error| error["error"]["exit_code"].clone());
    match exit_code {
        None => Some(Violation::new("json", format!("an error that is not JSON: {}", skeleton(&stderr)))),
        Some(said) if said != code => {
            Some(Violation::new("json", format!("{said} in the object, exit {code}")))
        }
        Some(_) => None,
    }
}

/// The violation that output contains control sequences of a terminal: colours are off.
fn control(seen: &Seen) -> Option<Violation> {
    for (name, bytes) in [("stdout", &seen.stdout), ("stderr", &seen.stderr)] {
        let text = match std::str::from_utf8(bytes) {
            Ok(text) => text,
            // the end of what was read may be within a character
            Err(error) if error.error_len().is_none() => {
                std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default()
            }
            Err(_) => return Some(Violation::new("control", format!("bytes on {name} that are not UTF-8"))),
        };
        let is_control = |c: char| c.is_control() && c != '\n' && c != '\t';
        if let Some(at) = text.find(is_control) {
            let line = text[..at].rfind('\n').map_or(0, |at| at + 1);
            let before: String = skeleton(&text[line..at]).chars().take(40).collect();
            let what = format!("a control character on {name} after \"{before}\"");
            return Some(Violation::new("control", what));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use nix::sys::signal::Signal;

    use super::*;

    fn rules(case: &Case, seen: &Seen) -> Vec<&'static str> {
        judge(case, seen).into_iter().map(|violation| violation.rule).collect()
    }

    fn ended(code: i32, stderr: &str) -> Seen {
        let stderr = stderr.as_bytes().to_vec();
        Seen { code: Some(code), output_bytes: stderr.len() as u64, stderr, ..Seen::default() }
    }

    #[test]
    fn a_refusal_is_clean_and_each_fault_is_found() {
        let case = Case::new(["sim", "s.toml"]);
        assert!(rules(&case, &ended(2, "  × wrong\n\thelp: right\n")).is_empty());
        assert!(rules(&case, &ended(0, "")).is_empty());
        assert_eq!(rules(&case, &ended(1, "an error")), ["internal"]);
        assert_eq!(rules(&case, &ended(3, "an error")), ["code"]);
        assert_eq!(rules(&case, &ended(2, "")), ["silent"]);
        assert_eq!(rules(&case, &ended(101, "thread 'main' panicked at src/x.rs:1:2:\n")), ["panic"]);
        assert_eq!(rules(&case, &ended(2, "\u{1b}[31m")), ["control"]);
        assert_eq!(rules(&case, &ended(2, "\u{9b}31m")), ["control"]);
        assert_eq!(rules(&case, &ended(2, &"long ".repeat(20_000))), ["length"]);
        let crashed = Seen { signal: Some(11), ..Seen::default() };
        assert_eq!(rules(&case, &crashed), ["crash"]);
        let asked = Seen { sent: vec![Signal::SIGSEGV], ..crashed };
        assert!(rules(&case, &asked).is_empty());
        let hanging = Seen { over: Some(Over::Time), signal: Some(9), ..Seen::default() };
        assert_eq!(rules(&case, &hanging), ["hang"]);
        let large = Seen { peak_kb: 600_000, ..ended(2, "no") };
        assert_eq!(rules(&case, &large), ["memory"]);
        let untidy =
            Seen { left: vec![".fairpace-x1".into()], lost: vec!["thesis.txt".into()], ..ended(2, "no") };
        assert_eq!(rules(&case, &untidy), ["leftover", "lost"]);
    }

    #[test]
    fn a_signal_ends_a_command_that_catches_it_only_at_its_start_or_as_the_second_one() {
        let by = |sent: &[Signal], early: &[Signal], signal: Signal| Seen {
            signal: Some(signal as i32),
            sent: sent.to_vec(),
            early: early.to_vec(),
            ..Seen::default()
        };
        use Signal::{SIGHUP, SIGINT, SIGKILL, SIGTERM};
        let (sim, doctor) = (Case::new(["sim", "s.toml"]), Case::new(["doctor"]));
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            assert_eq!(rules(&sim, &by(&[signal], &[], signal)), ["signal"]);
            assert!(rules(&sim, &by(&[signal], &[signal], signal)).is_empty());
            assert!(rules(&doctor, &by(&[signal], &[], signal)).is_empty());
        }
        assert!(rules(&sim, &by(&[SIGINT, SIGTERM], &[], SIGTERM)).is_empty());
        assert!(rules(&sim, &by(&[SIGKILL], &[], SIGKILL)).is_empty());
        assert_eq!(rules(&sim, &by(&[SIGINT], &[SIGINT], SIGTERM)), ["crash"]);
    }

    #[test]
    fn runs_before_and_after_are_judged() {
        let case = Case::new(["sim", "s.toml", "--out", "out"]);
        let with = |before: i32, again: i32| Seen {
            before: vec![ended(before, "no")],
            again: Some(Box::new(ended(again, "no"))),
            ..ended(0, "")
        };
        assert!(rules(&case, &with(0, 0)).is_empty() && rules(&case, &with(0, 5)).is_empty());
        assert_eq!(rules(&case, &with(5, 0)), ["code"]);
        assert_eq!(rules(&case, &with(0, 1)), ["internal"]);
    }

    #[test]
    fn an_unexpected_failure_fits_only_with_an_error_of_the_system() {
        let case = Case::new(["sim", "s.toml"]).fits([0, 1]);
        assert!(rules(&case, &ended(1, "too many open files (os error 24)")).is_empty());
        assert_eq!(rules(&case, &ended(1, "please report this")), ["internal"]);
    }

    #[test]
    fn json_is_judged_in_results_and_in_errors() {
        let case = Case::new(["sim", "s.toml", "--json"]);
        let error = |code: i32| format!("{{\"error\":{{\"exit_code\":{code}}}}}\n");
        assert!(rules(&case, &ended(2, &error(2))).is_empty());
        assert_eq!(rules(&case, &ended(2, &error(5))), ["json"]);
        assert_eq!(rules(&case, &ended(2, "error: no\n")), ["json"]);
        let result = |text: &str| Seen { stdout: text.as_bytes().to_vec(), ..ended(0, "a note\n") };
        assert!(rules(&case, &result("{}\n")).is_empty());
        assert_eq!(rules(&case, &result("{")), ["json"]);
    }

    #[test]
    fn errors_that_differ_in_numbers_and_names_are_one_group() {
        let what = |stderr: &str| judge(&Case::new(["sim"]), &ended(1, stderr)).remove(0).what;
        assert_eq!(what("  × `a` is 17 long\n"), what("  × `bc` is 4 long\n"));
        assert_ne!(what("  × `a` is 17 long\n"), what("  × `a` is 17 short\n"));
    }
}
