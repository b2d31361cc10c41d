//! Algorithms of the user: headers that are compiled when they are used.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::sys::socket::{setsockopt, sockopt::TcpCongestion};
use nix::unistd::Pid;

use super::support::{Ended, Place, Unload, has_kernel};

const PATH: [&str; 8] = ["--rate", "10mbit", "--buffer", "50kB", "--rtt", "20ms", "--duration", "5s"];

/// A place with the header that `fairpace new` writes.
fn place() -> Place {
    let place = Place::new();
    place.run(&["new", "mine"]).succeeds();
    place
}

/// The same, in which this line stands in `mine_on_ack`.
fn with_line(line: &str) -> Place {
    let place = place();
    let header = place.read("mine.h");
    let before = "\tif (v->ca_state !=";
    let changed = header.replacen(before, &format!("\t{line}\n{before}"), 1);
    assert_ne!(changed, header);
    place.write("mine.h", &changed);
    place
}

fn compare(place: &Place, cc: &str, more: &[&str]) -> Ended {
    let arguments = [&["compare", "--cc", cc, "--warmup", "2s"], &PATH[..], more].concat();
    place.run(&arguments)
}

#[test]
fn a_new_header_is_compared_with_a_listed_algorithm() {
    let place = place();
    let ended = compare(&place, "./mine.h,reno", &["--json"]).succeeds();
    assert_eq!(ended.stderr, "", "no warning of the compiler");
    let runs = ended.json();
    let name = |run: usize| runs[run]["flows"][0]["cc"].clone();
    assert_eq!((name(0), name(1)), ("mine".into(), "reno".into()));
    assert!(runs[0]["links"][0]["utilization"].as_f64().unwrap() > 0.95, "{runs}");
}

#[test]
fn its_parameters_are_set_like_those_of_others() {
    let place = place();
    let hash = |ended: Ended| ended.succeeds().json()[0]["scenario"]["hash"].clone();
    let usual = hash(compare(&place, "./mine.h", &["--json"]));
    let changed = hash(compare(&place, "./mine.h", &["--json", "--set", "mine.beta=0.5"]));
    assert!(usual.is_string() && usual != changed);
    compare(&place, "./mine.h", &["--set", "mine.beta=2"]).fails(2, "mine: beta cannot be 2");
}

#[test]
fn a_change_of_the_header_changes_the_hash_and_a_copy_elsewhere_does_not() {
    let place = place();
    let hash = |cc: &str| compare(&place, cc, &["--json"]).succeeds().json()[0]["scenario"]["hash"].clone();
    let first = hash("./mine.h");
    std::fs::create_dir(place.path().join("other")).unwrap();
    place.write("other/mine.h", &place.read("mine.h"));
    assert_eq!(hash("other/mine.h"), first);
    place.write("mine.h", &place.read("mine.h").replace("CC_FRACTION(0.7)", "CC_FRACTION(0.6)"));
    assert_ne!(hash("./mine.h"), first);
}

#[test]
fn a_scenario_file_names_it_by_its_path() {
    let place = place();
    place.write("mine.toml", &super::support::SMALL.replace("bbr1", "./mine.h"));
    let ended = place.run(&["sim", "mine.toml", "--out", "out", "--json"]).succeeds();
    assert!(ended.stdout.contains("\"mine\""), "{}", ended.stdout);
    // the stored scenario can be run again
    place.run(&["sim", "out/scenario.toml"]).succeeds();
}

#[test]
fn a_header_that_does_not_compile_is_shown_in_the_words_of_the_compiler() {
    let place = with_line("d->cwnd = 4;");
    compare(&place, "./mine.h", &[]).fails(2, "mine.h:");
    compare(&place, "./mine.h", &[]).fails(2, "no member named 'cwnd'");
}

#[test]
fn the_contract_is_printed_as_text_or_as_json() {
    let place = place();
    let text = place.run(&["new", "--contract"]).succeeds();
    let json = place.run(&["new", "--contract", "--json"]).succeeds();
    let record: serde_json::Value = serde_json::from_str(&json.stdout).expect("one JSON document");
    assert_eq!(record["contract"], text.stdout.as_str());
    assert!(text.stdout.contains("CC_CONTRACT_H"), "{}", text.stdout);
}

#[test]
fn a_missing_header_and_the_name_of_another_algorithm_are_errors() {
    let place = place();
    compare(&place, "./missing.h", &[]).fails(2, "there is no file `./missing.h`");
    place.write("reno.h", &place.read("mine.h").replace("mine", "reno"));
    compare(&place, "./reno.h", &[]).fails(2, "there is an algorithm \"reno\" already");
    place.run(&["new", "mine"]).fails(5, "mine.h exists");
    // a header in a folder has the name of the file, with or without its end
    std::fs::create_dir(place.path().join("sub")).unwrap();
    place.run(&["new", "sub/mine.h"]).succeeds();
    assert_eq!(place.read("sub/mine.h"), place.read("mine.h"));
    place.run(&["new", "cubic"]).fails(2, "there is an algorithm cubic already");
    place.run(&["new", "switch"]).fails(2, "no word of C");
    place.write("link.h", &place.read("mine.h").replace("mine", "link"));
    compare(&place, "./link.h", &[]).fails(2, "scenarios have a section of that name");
    place.run(&["new", "no-name"]).fails(2, "cannot be an algorithm's name");
}

#[test]
fn what_a_header_does_wrong_ends_with_its_name_and_leaves_nothing() {
    let cases = [
        ("d->cwnd_pkts = v->acked_pkts / (v->mss_bytes - v->mss_bytes);", "did what C does not define"),
        ("((volatile u32 *)s)[1u << 26] = 1;", "mine_on_ack of ./mine.h"),
        ("*(volatile u32 *)(u64)v->snd_nxt = 1;", "mine_on_ack of ./mine.h"),
        (
            "{ u32 few[4]; few[v->cwnd_pkts + 4] = 1; d->cwnd_pkts = few[v->cwnd_pkts + 4]; }",
            "did what C does not define",
        ),
    ];
    let cases = cases.into_iter().chain([(
        "{ volatile u8 much[1u << 24]; much[v->cwnd_pkts] = 1; d->cwnd_pkts += much[v->cwnd_pkts] - 1u; }",
        "mine_on_ack of ./mine.h",
    )]);
    for (line, said) in cases {
        let place = with_line(line);
        let ended = compare(&place, "./mine.h", &["--out", "out"]);
        ended.fails(2, said);
        assert!(!place.path().join("out").exists(), "{line}");
    }
}

#[test]
fn a_loop_without_an_end_ends() {
    let place = with_line("for (volatile u32 more = 1; more;) ;");
    compare(&place, "./mine.h", &[]).fails(2, "mine_on_ack of ./mine.h has not returned for 10 s");
}

#[test]
fn ctrl_c_ends_a_run_with_a_header_in_order() {
    let place = place();
    let arguments = ["sim", "mine.toml", "--out", "out", "--quiet"];
    let long =
        super::support::SMALL.replace("bbr1", "./mine.h").replace("duration = ", "duration = \"80000s\" #");
    place.write("mine.toml", &long);
    let child = place.command(&arguments).stderr(std::process::Stdio::piped()).spawn().unwrap();
    std::thread::sleep(Duration::from_secs(2));
    kill(Pid::from_raw(child.id() as i32), Signal::SIGINT).unwrap();
    let ended: Ended = child.wait_with_output().unwrap().into();
    ended.fails(130, "interrupted");
    assert!(!place.path().join("out").exists());
}

/// A network in integers, whose every unit would be a branch if the compiler had its way.
#[test]
fn the_kernel_loads_a_learned_policy() {
    if !has_kernel() {
        return;
    }
    let place = Place::new();
    let name = format!("p{:x}", std::process::id() & 0xffff);
    let trained = include_str!("../../../../examples/learned.h");
    let upper = name.to_uppercase();
    let renamed = trained.replace("learned", &name).replace("LEARNED", &upper);
    place.write(&format!("{name}.h"), &renamed);
    let kernel_name = format!("fp_{name}");
    let _unload = Unload(kernel_name.clone());
    place.run(&["load", &format!("./{name}.h")]).succeeds();
    place.run(&["unload", &kernel_name]).succeeds();
}

#[test]
fn the_kernel_loads_a_header() {
    if !has_kernel() {
        return;
    }
    let place = Place::new();
    let name = format!("m{:x}", std::process::id() & 0xffff);
    place.run(&["new", &name]).succeeds();
    let kernel_name = format!("fp_{name}");
    let _unload = Unload(kernel_name.clone());
    let header = format!("./{name}.h");
    place.run(&["load", &header, "--set", "beta=0.8"]).succeeds();
    let list = place.run(&["list"]).succeeds().stdout;
    assert!(list.contains(&kernel_name), "{list}");
    place.run(&["enable", &header]).fails(2, "cannot be loaded at every boot");
    place.run(&["unload", &kernel_name]).succeeds();
}

/// A header that is wrong does not harm its connections, and an administrator sees that it is.
#[test]
fn status_counts_what_the_kernel_did_not_take_from_a_header() {
    if !has_kernel() {
        return;
    }
    let place = Place::new();
    let name = format!("c{:x}", std::process::id() & 0xffff);
    place.run(&["new", &name]).succeeds();
    let file = format!("{name}.h");
    let before = "\tif (v->ca_state !=";
    let wrong = place.read(&file).replacen(before, &format!("\td->ssthresh_pkts = 0;\n{before}"), 1);
    place.write(&file, &wrong);
    let kernel_name = format!("fp_{name}");
    let _unload = Unload(kernel_name.clone());
    place.run(&["load", &format!("./{file}")]).succeeds();
    transfer(&kernel_name);
    let status = place.run(&["status", "--json"]).succeeds().json();
    let ours =
        status["algorithms"].as_array().unwrap().iter().find(|of| of["kernel_name"] == kernel_name[..]);
    let counters = &ours.expect("it is loaded")["counters"];
    assert!(counters["clamped"]["ssthresh"].as_u64() > Some(10), "{counters}");
    assert_eq!(counters["fallbacks"], 0, "{counters}");
    let text = place.run(&["status"]).succeeds().stdout;
    assert!(text.contains("ssthresh"), "{text}");
    place.run(&["unload", &kernel_name]).succeeds();
}

/// Sends sixteen megabytes over loopback.
fn transfer(kernel_name: &str) {
    /// Bytes: enough for many ACKs, however few a receiver sends that reads whole buffers.
    const BYTES: usize = 16 << 20;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let mut sender = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    setsockopt(&sender, TcpCongestion, &kernel_name.into()).unwrap();
    let mut receiver = listener.accept().unwrap().0;
    let reading = std::thread::spawn(move || receiver.read_exact(&mut vec![0; BYTES]));
    sender.write_all(&vec![7; BYTES]).unwrap();
    reading.join().unwrap().unwrap();
}
