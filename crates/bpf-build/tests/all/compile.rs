//! Compilation of a user's header: what the object holds, what clang's errors look like, and that the bytes
//! depend on the sources and the compiler only.

use std::fs;
use std::path::Path;

use fairpace_bpf_build::{
    Algorithm, BpfCompiler, Error, Kind, Sources, check_objects, compile_all, read_objects, write_objects,
};
use fairpace_test_support::skip;

/// An algorithm with a window that never changes; `BODY` stands for a statement of `on_ack`.
const HEADER: &str = r#"
#include "contract/params.h"
#include "beside.h"
#define mine_parameters(P) P(cwnd_pkts, WINDOW_PKTS, 1, 1000, CC_UNIT_PKTS, "the window", "any")
struct mine_params { mine_parameters(CC_PARAM_FIELD) };
struct mine { struct mine_params p; };
CC_INLINE void mine_init(struct mine *s, const struct mine_params *p, const struct cc_view *v,
			 struct cc_decision *d)
{
	s->p = *p;
}
CC_INLINE void mine_on_ack(struct mine *s, const struct cc_view *v, struct cc_decision *d) { BODY; }
CC_INLINE void mine_on_event(struct mine *s, u32 event, const struct cc_view *v, struct cc_decision *d) {}
"#;

/// `None`, with a message: no clang. With FAIRPACE_REQUIRE_KERNEL=1 that is a failure.
fn compiler() -> Option<BpfCompiler> {
    match BpfCompiler::new(Sources::contained().expect("unpack")) {
        Ok(compiler) => Some(compiler),
        Err(error) => {
            skip(&error.to_string());
            None
        }
    }
}

/// Writes the user's files to a folder.
fn write_header(folder: &Path, body: &str) -> Algorithm {
    fs::write(folder.join("beside.h"), "#define WINDOW_PKTS 20\n").expect("write");
    let header = folder.join("mine.h");
    fs::write(&header, HEADER.replace("BODY", body)).expect("write");
    Algorithm::new(header, Kind::OwnsCwnd).expect("a name")
}

/// A compiler with a list of two algorithms, one of each size, and a preset.
fn compiler_of_few() -> Option<BpfCompiler> {
    let compiler = compiler()?;
    let list = compiler.sources().cc().join("algorithms.def");
    let text = fs::read_to_string(&list).expect("read");
    let is_one = |entry: &&str| ["(bbr3,", "(bbr3e1,", "(reno,"].iter().any(|name| entry.contains(name));
    let few: Vec<&str> = text.split("\nCC_").filter(is_one).collect();
    assert_eq!(few.len(), 3);
    fs::write(list, format!("CC_{}", few.join("\nCC_"))).expect("write");
    Some(compiler)
}

fn contains(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}

#[test]
fn a_users_header_becomes_an_object_of_its_name() {
    let Some(compiler) = compiler() else { return };
    let folder = tempfile::tempdir().expect("folder");
    let algorithm = write_header(folder.path(), "d->cwnd_pkts = s->p.cwnd_pkts");
    let object = compiler.compile(&algorithm).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!((object.name.as_str(), object.warnings.as_str()), ("mine", ""));
    assert!(object.elf.starts_with(b"\x7fELF") && contains(&object.elf, "fp_mine"));
    let preset = algorithm.listed_as("mine_b").expect("a name");
    assert!(contains(&compiler.compile(&preset).expect("compile").elf, "fp_mine_b"));
}

#[test]
fn two_folders_give_the_same_bytes_and_no_path_is_in_them() {
    let (Some(one), Some(other)) = (compiler_of_few(), compiler_of_few()) else { return };
    assert_ne!(one.sources().cc(), other.sources().cc());
    let first = compile_all(&one).unwrap_or_else(|e| panic!("{e}"));
    let second = compile_all(&other).unwrap_or_else(|e| panic!("{e}"));
    assert!(first == second, "the folder shows in the bytes");
    let temporary = std::env::temp_dir().to_string_lossy().into_owned();
    for object in first {
        for path in [&temporary, env!("CARGO_MANIFEST_DIR"), "/usr/", "/root", "/home"] {
            assert!(!contains(&object.elf, path), "{}: {path}", object.name);
        }
    }
}

/// Copies the files of a folder and of those in it.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("folder");
    for entry in fs::read_dir(from).expect("folder") {
        let (path, to) = entry.map(|e| (e.path(), to.join(e.file_name()))).expect("entry");
        if path.is_dir() {
            copy(&path, &to);
        } else {
            fs::copy(&path, &to).expect("copy");
        }
    }
}

#[test]
fn a_header_in_a_folder_around_the_sources_gives_the_same_bytes_wherever_these_are() {
    let Some(contained) = compiler() else { return };
    let folder = tempfile::tempdir().expect("folder");
    let algorithm = write_header(folder.path(), "d->cwnd_pkts = s->p.cwnd_pkts");
    let compile = |name: &str| {
        let (cc, libbpf) = (folder.path().join(name).join("cc"), folder.path().join(name).join("libbpf"));
        copy(contained.sources().cc(), &cc);
        copy(contained.sources().libbpf(), &libbpf);
        let compiler = BpfCompiler::new(Sources::in_folders(cc, libbpf)).expect("clang");
        compiler.compile(&algorithm).unwrap_or_else(|e| panic!("{e}")).elf
    };
    let first = compile("first");
    assert!(first == compile("second"), "the folder shows in the bytes");
    assert!(!contains(&first, &folder.path().to_string_lossy()), "the path of the header is in them");
}

#[test]
fn an_error_in_the_header_comes_back_in_the_words_of_clang_with_its_place() {
    let Some(compiler) = compiler() else { return };
    let folder = tempfile::tempdir().expect("folder");
    for (body, said) in [
        ("d->cwnd = 1", "no member named 'cwnd' in 'struct cc_decision'"),
        ("missing(d)", "implicit declaration of function 'missing'"),
    ] {
        let error = compiler.compile(&write_header(folder.path(), body)).expect_err(body);
        let Error::Refused { name, messages } = &error else { panic!("{error}") };
        assert_eq!(name, "mine");
        assert!(messages.contains("mine.h:12:") && messages.contains(said), "{messages}");
    }
}

#[test]
fn a_missing_header_a_bad_name_and_a_missing_clang_are_errors_that_name_them() {
    for name in ["has-dash", "1st", "thirteen_char"] {
        let error = Algorithm::new(format!("{name}.h"), Kind::GrowsCwnd).expect_err(name);
        assert!(matches!(&error, Error::BadName { name: n } if n == name), "{error}");
    }
    let sources = Sources::contained().expect("unpack");
    let error = BpfCompiler::with_clang("/nonexistent/clang", sources).expect_err("there is none");
    assert!(error.to_string().contains("/nonexistent/clang"), "{error}");
    let error = BpfCompiler::with_clang("false", Sources::contained().expect("unpack"));
    assert!(matches!(error, Err(Error::NoClang { .. })), "a program that is not clang: {error:?}");
    let Some(compiler) = compiler() else { return };
    let algorithm = Algorithm::new("/nonexistent/mine.h", Kind::OwnsCwnd).expect("a name");
    let error = compiler.compile(&algorithm).expect_err("there is none");
    assert!(matches!(&error, Error::Io { path, .. } if path.ends_with("mine.h")), "{error}");
}

#[test]
fn stored_objects_are_used_only_with_the_sources_that_they_came_from() {
    let Some(compiler) = compiler_of_few() else { return };
    let sources = compiler.sources();
    let objects = compile_all(&compiler).unwrap_or_else(|e| panic!("{e}"));
    let folder = tempfile::tempdir().expect("folder");
    let stored = folder.path().join("objects");
    write_objects(&stored, &objects, sources).expect("write");
    check_objects(&stored, &objects, sources).expect("they are the same");
    assert_eq!(read_objects(&stored, sources).expect("read"), objects);

    let mut changed = objects.clone();
    changed[1].elf.push(0);
    let error = check_objects(&stored, &changed, sources).expect_err("one differs");
    assert!(error.to_string().ends_with(&format!("other bytes: {}", changed[1].name)), "{error}");

    fs::write(sources.cc().join("bbr1.h"), "/* changed */").expect("write");
    let error = read_objects(&stored, sources).expect_err("the sources differ");
    assert!(matches!(&error, Error::StaleObjects { why, .. } if why.contains("other sources")), "{error}");
    fs::remove_file(stored.join("SOURCES")).expect("remove");
    assert!(read_objects(&stored, sources).is_err());
}

#[test]
fn the_list_is_that_of_the_native_build() {
    let sources = Sources::contained().expect("unpack");
    let listed = sources.listed().unwrap_or_else(|e| panic!("{e}"));
    let native = fairpace_cc::Algorithm::all();
    assert_eq!(listed.len(), native.len());
    for (listed, native) in listed.iter().zip(native) {
        let kind = match (native.kind(), native.tracks_sends()) {
            (fairpace_cc::Kind::GrowsCwnd, _) => Kind::GrowsCwnd,
            (fairpace_cc::Kind::OwnsCwnd, true) => Kind::TracksSends,
            (fairpace_cc::Kind::OwnsCwnd, false) => Kind::OwnsCwnd,
        };
        assert_eq!((listed.name(), listed.kind()), (native.name(), kind));
    }
}

#[test]
fn a_list_of_another_form_is_an_error_with_its_line() {
    let folder = tempfile::tempdir().expect("folder");
    let sources = Sources::in_folders(folder.path(), folder.path());
    for (list, said) in [
        ("\nCC_ALGORITHM(a, CC_NEW_KIND, \"\", \"\")", "line 2: there is no kind CC_NEW_KIND"),
        ("CC_PRESET(b, a, \"\", \"\", \"\")", "line 1: b is a preset of a"),
        (
            "CC_ALGORITHM(a, CC_OWNS_CWND, \"\", \"\")\nCC_PRESET(b, a, \"\", \"\")",
            "line 2: a preset has five arguments",
        ),
        (
            "CC_ALGORITHM(a, CC_OWNS_CWND, \"(,\", \"\")\nCC_PRESET(b, a, \"\", \"\", \"x=1 \"\n\"y\")",
            "line 2: b cannot have the default \"y\"",
        ),
        ("CC_ALGORITHM(a)", "line 1"),
        ("CC_ALGORITHM(a-b, CC_OWNS_CWND, \"\", \"\")", "a-b"),
    ] {
        fs::write(folder.path().join("algorithms.def"), list).expect("write");
        let error = sources.listed().expect_err(list);
        assert!(error.to_string().contains(said), "{error}");
    }
}
