//! Every input of every corpus, without the fuzzer.

use std::fs;
use std::path::Path;

use fairpace_fuzz::TARGETS;

#[test]
fn every_input_of_every_corpus_passes() {
    for target in TARGETS {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target.name);
        let mut inputs = 0;
        for entry in fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display())) {
            let path = entry.expect("readable").path();
            let data = fs::read(&path).expect("readable");
            let passed = std::panic::catch_unwind(|| (target.run)(&data));
            assert!(passed.is_ok(), "{} fails: the panic is above", path.display());
            inputs += 1;
        }
        assert!(inputs >= 10, "the corpus of {} has {inputs} inputs only", target.name);
    }
}
