//! Compiles the objects of all listed algorithms into a folder, or checks that the folder holds the result of
//! a fresh compilation:
//!
//!     cargo run -p fairpace-bpf-build --example objects -- [--check] FOLDER

use std::path::Path;
use std::process::ExitCode;

use fairpace_bpf_build::{BpfCompiler, Error, Sources, check_objects, compile_all, write_objects};

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let (folder, check) = match &words[..] {
        [folder] => (folder, false),
        [option, folder] if option == "--check" => (folder, true),
        _ => {
            eprintln!("usage: objects [--check] FOLDER");
            return ExitCode::from(2);
        }
    };
    match run(Path::new(folder), check) {
        Ok(count) => {
            println!(
                "{count} objects {} {folder}",
                if check { "are as compiled now in" } else { "written to" }
            );
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("objects: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(folder: &Path, check: bool) -> Result<usize, Error> {
    let compiler = BpfCompiler::new(Sources::contained()?)?;
    let objects = compile_all(&compiler)?;
    if check {
        check_objects(folder, &objects, compiler.sources())?;
    } else {
        write_objects(folder, &objects, compiler.sources())?;
    }
    Ok(objects.len())
}
