//! An object that a user compiled, in the running kernel.

use std::fs;
use std::os::fd::AsFd;

use crate::support::{connect, enter_own_namespace, has_kernel, listener, transfer};
use fairpace_bpf_build::{Algorithm, BpfCompiler, Kind, Sources};
use fairpace_kernel::{LoadOptions, Object, list, load_object};
use fairpace_test_support::skip;

/// An algorithm of a user: a window of half its parameter, and a count of ACKs.
const USERS_HEADER: &str = r#"
#include "contract/params.h"
#define halfwindow_parameters(P) P(cwnd_pkts, 20, 2, 1000, CC_UNIT_PKTS, "twice the window", "any")
struct halfwindow_params { halfwindow_parameters(CC_PARAM_FIELD) };
struct halfwindow { struct halfwindow_params p; u32 acks; };
CC_INLINE void halfwindow_on_event(struct halfwindow *s, u32 e, const struct cc_view *v,
				   struct cc_decision *d)
{
	d->cwnd_pkts = s->p.cwnd_pkts / 2;
}
CC_INLINE void halfwindow_init(struct halfwindow *s, const struct halfwindow_params *p,
			       const struct cc_view *v, struct cc_decision *d)
{
	s->p = *p;
	halfwindow_on_event(s, 0, v, d);
}
CC_INLINE void halfwindow_on_ack(struct halfwindow *s, const struct cc_view *v, struct cc_decision *d)
{
	s->acks++;
	halfwindow_on_event(s, 0, v, d);
}
"#;

#[test]
fn an_object_that_a_user_compiled_runs_with_its_parameters_and_its_state_can_be_read() {
    if !has_kernel() {
        return;
    }
    let folder = tempfile::tempdir().expect("folder");
    let header = folder.path().join("halfwindow.h");
    fs::write(&header, USERS_HEADER).expect("write");
    let sources = Sources::contained().expect("unpack");
    let compiler = match BpfCompiler::new(sources) {
        Ok(compiler) => compiler,
        Err(e) => return skip(&e.to_string()),
    };
    let algorithm = Algorithm::new(header, Kind::OwnsCwnd).expect("a name");
    let compiled = compiler.compile(&algorithm).unwrap_or_else(|e| panic!("{e}"));
    let mut object = Object::from_elf(&compiled.elf).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(object.parameters()[0].name, "cwnd_pkts");
    assert_eq!(object.parameters()[0].value, 20);
    object.set("cwnd_pkts", 40).expect("it exists");

    let loaded = load_object(&object, &LoadOptions::unique()).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(loaded.algorithm(), None);
    let entry = list().expect("list").into_iter().find(|e| e.name == loaded.kernel_name()).expect("listed");
    assert_eq!(entry.algorithm, None);
    enter_own_namespace();
    let (mut sender, mut receiver) = connect(&listener(), loaded.kernel_name());
    transfer(&mut sender, &mut receiver, 4 << 20);
    let flow = loaded.observe(sender.as_fd()).expect("observe").expect("the flow has state");
    assert_eq!(flow.observation, None);
    let word = |at: usize| flow.state.get(at..at + 4).map(|b| u32::from_ne_bytes(b.try_into().expect("4")));
    assert_eq!(word(0), Some(40), "the parameter, the first field of the state: {flow:?}");
    assert_eq!((word(4), flow.state.len()), (Some(flow.acks as u32), 8), "the ACKs that on_ack counted");
    assert_eq!(flow.view.cwnd_pkts, 20, "half of the parameter");
}
