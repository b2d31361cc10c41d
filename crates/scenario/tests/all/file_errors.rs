//! Each way to get a file wrong that a scenario names gives one error that says where and why.

use crate::support::GOOD;
use fairpace_scenario::{Target, load};

#[test]
fn what_is_wrong_with_a_trace_or_a_distribution_is_reported_with_the_line() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    let traces: &[(&str, &str)] = &[
        ("", "`file` has no line"),
        ("0\n0\n", "`file` ends at 0 ms; the last time is the period"),
        ("1\n2\n\n", "`file` is not a trace: line 3 is \"\", not a time in whole milliseconds"),
        ("1\n2.5\n", "`file` is not a trace: line 2 is \"2.5\""),
        ("-1\n", "`file` is not a trace: line 1 is \"-1\""),
        ("5\n7\n6\n", "`file` goes back in time at line 3: 6 ms"),
        ("86400001\n", "`file` lasts for 86400001 ms; it must be at most 86400000, a day"),
        ("86400000\n", "`file` has a wrong mean rate: `rate` is 0bit; it must be at least 1kbit"),
    ];
    let sizes: &[(&str, &str)] = &[
        ("# nothing\n", "`file` has no line"),
        ("1000 0.5\n", "`file` does not end at the share 1"),
        ("1000 50\n2000 100\n", "`file` has a share above 1: shares go from 0 to 1, not to 100, at line 1"),
        ("0 0\n1000 1\n", "`file` has a size of 0 bytes; the smallest is 1, at line 1"),
        ("1000 0.5\n1000 1\n", "`file` has sizes that do not grow, at line 2"),
        ("1000 0.5\n\n2000 0.5\n", "`file` has shares that do not grow, at line 3"),
        ("1000 a\n", "`file` is not a distribution: line 1 is \"1000 a\", not bytes and a share"),
        ("1000 1 1\n", "`file` is not a distribution: line 1 is \"1000 1 1\""),
    ];
    let trace = GOOD.replace("rate = \"100mbit\"", "trace = \"file\"");
    let workload = GOOD.replace("start =", "arrivals = \"1/s\"\nsizes = \"file\"\nstart =");
    for (scenario, key, cases) in [(trace, "link.trace", traces), (workload, "flow.sizes", sizes)] {
        write("scenario.toml", &scenario);
        for (text, message) in cases {
            write("file", text);
            let error = load(&folder.path().join("scenario.toml"), &[], Target::Simulator).unwrap_err();
            assert_eq!(error.problems.len(), 1, "{text}: {error}");
            let problem = &error.problems[0];
            assert_eq!((problem.kind, problem.key.as_str()), ("file", key), "{text}");
            assert!(problem.message.starts_with(message), "{text}: {}", problem.message);
            assert!(problem.line > 1, "{text}");
        }
    }
}
