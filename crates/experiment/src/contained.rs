//! The criteria that are compiled into the programs: the repository's folder `evaluation`.

use std::fs;
use std::path::{Path, PathBuf};

use crate::{Criterion, load};
use tempfile::TempDir;

use fairpace_cli_core::failure::{Exit, Failure};

/// The files of the criteria, and the files that they name, with their paths in the repository.
const CONTAINED: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/criteria.rs"));
/// The folder of the contained criteria.
pub const FOLDER: &str = "evaluation";

/// Reads the criteria of a folder. Without a folder it unpacks the criteria that this program contains into a
/// temporary folder, which must exist while cases are planned.
///
/// # Errors
/// Returns an error if a file is wrong, or if the contained criteria cannot be unpacked.
pub fn criteria(folder: Option<&Path>) -> Result<(Vec<Criterion>, Option<TempDir>), Failure> {
    if let Some(folder) = folder {
        return Ok((load(folder)?, None));
    }
    let unpacked = tempfile::Builder::new().prefix("fairpace-criteria-").tempdir();
    let failed = |error: &std::io::Error| {
        let message = format!("the criteria cannot be unpacked: {error}");
        Failure::new(Exit::Output, message, "set TMPDIR to a folder that can be written to")
    };
    let unpacked = unpacked.map_err(|error| failed(&error))?;
    for (name, text) in CONTAINED {
        let path = unpacked.path().join(name);
        let folder = path.parent().map_or_else(PathBuf::new, Path::to_owned);
        fs::create_dir_all(folder).and_then(|()| fs::write(&path, text)).map_err(|error| failed(&error))?;
    }
    Ok((load(&unpacked.path().join(FOLDER))?, Some(unpacked)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_contained_criteria_are_those_of_the_repository() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../evaluation");
        let id = |criterion: &Criterion| criterion.id.clone();
        let contained: Vec<String> = criteria(None).unwrap().0.iter().map(id).collect();
        assert_eq!(contained, load(&folder).unwrap().iter().map(id).collect::<Vec<_>>());
        assert!(contained.contains(&"5.1.1a".to_owned()) && contained.contains(&"G7".to_owned()));
    }
}
