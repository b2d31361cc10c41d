//! Tests with files of another origin, and after interruptions.

use std::os::unix::fs::symlink;

use tempfile::{TempDir, tempdir};

use super::*;

fn items(text: &str) -> Vec<Item<'static>> {
    vec![Item::new("summary.json", text), Item::new("run/flows.csv", "time_s\n")]
}

/// A new directory that holds an earlier result in `R`.
fn with_result() -> (TempDir, PathBuf) {
    let dir = tempdir().unwrap();
    let path = dir.path().join("R");
    ResultDir::prepare(&path).unwrap().write(items("old")).unwrap();
    (dir, path)
}

fn text(path: impl AsRef<Path>) -> String {
    fs::read_to_string(path).unwrap()
}

/// Names in a directory, sorted.
fn names(dir: impl AsRef<Path>) -> Vec<String> {
    let mut names: Vec<_> =
        fs::read_dir(dir).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_result_replaces_an_earlier_one_whole() {
    let (dir, path) = with_result();
    ResultDir::prepare(&path).unwrap().write(vec![Item::new("summary.json", "new")]).unwrap();
    assert_eq!(names(&path), ["manifest.json", "summary.json"]);
    assert_eq!(text(path.join("summary.json")), "new");
    assert_eq!(names(dir.path()), ["R"]);
}

#[test]
fn a_result_of_which_files_were_deleted_is_replaced() {
    let (_dir, path) = with_result();
    fs::remove_file(path.join("run/flows.csv")).unwrap();
    ResultDir::prepare(&path).unwrap().write(items("new")).unwrap();
    assert_eq!(text(path.join("summary.json")), "new");
}

#[test]
fn a_directory_with_anything_else_is_refused_before_the_run() {
    type Change = fn(&Path);
    let changes: [(Change, &str); 6] = [
        (|path| fs::write(path.join("notes.txt"), "mine").unwrap(), "notes.txt"),
        (|path| fs::write(path.join("run/my.parquet"), "mine").unwrap(), "run/my.parquet"),
        (|path| fs::write(path.join("summary.json"), "my remarks").unwrap(), "summary.json"),
        (|path| fs::create_dir(path.join("empty")).unwrap(), "empty"),
        (|path| symlink("/", path.join("link")).unwrap(), "link"),
        (|path| fs::remove_file(path.join("manifest.json")).unwrap(), "no manifest.json"),
    ];
    for (change, named) in changes {
        let (_dir, path) = with_result();
        change(&path);
        let before = names(&path);
        let failure = ResultDir::prepare(&path).unwrap_err();
        assert_eq!(failure.code(), Exit::Output as i32);
        assert!(failure.to_string().contains(named), "{failure}");
        assert_eq!(names(&path), before);
    }
}

#[test]
fn files_that_appear_during_the_run_stay_and_the_result_is_beside_them() {
    type Change = fn(&Path);
    let changes: [Change; 4] = [
        |path| fs::write(path.join("notes.txt"), "mine").unwrap(),
        |path| fs::write(path.join("summary.json"), "my remarks").unwrap(),
        |path| {
            fs::remove_dir_all(path).unwrap();
            fs::write(path, "a file").unwrap();
        },
        |path| {
            fs::remove_dir_all(path).unwrap();
            symlink("/etc", path).unwrap();
        },
    ];
    for change in changes {
        let (dir, path) = with_result();
        let result = ResultDir::prepare(&path).unwrap();
        change(&path);
        let failure = result.write(items("new")).unwrap_err();
        assert_eq!(failure.code(), Exit::Output as i32);
        let beside = dir.path().join("R-2");
        assert!(failure.to_string().contains(&beside.display().to_string()), "{failure}");
        assert_eq!(text(beside.join("summary.json")), "new");
        assert_eq!(names(dir.path()), ["R", "R-2"]);
        if path.join("notes.txt").exists() {
            assert_eq!(text(path.join("notes.txt")), "mine");
            assert_eq!(text(path.join("summary.json")), "old");
        }
    }
}

#[test]
fn a_new_directory_that_is_filled_during_the_run_stays() {
    let dir = tempdir().unwrap();
    let path = dir.path().join("R");
    let result = ResultDir::prepare(&path).unwrap();
    fs::create_dir(&path).unwrap();
    fs::write(path.join("thesis.txt"), "mine").unwrap();
    assert!(result.write(items("new")).is_err());
    assert_eq!(names(&path), ["thesis.txt"]);
    assert_eq!(names(dir.path().join("R-2")), ["manifest.json", "run", "summary.json"]);
}

#[test]
fn a_run_that_fails_leaves_nothing_and_the_earlier_result_unchanged() {
    let (dir, path) = with_result();
    let result = ResultDir::prepare(&path).unwrap();
    fs::write(result.staged().join("events.parquet"), "half").unwrap();
    drop(result);
    let failing = Item::written("flows.csv", |_| Err(io::ErrorKind::StorageFull.into()));
    let failure = ResultDir::prepare(&path).unwrap().write(vec![failing]).unwrap_err();
    assert!(failure.rendered(false).contains("make room"), "{}", failure.rendered(false));
    assert_eq!(text(path.join("summary.json")), "old");
    assert_eq!(names(dir.path()), ["R"]);
    let deep = dir.path().join("a/b/R");
    drop(ResultDir::prepare(&deep).unwrap());
    assert_eq!(names(dir.path()), ["R"]);
}

/// Leaves the staging directory of a result as a killed process does.
fn killed(mut result: ResultDir) {
    drop(result.staging.take()); // which only releases the lock
}

#[test]
fn what_a_killed_process_left_is_removed_at_the_next_start_and_what_a_live_one_has_stays() {
    let (dir, path) = with_result();
    let result = ResultDir::prepare(&path).unwrap();
    fs::write(result.staged().join("events.parquet"), "half").unwrap();
    killed(result);
    assert_eq!(names(dir.path()).len(), 2);
    let live = ResultDir::prepare(&dir.path().join("other")).unwrap();
    assert_eq!(names(dir.path()).len(), 2, "that of the live one");
    let again = ResultDir::prepare(&path).unwrap();
    assert_eq!(names(dir.path()).len(), 3);
    drop((live, again));
    assert_eq!(names(dir.path()), ["R"]);
}

#[test]
fn a_leftover_with_files_of_another_origin_stays() {
    let (dir, path) = with_result();
    let result = ResultDir::prepare(&path).unwrap();
    // as killed between the exchange and the look at what had been there
    let staged = result.staged();
    fs::write(staged.join("../journal"), "exchange").unwrap();
    fs::write(staged.join("thesis.txt"), "mine").unwrap();
    killed(result);
    drop(ResultDir::prepare(&path).unwrap());
    assert_eq!(text(staged.join("thesis.txt")), "mine");
    // what had been there is an earlier result of ours
    fs::remove_dir_all(&staged).unwrap();
    fs::rename(&path, &staged).unwrap();
    drop(ResultDir::prepare(&path).unwrap());
    assert!(names(dir.path()).is_empty());
}

#[test]
fn what_a_run_leaves_that_is_killed_at_its_first_step_is_removed() {
    // nothing yet; the new files' directory; and what is tried before the run
    for inside in [&[][..], &["new"], &["new", "one"], &["new", "one", "other"]] {
        let (dir, path) = with_result();
        let leftover = dir.path().join(".fairpace-12-abcdef");
        inside.iter().for_each(|name| fs::create_dir_all(leftover.join(name)).unwrap());
        fs::create_dir_all(&leftover).unwrap();
        fs::set_permissions(&leftover, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
        drop(ResultDir::prepare(&path).unwrap());
        assert!(!leftover.exists(), "{inside:?}");
    }
}

#[test]
fn what_the_system_would_refuse_at_the_end_is_refused_before_the_run() {
    let dir = tempfile::tempdir().unwrap();
    // behind a directory that does not exist yet
    let long = dir.path().join("new").join("x".repeat(300));
    ResultDir::prepare(&long).unwrap_err();
    assert!(names(dir.path()).is_empty());
}

/// A result directory that is filled file by file, as a mount point is.
fn one_by_one(path: &Path) -> ResultDir {
    let mut result = ResultDir::prepare(path).unwrap();
    result.staging.take().unwrap().discard().unwrap();
    fs::create_dir_all(path).unwrap();
    result.staging = Some(Staging::create(path).unwrap());
    result.way = Way::OneByOne;
    result
}

#[test]
fn a_mount_point_is_filled_file_by_file() {
    let (dir, path) = with_result();
    one_by_one(&path).write(vec![Item::new("summary.json", "new"), Item::new("x/y/z", "")]).unwrap();
    assert_eq!(names(&path), ["manifest.json", "summary.json", "x"]);
    assert_eq!(text(path.join("summary.json")), "new");
    let result = one_by_one(&path);
    fs::write(path.join("thesis.txt"), "mine").unwrap();
    assert!(result.write(items("newer")).is_err());
    assert_eq!(names(&path), ["manifest.json", "result-2", "summary.json", "thesis.txt", "x"]);
    assert_eq!(text(path.join("result-2/summary.json")), "newer");
    assert_eq!(names(dir.path()), ["R"]);
}

#[test]
fn an_interrupted_replacement_file_by_file_is_finished_at_the_next_start() {
    // after any number of the steps: the earlier files that are removed, the new ones that are moved
    for steps in 0..6 {
        let (_dir, path) = with_result();
        let result = one_by_one(&path);
        let new = result.staged();
        let staging = new.parent().unwrap().to_owned();
        complete(&new, items("new")).unwrap();
        fs::copy(path.join("manifest.json"), staging.join("earlier.json")).unwrap();
        fs::write(staging.join("journal"), "one by one").unwrap();
        let moves: [&dyn Fn(); 5] = [
            &|| fs::remove_file(path.join("manifest.json")).unwrap(),
            &|| fs::remove_file(path.join("summary.json")).unwrap(),
            &|| fs::remove_file(path.join("run/flows.csv")).unwrap(),
            &|| fs::rename(new.join("run/flows.csv"), path.join("run/flows.csv")).unwrap(),
            &|| fs::rename(new.join("summary.json"), path.join("summary.json")).unwrap(),
        ];
        moves.iter().take(steps).for_each(|step| step());
        killed(result);
        replace::clean(&path).unwrap();
        assert_eq!(names(&path), ["manifest.json", "run", "summary.json"], "after {steps} steps");
        assert_eq!(text(path.join("summary.json")), "new");
        assert!(matches!(manifest::look(&path, None), Ok(Found::Result(_))));
    }
}

#[test]
fn a_manifest_that_names_files_outside_removes_nothing() {
    let (dir, path) = with_result();
    let precious = dir.path().join("precious");
    fs::write(&precious, "mine").unwrap();
    let manifest = text(path.join("manifest.json"));
    for outside in ["../precious", precious.to_str().unwrap(), "./x", "run/../../precious"] {
        let listed = format!("\"files\": {{\n    \"{outside}\": {{ \"bytes\": 4, \"sha256\": \"00\" }},");
        fs::write(path.join("manifest.json"), manifest.replacen("\"files\": {", &listed, 1)).unwrap();
        ResultDir::prepare(&path).unwrap_err();
        assert_eq!(text(&precious), "mine");
    }
}

#[test]
fn a_manifest_that_is_no_regular_file_is_refused_and_not_read() {
    for kind in ["fifo", "link"] {
        let dir = tempdir().unwrap();
        let manifest = dir.path().join("manifest.json");
        match kind {
            "fifo" => make_fifo(&manifest),
            _ => symlink("/dev/zero", &manifest).unwrap(),
        }
        ResultDir::prepare(dir.path()).unwrap_err();
    }
}

fn make_fifo(path: &Path) {
    rustix::fs::mknodat(CWD, path, rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR, 0).unwrap();
}

#[test]
fn directories_whose_names_only_look_like_leftovers_stay() {
    let (dir, path) = with_result();
    // a user's name; and a leftover to which others may write, so that its journal may be anybody's
    for (name, mode) in [(".fairpace-notes", 0o700), (".fairpace-12-abcdef", 0o777)] {
        let foreign = dir.path().join(name);
        fs::create_dir_all(foreign.join("new")).unwrap();
        fs::write(foreign.join("new/thesis.txt"), "mine").unwrap();
        fs::set_permissions(&foreign, std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
    }
    ResultDir::prepare(&path).unwrap().write(items("new")).unwrap();
    for name in [".fairpace-notes", ".fairpace-12-abcdef"] {
        assert_eq!(text(dir.path().join(name).join("new/thesis.txt")), "mine");
    }
}

#[test]
fn a_directory_that_cannot_be_moved_is_filled_file_by_file() {
    let (dir, path) = with_result();
    let result = ResultDir::prepare(&path).unwrap();
    complete(&result.staged(), items("new")).unwrap();
    let mut result = result;
    let staging = result.staging.take().unwrap();
    let outcome = replace::into_target(staging, &path).unwrap();
    assert!(matches!(outcome, Outcome::InPlace), "{outcome:?}");
    assert_eq!(names(&path), ["manifest.json", "run", "summary.json"]);
    assert_eq!(text(path.join("summary.json")), "new");
    assert_eq!(names(dir.path()), ["R"]);
}
