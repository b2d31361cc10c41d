//! Check of machine paths, which have no meaning on another machine.

use crate::tree::{File, Violation};

const CHECK: &str = "machine path";
/// Folders in which users and their tools work.
const FOLDERS: &[&str] = &["/work/", "/root/", "/home/", "/Users/"];

/// Finds paths into such a folder, in files of every kind.
pub(crate) fn check(file: &File, found: &mut Vec<Violation>) {
    for (index, line) in file.text.lines().enumerate() {
        for folder in FOLDERS {
            let begins =
                |at: usize| !line[..at].ends_with(|c: char| c.is_alphanumeric() || "_.-/}*".contains(c));
            if line.match_indices(folder).any(|(at, _)| begins(at)) {
                let what = format!("a path below {folder} is of one machine only");
                found.push(Violation::new(CHECK, file, index + 1, what));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_of_a_machine_is_found_and_a_relative_one_is_not() {
        // in parts, so that a search of the tree for such paths finds none
        let text = [
            "see /",
            "work/main/x\n\"/",
            "root/.cargo\"\nscenarios/",
            "work/a and ../",
            "root/b\n/",
            "home/me",
        ];
        let text = text.concat();
        let mut found = Vec::new();
        check(&File::new("a.txt", &text), &mut found);
        assert_eq!(found.iter().map(|violation| violation.line).collect::<Vec<_>>(), [1, 2, 4]);
    }
}
