//! Escapes in JSON that a terminal shows.

use std::borrow::Cow;

use fairpace_scenario::visible;

/// Escapes JSON for a terminal. JSON permits control characters above 127 and marks that reorder text in
/// strings; this function writes them as escape sequences, which a parser reads as the same characters.
pub(crate) fn escape_json(json: String) -> String {
    let is_safe = |c: char| visible(c.encode_utf8(&mut [0; 4])).len() == c.len_utf8();
    if matches!(visible(&json), Cow::Borrowed(_)) {
        return json;
    }
    let mut escaped = String::with_capacity(json.len() + 16);
    for c in json.chars() {
        match is_safe(c) {
            true => escaped.push(c),
            // in JSON, a character beyond the basic plane is two of them
            false => c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| escaped += &format!("\\u{unit:04x}")),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escaped_json_is_the_same_json_without_what_a_terminal_obeys() {
        for text in ["plain \u{e9}", "\u{1b}[31m", "\u{9b}31m \u{202e}abc\u{2066}", "\u{e0041}\u{7f}"] {
            let json = escape_json(serde_json::to_string(text).expect("a text is JSON"));
            assert_eq!(visible(&json), json);
            assert_eq!(serde_json::from_str::<String>(&json).expect(&json), text);
        }
    }
}
