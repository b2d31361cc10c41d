//! Each way to get the keys of queues, lines, routes, hosts and workloads wrong gives one error that says
//! what and what to write.

use crate::support::{GOOD, problem, read, read_with};

/// Replaced text, kind, beginning of the message, part of the help.
pub(crate) type Case<'a> = (&'a str, &'a str, &'a str, &'a str);

/// [`GOOD`] with other keys in place of the one that `from` writes, each giving its one error.
pub(crate) fn check(from: &str, cases: &[Case<'_>]) {
    for (keys, kind, message, help) in cases {
        let problem = problem(from, keys);
        assert_eq!(problem.kind, *kind, "{keys}: {}", problem.message);
        assert!(problem.message.starts_with(message), "{keys}: {}", problem.message);
        assert!(problem.help.contains(help), "{keys}: {}", problem.help);
        assert!(problem.line > 0 && problem.column > 0, "{keys}");
    }
}

/// Each replaces `buffer = "2MB"`.
const QUEUES: &[Case<'_>] = &[
    (
        "buffer = \"2MB\"\nqueue = \"codle\"",
        "out-of-range",
        "`queue` cannot be \"codle\": known are fifo, step,",
        "write \"codel\"",
    ),
    (
        "buffer = \"2MB\"\nqueue = true",
        "wrong-type",
        "`queue` is true or false, but text in quotes is wanted",
        "queue = \"fifo\"",
    ),
    (
        "buffer = \"2MB\"\ntarget = \"5ms\"",
        "impossible",
        "`target` is for queue = \"codel\", \"fq_codel\", \"pie\", \"dualpi2\"; \
         the queue of this link is \"fifo\"",
        "write queue = \"codel\"",
    ),
    (
        "buffer = \"2MB\"\nqueue = \"codel\"\nfq_buckets = 4",
        "impossible",
        "`fq_buckets` is for queue = \"fq_codel\"; the queue of this link is \"codel\"",
        "leave out `fq_buckets`",
    ),
    (
        "buffer = \"2MB\"\nqueue = \"red\"\nred_gentle = true",
        "impossible",
        "`red_gentle` is for queue = \"red_floyd\"",
        "queue = \"red_floyd\"",
    ),
    (
        "buffer = \"2MB\"\nqueue = \"step\"",
        "missing-key",
        "queue = \"step\" needs `mark_above`",
        "mark_above = \"100kB\"",
    ),
    (
        "buffer = \"2MB\"\nqueue = \"step\"\nmark_above = \"2MB\"",
        "impossible",
        "the queue marks above 2MB, but holds only 2MB",
        "less than `buffer`",
    ),
    (
        "buffer = \"2MB\"\nqueue = \"step\"\nmark_above = \"0.5pkts\"",
        "wrong-unit",
        "`mark_above`: \"0.5pkts\" is not a whole number of packets",
        "100pkts",
    ),
    (
        "buffer = \"2MB\"\nqueue = \"step\"\nmark_above = \"0pkts\"",
        "out-of-range",
        "`mark_above` is 0B; it must be at least 1B",
        "1B to",
    ),
    (
        "buffer = \"2MB\"\nqueue = \"step\"\nmark_above = \"1ms\"",
        "wrong-unit",
        "`mark_above`: \"1ms\" is a time, but a size is wanted",
        "100pkts",
    ),
    (
        "buffer = \"10000000000pkts\"",
        "out-of-range",
        "`buffer` is 15140GB; it must be at most 16GB",
        "1514B to 16GB",
    ),
    (
        "buffer = \"0pkts\"",
        "out-of-range",
        "`buffer` is 0B; it must be at least 1514B, one full-sized packet",
        "1514B to 16GB",
    ),
    ("buffer = \"-5pkts\"", "out-of-range", "`buffer`: \"-5pkts\" is negative", "2MB"),
    (
        "buffer = \"2MB\"\nqueue = \"red\"\nred_min = \"60kB\"\nred_max = \"60kB\"",
        "impossible",
        "the queue drops none below 60kB and all above 60kB",
        "`red_min` below `red_max`",
    ),
    (
        "buffer = \"2MB\"\nqueue = \"red\"\nred_max = \"3MB\"",
        "impossible",
        "the average backlog never gets to 3MB: the queue holds only 2MB",
        "larger `buffer`",
    ),
    (
        "buffer = \"2MB\"\nqueue = \"red\"\nred_min = \"60kB\"\nred_burst = 39",
        "impossible",
        "a burst of 39 packets does not fill 60kB",
        "write at least 40",
    ),
    (
        "buffer = \"2MB\"\nqueue = \"red\"\nred_probability = \"101%\"",
        "out-of-range",
        "`red_probability` is 101%; it must be at most 100%",
        "1ppb to 100%",
    ),
    (
        "buffer = \"2MB\"\nqueue = \"red\"\nred_burst = 0",
        "out-of-range",
        "`red_burst` is 0; it must be at least 1",
        "1 to",
    ),
    (
        "buffer = \"2MB\"\nqueue = \"codel\"\ntarget = \"100ms\"",
        "impossible",
        "a target of 100ms cannot be judged over an interval of 100ms",
        "RFC 8289",
    ),
    (
        "buffer = \"2MB\"\nqueue = \"codel\"\necn = 1",
        "wrong-type",
        "`ecn` is a number, but true or false, without quotes, is wanted",
        "ecn = true",
    ),
    (
        "buffer = \"2MB\"\nqueue = \"fq_codel\"\nfq_buckets = 65537",
        "out-of-range",
        "`fq_buckets` is 65537; it must be at most 65536",
        "1 to 65536",
    ),
    (
        "buffer = \"2MB\"\nqueue = \"fq_codel\"\nfq_quantum = \"100B\"",
        "out-of-range",
        "`fq_quantum` is 100B; it must be at least 256B",
        "256B",
    ),
    (
        "buffer = \"2MB\"\nqueue = \"pie\"\npie_update = \"0s\"",
        "out-of-range",
        "`pie_update` is 0s; it must be at least 100us",
        "100us",
    ),
];

#[test]
fn of_queues() {
    check("buffer = \"2MB\"", QUEUES);
}

/// Each replaces `buffer = "2MB"`.
const LINES_AND_NODES: &[Case<'_>] = &[
    ("buffer = \"2MB\"\nfrom = \"a\"", "missing-key", "`from` has no effect without `to`", "to = \"b\""),
    (
        "buffer = \"2MB\"\nto = \"\"\nfrom = \"a\"",
        "out-of-range",
        "`to` has 0 characters",
        "1 to 64 characters",
    ),
    (
        "buffer = \"2MB\"\ndelay = \"11s\"",
        "out-of-range",
        "`delay` is 11s; it must be at most 10s",
        "0s to 10s",
    ),
    (
        "buffer = \"2MB\"\ndelay = \"5ms\"\njiter = \"1ms\"",
        "unknown-key",
        "there is no key `jiter`",
        "did you mean `jitter`?",
    ),
    (
        "buffer = \"2MB\"\nreorders = true",
        "missing-key",
        "`reorders` has no effect without `jitter`",
        "jitter = \"5ms\"",
    ),
    (
        "buffer = \"2MB\"\nduplicate = \"200%\"",
        "out-of-range",
        "`duplicate` is 200%; it must be at most 100%",
        "0% to 100%",
    ),
    (
        "buffer = \"2MB\"\nburst = \"1kB\"",
        "out-of-range",
        "`burst` is 1kB; it must be at least 1514B",
        "1514B",
    ),
    (
        "buffer = \"2MB\"\nloss = \"1%\"\nloss_outside_burst = \"1%\"",
        "missing-key",
        "`loss_outside_burst` has no effect without `loss_burst`",
        "loss_burst = \"17ms\"",
    ),
    (
        "buffer = \"2MB\"\nloss = \"1%\"\nloss_burst = 5\nloss_outside_burst = \"1%\"",
        "impossible",
        "1% of all packets cannot be lost if 1% are outside of bursts",
        "below `loss`",
    ),
    (
        "buffer = \"2MB\"\nloss = \"60%\"\nloss_burst = 1\nloss_outside_burst = \"10%\"",
        "impossible",
        "bursts of 1 packets would have less than a packet between them",
        "a larger `loss_burst`",
    ),
    (
        "buffer = \"2MB\"\nloss = \"1%\"\nloss_burst = \"2h\"",
        "out-of-range",
        "bursts of 7200s are out of the range of times",
        "write a time from 1us to 3600s",
    ),
    (
        "buffer = \"2MB\"\nloss = \"1%\"\nloss_burst = 0",
        "out-of-range",
        "`loss_burst` is 0; it must be at least 1",
        "1 to 1000000 or 1us to 3600s",
    ),
    (
        "buffer = \"2MB\"\nloss = \"1%\"\nloss_burst = \"17\"",
        "wrong-unit",
        "`loss_burst`: \"17\" has no unit",
        "a number of packets has no quotes",
    ),
    (
        "buffer = \"2MB\"\nloss = \"1%\"\nloss_burst = true",
        "wrong-type",
        "`loss_burst` is true or false, but a whole number, or a time in quotes, is wanted",
        "loss_burst = \"17ms\"",
    ),
];

#[test]
fn of_lines_and_nodes() {
    check("buffer = \"2MB\"", LINES_AND_NODES);
    // with losses outside, bursts may stand closer: 30 % of the mean of 60 % are theirs
    let text =
        GOOD.replace("\"2MB\"", "\"2MB\"\nloss = \"60%\"\nloss_burst = 1\nloss_outside_burst = \"30%\"");
    assert!(read(&text).is_ok());
}

#[test]
fn of_routes() {
    check(
        "start =",
        &[
            (
                "route = \"bottleneck\"\nstart =",
                "wrong-type",
                "`route` is a text, but a list of names is wanted",
                "route = [\"link1\", \"link2\"]",
            ),
            (
                "route = []\nstart =",
                "out-of-range",
                "`route` is 0 links; it must be at least 1 links",
                "1 to 255 links",
            ),
            (
                "route = [1]\nstart =",
                "wrong-type",
                "`route` is a number, but a list of names is wanted",
                "route = [",
            ),
            (
                "route = [\"bottelneck\"]\nstart =",
                "impossible",
                "there is no link `bottelneck`",
                "did you mean `bottleneck`?",
            ),
            (
                "route = [\"bottleneck\"]\nfrom = \"a\"\nto = \"b\"\nstart =",
                "impossible",
                "a flow has a `route` or goes `from` a node",
                "leave out",
            ),
            ("to = \"b\"\nstart =", "missing-key", "`to` has no effect without `from`", "from = \"a\""),
            (
                "from = \"a\"\nto = \"b\"\nstart =",
                "impossible",
                "no link leads from or to a node `a`",
                "name nodes that links have",
            ),
            (
                "access_delay = \"60ms\"\nstart =",
                "impossible",
                "flow `50ms` has an RTT of 50ms, but its path alone takes 60ms",
                "at least \"60ms\"",
            ),
            (
                "access_delay = \"1s\"\nrtt_at = \"9s 2s\"\nstart =",
                "impossible",
                "flow `50ms` has an RTT of 50ms",
                "at least \"1s\"",
            ),
        ],
    );
}

#[test]
fn a_wrong_link_is_shown_at_its_place_in_the_list() {
    let text = GOOD.replace("start =", "route = [\"bottleneck\", \"bottleneck\"]\nstart =");
    let problem = read(&text).unwrap_err().problems.remove(0);
    let line = text.lines().position(|line| line.starts_with("route")).unwrap() + 1;
    assert_eq!((problem.line, problem.column, problem.key.as_str()), (line, 24, "flow.route"));
    assert_eq!(problem.message, "`bottleneck` is twice on one `route`");
}

/// Each replaces `start =`.
const HOSTS: &[Case<'_>] = &[
    ("mtu = 9001\nstart =", "out-of-range", "`mtu` is 9001; it must be at most 9000", "from 576 to 9000"),
    (
        "ecn = \"ecn+\"\nstart =",
        "out-of-range",
        "`ecn` cannot be \"ecn+\": known are off, classic, dctcp",
        "write one of",
    ),
    (
        "sack = \"no\"\nstart =",
        "wrong-type",
        "`sack` is a text, but true or false, without quotes, is wanted",
        "sack = true",
    ),
    (
        "sack = false\nrack = true\nstart =",
        "impossible",
        "`rack` has no effect with `sack = false`",
        "leave out `rack`",
    ),
    (
        "sack = false\ntlp = true\nstart =",
        "impossible",
        "`tlp` has no effect with `sack = false`",
        "leave out `tlp`",
    ),
    ("initial_cwnd = 0\nstart =", "out-of-range", "`initial_cwnd` is 0; it must be at least 1", "1 to 1000"),
    (
        "receive_buffer = \"1MB\"\nreceive_buffer_max = \"1MB\"\nstart =",
        "impossible",
        "`receive_buffer` and `receive_buffer_max` exclude each other",
        "leave out",
    ),
    (
        "receive_buffer_max = \"60kB\"\nstart =",
        "out-of-range",
        "`receive_buffer_max` is 60kB; it must be at least 65536B",
        "65536B",
    ),
    (
        "ack_every = 4\ndelayed_ack = false\nstart =",
        "impossible",
        "`ack_every` has no effect with `delayed_ack = false`",
        "leave out `ack_every`",
    ),
    ("ack_every = 0\nstart =", "out-of-range", "`ack_every` is 0; it must be at least 1", "1 to 1000"),
    ("gro = \"2s\"\nstart =", "out-of-range", "`gro` is 2s; it must be at most 1s", "0s to 1s"),
    (
        "ack_delay_at = \"9s 5ms, 4s 7ms\"\nstart =",
        "impossible",
        "the step at 4s follows one at 9s",
        "order of time",
    ),
];

#[test]
fn of_hosts() {
    check("start =", HOSTS);
}

/// Each replaces `start =`. Every wrong entry is read by the unit tests of the list.
const DROPS: &[Case<'_>] = &[
    (
        "drop = [\"data 9-10\", \"fin 1\"]\nstart =",
        "out-of-range",
        "`drop`: \"fin 1\" does not begin with a kind of packets: syn, data, synack, ack",
        "\"data 9\", \"data 9-10\", \"data 40 twice\", \"syn 1\", \"synack 1\", \"ack 3\"; packets of each kind are",
    ),
    (
        "drop = [\"data 9-10\", \"data 10 twice\"]\nstart =",
        "out-of-range",
        "`drop`: \"data 10 twice\" has a packet that \"data 9-10\" has, too",
        "write entries like",
    ),
    (
        "drop = \"data 9\"\nstart =",
        "wrong-type",
        "`drop` is a text, but a list of packets is wanted",
        "drop = [\"data 9-10\", \"syn 1\"]",
    ),
    ("drop = [9]\nstart =", "wrong-type", "`drop` is a number, but a list of packets is wanted", "[\"data"),
    (
        "drop = [\"ack 1\"]\narrivals = \"1/s\"\nsizes = \"pareto\"\nstart =",
        "impossible",
        "`drop` and `arrivals` exclude each other",
        "leave out `arrivals` or `drop`",
    ),
];

#[test]
fn of_dropped_packets() {
    check("start =", DROPS);
    // at the entry
    let place = problem("start =", "drop = [\"data 9-10\", \"ack 0\"]\nstart =");
    assert_eq!((place.line, place.column, place.key.as_str()), (15, 22, "flow.drop"), "{place:?}");
    let many: Vec<String> = (1..=1_001).map(|n| format!("\"data {n}\"")).collect();
    let many = problem("start =", &format!("drop = [{}]\nstart =", many.join(",")));
    assert_eq!(many.message, "`drop` is 1001 entries; it must be at most 1000 entries");
}

#[test]
fn equal_drops_are_one_experiment_and_set_from_the_command_line() {
    let with = |drop: &str| read(&GOOD.replacen("start =", &format!("drop = {drop}\nstart ="), 1)).unwrap();
    let one = with("[\"ack 3\", \"data 9\", \"data  10\"]");
    let other = with("[\"data 9-10\", \"ack 3\"]");
    assert_eq!((one.hash.as_str(), one.to_toml()), (other.hash.as_str(), other.to_toml()));
    assert!(one.to_toml().contains("\ndrop = [\"data 9-10\", \"ack 3\"]\n"), "{}", one.to_toml());
    assert_eq!(with("[]").hash, read(GOOD).unwrap().hash);
    let set = read_with(GOOD, &["flow.2.drop=ack 3, data 9-10"]).unwrap();
    assert_eq!(set.hash, one.hash);
}

/// Each replaces `start =`.
const WORKLOADS: &[Case<'_>] = &[
    (
        "think = \"1s\"\nstart =",
        "missing-key",
        "`think` has no effect without `response`",
        "response = \"10kB\"",
    ),
    (
        "response = \"1kB\"\nsize = \"1MB\"\nstart =",
        "impossible",
        "`response` and `size` exclude each other",
        "leave out",
    ),
    ("response = \"0B\"\nstart =", "out-of-range", "`response` is 0B; it must be at least 1B", "1B"),
    (
        "arrivals = \"50/s\"\nstart =",
        "missing-key",
        "`arrivals` has no effect without `sizes`",
        "sizes = \"websearch\"",
    ),
    (
        "sizes = \"websearch\"\nstart =",
        "missing-key",
        "`sizes` has no effect without `arrivals`",
        "arrivals = \"50/s\"",
    ),
    (
        "arrivals = 50\nsizes = \"pareto\"\nstart =",
        "wrong-unit",
        "`arrivals` is 50 without a unit",
        "arrivals = \"50/s\"",
    ),
    (
        "arrivals = \"50\"\nsizes = \"pareto\"\nstart =",
        "wrong-unit",
        "`arrivals`: \"50\" has no unit",
        "as in \"50/s\"; units are /s",
    ),
    (
        "arrivals = \"50ms\"\nsizes = \"pareto\"\nstart =",
        "wrong-unit",
        "`arrivals`: \"50ms\" is a time, but a number per second is wanted",
        "50/s",
    ),
    (
        "arrivals = \"0.0001/s\"\nsizes = \"pareto\"\nstart =",
        "out-of-range",
        "`arrivals` is 0/s; it must be at least 0.001/s",
        "1000000/s",
    ),
    (
        "arrivals = \"1000000/s\"\nsizes = \"pareto\"\nstart =",
        "impossible",
        "the workloads would start 55000000 flows on average; it must be at most 10000000",
        "fewer `arrivals`",
    ),
    (
        "arrivals = \"1/s\"\nsizes = \"websaerch\"\nstart =",
        "file",
        "`sizes`: cannot read `websaerch`: ",
        "built in are websearch, datamining, pareto",
    ),
    (
        "arrivals = \"1/s\"\nsizes = \"pareto\"\ncount = 2\nstart =",
        "impossible",
        "`arrivals` and `count` exclude each other",
        "leave out",
    ),
    (
        "arrivals = \"1/s\"\nsizes = \"pareto\"\nsize = \"1MB\"\nstart =",
        "impossible",
        "`arrivals` and `size` exclude each other",
        "leave out",
    ),
    (
        "arrivals = \"1/s\"\nsizes = \"pareto\"\nresponse = \"1MB\"\nstart =",
        "impossible",
        "`arrivals` and `response` exclude each other",
        "leave out",
    ),
];

#[test]
fn of_workloads() {
    check("start =", WORKLOADS);
}

#[test]
fn of_traces() {
    check(
        "rate = \"100mbit\"",
        &[
            (
                "trace = \"none.trace\"",
                "file",
                "`trace`: cannot read `none.trace`: ",
                "by its path from the folder of the scenario file",
            ),
            (
                "trace = \"src\"",
                "file",
                "`trace`: cannot read `src`: it is a directory, not a regular file",
                "by its path",
            ),
            ("trace = \"\"", "out-of-range", "`trace` has 0 characters", "1 to"),
        ],
    );
    let text = GOOD.replace(
        "buffer =",
        "trace = \"tests/all/support/one-ms.trace\"\nrate_at = \"9s 1mbit\"\nburst = \"9kB\"\nbuffer =",
    );
    let problems = read(&text).unwrap_err().problems;
    let messages: Vec<_> = problems.iter().map(|problem| problem.message.as_str()).collect();
    assert_eq!(
        messages,
        [
            "`trace` and `rate` exclude each other",
            "`trace` and `rate_at` exclude each other",
            "`trace` and `burst` exclude each other",
        ]
    );
    let problem = problem("rate = \"100mbit\"\n", "");
    assert_eq!((problem.kind, problem.key.as_str()), ("missing-key", "link.rate"));
}

#[test]
fn of_too_many_links() {
    let link = "[[link]]\nrate = \"1mbit\"\nbuffer = \"9kB\"\n";
    let flow = "[[flow]]\ncc = \"bbq\"\nrtt = \"1ms\"\nroute = [\"link1\"]\n";
    let scenario = |links| format!("title = \"t\"\nduration = \"9s\"\n{}{flow}", link.repeat(links));
    assert!(read(&scenario(10_000)).is_ok());
    let problems = read(&scenario(10_001)).unwrap_err().problems;
    assert_eq!(problems[0].message, "the scenario has 10001 links; it may have at most 10000");
}

#[test]
fn of_sets() {
    let problem = &read_with(GOOD, &["link.queue=codel", "link.red_min=5kB"]).unwrap_err().problems[0];
    assert_eq!((problem.file.as_str(), problem.kind), ("--set", "impossible"));
    let problem = &read_with(GOOD, &["flow.routes=bottleneck"]).unwrap_err().problems[0];
    assert!(problem.help.starts_with("did you mean `flow.route`?"), "{}", problem.help);
    assert!(read_with(GOOD, &["flow.reverse="]).is_ok());
}

/// The bounds of the links' own keys are those of 1500 bytes.
#[test]
fn a_link_that_holds_no_full_packet_of_a_flow_is_reported_with_the_flow() {
    for (link, key, bytes) in [
        ("\"9000B\"", "buffer", 9000),
        ("\"2MB\"\nburst = \"2kB\"", "burst", 2000),
        ("\"2MB\"\npolicer_rate = \"1mbit\"\npolicer_burst = \"5kB\"", "policer_burst", 5000),
    ] {
        let with =
            |mtu| GOOD.replacen("\"2MB\"", link, 1).replacen("start =", &format!("mtu = {mtu}\nstart ="), 1);
        assert!(read(&with(1500)).is_ok(), "{link}");
        let problem = read(&with(9000)).unwrap_err().problems.remove(0);
        assert_eq!((problem.kind, problem.key.as_str()), ("impossible", "flow.mtu"), "{link}");
        let message = format!(
            "a full packet has 9014 bytes on the wire, but the `{key}` of link `bottleneck` is {bytes}: \
             none would pass"
        );
        assert_eq!(problem.message, message);
        assert!(problem.help.starts_with("write a smaller `mtu`"), "{}", problem.help);
    }
}
