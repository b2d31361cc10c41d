//! Class `out`: results are written where the user has files, or creates files during the run.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::path::PathBuf;

use super::arguments::SCENARIO;
use super::case::{Act, Case, Entry};
use super::dice::Dice;
use super::perform::Rights;

/// Arguments of a comparison, without its duration.
pub(super) const COMPARE: [&str; 9] =
    ["compare", "--rate", "1gbit", "--buffer", "1MB", "--rtt", "10ms,20ms", "--cc", "bbr1,reno"];
/// A scenario whose simulation takes a few tenths of a second.
pub(super) const SOME_TIME: &str = "title = \"some time\"\nduration = \"20s\"\n\
    [[link]]\nname = \"bottleneck\"\nrate = \"1gbit\"\nbuffer = \"1MB\"\n\
    [[flow]]\ncc = \"bbr1\"\nrtt = \"10ms\"\n\
    [[flow]]\ncc = \"reno\"\nrtt = \"20ms\"\n";

/// Content of a file that belongs to the user.
const THESIS: &[u8] = b"my thesis\n";
/// Names that a user's own file may have; some are names of files of a result.
const NAMES: [&str; 8] = [
    "thesis.txt",
    "notes.txt",
    ".hidden",
    "mine.parquet",
    "link9.pcapng",
    "flow.sqlog",
    "summary.json.bak",
    "deep/er/thesis.txt",
];

/// A command that writes to `out`.
fn writer(dice: &mut Dice) -> Case {
    let sim = |more: &[&str]| Case::new(["sim", "s.toml"]).arguments(more.iter().copied());
    let case = match dice.below(7) {
        0..=2 => sim(&[]),
        3 => sim(&["--trace", "series,events,qlog", "--set", "duration=3s"]),
        4 => sim(&["--pcap", "bottleneck", "--set", "duration=1s"]),
        5 => sim(&["--repeat", "3", "--jobs", "2", "--set", "duration=5s"]),
        _ => Case::new(COMPARE).arguments(["--duration", "10s", "--warmup", "2s", "--stagger", "100ms"]),
    };
    let case = case.file("s.toml", SOME_TIME).fits([0, 5]);
    if dice.percent(30) { case.arguments(["--json"]) } else { case }
}

/// Draws an invocation.
pub(super) fn draw(rights: Rights, dice: &mut Dice) -> Case {
    match dice.below(10) {
        0..=2 => there(dice),
        3..=6 => filled(dice),
        7 => earlier(dice),
        8 => path(dice),
        _ => fixed(rights, dice),
    }
}

fn entry(path: &str, entry: Entry) -> (PathBuf, Entry) {
    (path.into(), entry)
}

/// A case in which files of the user exist from the start.
fn there(dice: &mut Dice) -> Case {
    let file = || Entry::File(THESIS.to_vec());
    let name = format!("out/{}", dice.pick(&NAMES));
    let (what, entries, allowed) = match dice.below(9) {
        0 => ("a file", vec![entry("out", file())], false),
        1 => {
            let there = vec![entry("thesis.txt", file()), entry("out", Entry::Link("thesis.txt".into()))];
            ("a link to a file", there, false)
        }
        2 => {
            let there = vec![entry("mine/thesis.txt", file()), entry("out", Entry::Link("mine".into()))];
            ("a link to a directory with a file", there, true)
        }
        3 => ("a link to nothing", vec![entry("out", Entry::Link("nowhere".into()))], true),
        4 => ("a link to itself", vec![entry("out", Entry::Link("out".into()))], false),
        5 => ("a pipe", vec![entry("out", Entry::Fifo)], false),
        6 => ("an empty directory", vec![entry("out", Entry::Dir)], true),
        7 => ("a link to /dev/null", vec![entry("out", Entry::Link("/dev/null".into()))], false),
        _ => ("a directory with a file", vec![entry(&name, file())], false),
    };
    let mut case = writer(dice).what(format!("--out is {what}")).arguments(["--out", "out"]);
    case.files.extend(entries);
    // through a link to nothing a program may make what it points to
    if allowed { case.result("out").result("nowhere") } else { case }
}

/// A case in which the user creates files during the run.
fn filled(dice: &mut Dice) -> Case {
    let path = PathBuf::from(format!("out/{}", dice.pick(&NAMES)));
    let write = |path: PathBuf| Act::Write(path, THESIS.to_vec());
    let (what, act) = match dice.below(6) {
        0 => ("becomes a file", write("out".into())),
        1 => ("becomes a link to the user's directory", Act::Link("out".into(), "mine".into())),
        _ => ("gets a file", write(path)),
    };
    let mut case =
        writer(dice).what(format!("--out {what} during the run")).arguments(["--out", "out"]).result("out");
    case.files.push(entry("mine/thesis.txt", Entry::File(THESIS.to_vec())));
    if dice.percent(40) {
        case.before.push(earlier_result());
        case.what.push_str(", over an earlier result");
    }
    case.during.push((dice.ms(0, 500), act));
    case
}

fn earlier_result() -> Vec<OsString> {
    ["sim", "s.toml", "--set", "duration=100ms", "--out", "out"].map(OsString::from).to_vec()
}

/// A case in which the user has written into an earlier result.
fn earlier(dice: &mut Dice) -> Case {
    let mut case = writer(dice).arguments(["--out", "out"]).result("out");
    case.before.push(earlier_result());
    let (what, path) = match dice.below(4) {
        0 => (
            "an earlier result that the user has edited",
            format!("out/{}", dice.pick(&["summary.json", "report.html", "flows.csv", "scenario.toml"])),
        ),
        _ => ("an earlier result with a file of the user's", format!("out/{}", dice.pick(&NAMES))),
    };
    case.what = format!("--out is {what}");
    case.then.push(entry(&path, Entry::File(THESIS.to_vec())));
    case
}

/// A case with an unusual path.
fn path(dice: &mut Dice) -> Case {
    let paths: [&[u8]; 16] = [
        b"",
        b".",
        b"./",
        b"out/",
        b"out//",
        b"out/.",
        b"out/..",
        b"out/a/b/c/d",
        b"s.toml",
        b"s.toml/x",
        b"/dev/null",
        b"/dev/full/x",
        b"/proc/nowhere",
        b"out\x1b]0;pwned\x07",
        b"out\xff\xfe",
        b"out/\xc2\x9b31m\n",
    ];
    let mut path = dice.pick(&paths).to_vec();
    if dice.percent(10) {
        path = [b"out/".as_slice(), &b"x".repeat(dice.within(200, 5_000))].concat();
    }
    let path = OsString::from_vec(path);
    let mut case = writer(dice).what(format!("--out {}", path.to_string_lossy().escape_debug()));
    case.args.push("--out".into());
    case.results.extend(["out".into(), PathBuf::from(&path)]);
    case.args.push(path);
    case.fits([0, 2, 5])
}

/// A case in which no directory can be replaced: no right to write, mount points, full disks, `man` over
/// files.
fn fixed(rights: Rights, dice: &mut Dice) -> Case {
    let case = writer(dice).arguments(["--out", "out"]).result("out");
    match dice.below(5) {
        0 => {
            let mut case = case.what("--out may not be written to");
            case.files.push(entry("out", Entry::LockedDir));
            case.unprivileged = true;
            case
        }
        1 => {
            let mut case = case.what("the directory of --out may not be written to");
            case.shell.push("chmod 555 .".into());
            case.unprivileged = true;
            case
        }
        2 | 3 if rights.can_mount => {
            let options = *dice.pick(&["size=1m", "size=20k", "ro", "size=100m,nr_inodes=3"]);
            let mut case = case.what(format!("--out is a mount point: {options}"));
            case.files.push(entry("out", Entry::Dir));
            let script = format!("mount -t tmpfs -o {options} none out && exec \"$@\"");
            case.shell.push(format!("exec {} sh -c '{script}' sh \"$@\"", rights.unshare()));
            case
        }
        _ => {
            // a page that an earlier `man` wrote is replaced; what a link of the user points to is not
            let mut case = Case::new(["man", "out"]).file("s.toml", SCENARIO).fits([0, 5]);
            case.what = "man into a directory with links and files of the user".into();
            case.files.push(entry("thesis.txt", Entry::File(THESIS.to_vec())));
            case.files.push(entry("out/thesis.txt", Entry::File(THESIS.to_vec())));
            let page = *dice.pick(&["out/fairpace.1", "out/fairpace-sim.1"]);
            case.files.push(entry(page, Entry::Link("../thesis.txt".into())));
            case.result("out")
        }
    }
}
