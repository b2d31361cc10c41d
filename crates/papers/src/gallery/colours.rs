//! The colour of a line: the colour of the algorithm whose flows it measures, in a tone of its own if several
//! lines of a picture have this colour.

use fairpace_report::chart::{Colour, Hue};

use crate::figure::{Figure, Line, Measure, Plot, Point};

/// The colours of the lines of a plot, in the plot's order. References and states are counted separately, as
/// they look different.
pub(super) fn of_lines(figure: &Figure, plot: &Plot) -> Vec<Colour> {
    let kinds: Vec<(bool, Option<Hue>)> = plot
        .lines
        .iter()
        .map(|line| (line.reference || line.is_phase(), of_line(figure, plot, line, None)))
        .collect();
    let same =
        |of: &(bool, Option<Hue>), until: usize| kinds[..until].iter().filter(|kind| *kind == of).count();
    let colour =
        |(i, of): (usize, &(bool, Option<Hue>))| Colour::among(of.1, same(of, i), same(of, kinds.len()));
    let colours: Vec<Colour> = kinds.iter().enumerate().map(colour).collect();
    // With too many lines of one algorithm only their places tell all apart.
    match colours.iter().any(|colour| matches!(colour, Colour::Series(_))) {
        true => (0..colours.len()).map(Colour::Series).collect(),
        false => colours,
    }
}

/// The colour of a line at a point of its sweep, by the path of its measure, the settings, or the words of
/// its label; `None` if the line measures no algorithm, or several.
pub(super) fn of_line(figure: &Figure, plot: &Plot, line: &Line, at: Option<&Point>) -> Option<Hue> {
    if line.is_drawn_as_published() {
        return None;
    }
    let of_point = || at.and_then(|point| in_words(&point.at));
    let words = || in_words(&line.label).or_else(|| in_words(&plot.title));
    match named(figure, &line.measure, at) {
        Some(hue) => hue,
        None => of_point().or_else(|| of_run(figure, &line.measure)).or_else(words),
    }
}

/// The colour of a measure without a line.
pub(crate) fn of_measure(figure: &Figure, measure: &Measure) -> Option<Hue> {
    named(figure, measure, None).unwrap_or_else(|| of_run(figure, measure))
}

/// The colour that the measure's path or a setting names; `Some(None)` is an algorithm without a colour.
fn named(figure: &Figure, measure: &Measure, at: Option<&Point>) -> Option<Option<Hue>> {
    let flow = measure.of.strip_prefix("flow.").and_then(|rest| rest.split('.').next());
    if let Some(hue) = flow.and_then(|flow| Hue::of(flow.strip_prefix("cc=").unwrap_or(flow))) {
        return Some(Some(hue));
    }
    let run = figure.runs.iter().find(|run| run.name == measure.run);
    let sets = at.map_or(&[][..], |point| &point.set).iter().chain(run.map_or(&[][..], |run| &run.set));
    let sets: Vec<(&str, &str)> = sets.filter_map(|set| set.split_once('=')).collect();
    let own = flow.map(|flow| format!("flow.{flow}.cc"));
    let value =
        |is_it: &dyn Fn(&str) -> bool| sets.iter().find(|(key, _)| is_it(key)).map(|(_, value)| *value);
    let pair = || value(&|key| key == "pair").and_then(|pair| pair.split('/').next());
    let cc = value(&|key| Some(key) == own.as_deref()).or_else(|| value(&|key| key.ends_with(".cc")));
    let parameter = || sets.iter().find_map(|(key, _)| Hue::of(key.split('.').next()?));
    cc.or_else(pair).map(Hue::of).or_else(|| parameter().map(Some))
}

/// The colour that the name of a run or of its file gives.
fn of_run(figure: &Figure, measure: &Measure) -> Option<Hue> {
    let run = figure.runs.iter().find(|run| run.name == measure.run)?;
    in_words(&run.name).or_else(|| in_words(&run.scenario))
}

/// The colour of the first word that is the name of an algorithm.
fn in_words(text: &str) -> Option<Hue> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').find_map(Hue::of)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIGURE: &str = r#"
        title = ""
        source = ""
        setup = ""
        expect = ""
        [[run]]
        name = "duel"
        scenario = "duel.toml"
        set = ["flow.one.cc=bbr3", "flow.two.cc=cubic"]
        [[run]]
        name = "improved"
        scenario = "two.toml"
        set = ["flow.cc=nyu8", "nyu8.burst_room=3"]
        [[run]]
        name = "limit"
        scenario = "bbr.toml"
        set = ["flow.cc=fixed_rate"]
        [[run]]
        name = "bbq, single"
        scenario = "two.toml"
        [[run]]
        name = "grid"
        table = "grid.csv"
        [run.sweep]
        title = ""
        point = [{ at = "v2/CUBIC", x = 1, set = ["pair=bbr2/cubic"] }]
        [[plot]]
        kind = "sweep"
        x = ""
        y = ""
    "#;

    fn figure(lines: &[(&str, &str, &str)]) -> Figure {
        let line = |(label, run, of): &(&str, &str, &str)| {
            format!("[[plot.line]]\nlabel = '{label}'\nmeasure = {{ run = '{run}', of = '{of}' }}\n")
        };
        let lines: String = lines.iter().map(line).collect();
        toml::from_str(&format!("{FIGURE}\n{lines}")).unwrap()
    }

    fn hue(line: (&str, &str, &str), at: Option<usize>) -> Option<Hue> {
        let figure = figure(&[line]);
        let run = figure.runs.iter().find(|run| run.name == line.1).unwrap();
        let point = at.map(|at| &run.sweep.as_ref().unwrap().points[at]);
        of_line(&figure, &figure.plots[0], &figure.plots[0].lines[0], point)
    }

    #[test]
    fn path_settings_names_and_words_say_the_algorithm_in_this_order() {
        assert_eq!(hue(("BBR", "duel", "flow.cc=cubic.share"), None), Hue::of("cubic"));
        assert_eq!(hue(("", "duel", "flow.two.share"), None), Hue::of("cubic"));
        assert_eq!(hue(("", "duel", "jain"), None), Hue::of("bbr3"), "the first of two");
        assert_eq!(hue(("BBR", "improved", "jain"), None), Hue::of("nyu"));
        assert_eq!(hue(("BBR", "limit", "jain"), None), None, "it is set, and has no colour");
        assert_eq!(hue(("BBR", "bbq, single", "jain"), None), Hue::of("bbq"));
        assert_eq!(hue(("LEVEL", "grid", "table.jain"), None), Hue::of("level"));
        assert_eq!(hue(("", "grid", "table.jain"), Some(0)), Hue::of("bbr2"));
    }

    #[test]
    fn lines_of_one_algorithm_have_tones_and_those_of_several_their_colours() {
        let lines = [
            ("long", "duel", "flow.one.share"),
            ("other", "duel", "flow.two.share"),
            ("short", "duel", "flow.one.goodput_mbps"),
        ];
        let figure = figure(&lines);
        let all = of_lines(&figure, &figure.plots[0]);
        assert_eq!(all[1], Colour::plain(Hue::of("cubic")));
        assert_eq!([all[0], all[2]], [0, 1].map(|i| Colour::among(Hue::of("bbr3"), i, 2)));
    }
}
