//! Whether what we measure is what the paper reports.
//!
//! Means are compared as they are recorded. What is missing never holds; what this place did not run is not
//! judged, nor what a table has no rows of yet.

use fairpace_scenario::Target;

use crate::figure::{Along, Figure, Is, Shape, Value};
use crate::measure::{Measurement, Outcomes, round};
use crate::record::{Compared, Held, Mean, Verdict};

/// Of the larger side: two numbers that are written the same in decimals may differ by so much in binary.
const EPSILON: f64 = 1e-9;

/// All values and shapes of the figure, and what they come to.
pub(crate) fn judge(outcomes: &Outcomes<'_>, on: Target) -> (Vec<Compared>, Vec<Held>, Verdict) {
    let figure = outcomes.figure;
    let values: Vec<Compared> = (0..figure.values.len()).map(|value| compare(outcomes, on, value)).collect();
    let shapes: Vec<Held> = (0..figure.shapes.len()).map(|shape| hold(outcomes, on, shape)).collect();
    let lacking = figure.values.iter().any(|value| outcomes.lacks(&value.measure));
    let verdict = verdict(figure, &values, &shapes, lacking);
    (values, shapes, verdict)
}

/// `lacking`: of some number the runs are still to be made.
fn verdict(figure: &Figure, values: &[Compared], shapes: &[Held], lacking: bool) -> Verdict {
    let of_values = || values.iter().filter_map(|value| value.holds);
    let of_shapes = || shapes.iter().filter_map(|shape| shape.holds);
    if of_values().chain(of_shapes()).next().is_none() {
        return Verdict::NotRun;
    }
    if of_shapes().any(|holds| !holds) {
        return Verdict::Differs;
    }
    // where the paper has numbers, its shape alone does not reproduce it
    let some = figure.values.is_empty() || of_values().next().is_some();
    match some && !lacking && of_values().all(|holds| holds) {
        true => Verdict::Reproduced,
        // without a shape that holds there is none to be alike
        false if of_shapes().next().is_none() => Verdict::Differs,
        false => Verdict::ShapeOnly,
    }
}

fn compare(outcomes: &Outcomes<'_>, on: Target, index: usize) -> Compared {
    let nothing = Compared { value: index, ours: None, holds: None };
    let Some(value) = outcomes.figure.values.get(index) else { return nothing };
    if on == Target::Testbed && !outcomes.ran(&value.measure) {
        return nothing;
    }
    let Some(Measurement { mean, complete }) = outcomes.measure(&value.measure) else { return nothing };
    let holds = complete && mean.is_some_and(|ours| value_holds(value, ours.mean));
    Compared { value: index, ours: mean, holds: Some(holds) }
}

fn value_holds(value: &Value, ours: f64) -> bool {
    let slack = value.tolerance.max(value.tolerance_ratio * value.published.abs());
    relation(value.is, ours, value.published, slack)
}

/// Sides that are not numbers stand in no relation.
fn relation(is: Is, left: f64, right: f64, slack: f64) -> bool {
    let slack = slack + EPSILON * left.abs().max(right.abs());
    match is {
        Is::About => (left - right).abs() <= slack,
        Is::Below => left <= right + slack,
        Is::Above => left >= right - slack,
        Is::Apart => (left - right).abs() > slack,
    }
}

fn hold(outcomes: &Outcomes<'_>, on: Target, index: usize) -> Held {
    let nothing = Held { shape: index, ours: Vec::new(), holds: None };
    let Some(shape) = outcomes.figure.shapes.get(index) else { return nothing };
    let ran = outcomes.ran(&shape.measure) || shape.than.as_ref().is_some_and(|than| outcomes.ran(than));
    if on == Target::Testbed && !ran {
        return nothing;
    }
    let judged = match shape.along {
        Some(along) => hold_along(outcomes, shape, along),
        None => hold_relation(outcomes, shape),
    };
    judged.map_or(nothing, |(ours, holds)| Held { shape: index, ours, holds: Some(holds) })
}

/// Means that are there, and whether the relation holds; `None`: a side was not run here, or has no
/// interval where one is needed.
fn hold_relation(outcomes: &Outcomes<'_>, shape: &Shape) -> Option<(Vec<Mean>, bool)> {
    let left = outcomes.measure(&shape.measure)?;
    let right = match &shape.than {
        Some(than) => {
            let scaled = |mean: Mean| Mean {
                n: mean.n,
                mean: round(mean.mean * shape.factor),
                half: mean.half.map(|half| round((half * shape.factor).abs())),
            };
            let than = outcomes.measure(than)?;
            Measurement { mean: than.mean.map(scaled), ..than }
        }
        None => Measurement { mean: Some(Mean { n: 0, mean: shape.factor, half: None }), complete: true },
    };
    let intervals = [left.mean, right.mean].into_iter().flatten().map(|mean| match mean.n {
        0 => Some(0.0),
        _ => mean.half,
    });
    let spread = match shape.is {
        Is::Apart => intervals.sum::<Option<f64>>()?,
        _ => 0.0,
    };
    let holds = left.complete
        && right.complete
        && left.mean.zip(right.mean).is_some_and(|(left, right)| {
            relation(shape.is, left.mean, right.mean, spread + shape.tolerance_ratio * right.mean.abs())
        });
    Some((left.mean.into_iter().chain(right.mean).collect(), holds))
}

/// The means of all points that were run, in order.
fn hold_along(outcomes: &Outcomes<'_>, shape: &Shape, along: Along) -> Option<(Vec<Mean>, bool)> {
    let (_, run) = outcomes.run(&shape.measure.run)?;
    let points = run.sweep.iter().flat_map(|sweep| &sweep.points);
    let found: Vec<Measurement> =
        points.filter_map(|point| outcomes.measure_at(&shape.measure, &point.at)).collect();
    if found.len() < 2 {
        return None;
    }
    let means: Vec<Mean> = found.iter().filter_map(|found| found.mean).collect();
    let numbers: Vec<f64> = means.iter().map(|mean| mean.mean).collect();
    let complete = found.iter().all(|found| found.complete);
    Some((means, complete && goes(along, &numbers, shape.tolerance_ratio)))
}

/// Whether numbers go that way. What rises must also end higher than it begins.
fn goes(along: Along, numbers: &[f64], tolerance_ratio: f64) -> bool {
    let [Some(first), Some(last)] = [numbers.first(), numbers.last()] else { return false };
    let steps = |is| {
        let mut pairs = numbers.windows(2);
        pairs.all(|pair| relation(is, pair[1], pair[0], tolerance_ratio * pair[0].abs()))
    };
    match along {
        Along::Rises => last > first && steps(Is::Above),
        Along::Falls => last < first && steps(Is::Below),
        Along::Level => {
            let mean = numbers.iter().sum::<f64>() / numbers.len() as f64;
            numbers.iter().all(|x| relation(Is::About, *x, mean, tolerance_ratio * mean.abs()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::{Gave, Outcome};

    /// A figure with a run `m` without a sweep and a run `s` with three points, and these parts.
    fn figure(parts: &str) -> Figure {
        let text = format!(
            r#"title = "t"
            source = "s"
            setup = "s"
            expect = "e"
            no_kernel = "n"
            {parts}
            [[run]]
            name = "m"
            model = "x"
            [[run]]
            name = "s"
            model = "x"
            [run.sweep]
            title = "x"
            point = [
                {{ at = "a", x = 1, set = [] }}, {{ at = "b", x = 2, set = [] }},
                {{ at = "c", x = 3, set = [] }}
            ]"#
        );
        toml::from_str(&text).unwrap()
    }

    /// What a model with the value `v` gives; NaN: it has none.
    fn gave(run: usize, point: usize, v: f64) -> Outcome {
        let mut output = fairpace_models::Output::default();
        output.values.insert("v".into(), v);
        Outcome { run, point, gave: Gave::Model(output) }
    }

    /// The figure with `m` at `m` and the points of `s` from the first on.
    fn judged(parts: &str, m: f64, s: &[f64]) -> (Vec<Compared>, Vec<Held>, Verdict) {
        let figure = figure(parts);
        let sweep = s.iter().enumerate().map(|(point, v)| gave(1, point, *v));
        let all: Vec<Outcome> = [gave(0, 0, m)].into_iter().chain(sweep).collect();
        judge(&Outcomes { figure: &figure, all: &all }, Target::Simulator)
    }

    fn value(rest: &str) -> String {
        let measure = "measure = { run = \"m\", of = \"model.v\" }";
        format!("[[value]]\nwhat = \"w\"\nquote = \"q\"\npublished = 50\n{measure}\n{rest}")
    }

    fn shape(rest: &str) -> String {
        format!("[[shape]]\nwhat = \"w\"\nmeasure = {{ run = \"m\", of = \"model.v\" }}\n{rest}")
    }

    fn along(rest: &str) -> String {
        format!("[[shape]]\nwhat = \"w\"\nmeasure = {{ run = \"s\", of = \"model.v\" }}\n{rest}")
    }

    #[track_caller]
    fn assert_values(rest: &str, cases: &[(f64, bool)]) {
        for (ours, holds) in cases {
            assert_eq!(judged(&value(rest), *ours, &[]).0[0].holds, Some(*holds), "{ours} with {rest}");
        }
    }

    #[track_caller]
    fn assert_along(rest: &str, cases: &[(&[f64], bool)]) {
        for (points, holds) in cases {
            assert_eq!(judged(&along(rest), 0.0, points).1[0].holds, Some(*holds), "{points:?} with {rest}");
        }
    }

    #[test]
    fn a_value_holds_up_to_its_tolerance() {
        assert_values("tolerance = 5", &[(55.0, true), (45.0, true), (55.01, false), (44.99, false)]);
        assert_values("tolerance = 0", &[(50.0, true), (50.001, false)]);
        assert_values("tolerance_ratio = 0.1", &[(55.0, true), (45.0, true), (55.01, false)]);
    }

    #[test]
    fn of_two_tolerances_the_larger_counts() {
        assert_values("tolerance = 1\ntolerance_ratio = 0.1", &[(55.0, true), (55.1, false)]);
        assert_values("tolerance = 10\ntolerance_ratio = 0.1", &[(60.0, true), (60.1, false)]);
    }

    #[test]
    fn bounds_are_open_to_one_side() {
        assert_values("is = \"below\"\ntolerance = 2", &[(-9.0, true), (52.0, true), (52.01, false)]);
        assert_values("is = \"above\"\ntolerance = 2", &[(990.0, true), (48.0, true), (47.99, false)]);
    }

    #[test]
    fn what_is_missing_never_holds() {
        for is in ["about", "below", "above"] {
            let rest = format!("is = \"{is}\"\ntolerance = 1e9");
            assert_values(&rest, &[(f64::NAN, false), (f64::INFINITY, false), (f64::NEG_INFINITY, false)]);
            let (_, shapes, verdict) = judged(&shape(&format!("is = \"{is}\"")), f64::NAN, &[]);
            assert_eq!((shapes[0].holds, verdict), (Some(false), Verdict::Differs));
        }
        assert_along("along = \"level\"\ntolerance_ratio = 9", &[(&[1.0, f64::NAN, 1.0], false)]);
    }

    #[test]
    fn a_relation_scales_its_right_side_and_its_slack() {
        let than = "than = { run = \"s\", at = \"a\", of = \"model.v\" }\nfactor = 2";
        for (is, ratio, left, holds) in [
            ("below", 0.0, 20.0, true),
            ("below", 0.0, 20.1, false),
            ("below", 0.1, 22.0, true),
            ("above", 0.0, 20.0, true),
            ("above", 0.1, 17.9, false),
            ("about", 0.1, 18.0, true),
            ("about", 0.1, 22.1, false),
        ] {
            let rest = format!("is = \"{is}\"\ntolerance_ratio = {ratio}\n{than}");
            let shapes = judged(&shape(&rest), left, &[10.0]).1;
            assert_eq!(shapes[0].holds, Some(holds), "{left} {is} 20 with {ratio}");
            assert_eq!(shapes[0].ours.iter().map(|mean| mean.mean).collect::<Vec<_>>(), [left, 20.0]);
        }
    }

    #[test]
    fn without_another_measure_the_factor_is_the_right_side() {
        assert_eq!(judged(&shape("is = \"above\"\nfactor = 3"), 3.0, &[]).1[0].holds, Some(true));
        assert_eq!(judged(&shape("is = \"above\"\nfactor = 3"), 2.9, &[]).1[0].holds, Some(false));
    }

    #[test]
    fn what_rises_may_fall_a_little_on_the_way_but_ends_higher() {
        let rises = "along = \"rises\"\ntolerance_ratio = 0.1";
        assert_along(
            rises,
            &[(&[1.0, 2.0, 3.0], true), (&[10.0, 9.0, 11.0], true), (&[10.0, 8.9, 11.0], false)],
        );
        assert_along(rises, &[(&[10.0, 9.5, 9.2], false), (&[1.0, 1.0, 1.0], false)]);
        let falls = "along = \"falls\"\ntolerance_ratio = 0.1";
        assert_along(
            falls,
            &[(&[3.0, 2.0, 1.0], true), (&[10.0, 11.0, 9.0], true), (&[10.0, 11.1, 9.0], false)],
        );
        assert_along(falls, &[(&[10.0, 10.5, 10.2], false)]);
    }

    #[test]
    fn what_is_level_stays_near_the_mean_of_all() {
        let level = "along = \"level\"\ntolerance_ratio = 0.1";
        assert_along(
            level,
            &[(&[9.0, 10.0, 11.0], true), (&[8.9, 10.0, 11.1], false), (&[0.0, 0.0, 0.0], true)],
        );
    }

    #[test]
    fn sides_are_apart_when_their_intervals_leave_a_gap() {
        let apart = |ratio: f64| {
            let than = "than = { run = \"s\", at = \"a\", of = \"model.v\" }";
            shape(&format!("is = \"apart\"\ntolerance_ratio = {ratio}\n{than}"))
        };
        // of two seeds one apart, half of the interval is 12.706 / 2
        let pair = |of: &str, mean: f64| format!("{of},{}\n{of},{}\n", mean - 0.5, mean + 0.5);
        for (left, ratio, holds) in
            [(12.6, 0.0, false), (12.8, 0.0, true), (-12.8, 0.0, true), (14.0, 0.1, false)]
        {
            let rows = format!("{}{}", pair("m", 100.0 + left), pair("a", 100.0));
            assert_eq!(judged_by_table(&apart(ratio), &rows).1[0].holds, Some(holds), "{left}");
        }
        assert_eq!(judged_by_table(&apart(0.0), "m,1\na,9\n").1[0].holds, None, "one seed has no interval");
        let bound = shape("is = \"apart\"\nfactor = 100");
        let holds = |mean: f64| judged_by_table(&bound, &pair("m", mean)).1[0].holds;
        assert_eq!(
            (holds(106.0), holds(107.0)),
            (Some(false), Some(true)),
            "a number has no interval to add"
        );
    }

    #[test]
    fn what_was_not_run_is_not_judged() {
        let (_, shapes, verdict) = judged(&along("along = \"rises\""), 0.0, &[5.0]);
        assert_eq!((shapes[0].holds, verdict), (None, Verdict::NotRun), "one point has no direction");
        let than = shape("than = { run = \"s\", at = \"c\", of = \"model.v\" }");
        assert_eq!(judged(&than, 1.0, &[1.0]).1[0].holds, None);
    }

    /// The figure with `m` and the points of `s` read from a table that has rows of some of them.
    fn judged_by_table(parts: &str, rows: &str) -> (Vec<Compared>, Vec<Held>, Verdict) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("runs.csv");
        std::fs::write(&path, format!("of,v\n{rows}")).unwrap();
        let table = |run, point, of: &str| {
            let filters = vec![("of".to_owned(), of.to_owned())];
            Outcome { run, point, gave: Gave::Table { path: path.clone(), filters } }
        };
        let figure = figure(&parts.replace("model.v", "table.v"));
        let all = [table(0, 0, "m"), table(1, 0, "a"), table(1, 1, "b"), table(1, 2, "c")];
        judge(&Outcomes { figure: &figure, all: &all }, Target::Simulator)
    }

    #[test]
    fn what_a_table_has_no_rows_of_is_not_judged() {
        let parts = format!("{}\n{}", value("tolerance = 5"), shape("is = \"above\"\nfactor = 40"));
        let holds = |rows: &str| {
            let (values, shapes, verdict) = judged_by_table(&parts, rows);
            (values[0].holds, shapes[0].holds, verdict)
        };
        assert_eq!(holds("a,50\n"), (None, None, Verdict::NotRun));
        assert_eq!(holds("m,50\n"), (Some(true), Some(true), Verdict::Reproduced));
        assert_eq!(holds("m,30\nm,32\n"), (Some(false), Some(false), Verdict::Differs));
        for (rows, holds) in [("m,1\n", None), ("b,1\n", None), ("m,1\nb,2\n", Some(false))] {
            let than = shape("is = \"above\"\nthan = { run = \"s\", at = \"b\", of = \"model.v\" }");
            assert_eq!(judged_by_table(&than, rows).1[0].holds, holds, "{rows}");
            let over = "over = { run = \"s\", at = \"b\", of = \"model.v\" } }";
            let over = shape("is = \"above\"").replace("\" }", &format!("\", {over}"));
            assert_eq!(judged_by_table(&over, rows).1[0].holds, holds, "{rows} over");
        }
    }

    #[test]
    fn a_figure_is_not_reproduced_while_a_table_lacks_one_of_its_numbers() {
        let other = "[[value]]\nwhat = \"w\"\nquote = \"q\"\npublished = 50\ntolerance = 5\n\
                     measure = { run = \"s\", at = \"a\", of = \"model.v\" }";
        let parts = format!("{}\n{other}\n{}", value("tolerance = 5"), shape("is = \"above\"\nfactor = 40"));
        assert_eq!(judged_by_table(&parts, "m,50\n").2, Verdict::ShapeOnly);
        assert_eq!(judged_by_table(&parts, "m,50\na,50\n").2, Verdict::Reproduced);
    }

    #[test]
    fn points_that_a_table_has_no_rows_of_are_left_out_of_the_way() {
        let rises = along("along = \"rises\"");
        for (rows, holds) in [
            ("a,1\nc,2\n", Some(true)),
            ("a,2\nc,1\n", Some(false)),
            ("a,1\nb,3\nc,2\n", Some(false)),
            ("b,1\n", None),
            ("", None),
        ] {
            let held = &judged_by_table(&rises, rows).1[0];
            assert_eq!(held.holds, holds, "{rows}");
        }
    }

    #[test]
    fn the_kernel_is_not_judged_by_what_was_only_computed() {
        let figure = figure(&value("tolerance = 5"));
        let all = [gave(0, 0, 50.0)];
        let (values, _, verdict) = judge(&Outcomes { figure: &figure, all: &all }, Target::Testbed);
        assert_eq!((values[0].ours, verdict), (None, Verdict::NotRun));
    }

    #[test]
    fn verdicts() {
        let value = value("tolerance = 5");
        let both = format!("{value}\n{}", shape("is = \"above\"\nfactor = 40"));
        let verdict = |parts: &str, m: f64| judged(parts, m, &[]).2;
        assert_eq!(verdict(&both, 50.0), Verdict::Reproduced);
        assert_eq!(verdict(&both, 60.0), Verdict::ShapeOnly);
        assert_eq!(verdict(&both, 30.0), Verdict::Differs);
        assert_eq!(verdict(&value, 50.0), Verdict::Reproduced);
        assert_eq!(verdict(&value, 60.0), Verdict::Differs, "there is no shape that could be alike");
        assert_eq!(verdict(&shape("is = \"above\"\nfactor = 40"), 50.0), Verdict::Reproduced);
        assert_eq!(verdict("", 50.0), Verdict::NotRun);
    }

    #[test]
    fn a_shape_without_any_of_the_numbers_is_a_shape_only() {
        let elsewhere = "[[value]]\nwhat = \"w\"\nquote = \"q\"\npublished = 50\ntolerance = 5\n\
                         measure = { run = \"s\", at = \"a\", of = \"model.v\" }\n";
        let parts = format!("{elsewhere}{}", shape("is = \"above\"\nfactor = 40"));
        assert_eq!(judged(&parts, 50.0, &[]).2, Verdict::ShapeOnly);
        assert_eq!(judged(&parts, 50.0, &[50.0]).2, Verdict::Reproduced);
    }
}
