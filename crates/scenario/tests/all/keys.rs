//! What the keys of queues, lines, routes, hosts and workloads mean.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use crate::support::{GOOD, good, read, read_with};
use fairpace_scenario::{
    Burst, BurstLength, Cc, Cellular, Codel, Distribution, DualPi2, Ecn, FqCodel, Handover, JitterShape,
    Limit, Line, Link, Media, Pie, Queue, Receiving, Red, RedRules, Scenario, Sending, Sizes, Target, Window,
    Writes, keys, load, parse,
};

/// Nanoseconds in a millisecond.
const MS: u64 = 1_000_000;

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// Its name, for the folder that files are named from.
const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/all/support/all.toml");

/// A scenario with every new key.
fn all() -> Scenario {
    load(Path::new(PATH), &[], Target::Simulator).unwrap()
}

/// The link of [`GOOD`] with other keys below it.
fn link(keys: &str) -> Link {
    read(&GOOD.replace("buffer = \"2MB\"", keys)).unwrap().links.remove(0)
}

#[test]
#[expect(clippy::needless_update, reason = "a new key is at its default here")]
fn links_have_nodes_lines_and_queues_of_every_kind() {
    let links = all().links;
    assert_eq!(links[0].ends, Some(("a".to_owned(), "b".to_owned())));
    assert_eq!((links[0].burst_bytes, links[0].buffer), (Some(20_000), Limit::Packets(100)));
    let codel = Codel {
        target_ns: 4 * MS,
        interval_ns: 80 * MS,
        ecn: false,
        ce_threshold_ns: Some(MS),
        ce_threshold_l4s: true,
    };
    assert_eq!(links[0].queue, Queue::FqCodel(FqCodel { codel, buckets: 64, quantum_bytes: 300 }));
    assert_eq!(
        links[0].line,
        Line {
            delay: ms(5),
            jitter: ms(1),
            jitter_shape: JitterShape { distribution: Distribution::Normal, correlation_ppb: 250_000_000 },
            reorders: true,
            duplicate_ppb: 1_000_000,
            wifi_jitter: None,
            ..Line::default()
        }
    );
    assert_eq!(
        links[0].loss.burst,
        Some(Burst { length: BurstLength::Pkts(10), inside_ppb: 500_000_000, outside_ppb: 5_000_000 })
    );
    assert_eq!(links[2].queue, Queue::Step(Limit::Packets(20)));
    assert_eq!(links[4].queue, Queue::Codel(Codel::default()));
    let handover = Handover { every: ms(15_000), rate_bps: Some(500_000), delay: ms(12), outage: ms(100) };
    assert_eq!(links[2].handover, Some(handover));
    assert_eq!(links[4].line, Line { wifi_jitter: Some(ms(7)), ..Line::default() });
    let cellular = Cellular {
        spread_ppb: 850_000_000,
        memory: ms(1_500),
        outage: Some(ms(600)),
        outage_every: Some(ms(10_000)),
    };
    assert_eq!(links[4].cellular, Some(cellular));
    let dual = DualPi2 {
        target_ns: 10 * MS,
        update_ns: Some(20 * MS),
        rtt_max_ns: 200 * MS,
        coupling: 3,
        ramp_from_ns: MS,
        ramp_range_ns: 0,
        classic_share_ppb: 50_000_000,
    };
    assert_eq!(links[6].queue, Queue::DualPi2(dual));
    assert_eq!(links[5].queue, Queue::Pie(Pie { target_ns: 20 * MS, update_ns: 10 * MS, ecn: true }));
}

#[test]
#[expect(clippy::needless_update, reason = "a new key is at its default here")]
fn hosts_have_what_was_switched() {
    let flows = all().flows;
    let off = Sending {
        ecn: Ecn::Dctcp,
        accecn_option: false,
        sack: false,
        rack: false,
        tlp: false,
        frto: false,
        undo: false,
        prr: false,
        idle_restart: false,
        tso: false,
        pacing: Some(true),
        mtu_bytes: 1400,
        initial_cwnd_pkts: 4,
        rto_min: ms(5),
        syn_retries: 2,
        syn_linear_timeouts: 0,
        ..Sending::default()
    };
    assert_eq!(flows[0].sending, off);
    let receiving = Receiving {
        window: Window::Autotuned(6_000_000),
        ack_every: 4,
        psh_ack: false,
        delayed_ack: true,
        sack_compression: false,
        gro: Duration::from_micros(50),
        ack_delay: ms(2),
        ack_delay_at: vec![(ms(20_000), ms(4)), (ms(30_000), ms(0))],
        syn_ack_retries: 1,
        ..Receiving::default()
    };
    assert_eq!(flows[0].receiving, receiving);
    assert_eq!(flows[1].sending, Sending { ecn: Ecn::Classic, pacing: Some(false), ..Sending::default() });
    assert_eq!(flows[1].receiving, Receiving { delayed_ack: false, ..Receiving::default() });
    assert_eq!(flows[1].traffic.writes, Writes::Responses { bytes: 20_000, think: ms(100) });
    assert_eq!((&flows[2].sending, &flows[2].receiving), (&Sending::default(), &Receiving::default()));
}

#[test]
fn an_encoder_has_its_frames() {
    let flows = all().flows;
    let call = flows.iter().find(|flow| flow.cc == Cc::Uncontrolled).unwrap();
    let media = Media {
        rate_bps: 2_000_000,
        per_s_milli: 25_000,
        deviation_ppb: 200_000_000,
        key_every: 50,
        key_weight: 5,
        deadline: ms(100),
    };
    assert_eq!(call.traffic.writes, Writes::Frames(media));
    let plain = GOOD.replace("cc = \"bbr1\"", "cc = \"none\"\nmedia_rate = \"1mbit\"");
    assert_eq!(read(&plain).unwrap().flows[0].traffic.writes, Writes::Frames(Media::default()));
}

#[test]
fn flows_take_the_links_that_they_name_or_the_quickest() {
    let routes = all().routes();
    assert_eq!((&routes[0].forward[..], &routes[0].back[..]), (&[0, 1][..], &[2, 3][..]));
    assert_eq!(
        (routes[0].access_ns, routes[0].behind_ns, routes[0].back_ns),
        (3_000_000, 16_000_000, 16_000_000)
    );
    assert_eq!((&routes[1].forward[..], &routes[1].back[..]), (&[0, 1][..], &[4][..]));
    assert!(routes[2].back.is_empty());
}

#[test]
fn a_trace_takes_the_place_of_the_rate_and_its_mean_is_the_rate() {
    let links = all().links;
    let trace = links[1].trace.as_ref().unwrap();
    assert_eq!((trace.file.as_str(), &trace.opportunities_ms[..]), ("one-ms.trace", &[0, 1, 1, 4][..]));
    // four full packets in 4 ms
    assert_eq!(links[1].rate_bps, 12_112_000);
    assert_eq!(links[1].buffer, Limit::Bytes(12_112_000 / 8 * 40 / 1000));
}

#[test]
fn the_cellular_trace_is_that_of_its_formula() {
    let kbit_per_s = [1_000, 2_000, 4_000, 6_000, 4_000, 2_000, 1_000, 250];
    let (mut bits, mut wanted) = (0, String::new());
    for ms in (10..=8_000).step_by(10) {
        bits += kbit_per_s[(ms - 1) / 1_000] * 10;
        // the last time is the period: what is left by then makes one more
        let opportunities = (bits + if ms == 8_000 { 1514 * 8 - 1 } else { 0 }) / (1514 * 8);
        wanted.extend(std::iter::repeat_n(format!("{ms}\n"), opportunities));
        bits %= 1514 * 8;
    }
    assert_eq!(include_str!("../../../../scenarios/traces/cellular.trace"), wanted);
}

#[test]
fn a_workload_reads_its_sizes_from_a_file_or_knows_them() {
    let arrivals = all().flows[2].arrivals.clone().unwrap();
    assert_eq!(arrivals.per_s_milli, 2_500);
    assert_eq!(&arrivals.sizes.cdf[..], [(1000, 250_000_000), (2000, 1_000_000_000)]);
    assert_eq!(arrivals.sizes.mean_bytes(), 250 + 1500 * 3 / 4);
    // 1.7 MB and 12.7 MB as summed up by hand; the formula's mean is 5049 B, and straight lines between its
    // points add a little
    for (name, mean_bytes) in [("websearch", 1_711_250), ("datamining", 12_658_198), ("pareto", 5_049)] {
        let sizes = Sizes::built_in(name).unwrap();
        let off = sizes.mean_bytes().abs_diff(mean_bytes);
        assert!(off * 25 < mean_bytes, "{name}: {}", sizes.mean_bytes());
    }
    assert!(Sizes::built_in("two.cdf").is_none());
}

#[test]
fn the_pareto_distribution_is_that_of_its_formula() {
    let sizes = Sizes::built_in("pareto").unwrap();
    assert_eq!((sizes.cdf[0].0, sizes.cdf.last().unwrap().0), (1_000, 10_000_000));
    for (bytes, ppb) in sizes.cdf.iter() {
        let survives = |x: f64| (1_000.0 / x).powf(1.2);
        let share = (1.0 - survives(*bytes as f64)) / (1.0 - survives(1e7));
        assert!((share * 1e9 - *ppb as f64).abs() < 1.0, "{bytes}");
    }
}

#[test]
fn red_is_set_up_as_tc_does() {
    // tc: max = limit / 4, min = max / 3, burst = (2 min + max) / (3 x 1514)
    let usual = Red {
        rules: RedRules::Linux,
        min_bytes: 100_000,
        max_bytes: 300_000,
        max_ppb: 20_000_000,
        burst_pkts: 110,
        ecn: false,
    };
    assert_eq!(link("buffer = \"1200kB\"\nqueue = \"red\"").queue, Queue::Red(usual));
    let floyd = Red { rules: RedRules::Floyd { gentle: true }, ecn: true, ..usual };
    let keys = "buffer = \"1200kB\"\nqueue = \"red_floyd\"\nred_gentle = true\necn = true";
    assert_eq!(link(keys).queue, Queue::Red(floyd));
    let Queue::Red(red) = link("buffer = \"2MB\"\nqueue = \"red\"\nred_min = \"60kB\"").queue else {
        panic!()
    };
    assert_eq!((red.min_bytes, red.max_bytes, red.burst_pkts), (60_000, 180_000, 66));
    let Queue::Red(red) = link("buffer = \"2MB\"\nqueue = \"red\"\nred_max = \"60kB\"").queue else {
        panic!()
    };
    assert_eq!((red.min_bytes, red.max_bytes, red.burst_pkts), (20_000, 60_000, 22));
    // the smallest queue has a RED that is right too
    assert!(matches!(link("buffer = \"1514B\"\nqueue = \"red\"").queue, Queue::Red(_)));
}

#[test]
fn defaults_of_the_other_queues_are_those_of_the_rfcs() {
    assert_eq!(link("buffer = \"2MB\"").queue, Queue::Fifo);
    let codel = Codel { target_ns: 5 * MS, interval_ns: 100 * MS, ..Codel::default() };
    assert_eq!(link("buffer = \"2MB\"\nqueue = \"codel\"").queue, Queue::Codel(codel));
    let fq = FqCodel { codel: Codel { ecn: true, ..codel }, buckets: 1024, quantum_bytes: 1514 };
    assert_eq!(link("buffer = \"2MB\"\nqueue = \"fq_codel\"").queue, Queue::FqCodel(fq));
    let pie = Pie { target_ns: 15 * MS, update_ns: 15 * MS, ecn: false };
    assert_eq!(link("buffer = \"2MB\"\nqueue = \"pie\"").queue, Queue::Pie(pie));
}

#[test]
fn what_is_said_as_the_default_changes_nothing() {
    let plain = read(GOOD).unwrap();
    let usual = "buffer = \"2MB\"\nqueue = \"fifo\"\ndelay = \"0s\"\nreorders = false\nduplicate = \"0%\"";
    let flow = "rtt = \"10ms\"\necn = \"off\"\nsack = true\nrack = true\ninitial_cwnd = 10\nack_every = 2\n\
                reverse = []\naccess_delay = \"0s\"\ngro = \"0s\"";
    let text = GOOD.replace("buffer = \"2MB\"", usual).replace("rtt = \"10ms\"", flow);
    assert_eq!(read(&text).unwrap(), plain);
}

#[test]
fn every_key_comes_back_from_the_canonical_form() {
    let all = all();
    let text = all.to_toml();
    assert_eq!(parse(PATH, &text, &[], Target::Simulator).unwrap(), all);
    let source = std::fs::read_to_string(PATH).unwrap();
    for key in keys::all().filter(|key| matches!(key.section, keys::Section::Link | keys::Section::Flow)) {
        let line = format!("\n{} = ", key.name);
        assert!(source.contains(&line), "{} is not in all.toml", key.name);
        // these are worked out when the file is read
        let gone = ["bdp_rtt", "count", "stagger"].contains(&key.name);
        assert_eq!(text.contains(&line), !gone, "{}", key.name);
    }
}

#[test]
fn every_key_that_need_not_be_given_says_what_holds_without_it() {
    for key in keys::all() {
        assert_eq!(key.default_text().is_empty(), key.default == keys::DefaultValue::None, "{key:?}");
    }
    let text = |name| keys::find(keys::Section::Link, name).unwrap().default_text();
    let defaults = ["fq_buckets", "fq_quantum", "red_probability", "red_gentle", "loss_in_burst"].map(text);
    assert_eq!(defaults, ["1024", "1514B", "2%", "false", "100%"]);
    let seed = keys::find(keys::Section::Top, "seed").unwrap();
    assert_eq!(seed.default_text(), "1");
}

#[test]
fn the_testbed_refuses_every_key_that_only_the_simulator_has() {
    // all flows of the testbed have one sending and one receiving host, and a kernel paces for an algorithm
    // that asks for it
    let one_host = [
        "flow.tso=false",
        "flow.sack=false",
        "flow.1.accecn_option=true",
        "flow.2.pacing=true",
        "flow.syn_linear_timeouts=0",
        "flow.synack_retries=1",
    ];
    let one_host = one_host.map(|setting| setting.parse().unwrap());
    let error = load(Path::new(PATH), &one_host, Target::Testbed).unwrap_err();
    let refused: BTreeSet<_> = error.problems.iter().map(|problem| problem.key.clone()).collect();
    let only = keys::all().filter(|key| key.runs_on != keys::RunsOn::Both);
    let only: BTreeSet<_> = only.map(|key| format!("{}.{}", key.section.name(), key.name)).collect();
    assert!(error.problems.iter().all(|problem| problem.kind == "not-on-target" && problem.line > 0));
    assert_eq!(refused, only);
}

#[test]
fn a_bundle_is_the_scenario_wherever_it_lies() {
    let all = all();
    let bundle = all.bundle();
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("s.toml"), &bundle.toml).unwrap();
    for (name, text) in &bundle.files {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    let again = load(&folder.path().join("s.toml"), &[], Target::Simulator).unwrap();
    assert_eq!((again.hash.as_str(), &again.routes()), (all.hash.as_str(), &all.routes()));
    assert_eq!(
        again.links[1].trace.as_ref().unwrap().opportunities_ms,
        all.links[1].trace.as_ref().unwrap().opportunities_ms
    );
    assert_eq!(bundle.files.len(), 4);
    assert_eq!(good().bundle().files, []);
    assert_eq!(good().bundle().toml, good().to_toml());
}

#[test]
fn the_hash_is_of_what_files_hold_and_not_of_their_names() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    for (name, text) in [("a", "1\n2\n"), ("b", "1\n2\n"), ("c", "1\n3\n")] {
        std::fs::write(at(name), text).unwrap();
    }
    let hash = |name: &str| {
        let text = GOOD.replace("rate = \"100mbit\"", &format!("trace = \"{name}\""));
        std::fs::write(at("s.toml"), text).unwrap();
        load(&at("s.toml"), &[], Target::Simulator).unwrap().hash
    };
    assert_eq!(hash("a"), hash("b"));
    assert_ne!(hash("a"), hash("c"));
    std::fs::write(at("websearch.cdf"), Sizes::built_in("websearch").unwrap().to_text()).unwrap();
    let hash = |name: &str| {
        let text = GOOD
            .replace("rtt = \"10ms\"", &format!("rtt = \"10ms\"\narrivals = \"1/s\"\nsizes = \"{name}\""));
        std::fs::write(at("s.toml"), text).unwrap();
        load(&at("s.toml"), &[], Target::Simulator).unwrap().hash
    };
    assert_eq!(hash("websearch"), hash("websearch.cdf"));
    assert_ne!(hash("websearch"), hash("pareto"));
}

#[test]
fn sets_write_words_truths_and_lists() {
    let two = GOOD.replace("[[link]]", "[[link]]\nrate = \"1gbit\"\nbuffer = \"1MB\"\n[[link]]");
    let sets = [
        "link.queue=codel",
        "link.link2.ecn=true",
        "flow.route=link2, link1",
        "flow.1.sack=false",
        "flow.2.route=link2",
    ];
    let scenario = read_with(&two, &sets).unwrap();
    assert_eq!(scenario.links[0].queue, Queue::Codel(Codel::default()));
    assert_eq!(scenario.links[1].queue, Queue::Codel(Codel { ecn: true, ..Codel::default() }));
    let routes = scenario.routes();
    assert_eq!((&routes[0].forward[..], &routes[1].forward[..]), (&[1, 0][..], &[1][..]));
    assert!(!scenario.flows[0].sending.sack);
    let problem = &read_with(&two, &["flow.route=link1, linkk2"]).unwrap_err().problems[0];
    assert_eq!((problem.file.as_str(), problem.column), ("--set", 19));
    assert!(problem.help.starts_with("did you mean `link2`?"), "{}", problem.help);
    let problem = &read_with(&two, &["flow.sack=no"]).unwrap_err().problems[0];
    assert_eq!(problem.message, "`sack` is a text, but true or false, without quotes, is wanted");
}
