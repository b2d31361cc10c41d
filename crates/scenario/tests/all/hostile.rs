//! Files that are no scenario, or come from a program gone wrong, are refused soon, with few errors, and what
//! they hold does not reach a terminal as it is.

use std::time::{Duration, Instant};

use crate::support::{GOOD, read, read_with};
use fairpace_scenario::{Invalid, Target, load};
use miette::{Diagnostic, GraphicalReportHandler, GraphicalTheme};

/// Bytes of a large file: just below what is read at all.
const LARGE: usize = 1_000_000;
/// A refusal takes a tenth of a second alone. The quadratic ways that were here took more than a minute.
const SOON: Duration = Duration::from_secs(15);

fn render(error: &Invalid) -> String {
    let mut text = String::new();
    let handler = GraphicalReportHandler::new_themed(GraphicalTheme::unicode_nocolor());
    for problem in &error.problems {
        handler.render_report(&mut text, problem as &dyn Diagnostic).unwrap();
    }
    text
}

fn repeated(line: impl Fn(usize) -> String) -> String {
    let mut text = String::new();
    for number in 0.. {
        let line = line(number);
        if text.len() + line.len() > LARGE {
            break;
        }
        text.push_str(&line);
    }
    text
}

#[test]
fn a_megabyte_of_anything_is_refused_soon_and_briefly() {
    let path = "[[link]]\nrate = \"1mbit\"\nbuffer = \"9kB\"\n";
    let start = format!("title = \"t\"\nduration = \"1s\"\n{path}");
    let flow = |more: &str| format!("[[flow]]\ncc = \"bbq\"\nrtt = \"10ms\"\n{more}\n");
    let row = "0.1,10ms,,93.1,12.3,10,10,3.2,3.2,10,1.25,PROBE_BW,,,\n";
    let cases = [
        ("nothing but =", repeated(|_| "=\n".into())),
        ("opening brackets", repeated(|_| "[".into())),
        ("rows of numbers", repeated(|_| row.into())),
        ("unknown keys", repeated(|n| format!("key{n} = 1\n"))),
        ("one key twice and more", repeated(|_| "seed = 1\n".into())),
        ("a long key", format!("{} = 1", "k".repeat(LARGE - 4))),
        ("a long value", format!("title = \"{}\"", "v".repeat(LARGE - 10))),
        ("a long number", format!("seed = {}", "7".repeat(LARGE - 10))),
        ("parameters on one line", {
            let set = repeated(|n| format!("p{n} = 1, "));
            let set = &set[..set.len().min(LARGE / 2)];
            format!("{start}{}", flow(&format!("set = {{ {} }}", &set[..set.rfind(',').unwrap()])))
        }),
        (
            "wrong flows",
            format!("{start}{}", repeated(|_| flow("start = \"9s\"")).split_off(start.len() + 70)),
        ),
        ("links that do not exist", {
            let flows = repeated(|n| flow(&format!("route = [\"l{n}\"]"))).split_off(LARGE / 2);
            let flows = &flows[flows.find("[[").unwrap()..];
            let links = repeated(|_| path.into()).split_off(LARGE / 2);
            format!("title = \"t\"\nduration = \"1s\"\n{}{flows}", &links[links.find("[[").unwrap()..])
        }),
    ];
    for (name, text) in cases {
        assert!(text.len() <= LARGE + 200, "{name}: {}", text.len());
        let began = Instant::now();
        let error = read(&text).expect_err(name);
        let shown = render(&error);
        assert!(began.elapsed() < SOON, "{name}: {:?}", began.elapsed());
        assert!((1..=Invalid::MOST).contains(&error.problems.len()), "{name}");
        assert!(
            error.problems.iter().all(|p| p.message.len() + p.help.len() + p.key.len() < 5_000),
            "{name}"
        );
        assert!(shown.len() < 1_000_000, "{name}: {}", shown.len());
    }
}

#[test]
fn reading_stops_after_many_problems_of_the_command_line() {
    let sets: Vec<String> = (0..5_000).map(|n| format!("nothing{n}=1")).collect();
    let began = Instant::now();
    let error = read_with(GOOD, &sets.iter().map(String::as_str).collect::<Vec<_>>()).unwrap_err();
    assert_eq!(error.problems.len(), Invalid::MOST);
    assert!(began.elapsed() < SOON, "{:?}", began.elapsed());
}

#[test]
fn thousands_of_flows_get_names_soon() {
    let flows = "[[flow]]\ncc = \"bbr1\"\nrtt = \"10ms\"\n".repeat(28_000);
    let text =
        format!("title = \"t\"\nduration = \"1s\"\n[[link]]\nrate = \"1mbit\"\nbuffer = \"9kB\"\n{flows}");
    let began = Instant::now();
    let scenario = read(&text).unwrap();
    assert!(began.elapsed() < SOON, "{:?}", began.elapsed());
    let name = |index: usize| scenario.flows[index].name.as_str();
    assert_eq!((name(0), name(1), name(27_999)), ("10ms", "10ms-2", "10ms-28000"));
}

#[test]
fn a_name_that_a_flow_has_is_not_given_to_another() {
    let flow = |more: &str| format!("[[flow]]\ncc = \"bbr1\"\nrtt = \"10ms\"\n{more}\n");
    let flows = [flow(""), flow("name = \"10ms-2\""), flow(""), flow("")].concat();
    let start = &GOOD[..GOOD.find("[[flow]]").unwrap()];
    let scenario = read(&format!("{start}{flows}")).unwrap();
    let names: Vec<_> = scenario.flows.iter().map(|flow| flow.name.as_str()).collect();
    assert_eq!(names, ["10ms", "10ms-2", "10ms-3", "10ms-4"]);
}

#[test]
fn an_error_far_to_the_right_is_shown_at_its_line_and_column() {
    let good = "{cc = \"bbr1\", rtt = \"10ms\"},".repeat(3_000);
    let text = format!(
        "title = \"t\"\nduration = \"1s\"\nlink = [{{rate = \"2mbit\", buffer = \"20kB\"}}]\nflow = [{good}\
         {{cc = \"bbr1\", rtt = \"10\"}}]"
    );
    let error = read(&text).unwrap_err();
    let problem = &error.problems[0];
    let column = text.lines().last().unwrap().find("\"10\"").unwrap() + 1;
    assert!(column > 65_529);
    assert_eq!((error.problems.len(), problem.line, problem.column), (1, 4, column));
    let shown = render(&error);
    assert!(shown.contains(&format!("[test.toml:4:{column}]")), "{shown}");
    assert!(shown.contains("{cc = \"bbr1\", rtt = \"10\"}]") && shown.len() < 3_000, "{shown}");
}

#[test]
fn what_a_terminal_obeys_is_shown_as_text() {
    let with = |from: &str, to: &str| {
        assert!(GOOD.contains(from), "{from}");
        let text = GOOD.replacen(from, to, 1);
        let error = fairpace_scenario::parse("a\u{1b}[2J\u{202e}.toml", &text, &[], Target::Simulator);
        let error = error.expect_err(to);
        let shown = format!("{}{error}", render(&error));
        let hidden = |c: &char| c.is_control() && *c != '\n' || ('\u{202a}'..='\u{202e}').contains(c);
        assert_eq!(shown.chars().find(hidden), None, "{shown}");
        assert!(shown.contains("a\\u001b[2J\\u202e.toml"), "{shown}");
        shown
    };
    let shown = with("start = \"5s\"", "start = \"\\u001b]0;pwned\\u0007\"");
    assert!(shown.contains("\\u001b]0;pwned\\u0007"), "{shown}");
    with("start =", "\"sta\\u001b[31m\\u202ert\" =");
    with("start = \"5s\"", "start = \"5\" # a comment with \u{202e}");
    with("start = \"5s\"", "start = \"\u{9b}31m5s\u{202e}\"");
    with("cc = \"bbr1\"", "cc = \"\\u001b[31m\"");
    with("alpha", "\"al\\u0000\\u202epha\"");
    with("rate = \"100mbit\"", "trace = \"\u{202e}none.trace\"");
    // not TOML at all
    with("title", "\u{1b}[31mtitle");
}

#[test]
fn what_is_not_a_regular_file_is_refused_without_waiting() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("socket");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    let fifo = folder.path().join("fifo");
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    for (path, what) in [
        (fifo.as_path(), "it is a pipe (FIFO)"),
        (socket.as_path(), "it is a socket"),
        (std::path::Path::new("/dev/zero"), "it is a device"),
    ] {
        let error = load(path, &[], Target::Simulator).unwrap_err();
        assert!(error.problems[0].message.contains(what), "{error}");
        assert_eq!(error.problems[0].help, "write the scenario to a file, and name that");
        let scenario = GOOD.replacen("rate = \"100mbit\"", &format!("trace = \"{}\"", path.display()), 1);
        let error = read(&scenario).unwrap_err();
        assert!(error.problems[0].message.contains(what), "{error}");
    }
}

#[test]
fn links_times_flows_times_points_is_bounded() {
    let links = "[[link]]\nrate = \"20mbit\"\nbuffer = \"20kB\"\n".repeat(100);
    let text = format!(
        "title = \"t\"\nduration = \"10s\"\ninterval = \"10ms\"\n{links}[[flow]]\ncc = \"bbr1\"\nrtt = \
         \"10ms\"\ncount = 1000\n"
    );
    let error = read(&text).unwrap_err();
    let problem = &error.problems[0];
    assert_eq!((problem.kind, problem.key.as_str(), problem.line), ("impossible", "interval", 3));
    assert!(problem.message.starts_with("a run of 100 links x 1000 flows x 1000 points takes about 4.8 GB"));
    read(&text.replace("\"10ms\"\n[[", "\"24ms\"\n[[")).unwrap();
}
