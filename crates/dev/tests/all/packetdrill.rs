//! `fairpace-dev packetdrill`: exit codes, what it prints, and the page of a list of scripts.

use crate::support::{Folder, run};

/// A connection of our own scripts, and then `more`.
fn script(place: &Folder, name: &str, more: &str) -> String {
    let start = "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n+0 bind(3, ..., ...) = 0\n+0 listen(3, 1) = 0\n\
                 +0 < S 0:0(0) win 65535 <mss 1000,sackOK>\n+0 > S. 0:0(0) ack 1 <...>\n\
                 +.1 < . 1:1(0) ack 1 win 65535\n+0 accept(3, ..., ...) = 4\n";
    place.write(name, &format!("{start}{more}\n"));
    place.file(name)
}

#[test]
fn the_exit_code_says_whether_all_scripts_pass() {
    let place = Folder::create();
    let passes = script(&place, "passes.pkt", "+0 write(4, ..., 1000) = 1000\n+0 > P. 1:1001(1000) ack 1");
    let fails = script(&place, "fails.pkt", "+0 write(4, ..., 1000) = 1000\n+.5 > P. 1:1001(1000) ack 1");
    let refused = script(&place, "refused.pkt", "+0 shutdown(4, SHUT_WR) = 0");
    place.write("none.pkt", "this is no script");
    let none = place.file("none.pkt");
    assert!(run(&["packetdrill", &passes]).succeeds().stdout.contains("1 passed, 0 failed"));
    // the outcomes are on stdout, beside the error
    let ends = |scripts: &[&str], code: u64, message: &str, printed: &str| {
        let ended = run(&[&["packetdrill"], scripts].concat());
        assert_eq!(ended.error()["exit_code"], code);
        assert!(ended.message().contains(message), "{}", ended.message());
        assert!(ended.stdout.contains(printed), "{}", ended.stdout);
    };
    ends(&[&passes, &refused, &fails], 1, "1 of 3 scripts failed", "the stack sent it at 0.100000 s");
    ends(&[&passes, &refused], 2, "1 of 2 scripts cannot be expressed", "the system call shutdown");
    ends(&[&none], 2, "1 of 1 scripts cannot be expressed", "none.pkt:1: this is no event");
    run(&["packetdrill", &place.file("absent.pkt")]).fails(2, "cannot read");
    run(&["packetdrill", "--mutant", "double-rto", &passes]).succeeds();
}

#[test]
fn a_list_of_scripts_has_a_page() {
    let place = Folder::create();
    script(&place, "passes.pkt", "+0 write(4, ..., 1000) = 1000\n+0 > P. 1:1001(1000) ack 1");
    let rto = "+0 `sysctl -q net.ipv4.tcp_early_retrans=0`\n+0 write(4, ..., 1000) = 1000\n\
               +0 > P. 1:1001(1000) ack 1\n+.3 > P. 1:1001(1000) ack 1";
    script(&place, "rto.pkt", rto);
    let list = "scripts = [\"own/passes.pkt\", \"own/rto.pkt\", \"own/zero.pkt\"]\n\
                [leaves]\n\"own/zero.pkt\" = \"a window of zero\"\n";
    place.write("list.toml", list);
    let (list, page) = (place.file("list.toml"), place.file("page.md"));
    let root = format!("own={}", place.file(""));
    run(&["packetdrill", "--population", &list]).fails(2, "there is no root \"own\"");
    run(&["packetdrill", "--population", &list, "--root", &root, "--out", &page]).succeeds();
    let page = place.read("page.md");
    for row in [
        "| own | 3 | 1 | 0 | 2 | 2 | 0 | 0 |",
        "| double-rto | 1 | own/rto.pkt |",
        "| own/zero.pkt | a window of zero |",
    ] {
        assert!(page.contains(row), "{row} is missing:\n{page}");
    }
    let record = run(&["packetdrill", "--population", &list, "--root", &root, "--json"]).succeeds().json();
    crate::support::documented::assert_documented("packetdrill", &record);
    place.write("list.toml", "scripts = []\n[leaves]\n\"own/other.pkt\" = \"why\"\n");
    run(&["packetdrill", "--population", &list]).fails(2, "own/other.pkt is not one of the scripts");
}
