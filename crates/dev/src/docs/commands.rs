//! docs/reference/cli.md and docs/reference/dev.md: the help of every subcommand.

use clap::{Command, CommandFactory};

use crate::args::Cli;

/// Columns of the help texts.
const WIDTH: usize = 100;

pub(super) fn product() -> String {
    page(
        fairpace::Cli::command(),
        "# Command line\n\n`make docs` generates this page from the program's own help. \
         Exit codes: [exit-codes.md](exit-codes.md).\nOutput of `--json` and `--out`: [json.md](json.md). \
         The maintainers' program: [dev.md](dev.md).\n",
    )
}

pub(super) fn maintainers() -> String {
    page(
        Cli::command(),
        "# The maintainers' command line\n\n`make docs` generates this page from the program's own help. \
         `fairpace-dev` works on a checkout\nof the repository: \
         `cargo run --release -p fairpace-dev -- COMMAND`. Exit codes and output are those of\n`fairpace`: \
         [exit-codes.md](exit-codes.md), [json.md](json.md).\n",
    )
}

fn page(command: Command, introduction: &str) -> String {
    let mut page = introduction.to_owned();
    let mut command = command.term_width(WIDTH);
    command.build();
    let name = command.get_name().to_owned();
    sections(&mut page, &name, &mut command);
    page
}

/// Adds the section of a command, and of all commands below it.
fn sections(page: &mut String, title: &str, command: &mut Command) {
    section(page, title, command);
    for sub in command.get_subcommands_mut().filter(|sub| sub.get_name() != "help") {
        let title = format!("{title} {}", sub.get_name());
        sections(page, &title, sub);
    }
}

fn section(page: &mut String, title: &str, command: &mut Command) {
    let help = command.render_long_help().to_string();
    let lines: Vec<_> = help.lines().map(str::trim_end).collect();
    page.push_str(&format!("\n## {title}\n\n```text\n{}\n```\n", lines.join("\n").trim_end()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arguments_of_both_programs_are_consistent() {
        Cli::command().debug_assert();
        fairpace::Cli::command().debug_assert();
    }
}
