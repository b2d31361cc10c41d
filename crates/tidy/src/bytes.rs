//! Check of the size of files of every kind, because each clone has all files in each version.

use crate::tree::{File, Violation};

const CHECK: &str = "file size";
/// Most bytes of a file: 256 KiB, four times the longest page that is written by hand (docs/level-spec.md). A
/// larger file is a record or a picture that a program wrote, and needs a reason to be in the repository.
const LIMIT_BYTES: usize = 256 * 1024;
/// Most bytes of a picture: the size of twelve flows with a point per pixel. A picture with more data should
/// be a table.
const PICTURE_BYTES: usize = 64 * 1024;

/// Finds files over the limit.
pub(crate) fn check(file: &File, found: &mut Vec<Violation>) {
    let most = if file.path.ends_with(".svg") { PICTURE_BYTES } else { LIMIT_BYTES };
    if file.size_bytes > most {
        let what = format!("{} bytes, {most} at most", file.size_bytes);
        found.push(Violation::new(CHECK, file, 1, what));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(name: &str, bytes: Vec<u8>) -> Vec<String> {
        let mut found = Vec::new();
        check(&File::of_bytes(name, bytes), &mut found);
        found.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_file_over_the_limit_is_found_text_or_not() {
        for byte in [b'a', 0xff] {
            assert_eq!(found("a.csv", vec![byte; LIMIT_BYTES]), [""; 0]);
            let over = found("a.csv", vec![byte; LIMIT_BYTES + 1]);
            assert_eq!(over, ["a.csv:1: file size: 262145 bytes, 262144 at most"]);
        }
        assert_eq!(found("a.svg", vec![b'a'; PICTURE_BYTES]), [""; 0]);
        assert_eq!(found("a.svg", vec![b'a'; PICTURE_BYTES + 1]).len(), 1);
    }
}
