//! Scores: which criteria an algorithm passes, criterion by criterion and section by section.

use crate::item::first_of_each;
use crate::record::{AlgorithmRecord, CaseRecord, ConditionRecord, CriterionRecord, Record};

/// What an algorithm has of the criteria of a section, or of all.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Score {
    /// Criteria that it was measured at, and of these, those of which all cases pass.
    criteria: usize,
    pub(crate) passed: usize,
    /// Cases of all these criteria, and of these, those that pass.
    pub(crate) cases: usize,
    pub(crate) hold: usize,
}

impl Score {
    /// "2 of 3": criteria.
    pub(crate) fn of_criteria(self) -> String {
        format!("{} of {}", self.passed, self.criteria)
    }

    /// "20 of 31": cases.
    pub(crate) fn of_cases(self) -> String {
        format!("{} of {}", self.hold, self.cases)
    }
}

/// Criteria that belong together, in the order of the record.
pub(crate) struct Group<'r> {
    /// Title of their section; empty for criteria without one.
    pub(crate) title: &'r str,
    /// What the section is about.
    pub(crate) about: &'r str,
    pub(crate) criteria: Vec<&'r CriterionRecord>,
}

impl AlgorithmRecord {
    /// Whether all cases pass, and all conditions of medians.
    #[must_use]
    pub fn passes(&self) -> bool {
        self.hold == self.cases && self.medians.iter().all(|median| median.holds)
    }

    /// The largest miss of a case; 0 if it passes.
    pub(crate) fn miss(&self) -> f64 {
        self.results.iter().map(|result| result.miss).fold(0.0, f64::max)
    }

    /// The cases that fail, the worst first.
    pub(crate) fn failing(&self) -> Vec<&CaseRecord> {
        let mut failing: Vec<&CaseRecord> = self.results.iter().filter(|result| !result.holds).collect();
        failing.sort_by(|a, b| b.miss.total_cmp(&a.miss));
        failing
    }

    /// "✓ 12", or "7/12" if some cases fail.
    pub(crate) fn mark(&self) -> String {
        match self.passes() {
            true => format!("✓ {}", self.cases),
            false => format!("{}/{}", self.hold, self.cases),
        }
    }
}

impl CaseRecord {
    /// What does not hold: "fair 0.812 (>= 0.95), short queue 9.00 (<= 8)".
    pub(crate) fn failed(&self) -> String {
        let said = |of: &ConditionRecord| {
            format!("{} {} ({})", of.name, of.metric.shown(of.value), of.bounds_shown())
        };
        self.conditions.iter().filter(|of| !of.holds).map(said).collect::<Vec<_>>().join(", ")
    }
}

impl ConditionRecord {
    /// "median over all cases: short queue passes, queue_ms 3.30 (< 5)".
    pub(crate) fn of_median(&self) -> String {
        let Self { name, metric, value, holds, .. } = self;
        let (ends, value) = (if *holds { "passes" } else { "fails" }, metric.shown(*value));
        format!("median over all cases: {name} {ends}, {} {value} ({})", metric.name(), self.bounds_shown())
    }
}

impl CriterionRecord {
    /// "5.1.3 Loss".
    pub(crate) fn label(&self) -> String {
        format!("{} {}", self.id, self.title)
    }

    /// What an algorithm did in short; empty if it was not measured.
    pub(crate) fn mark(&self, cc: &str) -> String {
        self.of_algorithm(cc).map_or_else(String::new, AlgorithmRecord::mark)
    }

    /// What an algorithm did.
    pub(crate) fn of_algorithm(&self, cc: &str) -> Option<&AlgorithmRecord> {
        self.algorithms.iter().find(|algorithm| algorithm.cc == cc)
    }
}

impl Record {
    /// The names of all algorithms, in the order in which they first appear.
    pub(crate) fn algorithms(&self) -> Vec<&str> {
        first_of_each(
            self.criteria.iter().flat_map(|criterion| &criterion.algorithms).map(|of| of.cc.as_str()),
        )
    }

    /// Its measured criteria by section.
    pub(crate) fn groups(&self) -> Vec<Group<'_>> {
        let mut groups: Vec<Group<'_>> = Vec::new();
        for criterion in self.criteria.iter().filter(|criterion| !criterion.algorithms.is_empty()) {
            let section = criterion.section.as_ref();
            let title = section.map_or("", |section| section.title.as_str());
            match groups.last_mut() {
                Some(group) if group.title == title => group.criteria.push(criterion),
                _ => {
                    let about = section.map_or("", |section| section.about.as_str());
                    groups.push(Group { title, about, criteria: vec![criterion] });
                }
            }
        }
        groups
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
