//! Text in lines of limited width, for pages and for help.

/// Breaks a paragraph or an item of a list at spaces into lines of at most this number of columns. Each line
/// after the first one begins with `indent`, and with a word that `may_begin` a line.
#[must_use]
pub fn wrapped(text: &str, columns: usize, indent: &str, may_begin: impl Fn(&str) -> bool) -> String {
    let (mut lines, mut width) = (String::new(), 0);
    let mut words = text.split_whitespace().peekable();
    while let Some(word) = words.next() {
        let mut word = word.to_owned();
        while let Some(next) = words.next_if(|next| !may_begin(next)) {
            word += &format!(" {next}");
        }
        let letters = word.chars().count();
        if width > 0 && width + 1 + letters > columns {
            lines += &format!("\n{indent}");
            width = indent.len();
        } else if width > 0 {
            lines.push(' ');
            width += 1;
        }
        lines.push_str(&word);
        width += letters;
    }
    lines
}
