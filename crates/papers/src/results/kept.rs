//! What is left of a record of real flows when its figure changes: every number whose own measure and runs
//! are as they were. The commit on the record still names the program that measured it.

use fairpace_scenario::Target;

use super::{lines_of, wordless_shape, wordless_value};
use crate::figure::{Figure, Measure, Plot, RunPlan, Shape, Value};
use crate::record::{Compared, Drawn, Held, Measured, Picture, Record};

/// The record's measurements of real flows, as those of the figure of now.
pub(super) fn of_real_flows(record: &Record, now: &Figure) -> Vec<Measured> {
    let then = &record.figure;
    let flows = record.measured.iter().filter(|measured| measured.on == Target::Testbed);
    let kept = flows.map(|measured| Measured {
        values: values(then, now, &measured.values),
        shapes: shapes(then, now, &measured.shapes),
        pictures: pictures(then, now, &measured.pictures),
        ..measured.clone()
    });
    kept.collect()
}

fn values(then: &Figure, now: &Figure, measured: &[Compared]) -> Vec<Compared> {
    let one = |(index, value): (usize, &Value)| {
        let same = |of: &&Compared| {
            let old = then.values.get(of.value);
            old.is_some_and(|old| bare(old) == bare(value)) && runs_are_the_same(then, now, [&value.measure])
        };
        // suspected causes are not tried with real flows
        let kept =
            measured.iter().find(same).cloned().unwrap_or(Compared { complete: true, ..Compared::default() });
        Compared { value: index, tried: Vec::new(), ..kept }
    };
    now.values.iter().enumerate().map(one).collect()
}

/// Without causes.
fn bare(value: &Value) -> Value {
    let mut value = value.clone();
    wordless_value(&mut value);
    Value { causes: Vec::new(), ..value }
}

fn shapes(then: &Figure, now: &Figure, measured: &[Held]) -> Vec<Held> {
    let bare = |shape: &Shape| {
        let mut shape = shape.clone();
        wordless_shape(&mut shape);
        shape
    };
    let one = |(index, shape): (usize, &Shape)| {
        let measures = [&shape.measure].into_iter().chain(&shape.than);
        let are_the_same = runs_are_the_same(then, now, measures);
        let same = |of: &&Held| {
            are_the_same && then.shapes.get(of.shape).is_some_and(|old| bare(old) == bare(shape))
        };
        let kept = measured.iter().find(same).cloned().unwrap_or(Held { complete: true, ..Held::default() });
        Held { shape: index, ..kept }
    };
    now.shapes.iter().enumerate().map(one).collect()
}

/// Of each picture that has some line of now: its lines as far as they are the same.
fn pictures(then: &Figure, now: &Figure, measured: &[Picture]) -> Vec<Picture> {
    let lines = |picture: &Picture, plot: &Plot| {
        let old = then.plots.get(picture.plot)?;
        let is_alike = (old.kind, old.from_s, old.to_s) == (plot.kind, plot.from_s, plot.to_s);
        let lines = lines_of(&picture.lines, old, plot).into_iter().zip(&plot.lines);
        let kept: Vec<Drawn> = lines
            .map(|(drawn, line)| match runs_are_the_same(then, now, [&line.measure]) {
                true => drawn,
                false => Drawn::default(),
            })
            .collect();
        (is_alike && kept.iter().any(|drawn| !drawn.y.is_empty())).then_some(kept)
    };
    let one = |(index, plot): (usize, &Plot)| {
        let lines = measured.iter().find_map(|picture| lines(picture, plot))?;
        Some(Picture { plot: index, kind: plot.kind, lines })
    };
    now.plots.iter().enumerate().filter_map(one).collect()
}

/// Whether all that the measures need is run as it was. Real flows have repeats of their own, not seeds.
fn runs_are_the_same<'a>(
    then: &Figure,
    now: &Figure,
    measures: impl IntoIterator<Item = &'a Measure>,
) -> bool {
    let of = |figure: &Figure, name: &str| {
        let run = figure.runs.iter().find(|run| run.name == name)?;
        Some(RunPlan { seeds: 0, beside: false, ..run.clone() })
    };
    let same = |name: &str| of(then, name) == of(now, name);
    measures.into_iter().all(|measure| same(&measure.run) && runs_are_the_same(then, now, measure.parts()))
}
