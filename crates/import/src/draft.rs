//! A scenario file under construction, with the source of each key.

use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use fairpace_scenario::quantity::{Dimension, show, show_time};
use fairpace_scenario::{Invalid, Target, parse, visible};

use crate::source::{Source, Warning};
use crate::{Imported, Options};

/// Length of a run of which the input says nothing: the default of `fairpace compare`.
const DURATION: Duration = Duration::from_secs(60);
/// RTT of a path of which nothing is known but its link: that of a local network.
pub(crate) const LOCAL_RTT: Duration = Duration::from_millis(1);
/// Most characters of a title.
const MOST_TITLE: usize = 150;

/// A key of the scenario.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    key: &'static str,
    /// The value in the syntax of TOML.
    value: String,
    /// The part of the input that the value comes from.
    from: String,
}

impl Entry {
    /// A key whose value is a text or a quantity.
    pub(crate) fn text(key: &'static str, value: impl Into<String>, from: impl Into<String>) -> Self {
        Self::plain(key, toml::Value::String(value.into()).to_string(), from)
    }

    /// A key whose value is written in the syntax of TOML.
    pub(crate) fn plain(key: &'static str, value: impl Into<String>, from: impl Into<String>) -> Self {
        Self { key, value: value.into(), from: from.into() }
    }

    /// A key whose value is a rate.
    pub(crate) fn rate(key: &'static str, bps: u64, from: impl Into<String>) -> Self {
        Self::text(key, show(bps, Dimension::Rate), from)
    }

    /// A key whose value is a time.
    pub(crate) fn time(key: &'static str, ns: u64, from: impl Into<String>) -> Self {
        Self::text(key, show(ns, Dimension::Time), from)
    }

    /// A key whose value is a share.
    pub(crate) fn share(key: &'static str, ppb: u64, from: impl Into<String>) -> Self {
        Self::text(key, percent(ppb), from)
    }

    fn line(&self) -> String {
        let comment = visible(&self.from).replace('\n', " ");
        let comment = if comment.is_empty() { comment } else { format!("  # {comment}") };
        format!("{} = {}{comment}\n", self.key, self.value)
    }
}

/// A share as a percentage with all its decimals: 1,000,000 ppb as "0.1%".
pub(crate) fn percent(ppb: u64) -> String {
    let text = format!("{}.{:07}", ppb / 10_000_000, ppb % 10_000_000);
    format!("{}%", text.trim_end_matches('0').trim_end_matches('.'))
}

/// A scenario with one flow.
pub(crate) struct Draft<'a> {
    pub(crate) source: Source<'a>,
    /// Name of the tool, as `fairpace import` has it.
    pub(crate) tool: &'static str,
    /// What the scenario assumes, as sentences.
    pub(crate) assumptions: Vec<String>,
    pub(crate) warnings: Vec<Warning>,
    /// Length of the run, if the input has one.
    pub(crate) duration: Option<(Duration, String)>,
    /// The links in path order. The first has the data.
    pub(crate) links: Vec<Vec<Entry>>,
    /// Keys of the flow besides `cc`.
    pub(crate) flow: Vec<Entry>,
}

impl Draft<'_> {
    /// Writes the scenario and checks it.
    ///
    /// # Errors
    /// Every problem of the scenario: a value that is out of the range of its key.
    pub(crate) fn finish(self, options: &Options) -> Result<Imported<String>, Invalid> {
        let text = self.text(options);
        let target = if options.cc.starts_with("kernel:") { Target::Testbed } else { Target::Simulator };
        // files that the scenario names are looked for in the folder of this file
        let path = options.folder.join(format!("the scenario from {}", file_name(self.source.name)));
        parse(&path.display().to_string(), &text, &[], target)?;
        Ok(Imported { made: text, warnings: self.warnings })
    }

    fn text(&self, options: &Options) -> String {
        let name = file_name(self.source.name);
        let mut text = format!("# Written by `fairpace import {}` from {}.\n", self.tool, comment(&name));
        text.extend(self.assumptions.iter().map(|line| wrapped(&comment(line))));
        text.extend(self.warnings.iter().map(|of| wrapped(&comment(&format!("warning: {of}")))));
        let (length, from) = match (options.duration, &self.duration) {
            (Some(length), _) => (length, "--duration".to_owned()),
            (None, Some((length, from))) => (*length, from.clone()),
            (None, None) => (DURATION, String::new()),
        };
        let title: String =
            visible(&format!("{name}, imported from {}", self.tool)).chars().take(MOST_TITLE).collect();
        text += &Entry::text("title", title, "").line();
        text += &Entry::text("duration", show_time(length), from).line();
        for link in &self.links {
            text += "\n[[link]]\n";
            text.extend(link.iter().map(Entry::line));
        }
        text += "\n[[flow]]\n";
        text += &Entry::text("cc", &options.cc, "").line();
        text.extend(self.flow.iter().map(Entry::line));
        text
    }
}

/// A text for a comment of one line.
fn comment(text: &str) -> String {
    visible(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Most characters of a line of comments.
const MOST_COLUMNS: usize = 110;

/// A comment in lines of at most [`MOST_COLUMNS`], unless a word is longer.
fn wrapped(text: &str) -> String {
    let mut lines = vec!["#".to_owned()];
    for word in text.split(' ') {
        let length = |line: &String| line.chars().count() + 1 + word.chars().count();
        match lines.last_mut() {
            Some(line) if length(line) <= MOST_COLUMNS => line.extend([" ", word]),
            _ => lines.push(format!("#   {word}")),
        }
    }
    lines.join("\n") + "\n"
}

/// The last part of a path.
fn file_name(name: &str) -> String {
    Path::new(name).file_name().map_or_else(|| name.to_owned(), |last| last.to_string_lossy().into_owned())
}

/// The path of a file that the working directory has as `path`, as seen from `folder`.
pub(crate) fn seen_from(path: &str, folder: &Path) -> String {
    let same = folder.as_os_str().is_empty() || folder == Path::new(".") || Path::new(path).is_absolute();
    let absolute = |path: &Path| std::path::absolute(path).ok();
    let (false, Some(to), Some(from)) = (same, absolute(Path::new(path)), absolute(folder)) else {
        return path.to_owned();
    };
    let [to, from]: [Vec<Component<'_>>; 2] = [to.components().collect(), from.components().collect()];
    let common = to.iter().zip(&from).take_while(|(a, b)| a == b).count();
    let up = from[common..].iter().map(|_| Component::ParentDir);
    up.chain(to[common..].iter().copied()).collect::<PathBuf>().display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_percentages_without_a_rounding() {
        let texts = [1_000_000, 10_000_000, 12_345_678, 1, 0, 1_000_000_000].map(percent);
        assert_eq!(texts, ["0.1%", "1%", "1.2345678%", "0.0000001%", "0%", "100%"]);
    }

    #[test]
    fn a_path_is_seen_from_the_folder_of_the_scenario() {
        assert_eq!(seen_from("up.trace", Path::new("")), "up.trace");
        assert_eq!(seen_from("/a/up.trace", Path::new("out")), "/a/up.trace");
        assert_eq!(seen_from("traces/up.trace", Path::new("out/deep")), "../../traces/up.trace");
        assert_eq!(seen_from("out/up.trace", Path::new("out")), "up.trace");
    }

    #[test]
    fn long_comments_are_wrapped() {
        let text = wrapped(&"word ".repeat(60));
        assert!(text.lines().all(|line| line.starts_with('#') && line.len() <= MOST_COLUMNS), "{text}");
    }
}
