//! Check of words that the glossary forbids, in names, comments and prose.

use crate::tree::{File, Violation};

const CHECK: &str = "word";
/// Path of the page with the list, which is between two marks.
pub(crate) const GLOSSARY: &str = "docs/glossary.md";

/// Least number of entries of the list; with fewer entries its marks were not found.
const LEAST_ENTRIES: usize = 10;

/// A word or phrase not to use.
pub(crate) struct Forbidden {
    words: Vec<String>,
    instead: String,
}

/// The list: lines such as `- resent: retransmitted` between the marks.
pub(crate) fn forbidden(glossary: &str) -> Vec<Forbidden> {
    let list = glossary.split_once("<!-- forbidden -->").map_or("", |(_, rest)| rest);
    let list = list.split("<!-- /forbidden -->").next().unwrap_or_default();
    let entry = |line: &str| {
        let (phrase, instead) = line.strip_prefix("- ")?.split_once(": ")?;
        let words = phrase.split_whitespace().map(str::to_lowercase).collect();
        Some(Forbidden { words, instead: instead.into() })
    };
    list.lines().filter_map(entry).collect()
}

/// Finds a glossary whose list cannot be read: without the list every word would pass.
pub(crate) fn check_list(files: &[File], forbidden: &[Forbidden], found: &mut Vec<Violation>) {
    for glossary in files.iter().filter(|file| file.path == GLOSSARY && forbidden.len() < LEAST_ENTRIES) {
        let what = format!("{} entries between <!-- forbidden --> and <!-- /forbidden -->", forbidden.len());
        found.push(Violation::new(CHECK, glossary, 1, format!("{what}, at least {LEAST_ENTRIES}")));
    }
}

/// A word of the text, in lower case.
struct Word {
    text: String,
    line: usize,
    /// Whether only white space, comment marks or an underscore are between the word and the word before.
    follows: bool,
}

/// Finds forbidden words as whole words, also in the plural; identifiers are split at underscores and
/// capitals.
pub(crate) fn check(file: &File, forbidden: &[Forbidden], found: &mut Vec<Violation>) {
    let prose = file.is_rust() || file.is_c() || file.is_markdown();
    if !(prose || matches!(file.extension(), "sh" | "toml" | "yml") || file.path.ends_with("Makefile")) {
        return;
    }
    let words = words(&file.text);
    for at in 0..words.len() {
        for entry in forbidden.iter().filter(|entry| is_at(&words[at..], entry)) {
            let what = format!("\"{}\"; the glossary says: {}", entry.words.join(" "), entry.instead);
            found.push(Violation::new(CHECK, file, words[at].line, what));
        }
    }
}

/// Whether the phrase stands at the beginning of these words.
fn is_at(words: &[Word], entry: &Forbidden) -> bool {
    if words.len() < entry.words.len() {
        return false;
    }
    let is = |word: &str, wanted: &str| word == wanted || word.strip_suffix('s') == Some(wanted);
    let each = words.iter().zip(&entry.words).enumerate();
    each.into_iter().all(|(i, (word, wanted))| is(&word.text, wanted) && (i == 0 || word.follows))
}

fn words(text: &str) -> Vec<Word> {
    let mut words: Vec<Word> = Vec::new();
    let (mut line, mut before, mut follows) = (1, ' ', true);
    for c in text.chars() {
        if c.is_alphabetic() {
            let hump = c.is_uppercase() && before.is_lowercase();
            if hump || !before.is_alphabetic() {
                words.push(Word { text: String::new(), line, follows });
                follows = true;
            }
            words.last_mut().expect("one was begun").text.extend(c.to_lowercase());
        } else {
            follows &= c.is_whitespace() || "_/!*#".contains(c);
            line += usize::from(c == '\n');
        }
        before = c;
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, text: &str) -> Vec<usize> {
        let list = "<!-- forbidden -->\n- gadget: part\n- is told: gets\n<!-- /forbidden -->";
        let list = format!("- before: x\n{list}\n- after: x");
        let mut found = Vec::new();
        check(&File::new(path, text), &forbidden(&list), &mut found);
        found.iter().map(|violation| violation.line).collect()
    }

    #[test]
    fn a_forbidden_word_is_found_in_prose_and_in_names() {
        let text =
            "// a Gadget\nlet big_gadget = 1;\nstruct BigGadget;\n// gadgets\nfn is_told() {}\n// after";
        assert_eq!(lines("a.rs", text), [1, 2, 3, 4, 5]);
        assert_eq!(lines("a.rs", "/// what it is\n/// told"), [1], "a phrase that goes on in the next line");
    }

    #[test]
    fn a_glossary_without_its_list_is_found() {
        let of = |text: &str| {
            let mut found = Vec::new();
            check_list(&[File::new(GLOSSARY, text)], &forbidden(text), &mut found);
            found.len()
        };
        let list = "- gadget: part\n".repeat(LEAST_ENTRIES);
        assert_eq!(of(&format!("<!-- forbidden -->\n{list}<!-- /forbidden -->")), 0);
        assert_eq!(of(&format!("<!-- prohibited -->\n{list}<!-- /prohibited -->")), 1);
    }

    #[test]
    fn parts_of_words_and_words_apart_are_not_meant() {
        assert_eq!(lines("a.rs", "// gadgetry\n// it is, told\n// this told\n// is not told"), [0; 0]);
        assert_eq!(lines("a.svg", "gadget"), [0; 0]);
    }
}
