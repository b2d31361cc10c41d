//! Algorithms that are built into the kernel (`cc/linux`), as in the kernel of `--on virtual:uml`. It needs
//! no eBPF: an algorithm gets its parameters, and a name for them, by a file of the kernel.

use std::fs;
use std::path::Path;

use fairpace_cc::{Algorithm, Params, SOURCES};

use crate::{Counters, Error, names};

/// Folder of the kernel's files for them.
const FOLDER: &str = "/sys/module/tcp_fairpace/parameters";

/// An algorithm that is built into the kernel, with parameters of its own. It stays when this is dropped.
#[derive(Debug)]
pub struct BuiltIn {
    name: String,
    code: &'static str,
}

/// The name under which the kernel has the code: that of the algorithm that a preset sets.
pub(crate) fn code(algorithm: Algorithm) -> &'static str {
    algorithm.preset().map_or(algorithm.name(), |preset| preset.algorithm)
}

/// What is written to the kernel's file `add`.
fn line(name: &str, params: &Params) -> String {
    let values: String = params.iter().map(|(_, raw)| format!(" {raw}")).collect();
    format!("{name} {}{values}", code(params.algorithm()))
}

impl BuiltIn {
    /// Whether this kernel has algorithms of Fairpace.
    #[must_use]
    pub fn is_there() -> bool {
        Path::new(FOLDER).exists()
    }

    /// Adds a listed algorithm with these parameters, under a name that no other algorithm in the kernel has.
    ///
    /// # Errors
    /// The kernel does not have the algorithm, or has those of other sources.
    pub fn add(params: &Params) -> Result<BuiltIn, Error> {
        let path = Path::new(FOLDER).join("sources");
        let found = fs::read_to_string(&path).map_err(|cause| Error::Io { path, cause })?;
        if found.trim() != SOURCES {
            return Err(Error::OtherSources { found: found.trim().to_owned() });
        }
        let name = names::with_suffix(params.algorithm().kernel_name(), &names::unique_suffix());
        let path = Path::new(FOLDER).join("add");
        fs::write(&path, line(&name, params)).map_err(|cause| Error::Io { path, cause })?;
        Ok(BuiltIn { name, code: code(params.algorithm()) })
    }

    /// The name by which sockets select it.
    #[must_use]
    pub fn kernel_name(&self) -> &str {
        &self.name
    }

    /// The algorithm of the code, which is another one for a preset.
    #[must_use]
    pub fn code(&self) -> &'static str {
        self.code
    }

    /// Returns the counts since the boot, over all sockets of the code: one that runs with several parameters
    /// is counted together.
    ///
    /// # Errors
    /// The kernel does not let the counters be read.
    pub fn counters(&self) -> Result<Counters, Error> {
        let path = Path::new(FOLDER).join("counters");
        let text = fs::read_to_string(&path).map_err(|cause| Error::Io { path, cause })?;
        Ok(counters(&text, self.code))
    }
}

/// The counters in the line of an algorithm: its name, then the values of struct cc_counters.
fn counters(text: &str, code: &str) -> Counters {
    let of = |line: &str| {
        let mut words = line.split_whitespace();
        (words.next() == Some(code)).then(|| words.filter_map(|word| word.parse().ok()).collect())
    };
    let values: Vec<u64> = text.lines().find_map(of).unwrap_or_default();
    Counters::from_values(|at| values.get(at).copied().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_preset_is_its_algorithm_with_the_values_of_its_own() {
        let params = |name| Params::defaults(Algorithm::by_name(name).expect("it is listed"));
        assert!(line("fp_x", &params("reno")).starts_with("fp_x reno 512 "));
        let (bbr3, preset) = (line("a", &params("bbr3")), line("a", &params("bbr3e1")));
        assert!(preset.starts_with("a bbr3 ") && preset != bbr3, "{preset}");
        assert_eq!(preset.split(' ').count(), bbr3.split(' ').count());
    }

    #[test]
    fn counters_are_those_of_the_algorithm() {
        let text = "bbr 9 9 9 9 9 9 9\nbbr3 1 2 3 4 5 6 7\n";
        let found = counters(text, "bbr3");
        assert_eq!((found.fallbacks, found.heals, found.clamps.total()), (1, 2, 25));
        assert_eq!(counters(text, "reno"), Counters::default());
    }
}
