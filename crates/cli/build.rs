//! Lists the scenarios that the program contains: the files below `scenarios`, which is a link to the
//! repository's folder.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let folder = PathBuf::from(env::var("CARGO_MANIFEST_DIR").unwrap_or_default()).join("scenarios");
    let mut files = Vec::new();
    // a copy of the sources without links has none, and builds
    if folder.is_dir() {
        find(&folder, &mut files)?;
    }
    files.sort();
    let line = |file: &PathBuf| {
        let name = file.strip_prefix(&folder).unwrap_or(file);
        format!("    ({name:?}, include_str!({file:?})),\n")
    };
    let list = format!("&[\n{}]\n", files.iter().map(line).collect::<String>());
    fs::write(PathBuf::from(env::var("OUT_DIR").unwrap_or_default()).join("scenarios.rs"), list)
}

/// The scenarios of a folder and those below, and the files that they name. Cargo builds again when a file is
/// added.
fn find(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    println!("cargo::rerun-if-changed={}", folder.display());
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            find(&path, files)?;
        } else if path
            .extension()
            .is_some_and(|end| ["toml", "trace", "cdf"].iter().any(|known| end == *known))
        {
            files.push(path);
        }
    }
    Ok(())
}
