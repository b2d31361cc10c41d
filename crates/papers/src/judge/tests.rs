//! Tests of the rules of the judge.

use std::sync::Arc;

use super::*;
use crate::measure::{Gave, Outcome};
use crate::record::{Cost, Moved};
use crate::table::Rows;

/// A figure with a run `m` without a sweep, a run `s` with three points, and the given parts.
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

/// The figure without models, whose numbers are exact.
fn measured_not_computed(mut figure: Figure) -> Figure {
    figure.runs.iter_mut().for_each(|run| run.model.clear());
    figure
}

/// An outcome of a model with the value `v`; NaN: the model has no value.
fn gave(run: usize, point: usize, v: f64) -> Outcome {
    let mut output = crate::models::Output::default();
    output.values.insert("v".into(), v);
    Outcome { run, point, gave: Gave::Model(output) }
}

/// The measurements of a place, without findings and pictures.
fn unjudged(on: Target, (values, shapes): (Vec<Compared>, Vec<Compared>)) -> Measured {
    let (stack, cost, verdict) = (String::new(), Cost::default(), Verdict::NotRun);
    Measured { on, stack, cost, verdict, values, shapes, pictures: vec![] }
}

/// Judges the outcomes: numbers with their findings, and the verdict.
fn judge(outcomes: &Outcomes<'_>, on: Target, rule: Rule) -> (Vec<Compared>, Vec<Compared>, Verdict) {
    let mut measured = unjudged(on, numbers(outcomes, on));
    find(outcomes.figure, rule, &mut measured);
    (measured.values, measured.shapes, measured.verdict)
}

/// Judges the figure for the value `m` of the run `m`, and values `s` for the points of the run `s`, from the
/// first on.
fn judged(parts: &str, m: f64, s: &[f64]) -> (Vec<Compared>, Vec<Compared>, Verdict) {
    let figure = figure(parts);
    let sweep = s.iter().enumerate().map(|(point, v)| gave(1, point, *v));
    let all: Vec<Outcome> = [gave(0, 0, m)].into_iter().chain(sweep).collect();
    judge(&Outcomes { figure: &figure, all: &all }, Target::Simulator, Rule::Interval)
}

fn value(rest: &str) -> String {
    let measure = "measure = { run = \"m\", of = \"model.v\" }";
    format!("[[value]]\nwhat = \"w\"\nquote = \"q\"\npublished = 50\n{measure}\n{rest}")
}

fn shape(rest: &str) -> String {
    format!("[[shape]]\nwhat = \"w\"\nquote = \"q\"\nmeasure = {{ run = \"m\", of = \"model.v\" }}\n{rest}")
}

fn along(rest: &str) -> String {
    format!("[[shape]]\nwhat = \"w\"\nquote = \"q\"\nmeasure = {{ run = \"s\", of = \"model.v\" }}\n{rest}")
}

/// The finding of an exact number, which is never open.
fn exact(holds: bool) -> Finding {
    if holds { Finding::Holds } else { Finding::Contradicted }
}

#[track_caller]
fn assert_values(rest: &str, cases: &[(f64, bool)]) {
    for (ours, holds) in cases {
        assert_eq!(judged(&value(rest), *ours, &[]).0[0].finding, exact(*holds), "{ours} with {rest}");
    }
}

#[track_caller]
fn assert_along(rest: &str, cases: &[(&[f64], bool)]) {
    for (points, holds) in cases {
        let finding = judged(&along(rest), 0.0, points).1[0].finding;
        assert_eq!(finding, exact(*holds), "{points:?} with {rest}");
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
    assert_values("is = \"below\"", &[(-9.0, true), (50.0, true), (50.01, false)]);
    assert_values("is = \"above\"", &[(990.0, true), (50.0, true), (49.99, false)]);
}

#[test]
fn what_is_missing_never_holds() {
    for is in ["about", "below", "above"] {
        let rest = format!("is = \"{is}\"\ntolerance = 1e9");
        assert_values(&rest, &[(f64::NAN, false), (f64::INFINITY, false), (f64::NEG_INFINITY, false)]);
        let (_, shapes, verdict) = judged(&shape(&format!("is = \"{is}\"")), f64::NAN, &[]);
        assert_eq!((shapes[0].finding, verdict), (Finding::Contradicted, Verdict::Not));
    }
    let level = along("along = \"level\"\ntolerance_ratio = 9");
    let finding = |points: &[f64]| judged(&level, 0.0, points).1[0].finding;
    assert_eq!(finding(&[1.0, f64::NAN, 1.0]), Finding::Open);
    assert_eq!(finding(&[f64::NAN; 3]), Finding::Contradicted);
}

#[test]
fn a_relation_scales_its_right_side_and_its_tolerance() {
    let than = "than = { run = \"s\", at = \"a\", of = \"model.v\" }\nfactor = 2";
    for (is, ratio, left, holds) in [
        ("below", 0.0, 20.0, true),
        ("below", 0.0, 20.1, false),
        ("above", 0.0, 20.0, true),
        ("above", 0.0, 19.9, false),
        ("about", 0.1, 18.0, true),
        ("about", 0.1, 22.1, false),
    ] {
        let rest = format!("is = \"{is}\"\ntolerance_ratio = {ratio}\n{than}");
        let shapes = judged(&shape(&rest), left, &[10.0]).1;
        assert_eq!(shapes[0].finding, exact(holds), "{left} {is} 20 with {ratio}");
        assert_eq!(shapes[0].numbers.ours.iter().map(|mean| mean.mean).collect::<Vec<_>>(), [left, 20.0]);
    }
}

#[test]
fn without_another_measure_the_factor_is_the_right_side() {
    let finding = |m| judged(&shape("is = \"above\"\nfactor = 3"), m, &[]).1[0].finding;
    assert_eq!([finding(3.0), finding(2.9)], [Finding::Holds, Finding::Contradicted]);
}

#[test]
fn what_rises_never_falls_on_the_way_and_ends_higher() {
    let rises = "along = \"rises\"";
    assert_along(rises, &[(&[1.0, 2.0, 3.0], true), (&[1.0, 1.0, 2.0], true)]);
    assert_along(rises, &[(&[10.0, 9.9, 11.0], false), (&[1.0, 1.0, 1.0], false)]);
    let falls = "along = \"falls\"";
    assert_along(falls, &[(&[3.0, 2.0, 1.0], true), (&[10.0, 10.1, 9.0], false), (&[2.0, 2.0], false)]);
}

#[test]
fn what_is_level_stays_near_the_mean_of_all() {
    let level = "along = \"level\"\ntolerance_ratio = 0.1";
    assert_along(level, &[(&[9.0, 10.0, 11.0], true), (&[8.9, 10.0, 11.1], false), (&[0.0, 0.0, 0.0], true)]);
}

/// Two rows of a table, whose mean is `mean` and whose 95 % interval extends `half` to each side.
fn pair(of: &str, mean: f64, half: f64) -> String {
    // Student's t with 1 degree of freedom is 12.7062, the standard error of two values is half their gap
    let step = half / 12.7062;
    format!("{of},{}\n{of},{}\n", mean - step, mean + step)
}

#[test]
fn a_value_holds_if_its_whole_interval_is_within_the_tolerance() {
    use Finding::{Contradicted, Holds, Open};
    let cases = [
        ("tolerance = 10", 50.0, 9.9, Holds),
        ("tolerance = 10", 50.0, 10.1, Open),
        ("tolerance = 10", 57.0, 4.0, Open),
        ("tolerance = 10", 65.0, 6.0, Open),
        ("tolerance = 10", 65.0, 4.0, Contradicted),
        ("is = \"below\"", 45.0, 4.0, Holds),
        ("is = \"below\"", 45.0, 6.0, Open),
        ("is = \"below\"", 55.0, 4.0, Contradicted),
        ("is = \"above\"", 55.0, 4.0, Holds),
        ("is = \"above\"", 55.0, 6.0, Open),
        ("is = \"above\"", 45.0, 4.0, Contradicted),
    ];
    for (rest, mean, half, finding) in cases {
        let found = judged_by_table(&value(rest), &pair("m", mean, half)).0[0].finding;
        assert_eq!(found, finding, "{mean} ± {half} with {rest}");
    }
    let one = |mean: f64| judged_by_table(&value("tolerance = 5"), &format!("m,{mean}\n")).0[0].finding;
    assert_eq!([one(50.0), one(1000.0)], [Open; 2], "one run has no interval");
}

#[test]
fn sides_stand_in_a_relation_if_there_is_a_gap_between_their_intervals() {
    use Finding::{Contradicted, Holds, Open};
    let than = "than = { run = \"s\", at = \"a\", of = \"model.v\" }\nfactor = 2";
    let finding = |is: &str, left: (f64, f64), right: (f64, f64)| {
        let rows = format!("{}{}", pair("m", left.0, left.1), pair("a", right.0, right.1));
        judged_by_table(&shape(&format!("is = \"{is}\"\n{than}")), &rows).1[0].finding
    };
    assert_eq!(finding("above", (30.0, 4.0), (10.0, 2.9)), Holds);
    assert_eq!(finding("above", (30.0, 4.0), (10.0, 3.1)), Open, "the interval is scaled, too");
    assert_eq!(finding("above", (15.0, 2.0), (10.0, 1.4)), Contradicted);
    assert_eq!(finding("below", (15.0, 2.0), (10.0, 1.4)), Holds);
    assert_eq!(finding("below", (15.0, 2.0), (10.0, 1.6)), Open);
}

#[test]
fn each_step_of_a_direction_must_leave_a_gap() {
    use Finding::{Contradicted, Holds, Open};
    let finding = |points: [(f64, f64); 3]| {
        let row = |(of, (mean, half)): (&str, (f64, f64))| pair(of, mean, half);
        let rows: String = ["a", "b", "c"].into_iter().zip(points).map(row).collect();
        judged_by_table(&along("along = \"rises\""), &rows).1[0].finding
    };
    assert_eq!(finding([(1.0, 0.4), (2.0, 0.4), (3.0, 0.4)]), Holds);
    assert_eq!(finding([(1.0, 0.6), (2.0, 0.6), (3.0, 0.4)]), Open);
    assert_eq!(finding([(2.0, 0.4), (1.0, 0.4), (3.0, 0.4)]), Contradicted);
}

#[test]
fn the_quick_version_goes_by_means() {
    let figure = figure(&format!("{}\n{}", value("tolerance = 5"), shape("is = \"apart\"\nfactor = 9")));
    let figure = measured_not_computed(figure);
    let all = [gave(0, 0, 50.0)];
    let outcomes = Outcomes { figure: &figure, all: &all };
    let findings = |rule| {
        let (values, shapes, _) = judge(&outcomes, Target::Simulator, rule);
        (values[0].finding, shapes[0].finding)
    };
    assert_eq!(findings(Rule::Interval), (Finding::Open, Finding::Open));
    assert_eq!(findings(Rule::Mean), (Finding::Holds, Finding::NotMeasured));
}

#[test]
fn what_is_ours_or_cannot_fail_is_found_and_not_counted() {
    let ours = "[[shape]]\nwhat = \"w\"\nours = true\nis = \"above\"\nfactor = 90\n\
                measure = { run = \"m\", of = \"model.v\" }";
    let constructed = value("tolerance = 5\nby_construction = \"It is an input.\"");
    let both = format!("{constructed}\n{ours}");
    let (values, shapes, verdict) = judged(&both, 50.0, &[]);
    assert_eq!((values[0].finding, shapes[0].finding), (Finding::Holds, Finding::Contradicted));
    assert_eq!(verdict, Verdict::Ours);
    let measured = unjudged(Target::Simulator, (values, shapes));
    let counted = Counted::of(&figure(&both), Some(&measured));
    assert_eq!((counted.values.all(), counted.shapes.all(), counted.by_construction), (0, 0, 1));
    let found = [Finding::Holds, Finding::Contradicted].map(|finding| counted.ours.of(finding));
    assert_eq!(found, [0, 1]);
    assert_eq!(judged(&format!("{}\n{ours}", value("tolerance = 5")), 50.0, &[]).2, Verdict::Replicated);
}

#[test]
fn what_is_on_record_is_judged_again_by_the_figure_of_now() {
    let (values, shapes, _) = judged(&value("tolerance = 5"), 50.0, &[]);
    let mut measured = unjudged(Target::Simulator, (values, shapes));
    find(&figure(&value("tolerance = 5").replace("= 50", "= 60")), Rule::Interval, &mut measured);
    assert_eq!((measured.values[0].finding, measured.verdict), (Finding::Contradicted, Verdict::Not));
}

#[test]
fn sides_are_apart_when_their_intervals_leave_a_gap() {
    let apart = |ratio: f64| {
        let than = "than = { run = \"s\", at = \"a\", of = \"model.v\" }";
        shape(&format!("is = \"apart\"\ntolerance_ratio = {ratio}\n{than}"))
    };
    for (left, ratio, holds) in
        [(12.6, 0.0, false), (12.8, 0.0, true), (-12.8, 0.0, true), (14.0, 0.1, false)]
    {
        let rows = format!("{}{}", pair("m", 100.0 + left, 6.35), pair("a", 100.0, 6.35));
        let finding = judged_by_table(&apart(ratio), &rows).1[0].finding;
        assert_eq!(finding == Finding::Holds, holds, "{left}");
        assert_ne!(finding, Finding::Contradicted, "intervals that meet are no evidence against it");
    }
    let one = judged_by_table(&apart(0.0), "m,1\na,9\n").1[0].finding;
    assert_eq!(one, Finding::Open, "one seed has no interval");
    let bound = shape("is = \"apart\"\nfactor = 100");
    let finding = |mean: f64| judged_by_table(&bound, &pair("m", mean, 6.35)).1[0].finding;
    let message = "a number has no interval to add";
    assert_eq!((finding(106.0), finding(107.0)), (Finding::Open, Finding::Holds), "{message}");
}

#[test]
fn what_was_not_run_is_not_judged() {
    let (_, shapes, verdict) = judged(&along("along = \"rises\""), 0.0, &[5.0]);
    assert_eq!(
        (shapes[0].finding, verdict),
        (Finding::NotMeasured, Verdict::NotRun),
        "one point has no direction"
    );
    let than = shape("than = { run = \"s\", at = \"c\", of = \"model.v\" }");
    assert_eq!(judged(&than, 1.0, &[1.0]).1[0].finding, Finding::NotMeasured);
}

/// Judges the figure for values of `m` and `s` from a table that has rows of some of them.
fn judged_by_table(parts: &str, rows: &str) -> (Vec<Compared>, Vec<Compared>, Verdict) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("runs.csv");
    std::fs::write(&path, format!("of,v\n{rows}")).unwrap();
    let rows = Arc::new(Rows::read(&path).unwrap());
    let table = |run, point, of: &str| {
        let filters = vec![("of".to_owned(), of.to_owned())];
        Outcome { run, point, gave: Gave::Table { table: Arc::clone(&rows), filters } }
    };
    let figure = measured_not_computed(figure(&parts.replace("model.v", "table.v")));
    let all = [table(0, 0, "m"), table(1, 0, "a"), table(1, 1, "b"), table(1, 2, "c")];
    judge(&Outcomes { figure: &figure, all: &all }, Target::Simulator, Rule::Interval)
}

#[test]
fn what_a_table_has_no_rows_of_is_not_judged() {
    use Finding::{Contradicted, Holds, NotMeasured};
    let parts = format!("{}\n{}", value("tolerance = 5"), shape("is = \"above\"\nfactor = 40"));
    let found = |rows: &str| {
        let (values, shapes, verdict) = judged_by_table(&parts, rows);
        (values[0].finding, shapes[0].finding, verdict)
    };
    assert_eq!(found(&pair("a", 50.0, 1.0)), (NotMeasured, NotMeasured, Verdict::NotRun));
    assert_eq!(found(&pair("m", 50.0, 1.0)), (Holds, Holds, Verdict::Replicated));
    assert_eq!(found(&pair("m", 31.0, 1.0)), (Contradicted, Contradicted, Verdict::Not));
    for (rows, finding) in [
        (pair("m", 1.0, 0.1), NotMeasured),
        (pair("b", 1.0, 0.1), NotMeasured),
        (format!("{}{}", pair("m", 1.0, 0.1), pair("b", 2.0, 0.1)), Contradicted),
    ] {
        let than = shape("is = \"above\"\nthan = { run = \"s\", at = \"b\", of = \"model.v\" }");
        assert_eq!(judged_by_table(&than, &rows).1[0].finding, finding, "{rows}");
        let over = "over = { run = \"s\", at = \"b\", of = \"model.v\" } }";
        let over = shape("is = \"above\"").replace("\" }", &format!("\", {over}"));
        assert_eq!(judged_by_table(&over, &rows).1[0].finding, finding, "{rows} over");
    }
}

#[test]
fn a_figure_is_not_replicated_while_a_number_is_missing() {
    let other = "[[value]]\nwhat = \"w\"\nquote = \"q\"\npublished = 50\ntolerance = 5\n\
                 measure = { run = \"s\", at = \"a\", of = \"model.v\" }";
    let parts = format!("{}\n{other}\n{}", value("tolerance = 5"), shape("is = \"above\"\nfactor = 40"));
    assert_eq!(judged_by_table(&parts, &pair("m", 50.0, 1.0)).2, Verdict::Partly);
    let both = format!("{}{}", pair("m", 50.0, 1.0), pair("a", 50.0, 1.0));
    assert_eq!(judged_by_table(&parts, &both).2, Verdict::Replicated);
}

#[test]
fn points_that_a_table_has_no_rows_of_are_left_out_of_the_way() {
    let rises = along("along = \"rises\"");
    let rows =
        |points: &[(&str, f64)]| points.iter().map(|(of, mean)| pair(of, *mean, 0.1)).collect::<String>();
    for (points, finding) in [
        (&[("a", 1.0), ("c", 2.0)][..], Finding::Holds),
        (&[("a", 2.0), ("c", 1.0)], Finding::Contradicted),
        (&[("a", 1.0), ("b", 3.0), ("c", 2.0)], Finding::Contradicted),
        (&[("b", 1.0)], Finding::NotMeasured),
        (&[], Finding::NotMeasured),
    ] {
        assert_eq!(judged_by_table(&rises, &rows(points)).1[0].finding, finding, "{points:?}");
    }
}

#[test]
fn the_kernel_is_not_judged_by_what_was_only_computed() {
    let figure = figure(&value("tolerance = 5"));
    let all = [gave(0, 0, 50.0)];
    let (values, _, verdict) =
        judge(&Outcomes { figure: &figure, all: &all }, Target::Testbed, Rule::Interval);
    assert_eq!((values[0].ours(), verdict), (None, Verdict::NotRun));
}

#[test]
fn verdicts() {
    let value = value("tolerance = 5");
    let both = format!("{value}\n{}", shape("is = \"above\"\nfactor = 40"));
    let verdict = |parts: &str, m: f64| judged(parts, m, &[]).2;
    assert_eq!(verdict(&both, 50.0), Verdict::Replicated);
    assert_eq!(verdict(&both, 60.0), Verdict::Partly);
    assert_eq!(verdict(&both, 30.0), Verdict::Not);
    assert_eq!(verdict(&value, 50.0), Verdict::Replicated);
    assert_eq!(verdict(&value, 60.0), Verdict::Not);
    assert_eq!(verdict(&shape("is = \"above\"\nfactor = 40"), 50.0), Verdict::Replicated);
    assert_eq!(verdict("", 50.0), Verdict::NotRun);
}

#[test]
fn a_change_of_a_cause_reaches_a_value_or_moves_it_or_does_not() {
    let of = |is: &str, changed: (f64, f64)| {
        let cause = "[[value.cause]]\nwhat = \"w\"\nmeasure = { run = \"s\", at = \"a\", of = \"model.v\" }";
        let rows = format!("{}{}", pair("m", 80.0, 5.0), pair("a", changed.0, changed.1));
        judged_by_table(&format!("{}\n{cause}", value(is)), &rows).0[0].tried[0].moved
    };
    let about = "tolerance = 5";
    for (changed, moved) in [
        ((52.0, 2.0), Moved::Reaches),
        ((52.0, 4.0), Moved::Towards),
        ((65.0, 2.0), Moved::Towards),
        ((30.0, 2.0), Moved::Towards),
        ((74.0, 2.0), Moved::Unmoved),
        ((10.0, 2.0), Moved::Away),
        ((95.0, 2.0), Moved::Away),
    ] {
        assert_eq!(of(about, changed), moved, "from 80 ± 5 to {changed:?}, published 50 ± 5");
    }
    assert_eq!(of("is = \"below\"", (10.0, 2.0)), Moved::Reaches, "a bound is not passed by");
    assert_eq!(of("is = \"below\"", (52.0, 4.0)), Moved::Towards, "the whole interval must reach it");
}

#[test]
fn a_change_that_was_not_run_moves_nothing() {
    let cause = "[[value.cause]]\nwhat = \"w\"\nmeasure = { run = \"s\", at = \"c\", of = \"model.v\" }";
    let parts = format!("{}\n{cause}", value("tolerance = 5"));
    let moved = |rows: &str| judged_by_table(&parts, rows).0[0].tried[0].moved;
    assert_eq!(moved(&pair("m", 80.0, 5.0)), Moved::NotMeasured);
    assert_eq!(moved(&format!("{}c,50\n", pair("m", 80.0, 5.0))), Moved::Unmoved, "one seed shows nothing");
}
