//! Tells the program which commit it was built from, and lists the criteria that it contains: the files below
//! `criteria`, which has links to the repository's.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    println!("cargo::rustc-env=FAIRPACE_COMMIT={}", commit().unwrap_or_else(|| "unknown".into()));
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

/// `git describe`-like: the commit, with `+dirty` when tracked files differ from it. `None` outside a
/// checkout.
fn commit() -> Option<String> {
    // cargo's own packages and vendored copies can lie inside another project's checkout
    if git(&["ls-files", "build.rs"])?.is_empty() {
        return None;
    }
    let head = git(&["rev-parse", "HEAD"])?;
    // the log of HEAD grows with every commit and checkout
    for file in ["HEAD", "logs/HEAD"] {
        if let Some(path) = git(&["rev-parse", "--git-path", file]) {
            println!("cargo::rerun-if-changed={path}");
        }
    }
    for tree in ["../../crates", "../../cc", "../../Cargo.lock"] {
        println!("cargo::rerun-if-changed={tree}");
    }
    let dirty = !git(&["--no-optional-locks", "status", "--porcelain", "--untracked-files=no"])?.is_empty();
    Some(format!("{head}{}", if dirty { "+dirty" } else { "" }))
}

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}
