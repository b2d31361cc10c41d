//! `fairpace-dev model`: evaluates the equations of a model.

use std::collections::BTreeMap;

use fairpace_cli_core::args::Global;
use fairpace_cli_core::failure::{Exit, Failure};
use fairpace_cli_core::output::Output;
use fairpace_cli_core::table::{self, table};
use fairpace_papers::models::{Argument, Model, Output as Results, Quantity};
use serde::Serialize;

use crate::args::ModelArgs;

/// What `--json` prints.
#[derive(Serialize)]
struct Record<'a> {
    model: &'static str,
    title: &'static str,
    source: &'static str,
    arguments: BTreeMap<&'static str, f64>,
    #[serde(flatten)]
    results: &'a Results,
}

pub(crate) fn run(args: &ModelArgs, global: Global, out: &mut Output) -> Result<(), Failure> {
    let models = fairpace_papers::models::catalog();
    let Some(family) = args.family.filter(|_| !args.list) else { return list(&models, global, out) };
    let name = format!("{}.{}", family.name(), args.form.name());
    let given = args.sets.iter().map(|set| number(set)).collect::<Result<BTreeMap<_, _>, _>>()?;
    let results = fairpace_papers::models::evaluate(&name, &given).map_err(|error| {
        Failure::new(
            Exit::Usage,
            error.to_string(),
            "`fairpace-dev model --list` shows all models, and their arguments",
        )
    })?;
    let Some(model) = models.iter().find(|model| model.name == name) else { return Ok(()) };
    let value = |argument: &Argument| given.get(argument.name).copied().unwrap_or(argument.default);
    if !global.json {
        return out.text(&page(model, &results, value));
    }
    out.json(&Record {
        model: model.name,
        title: model.title,
        source: model.source,
        arguments: model.arguments.iter().map(|argument| (argument.name, value(argument))).collect(),
        results: &results,
    })
}

fn number(set: &str) -> Result<(String, f64), Failure> {
    let wrong = || {
        let message =
            format!("--set {set}: not KEY=VALUE with a plain number in the unit that ends the key's name");
        Failure::new(Exit::Usage, message, "write, for instance, --set rtt0_ms=20")
    };
    let (name, value) = set.split_once('=').ok_or_else(wrong)?;
    Ok((name.trim().to_owned(), value.trim().parse().map_err(|_| wrong())?))
}

fn page(model: &Model, results: &Results, value: impl Fn(&Argument) -> f64) -> String {
    let mut page = format!("{}: {}\n{}\n\n", model.name, model.title, model.source);
    let mut arguments = table(&["with", "", "unit", "what"], 4);
    for argument in &model.arguments {
        let row = [argument.name, &value(argument).to_string(), argument.unit, argument.meaning];
        arguments.add_row(row);
    }
    page.push_str(&table::text(&arguments));
    page.push('\n');
    let mut values = table(&["gives", "", "unit", "what"], 4);
    for Quantity { name, unit, meaning } in model.values {
        let value = results.values.get(*name).map_or_else(|| "-".to_owned(), |value| significant(*value));
        values.add_row([*name, &value, *unit, *meaning]);
    }
    page.push_str(&table::text(&values));
    let curves: Vec<_> = model.curves.iter().map(|curve| curve.name).collect();
    if !curves.is_empty() {
        page.push_str(&format!("\ncurves, with --json: {}\n", curves.join(", ")));
    }
    page
}

/// Four significant digits; very small and very large numbers in scientific notation.
fn significant(value: f64) -> String {
    let size = value.abs();
    if value == 0.0 || (1e-4..1e6).contains(&size) {
        let decimals = if value == 0.0 { 0 } else { (3 - size.log10().floor() as i32).clamp(0, 8) };
        let text = format!("{value:.*}", decimals as usize);
        let has_point = text.contains('.');
        return if has_point { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text };
    }
    format!("{value:.3e}")
}

fn list(models: &[Model], global: Global, out: &mut Output) -> Result<(), Failure> {
    if global.json {
        return out.json(models);
    }
    let mut lines = table(&["name", "what"], 2);
    for model in models {
        lines.add_row([model.name, model.title]);
    }
    out.text(&table::text(&lines))?;
    for model in models {
        let mut lines = table(&["", "argument", "default", "range", "unit", "what"], 6);
        for Argument { name, unit, least, most, default, meaning, .. } in &model.arguments {
            let range = format!("{least} to {most}");
            lines.add_row(["", name, &default.to_string(), &range, unit, meaning]);
        }
        let mut gives = table(&["", "gives", "unit", "what"], 4);
        for Quantity { name, unit, meaning } in model.values {
            gives.add_row(["", name, unit, meaning]);
        }
        for Quantity { name, unit, meaning } in model.curves {
            gives.add_row(["", &format!("{name} (curve)"), unit, meaning]);
        }
        out.text(&format!(
            "\n{}: {}\n{}\n{}",
            model.name,
            model.source,
            table::text(&lines),
            table::text(&gives)
        ))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum;

    use super::*;
    use crate::args::{ModelFamily, ModelForm};

    #[test]
    fn every_model_of_the_catalogue_can_be_named() {
        let names: Vec<_> = ModelFamily::value_variants()
            .iter()
            .flat_map(|family| {
                ModelForm::value_variants().iter().map(move |form| (family.name(), form.name()))
            })
            .map(|(family, form)| format!("{family}.{form}"))
            .collect();
        for model in fairpace_papers::models::catalog() {
            assert!(names.iter().any(|name| name == model.name), "{} is not in {names:?}", model.name);
        }
    }

    #[test]
    fn numbers_have_four_digits() {
        let shown: Vec<_> = [0.0, 1.0, 57.1441, 0.2257258, 123456.7, 1e-9, -0.332]
            .iter()
            .map(|value| significant(*value))
            .collect();
        assert_eq!(shown, ["0", "1", "57.14", "0.2257", "123457", "1.000e-9", "-0.332"]);
    }
}
