//! The recipes of docs/experiments.md: each adds one file to a copy of the experiments, and its command runs
//! it.

use std::fs;
use std::path::Path;
use std::process::Command;

use fairpace_test_support::{Folder, skip};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
/// What the recipes add to.
const EXPERIMENTS: [&str; 4] = [
    "evaluation/field",
    "reproduction/bbr-cardwell2016",
    "experiments/validation.toml",
    "experiments/validation",
];
/// The exit code where there is no kernel in virtual time.
const UNSUPPORTED: i32 = 3;

/// A file to add, and the command that runs it.
struct Recipe<'p> {
    file: &'p str,
    text: &'p str,
    command: &'p str,
}

/// The recipes of the page: each section has a file, whose first line names it, and the command.
fn recipes(page: &str) -> Vec<Recipe<'_>> {
    let sections = page.split("\n## Add ").skip(1);
    let recipes = sections.map(|section| {
        let (_, rest) = section.split_once("```toml\n# ").expect("a recipe has a file with its name");
        let (text, rest) = rest.split_once("```").expect("the file ends");
        let (file, text) = text.split_once('\n').expect("it has more than its name");
        let (_, command) = rest.split_once("```sh\n").expect("a recipe has a command");
        let command = command.split("\n```").next().expect("the command ends");
        Recipe { file, text, command }
    });
    recipes.collect()
}

fn copy(from: &Path, to: &Path) {
    if !from.is_dir() {
        fs::create_dir_all(to.parent().expect("it lies in a folder")).expect("a folder can be made");
        fs::copy(from, to).expect("a file can be copied");
        return;
    }
    for entry in fs::read_dir(from).expect("the folder is there") {
        let entry = entry.expect("it has a name");
        if entry.file_name() != ".cache" {
            copy(&entry.path(), &to.join(entry.file_name()));
        }
    }
}

#[test]
fn each_recipe_needs_one_file_and_no_rust() {
    let page = fs::read_to_string(Path::new(ROOT).join("docs/experiments.md")).expect("the page is there");
    let recipes = recipes(&page);
    assert_eq!(recipes.len(), 3, "a criterion, a figure and a case of the validation");
    let place = Folder::create();
    for part in EXPERIMENTS {
        copy(&Path::new(ROOT).join(part), &place.path().join(part));
    }
    let programs = Path::new(env!("CARGO_BIN_EXE_fairpace-dev")).parent().expect("it lies in a folder");
    for Recipe { file, text, command } in recipes {
        let path = place.path().join(file);
        assert!(!path.exists(), "{file} is there without the recipe");
        fs::create_dir_all(path.parent().expect("it lies in a folder")).expect("a folder can be made");
        fs::write(&path, text).expect("the file can be written");
        let mut words = command.split(' ');
        let program = programs.join(words.next().expect("a program"));
        if !program.exists() {
            return skip(&format!("{command}: the program is not built"));
        }
        let output = Command::new(program).args(words).current_dir(place.path()).output().expect("it starts");
        let [said, told] = [&output.stdout, &output.stderr].map(|of| String::from_utf8_lossy(of));
        if output.status.code() == Some(UNSUPPORTED) {
            skip(&told);
            continue;
        }
        // a criterion that an algorithm fails is no failure of the recipe
        assert!(matches!(output.status.code(), Some(0 | 1)), "{command}: {said}{told}");
        let name = path.file_stem().expect("it has a name").to_string_lossy();
        let shown = if name == "figure" { "two-buffers" } else { &name };
        let title =
            text.lines().find_map(|line| line.strip_prefix("title = ")).expect("a title").trim_matches('"');
        assert!([shown, title].iter().any(|part| said.contains(part)), "{command}: {said}{told}");
    }
}
