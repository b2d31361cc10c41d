//! crates/python/python/fairpace/_keys.py: every scenario key as a typed field of a Python class.

use std::fmt::Write as _;

use fairpace_cli_core::wrap::wrapped;
use fairpace_scenario::keys::{self, DefaultValue, Key, Kind, Section};
use fairpace_scenario::quantity::Dimension;

/// Columns of the file.
const WIDTH: usize = 120;
/// Title of a scenario whose program gives none.
const UNTITLED: &str = "untitled";

const BEGIN: &str = r#""""Every key of a scenario, typed. ``make docs`` writes this file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from ._units import (
    AlgorithmName, Buffer, FilePath, Frequency, Limit, Parameters, Rate, Share, Size, Steps, Time
)

__all__ = ["Flow", "Link", "ScenarioKeys", "Window"]
"#;

const INIT: &str = r#"
class ScenarioKeys:
    """The keys of a scenario."""

    __slots__ = ()

    def __init__(
        self,
        *,
        links: Sequence[Link],
        flows: Sequence[Flow],
        window: Window | None = None,
"#;

const MAKE: &str = "    def _make(
        self, top: Mapping[str, object], window: Window | None, links: Sequence[Link], flows: Sequence[Flow]
    ) -> None:
        raise NotImplementedError
";

pub(super) fn page() -> String {
    let mut page = String::from(BEGIN);
    class(&mut page, Section::Window, "Window", "The measurement window: metrics cover it.");
    class(&mut page, Section::Link, "Link", "A link: a transmitter of a rate behind a queue.");
    class(&mut page, Section::Flow, "Flow", "A flow: a connection, or with ``count`` or ``arrivals`` many.");
    scenario(&mut page);
    kinds(&mut page);
    page
}

fn of(section: Section) -> impl Iterator<Item = &'static Key> {
    keys::all().filter(move |key| key.section == section)
}

fn class(page: &mut String, section: Section, name: &str, what: &str) {
    let _ = write!(page, "\n\n@dataclass(frozen=True, kw_only=True, slots=True)\nclass {name}:\n");
    let _ = write!(page, "    \"\"\"{what}\n\n");
    of(section).for_each(|key| parameter(page, "    ", key));
    page.push_str("    \"\"\"\n\n");
    for key in of(section) {
        let _ = writeln!(page, "    {}", field(key));
    }
}

fn scenario(page: &mut String) {
    page.push('\n');
    page.push_str(INIT);
    for key in of(Section::Top) {
        let _ = writeln!(page, "        {},", field(key));
    }
    page.push_str(
        "    ) -> None:\n        \"\"\"\n        :param links: in the order of the path.\n        \
         :param flows: at least one.\n        :param window: what metrics cover.\n",
    );
    of(Section::Top).for_each(|key| parameter(page, "        ", key));
    page.push_str("        :raises UsageError: something is wrong; all of it is in ``problems``.\n");
    page.push_str("        :raises TypeError: a value has a type that no key has.\n        \"\"\"\n");
    let top: Vec<String> = of(Section::Top).map(|key| format!("\"{0}\": {0}", identifier(key))).collect();
    let _ = writeln!(page, "        top = {{{}}}", top.join(", "));
    let _ = write!(page, "        self._make(top, window, links, flows)\n\n{MAKE}");
}

/// Writes the kind of each key that has a unit, by which Python writes quantities in other notations.
fn kinds(page: &mut String) {
    page.push_str("\n\nKINDS: dict[str, str] = {\n");
    for key in keys::all() {
        if let Kind::Quantity(dimension) | Kind::Steps(dimension) = key.kind {
            let path = match key.section.name() {
                "" => key.name.to_owned(),
                section => format!("{section}.{}", key.name),
            };
            let _ = writeln!(page, "    \"{path}\": \"{}\",", alias(dimension));
        } else if matches!(key.kind, Kind::Buffer | Kind::Limit | Kind::BurstLength) {
            let kind = if key.kind == Kind::BurstLength { "Time" } else { "Size" };
            let _ = writeln!(page, "    \"{}.{}\": \"{kind}\",", key.section.name(), key.name);
        }
    }
    page.push_str("}\n\"\"\"What the numbers of a key measure.\"\"\"\n");
}

/// Name of a key in Python, where `from` is a reserved word.
fn identifier(key: &Key) -> &str {
    if key.name == "from" { "from_" } else { key.name }
}

fn field(key: &Key) -> String {
    let (name, kind) = (identifier(key), kind(key.kind));
    match (key.section, key.name) {
        (Section::Top, "title") => format!("{name}: {kind} = \"{UNTITLED}\""),
        _ if key.is_required() => format!("{name}: {kind}"),
        _ => format!("{name}: {kind} | None = None"),
    }
}

fn kind(kind: Kind) -> String {
    match kind {
        Kind::Text => "str".into(),
        Kind::Algorithm => "AlgorithmName".into(),
        Kind::Integer => "int".into(),
        Kind::BurstLength => "int | Time".into(),
        Kind::Quantity(dimension) => alias(dimension).into(),
        Kind::Steps(_) => "Steps".into(),
        Kind::Buffer => "Buffer".into(),
        Kind::Limit => "Limit".into(),
        Kind::Bool => "bool".into(),
        Kind::Links | Kind::Drops => "Sequence[str]".into(),
        Kind::Trace | Kind::TimeTable(_) | Kind::Sizes => "FilePath".into(),
        Kind::Choice(words) => format!("Literal[\"{}\"]", words.join("\", \"")),
        Kind::Parameters => "Parameters".into(),
    }
}

const fn alias(dimension: Dimension) -> &'static str {
    match dimension {
        Dimension::Time => "Time",
        Dimension::Rate => "Rate",
        Dimension::Size => "Size",
        Dimension::Share => "Share",
        Dimension::Frequency => "Frequency",
    }
}

/// Writes the description of a parameter, `:param rate: ...`, with meaning, kind, range and default.
fn parameter(page: &mut String, indent: &str, key: &Key) {
    let range = if key.kind == Kind::Bool { String::new() } else { key.bounds() };
    let range = if range.is_empty() { range } else { format!("; {range}") };
    let default = match (key.default, key.name) {
        (_, "title") => format!("By default {UNTITLED}."),
        (DefaultValue::None, _) if key.is_required() => "Must be given.".into(),
        (DefaultValue::None, _) => "Must be given, unless another key takes its place.".into(),
        _ => format!("Default: {}.", key.default_text()),
    };
    let text = format!("{} ({}{range}.) {default}", key.whole_meaning(), key.kind_text());
    let text = plain(&text).replace('`', "``");
    let text =
        wrapped(&format!(":param {}: {text}", identifier(key)), WIDTH - indent.len(), "    ", |_| true);
    text.lines().for_each(|line| page.push_str(&format!("{indent}{line}\n")));
}

/// Markdown without links; their texts remain.
fn plain(markdown: &str) -> String {
    let mut text = String::new();
    let mut rest = markdown;
    while let Some((before, after)) = rest.split_once("](") {
        text.push_str(&before.replacen('[', "", 1));
        rest = after.split_once(')').map_or("", |(_, after)| after);
    }
    text + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_a_field_with_its_type_range_and_default() {
        let page = page();
        for text in [
            "    rate: Rate | None = None\n",
            "    cc: AlgorithmName\n",
            "    from_: Time | None = None\n",
            "    \"flow.rtt\": \"Time\",\n",
            "    :param buffer: How much the queue holds",
            "(whole number; 1 to 1000.) Default: 10.",
        ] {
            assert!(page.contains(text), "{text}");
        }
        let longest =
            page.lines().filter(|line| line.contains(":param")).map(|line| line.chars().count()).max();
        assert!(longest.is_some_and(|columns| columns <= WIDTH), "{longest:?}");
        assert_eq!(keys::all().count(), page.matches(":param").count() - 3, "and links, flows, window");
    }
}
