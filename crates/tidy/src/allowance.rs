//! How many violations of each check a file may have while the tree is being cleaned. No number grows.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;

use crate::tree::Violation;

/// Lines of `check, tab, path, tab, number`, from the root of the repository.
const FILE: &str = "crates/tidy/allowance.txt";

/// Violations per check and path.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Allowance(BTreeMap<(String, String), usize>);

impl Allowance {
    /// What is recorded. Without a file nothing is allowed.
    pub(crate) fn read(root: &Path) -> Allowance {
        Allowance::parse(&fs::read_to_string(root.join(FILE)).unwrap_or_default())
    }

    fn parse(text: &str) -> Allowance {
        let entry = |line: &str| {
            let mut parts = line.split('\t').map(str::to_owned);
            Some(((parts.next()?, parts.next()?), parts.next()?.parse().ok()?))
        };
        Allowance(text.lines().filter_map(entry).collect())
    }

    /// Exactly these.
    pub(crate) fn of(found: &[Violation]) -> Allowance {
        let mut numbers = BTreeMap::new();
        for violation in found {
            *numbers.entry((violation.check.to_owned(), violation.path.clone())).or_default() += 1;
        }
        Allowance(numbers)
    }

    /// The smaller of what is allowed and what there is.
    pub(crate) fn shrunk(&self, found: &[Violation]) -> Allowance {
        let now = Allowance::of(found).0;
        let smaller = |(key, most): (&(String, String), &usize)| {
            Some((key.clone(), *most.min(now.get(key).filter(|number| **number > 0)?)))
        };
        Allowance(self.0.iter().filter_map(smaller).collect())
    }

    /// All violations of a check in a file that has more of them than it may.
    pub(crate) fn exceeding<'v>(&self, found: &'v [Violation]) -> Vec<&'v Violation> {
        let now = Allowance::of(found).0;
        let exceeds = |violation: &&Violation| {
            let key = (violation.check.to_owned(), violation.path.clone());
            now[&key] > self.0.get(&key).copied().unwrap_or_default()
        };
        found.iter().filter(exceeds).collect()
    }

    pub(crate) fn write(&self, root: &Path) {
        let mut text = String::new();
        for ((check, path), number) in &self.0 {
            writeln!(text, "{check}\t{path}\t{number}").expect("a string takes everything");
        }
        fs::write(root.join(FILE), text).unwrap_or_else(|error| panic!("{FILE}: {error}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::File;

    fn found(number: usize) -> Vec<Violation> {
        (0..number).map(|line| Violation::new("width", &File::new("a.rs", ""), line, String::new())).collect()
    }

    #[test]
    fn a_file_may_have_what_is_allowed_and_no_more() {
        let allowed = Allowance::parse("width\ta.rs\t2\nword\ta.rs\t9\n");
        assert_eq!(allowed.exceeding(&found(2)).len(), 0);
        assert_eq!(allowed.exceeding(&found(3)).len(), 3, "all are shown: which one is new is not known");
        assert_eq!(Allowance::default().exceeding(&found(1)).len(), 1);
    }

    #[test]
    fn an_allowance_only_shrinks() {
        let allowed = Allowance::parse("width\ta.rs\t2\nword\ta.rs\t9\n");
        assert_eq!(allowed.shrunk(&found(3)), Allowance::parse("width\ta.rs\t2"));
        assert_eq!(allowed.shrunk(&found(1)), Allowance::parse("width\ta.rs\t1"));
        assert_eq!(allowed.shrunk(&[]), Allowance::default());
    }
}
