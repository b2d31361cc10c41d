//! Rust and C with the text of comments and literals blanked, so that only code is left.

/// The form of a source file that other checks read. Lines and columns are those of the file.
pub(crate) struct Masked {
    /// The text with spaces for comments and for the content of strings and characters.
    pub(crate) code: String,
    /// For each line, whether it has a comment or a part of one.
    pub(crate) commented: Vec<bool>,
}

/// State of the scanner: the construct that it is in.
#[derive(Clone, Copy, PartialEq)]
enum Inside {
    Code,
    LineComment,
    /// A block comment of this depth: comments of Rust nest.
    BlockComment(u32),
    /// A string that ends at this quote and has escapes.
    Quoted(char),
    /// A raw string that ends at a quote and this number of hashes.
    Raw(usize),
}

/// Blanks comments and literals of Rust, or of C.
pub(crate) fn mask(text: &str, rust: bool) -> Masked {
    let chars: Vec<char> = text.chars().collect();
    let mut masked = Masked { code: String::with_capacity(text.len()), commented: vec![false] };
    let mut inside = Inside::Code;
    let mut at = 0;
    while at < chars.len() {
        let (next, taken) = step(inside, &chars[at..], rust, at.checked_sub(1).map(|i| chars[i]));
        let hidden = inside != Inside::Code || next != Inside::Code;
        let comment = |i: Inside| matches!(i, Inside::LineComment | Inside::BlockComment(_));
        for &c in &chars[at..at + taken] {
            if comment(inside) || comment(next) {
                *masked.commented.last_mut().expect("one line at least") |= c != '\n';
            }
            masked.code.push(if c == '\n' || !hidden { c } else { ' ' });
            if c == '\n' {
                masked.commented.push(false);
            }
        }
        (inside, at) = (next, at + taken);
    }
    masked
}

/// The state after the next characters, and the number of characters that belong together.
fn step(inside: Inside, rest: &[char], rust: bool, before: Option<char>) -> (Inside, usize) {
    let second = rest.get(1).copied();
    match (inside, rest[0]) {
        (Inside::Code, '/') if second == Some('/') => (Inside::LineComment, 2),
        (Inside::Code, '/') if second == Some('*') => (Inside::BlockComment(1), 2),
        (Inside::Code, '"') => (Inside::Quoted('"'), 1),
        (Inside::Code, 'r') if rust && !before.is_some_and(is_word) => raw_string(rest),
        (Inside::Code, '\'') if !rust => (Inside::Quoted('\''), 1),
        // a lifetime has no quote behind its first letter
        (Inside::Code, '\'') if second == Some('\\') || rest.get(2) == Some(&'\'') => {
            (Inside::Quoted('\''), 1)
        }
        (Inside::LineComment, '\n') => (Inside::Code, 1),
        (Inside::BlockComment(depth), '*') if second == Some('/') => {
            (if depth == 1 { Inside::Code } else { Inside::BlockComment(depth - 1) }, 2)
        }
        (Inside::BlockComment(depth), '/') if rust && second == Some('*') => {
            (Inside::BlockComment(depth + 1), 2)
        }
        (Inside::Quoted(_), '\\') => (inside, rest.len().min(2)),
        (Inside::Quoted(quote), c) if c == quote => (Inside::Code, 1),
        (Inside::Raw(hashes), '"')
            if rest.iter().skip(1).take(hashes).filter(|c| **c == '#').count() == hashes =>
        {
            (Inside::Code, 1 + hashes)
        }
        _ => (inside, 1),
    }
}

/// The state at an `r`: the start of a raw string, or a letter.
fn raw_string(rest: &[char]) -> (Inside, usize) {
    let hashes = rest.iter().skip(1).take_while(|c| **c == '#').count();
    if rest.get(1 + hashes) == Some(&'"') { (Inside::Raw(hashes), 2 + hashes) } else { (Inside::Code, 1) }
}

/// Whether a character can be a part of an identifier.
pub(crate) fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_literals_are_blank_and_code_stays_in_its_column() {
        let text =
            "let a = \"{ // \\\" }\"; // {\nlet 'b: &'a str = r#\"}\"# /* { /* */ } */; '{' + '\\''\n}";
        let masked = mask(text, true);
        assert_eq!(masked.code.chars().count(), text.chars().count());
        assert_eq!(masked.code.matches(['{', '}']).collect::<String>(), "}");
        assert!(masked.code.contains("let 'b: &'a str ="));
        assert_eq!(masked.commented, [true, true, false]);
    }

    #[test]
    fn a_comment_of_c_does_not_nest() {
        assert_eq!(mask("/* /* */ x '\"' y", false).code.split_whitespace().collect::<Vec<_>>(), ["x", "y"]);
    }
}
