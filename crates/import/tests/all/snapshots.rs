//! Each file of `tests/inputs` beside its translation or error, in the file of that name with `.expected`.
//! `FAIRPACE_RECORD_IMPORTS=1` writes these files.

use std::fs;
use std::path::{Path, PathBuf};

use fairpace_import::{Direction, Imported, Options, Source, flent, flent_text, iperf3, mm_link, table, tc};
use fairpace_results::{Record, to_json};
use fairpace_scenario::Invalid;

/// The inputs of a tool, in order.
fn inputs(tool: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/inputs").join(tool);
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let is_input = |file: &PathBuf| file.extension().is_some_and(|end| end != "expected" && end != "trace");
    let mut files: Vec<PathBuf> = files.filter(is_input).collect();
    files.sort();
    files
}

/// What a file's name says: `NAME.receive.rate.txt` is imported with `--direction receive --rate 1gbit`.
fn options(file: &Path) -> Options {
    let name = file.file_name().unwrap().to_string_lossy().into_owned();
    let direction = match () {
        () if name.contains(".receive.") => Direction::Receive,
        () if name.contains(".both.") => Direction::Both,
        () => Direction::Send,
    };
    let rate_bps = name.contains(".rate.").then_some(1_000_000_000);
    Options { direction, rate_bps, ..Options::default() }
}

/// The translation or the error, as text.
fn outcome<T>(outcome: &Result<Imported<T>, Invalid>, made: impl Fn(&T) -> String) -> String {
    match outcome {
        Ok(imported) => {
            let warnings = imported.warnings.iter().map(|warning| format!("warning: {warning}\n"));
            warnings.collect::<String>() + &made(&imported.made)
        }
        Err(invalid) => {
            let problem = &invalid.problems[0];
            format!("error: {problem}\nkey: {}\nhelp: {}\n", problem.key, problem.help)
        }
    }
}

/// Compares each input of a tool with its expected outcome. Those that are called `broken` are errors with a
/// place or the file's name.
fn check<T>(
    tool: &str,
    import: impl Fn(&Path, Source<'_>) -> Result<Imported<T>, Invalid>,
    made: impl Fn(&T) -> String,
) {
    let files = inputs(tool);
    let is_broken = |file: &Path| file.file_name().unwrap().to_string_lossy().starts_with("broken");
    assert!(files.iter().filter(|file| is_broken(file)).count() >= 5, "{tool}");
    assert!(files.iter().filter(|file| !is_broken(file)).count() >= 5, "{tool}");
    for file in files {
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        let text = fs::read_to_string(&file).unwrap();
        let result = import(&file, Source { name: &name, text: &text });
        // an error may say where it looked for a file, which is another folder in each copy
        let got = outcome(&result, &made).replace(&*file.parent().unwrap().to_string_lossy(), "FOLDER");
        assert_eq!(result.is_err(), is_broken(&file), "{tool}/{name}: {got}");
        let expected = file.with_file_name(format!("{name}.expected"));
        if std::env::var_os("FAIRPACE_RECORD_IMPORTS").is_some() {
            fs::write(&expected, &got).unwrap();
        }
        let expected = fs::read_to_string(expected).unwrap_or_default();
        assert_eq!(got, expected, "{tool}/{name}; FAIRPACE_RECORD_IMPORTS=1 writes the new outcome");
    }
}

fn record(record: &Record) -> String {
    to_json(record).unwrap()
}

#[test]
fn lines_of_tc() {
    check("tc", |file, source| tc(source, &options(file)), String::clone);
}

#[test]
fn commands_of_mahimahi() {
    check("mm-link", |file, source| mm_link(source, &options(file)), String::clone);
}

#[test]
fn tables() {
    check("csv", |file, source| table(source, &options(file)), String::clone);
}

#[test]
fn results_of_iperf3() {
    check("iperf3", |_, source| iperf3(source, "lab"), record);
}

#[test]
fn results_of_flent() {
    check("flent", |_, source| flent(source, "lab"), record);
}

#[test]
fn a_compressed_file_is_read_and_half_of_it_is_refused() {
    let file = &inputs("flent")[0];
    let text = fs::read(file).unwrap();
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut packed, &text).unwrap();
    let packed = packed.finish().unwrap();
    assert_eq!(flent_text("a.flent.gz", &packed).unwrap().into_bytes(), text);
    let half = flent_text("a.flent.gz", &packed[..packed.len() / 2]).unwrap_err().to_string();
    assert!(
        half.starts_with("a.flent.gz: it cannot be decompressed, perhaps because it is truncated"),
        "{half}"
    );
    assert!(flent_text("a.flent", &[0xff, 0xfe]).unwrap_err().to_string().contains("neither text nor"));
}

/// Values that follow by hand from tc(8) and tc-netem(8).
#[test]
fn the_semantics_are_those_of_tc() {
    let made = |line: &str| tc(Source { name: "line", text: line }, &Options::default()).unwrap().made;
    let has = |line: &str, keys: &[&str]| {
        let made = made(line);
        for key in keys {
            assert!(
                made.lines().any(|line| line.split("  #").next() == Some(key)),
                "{key} is not in\n{made}"
            );
        }
    };
    // 1 MB/s; the buffer is 1 MB/s x 50 ms + 32 x 1024 bytes
    let tbf = "tc qdisc add dev e root tbf rate 1mbps burst 32kb latency 50ms";
    has(tbf, &["rate = \"8mbit\"", "burst = \"32768B\"", "buffer = \"82768B\"", "rtt = \"1ms\""]);
    // 12.112 Mbit/s are 1000 full packets a second: 100 of 1000 are delayed at any time
    let netem = "tc qdisc add dev e root netem rate 12112kbit delay 100ms 10ms";
    let keys = ["buffer = \"900pkts\"", "delay = \"90ms\"", "jitter = \"20ms\"", "rtt = \"90ms\""];
    has(netem, &keys);
    // the mean and the standard deviation of a normal jitter are those of the scenario's keys
    let normal = "tc qdisc add dev e root netem rate 1mbit delay 10ms 20ms 25% distribution normal";
    let keys = ["delay = \"10ms\"", "jitter = \"20ms\"", "jitter_distribution = \"normal\""];
    has(normal, &keys);
    has(normal, &["jitter_correlation = \"25%\"", "rtt = \"10ms\""]);
    has("tc qdisc add dev e root netem rate 1mbit delay 9ms 4ms 50%", &["jitter_correlation = \"50%\""]);
    // a quarter of the packets overtake the others, which take 10 ms longer
    let reorder = "tc qdisc add dev e root handle 1: netem delay 10ms reorder 25%
                   tc qdisc add dev e parent 1: tbf rate 1mbit burst 2000 limit 9000";
    has(reorder, &["reorder = \"75%\"", "reorder_delay = \"10ms\"", "rtt = \"1ms\""]);
    // p / (p + r) = 1/5 of the packets meet a bad line, for 1/r = 5 packets
    let bursts = "tc qdisc add dev e root netem rate 1mbit loss gemodel 5% 20%";
    has(bursts, &["loss = \"20%\"", "loss_burst = 5", "loss_in_burst = \"100%\""]);
    // the next state does not depend on the state: 10 % of 50 %
    has("tc qdisc add dev e root netem rate 1mbit loss gemodel 10% 90% 50%", &["loss = \"5%\""]);
    has("tc qdisc add dev e root netem rate 1mbit loss state 1% 10%", &["loss_burst = 10"]);
}
