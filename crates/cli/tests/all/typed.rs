//! What people type who meet the program for the first time.

use super::support::{Ended, Place, is_root};

/// The words of a command as people type it. A text in quotes is one word.
fn words(command: &str) -> Vec<String> {
    let parts = command.split('"').enumerate();
    let words = parts.flat_map(|(index, part)| match index % 2 {
        0 => part.split_whitespace().map(str::to_owned).collect(),
        _ => vec![part.to_owned()],
    });
    words.collect()
}

fn typed(place: &Place, command: &str) -> Ended {
    let words = words(command);
    place.run(&words.iter().map(String::as_str).collect::<Vec<_>>())
}

const BBR: &str =
    "Linux's `bbr` is `bbr1` here, Google's BBRv3 is `bbr3`, and the kernel's own is `kernel:bbr`";

#[test]
fn bbr_says_which_algorithms_that_may_be() {
    let place = Place::new();
    for command in
        ["compare --cc bbr", "compare bbr cubic", "load bbr", "enable bbr", "evaluate bbr", "algorithms bbr"]
    {
        let ended = typed(&place, command);
        ended.fails(2, BBR);
        assert!(!ended.stderr.contains("did you mean"), "{command}: {}", ended.stderr);
    }
    place.write("bbr.toml", &super::support::SMALL.replace("bbr1", "bbr"));
    typed(&place, "sim bbr.toml").fails(2, BBR);
}

#[test]
fn a_name_in_the_kernel_is_a_name() {
    let place = Place::new();
    let name = |command: &str| typed(&place, command).succeeds().json()[0]["flows"][0]["cc"].clone();
    let json = "--duration 1s --json";
    assert_eq!(name(&format!("compare fp_bbr3 {json}")), "bbr3");
    assert_eq!(name(&format!("compare --cc fp_bbr3 --set fp_bbr3.beta=0.5 {json}")), "bbr3");
    place.write("fp.toml", &super::support::SMALL.replace("bbr1", "fp_bbr1"));
    assert_eq!(typed(&place, "sim fp.toml --json").succeeds().json()["flows"][0]["cc"], "bbr1");
    typed(&place, "compare fp_bbr9").fails(2, "there is no algorithm `fp_bbr9`");
}

#[test]
fn the_long_version_names_the_commit_and_the_kernel_objects() {
    let place = Place::new();
    let short = place.run(&["-V"]).succeeds().stdout;
    assert_eq!(short, concat!("fairpace ", env!("CARGO_PKG_VERSION"), "\n"));
    let long = place.run(&["--version"]).succeeds().stdout;
    let rest = long.strip_prefix(&short).unwrap();
    let lines: Vec<&str> = rest.lines().collect();
    assert!(lines[0].starts_with("commit ") && lines[1].starts_with("kernel objects "), "{long}");
    let digest = lines[1].rsplit("sha256:").next().unwrap();
    assert!(digest.len() == 64 || lines[1].contains("without clang"), "{long}");
    assert_eq!(place.run(&["--version"]).stdout, long);
}

#[test]
fn a_scenario_without_a_title_has_the_name_of_its_file() {
    let place = Place::new();
    let with = super::support::SMALL;
    let without: String =
        with.lines().filter(|line| !line.starts_with("title")).map(|line| format!("{line}\n")).collect();
    assert_ne!(with, without);
    place.write("ten-flows.toml", &without);
    place.write("small.toml", with);
    let of = |file: &str| typed(&place, &format!("sim {file} --json")).succeeds().json()["scenario"].clone();
    let (with, without) = (of("small.toml"), of("ten-flows.toml"));
    assert_eq!(without["title"], "ten-flows");
    assert_eq!(with["hash"], without["hash"], "a title is no part of the hash");
    assert!(typed(&place, "sim ten-flows.toml").succeeds().stdout.starts_with("ten-flows\n"));
}

#[test]
fn algorithms_are_a_short_list_and_one_is_shown_in_full() {
    let place = Place::new();
    let list = typed(&place, "algorithms").succeeds().stdout;
    assert_eq!(list.lines().filter(|line| line.starts_with("bbr3 ")).count(), 1);
    assert!(list.lines().count() < 40 && !list.contains("loss_thresh"), "{list}");
    let one = typed(&place, "algorithms bbr3").succeeds().stdout;
    assert!(one.contains("fp_bbr3") && one.contains("loss_thresh") && !one.contains("cubic "), "{one}");
    let json = typed(&place, "algorithms fp_bbr3 reno --json").succeeds().json();
    assert_eq!((&json[0]["name"], &json[1]["name"]), (&"bbr3".into(), &"reno".into()));
    typed(&place, "new mine").succeeds();
    assert!(typed(&place, "algorithms ./mine.h").succeeds().stdout.contains("beta"));
    typed(&place, "algorithms bbr9").fails(2, "there is no algorithm \"bbr9\"");
}

#[test]
fn tables_fit_a_terminal() {
    let place = Place::new();
    let commands = [
        "compare bbr3 cubic bbr3:beta=0.5 --rtt 10ms,50ms --duration 2s",
        "algorithms",
        "algorithms bbr3",
        "scenarios",
        "sim parking-lot --set duration=2s --set window.from=1s --set window.to=2s --set flow.start=0s",
        "doctor",
    ];
    let is_root = is_root();
    for command in commands.iter().filter(|command| **command != "doctor" || is_root) {
        for columns in [80, 120] {
            let words = words(command);
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let ended: Ended =
                place.command(&words).env("COLUMNS", columns.to_string()).output().unwrap().into();
            assert_ne!(ended.stdout, "", "{}", ended.stderr);
            let is_address = |line: &&str| line.trim_start().starts_with("http");
            let lines = ended.stdout.lines().filter(|line| !is_address(line));
            let widest = lines.max_by_key(|line| line.chars().count()).unwrap();
            assert!(widest.chars().count() <= columns, "{command}: {widest}");
        }
    }
    // in a pipe a row is a line
    let rows = typed(&place, "compare bbr3 cubic --duration 2s --quiet").succeeds().stdout;
    assert_eq!(rows.lines().count(), 3, "{rows}");
}

#[test]
fn lists_have_spaces_after_their_commas() {
    let place = Place::with_scenario();
    let runs = typed(&place, "compare --cc \"bbr1, bbq\" --rtt \"10ms, 50ms\" --duration 1s --json");
    let runs = runs.succeeds().json();
    assert_eq!(runs[1]["flows"][1]["cc"], "bbq");
    let words = "evaluate level --beside \"reno, cubic\" --criterion \"G1, G2\" --match x";
    typed(&place, words).fails(2, "no case has a name");
    typed(&place, "sim small.toml --out out --trace \"series, events\" --quiet").succeeds();
    assert!(place.path().join("out/events.parquet").exists());
}

#[test]
fn a_forgotten_comma_is_another_algorithm() {
    let runs = typed(&Place::new(), "compare --cc bbr1 bbq --duration 1s --json").succeeds().json();
    assert_eq!(runs.as_array().map(Vec::len), Some(2));
}

#[test]
fn the_kernels_own_algorithms_are_with_on_kernel() {
    let place = Place::new();
    typed(&place, "compare --cc kernel:bbr").fails(2, "add --on kernel");
    typed(&place, "compare bbr3 kernel:bbr").fails(2, "add --on kernel");
}

#[test]
fn a_header_that_is_not_there_is_made_by_new() {
    let place = Place::new();
    for command in
        ["compare --cc nofile.h", "load nofile.h", "evaluate ./nofile.h", "compare sub/nofile.h:gain=2"]
    {
        let ended = typed(&place, command);
        ended.fails(2, "`fairpace new nofile` writes one to begin with");
        let said: String = ended.stderr.split_whitespace().collect();
        let folder: String = place.path().display().to_string().split_whitespace().collect();
        assert!(said.contains(&format!("itwaslookedforas{folder}/")), "{command}: {}", ended.stderr);
    }
}

#[test]
fn compare_needs_only_names() {
    let place = Place::new();
    let ended = typed(&place, "compare bbr3 cubic --duration 10s").succeeds();
    let first = "100mbit, buffer 500kB; simulated; measured from 3333ms to 10s\n";
    assert!(ended.stdout.starts_with(first), "{}", ended.stdout);
    let rows: Vec<&str> = ended.stdout.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(rows[rows.len() - 2..], ["bbr3", "cubic"]);
    // the second flow starts within the third that is not measured
    let runs = typed(&place, "compare reno --rtt 10ms,40ms --duration 6s --json").succeeds().json();
    assert_eq!(runs[0]["window_s"], serde_json::json!([2.0, 6.0]));
    assert_eq!(runs[0]["flows"][1]["start_s"], 0.5);
    typed(&place, "compare reno --duration 1s").succeeds();
    typed(&place, "compare").fails(2, "required arguments were not provided");
}

#[test]
fn the_number_of_threads_changes_no_byte() {
    let place = Place::new();
    let all = "compare bbr3 cubic reno bbq level --rtt 10ms,50ms --duration 3s";
    let of = |jobs: &str| {
        let text = typed(&place, &format!("{all} --jobs {jobs} --out out{jobs}")).succeeds().stdout;
        (text, place.read(&format!("out{jobs}/summary.json")), place.read(&format!("out{jobs}/report.html")))
    };
    let one = of("1");
    assert_eq!(of("2"), one);
    assert_eq!(of("7"), one);
}

#[test]
fn a_variant_stands_beside_its_algorithm_under_its_name() {
    let place = Place::new();
    let path = "--rate 10mbit --buffer 20kB --rtt 10ms,50ms --duration 5s";
    let runs =
        typed(&place, &format!("compare --cc bbr3,bbr3:beta=0.5 {path} --json --out out")).succeeds().json();
    let [usual, changed] = [0, 1].map(|run: usize| runs[run].clone());
    assert_eq!((&usual["flows"][0]["cc"], usual["flows"][0].get("set")), (&"bbr3".into(), None));
    assert_eq!(changed["flows"][0]["cc"], "bbr3:beta=0.5");
    assert_eq!(changed["flows"][0]["set"], serde_json::json!({"beta": "0.5"}));
    assert_ne!(usual["flows"][0]["retransmits"], changed["flows"][0]["retransmits"]);
    // the same scenario as with --set, and the stored one can be run again under its name
    let set = typed(&place, &format!("compare bbr3 --set bbr3.beta=0.5 {path} --json")).succeeds().json();
    assert_eq!(set[0]["scenario"]["hash"], changed["scenario"]["hash"]);
    let stored = place.read("out/bbr3-beta-0.5/scenario.toml");
    assert!(stored.contains("cc = \"bbr3:beta=0.5\"\n") && !stored.contains("set ="), "{stored}");
    let again = typed(&place, "sim out/bbr3-beta-0.5/scenario.toml --json").succeeds().json();
    assert_eq!(again["flows"], changed["flows"]);
}

#[test]
fn equal_entries_are_refused() {
    let place = Place::new();
    typed(&place, "compare bbr3 bbr3").fails(2, "--cc names bbr3 twice");
    typed(&place, "compare bbr3,fp_bbr3").fails(2, "--cc names bbr3 twice");
    let equal = "names one algorithm twice: `bbr3` and `bbr3:min_cwnd_pkts=4` have the same parameters";
    typed(&place, "compare bbr3 bbr3:min_cwnd_pkts=4").fails(2, equal);
    typed(&place, "evaluate bbr3 bbr3:min_cwnd_pkts=4").fails(2, equal);
    typed(&place, "compare bbr3 bbr3:beta=0.5 --set bbr3.beta=0.6").fails(2, "names one algorithm twice");
    typed(&place, "compare bbr3:beta").fails(2, "`beta` is not KEY=VALUE");
    typed(&place, "compare bbr3:gain=2").fails(2, "`bbr3` has no parameter `gain`");
}

#[test]
fn a_parameter_that_changes_nothing_is_said() {
    let place = Place::new();
    let note = "note on bbr3:beta=0.5: beta=0.5 changed no byte of the result";
    let said = |command: &str| typed(&place, command).succeeds().stdout;
    assert!(said("compare bbr3 bbr3:beta=0.5 --duration 2s").contains(note));
    assert!(said("compare bbr3:beta=0.5 --duration 2s").contains(note));
    let of_set = said("compare bbr3 --set bbr3.beta=0.5 --duration 2s");
    assert!(of_set.contains("note on bbr3: beta=0.5 changed no byte of the result"), "{of_set}");
    let lossy = said("compare bbr3 bbr3:beta=0.5 --rate 10mbit --buffer 20kB --rtt 10ms,50ms --duration 5s");
    assert!(!lossy.contains("changed no byte"), "{lossy}");
    assert!(!said("compare bbr3 bbr3:beta=0.5 --duration 2s --quiet").contains("note"));
}

#[test]
fn headers_have_variants() {
    let place = Place::new();
    typed(&place, "new mine").succeeds();
    let path = "--rate 10mbit --buffer 20kB --rtt 10ms,50ms --duration 5s --json";
    let runs = typed(&place, &format!("compare ./mine.h ./mine.h:beta=0.5 {path}")).succeeds().json();
    assert_eq!(runs[0]["flows"][0]["cc"], "mine");
    assert_eq!(runs[1]["flows"][0]["cc"], "mine:beta=0.5");
    assert_ne!(runs[0]["flows"][0]["retransmits"], runs[1]["flows"][0]["retransmits"]);
}

#[test]
fn variants_are_evaluated_under_their_names() {
    let few = "--match \"10mbit 10/200ms 1bdp\" --criterion G1 --seeds=1 --beside none --json --out out";
    let place = Place::new();
    let wrong = typed(&place, &format!("evaluate reno reno:alpha=9 {few}"));
    wrong.fails(2, "reno has no parameter");
    let record = typed(&place, &format!("evaluate bbr3 bbr3:beta=0.5 {few}")).succeeds().json();
    let rows = record["criteria"][0]["algorithms"].as_array().unwrap();
    assert_eq!(
        rows.iter().map(|row| row["cc"].as_str().unwrap()).collect::<Vec<_>>(),
        ["bbr3", "bbr3:beta=0.5"]
    );
    assert!(record["command"].as_str().unwrap().starts_with("fairpace evaluate bbr3 bbr3:beta=0.5 "));
    assert!(place.path().join("out/bbr3-beta=0.5.md").exists());
    let said = typed(&place, "evaluate bbr3 bbr3:ecn_factor=0.5 --beside none --criterion 5.1.1a --quick");
    let note = "note on bbr3:ecn_factor=0.5: ecn_factor=0.5 changed no byte of the results of bbr3";
    assert!(said.succeeds().stdout.contains(note));
}

/// A file's names start from its folder; what is typed starts from the working directory.
#[test]
fn the_paths_of_headers_and_traces_follow_one_rule() {
    let place = Place::new();
    typed(&place, "new mine").succeeds();
    std::fs::create_dir(place.path().join("sub")).unwrap();
    std::fs::rename(place.path().join("mine.h"), place.path().join("sub/mine.h")).unwrap();
    place.write("sub/one.trace", "1\n2\n");
    let scenario = super::support::SMALL.replace("bbr1", "./mine.h:beta=0.5");
    place.write("sub/header.toml", &scenario);
    let rate = scenario.lines().find(|line| line.starts_with("rate")).unwrap();
    place.write("sub/trace.toml", &super::support::SMALL.replace(rate, "trace = \"one.trace\""));
    let run = typed(&place, "sim sub/header.toml --json --out out").succeeds().json();
    assert_eq!(run["flows"][0]["cc"], "mine:beta=0.5");
    typed(&place, "sim sub/trace.toml --quiet").succeeds();
    // from the command line the same files have another path
    typed(&place, "sim sub/trace.toml --set link.trace=sub/one.trace --quiet").succeeds();
    typed(&place, "sim sub/header.toml --set flow.cc=sub/mine.h --quiet").succeeds();
    let looked = |command: &str, path: &str, from: &str| {
        let ended = typed(&place, command);
        ended.fails(2, from);
        let said: String = ended.stderr.split_whitespace().filter(|word| *word != "│").collect();
        let path = place.path().join(path).display().to_string();
        assert!(said.contains(&format!("itwaslookedforas{path}")), "{command}: {}", ended.stderr);
    };
    looked("sim sub/trace.toml --set link.trace=one.trace", "one.trace", "path from the working directory");
    looked("sim sub/header.toml --set flow.cc=mine.h", "mine.h", "there is no file `mine.h`");
    place.write("sub/header.toml", &scenario.replace("mine.h", "other.h"));
    looked("sim sub/header.toml", "sub/other.h", "there is no file `sub/other.h`");
    place.write("sub/trace.toml", &super::support::SMALL.replace(rate, "trace = \"two.trace\""));
    looked("sim sub/trace.toml", "sub/two.trace", "path from the folder of the scenario file");
    // a result has its header with it
    assert_eq!(place.read("out/mine.h"), place.read("sub/mine.h"));
    std::fs::remove_dir_all(place.path().join("sub")).unwrap();
    let again = typed(&place, "sim out/scenario.toml --json").succeeds().json();
    assert_eq!((&again["scenario"]["hash"], &again["flows"]), (&run["scenario"]["hash"], &run["flows"]));
}

#[test]
fn a_header_with_files_of_its_own_is_kept_with_them() {
    let place = Place::new();
    typed(&place, "new mine").succeeds();
    let header = place.read("mine.h");
    place.write("mine.h", &format!("#include \"parts/numbers.h\"\n{header}"));
    std::fs::create_dir(place.path().join("parts")).unwrap();
    place.write("parts/numbers.h", "#define UNUSED 1\n");
    place.write("mine.toml", &super::support::SMALL.replace("bbr1", "mine.h"));
    typed(&place, "sim mine.toml --quiet --out out").succeeds();
    assert!(place.read("out/scenario.toml").contains("cc = \"mine/mine.h\""));
    assert_eq!(place.read("out/mine/parts/numbers.h"), place.read("parts/numbers.h"));
    typed(&place, "sim out/scenario.toml --quiet").succeeds();
}

/// `df[df.flow == "10ms"].plot("t_s", "cwnd_pkts")` shows a line: each row of a flow has a value.
#[test]
fn the_time_series_are_three_files_without_gaps() {
    let place = Place::with_scenario();
    typed(&place, "sim small.toml --quiet --out out").succeeds();
    let rows = |name: &str| {
        let text = place.read(name);
        text.lines().map(|line| line.split(',').map(str::to_owned).collect::<Vec<_>>()).collect::<Vec<_>>()
    };
    let flows = rows("out/flows.csv");
    let cwnd = flows[0].iter().position(|name| name == "cwnd_pkts").unwrap();
    let name = flows[1][1].clone();
    let of_flow: Vec<_> = flows[1..].iter().filter(|row| row[1] == name).collect();
    assert!(of_flow.len() > 5 && of_flow.iter().all(|row| row[cwnd].parse::<f64>().is_ok()), "{flows:?}");
    assert_eq!(rows("out/links.csv")[0], ["t_s", "link", "queue_delay_ms", "backlog_kb", "dropped_pkts"]);
    assert_eq!(rows("out/backlog.csv")[0], ["t_s", "link", "flow", "backlog_kb"]);
    assert!(!place.path().join("out/series.csv").exists());
}

/// Bytes of a text such as "126 MB".
fn bytes(text: &str) -> f64 {
    let (number, unit) = text.split_once(' ').unwrap();
    let unit = unit.split([':', ',']).next().unwrap();
    let factor = ["B", "kB", "MB", "GB"].iter().position(|of| *of == unit).unwrap();
    number.parse::<f64>().unwrap() * 1000f64.powi(factor as i32)
}

#[test]
fn traces_say_their_size_before_and_after() {
    let place = Place::with_scenario();
    let command = "sim small.toml --trace series,events,qlog --pcap bottleneck --out out";
    let ended = typed(&place, command).succeeds();
    let lines: Vec<&str> = ended.stderr.lines().collect();
    let before = lines[0].strip_prefix("the traces take up to about ").unwrap();
    let after = lines[1].strip_prefix("the traces have ").unwrap();
    for file in ["qlog of 2 flows", "bottleneck.pcapng", "events.parquet"] {
        assert!(before.contains(file), "{before}");
    }
    let written = std::fs::read_dir(place.path().join("out")).unwrap().map(|entry| entry.unwrap());
    let is_trace = |name: &str| [".parquet", ".sqlog", ".pcapng"].iter().any(|end| name.ends_with(end));
    let traces = written.filter(|entry| is_trace(entry.file_name().to_str().unwrap()));
    let written: u64 = traces.map(|entry| entry.metadata().unwrap().len()).sum();
    assert!((bytes(after) / written as f64 - 1.0).abs() < 0.05, "{after}, {written}");
    assert!((0.3..3.0).contains(&(bytes(before) / written as f64)), "{before}, {written}");
    assert!(after.contains("bottleneck.pcapng "), "{after}");
    assert_eq!(typed(&place, &format!("{command} --quiet")).succeeds().stderr, "");
}

#[test]
fn scenarios_are_in_the_program() {
    let place = Place::new();
    let list = typed(&place, "scenarios").succeeds().stdout;
    let title = "One flow crosses three bottlenecks, and meets another flow on each";
    assert!(list.lines().any(|line| line.starts_with("parking-lot ") && line.ends_with(title)), "{list}");
    let json = typed(&place, "scenarios --json").succeeds().json();
    assert!(json.as_array().unwrap().iter().any(|of| of["name"] == "ccwg/middle" && of["title"].is_string()));
    let shown = typed(&place, "scenarios show parking-lot").succeeds().stdout;
    assert!(shown.contains("[[link]]") && shown.contains(title), "{shown}");
    let short = "--set duration=2s --set window.from=1s --set window.to=2s";
    let ran = typed(&place, &format!("sim parking-lot {short} --set flow.start=0s")).succeeds();
    assert!(ran.stdout.starts_with(title) && ran.stderr.is_empty(), "{}", ran.stderr);
    // the paths of the README, and a scenario with a trace
    let ran = typed(&place, "sim scenarios/cellular-trace.toml --repeat 2 --out out").succeeds();
    assert!(ran.stderr.contains("the scenario cellular-trace of the program runs"), "{}", ran.stderr);
    typed(&place, "sim parking-lott").fails(2, "did you mean `parking-lot`?");
    typed(&place, "scenarios show nothing").fails(2, "the program has no scenario `nothing`");
    // a file goes before
    place.write("parking-lot", super::support::SMALL);
    let ran = typed(&place, "sim parking-lot").succeeds();
    assert!(
        ran.stderr.contains("the file parking-lot runs, not the scenario of the program"),
        "{}",
        ran.stderr
    );
    assert!(!ran.stdout.starts_with(title));
}
