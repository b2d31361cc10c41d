//! Text of a user's in a form that is safe to show: a file name, a key or a comment can hold characters that
//! a terminal obeys.

use std::borrow::Cow;

/// Returns whether `c` is a character that controls a terminal, or reorders or hides the characters around
/// it.
///
/// Control characters of both sets (ESC, and CSI as one character), the marks, embeddings, overrides and
/// isolates of Unicode's bidirectional algorithm (UAX 9), the line and paragraph separators, and characters
/// without a width that are not part of any word. Joiners (U+200C, U+200D) are parts of words.
fn is_unsafe(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}')
        || matches!(c, '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}')
        || matches!(c, '\u{e0000}'..='\u{e007f}')
}

/// Returns the character as TOML and JSON escape it.
pub(crate) fn escape(c: char) -> String {
    let code = u32::from(c);
    if code > 0xffff { format!("\\U{code:08x}") } else { format!("\\u{code:04x}") }
}

/// Returns whether the character must be escaped in a text of several lines.
pub(crate) fn is_hidden(c: char) -> bool {
    is_unsafe(c) && !matches!(c, '\n' | '\t')
}

/// Returns the text with control characters, escape sequences and reordering marks written as `\u001b`. Line
/// breaks and tabs stay.
#[must_use]
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_hidden(c) { shown.push_str(&escape(c)) } else { shown.push(c) }
    }
    Cow::Owned(shown)
}

/// Returns the text, or its begin and its end if it has more than `most` characters.
#[must_use]
pub fn clipped(text: &str, most: usize) -> Cow<'_, str> {
    // no text of this length has more characters
    if text.len() <= most || text.chars().nth(most).is_none() {
        return Cow::Borrowed(text);
    }
    let (head, tail) = (most * 2 / 3, most / 3);
    let from_end = text.char_indices().rev().nth(tail.saturating_sub(1)).map_or(text.len(), |(at, _)| at);
    let head: String = text.chars().take(head).collect();
    Cow::Owned(format!("{head}...{}", &text[from_end..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_obeys_is_escaped_and_the_rest_stays() {
        assert_eq!(visible("\u{1b}]0;pwned\u{7}"), "\\u001b]0;pwned\\u0007");
        assert_eq!(
            visible("a\u{202e}b\u{9b}31m\u{2066}\u{e0041}\r"),
            "a\\u202eb\\u009b31m\\u2066\\U000e0041\\u000d"
        );
        for plain in ["", "a\n\tb", "\u{e9}\u{4e2d}\u{1f469}\u{200d}\u{1f680}", "\u{5d0}\u{5d1}"] {
            assert_eq!(visible(plain), plain);
        }
    }

    #[test]
    fn a_long_text_keeps_its_begin_and_its_end() {
        assert_eq!(clipped("abcdefghi", 9), "abcdefghi");
        assert_eq!(clipped("abcdefghijkl", 9), "abcdef...jkl");
        assert_eq!(clipped("\u{e9}\u{e9}\u{e9}\u{e9}", 3), "\u{e9}\u{e9}...\u{e9}");
    }
}
