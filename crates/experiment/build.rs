//! Lists the criteria that the crate contains: the files below `criteria`, which has links to the
//! repository's.

#[path = "build/sources.rs"]
mod sources;

use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    sources::write();
    let folder = PathBuf::from(env::var("CARGO_MANIFEST_DIR").unwrap_or_default()).join("criteria");
    let mut files = Vec::new();
    find(&folder, &mut files)?;
    files.sort();
    let mut list = String::from("&[\n");
    for file in &files {
        let name = file.strip_prefix(&folder).unwrap_or(file);
        list.push_str(&format!("    ({:?}, include_str!({:?})),\n", name, file));
    }
    list.push_str("]\n");
    fs::write(PathBuf::from(env::var("OUT_DIR").unwrap_or_default()).join("criteria.rs"), list)
}

/// The criteria and traces of a folder and those below. Cargo builds again when a file is added.
fn find(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    println!("cargo::rerun-if-changed={}", folder.display());
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let is_hidden = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        if path.is_dir() && !is_hidden {
            find(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "toml" || extension == "trace") {
            files.push(path);
        }
    }
    Ok(())
}
