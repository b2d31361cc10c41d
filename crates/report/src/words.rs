//! The words of a report that need an explanation. Each is a button where it stands, which shows the meaning:
//! the browser opens it by mouse, touch and keyboard, closes it with Escape, and needs no script for it.

use maud::{Markup, html};

/// A word with its meaning, as in docs/glossary.md.
struct Word {
    /// Name of the explanation in the page.
    key: &'static str,
    /// The forms of the word. A form that begins with another one is before it.
    forms: &'static [&'static str],
    meaning: &'static str,
}

const fn word(key: &'static str, forms: &'static [&'static str], meaning: &'static str) -> Word {
    Word { key, forms, meaning }
}

const WORDS: [Word; 19] = [
    word(
        "goodput",
        &["Goodput", "goodput"],
        "payload per second that reached the receiving application in order.",
    ),
    word(
        "jain",
        &["Jain's index", "Jain"],
        "how equal the goodputs are: the square of their sum, over their number times the sum of their \
         squares. It is 1 if all flows have the same goodput, and 1/n if one of n flows has all of it.",
    ),
    word("share", &["Share"], "the flow's goodput as a part of the sum of all flows' goodputs."),
    word("utilization", &["Utilization"], "what the link transmitted, as a part of what it could transmit."),
    word(
        "queue-delay",
        &["Queueing delay", "queueing delay"],
        "time that a packet waits in the queue of a link, without its own transmission.",
    ),
    word("backlog", &["Backlog"], "what waits in the queue of a link."),
    word("drops", &["Drops"], "packets that the queue of a link refused or discarded."),
    word(
        "marks",
        &["Marks"],
        "packets in whose header a queue signalled congestion, in place of a drop (ECN).",
    ),
    word("p50", &["p50"], "half of the values are at most this one: the median."),
    word("p95", &["p95"], "95 of 100 values are at most this one."),
    word("p99", &["p99"], "99 of 100 values are at most this one: what the slowest packets meet."),
    word("base-rtt", &["Base RTT"], "the round trip without queueing and transmission."),
    word(
        "rtt",
        &["Round-trip time", "RTT"],
        "time from the sending of a packet to the arrival of its acknowledgment: propagation, queueing and \
         transmission.",
    ),
    word(
        "min-rtt",
        &["min_rtt"],
        "the least round-trip time that an algorithm remembers, as its estimate of the base RTT.",
    ),
    word("cwnd", &["Congestion window", "cwnd"], "how much a sender may have in flight."),
    word("inflight", &["inflight"], "packets that are sent, and neither acknowledged nor taken for lost."),
    word("pacing-rate", &["pacing rate"], "the rate at which a sender spaces its packets."),
    word(
        "pacing-gain",
        &["Pacing gain"],
        "the factor on the estimated bandwidth that gives the pacing rate: above 1 the algorithm probes for \
         more, below 1 it drains the queue.",
    ),
    word(
        "window",
        &["measurement window"],
        "the time from which the means and percentiles are. It leaves out the start.",
    ),
];

/// A text in which each known word is a button that explains it.
pub(crate) fn explained(text: &str) -> Markup {
    let mut parts: Vec<(&str, Option<&Word>)> = Vec::new();
    let (mut from, mut at) = (0, 0);
    while at < text.len() {
        match at_begin(text, at) {
            Some((word, length)) => {
                parts.extend([(&text[from..at], None), (&text[at..at + length], Some(word))]);
                at += length;
                from = at;
            }
            None => at += text[at..].chars().next().map_or(1, char::len_utf8),
        }
    }
    parts.push((&text[from..], None));
    html! {
        @for (part, word) in parts {
            @match word {
                Some(word) => button.term type="button" popovertarget={ "word-" (word.key) } { (part) },
                None => (part),
            }
        }
    }
}

/// The known word that begins at a place of a text, and its length in bytes.
fn at_begin(text: &str, at: usize) -> Option<(&'static Word, usize)> {
    let is_letter = |c: char| c.is_alphanumeric() || c == '_';
    if text[..at].ends_with(is_letter) {
        return None;
    }
    let rest = &text[at..];
    let forms = WORDS.iter().flat_map(|word| word.forms.iter().map(move |form| (word, form)));
    let mut matching = forms
        .filter(|(_, form)| rest.strip_prefix(**form).is_some_and(|after| !after.starts_with(is_letter)));
    matching.next().map(|(word, form)| (word, form.len()))
}

/// The meanings of all words, hidden until a button shows one.
pub(crate) fn meanings() -> Markup {
    html! {
        @for Word { key, forms, meaning } in &WORDS {
            p.meaning id={ "word-" (key) } popover { b { (forms[0]) } ": " (meaning) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_words_become_buttons_and_no_letter_is_lost() {
        let texts = [
            ("Jain 0.59 · mean queueing delay 36.4 ms", &["jain", "queue-delay"][..]),
            ("Jain's index", &["jain"]),
            ("bold: path; thin: the algorithm's min_rtt", &["min-rtt"]),
            ("p99", &["p99"]),
            ("p999, xp99, cwnd_x, <Ärger>", &[]),
            ("", &[]),
        ];
        for (text, keys) in texts {
            let markup = explained(text).into_string();
            let fragment = scraper::Html::parse_fragment(&markup);
            assert_eq!(fragment.root_element().text().collect::<String>(), text);
            let selector = scraper::Selector::parse("button").unwrap();
            let found: Vec<&str> =
                fragment.select(&selector).filter_map(|of| of.value().attr("popovertarget")).collect();
            assert_eq!(found, keys.iter().map(|key| format!("word-{key}")).collect::<Vec<_>>(), "{markup}");
        }
    }

    #[test]
    fn the_longest_form_of_a_word_is_the_one_that_is_found() {
        let forms: Vec<&str> = WORDS.iter().flat_map(|word| word.forms).copied().collect();
        for (index, form) in forms.iter().enumerate() {
            assert_eq!(at_begin(form, 0).map(|(_, length)| length), Some(form.len()), "{form}");
            assert!(!forms[..index].contains(form), "{form} is there twice");
        }
    }
}
