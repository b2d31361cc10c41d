//! Which links a flow takes, and how its RTT is divided over its path.

use std::time::Duration;

use crate::support::{cc, good};
use fairpace_scenario::{Flow, Line, Link, Problem, Route, Scenario, Target};

/// Nanoseconds.
const MS: u64 = 1_000_000;

/// A scenario with these links (name, from, to, delay in ms; no nodes: "") and one flow of 100 ms.
fn with(links: &[(&str, &str, &str, u64)]) -> Scenario {
    let link = |&(name, from, to, delay_ms): &(&str, &str, &str, u64)| Link {
        ends: (!from.is_empty()).then(|| (from.to_owned(), to.to_owned())),
        line: Line { delay: Duration::from_millis(delay_ms), ..Line::default() },
        ..Link::new(name, 100_000_000, 2_000_000)
    };
    let flow = Flow::new("f", cc("bbr1"), Duration::from_millis(100));
    Scenario { links: links.iter().map(link).collect(), flows: vec![flow], ..good() }
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn ends(from: &str, to: &str) -> Option<(String, String)> {
    Some((from.to_owned(), to.to_owned()))
}

fn sealed(scenario: Scenario) -> Scenario {
    scenario.sealed(Target::Simulator).unwrap()
}

/// The first flow's route.
fn route(scenario: Scenario) -> Route {
    sealed(scenario).routes().remove(0)
}

fn refused(scenario: Scenario) -> Problem {
    let mut problems = scenario.sealed(Target::Simulator).expect_err("this must be wrong").problems;
    assert_eq!(problems.len(), 1, "{problems:#?}");
    problems.remove(0)
}

#[test]
fn without_anything_new_half_of_the_rtt_lies_behind_the_links_and_the_odd_nanosecond_on_the_way_back() {
    let mut scenario = with(&[("a", "", "", 0), ("b", "", "", 0)]);
    scenario.flows[0].rtt = Duration::from_nanos(20_001);
    scenario.flows[0].rtt_at = vec![(Duration::from_secs(9), Duration::from_nanos(30_003))];
    let route = route(scenario);
    assert_eq!((&route.forward[..], &route.back[..]), (&[0, 1][..], &[][..]));
    assert_eq!((route.access_ns, route.behind_ns, route.back_ns), (0, 10_000, 10_001));
    assert_eq!(route.behind_at_ns, [(9_000 * MS, 15_001)]);
    assert_eq!(route.back_at_ns, [(9_000 * MS, 15_002)]);
}

#[test]
fn what_access_and_lines_leave_of_the_rtt_is_halved_at_every_step() {
    let mut scenario = with(&[("a", "", "", 10), ("b", "", "", 20), ("up", "", "", 5)]);
    let flow = &mut scenario.flows[0];
    flow.route = Some(names(&["b", "a"]));
    flow.reverse = names(&["up"]);
    flow.access_delay = Duration::from_millis(3);
    flow.rtt_at = vec![(Duration::from_secs(9), Duration::from_millis(38))];
    let route = route(scenario);
    assert_eq!((&route.forward[..], &route.back[..]), (&[1, 0][..], &[2][..]));
    assert_eq!((route.access_ns, route.behind_ns, route.back_ns), (3 * MS, 31 * MS, 31 * MS));
    assert_eq!((route.behind_at_ns[0].1, route.back_at_ns[0].1), (0, 0));
}

#[test]
fn an_rtt_that_is_shorter_than_its_path_is_reported_with_the_sums() {
    let mut scenario = with(&[("a", "", "", 60), ("up", "", "", 30)]);
    scenario.flows[0].reverse = names(&["up"]);
    scenario.flows[0].access_delay = Duration::from_millis(11);
    let problem = refused(scenario.clone());
    assert_eq!(problem.key, "flow.1.rtt");
    assert_eq!(
        problem.message,
        "flow `f` has an RTT of 100ms, but its path alone takes 101ms: 11ms to the first link, 60ms on its \
         links, 30ms on those of its ACKs"
    );
    scenario.flows[0].rtt = Duration::from_millis(101);
    assert_eq!(route(scenario.clone()).back_ns, 0);
    scenario.flows[0].rtt_at = vec![(Duration::from_secs(1), Duration::from_millis(99))];
    assert_eq!(refused(scenario).key, "flow.1.rtt_at");
}

#[test]
fn a_link_that_carries_acks_is_not_on_the_usual_route_of_any_flow() {
    let mut scenario = with(&[("a", "", "", 0), ("up", "", "", 0), ("b", "", "", 0)]);
    scenario.flows[0].reverse = names(&["up"]);
    scenario.flows.push(Flow::new("g", cc("bbr1"), Duration::from_millis(10)));
    let routes = sealed(scenario).routes();
    assert_eq!((&routes[0].forward[..], &routes[0].back[..]), (&[0, 2][..], &[1][..]));
    assert_eq!((&routes[1].forward[..], &routes[1].back[..]), (&[0, 2][..], &[][..]));
}

#[test]
fn from_node_to_node_the_least_delay_decides_then_fewer_links_then_the_file() {
    for (links, taken) in [
        // less delay over more links
        (vec![("ab", "a", "b", 9), ("ac", "a", "c", 4), ("cb", "c", "b", 4)], vec![1, 2]),
        // as much delay over fewer links
        (vec![("ac", "a", "c", 4), ("cb", "c", "b", 4), ("ab", "a", "b", 8)], vec![2]),
        // all alike: the first in the file
        (
            vec![("ac", "a", "c", 1), ("ad", "a", "d", 2), ("db", "d", "b", 1), ("cb", "c", "b", 2)],
            vec![0, 3],
        ),
        (vec![("x", "", "", 0), ("ab", "a", "b", 1), ("ab2", "a", "b", 1)], vec![1]),
    ] {
        let mut scenario = with(&links);
        scenario.flows[0].ends = ends("a", "b");
        assert_eq!(route(scenario).forward, taken, "{links:?}");
    }
}

type Change = fn(&mut Flow);

/// What is changed in the flow, the key of the error, parts of its message and of its help.
fn impossible_routes() -> Vec<(Change, &'static str, &'static str, &'static str)> {
    vec![
        (
            |f| f.route = Some(names(&["ab", "bd"])),
            "flow.1.route",
            "there is no link `bd`",
            "This scenario has `ab`, `bc`",
        ),
        (|f| f.route = Some(names(&["an"])), "flow.1.route", "there is no link `an`", "did you mean `any`?"),
        (
            |f| f.route = Some(names(&["ab", "any", "ab"])),
            "flow.1.route",
            "`ab` is twice on one `route`",
            "leave it out",
        ),
        (|f| f.route = Some(vec![]), "flow.1.route", "`route` names no link", "leave `route` out"),
        (
            |f| f.route = Some(names(&["ab", "ca"])),
            "flow.1.route",
            "`ab` ends at `b`, but `ca` begins at `c`",
            "follow each other",
        ),
        (
            |f| (f.route, f.ends) = (Some(names(&["ab"])), ends("a", "b")),
            "flow.1.route",
            "a flow has a `route` or goes",
            "leave out",
        ),
        (|f| f.ends = ends("a", "z"), "flow.1.to", "no link leads from or to a node `z`", "name nodes"),
        (|f| f.ends = ends("a", "a"), "flow.1.to", "data would go from `a` to itself", "another node"),
        (
            |f| (f.ends, f.reverse) = (ends("a", "c"), names(&["bc"])),
            "flow.1.reverse",
            "`bc` is on the route and on the reverse route",
            "another `[[link]]`",
        ),
        (
            |f| (f.ends, f.reverse) = (ends("a", "b"), names(&["ca"])),
            "flow.1.reverse",
            "the links of the ACKs begin at `c`, but the data arrives at `b`",
            "begins at `b`",
        ),
        (
            |f| (f.ends, f.reverse) = (ends("a", "b"), names(&["bc"])),
            "flow.1.reverse",
            "the links of the ACKs end at `c`, but the data leaves at `a`",
            "ends at `a`",
        ),
        (
            |f| f.reverse = names(&["ab", "bc", "ca", "any"]),
            "flow.1.reverse",
            "every link is on the `reverse`",
            "`route`",
        ),
    ]
}

#[test]
fn what_cannot_be_a_route_is_refused_with_what_to_write() {
    let nodes = with(&[("ab", "a", "b", 1), ("bc", "b", "c", 1), ("ca", "c", "a", 1), ("any", "", "", 0)]);
    for (change, key, message, help) in impossible_routes() {
        let mut scenario = nodes.clone();
        change(&mut scenario.flows[0]);
        let problem = refused(scenario);
        assert_eq!((problem.kind, problem.key.as_str()), ("impossible", key), "{problem}");
        assert!(problem.message.starts_with(message), "{problem}");
        assert!(problem.help.contains(help), "{message}: {}", problem.help);
    }
    let problem = refused(with(&[("ab", "a", "b", 1), ("ca", "c", "a", 1)]));
    assert_eq!(problem.key, "flow.1.route");
    assert!(
        problem.help.starts_with("without `route`, or `from` and `to`, a flow takes all links"),
        "{}",
        problem.help
    );
    let mut apart = with(&[("ab", "a", "b", 1), ("cd", "c", "d", 1)]);
    apart.flows[0].ends = ends("a", "d");
    assert_eq!(refused(apart).message, "no links lead from `a` to `d`");
}

#[test]
fn a_route_may_be_as_long_as_a_packet_lives_and_no_longer() {
    let link = |number: u32| Link::new(number.to_string(), 1_000_000, 100_000);
    let scenario = |links| Scenario { links: (0..links).map(link).collect(), ..with(&[]) };
    assert_eq!(route(scenario(255)).forward.len(), 255);
    assert!(
        refused(scenario(256)).message.starts_with("a flow would take 256 links; it may take at most 255")
    );
}

#[test]
fn an_unchecked_scenario_has_routes_too_and_no_panic() {
    let mut scenario = with(&[("a", "", "", 200)]);
    scenario.flows[0].reverse = names(&["none"]);
    let routes = scenario.routes();
    assert_eq!((routes[0].behind_ns, routes[0].back_ns), (50 * MS, 50 * MS));
    assert!(routes[0].forward.is_empty());
}
