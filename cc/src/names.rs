//! Suggests the known name nearest to a misspelt one.

/// Least Jaro-Winkler similarity of a suggestion, from 0 to 1. Lower values suggest unrelated short names.
const LEAST_SIMILARITY: f64 = 0.75;

/// Longest text that may be a misspelt name, bytes: about twice the longest path of a key. The comparison
/// takes time in proportion to it, for each name.
const LONGEST_MISSPELT: usize = 100;

/// Returns the known name with the spelling most similar to `written`, if one is similar enough. Case does
/// not matter.
#[must_use]
pub fn nearest<'a>(written: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if written.len() > LONGEST_MISSPELT {
        return None;
    }
    let written = written.to_lowercase();
    known
        .into_iter()
        .map(|name| (strsim::jaro_winkler(&written, &name.to_lowercase()), name))
        .filter(|(similarity, _)| *similarity > LEAST_SIMILARITY)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typing_error_finds_the_name_and_an_unrelated_word_does_not() {
        let known = ["bbr1", "bbq", "cubic", "reno"];
        assert_eq!(nearest("cubik", known), Some("cubic"));
        assert_eq!(nearest("RENO", known), Some("reno"));
        assert_eq!(nearest("vegas", known), None);
        assert_eq!(nearest(&format!("cubi{}", "c".repeat(1_000_000)), known), None);
    }
}
