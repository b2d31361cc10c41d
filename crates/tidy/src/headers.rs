//! Check of headers: every header in cc/ is an algorithm of the list; parts of algorithms are in cc/lib.

use crate::tree::{File, Violation};

const CHECK: &str = "header";
const LIST: &str = "cc/algorithms.def";

/// Finds headers directly in cc/ that no line of the list names.
pub(crate) fn check(files: &[File], found: &mut Vec<Violation>) {
    let list = files.iter().find(|file| file.path == LIST).map_or("", |file| &file.text);
    let is_listed = |name: &str| list.lines().any(|line| line.starts_with(&format!("CC_ALGORITHM({name},")));
    for file in files {
        let name = file.path.strip_prefix("cc/").and_then(|name| name.strip_suffix(".h"));
        if name.is_some_and(|name| !name.contains('/') && !is_listed(name)) {
            let what = format!("is no algorithm of {LIST}: parts of algorithms belong in cc/lib");
            found.push(Violation::new(CHECK, file, 1, what));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_that_is_not_in_the_list_is_found() {
        let list = File::new(LIST, "CC_ALGORITHM(bbr1, x)\nCC_PRESET(fast, bbr1)\n");
        let header = |path| File::new(path, "");
        let files =
            [list, header("cc/bbr1.h"), header("cc/bbr.h"), header("cc/fast.h"), header("cc/lib/a.h")];
        let mut found = Vec::new();
        check(&files, &mut found);
        assert_eq!(found.iter().map(|v| v.path.as_str()).collect::<Vec<_>>(), ["cc/bbr.h", "cc/fast.h"]);
    }
}
