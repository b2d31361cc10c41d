//! `new`: writes the header of a first algorithm.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::path::Path;

use fairpace_bpf_build as build;
use fairpace_cc::Algorithm;
use fairpace_cli_core::args::Global;
use fairpace_cli_core::failure::{Exit, Failure};
use fairpace_cli_core::output::Output;
use serde::Serialize;

use crate::args::NewArgs;

/// Text of the header, with NAME in place of the algorithm's name.
const START: &str = include_str!("start.h");
/// Text of the contract: the structures that an algorithm reads and writes.
const CONTRACT: &str = build::CONTRACT;

/// The record that `--json` prints.
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum Record<'a> {
    Header(&'a str),
    Contract(&'a str),
}

pub(crate) fn run(args: &NewArgs, global: Global, out: &mut Output) -> Result<(), Failure> {
    let Some(path) = &args.name else {
        return if global.json { out.json(&Record::Contract(CONTRACT)) } else { out.text(CONTRACT) };
    };
    // the header may be in a folder, and its name may be written with the end that files have
    let header = format!("{}.h", path.strip_suffix(".h").unwrap_or(path));
    let name = Path::new(&header).file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    let checked = build::Algorithm::new(&header, build::Kind::OwnsCwnd);
    checked.map_err(|error| Failure::new(Exit::Usage, error.to_string(), "such as: fairpace new mine"))?;
    if Algorithm::by_name(name).is_ok() {
        let message = format!("there is an algorithm {name} already");
        let help = "`fairpace algorithms` lists the names that are taken";
        return Err(Failure::new(Exit::Usage, message, help));
    }
    write(Path::new(&header), &text(name))?;
    if global.json {
        return out.json(&Record::Header(&header));
    }
    out.line(&format!("{header} is written. Try it, then change it:\n"))?;
    let here = if Path::new(&header).is_absolute() { "" } else { "./" };
    out.line(&format!("    fairpace compare {here}{header} bbr3 cubic --rtt 10ms,50ms"))?;
    out.line(&format!("    fairpace evaluate {here}{header} --quick"))?;
    out.line(&format!("    sudo fairpace load {here}{header}"))
}

fn text(name: &str) -> String {
    START.replace("NAME", name).replace(&format!("CC_{name}_H"), &format!("CC_{}_H", name.to_uppercase()))
}

/// Writes a file; an existing file is an error.
fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let file = OpenOptions::new().write(true).create_new(true).open(path);
    let written = file.and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => {
            let message = format!("{} exists, and is not replaced", path.display());
            Failure::new(Exit::Output, message, "choose another name, or remove it")
        }
        _ => Failure::file("cannot write", path, &error, "go to another folder"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_has_its_name_everywhere() {
        let text = text("mine");
        assert!(
            !text.contains("NAME") && text.contains("struct mine {") && text.contains("CC_MINE_H"),
            "{text}"
        );
    }
}
