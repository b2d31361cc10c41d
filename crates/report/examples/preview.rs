//! Writes a report and a picture for inspection during work on this crate:
//!
//! ```text
//! cargo run -p fairpace-report --example preview -- DIRECTORY [RUNS.json]
//! ```
//!
//! The runs are a JSON array of `fairpace_results::Run`. Without a file the example uses invented ones.

#[path = "../tests/all/support/mod.rs"]
#[allow(dead_code)]
mod synthetic;

use std::path::PathBuf;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args_os().skip(1);
    let directory = PathBuf::from(arguments.next().ok_or("usage: preview DIRECTORY [RUNS.json]")?);
    let (mut runs, mut context) = synthetic::demonstration();
    if let Some(file) = arguments.next() {
        runs = serde_json::from_str(&std::fs::read_to_string(file)?)?;
        context = fairpace_report::Context { phases: context.phases, ..Default::default() };
    }
    let title = "A fair share for short round trips";
    let page = fairpace_report::html(title, &runs, &context);
    println!("{} bytes", page.len());
    std::fs::write(directory.join("report.html"), page)?;
    std::fs::write(directory.join("headline.svg"), fairpace_report::headline_svg(title, &runs, &context))?;
    Ok(())
}
