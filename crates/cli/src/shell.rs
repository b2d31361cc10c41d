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
    write_pages(command, dir).map_err(|error| failed(dir, &error))
}

/// Writes the man page of each command. It replaces earlier man pages, and no other files.
fn write_pages(command: clap::Command, dir: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(dir)?;
    let staged =
        tempfile::Builder::new().prefix(&format!(".fairpace-{}-", std::process::id())).tempdir_in(dir)?;
    clap_mangen::generate_to(command, &staged)?;
    let pages = std::fs::read_dir(&staged)?.collect::<std::io::Result<Vec<_>>>()?;
    for page in &pages {
        let place = dir.join(page.file_name());
        if place.symlink_metadata().is_ok_and(|there| !there.is_file() || !is_page(&place)) {
            return Err(std::io::Error::other(format!("{} is not a man page of fairpace", place.display())));
        }
    }
    pages.iter().try_for_each(|page| std::fs::rename(page.path(), dir.join(page.file_name())))
}

fn is_page(path: &Path) -> bool {
    std::fs::read(path).is_ok_and(|text| String::from_utf8_lossy(&text).contains("\n.TH fairpace"))
}

fn failed(dir: &Path, error: &std::io::Error) -> Failure {
    Failure::file("cannot write man pages to", dir, error, "name another directory")
}
