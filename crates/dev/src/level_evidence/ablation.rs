//! Table `ablation`: each mechanism switched off.

use fairpace_cc::Parameter;
use fairpace_cli_core::failure::Failure;

use super::counts::{Row, count, table};
use super::parameters::off;
use super::{Context, Made, parameters, record};

/// Seeds of the full form.
const SEEDS: u32 = 2;

pub(super) fn make(context: &Context<'_>) -> Result<Made, Failure> {
    let all = parameters()?;
    let (form, seeds) = (context.form(), context.seeds(SEEDS));
    let rows = rows(all);
    let asked: Vec<_> = rows.iter().map(|row| row.asked(all, None)).collect();
    let counted = count(context, &asked, form, seeds)?;
    let rows: Vec<Row> =
        rows.into_iter().zip(&counted.records).map(|(row, of)| row.with(&counted.criteria, of)).collect();
    let text = context.facts(form, seeds, counted.runs) + &table("switched off", &rows);
    Ok(Made { text, record: record(&rows)?, pictures: Vec::new() })
}

/// The defaults, and each parameter that can be switched off at the value that does it.
fn rows(all: &[Parameter]) -> Vec<Row> {
    let off = all.iter().filter_map(|parameter| Some(Row::of(parameter, off(parameter)?)));
    std::iter::once(Row::defaults()).chain(off).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mechanism_of_level_has_a_row() {
        let names: Vec<String> = rows(parameters().unwrap()).iter().map(Row::name).collect();
        assert_eq!(names[0], "defaults");
        for known in ["exchange=false", "drain_interval=0us", "pacing_gain=1", "patience=0"] {
            assert!(names.iter().any(|name| name == known), "{known} is not among {names:?}");
        }
        assert!(!names.iter().any(|name| name.starts_with("level=")));
    }
}
