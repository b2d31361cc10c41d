//! Every input of every corpus, without the fuzzer; and the archives that hold the inputs.

use std::collections::BTreeSet;
use std::fs;

use fairpace_fuzz::{Corpus, TARGETS, Target};

fn corpus(target: Target) -> Corpus {
    Corpus::of_archive(&target.archive()).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn every_input_of_every_corpus_passes() {
    for target in TARGETS {
        let inputs = corpus(target).inputs;
        for (name, data) in &inputs {
            let passed = std::panic::catch_unwind(|| (target.run)(data));
            assert!(passed.is_ok(), "{name} of {} fails: the panic is above", target.archive().display());
        }
        let count = inputs.len();
        assert!(count >= 10, "the corpus of {} has {count} inputs only", target.name);
    }
}

#[test]
fn every_archive_is_what_packing_its_inputs_gives() {
    for target in TARGETS {
        let committed = fs::read(target.archive()).expect("readable");
        let packed = corpus(target).pack().expect("names from an archive");
        assert!(
            committed == packed,
            "{} was packed otherwise, or by another version of the compressor: unpack it into a folder, and \
             pack that with `cargo run -p fairpace-fuzz --bin corpus -- pack {} FOLDER`",
            target.archive().display(),
            target.name
        );
    }
}

#[test]
fn every_file_beside_the_archives_is_one_of_them() {
    let folder = TARGETS[0].archive();
    let folder = folder.parent().expect("the corpus folder");
    let present = fs::read_dir(folder).expect("readable").map(|entry| entry.expect("readable").path());
    assert_eq!(present.collect::<BTreeSet<_>>(), TARGETS.map(|target| target.archive()).into());
}
