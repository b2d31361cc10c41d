//! The algorithms, as scenarios know them.

use fairpace_cc::{Algorithm, Params};
use fairpace_scenario::Catalog;

use crate::args::Place;

/// All algorithms of `cc/`; on the testbed also the kernel's own.
pub(crate) struct Algorithms(pub(crate) Place);

impl Catalog for Algorithms {
    fn algorithms(&self) -> Vec<&str> {
        Algorithm::all().map(Algorithm::name).collect()
    }

    fn parameters(&self, algorithm: &str) -> Vec<&str> {
        let Ok(algorithm) = Algorithm::by_name(algorithm) else { return Vec::new() };
        algorithm.parameters().iter().map(|parameter| parameter.name).collect()
    }

    fn check(&self, algorithm: &str, parameter: &str, value: &str) -> Result<(), String> {
        let algorithm = Algorithm::by_name(algorithm).map_err(|error| error.to_string())?;
        Params::defaults(algorithm).set(parameter, value).map_err(|error| error.to_string())
    }

    fn allows_kernel(&self) -> bool {
        self.0 == Place::Kernel
    }
}
