//! The pages that a stranger reads first: README, and the page that helps to choose an algorithm.

use std::os::unix::fs::symlink;

use crate::support::Place;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
/// Lines of README with one of these are not run: root, the kernel, or minutes. Their options are checked.
const NOT_RUN: &[&str] =
    &["sudo ", "fairpace evaluate ", "--repeat ", "--pcap ", "fairpace doctor", "fairpace status"];
/// Words of README, at most.
const MOST_WORDS: usize = 1100;

fn page(path: &str) -> String {
    std::fs::read_to_string(format!("{ROOT}/{path}")).unwrap()
}

/// The commands of a page: its indented lines, without their comments.
fn commands(page: &str) -> impl Iterator<Item = &str> {
    let lines = page.lines().filter_map(|line| line.strip_prefix("    "));
    lines.flat_map(|line| line.split("  #").next().unwrap_or_default().trim().split(" && "))
}

/// Checks that the program has the subcommand and its options.
fn has_options(place: &Place, line: &str) {
    let words: Vec<&str> = line.split(' ').skip_while(|word| *word != "fairpace").skip(1).collect();
    let help = place.run(&[words[0], "--help"]).succeeds().stdout;
    for option in words.iter().filter(|word| word.starts_with("--")) {
        assert!(help.contains(option), "{line}: there is no {option}");
    }
}

#[test]
fn every_line_of_the_readme_works_as_typed() {
    let readme = page("README.md");
    let makefile = page("Makefile");
    let place = Place::new();
    for folder in ["scenarios", "conform"] {
        symlink(format!("{ROOT}/{folder}"), place.file(folder)).unwrap();
    }
    let mut run = 0;
    for line in commands(&readme) {
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            ["git", "clone", url, "fairpace"] | ["git", "clone", url] => {
                assert_eq!(url, env!("CARGO_PKG_REPOSITORY"));
            }
            ["cd", folder] => assert_eq!(folder, "fairpace"),
            ["make", target] => assert!(makefile.contains(&format!("\n{target}:")), "{line}"),
            ["sudo", "ln", ..] => assert!(line.contains("/target/release/fairpace")),
            ["fairpace", ..] | ["sudo", "fairpace", ..] if NOT_RUN.iter().any(|part| line.contains(part)) => {
                has_options(&place, line);
            }
            ["fairpace", ref arguments @ ..] => {
                place.run(arguments).succeeds();
                run += 1;
            }
            _ => panic!("README has a line of another kind: {line}"),
        }
    }
    assert!(run >= 5, "{run} lines were run");
    let picture = place.read("out/first/headline.svg");
    assert!(picture == page("docs/img/first.svg"), "the picture of README is not what its command writes");
}

#[test]
fn the_readme_is_short() {
    let words = page("README.md").split_whitespace().count();
    assert!(words <= MOST_WORDS, "{words} words");
}

#[test]
fn the_page_that_helps_to_choose_has_a_row_for_each_algorithm() {
    let page = page("docs/which-algorithm.md");
    let place = Place::new();
    let listed = place.run(&["algorithms", "--json"]).succeeds().json();
    let names: Vec<&str> =
        listed.as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert!(names.len() > 20);
    let rows: Vec<Vec<&str>> = page
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.strip_suffix(" |"))
        .map(|row| row.split(" | ").collect())
        .collect();
    for name in &names {
        let row = rows.iter().find(|row| row[0] == format!("{name}`"));
        let row = row.unwrap_or_else(|| panic!("docs/which-algorithm.md has no row for {name}"));
        let [_, for_whom, production, harm, kernels, differs] = row[..] else { panic!("{name}: {row:?}") };
        assert!([for_whom, harm, kernels, differs].iter().all(|cell| cell.len() > 3), "{name}: {row:?}");
        let verdict = production.split([';', ':']).next();
        assert!(matches!(verdict, Some("yes" | "with care" | "no")), "{name}: {production}");
    }
    for row in rows.iter().filter(|row| row.len() == 6) {
        assert!(names.contains(&row[0].trim_end_matches('`')), "there is no {}", row[0]);
    }
    let said = place.run(&["algorithms"]).succeeds().stdout;
    assert!(said.contains("/docs/which-algorithm.md"), "{said}");
}
