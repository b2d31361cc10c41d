//! A condition: what must hold in a case.

use std::ops::Range;

use fairpace_scenario::{Flow, Invalid, Scenario, Writes};
use serde::Serialize;

use crate::amount::Amount;
use crate::item::{Item, names};
use crate::judge::{Bound, Check, Side};
use crate::measure::{Metric, is_of};
use crate::read::{Reader, Table, number};
use crate::source::Source;

/// A condition of a criterion.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Asked {
    /// In words: "fair: jain >= 0.95".
    pub text: String,
    /// Where its bounds come from; empty if the file does not say.
    pub source: String,
}

/// What must hold in every case.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Condition {
    pub(crate) name: String,
    pub(crate) metric: Metric,
    pub(crate) of: String,
    pub(crate) bounds: Vec<(Side, Amount)>,
    /// The upper bound is also at most this part of the longest RTT, in milliseconds.
    pub(crate) of_rtt: Option<f64>,
    /// Factor of the upper bound.
    pub(crate) times: Amount,
    /// Where the bounds come from; empty if the file does not say.
    pub(crate) source: String,
    pub(crate) span: Range<usize>,
}

impl Condition {
    /// Reads a `[[condition]]`.
    pub(crate) fn read(reader: &mut Reader<'_>, of: Table<'_, '_>) -> Option<Self> {
        const KEYS: [&str; 9] =
            ["name", "metric", "of", "at_least", "at_most", "below", "at_most_of_rtt", "times", "source"];
        reader.known(of, &KEYS);
        let name = reader.text(of, "name");
        let metric = metric(reader, of)?;
        let group = group(reader, of, metric)?;
        let of_rtt = reader.number(of, "at_most_of_rtt");
        let bounds = match of_rtt {
            // the part of the RTT is the only bound
            Some(_) if !of.table.contains_key("at_most") => {
                vec![(Side::AtMost, Amount::Fixed(f64::INFINITY))]
            }
            _ => bounds(reader, of),
        };
        if of_rtt.is_some() && !matches!(metric, Metric::QueueMs | Metric::Queue95Ms) {
            let (place, key) = (reader.place(of, "at_most_of_rtt"), of.key("at_most_of_rtt"));
            let message = "only a queueing delay is compared with an RTT";
            reader.complain(place, "impossible", &key, message, "leave it out");
        }
        let times = amount(reader, of, "times").unwrap_or(Amount::Fixed(1.0));
        let source = reader.optional_text(of, "source").unwrap_or_default();
        Some(Self { name: name?, metric, of: group, bounds, of_rtt, times, source, span: of.place() })
    }

    /// Reads a `[[median]]`, whose bounds are numbers.
    pub(crate) fn read_median(reader: &mut Reader<'_>, of: Table<'_, '_>) -> Option<Self> {
        reader.known(of, &["name", "metric", "at_least", "at_most", "below"]);
        let name = reader.text(of, "name");
        let metric = metric(reader, of)?;
        if metric.is_of_flows() {
            let help = "name a metric of all flows";
            reader.complain(of.place(), "impossible", &of.key("metric"), "it is of some flows", help);
            return None;
        }
        let bounds = bounds(reader, of);
        if bounds.iter().any(|(_, bound)| matches!(bound, Amount::Named(_))) {
            let message = "a bound over all cases cannot depend on an axis";
            reader.complain(of.place(), "wrong-type", of.path, message, "write a number");
        }
        let (times, of) = (Amount::Fixed(1.0), of.place());
        let (group, source) = (String::new(), String::new());
        Some(Self { name: name?, metric, of: group, bounds, of_rtt: None, times, source, span: of })
    }

    /// In words. `values` has the values of a name.
    pub(crate) fn text(&self, values: impl Fn(&str) -> Vec<String>) -> String {
        let Self { name, metric, of, bounds, of_rtt, times, .. } = self;
        let of = if of.is_empty() { String::new() } else { format!(" of {of}") };
        let amount = |amount: &Amount| match amount {
            Amount::Fixed(number) => number.to_string(),
            Amount::Named(name) => values(name).join(" or "),
        };
        let written = bounds.iter().filter(|(_, bound)| *bound != Amount::Fixed(f64::INFINITY));
        let mut parts: Vec<_> =
            written.map(|(side, bound)| format!("{} {}", side.sign(), amount(bound))).collect();
        parts.extend(of_rtt.map(|part| format!("<= {part} of the longest RTT")));
        let times = match times {
            Amount::Fixed(1.0) => String::new(),
            other => format!(", times {}", amount(other)),
        };
        format!("{name}: {}{of} {}{times}", metric.name(), parts.join(" and "))
    }

    /// The names of its numbers.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.bounds.iter().map(|(_, amount)| amount).chain([&self.times]).filter_map(|amount| match amount {
            Amount::Named(name) => Some(name.as_str()),
            Amount::Fixed(_) => None,
        })
    }

    /// The condition with the numbers of a case.
    ///
    /// # Errors
    /// A name is not a number there, or it has no flow of the group.
    pub(crate) fn check<'v>(
        &self,
        value: impl Fn(&str) -> Option<&'v Item>,
        scenario: &Scenario,
        source: &Source,
    ) -> Result<Check, Invalid> {
        let Self { name, metric, of, bounds, of_rtt, times, span, .. } = self;
        let no_number = |name: String| {
            let message = format!("`{name}` is not a number in the case `{}`", scenario.title);
            source.invalid(span.clone(), "wrong-type", "condition", message, "give it numbers only")
        };
        let times = times.of(&value).map_err(no_number)?;
        let longest = scenario.flows.iter().map(|flow| flow.rtt).max().unwrap_or_default();
        let of_rtt_ms = of_rtt.map_or(f64::INFINITY, |part| part * longest.as_secs_f64() * 1e3);
        let mut numbers = Vec::new();
        for (side, bound) in bounds {
            let number = bound.of(&value).map_err(no_number)?;
            let is_upper = matches!(side, Side::AtMost | Side::Below);
            let number = if is_upper { number.min(of_rtt_ms) * times } else { number };
            numbers.push(Bound { side: *side, value: number });
        }
        let named = || scenario.flows.iter().filter(|flow| is_of(&flow.name, of));
        if metric.is_of_flows() && named().next().is_none() {
            let message = format!("there is no flow `{of}` in the case `{}`", scenario.title);
            let help = "name a flow that every template has";
            return Err(source.invalid(span.clone(), "unknown-name", "condition.of", message, help));
        }
        let has_frames = |flow: &Flow| matches!(flow.traffic.writes, Writes::Frames(_));
        if metric.is_of_media() && !named().all(has_frames) {
            let message = format!("`{of}` has no audio or video in the case `{}`", scenario.title);
            let help = "name a flow with `media_rate`";
            return Err(source.invalid(span.clone(), "impossible", "condition.of", message, help));
        }
        Ok(Check { name: name.clone(), metric: *metric, of: of.clone(), bounds: numbers })
    }

    /// The condition where all bounds are numbers.
    pub(crate) fn fixed(&self) -> Check {
        let bound = |(side, amount): &(Side, Amount)| match amount {
            Amount::Fixed(value) => Some(Bound { side: *side, value: *value }),
            Amount::Named(_) => None,
        };
        let Self { name, metric, of, bounds, .. } = self;
        let bounds = bounds.iter().filter_map(bound).collect();
        Check { name: name.clone(), metric: *metric, of: of.clone(), bounds }
    }
}

fn metric(reader: &mut Reader<'_>, of: Table<'_, '_>) -> Option<Metric> {
    let written = reader.text(of, "metric")?;
    let metric = Metric::ALL.into_iter().find(|metric| metric.name() == written);
    if metric.is_none() {
        let known = Metric::ALL.map(Metric::name);
        let meant = fairpace_cc::nearest(&written, known);
        let meant = meant.map(|meant| format!("did you mean `{meant}`? ")).unwrap_or_default();
        let help = format!("{meant}Known are {}", known.join(", "));
        let (place, key) = (reader.place(of, "metric"), of.key("metric"));
        reader.complain(place, "unknown-name", &key, format!("there is no metric `{written}`"), help);
    }
    metric
}

/// The flows that a metric is of: named if it is of some, else empty.
fn group(reader: &mut Reader<'_>, of: Table<'_, '_>, metric: Metric) -> Option<String> {
    match (metric.is_of_flows(), of.table.contains_key("of")) {
        (true, _) => reader.text(of, "of"),
        (false, true) => {
            let (place, message) = (reader.place(of, "of"), format!("`{}` is of all flows", metric.name()));
            reader.complain(place, "impossible", &of.key("of"), message, "leave `of` out");
            None
        }
        (false, false) => Some(String::new()),
    }
}

fn bounds(reader: &mut Reader<'_>, of: Table<'_, '_>) -> Vec<(Side, Amount)> {
    const SIDES: [(&str, Side); 3] =
        [("at_least", Side::AtLeast), ("at_most", Side::AtMost), ("below", Side::Below)];
    if !SIDES.iter().any(|(key, _)| of.table.contains_key(*key)) {
        let help = "write `at_least`, `at_most` or `below`";
        reader.complain(of.place(), "missing-key", of.path, "the condition has no bound", help);
    }
    let bound = |(key, side)| Some((side, amount(reader, of, key)?));
    SIDES.into_iter().filter_map(bound).collect()
}

/// A number, or the name of one in braces.
pub(crate) fn amount(reader: &mut Reader<'_>, of: Table<'_, '_>, key: &str) -> Option<Amount> {
    let value = of.table.get(key)?;
    let named = value.get_ref().as_str().and_then(|text| {
        let name = names(text).next()?;
        (text == format!("{{{name}}}")).then(|| Amount::Named(name.to_owned()))
    });
    let amount = named.or_else(|| number(value.get_ref()).map(Amount::Fixed));
    if amount.is_none() {
        let help = "write a number, or \"{name}\" with a name of an axis's values";
        reader.complain(value.span(), "wrong-type", &of.key(key), format!("`{key}` is no number"), help);
    }
    amount
}
