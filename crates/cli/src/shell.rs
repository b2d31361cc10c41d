//! Completions and man pages, from the description of the arguments.

use std::path::Path;

use clap::CommandFactory;
use clap_complete::Shell;

use crate::algorithms;
use crate::args::Cli;
use crate::failure::{Exit, Failure};
use crate::output::Output;

pub(crate) fn completions(shell: Shell, out: &mut Output) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "fairpace", &mut script);
    out.text(&String::from_utf8_lossy(&script))
}

pub(crate) fn man(dir: Option<&Path>, out: &mut Output) -> Result<(), Failure> {
    let command =
        Cli::command().mut_subcommand("algorithms", |page| page.after_long_help(algorithms::paragraphs()));
    let Some(dir) = dir else {
        let mut page = Vec::new();
        return match clap_mangen::Man::new(command).render(&mut page) {
            Ok(()) => out.text(&String::from_utf8_lossy(&page)),
            Err(error) => Err(failed(Path::new("memory"), &error)),
        };
    };
    std::fs::create_dir_all(dir).map_err(|error| failed(dir, &error))?;
    clap_mangen::generate_to(command, dir).map_err(|error| failed(dir, &error))
}

fn failed(dir: &Path, error: &std::io::Error) -> Failure {
    Failure::told(
        Exit::Output,
        format!("cannot write man pages to {}: {error}", dir.display()),
        "name a directory that you may write to",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every subcommand's help, as docs/reference/cli.md.
    fn reference() -> String {
        let mut page = String::from(
            "# Command line\n\nGenerated from the program's own help by `make docs`. Exit codes: [exit-codes.md](exit-codes.md). \
             Output of `--json` and `--out`: [json.md](json.md).\n",
        );
        let mut command = Cli::command().term_width(100);
        command.build();
        let help = |command: &mut clap::Command| command.render_long_help().to_string();
        let mut section = |title: &str, text: &str| {
            let lines: Vec<_> = text.lines().map(str::trim_end).collect();
            page.push_str(&format!("\n## {title}\n\n```text\n{}\n```\n", lines.join("\n").trim_end()));
        };
        section("fairpace", &help(&mut command));
        for sub in command.get_subcommands_mut().filter(|sub| sub.get_name() != "help") {
            section(&format!("fairpace {}", sub.get_name()), &help(sub));
        }
        page
    }

    #[test]
    fn the_reference_page_shows_the_help() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/cli.md");
        let wanted = reference();
        if std::env::var_os("UPDATE_DOCS").is_some() {
            std::fs::write(path, &wanted).unwrap();
        }
        let page = std::fs::read_to_string(path).unwrap_or_default();
        assert!(page == wanted, "docs/reference/cli.md is out of date: run `make docs`");
    }

    #[test]
    fn the_arguments_are_consistent() {
        Cli::command().debug_assert();
    }
}
