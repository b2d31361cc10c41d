//! `fairpace completions` and `fairpace man`, generated from the description of the arguments.

use std::path::Path;

use clap::CommandFactory;
use clap_complete::Shell;
use fairpace_cli_core::failure::Failure;
use fairpace_cli_core::output::Output;

use crate::algorithms;
use crate::args::Cli;

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
    Failure::file("cannot write man pages to", dir, error, "name another directory")
}
