//! The size of files of every kind: each clone has all of them, in each version.

use crate::tree::{File, Violation};

const CHECK: &str = "file size";
/// Bytes of a file: 256 KiB, four times the longest page that is written by hand (docs/level-spec.md). A
/// larger file is a record or a picture that a program wrote, and needs a reason to be here.
const LIMIT_BYTES: usize = 256 * 1024;

/// Finds files over the limit.
pub(crate) fn check(file: &File, found: &mut Vec<Violation>) {
    if file.size_bytes > LIMIT_BYTES {
        let what = format!("{} bytes, {LIMIT_BYTES} at most", file.size_bytes);
        found.push(Violation::new(CHECK, file, 1, what));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(bytes: Vec<u8>) -> Vec<String> {
        let mut found = Vec::new();
        check(&File::of_bytes("a.csv", bytes), &mut found);
        found.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_file_over_the_limit_is_found_text_or_not() {
        for byte in [b'a', 0xff] {
            assert_eq!(found(vec![byte; LIMIT_BYTES]), [""; 0]);
            let over = found(vec![byte; LIMIT_BYTES + 1]);
            assert_eq!(over, ["a.csv:1: file size: 262145 bytes, 262144 at most"]);
        }
    }
}
