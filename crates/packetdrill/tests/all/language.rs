//! The language: its forms, the places of errors, and that no text makes the interpreter panic.

use fairpace_packetdrill::{Outcome, Script, run};
use proptest::prelude::*;

/// A server's connection of 50 ms, and then `more`.
fn connected(more: &str) -> String {
    format!(
        "`../common/defaults.sh`\n\
         0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n\
         +0 bind(3, ..., ...) = 0\n\
         +0 listen(3, 1) = 0\n\
         +0 < S 0:0(0) win 65535 <mss 1000,sackOK,nop,wscale 7>\n\
         +0 > S. 0:0(0) ack 1 <...>\n\
         +.05 < . 1:1(0) ack 1 win 1000\n\
         +0 accept(3, ..., ...) = 4\n\
         {more}\n"
    )
}

/// The word of the outcome, the line, and the message with its help.
fn judged(text: &str) -> (&'static str, usize, String) {
    match Script::parse("test.pkt", text) {
        Ok(script) => {
            let outcome = run(&script, None);
            let problem = outcome.problem().cloned();
            let message = problem.as_ref().map_or_else(String::new, |p| format!("{}; {}", p.message, p.help));
            (outcome.word(), problem.map_or(0, |problem| problem.line), message)
        }
        Err(problem) => ("no script", problem.line, format!("{}; {}", problem.message, problem.help)),
    }
}

#[test]
fn times_are_absolute_relative_ranges_or_any() {
    for more in [
        "0.05 write(4, ..., 1000) = 1000\n0.05 > P. 1:1001(1000) ack 1",
        "+0 write(4, ..., 1000) = 1000\n+0~+0.1 > P. 1:1001(1000) ack 1",
        "+.01 write(4, ..., 1000) = 1000\n0.05~0.2 > P. 1:1001(1000) ack 1",
        "+0 write(4, ..., 1000) = 1000\n* > P. 1:1001(1000) ack 1\n* > P. 1:1001(1000) ack 1",
        "/* a remark */ +0 write(4, ..., 1000) = 1000 // and another\n+0 > P. 1:1001(1000) ack 1",
        "+0...0.05 read(4, ..., 600) = 600\n+.05 < P. 1:1001(1000) ack 1 win 1000\n\
         +0 read(4, ..., 600) = 400",
        "+0 < R. 1:1(0) ack 1 win 1000\n+0 write(4, ..., 9) = -1 ECONNRESET (x)\n+0 read(4, ..., 9) = 0\n\
         +0 write(4, ..., 9) = -1 EPIPE (x)",
        "+0 write(4,\n ..., 2000) = 2000\n+0 > . 1:1001(1000) ack 1\n+0 > P. 1001:2001(1000) ack 1",
    ] {
        let (word, _, message) = judged(&connected(more));
        assert_eq!(word, "passed", "{more}: {message}");
    }
}

#[test]
fn a_failure_says_what_was_expected_and_what_the_stack_did_and_when() {
    for (more, message) in [
        (
            "+0 write(4, ..., 1000) = 1000\n+.1 > P. 1:1001(1000) ack 1",
            "expected P. 1:1001(1000) ack 1 at 0.150000 s (± 0.012500 s); the stack sent it at 0.050000 s",
        ),
        (
            "+0 write(4, ..., 1000) = 1000\n+0 > P. 1:2001(2000) ack 1",
            "expected P. 1:2001(2000) ack 1 at 0.050000 s (± 0.004000 s); the stack sent 1000 of it, \
             and then the stack sent P. 1:1001(1000) ack 1 at 0.318000 s",
        ),
        (
            "+0 write(4, ..., 1000) = 1000\n+0 > [ect0] P. 1:1001(1000) ack 1",
            "expected [ect0] P. 1:1001(1000) ack 1; \
             the stack sent P. 1:1001(1000) ack 1 at 0.050000 s, with [noecn]",
        ),
        (
            "+0 read(4, ..., 100) = 0\n+0 write(4, ..., 1000) = 1000",
            "read still waits when write is called; the \
          handshake or the data for it has not come",
        ),
        (
            "+0 %{ assert tcpi_snd_cwnd == 11, 'cwnd=%d' % tcpi_snd_cwnd }%",
            "the assertion `tcpi_snd_cwnd == 11` does not hold; cwnd=10, at 0.050000 s",
        ),
        ("+0 %{ assert tcpi_cwnd == 11 }%", "the name tcpi_cwnd is not defined; "),
        ("+0 write(5, ..., 1000) = 1000", "there is no file descriptor 5; open it with socket()"),
        ("+0 write(4, ..., 1000) = 999", "expected write to return 999; it returned 1000"),
        (
            "0 write(4, ..., 1000) = 1000",
            "this event is 0.050000 s late: packets before it came later; its time is \
          before that of the event before",
        ),
        (
            "+0 > . 1:1(1) ack 1",
            "1:1(1) has another length than it says; the number in brackets is the difference",
        ),
        (
            "* write(4, ..., 1) = 1",
            "only a packet that is expected has a range of times, or `*`; give the time of the \
          event",
        ),
    ] {
        let line = 9 + more.lines().count().saturating_sub(1);
        let (word, found, said) = judged(&connected(more));
        assert_eq!((word, said.as_str()), ("failed", message), "{more}");
        assert!(found == line || found == 9, "{more}: {found}");
    }
}

#[test]
fn a_system_call_that_returns_something_else_or_nothing_fails() {
    for (more, message) in [
        (
            "+0 write(4, ..., 1000) = -1 EAGAIN (Resource temporarily unavailable)",
            "expected write to return -1 EAGAIN; it returned 1000",
        ),
        (
            "+0 read(4, ..., 1000) = -1 EPIPE (Broken pipe)",
            "read still waits at the end of the script; the handshake or the data for it has not come",
        ),
        (
            "+0...0.05 read(4, ..., 600) = 1000\n+.05 < P. 1:1001(1000) ack 1 win 1000",
            "expected read to return 1000; it returned 600",
        ),
        (
            "+0 < R. 1:1(0) ack 1 win 1000\n+0 write(4, ..., 1000) = -1 EPIPE (Broken pipe)",
            "expected write to return -1 EPIPE; it returned -1 ECONNRESET",
        ),
    ] {
        let (word, found, said) = judged(&connected(more));
        assert_eq!((word, said.as_str()), ("failed", message), "{more}");
        let line = 9 + usize::from(more.contains(" < R."));
        assert_eq!(found, line, "{more}");
    }
}

#[test]
fn what_the_stack_has_not_is_refused_by_name() {
    for (more, name) in [
        ("+0 write(4, ..., 1000) = 1000\n+0 close(4) = 0", "close before all data is acknowledged"),
        ("+0 write(4, ..., 1500) = 1500", "half segments: 500 bytes"),
        ("+0 write(4, ..., 1000) = 1000\n+0 < . 1:1(0) ack 501 win 1000", "half segments: ACK 501"),
        ("+0 < icmp unreachable frag_needed mtu 1200 [1:1(0)]", "packets of icmp"),
        ("+0 < . 1:1(0) ack 1 win 100 <md5 0123456789abcdef>", "MD5 signatures"),
        ("+0 < S 0:0(0) win 100 <FO abcd>", "fast open"),
        ("+0 < [tos 0x4] . 1:1(0) ack 1 win 100", "[tos 0x4]"),
        ("+0 setsockopt(4, SOL_TCP, TCP_MAXSEG, [500], 4) = 0", "MSS changes"),
        ("+0 setsockopt(4, SOL_SOCKET, SO_ZEROCOPY, [1], 4) = 0", "zero copy"),
        ("+0 sendto(4, ..., 1000, MSG_ZEROCOPY, ..., ...) = 1000", "MSG_ZEROCOPY"),
        ("+0 shutdown(4, SHUT_WR) = 0", "the system call shutdown"),
        ("+0 %{ import os }%", "import os"),
        ("+0 %{ assert tcpi_reord_seen == 0 }%", "tcpi_reord_seen"),
        ("+0 `iptables -A INPUT`", "iptables"),
        (
            "+0 < . 1:1(0) ack 1 win 0\n+0 write(4, ..., 1000) = 1000\n+1 < . 1:1(0) ack 1 win 9",
            "a window that shrinks",
        ),
        ("+0 < . 1:1(0) ack 1 win 1000 <sack 1:2 3:4 5:6 7:8>", "a fourth SACK block"),
        ("+0 socket(..., SOCK_DGRAM, IPPROTO_UDP) = 5", "a socket with SOCK_DGRAM"),
    ] {
        let (word, line, said) = judged(&connected(more));
        assert_eq!(word, "cannot be expressed", "{more}: {said}");
        assert!(said.contains(name) && (9..=11).contains(&line), "{more}: {line} {said}");
    }
    let closed =
        connected("+0 write(4, ..., 1000) = 1000\n+1 < . 1:1(0) ack 1 win 9").replace("win 1000", "win 0");
    let (word, line, said) = judged(&closed);
    assert_eq!((word, line), ("cannot be expressed", 10), "{said}");
    assert!(said.contains("the persist timer"), "{said}");
    for option in ["--wire_client", "--ip_version=ipv6"] {
        let (word, line, said) = judged(&format!("{option}\n0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3"));
        assert_eq!((word, line), ("cannot be expressed", 1), "{said}");
    }
}

#[test]
fn a_text_that_is_no_script_has_an_error_at_its_place() {
    for (more, what) in [
        ("+0 > P. 1:1001 ack 1", "range of sequence numbers"),
        ("+0 write(4, ..., 1000)", "result of a system call"),
        ("+0 %{ assert 1", "end of the code"),
        ("+0 `sysctl", "end of the quotation"),
        ("/* a remark", "end of the comment"),
        ("write(4, ..., 1000) = 1000", "its time is missing"),
        ("+.2~+.1 > . 1:1(0) ack 1", "time"),
        ("+99999999 > . 1:1(0) ack 1", "time of up to a day"),
        ("+0 < . 1:99999999999(0) ack 1 win 3", "number of 32 bits"),
    ] {
        let (word, line, said) = judged(&connected(more));
        assert_eq!((word, line), ("no script", 9), "{more}: {said}");
        assert!(said.contains(what), "{more}: {said}");
    }
    for text in ["", "// nothing\n", "--tolerance_usecs=9\n"] {
        let (word, _, said) = judged(text);
        assert_eq!((word, said.contains("has no event")), ("no script", true), "{text}: {said}");
    }
}

/// Words of the language in any order reach deeper than arbitrary text.
fn words() -> impl Strategy<Value = String> {
    let word = prop::sample::select(vec![
        "+0",
        "+.1",
        "0.1~0.2",
        "*",
        "<",
        ">",
        "S",
        "S.",
        ".",
        "P.",
        "F.",
        "0:0(0)",
        "1:1001(1000)",
        "1:1(0)",
        "ack",
        "1",
        "1001",
        "win",
        "1000",
        "<mss 1000,sackOK>",
        "<sack 1:2>",
        "<...>",
        "[ect0]",
        "[ce]",
        "\n",
        "\n+0 ",
        "write(4, ..., 1000) = 1000",
        "write(4, ..., 200000000) = 200000000",
        "close(4) = 0",
        "connect(4, ..., ...) = 0",
        "%{",
        "}%",
        "assert",
        "tcpi_snd_cwnd",
        "==",
        "(",
        ")",
        "`",
        "{",
        "}",
        "...",
        "read(4, ..., 9) = 9",
        "-1",
        "é",
    ]);
    prop::collection::vec(word, 0..60).prop_map(|words| words.join(" "))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn any_text_gives_an_error_or_a_script(text in "\\PC*") {
        judged(&text);
    }

    #[test]
    fn any_words_after_a_handshake_give_an_outcome(words in words()) {
        judged(&connected(&format!("+0 {words}")));
    }

    #[test]
    fn any_ack_gives_an_outcome(
        acks in prop::collection::vec((0u32..60, 0u32..40, 0u32..40, 0u32..300), 1..20),
    ) {
        let acks = acks.into_iter().map(|(ack, start, pkts, ms)| {
            let (ack, start) = (ack * 1000 + 1, start * 1000 + 1);
            let end = start + pkts * 1000;
            format!("+.{ms:03} < . 1:1(0) ack {ack} win 1000 <sack {start}:{end}>\n")
        });
        let more: String = acks.collect();
        judged(&connected(&format!("+0 write(4, ..., 40000) = 40000\n{more}")));
    }
}

#[test]
fn what_python_prints_and_what_was_ignored_is_in_the_outcome() {
    let text = connected(
        "+0 %{ print(tcpi_snd_cwnd); x = 2\nprint('x=%d' % x) }%\n+0 `sysctl -q net.ipv4.tcp_wmem=\"1 2 3\"`",
    );
    let script = Script::parse("test.pkt", &text).expect("a script");
    match run(&script, None) {
        Outcome::Passed { ignored, printed } => {
            assert_eq!(
                (ignored, printed),
                (vec!["tcp_wmem".to_owned()], vec!["10".to_owned(), "x=2".to_owned()])
            );
        }
        other => panic!("{other:?}"),
    }
}
