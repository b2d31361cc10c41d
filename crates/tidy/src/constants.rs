//! Check of constants: a comment at each named number gives its meaning, its unit, or its source.

use crate::mask::is_word;
use crate::tree::{File, Violation};

const CHECK: &str = "constant";

/// Types of numbers, alone or in an array.
const NUMBERS: &[&str] = &[
    "u8", "u16", "u32", "u64", "u128", "usize", "i8", "i16", "i32", "i64", "i128", "isize", "f32", "f64",
    "Duration", "Nanos",
];

/// Finds `const`, `static`, `#define` and enumerators of C with a number and without a comment. The comment
/// may be above the constant, behind it, or above its group, which ends at a blank line. A doc comment
/// belongs to its own item only, so the comment of a group in Rust begins with `//`.
pub(crate) fn check(file: &File, found: &mut Vec<Violation>) {
    if !file.is_rust() && !file.is_c() {
        return;
    }
    let lines: Vec<&str> = file.masked().code.lines().collect();
    for (index, line) in lines.iter().enumerate() {
        let value = match file.is_rust() {
            true => value_of_const(&lines[index..]),
            false => value_of_define(line)
                .or_else(|| value_of_static(&lines[index..]))
                .or_else(|| value_of_enumerator(&lines[..=index])),
        };
        let Some((name, value)) = value else { continue };
        if has_number(&value) && !is_commented(file, &lines, index) {
            let what = format!("{name} has no comment: say what it is, its unit, its source");
            found.push(Violation::new(CHECK, file, index + 1, what));
        }
    }
}

/// The name and the value of a number that begins on the first of these lines.
fn value_of_const(lines: &[&str]) -> Option<(String, String)> {
    let mut words = lines[0].split_whitespace().skip_while(|word| word.starts_with("pub"));
    if !matches!(words.next(), Some("const" | "static")) {
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

/// Length of a value: up to the semicolon that is in no bracket.
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

/// The name and the value of a `static const` of C that begins on the first of these lines.
fn value_of_static(lines: &[&str]) -> Option<(String, String)> {
    let declared = lines[0].trim_start().strip_prefix("static const ")?;
    let text = lines[1..lines.len().min(8)].iter().fold(declared.to_owned(), |text, line| text + "\n" + line);
    let (before, value) = text.split_once(" =")?;
    let (of, name) = before.rsplit_once([' ', '*'])?;
    let is_structure = of.starts_with("struct ") || before.contains('(') || before.contains(';');
    (!is_structure).then(|| (name.to_owned(), value[..end_of_value(value)].to_owned()))
}

/// The names and the values of the enumerators on the last of these lines, if it is in an `enum`.
fn value_of_enumerator(lines: &[&str]) -> Option<(String, String)> {
    let (line, above) = lines.split_last()?;
    let begins = |line: &str| line.trim_start().starts_with("enum ") && line.contains('{');
    let is_inside =
        above.iter().rev().find(|line| begins(line) || line.contains('}')).is_some_and(|l| begins(l));
    let members = match line.split_once('{') {
        Some((_, members)) if begins(line) => members,
        None if is_inside => line,
        _ => return None,
    };
    let (name, value) = members.split_once(" = ")?;
    Some((name.trim().to_owned(), value.to_owned()))
}

/// Whether an expression contains a number, apart from digits in names.
fn has_number(value: &str) -> bool {
    let mut before = ' ';
    value.chars().any(|c| {
        let begins = c.is_ascii_digit() && !is_word(before);
        before = c;
        begins
    })
}

fn is_commented(file: &File, lines: &[&str], index: usize) -> bool {
    let commented = &file.masked().commented;
    let text: Vec<&str> = file.text.lines().collect();
    // a constant may go on to a line with a semicolon; a definition and an enumerator of C have one line
    let is_long = |line: &str| file.is_rust() || line.trim_start().starts_with("static ");
    let ends = |i: &usize| lines[*i].contains(';') || !is_long(lines[index]);
    let last = (index..lines.len()).find(ends).unwrap_or(index);
    if (index..=last).any(|i| commented[i]) {
        return true;
    }
    let is_blank = |i: usize| lines[i].trim().is_empty() && !commented[i];
    let is_comment = |i: usize| lines[i].trim().is_empty() && commented[i];
    let is_doc =
        |i: usize| file.is_rust() && ["///", "//!"].iter().any(|mark| text[i].trim_start().starts_with(mark));
    let is_attribute = |i: usize| file.is_rust() && lines[i].trim_start().starts_with('#');
    let begins = |i: usize| {
        let line = lines[i].trim_start().trim_start_matches("pub(crate) ").trim_start_matches("pub ");
        ["const ", "static ", "#", "enum "].iter().any(|begin| line.starts_with(begin))
            || line.is_empty()
            || value_of_enumerator(&lines[..=i]).is_some()
    };
    if (0..index).rev().find(|i| !is_attribute(*i)).is_some_and(is_comment) {
        return true;
    }
    // up through the group to the comment above its first constant
    (0..index).rev().take_while(|i| !is_blank(*i) && begins(*i)).any(|i| is_comment(i) && !is_doc(i))
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
        assert_eq!(lines("a.rs", "static A: u64 = 1;\nstatic B: Mutex<u64> = Mutex::new(1);"), [1]);
    }

    #[test]
    fn a_doc_comment_is_of_its_own_constant_only() {
        assert_eq!(lines("a.rs", "/// Seconds.\nconst A: u32 = 1;\nconst B: u32 = 2;"), [3]);
        assert_eq!(lines("a.rs", "// Seconds.\nconst A: u32 = 1;\nconst B: u32 = 2;"), [0; 0]);
        assert_eq!(lines("a.rs", "// Seconds.\n/// Most.\nconst A: u32 = 1;\nconst B: u32 = 2;"), [0; 0]);
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
        assert_eq!(lines("a.h", "static const u32 a = 1;\nstatic const struct b c = { 1 };"), [1]);
        assert_eq!(lines("a.h", "static const char *const a[2] = {\n\t\"1\", 0\n};\nint b = 1;"), [1]);
    }

    #[test]
    fn an_enumerator_of_c_needs_a_comment_or_one_of_its_enum() {
        assert_eq!(lines("a.h", "enum a { A = 1, B = 2 };\n\n/* b */\nenum b { C = 1 };"), [1]);
        assert_eq!(lines("a.h", "enum a {\n\tA = 1, /* a */\n\tB = 2,\n};\n\nvoid f() { a = 1; }"), [3]);
        assert_eq!(lines("a.h", "/* a */\nenum a {\n\tA = 1,\n\tB = 2,\n};"), [0; 0]);
    }
}
