//! docs/reference/algorithms.md: every algorithm with its parameters.

use std::fmt::Write as _;

use fairpace_cc::{Algorithm, Unit};

pub(super) fn page() -> String {
    let mut page = String::from(
        "# Algorithms\n\n\
         `make docs` generates this page from `cc/algorithms.def` and the lists of parameters in `cc/`. \
         A value is written with its\nunit, both in a scenario (`set = { alpha = \"3ms\" }`) and on the \
         command line (`--set bbq.alpha=3ms`). `on` and `off` mean\n`true` and `false`.\n\n\
         | name | in the kernel | what | source |\n|---|---|---|---|\n",
    );
    for algorithm in Algorithm::all() {
        let (name, kernel_name) = (algorithm.name(), algorithm.kernel_name());
        let (title, source) = (algorithm.title(), algorithm.source());
        let _ = writeln!(page, "| [`{name}`](#{name}) | `{kernel_name}` | {title} | {source} |");
    }
    Algorithm::all().for_each(|algorithm| section(&mut page, algorithm));
    page
}

fn section(page: &mut String, algorithm: Algorithm) {
    let name = algorithm.name();
    let _ = write!(page, "\n## {name}\n\n{}.", algorithm.title());
    let preset = algorithm.preset();
    match &preset {
        Some(preset) => {
            let of = preset.algorithm;
            let _ = write!(page, " The code is that of [`{of}`](#{of}), with these defaults instead:\n\n");
        }
        None => {
            let _ = write!(page, " The code is [`cc/{name}.h`](../../cc/{name}.h).\n\n");
        }
    }
    page.push_str("| parameter | default | range | unit | what | why |\n|---|---|---|---|---|---|\n");
    for parameter in algorithm.parameters() {
        let is_set = |settings: &str| {
            settings.split_whitespace().any(|setting| setting.split('=').next() == Some(parameter.name))
        };
        // a preset shows what differs from its parent
        if preset.as_ref().is_some_and(|preset| !is_set(preset.settings)) {
            continue;
        }
        let text = |raw| parameter.unit.format(raw);
        let range = match parameter.unit {
            Unit::Bool => "true, false".to_owned(),
            _ => format!("{} to {}", text(parameter.least), text(parameter.most)),
        };
        let _ = writeln!(
            page,
            "| `{}` | {} | {range} | {} | {} | {} |",
            parameter.name,
            text(parameter.default),
            parameter.unit.noun().trim_start_matches("a "),
            parameter.meaning.replace('|', "\\|"),
            parameter.reason
        );
    }
}
