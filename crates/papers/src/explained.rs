//! Published values that hold on no declared base, and the runs that may explain them: each changes a
//! suspected cause, or two that it names. All of it is computed from records. Causes are those of the
//! simulator; what real flows have on the same bases is beside them.

use std::fmt::Write as _;

use fairpace_scenario::Target;

use crate::figure::Value;
use crate::gallery::tables;
use crate::record::{Compared, Finding, Moved, PaperRecords, Record};
use crate::results::Place;
use crate::text;

/// Published values of all papers. Each holds in the simulator, or is in one of `reached` to `untried`.
#[derive(Debug, Default, PartialEq, Eq)]
struct Counts {
    all: usize,
    /// In the simulator, on at least one declared base.
    hold: usize,
    /// Not in the simulator, but with real flows on at least one declared base. Each is in one of the next,
    /// too.
    hold_real: usize,
    /// That the paper states in words, and those of them that hold in the simulator.
    in_words: usize,
    hold_in_words: usize,
    reached: usize,
    towards: usize,
    /// Causes were tried, and none moves it nearer.
    unmoved: usize,
    /// No cause was tried.
    untried: usize,
    /// Changes of causes, each counted per base, by what they did.
    tries: Tries,
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Tries {
    reached: usize,
    towards: usize,
    away: usize,
    unmoved: usize,
}

impl Tries {
    fn count(&mut self, moved: Moved) {
        match moved {
            Moved::Reaches => self.reached += 1,
            Moved::Towards => self.towards += 1,
            Moved::Away => self.away += 1,
            Moved::Unmoved => self.unmoved += 1,
            Moved::NotMeasured => {}
        }
    }
}

/// How many values hold on some base, and of each other one what moves it.
pub(crate) fn section(papers: &[PaperRecords]) -> String {
    let mut counts = Counts::default();
    let mut list = String::new();
    for (paper, record) in papers.iter().flat_map(|of| of.records.iter().map(move |record| (of, record))) {
        let items = items(record, &mut counts);
        if !items.is_empty() {
            let _ = write!(list, "\n**{}/{}**\n\n{}", paper.id, record.id, items.concat());
        }
    }
    let Counts { all, hold, hold_real, in_words, hold_in_words, reached, towards, unmoved, untried, tries } =
        counts;
    format!(
        "\n## Published values, and what moves those that do not hold\n\n\
         {hold} of {all} published values hold in the simulator on at least one base that was declared \
         before the run, and {hold_real} more with real flows on such a base. The papers state {in_words} of \
         the {all} in words such as “equally”, not in digits; of these {hold_in_words} hold in the \
         simulator. Each one that does not hold in the simulator is measured again with a change of what \
         may be the cause. With such a change {reached} hold; {towards} come nearer by more than the \
         intervals; {unmoved} are not moved nearer by any change that was tried{}.\n\nThe changes, counted \
         on each base, are {}: {} reach the value, {} move it nearer, {} away, {} not at all. With this \
         number of tries some may reach a value by chance. One that reaches it is sufficient for the \
         published number; nothing shows that the hosts of the authors had it. A change that joins two says \
         so.\n{list}",
        if untried == 0 { String::new() } else { format!("; of {untried} none was tried") },
        tries.reached + tries.towards + tries.away + tries.unmoved,
        tries.reached,
        tries.towards,
        tries.away,
        tries.unmoved
    )
}

/// What a value has in a place.
type Found<'a> = (&'a Place<'a>, &'a Compared);

/// The lines of a figure's values that hold on no base in the simulator.
fn items(record: &Record, counts: &mut Counts) -> Vec<String> {
    let mut items = Vec::new();
    let places: Vec<Place<'_>> = record.places().collect();
    for (index, value) in record.figure.values.iter().enumerate() {
        let found = places.iter().filter_map(|place| Some((place, place.compared(index)?)));
        let (found, real): (Vec<Found<'_>>, Vec<Found<'_>>) =
            found.partition(|(place, _)| place.on == Target::Simulator);
        if !value.by_construction.is_empty() {
            continue;
        }
        counts.all += 1;
        counts.in_words += usize::from(value.in_words);
        let holds = |found: &[Found<'_>]| found.iter().any(|(_, of)| of.finding == Finding::Holds);
        if holds(&found) {
            counts.hold += 1;
            counts.hold_in_words += usize::from(value.in_words);
            continue;
        }
        counts.hold_real += usize::from(holds(&real));
        let moved = || found.iter().flat_map(|(_, compared)| &compared.tried).map(|tried| tried.moved);
        moved().for_each(|moved| counts.tries.count(moved));
        *match moved().min() {
            Some(Moved::Reaches) => &mut counts.reached,
            Some(Moved::Towards) => &mut counts.towards,
            Some(Moved::Away | Moved::Unmoved) => &mut counts.unmoved,
            Some(Moved::NotMeasured) | None => &mut counts.untried,
        } += 1;
        items.push(item(record, value, &found, &real));
    }
    items
}

fn item(record: &Record, value: &Value, found: &[Found<'_>], real: &[Found<'_>]) -> String {
    let published = text::published(value);
    let mut item = format!("- {}, published {published} ({})", value.what, tables::allowed(value));
    for (place, compared) in found {
        let ours = compared.ours.map_or_else(|| "none".to_owned(), text::mean);
        let _ = write!(item, "; {} {ours}", record.with_base("ours", place.base));
        for (cause, tried) in value.causes.iter().zip(&compared.tried) {
            let with = tried.ours.map_or_else(|| "none".to_owned(), text::mean);
            let _ = write!(item, "; {}: {with}, {}", cause.what.trim(), tried.moved);
        }
    }
    for (place, compared) in real {
        if let Some(ours) = compared.ours {
            let settings = text::real_settings(&record.figure, place.on);
            let real = [record.with_base("real flows", place.base)].into_iter().chain(settings);
            let real = real.collect::<Vec<_>>().join(", ");
            let _ = write!(item, "; {real} {}: {}", text::mean(ours), compared.finding);
        }
    }
    item.replace('\n', " ") + "\n"
}
