//! A scenario as TOML, and its hash.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use fairpace_cc::Algorithm;
use sha2::{Digest, Sha256};

use crate::files::hex;
use crate::key::{DefaultValue, Key, Kind, Section};
use crate::quantity::Dimension;
use crate::value::Value;
use crate::{Cc, Flow, Link, Scenario, Sizes, Writes, keys};

impl Scenario {
    /// The scenario in its canonical form: every key, groups expanded, in one order and one spelling. Reading
    /// the text gives the same scenario.
    #[must_use]
    pub fn to_toml(&self) -> String {
        self.written(Files::ByName)
    }

    fn written(&self, files: Files) -> String {
        let mut text = String::new();
        let usual = Scenario::of_length(self.duration);
        for row in keys::of_scenario().filter(|row| !row.key().hashed) {
            write_key(&mut text, row.key(), row.get(self), row.get(&usual).as_ref(), files);
        }
        text.push_str(&self.experiment(files));
        text
    }

    /// The canonical form and the files that it names, for one folder: together they are the scenario. A
    /// header keeps its name; the names of other files follow from their contents.
    #[must_use]
    pub fn bundle(&self) -> Bundle {
        let mut renamed = self.clone();
        let mut files = BTreeMap::new();
        for trace in renamed.links.iter_mut().filter_map(|link| link.trace.as_mut()) {
            trace.file = format!("{}.trace", &trace.digest()[..12]);
            files.entry(trace.file.clone()).or_insert_with(|| trace.to_text());
        }
        for link in renamed.links.iter_mut().filter(|link| link.loss_at.is_file()) {
            let table = &mut link.loss_at;
            table.file = format!("{}.loss", &table.digest()[..12]);
            files.entry(table.file.clone()).or_insert_with(|| table.to_text(Dimension::Share));
        }
        for flow in &mut renamed.flows {
            let Writes::Scheduled(table) = &mut flow.traffic.writes else { continue };
            if table.is_file() {
                table.file = format!("{}.writes", &table.digest()[..12]);
                files.entry(table.file.clone()).or_insert_with(|| table.to_text(Dimension::Size));
            }
        }
        for sizes in renamed.flows.iter_mut().filter_map(|flow| Some(&mut flow.arrivals.as_mut()?.sizes)) {
            if Sizes::built_in(&sizes.name).is_none() {
                sizes.name = format!("{}.cdf", &sizes.digest()[..12]);
                files.entry(sizes.name.clone()).or_insert_with(|| sizes.to_text());
            }
        }
        for flow in &self.flows {
            files.extend(flow.cc.bundled().1);
        }
        Bundle { toml: renamed.written(Files::InBundle), files: files.into_iter().collect() }
    }

    /// The user's headers that flows name, each once: its path in the folder of the [`bundle`](Self::bundle),
    /// and its algorithm.
    pub fn headers(&self) -> impl Iterator<Item = (String, Algorithm)> {
        let of_flow = |flow: &Flow| match &flow.cc {
            Cc::Ours(ours) if ours.algorithm().digest().is_some() => {
                Some((Cc::split(&flow.cc.bundled().0).0.to_owned(), ours.algorithm()))
            }
            _ => None,
        };
        self.flows.iter().filter_map(of_flow).collect::<BTreeMap<_, _>>().into_iter()
    }

    /// SHA-256, in hex, of everything that decides the outcome except the seed. Title, why, comments, order
    /// of keys and spelling of units do not count; of a file that the scenario names, the content counts.
    /// With the program's commit and the seed, the hash identifies a simulation.
    #[must_use]
    pub fn canonical_hash(&self) -> String {
        hex(&Sha256::digest(self.experiment(Files::ByContent)))
    }

    /// The text of everything that decides the outcome, except the seed.
    fn experiment(&self, files: Files) -> String {
        let mut text = String::new();
        let rows_of = |section| keys::of_scenario().filter(move |row| row.key().section == section);
        let usual = Scenario::of_length(self.duration);
        for row in rows_of(Section::Top).filter(|row| row.key().hashed) {
            write_key(&mut text, row.key(), row.get(self), row.get(&usual).as_ref(), files);
        }
        text.push_str("\n[window]\n");
        for row in rows_of(Section::Window) {
            write_key(&mut text, row.key(), row.get(self), row.get(&usual).as_ref(), files);
        }
        let rows = keys::with_usual(keys::of_link(), &Link::new("", 0, 0));
        for link in &self.links {
            text.push_str("\n[[link]]\n");
            for (row, usual) in &rows {
                write_key(&mut text, row.key(), row.get(link), usual.as_ref(), files);
            }
        }
        let rows = keys::with_usual(keys::of_flow(), &Flow::any());
        for flow in &self.flows {
            text.push_str("\n[[flow]]\n");
            // the name of a variant has its parameters
            let is_in_name = |key: &Key| {
                key.kind == Kind::Parameters && flow.cc.is_variant() && !matches!(files, Files::ByContent)
            };
            for (row, usual) in rows.iter().filter(|(row, _)| !is_in_name(row.key())) {
                write_key(&mut text, row.key(), row.get(flow), usual.as_ref(), files);
            }
        }
        text
    }
}

/// A scenario with all files that it needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bundle {
    /// The scenario file.
    pub toml: String,
    /// Name and text of each file that the scenario names, in order of the names.
    pub files: Vec<(String, String)>,
}

/// Returns the SHA-256, in hex, over the hashes of several scenarios in this order.
#[must_use]
pub fn hash_of_all<'a>(scenarios: impl IntoIterator<Item = &'a Scenario>) -> String {
    let mut sum = Sha256::new();
    scenarios.into_iter().for_each(|scenario| sum.update(&scenario.hash));
    hex(&sum.finalize())
}

/// The form in which a text refers to a file.
#[derive(Clone, Copy)]
enum Files {
    /// The file's name, so that the scenario can be read again.
    ByName,
    /// A copy of the file in the scenario's folder.
    InBundle,
    /// A hash of the file's content, for the scenario's hash.
    ByContent,
}

/// Returns whether the canonical form has this value. The default, `usual`, is printed only for keys that
/// have been there from the beginning: hashes of published results cover them.
pub(crate) fn is_printed(key: &Key, value: &Value, usual: Option<&Value>) -> bool {
    key.always_printed || key.default == DefaultValue::None || usual != Some(value)
}

/// Writes a key if the canonical form has it.
fn write_key(text: &mut String, key: &Key, value: Option<Value>, usual: Option<&Value>, files: Files) {
    let Some(value) = value.filter(|value| is_printed(key, value, usual)) else { return };
    let written = match (&value, files) {
        (Value::Trace(trace), Files::ByContent) => format!("\"sha256:{}\"", trace.digest()),
        (Value::TimeTable(table), Files::ByContent) => format!("\"sha256:{}\"", table.digest()),
        (Value::Sizes(sizes), Files::ByContent) => format!("\"sha256:{}\"", sizes.digest()),
        (Value::Cc(cc), Files::ByContent) => cc.content(),
        (Value::Cc(cc), Files::InBundle) => Value::Text(cc.bundled().0).to_toml(Kind::Text),
        _ => value.to_toml(key.kind),
    };
    let _ = writeln!(text, "{} = {written}", key.name);
}
