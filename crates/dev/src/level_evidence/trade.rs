//! Table `trade`: parameters for which criteria compete, as tables and as pictures.

use fairpace_cc::{Parameter, Unit};
use fairpace_cli_core::failure::Failure;
use fairpace_experiment::markdown_table;
use fairpace_report::chart::{ANY, Axis, Chart, Colour, Curve, Layer, Look};

use super::counts::{Row, cells, count, headings};
use super::parameters::number;
use super::{Context, LEVEL, Made, parameters, record};

/// Seeds of the full form.
const SEEDS: u32 = 2;

/// A parameter and the criteria that it moves.
struct Trade {
    parameter: &'static str,
    /// In the unit of a table, see [`number`]. The default is added.
    values: &'static [f64],
    criteria: &'static [&'static str],
}

const TRADES: [Trade; 3] = [
    Trade { parameter: "patience", values: &[0.0, 3.0, 4.0, 5.0, 6.0, 8.0], criteria: &["G1", "G2", "G4"] },
    Trade { parameter: "noise_gain", values: &[0.0, 1.0, 2.0, 3.0, 4.0], criteria: &["G3", "G5"] },
    Trade { parameter: "level", values: &[1.4, 1.7, 2.0, 2.5, 3.0], criteria: &["G1", "G5", "G6"] },
];

pub(super) fn make(context: &Context<'_>) -> Result<Made, Failure> {
    let all = parameters()?;
    let (form, seeds) = (context.form(), context.seeds(SEEDS));
    let found = |name: &str| all.iter().find(|parameter| parameter.name == name);
    let (mut rows, mut asked) = (Vec::new(), Vec::new());
    for trade in &TRADES {
        for row in found(trade.parameter).map(|parameter| of_trade(trade, parameter)).unwrap_or_default() {
            asked.push(row.asked(all, Some(trade.criteria)));
            rows.push(row);
        }
    }
    let counted = count(context, &asked, form, seeds)?;
    let rows: Vec<Row> =
        rows.into_iter().zip(&counted.records).map(|(row, of)| row.with(&counted.criteria, of)).collect();
    let (mut parts, mut pictures) = (Vec::new(), Vec::new());
    for trade in &TRADES {
        let name = trade.parameter;
        let Some(parameter) = found(name) else {
            parts.push(format!("{LEVEL} has no parameter `{name}`.\n"));
            continue;
        };
        let of: Vec<&Row> = rows.iter().filter(|row| row.parameter == Some(name)).collect();
        let file = format!("img/{LEVEL}-trade-{name}.svg");
        let what = format!("Cases held over {name}");
        parts.push(format!("### {name}\n\n![{what}]({file})\n\n{}", table(parameter, &of)));
        pictures.push((file, chart(parameter, &of).picture()));
    }
    let text = context.facts(form, seeds, counted.runs) + &parts.join("\n");
    Ok(Made { text, record: record(&rows)?, pictures })
}

/// A row for each value that the parameter may have, rising, its default among them.
fn of_trade(trade: &Trade, parameter: &Parameter) -> Vec<Row> {
    let one = number(parameter.unit, 1);
    let raw = trade.values.iter().map(|value| (value / one).round() as u32);
    let mut values: Vec<u32> = raw.filter(|raw| (parameter.least..=parameter.most).contains(raw)).collect();
    values.push(parameter.default);
    values.sort_unstable();
    values.dedup();
    values.into_iter().map(|raw| Row::of(parameter, raw)).collect()
}

fn table(parameter: &Parameter, rows: &[&Row]) -> String {
    let owned: Vec<Row> = rows.iter().map(|row| (*row).clone()).collect();
    let criteria = headings(&owned);
    let mut header = vec![format!("`{}`", parameter.name)];
    header.extend(criteria.iter().map(|(_, heading)| heading.clone()));
    let line = |row: &&Row| {
        let mark = if row.is_default { " (default)" } else { "" };
        let mut line = vec![format!("{}{mark}", row.value.as_deref().unwrap_or_default())];
        line.extend(cells(row, &criteria));
        line
    };
    markdown_table(&header, &rows.iter().map(line).collect::<Vec<_>>())
}

/// The part of the cases that is held over the value, a curve for each criterion.
fn chart(parameter: &Parameter, rows: &[&Row]) -> Chart {
    let owned: Vec<Row> = rows.iter().map(|row| (*row).clone()).collect();
    let x: Vec<f64> = rows.iter().map(|row| number(parameter.unit, row.raw)).collect();
    let curve = |(index, (criterion, heading)): (usize, &(String, String))| {
        let percent = |row: &&Row| {
            let held = row.criteria.iter().find(|held| held.criterion == *criterion);
            held.map_or(f64::NAN, |held| 100.0 * held.hold as f64 / held.cases as f64)
        };
        let y: Vec<f64> = rows.iter().map(percent).collect();
        let layer = |look| Layer::plain(look, x.clone(), y.clone());
        Curve {
            label: heading.clone(),
            colour: Some(Colour::Series(index)),
            layers: vec![layer(Look::Line), layer(Look::Dots)],
        }
    };
    let unit = if parameter.unit == Unit::Us { ", ms" } else { "" };
    let [least, most] = [x.first(), x.last()].map(|end| end.copied().unwrap_or_default());
    Chart {
        title: format!("{LEVEL}: {}", parameter.meaning),
        note: String::new(),
        x_title: format!("{}{unit}", parameter.name),
        y_title: "cases held, %".to_owned(),
        x: Axis::between(least, most, 8),
        y: Axis::ending_at(100.0, 5),
        curves: headings(&owned).iter().enumerate().map(curve).collect(),
        changes: Vec::new(),
        square: false,
        possible: ANY,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::level_evidence::counts::Held;

    #[test]
    fn the_values_of_a_trade_have_the_default_once_and_stay_within_the_range() {
        let parameter = |default, most| Parameter {
            name: "level",
            c_name: "level_us",
            unit: Unit::Us,
            default,
            least: 100,
            most,
            meaning: "",
            reason: "",
        };
        let values = |default, most| {
            let rows = of_trade(&TRADES[2], &parameter(default, most));
            rows.iter().map(|row| (row.raw, row.is_default)).collect::<Vec<_>>()
        };
        let expected = [(1400, false), (1700, false), (2000, true), (2500, false), (3000, false)];
        assert_eq!(values(2000, 100_000), expected);
        assert_eq!(
            values(2050, 2500).iter().map(|(raw, _)| *raw).collect::<Vec<_>>(),
            [1400, 1700, 2000, 2050, 2500]
        );
    }

    #[test]
    fn the_picture_has_a_curve_for_each_criterion() {
        let level = parameters().unwrap().iter().find(|parameter| parameter.name == LEVEL).unwrap();
        let held = |criterion: &str| Held { criterion: criterion.to_owned(), cases: 16, hold: 12 };
        let with = |row: Row| Row { criteria: vec![held("G1"), held("G6")], ..row };
        let rows: Vec<Row> = of_trade(&TRADES[2], level).into_iter().map(with).collect();
        let rows: Vec<&Row> = rows.iter().collect();
        let chart = chart(level, &rows);
        assert_eq!(chart.curves.len(), 2);
        assert!(chart.curves[0].layers[0].y.iter().all(|y| *y == 75.0));
        assert!(chart.picture().starts_with("<svg"));
        assert!(table(level, &rows).contains("(default)"));
    }
}
