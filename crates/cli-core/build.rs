//! Tells the program which commit it was built from.

use std::process::Command;

fn main() {
    println!("cargo::rustc-env=FAIRPACE_COMMIT={}", commit().unwrap_or_else(|| "unknown".into()));
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
