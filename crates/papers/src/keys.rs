//! Keys of recorded numbers. A key is a hash of the scenarios, models or tables behind the number, of the
//! measure and, for a check, of the bound. Names of runs, titles, sources and prose do not change it.

use std::collections::HashMap;

use sha2::{Digest, Sha256};

use crate::figure::{Figure, Line, Measure, Plot, Shape, Value};
use crate::plan::Plan;
use crate::sheet::Sheet;

/// Hexadecimal digits of a key. A figure has a few hundred keys.
const DIGITS: usize = 16;

/// The keys of all numbers of a figure in one place.
pub(crate) struct Keys {
    /// Key of each value, and of each of its causes.
    pub(crate) values: Vec<(String, Vec<String>)>,
    /// Key of each relation; relations have no causes.
    pub(crate) shapes: Vec<(String, Vec<String>)>,
    /// Keys of each line of each plot.
    pub(crate) plots: Vec<Vec<String>>,
}

impl Keys {
    /// The keys of the numbers that `plan` measures.
    pub(crate) fn of(sheet: &Sheet, plan: &Plan) -> Self {
        let figure = &sheet.figure;
        let cases = plan.cases.iter().map(|case| ((case.run, case.point), case.source.identity(hex)));
        let cases = Cases { figure, identities: cases.collect() };
        Self {
            values: figure.values.iter().map(|value| cases.value(value)).collect(),
            shapes: figure.shapes.iter().map(|shape| (cases.shape(shape), Vec::new())).collect(),
            plots: figure.plots.iter().map(|plot| cases.plot(plot)).collect(),
        }
    }
}

fn hex(digest: &[u8]) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The runs of a figure, by their scenarios.
struct Cases<'a> {
    figure: &'a Figure,
    /// Identities of the sources, by the indices of run and point.
    identities: HashMap<(usize, usize), String>,
}

impl Cases<'_> {
    fn value(&self, value: &Value) -> (String, Vec<String>) {
        let Value { is, published, tolerance, tolerance_ratio, .. } = value;
        let bound = format!("{is:?} {published} {tolerance} {tolerance_ratio}");
        let causes = value.causes.iter().map(|cause| self.key(&[&cause.measure], &bound));
        (self.key(&[&value.measure], &bound), causes.collect())
    }

    fn shape(&self, shape: &Shape) -> String {
        let Shape { is, factor, along, tolerance_ratio, .. } = shape;
        let measures: Vec<&Measure> = [&shape.measure].into_iter().chain(&shape.than).collect();
        self.key(&measures, &format!("{is:?} {factor} {along:?} {tolerance_ratio}"))
    }

    fn plot(&self, plot: &Plot) -> Vec<String> {
        let Plot { kind, from_s, to_s, .. } = plot;
        let key =
            |line: &Line| self.key(&[&line.measure], &format!("{kind:?} {} {from_s} {to_s}", line.against));
        plot.lines.iter().map(key).collect()
    }

    fn key(&self, measures: &[&Measure], bound: &str) -> String {
        let mut sum = Sha256::new_with_prefix(bound);
        measures.iter().for_each(|measure| self.add(measure, "", &mut sum));
        hex(&sum.finalize())[..DIGITS].to_owned()
    }

    /// Adds a measure to the hash; if the measure names no point, its point is `at`, or all points.
    fn add(&self, measure: &Measure, at: &str, sum: &mut Sha256) {
        let Measure { of, take, from_s, to_s, level, times, later_s, mean_s, median, over, plus, .. } =
            measure;
        let at = if measure.at.is_empty() { at } else { &measure.at };
        sum.update(format!("\n{of} {take:?} {from_s} {to_s} {level} {times:?} {later_s} {mean_s} {median}"));
        let run = self.figure.runs.iter().position(|run| run.name == measure.run);
        let points = run.map_or(&[][..], |run| self.figure.runs[run].points());
        for point in 0..points.len().max(1) {
            let is_meant = at.is_empty() || points.get(point).is_none_or(|point| point.at == at);
            let case = run.filter(|_| is_meant).and_then(|run| self.identities.get(&(run, point)));
            sum.update(format!(" {}", case.map_or("", String::as_str)));
        }
        for part in [over, plus] {
            sum.update("(");
            part.iter().for_each(|part| self.add(part, at, sum));
        }
    }
}
