//! Whether docs/reference/json.md describes what `--json` prints.

use std::collections::BTreeSet;
use std::fs;

use serde_json::Value;

/// Objects whose keys are names of other things, which no page lists.
const MAPS: [&str; 3] = ["arguments", "values", "curves"];

/// Keys of a record that the page does not name for this command: in its row of the table of commands, or in
/// a section to which the row leads.
///
/// # Panics
/// The page cannot be read, or has no row for the command.
pub(crate) fn undocumented_keys(command: &str, record: &Value) -> BTreeSet<String> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/json.md");
    let page = fs::read_to_string(path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let begin = format!("| `fairpace-dev {command}` |");
    let row = page.lines().find(|line| line.starts_with(&begin));
    let row = row.unwrap_or_else(|| panic!("json.md has no row {begin}"));
    let linked = row.match_indices("](#").filter_map(|(at, mark)| row[at + mark.len()..].split(')').next());
    let texts: Vec<&str> = linked.map(|anchor| section(&page, anchor)).chain([row]).collect();
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let spans = texts.iter().flat_map(|text| text.split('`').skip(1).step_by(2));
    let named: BTreeSet<&str> = spans.flat_map(|span| span.split(|c| !is_word(c))).collect();
    let mut keys = BTreeSet::new();
    collect_keys(record, &mut keys);
    keys.into_iter().filter(|key| !named.contains(key.as_str())).collect()
}

/// The section whose heading has this anchor, up to the next heading of its level.
fn section<'p>(page: &'p str, anchor: &str) -> &'p str {
    let is_it = |text: &&str| {
        let heading = text.lines().next().unwrap_or_default();
        heading.to_lowercase().replace(' ', "-") == anchor
    };
    page.split("\n## ").find(is_it).unwrap_or_default()
}

fn collect_keys(value: &Value, keys: &mut BTreeSet<String>) {
    match value {
        Value::Array(values) => values.iter().for_each(|value| collect_keys(value, keys)),
        Value::Object(members) => {
            for (key, value) in members {
                keys.insert(key.clone());
                if !(value.is_object() && MAPS.contains(&key.as_str())) {
                    collect_keys(value, keys);
                }
            }
        }
        _ => {}
    }
}

/// Asserts that the page describes this record.
pub(crate) fn assert_documented<R: serde::Serialize>(command: &str, record: &R) {
    let record = serde_json::to_value(record).expect("it is JSON");
    assert_eq!(undocumented_keys(command, &record), BTreeSet::new(), "{command}");
}
