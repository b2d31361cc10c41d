//! A condition: what must hold in a case.

use std::convert::Infallible;

use fairpace_scenario::{Flow, Invalid, Scenario, Writes};
use serde::{Deserialize, Serialize};
use toml::Value;

use crate::item::Amount;
use crate::judge::{Bound, Check, Side};
use crate::measure::Metric;
use crate::metric::is_of;
use crate::source::{Source, Wrong, text};

/// A condition of a criterion, in words, with the source of its bounds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Asked {
    /// The condition in words: "fair: jain >= 0.95".
    pub text: String,
    /// The source of the bounds; empty if the file does not say.
    pub source: String,
}

/// A condition as a file declares it: what must hold in every case, or of the median over all cases.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Condition {
    #[serde(deserialize_with = "text")]
    name: String,
    metric: Metric,
    /// The group of flows that the metric is computed from; empty for a metric of all flows.
    #[serde(default)]
    of: String,
    at_least: Option<Amount>,
    at_most: Option<Amount>,
    below: Option<Amount>,
    /// A further upper bound: this part of the longest RTT.
    at_most_of_rtt: Option<Amount>,
    /// A factor on the upper bound.
    #[serde(default = "Amount::one")]
    times: Amount,
    /// Name under which the cases are counted in which the condition does not hold. Such a condition does not
    /// decide whether a case passes.
    pub(crate) counts: Option<String>,
    /// The source of the bounds; empty if the file does not say.
    #[serde(default)]
    pub(crate) source: String,
}

impl Condition {
    /// Checks what the type allows but the criterion does not. `at` is the key of the condition; `is_median`
    /// says that it is a condition of the median over all cases, not of each case.
    pub(crate) fn validate(&self, at: &str, is_median: bool, wrong: &mut Wrong<'_>) {
        let Self { metric, of, at_most_of_rtt, .. } = self;
        let mut add = |kind, key: &str, message: &str, help| {
            wrong.add(kind, format!("{at}.{key}").trim_end_matches('.'), message, help);
        };
        let name = metric.name();
        match (metric.is_of_flows(), of.trim().is_empty()) {
            (true, true) => add("missing-key", "of", "`of` is missing", "add of = \"...\", a flow's name"),
            (false, false) => add("impossible", "of", &format!("`{name}` is of all flows"), "leave `of` out"),
            (true, _) if is_median => {
                add("impossible", "metric", "it is of some flows", "name one of all flows")
            }
            _ => {}
        }
        if at_most_of_rtt.is_some() && !matches!(metric, Metric::QueueMs | Metric::Queue95Ms) {
            let message = "only a queueing delay is compared with an RTT";
            add("impossible", "at_most_of_rtt", message, "leave it out");
        }
        if is_median && (at_most_of_rtt.is_some() || self.names().next().is_some()) {
            let message = "a bound over all cases cannot depend on an axis, or on an RTT";
            add("wrong-type", "", message, "write a number");
        }
        if let Some(counts) = &self.counts {
            if counts.trim().is_empty() {
                add("missing-key", "counts", "the name is empty", "write a word, such as starved");
            }
            if is_median {
                let message = "a condition over all cases has no cases to count";
                add("impossible", "counts", message, "leave it out");
            }
        }
        if self.bounds().next().is_none() && at_most_of_rtt.is_none() {
            add("missing-key", "", "the condition has no bound", "write `at_least`, `at_most` or `below`");
        }
    }

    /// Iterates over the bounds, without the bound that is a part of an RTT.
    fn bounds(&self) -> impl Iterator<Item = (Side, &Amount)> {
        let Self { at_least, at_most, below, .. } = self;
        let bounds = [(Side::AtLeast, at_least), (Side::AtMost, at_most), (Side::Below, below)];
        bounds.into_iter().filter_map(|(side, bound)| Some((side, bound.as_ref()?)))
    }

    /// The condition in words. `values` returns the values of a name.
    pub(crate) fn text(&self, values: impl Fn(&str) -> Vec<String>) -> String {
        let Self { name, metric, of, at_most_of_rtt, times, .. } = self;
        let of = if of.is_empty() { String::new() } else { format!(" of {of}") };
        let amount = |amount: &Amount| match amount {
            Amount::Fixed(number) => number.to_string(),
            Amount::Named(name) => values(name).join(" or "),
        };
        let mut parts: Vec<_> =
            self.bounds().map(|(side, bound)| format!("{} {}", side.sign(), amount(bound))).collect();
        parts.extend(at_most_of_rtt.iter().map(|part| format!("<= {} of the longest RTT", amount(part))));
        let times = match times {
            Amount::Fixed(1.0) => String::new(),
            other => format!(", times {}", amount(other)),
        };
        let counts = self.counts.as_ref().map(|counts| format!(", else the case counts as {counts}"));
        let counts = counts.unwrap_or_default();
        format!("{name}: {}{of} {}{times}{counts}", metric.name(), parts.join(" and "))
    }

    /// Iterates over the names that stand for numbers of this condition.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        let amounts = self.bounds().map(|(_, amount)| amount).chain([&self.times]);
        amounts.chain(&self.at_most_of_rtt).filter_map(Amount::name)
    }

    /// The condition with the numbers of a case. `at` is the key of the condition.
    ///
    /// # Errors
    /// Returns an error if a name is not a number in the case, or if the scenario has no flow of the group.
    pub(crate) fn check<'v>(
        &self,
        value: impl Fn(&str) -> Option<&'v Value>,
        scenario: &Scenario,
        source: &Source,
        at: &str,
    ) -> Result<Check, Invalid> {
        let Self { metric, of, .. } = self;
        let case = &scenario.title;
        let number = |amount: &Amount| {
            amount.of(&value).map_err(|name| {
                let message = format!("`{name}` is not a number in the case `{case}`");
                source.invalid("wrong-type", at, message, "give it numbers only")
            })
        };
        let longest = scenario.flows.iter().map(|flow| flow.rtt).max().unwrap_or_default();
        let check = self.with(number, longest.as_secs_f64())?;
        let named = || scenario.flows.iter().filter(|flow| is_of(&flow.name, of));
        if metric.is_of_flows() && named().next().is_none() {
            let message = format!("there is no flow `{of}` in the case `{case}`");
            return Err(source.invalid("unknown-name", at, message, "name a flow that every template has"));
        }
        let has_frames = |flow: &Flow| matches!(flow.traffic.writes, Writes::Frames(_));
        if metric.is_of_media() && !named().all(has_frames) {
            let message = format!("`{of}` has no audio or video in the case `{case}`");
            return Err(source.invalid("impossible", at, message, "name a flow with `media_rate`"));
        }
        Ok(check)
    }

    /// The condition as a check, where the file writes all numbers without names.
    pub(crate) fn fixed(&self) -> Check {
        let number = |amount: &Amount| Ok::<_, Infallible>(amount.of(|_| None).unwrap_or(f64::NAN));
        let Ok(check) = self.with(number, 0.0);
        check
    }

    /// The condition with the numbers that `number` gives for its amounts, and the longest RTT.
    fn with<E>(&self, number: impl Fn(&Amount) -> Result<f64, E>, longest_s: f64) -> Result<Check, E> {
        let Self { name, metric, of, times, .. } = self;
        let times = number(times)?;
        let part = self.at_most_of_rtt.as_ref().map(&number).transpose()?;
        let of_rtt_ms = part.map_or(f64::INFINITY, |part| part * longest_s * 1e3);
        let mut bounds = Vec::new();
        for (side, bound) in self.bounds() {
            let value = number(bound)?;
            let is_upper = side != Side::AtLeast;
            bounds.push(Bound { side, value: if is_upper { value.min(of_rtt_ms) * times } else { value } });
        }
        if part.is_some() && self.at_most.is_none() {
            bounds.push(Bound { side: Side::AtMost, value: of_rtt_ms * times });
        }
        let counts = self.counts.clone();
        Ok(Check { name: name.clone(), metric: *metric, of: of.clone(), bounds, counts })
    }
}
