//! Class `files`: damaged scenario files, traces and distributions, and paths that are no files.

use std::path::PathBuf;

use super::case::{Case, Entry};
use super::dice::Dice;
use super::hostile;

/// Valid scenarios, which are cut and changed.
const VALID: [(&str, &str); 6] = [
    ("fq-codel-isolation", include_str!("../../../../scenarios/fq-codel-isolation.toml")),
    ("parking-lot", include_str!("../../../../scenarios/parking-lot.toml")),
    ("red-floyd-against-linux", include_str!("../../../../scenarios/red-floyd-against-linux.toml")),
    ("shared-reverse-path", include_str!("../../../../scenarios/shared-reverse-path.toml")),
    ("late-starters", include_str!("../../../../scenarios/late-starters.toml")),
    ("ecn-step", include_str!("../../../../scenarios/ecn-step.toml")),
];
/// A valid trace, and a valid distribution of sizes.
const TRACE: &str = "1\n2\n3\n5\n8\n13\n21\n34\n55\n89\n";
const SIZES: &str = "1000 0.2\n5000 0.5\n20000 0.9\n100000 1\n";
/// Bytes of a large file: below the limit of scenario files and of traces.
const LARGE: usize = 1_000_000;

/// The purpose of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Scenario,
    Trace,
    Sizes,
}

/// Draws an invocation with one hostile file.
pub(super) fn draw(dice: &mut Dice) -> Case {
    let role = *dice.pick(&[Role::Scenario, Role::Scenario, Role::Scenario, Role::Trace, Role::Sizes]);
    let name = match role {
        Role::Scenario => "s.toml",
        Role::Trace => "t.trace",
        Role::Sizes => "f.sizes",
    };
    let (what, name, entries) =
        if dice.percent(25) { no_file(name, dice) } else { content(role, name, dice) };
    let mut case = Case::new(["sim"]).what(format!("{role:?}: {what}"));
    case.unprivileged = entries.iter().any(|(_, entry)| matches!(entry, Entry::Locked(_)));
    case.files = entries;
    let case = match role {
        Role::Scenario => case.arguments([name]),
        Role::Trace => {
            let text = scenario(&format!("trace = {}", hostile::toml_string(&name)), "");
            case.arguments(["s.toml"]).file("s.toml", text)
        }
        Role::Sizes => {
            let workload = format!("arrivals = \"50/s\"\nsizes = {}", hostile::toml_string(&name));
            case.arguments(["s.toml"]).file("s.toml", scenario("rate = \"2mbit\"", &workload))
        }
    };
    // short, whatever their own length is
    const SHORT: &str = "--set duration=2s --set window.from=1s --set window.to=2s --set flow.start=0s";
    let case = if what.starts_with("mutated") { case.arguments(SHORT.split(' ')) } else { case };
    if dice.percent(40) { case.arguments(["--json"]) } else { case }
}

/// A scenario with these lines in its link and in its flow.
fn scenario(link: &str, flow: &str) -> String {
    format!(
        "title = \"t\"\nduration = \"200ms\"\n[[link]]\n{link}\nbuffer = \"20kB\"\n\
         [[flow]]\ncc = \"reno\"\nrtt = \"10ms\"\n{flow}\n"
    )
}

type Files = Vec<(PathBuf, Entry)>;

/// A path that is no readable file: the path in the arguments, and the entry at the path.
fn no_file(name: &str, dice: &mut Dice) -> (String, String, Files) {
    let here = |entry| vec![(PathBuf::from(name), entry)];
    let link = |target: &str| here(Entry::Link(target.to_owned()));
    let own = name.to_owned();
    match dice.below(16) {
        0 => ("a directory".into(), own, here(Entry::Dir)),
        1 => ("a pipe".into(), own, here(Entry::Fifo)),
        2 => ("a loop of links".into(), own, link(name)),
        3 => ("a link to nothing".into(), own, link("nowhere")),
        4 => ("a link to /dev/zero".into(), own, link("/dev/zero")),
        5 => ("a link to /dev/null".into(), own, link("/dev/null")),
        6 => ("a file without permission".into(), own, here(Entry::Locked(b"title = \"t\"\n".to_vec()))),
        7 => ("an empty path".into(), String::new(), vec![]),
        8 => ("a path of 5,000 bytes".into(), "p".repeat(5_000), vec![]),
        9 => ("a path through a file".into(), format!("{name}/x"), here(Entry::File(b"x".to_vec()))),
        10 => ("a name with escapes that is missing".into(), "\u{1b}]0;pwned\u{7}.toml".into(), vec![]),
        11 => {
            let name = "\u{1b}[31mred\n\u{9b}.toml";
            let file = (name.into(), Entry::File(b"title = 1\n".to_vec()));
            ("a name with escapes".into(), name.into(), vec![file])
        }
        number => {
            let paths = ["/dev/zero", "/dev/null", "/proc/self/mem", "/dev/stdin"];
            let path = paths[number - 12];
            (path.into(), path.into(), vec![])
        }
    }
}

/// A file with hostile content.
fn content(role: Role, name: &str, dice: &mut Dice) -> (String, String, Files) {
    let (what, bytes) = match dice.below(18) {
        0 => ("binary", (0..dice.within(1, 20_000)).map(|_| dice.below(256) as u8).collect()),
        1 => ("zeros", vec![0; dice.within(1, LARGE)]),
        2 => ("yes", b"y\n".repeat(LARGE / 2)),
        3 => ("yes =", b"=\n".repeat(LARGE / 2)),
        4 => ("one long line", b"x".repeat(LARGE)),
        5 => ("one long line of flows", long_line(dice.within(2_000, 20_000)).into_bytes()),
        6 => ("deep nesting", deep(dice).into_bytes()),
        7 => ("many errors", b"[[flow]]\nrtt = \"10\"\n".repeat(dice.within(100, 30_000))),
        8 => ("a table of numbers", b"0.1,2,3.5e7,nan,,12345678\n".repeat(dice.within(1, 36_000))),
        9 => ("empty", vec![]),
        10 => ("UTF-16", valid(role, dice).1.encode_utf16().flat_map(u16::to_le_bytes).collect()),
        11 => ("too large", b"# padding\n".repeat(220_000)),
        12 => ("CRLF", valid(role, dice).1.replace('\n', "\r\n").into_bytes()),
        13 => ("a byte order mark", format!("\u{feff}{}", valid(role, dice).1).into_bytes()),
        14 => ("escapes in a comment", escapes(dice).into_bytes()),
        _ => return mutated(role, name, dice),
    };
    (what.into(), name.into(), vec![(name.into(), Entry::File(bytes))])
}

fn valid(role: Role, dice: &mut Dice) -> (&'static str, &'static str) {
    match role {
        Role::Scenario => *dice.pick(&VALID),
        Role::Trace => ("trace", TRACE),
        Role::Sizes => ("sizes", SIZES),
    }
}

fn long_line(flows: usize) -> String {
    let flow = "{cc=\"bbr1\",rtt=\"10ms\"},".repeat(flows);
    format!(
        "title=\"t\"\nduration=\"1s\"\nlink=[{{rate=\"2mbit\",buffer=\"20kB\"}}]\nflow=[{flow}{{cc=\"bbr1\",rtt=\"10\"}}]"
    )
}

fn deep(dice: &mut Dice) -> String {
    let depth = dice.within(50, 100_000);
    match dice.below(4) {
        0 => format!("a = {}{}", "[".repeat(depth), "]".repeat(depth)),
        1 => format!("a = {}", "[".repeat(depth)),
        2 => format!("[{}a]\nb = 1\n", "a.".repeat(depth)),
        _ => format!("a = {}", "{a=".repeat(depth)),
    }
}

/// A broken line beside escapes, so that an error shows both of them.
fn escapes(dice: &mut Dice) -> String {
    let escape =
        *dice.pick(&["\u{1b}]0;pwned\u{7}", "\u{9b}31m", "\u{1b}[2J", "\u{7f}\u{8}", "\r\u{b}\u{c}"]);
    format!("# {escape}\n{escape} = 1 # {escape}\ntitle = 1 # {escape}\nduration = \"{escape}\"\n")
}

/// A valid file that is cut or changed.
fn mutated(role: Role, name: &str, dice: &mut Dice) -> (String, String, Files) {
    let (of, text) = valid(role, dice);
    let mut bytes = text.as_bytes().to_vec();
    let mut how = Vec::new();
    for _ in 0..dice.within(1, 4) {
        how.push(mutate(&mut bytes, dice));
    }
    (format!("mutated {of}: {}", how.join(", ")), name.into(), vec![(name.into(), Entry::File(bytes))])
}

fn mutate(bytes: &mut Vec<u8>, dice: &mut Dice) -> &'static str {
    let at = dice.below(bytes.len().max(1)).min(bytes.len());
    match dice.below(6) {
        0 => {
            bytes.truncate(at);
            "truncated"
        }
        1 => {
            for _ in 0..dice.within(1, 8) {
                let at = dice.below(bytes.len().max(1));
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= 1 << dice.below(8);
                }
            }
            "bits flipped"
        }
        2 => {
            bytes.splice(at..at, dice.pick(&hostile::TEXTS).bytes());
            "text inserted"
        }
        3 => {
            let end = (at + dice.within(1, 40)).min(bytes.len());
            bytes.drain(at..end);
            "text removed"
        }
        4 => {
            let mut lines: Vec<Vec<u8>> = bytes.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
            let (one, other) = (dice.below(lines.len()), dice.below(lines.len()));
            lines.swap(one, other);
            *bytes = lines.join(&b'\n');
            "lines swapped"
        }
        _ => {
            let end = (at + dice.within(1, 200)).min(bytes.len());
            let part = bytes[at..end].repeat(dice.within(1, 50));
            bytes.splice(at..at, part);
            "text repeated"
        }
    }
}
