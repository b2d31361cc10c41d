//! Headers of a user, compiled for this machine and loaded.

use std::fs;
use std::path::{Path, PathBuf};

use fairpace_bpf_build::{Error, NativeCompiler, Sources};
use fairpace_cc::plugin::{Compiled, load};
use fairpace_cc::{Algorithm, Controller, Decision, Origin, Params, View};

/// A window that never changes.
const WHOLE: &str = r#"
#include "contract/params.h"
#define NAME_kind CC_OWNS_CWND
#define NAME_title "A window that never changes"
#define NAME_parameters(P) P(window_pkts, 20, 1, 1000, CC_UNIT_PKTS, "the window", "any")
struct NAME_params { NAME_parameters(CC_PARAM_FIELD) };
struct NAME { struct NAME_params p; };
CC_INLINE void NAME_init(struct NAME *s, const struct NAME_params *p, const struct cc_view *v,
                         struct cc_decision *d)
{ s->p = *p; d->cwnd_pkts = p->window_pkts; }
CC_INLINE void NAME_on_ack(struct NAME *s, const struct cc_view *v, struct cc_decision *d)
{ d->cwnd_pkts = s->p.window_pkts; }
CC_INLINE void NAME_on_event(struct NAME *s, u32 event, const struct cc_view *v,
                             struct cc_decision *d)
{ d->cwnd_pkts = s->p.window_pkts; }
CC_INLINE void NAME_observe(const struct NAME *s, struct cc_observation *o) { o->phase = CC_PHASE_FIXED; }
"#;

struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn header(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.path().join(format!("{name}.h"));
        fs::write(&path, text.replace("NAME", name)).unwrap();
        path
    }

    fn libraries(&self) -> PathBuf {
        self.0.path().join("libraries")
    }
}

fn compiler() -> NativeCompiler {
    NativeCompiler::new(Sources::contained().unwrap()).expect("the tests need clang")
}

fn refusal(name: &str, text: &str) -> Error {
    let place = Place::new();
    compiler().compile(&place.header(name, text), &place.libraries()).unwrap_err()
}

#[test]
fn a_header_becomes_an_algorithm_with_its_parameters() {
    let place = Place::new();
    let header = place.header("steady", WHOLE);
    let compiler = compiler();
    let library = compiler.compile(&header, &place.libraries()).unwrap();
    assert_eq!(library.warnings, "");
    let (written, digest) = (vec!["./steady.h".to_owned()], library.digest.clone());
    let compiled =
        Compiled { library: library.path, origin: Origin { header, written, digest, files: library.files } };
    // SAFETY: compiled just now
    let steady = unsafe { load(compiled) }.unwrap();
    assert_eq!((steady.name(), steady.title()), ("steady", "A window that never changes"));
    assert_eq!(Algorithm::by_name("./steady.h").unwrap(), steady);
    assert_eq!(Algorithm::by_name("steady").unwrap(), steady);
    assert!(!Algorithm::all().any(|listed| listed == steady), "the list is that of the program");
    let mut params = Params::defaults(steady);
    params.set("window_pkts", "33").unwrap();
    let view = View::default();
    let mut decision = Decision::in_force(&view);
    let mut flow = Controller::new(&params, &view, &mut decision);
    assert_eq!(decision.cwnd_pkts, 33);
    decision.cwnd_pkts = 1;
    flow.on_ack(&view, &mut decision);
    assert_eq!(decision.cwnd_pkts, 33);
    assert_eq!(flow.observe().phase, fairpace_cc::Phase::Fixed);
}

#[test]
fn what_was_compiled_is_kept_until_a_file_changes() {
    let place = Place::new();
    let header =
        place.header("kept", &WHOLE.replace("#define NAME_kind", "#include \"part.h\"\n#define NAME_kind"));
    place.header("part", "enum { PART = 1 };\n");
    let compiler = compiler();
    let first = compiler.compile(&header, &place.libraries()).unwrap();
    let at = fs::metadata(&first.path).unwrap().modified().unwrap();
    let again = compiler.compile(&header, &place.libraries()).unwrap();
    assert_eq!((&again.path, fs::metadata(&again.path).unwrap().modified().unwrap()), (&first.path, at));
    place.header("part", "enum { PART = 2 };\n");
    assert_ne!(compiler.compile(&header, &place.libraries()).unwrap().path, first.path);
}

#[test]
fn an_error_in_the_header_comes_in_the_words_of_clang_with_its_line() {
    let error = refusal("broken", &WHOLE.replace("s->p = *p;", "s->q = *p;")).to_string();
    assert!(error.contains("broken.h:") && error.contains("no member named 'q'"), "{error}");
}

#[test]
fn a_header_without_its_kind_gets_an_error_with_the_line_that_it_lacks() {
    let error = refusal("kindless", &WHOLE.replace("#define NAME_kind CC_OWNS_CWND", "")).to_string();
    assert!(error.contains("#define kindless_kind CC_OWNS_CWND"), "{error}");
}

#[test]
fn a_file_from_elsewhere_is_neither_included_nor_shown() {
    let secret = tempfile::NamedTempFile::new_in("/var/tmp").unwrap();
    fs::write(secret.path(), "root:secret:0\n").unwrap();
    let include = format!("#include \"{}\"\n", secret.path().display());
    let error = refusal("curious", &(include + WHOLE));
    let Error::Included { file, .. } = &error else { panic!("{error}") };
    assert_eq!(file, &fs::canonicalize(secret.path()).unwrap());
    assert!(!error.to_string().contains("secret:0"), "{error}");
}

#[test]
fn a_header_without_an_end_ends() {
    let error = refusal("endless", &("#include \"/dev/zero\"\n".to_owned() + WHOLE));
    assert!(
        matches!(error, Error::Refused { .. } | Error::Endless { .. } | Error::Included { .. }),
        "{error}"
    );
}

#[test]
fn a_folder_that_others_may_write_to_is_refused() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    fs::create_dir(place.libraries()).unwrap();
    fs::set_permissions(place.libraries(), fs::Permissions::from_mode(0o777)).unwrap();
    let error = compiler().compile(&place.header("open", WHOLE), &place.libraries()).unwrap_err();
    assert!(matches!(error, Error::Writable { .. }), "{error}");
}

#[test]
fn a_name_that_is_no_c_name_and_a_missing_file_are_errors() {
    let place = Place::new();
    let error = compiler().compile(Path::new("no-name.h"), &place.libraries()).unwrap_err();
    assert!(matches!(error, Error::BadName { .. }), "{error}");
    let error = compiler().compile(Path::new("missing.h"), &place.libraries()).unwrap_err().to_string();
    assert!(error.starts_with("missing.h: "), "{error}");
}
