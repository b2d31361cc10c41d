//! Paths of measures, before a run: those of a scenario's run, `model.goodput`, `table.jain`.

use fairpace_experiment::metric;

use crate::figure::Measure;
use crate::source::Planned;

/// Checks, before the run, that the path of a measure exists. The error has a message and a help text.
pub(crate) fn check(measure: &Measure, source: &Planned) -> Result<(), (String, String)> {
    let of = measure.of.as_str();
    match source {
        Planned::Model((name, _)) => check_model(of, name),
        Planned::Table { table, filters } => {
            let column = of.strip_prefix("table.");
            let column =
                column.ok_or_else(|| (format!("a table has no `{of}`"), "write table.COLUMN".into()))?;
            table.numbers(filters, column).map(drop).map_err(|error| (error, String::new()))
        }
        Planned::Cell { columns, .. } => {
            let is_column = |name| columns.iter().any(|column| column.heading == name);
            match of.strip_prefix("table.").is_some_and(is_column) {
                true => Ok(()),
                false => Err((format!("a run of the table has no `{of}`"), "write table.COLUMN".into())),
            }
        }
        Planned::Runs(scenarios) => match scenarios.first() {
            Some(scenario) => metric::check(of, measure.take.is_some(), scenario),
            None => Ok(()),
        },
    }
}

fn check_model(of: &str, name: &str) -> Result<(), (String, String)> {
    let models = crate::models::catalog();
    // a model that does not exist is an error of its run
    let Some(model) = models.iter().find(|model| model.name == name) else { return Ok(()) };
    let quantities = model.values.iter().chain(&model.curves);
    let known: Vec<String> = quantities.map(|quantity| format!("model.{}", quantity.name)).collect();
    if known.iter().any(|known| known == of) {
        return Ok(());
    }
    Err((format!("the model `{name}` has no `{of}`"), format!("it has {}", known.join(", "))))
}

#[cfg(test)]
mod tests {
    use fairpace_experiment::metric::{Numbers, series};

    use crate::tests as sample;

    #[test]
    fn numbers_are_found_by_name_number_group_and_algorithm() {
        let numbers = Numbers::of(&sample::run(0).summary);
        let of = |path: &str| numbers.get(path);
        assert_eq!(of("flow.1.5ms.goodput_mbps"), Some(10.0), "names have dots");
        assert_eq!(of("flow.2.goodput_mbps"), Some(20.0));
        assert_eq!(of("flow.web-2.goodput_mbps"), Some(30.0));
        assert_eq!(of("flow.web.goodput_mbps"), Some(50.0));
        assert_eq!(of("flow.*.goodput_mbps"), Some(60.0));
        assert_eq!(of("flow.cc=cubic.goodput_mbps"), Some(50.0));
        assert_eq!(of("flow.cc=cubic.rtt_mean_ms"), Some(50.0), "a mean of 40 and 60 is no sum");
        assert_eq!(of("link.bottleneck.utilization"), Some(0.5));
        assert_eq!(of("link.1.backlog_share.web-1"), Some(0.25));
        assert_eq!(of("jain"), Some(0.75));
        assert_eq!([of("least_of_mean"), of("most_of_mean")], [Some(0.5), Some(1.5)]);
        for nothing in
            ["convergence_s", "flow.none.share", "flow.web.completion_s", "link.2.dropped_pkts", "cost", ""]
        {
            assert_eq!(of(nothing), None, "{nothing}");
        }
    }

    #[test]
    fn series_add_up_and_gaps_count_for_nothing() {
        let run = sample::run(0);
        let of = |path: &str| series(path, &run);
        assert_eq!(of("flow.*.goodput_mbps"), Some(vec![0.0, 60.0, 120.0, 180.0]));
        let rtt = of("flow.cc=cubic.rtt_ms").unwrap();
        assert!(rtt[0].is_nan());
        assert_eq!(rtt[1..], [3.0, 1.0, 2.0]);
        assert_eq!(of("flow.1.delivered_kb"), Some(vec![0.0, 1250.0, 3750.0, 7500.0]));
        assert_eq!(of("link.bottleneck.drops"), Some(vec![0.0, 1.0, 2.0, 3.0]));
        assert_eq!(of("link.bottleneck.backlog_kb"), Some(vec![7.0; 4]));
        assert_eq!(of("link.bottleneck.backlog_kb.1.5ms"), Some(vec![1.0; 4]));
        assert_eq!(of("link.bottleneck.backlog_kb.web"), Some(vec![6.0; 4]));
        assert_eq!(of("link.bottleneck.utilization"), None, "a number, not a series");
    }
}
