//! Table `sweep`: each parameter at two values below its default and two above.

use fairpace_cc::{Parameter, Unit};
use fairpace_cli_core::failure::Failure;
use fairpace_experiment::{Form, markdown_table};

use super::counts::{Row, count, difference, table};
use super::parameters::steps;
use super::{Context, Made, parameters, record};

/// Values on each side of the default.
const SIDE: usize = 2;

pub(super) fn make(context: &Context<'_>) -> Result<Made, Failure> {
    let all = parameters()?;
    let (form, seeds) = (Form::Quick, context.seeds(1));
    let mut rows = vec![Row::defaults()];
    for parameter in all {
        rows.extend(steps(parameter).concat().into_iter().map(|raw| Row::of(parameter, raw)));
    }
    let asked: Vec<_> = rows.iter().map(|row| row.asked(all, None)).collect();
    let counted = count(context, &asked, form, seeds)?;
    let rows: Vec<Row> =
        rows.into_iter().zip(&counted.records).map(|(row, of)| row.with(&counted.criteria, of)).collect();
    let text = format!(
        "{}{}\n<details><summary>The same by criteria</summary>\n\n{}\n</details>\n",
        context.facts(form, seeds, counted.runs),
        overview(all, &rows),
        table("value", &rows)
    );
    Ok(Made { text, record: record(&rows)?, pictures: Vec::new() })
}

/// A row for each parameter: its values, and the cases that are held with each.
fn overview(all: &[Parameter], rows: &[Row]) -> String {
    let Some((defaults, rows)) = rows.split_first() else { return String::new() };
    let header = ["parameter", "two values below", "", "default", "two values above", "", "least", "most"];
    let mut lines = Vec::new();
    for parameter in all.iter().filter(|parameter| parameter.unit != Unit::Bool) {
        let of: Vec<&Row> = rows.iter().filter(|row| row.parameter == Some(parameter.name)).collect();
        let (below, above): (Vec<&Row>, Vec<&Row>) = of.iter().partition(|row| row.raw < parameter.default);
        let cell = |row: &&Row| format!("{}: {}", row.value.as_deref().unwrap_or_default(), row.sum());
        let mut line = vec![format!("`{}`", parameter.name)];
        // where the range ends, the cell that is farthest from the default is empty
        line.extend(vec!["-".to_owned(); SIDE - below.len()]);
        line.extend(below.iter().map(cell));
        line.push(format!("{}: {}", parameter.unit.format(parameter.default), defaults.sum()));
        line.extend(above.iter().map(cell));
        line.extend(vec!["-".to_owned(); SIDE - above.len()]);
        let sums = || of.iter().map(|row| row.sum());
        line.extend([sums().min(), sums().max()].map(|sum| match sum {
            Some(sum) => difference(sum, defaults.sum()),
            None => "-".to_owned(),
        }));
        lines.push(line);
    }
    markdown_table(&header.map(str::to_owned), &lines)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::level_evidence::counts::Held;

    #[test]
    fn every_parameter_that_is_a_number_has_its_values_around_the_default() {
        let all = parameters().unwrap();
        let with =
            |row: Row, hold| Row { criteria: vec![Held { criterion: "G1".into(), cases: 9, hold }], ..row };
        let mut rows = vec![with(Row::defaults(), 7)];
        for parameter in all {
            let values = steps(parameter).concat();
            rows.extend(
                values.iter().map(|raw| with(Row::of(parameter, *raw), if *raw == 0 { 2 } else { 8 })),
            );
        }
        let text = overview(all, &rows);
        let numbers = all.iter().filter(|parameter| parameter.unit != Unit::Bool).count();
        assert_eq!(text.lines().count(), 2 + numbers, "{text}");
        let cells = |name: &str| {
            let line = text.lines().find(|line| line.starts_with(&format!("| `{name}`"))).unwrap();
            line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect::<Vec<_>>()
        };
        let of_gain = cells("gain");
        assert_eq!(of_gain.len(), 8);
        assert!(of_gain[3].ends_with(": 7") && of_gain[6..] == ["+1", "+1"], "{of_gain:?}");
    }
}
