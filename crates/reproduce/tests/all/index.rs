//! REPRODUCTION.md says what its records say.

use crate::support::papers;
use fairpace_reproduce::index;

#[test]
fn a_value_that_holds_only_with_real_flows_is_counted_apart() {
    let page = index::tables(&papers());
    let page = page.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(page.contains("and 1 more with real flows on such a base"), "{page}");
    let (_, item) = page.split_once("- that share over BBR's, published 4.62").expect("it is in the list");
    let item = item.split(" **").next().unwrap_or_default();
    assert!(item.ends_with("; ours 9.40 ± 0.52; real flows 4.90 ± 0.52: holds"), "{item}");
}
