//! `fairpace-dev run` with a validation, without flows of the kernel: `make validation` runs those.

use crate::support::{Folder, run};

#[test]
fn errors_come_before_the_first_run() {
    let place = Folder::create();
    let file = place.file("file.toml");
    let with = |lines: &str| {
        let text = format!("title = \"T\"\npage = \"mine.md\"\n[validation]\n{lines}\n");
        place.write("file.toml", &text);
    };
    with("scenarios = [\"none\"]");
    run(&["run", &file]).fails(2, "cannot read");
    std::fs::create_dir(place.file("none")).unwrap();
    run(&["run", &file]).fails(2, "there is no scenario in");
    let scenario = concat!(env!("CARGO_MANIFEST_DIR"), "/../../experiments/validation/bbr1-alone.toml");
    with(&format!("scenarios = [{scenario:?}]"));
    place.write("mine.md", "mine\n");
    let dir = place.file("");
    run(&["run", &file, "--write", "--dir", dir.trim_end_matches('/')]).fails(5, "the two marks once each");
    assert_eq!(place.read("mine.md"), "mine\n");
    run(&["run", &file, "--only", "none"]).fails(2, "there is no scenario `none`");
    with(&format!("scenarios = [{scenario:?}]\nruns = 0"));
    run(&["run", &file]).fails(2, "expected a nonzero u32");
    with("scenario = []");
    run(&["run", &file]).fails(2, "there is no key `scenario` here");
}
