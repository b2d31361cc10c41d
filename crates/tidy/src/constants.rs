//! Constants: each number with a name says in a comment what it is, in which unit, or where it comes from.

use crate::mask::{Masked, is_word};
use crate::tree::{File, Violation};

const CHECK: &str = "constant";

/// Types of numbers, alone or in an array.
const NUMBERS: &[&str] = &[
    "u8", "u16", "u32", "u64", "u128", "usize", "i8", "i16", "i32", "i64", "i128", "isize", "f32", "f64",
    "Duration", "Nanos",
];

/// Finds `const` and `#define` of a number without a comment: above it, behind it, or above its group, which
/// ends at a blank line.
pub(crate) fn check(file: &File, found: &mut Vec<Violation>) {
    if !file.is_rust() && !file.is_c() {
        return;
    }
    let masked = file.masked();
    let lines: Vec<&str> = masked.code.lines().collect();
    for (index, line) in lines.iter().enumerate() {
        let value = if file.is_rust() { value_of_const(&lines[index..]) } else { value_of_define(line) };
        let Some((name, value)) = value else { continue };
        if has_number(&value) && !is_commented(masked, &lines, index) {
            let what = format!("{name} has no comment: say what it is, its unit, its source");
            found.push(Violation::new(CHECK, file, index + 1, what));
        }
    }
}

/// The name and the value of a number that begins on the first of these lines.
fn value_of_const(lines: &[&str]) -> Option<(String, String)> {
    let mut words = lines[0].split_whitespace().skip_while(|word| word.starts_with("pub"));
    if words.next() != Some("const") {
        return None;
    }
    let name: String = words.next()?.chars().take_while(|c| is_word(*c)).collect();
    // a value of more lines than this is a table or a structure
    let text = lines[..lines.len().min(8)].join("\n");
    let (before, value) = text.split_once(" =")?;
    let of = before.split_once(": ")?.1.trim_start_matches(['&', '[']);
    let of: String = of.chars().take_while(|c| is_word(*c)).collect();
    NUMBERS.contains(&of.as_str()).then(|| (name, value[..end_of_value(value)].to_owned()))
}

/// Up to the semicolon that is in no bracket.
fn end_of_value(value: &str) -> usize {
    let mut depth = 0;
    let at_end = |c| match c {
        '(' | '[' | '{' => {
            depth += 1;
            false
        }
        ')' | ']' | '}' => {
            depth -= 1;
            false
        }
        _ => c == ';' && depth == 0,
    };
    value.find(at_end).unwrap_or(value.len())
}

/// The name and the value of a `#define` without arguments.
fn value_of_define(line: &str) -> Option<(String, String)> {
    let rest = line.trim_start().strip_prefix('#')?.trim_start().strip_prefix("define")?.trim_start();
    let end = rest.find(|c| !is_word(c))?;
    if rest[end..].starts_with('(') { None } else { Some((rest[..end].into(), rest[end..].into())) }
}

/// Whether a number stands in an expression, apart from digits in names.
fn has_number(value: &str) -> bool {
    let mut before = ' ';
    value.chars().any(|c| {
        let begins = c.is_ascii_digit() && !is_word(before);
        before = c;
        begins
    })
}

fn is_commented(masked: &Masked, lines: &[&str], index: usize) -> bool {
    // a constant of Rust may go on to a line with a semicolon; a definition of C has one line
    let ends = |i: &usize| lines[*i].contains(';') || lines[index].trim_start().starts_with('#');
    let last = (index..lines.len()).find(ends).unwrap_or(index);
    if (index..=last).any(|i| masked.commented[i]) {
        return true;
    }
    let is_blank = |i: usize| lines[i].trim().is_empty() && !masked.commented[i];
    let is_comment = |i: usize| lines[i].trim().is_empty() && masked.commented[i];
    let begins = |i: usize| {
        let line = lines[i].trim_start().trim_start_matches("pub(crate) ").trim_start_matches("pub ");
        line.starts_with("const ") || line.starts_with('#') || line.starts_with("static ") || line.is_empty()
    };
    // up through the group to the comment above its first constant
    (0..index).rev().take_while(|i| !is_blank(*i) && begins(*i)).any(is_comment)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, text: &str) -> Vec<usize> {
        let mut found = Vec::new();
        check(&File::new(path, text), &mut found);
        found.iter().map(|violation| violation.line).collect()
    }

    #[test]
    fn a_number_of_rust_without_a_comment_is_found() {
        assert_eq!(lines("a.rs", "const A: u32 = 1;\n\npub(crate) const B: f64 = 0.5;"), [1, 3]);
        assert_eq!(lines("a.rs", "impl A {\n    const B: Duration = Duration::from_millis(5);\n}"), [2]);
        assert_eq!(lines("a.rs", "const A: [u32; 2] =\n    [1, 2];"), [1]);
    }

    #[test]
    fn a_comment_above_behind_or_of_the_group_is_enough() {
        assert_eq!(lines("a.rs", "/// Seconds.\n#[rustfmt::skip]\nconst A: u32 = 1;"), [0; 0]);
        assert_eq!(lines("a.rs", "const A: u32 = 1; // seconds"), [0; 0]);
        assert_eq!(
            lines("a.rs", "// enum kind\nconst A: u32 = 0;\nconst B: u32 = 1;\n\nconst C: u32 = 2;"),
            [5]
        );
    }

    #[test]
    fn names_and_functions_are_no_numbers() {
        assert_eq!(lines("a.rs", "const A: [&str; 2] = [\"1\", x2];\nconst fn f() -> u32 { 1 }"), [0; 0]);
        assert_eq!(lines("a.h", "#define A(x) 1\n#define B\n#define C other2"), [0; 0]);
    }

    #[test]
    fn a_number_of_c_without_a_comment_is_found() {
        assert_eq!(
            lines("a.h", "#define A 1\n\n#define B (1 << 3) /* bytes */\n\n/* bytes */\n#define C 2"),
            [1]
        );
    }
}
