//! Scores: which criteria an algorithm passes, by criterion and by section.

use crate::item::first_of_each;
use crate::record::{AlgorithmRecord, CaseRecord, ConditionRecord, CriterionRecord, Record};

/// Number of criteria and cases that an algorithm passes, in a section or in total.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Score {
    /// Number of criteria at which the algorithm was measured, and number of criteria that it passes.
    criteria: usize,
    pub(crate) passed: usize,
    /// Number of cases of the measured criteria, and number of cases that pass.
    pub(crate) cases: usize,
    pub(crate) hold: usize,
}

impl Score {
    /// Text of the number of criteria: "2 of 3".
    pub(crate) fn of_criteria(self) -> String {
        format!("{} of {}", self.passed, self.criteria)
    }

    /// Text of the number of cases: "20 of 31".
    pub(crate) fn of_cases(self) -> String {
        format!("{} of {}", self.hold, self.cases)
    }
}

/// A group of criteria that are of one section, in the order of the record.
pub(crate) struct Group<'r> {
    /// Title of the section; empty for criteria without a section.
    pub(crate) title: &'r str,
    /// Description of the section.
    pub(crate) about: &'r str,
    /// Whether the criteria are counted apart.
    pub(crate) apart: bool,
    pub(crate) criteria: Vec<&'r CriterionRecord>,
}

impl Group<'_> {
    /// Short name of the section: "5.1" for the folder 5.1-alone.
    pub(crate) fn short(&self) -> String {
        let section = self.criteria.first().and_then(|criterion| criterion.section.as_ref());
        let name = section.map_or("", |section| section.name.as_str());
        let number = name.split('-').next().filter(|first| first.starts_with(|c: char| c.is_ascii_digit()));
        number.unwrap_or(name).to_owned()
    }

    /// The score of an algorithm at the criteria of the group.
    pub(crate) fn score(&self, cc: &str) -> Score {
        score(self.criteria.iter().copied(), cc)
    }
}

impl AlgorithmRecord {
    /// Whether all cases of the algorithm pass, and all conditions on medians hold.
    #[must_use]
    pub fn passes(&self) -> bool {
        self.hold == self.cases && self.medians.iter().all(|median| median.holds)
    }

    /// The largest miss in the case; 0 if the case passes.
    pub(crate) fn miss(&self) -> f64 {
        self.results.iter().map(|result| result.miss).fold(0.0, f64::max)
    }

    /// The failing cases, the worst first.
    pub(crate) fn failing(&self) -> Vec<&CaseRecord> {
        let mut failing: Vec<&CaseRecord> = self.results.iter().filter(|result| !result.holds).collect();
        failing.sort_by(|a, b| b.miss.total_cmp(&a.miss));
        failing
    }

    /// Mark of an algorithm at a criterion: "✓ 12", or "7/12" if some cases fail.
    pub(crate) fn mark(&self) -> String {
        match self.passes() {
            true => format!("✓ {}", self.cases),
            false => format!("{}/{}", self.hold, self.cases),
        }
    }
}

impl CaseRecord {
    /// Whether the case counts under a name: one of the conditions with this name in `counts` does not hold.
    pub(crate) fn counts_as(&self, name: &str) -> bool {
        self.conditions.iter().any(|of| !of.holds && of.counts.as_deref() == Some(name))
    }

    /// Text of the conditions that do not hold: "fair 0.812 (>= 0.95), short queue 9.00 (<= 8)".
    pub(crate) fn failed(&self) -> String {
        let said = |of: &ConditionRecord| {
            format!("{} {} ({})", of.name, of.metric.shown(of.value), of.bounds_shown())
        };
        self.conditions.iter().filter(|of| !of.holds).map(said).collect::<Vec<_>>().join(", ")
    }
}

impl ConditionRecord {
    /// Text of the condition on a median: "median over all cases: short queue passes, queue_ms 3.30 (< 5)".
    pub(crate) fn of_median(&self) -> String {
        let Self { name, metric, value, holds, .. } = self;
        let (ends, value) = (if *holds { "passes" } else { "fails" }, metric.shown(*value));
        format!("median over all cases: {name} {ends}, {} {value} ({})", metric.name(), self.bounds_shown())
    }
}

impl CriterionRecord {
    /// Label of a criterion, id and title: "5.1.3 Loss".
    pub(crate) fn label(&self) -> String {
        format!("{} {}", self.id, self.title)
    }

    /// Mark of an algorithm at this criterion; empty if it was not measured.
    pub(crate) fn mark(&self, cc: &str) -> String {
        self.of_algorithm(cc).map_or_else(String::new, AlgorithmRecord::mark)
    }

    /// The names under which cases of this criterion are counted, beside the cases that pass.
    pub(crate) fn counted(&self) -> impl Iterator<Item = &str> {
        self.algorithms.first().into_iter().flat_map(|algorithm| algorithm.counted.keys().map(String::as_str))
    }

    /// Number of an algorithm's cases that count under a name, of all its cases: "3/12"; empty if it was not
    /// measured.
    pub(crate) fn count(&self, name: &str, cc: &str) -> String {
        let of = self.of_algorithm(cc).and_then(|of| Some((of.counted.get(name)?, of.cases)));
        of.map_or_else(String::new, |(count, cases)| format!("{count}/{cases}"))
    }

    /// The results of an algorithm at this criterion.
    pub(crate) fn of_algorithm(&self, cc: &str) -> Option<&AlgorithmRecord> {
        self.algorithms.iter().find(|algorithm| algorithm.cc == cc)
    }
}

impl Record {
    /// The names of all algorithms, in the order of their first appearance in the record.
    pub(crate) fn algorithms(&self) -> Vec<&str> {
        first_of_each(
            self.criteria.iter().flat_map(|criterion| &criterion.algorithms).map(|of| of.cc.as_str()),
        )
    }

    /// The names under which cases are counted, in the order of the criteria.
    pub(crate) fn counted(&self) -> Vec<&str> {
        first_of_each(self.criteria.iter().flat_map(CriterionRecord::counted))
    }

    /// Number of an algorithm's cases that count under a name, and number of the cases of the criteria that
    /// have this name.
    pub(crate) fn count(&self, name: &str, cc: &str) -> (usize, usize) {
        let of = self.criteria.iter().filter_map(|criterion| criterion.of_algorithm(cc));
        let counts = of.filter_map(|of| Some((*of.counted.get(name)?, of.cases)));
        counts.fold((0, 0), |sum, of| (sum.0 + of.0, sum.1 + of.1))
    }

    /// The measured criteria of the record, grouped by section.
    pub(crate) fn groups(&self) -> Vec<Group<'_>> {
        let mut groups: Vec<Group<'_>> = Vec::new();
        for criterion in self.criteria.iter().filter(|criterion| !criterion.algorithms.is_empty()) {
            let section = criterion.section.as_ref();
            let title = section.map_or("", |section| section.title.as_str());
            match groups.last_mut() {
                Some(group) if group.title == title => group.criteria.push(criterion),
                _ => {
                    let about = section.map_or("", |section| section.about.as_str());
                    let apart = section.is_some_and(|section| section.apart);
                    groups.push(Group { title, about, apart, criteria: vec![criterion] });
                }
            }
        }
        groups
    }

    /// The groups whose criteria count in totals, and the groups that are counted apart. Where all groups are
    /// apart, the totals are of all.
    pub(crate) fn in_total_and_apart(&self) -> (Vec<Group<'_>>, Vec<Group<'_>>) {
        let (apart, in_total): (Vec<_>, Vec<_>) = self.groups().into_iter().partition(|group| group.apart);
        if in_total.is_empty() { (apart, in_total) } else { (in_total, apart) }
    }

    /// The score of an algorithm in total: without the sections that are counted apart.
    pub(crate) fn total(&self, cc: &str) -> Score {
        let (in_total, _) = self.in_total_and_apart();
        score(in_total.iter().flat_map(|group| group.criteria.iter().copied()), cc)
    }
}

/// The score of an algorithm at some criteria.
pub(crate) fn score<'r>(criteria: impl IntoIterator<Item = &'r CriterionRecord>, cc: &str) -> Score {
    let mut score = Score::default();
    for algorithm in criteria.into_iter().filter_map(|criterion| criterion.of_algorithm(cc)) {
        score.criteria += 1;
        score.passed += usize::from(algorithm.passes());
        score.cases += algorithm.cases;
        score.hold += algorithm.hold;
    }
    score
}
