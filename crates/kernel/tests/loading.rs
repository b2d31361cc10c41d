//! Loading into the running kernel, listing and unloading.

use fairpace_cc::{Algorithm, Params};
use fairpace_kernel::{LoadOptions, list, load};

#[test]
fn every_algorithm_loads() {
    for algorithm in Algorithm::all() {
        let options = LoadOptions { suffix: "_t".into(), ..LoadOptions::default() };
        let loaded = load(&Params::defaults(algorithm), &options).unwrap_or_else(|e| panic!("{e}"));
        println!("{} {:?}", loaded.kernel_name(), loaded.verified_instructions());
        println!("{:?}", list().unwrap());
    }
}
