//! Hashes are names of results that were published: keys that came later do not change those of scenarios
//! without them.

use std::path::Path;

use fairpace_scenario::{Target, load};

#[test]
fn the_first_scenarios_have_the_hashes_that_they_always_had() {
    for (name, hash) in [
        ("bbq-rtt-fairness", "9a773e2f8e750c478c836bec2243897b1a0c25843c73d5b2854b7ec1d5c15f7e"),
        ("bbr-rtt-unfairness", "3a81bcefc0eb60060247e745e46431dedf8783d09af8d87bcd9d73b2b4e470cb"),
        ("bbr1-against-cubic", "c6d32fea96d13061bc2142a813eacfad992f3399d44cba39bdc907f451f716be"),
        ("cubic-rtt", "1b183af0163b85ce75862fb5f3eb7485ffa8c870bb1801d3773f95250d25296f"),
        ("late-starters", "46cd547fd4bad0435f65458916459a96ef23d3cac4a615096f741d95f3f6a12d"),
    ] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../scenarios/{name}.toml"));
        assert_eq!(load(&path, &[], Target::Simulator).unwrap().hash, hash, "{name}");
    }
}
