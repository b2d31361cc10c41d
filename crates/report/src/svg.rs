//! Reduction of pictures: the rules of the style sheets that a picture needs, and short forms of its elements
//! and numbers. A picture is a file of its own and carries its style; with all rules a small picture would be
//! mostly style.
//!
//! The style sheets are those of this crate: rules for elements and classes, `@media`, no strings with
//! braces. A program that shortens any CSS and SVG would be a larger dependency than all others of this
//! crate.

use std::collections::HashSet;

use maud::{Markup, PreEscaped};

pub use crate::letters::{bold_width, width};

/// A rule of a style sheet, or a group of rules under a condition.
enum Rule<'s> {
    /// A rule: its selectors, and the names and values of its declarations.
    Plain(Vec<&'s str>, Vec<(&'s str, &'s str)>),
    /// A group of rules under `@media`, with its condition.
    When(&'s str, Vec<Rule<'s>>),
}

/// Text of a coordinate with at most one decimal, so that the bytes are the same on all machines.
#[must_use]
pub fn number(x: f64) -> PreEscaped<String> {
    let text = format!("{x:.1}");
    let short = text.strip_suffix(".0").unwrap_or(&text);
    PreEscaped(if short == "-0" { "0" } else { short }.to_owned())
}

/// The text of a file with this SVG element.
#[must_use]
pub fn file(picture: Markup) -> String {
    let text = picture.into_string();
    let short =
        ["path", "rect", "use"].iter().fold(text, |text, name| text.replace(&format!("></{name}>"), "/>"));
    format!("{}\n", crate::printable(short))
}

/// The rules of `sheets` that apply to an element of `drawing`, with the variables that these rules use,
/// without comments and spaces. Within the drawing `<` and `>` are only at the ends of tags.
pub(crate) fn style(sheets: &[&str], drawing: &str) -> PreEscaped<String> {
    let sheets: Vec<String> = sheets.iter().map(|sheet| without_comments(sheet)).collect();
    let mut rules: Vec<Rule<'_>> = sheets.iter().flat_map(|sheet| rules(sheet)).collect();
    let elements: HashSet<(&str, Vec<&str>)> = drawing.split('<').skip(1).map(element).collect();
    visit(&mut rules, &mut |selectors, declarations| {
        selectors.retain(|selector| elements.iter().any(|element| is_of(selector, element)));
        if selectors.is_empty() {
            declarations.clear();
        }
    });
    let mut needed = HashSet::new();
    loop {
        let before = needed.len();
        visit(&mut rules, &mut |_, declarations| {
            let used =
                declarations.iter().filter(|(name, _)| !name.starts_with("--") || needed.contains(name));
            let of_used: Vec<&str> = used.flat_map(|(_, value)| variables(value)).collect();
            needed.extend(of_used);
        });
        if needed.len() == before {
            break;
        }
    }
    visit(&mut rules, &mut |_, declarations| {
        declarations.retain(|(name, _)| !name.starts_with("--") || needed.contains(name));
    });
    PreEscaped(rules.iter().map(text).collect())
}

fn without_comments(sheet: &str) -> String {
    let mut parts = sheet.split("/*");
    let first = parts.next().unwrap_or_default();
    let rest = parts.map(|part| part.split_once("*/").map_or("", |(_, after)| after));
    std::iter::once(first).chain(rest).collect()
}

fn rules(mut sheet: &str) -> Vec<Rule<'_>> {
    let mut rules = Vec::new();
    while let Some((head, rest)) = sheet.split_once('{') {
        let mut depth = 1;
        let end = rest.find(|c| {
            depth += i32::from(c == '{') - i32::from(c == '}');
            depth == 0
        });
        let (body, after) = rest.split_at(end.unwrap_or(rest.len()));
        sheet = after.strip_prefix('}').unwrap_or(after);
        let head = head.trim();
        rules.push(match head.starts_with('@') {
            true => Rule::When(head, self::rules(body)),
            false => Rule::Plain(head.split(',').map(str::trim).collect(), declarations(body)),
        });
    }
    rules
}

fn declarations(body: &str) -> Vec<(&str, &str)> {
    let pairs = body.split(';').filter_map(|declaration| declaration.split_once(':'));
    pairs.map(|(name, value)| (name.trim(), value.trim())).collect()
}

/// Name and classes of an element, from its tag on.
fn element(from_tag: &str) -> (&str, Vec<&str>) {
    let tag = from_tag.split('>').next().unwrap_or_default();
    let (name, attributes) = tag.split_once(' ').unwrap_or((tag, ""));
    let classes = attributes.split("class=\"").nth(1).and_then(|rest| rest.split('"').next());
    (name, classes.map_or_else(Vec::new, |classes| classes.split(' ').collect()))
}

/// Whether a selector such as `path`, `.line.fine` or `:root` matches an element.
fn is_of(selector: &str, (name, classes): &(&str, Vec<&str>)) -> bool {
    let mut parts = selector.split('.');
    let of_name = parts.next().unwrap_or_default();
    (["", ":root", name].contains(&of_name)) && parts.all(|class| classes.contains(&class))
}

/// The names of the variables in a value.
fn variables(value: &str) -> impl Iterator<Item = &str> {
    value.split("var(").skip(1).map(|part| part.split([',', ')']).next().unwrap_or_default())
}

/// A function that changes the selectors and declarations of a rule.
type Change<'c, 's> = dyn FnMut(&mut Vec<&'s str>, &mut Vec<(&'s str, &'s str)>) + 'c;

fn visit<'s>(rules: &mut [Rule<'s>], change: &mut Change<'_, 's>) {
    for rule in rules {
        match rule {
            Rule::Plain(selectors, declarations) => change(selectors, declarations),
            Rule::When(_, inner) => visit(inner, change),
        }
    }
}

/// The rule as CSS; empty if it has no declarations.
fn text(rule: &Rule<'_>) -> String {
    let (head, body) = match rule {
        Rule::Plain(selectors, declarations) => {
            let set = declarations.iter().map(|(name, value)| format!("{name}:{value}"));
            (selectors.join(","), set.collect::<Vec<_>>().join(";"))
        }
        Rule::When(condition, inner) => ((*condition).to_owned(), inner.iter().map(text).collect()),
    };
    if body.is_empty() { String::new() } else { format!("{head}{{{body}}}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHEET: &str = "/* All. { */ :root { --ink: #000; --paper: #fff; --flow: #00f; }\n\
        .c0 { --c: var(--flow); } .c1 { --c: var(--paper); }\n\
        path, .thin { fill: none; } .line { stroke: var(--c, var(--ink)); } .line.fine { stroke-width: 1; }\n\
        text { font: 12px Arial, sans-serif; }";
    const DARK: &str = "@media (prefers-color-scheme: dark) { :root { --ink: #fff; --paper: #000; } }";

    fn of(drawing: &str) -> String {
        style(&[SHEET, DARK], drawing).into_string()
    }

    #[test]
    fn a_picture_has_the_rules_of_its_elements_and_their_variables() {
        assert_eq!(
            of("<svg><path class=\"line c0\" d=\"M0,0\"/><g class=\"fine\"/></svg>"),
            ":root{--ink:#000;--flow:#00f}.c0{--c:var(--flow)}path{fill:none}\
             .line{stroke:var(--c, var(--ink))}@media (prefers-color-scheme: dark){:root{--ink:#fff}}"
        );
        assert_eq!(of("<svg><text>path .line</text></svg>"), "text{font:12px Arial, sans-serif}");
        assert_eq!(of("<svg></svg>"), "");
    }

    #[test]
    fn a_rule_for_two_classes_needs_both_at_one_element() {
        assert!(of("<a class=\"fine line\"></a>").contains(".line.fine{stroke-width:1}"));
        assert!(!of("<a class=\"fine\"></a><a class=\"line\"></a>").contains(".line.fine"));
    }

    #[test]
    fn numbers_have_a_decimal_only_where_it_says_something() {
        let texts = [1.0, -0.04, 2.55, -7.36].map(|x| number(x).into_string());
        assert_eq!(texts, ["1", "0", "2.5", "-7.4"]);
    }
}
