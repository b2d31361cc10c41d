//! A list of scripts that are counted together, with the reason for each that is left out.

use std::collections::BTreeMap;

use fairpace_scenario::Problem;
use serde::Deserialize;

/// A list of scripts, fixed before the first of them ran.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Population {
    /// Names of scripts: the name of a root, and a path below it.
    pub scripts: Vec<String>,
    /// Scripts that are not run, and the feature of their input for which they leave.
    #[serde(default)]
    pub leaves: BTreeMap<String, String>,
    /// Scripts that could not be had, and why.
    #[serde(default)]
    pub absent: BTreeMap<String, String>,
}

impl Population {
    /// Reads a list. `file` is its name in messages.
    ///
    /// # Errors
    /// Returns the place of what is no list, or the name of a script that leaves but is not in the list.
    pub fn parse(file: &str, text: &str) -> Result<Population, Box<Problem>> {
        let problem = |message: String| {
            let help = "a list has `scripts`, and the tables `leaves` and `absent`";
            Problem::of("population", "syntax", "", message, help)
        };
        let list: Population = toml::from_str(text).map_err(|error| {
            let found = problem(error.message().to_owned());
            Box::new(match error.span() {
                Some(span) => found.within(file, text, span),
                None => found.in_file(file),
            })
        })?;
        let named = list.leaves.keys().chain(list.absent.keys());
        match named.into_iter().find(|name| !list.scripts.contains(name)) {
            Some(name) => Err(Box::new(problem(format!("{name} is not one of the scripts")).in_file(file))),
            None => Ok(list),
        }
    }

    /// The scripts that are run.
    pub fn stays(&self) -> impl Iterator<Item = &String> {
        self.scripts
            .iter()
            .filter(|name| !self.leaves.contains_key(*name) && !self.absent.contains_key(*name))
    }
}
