//! Declarations of the C interface of `native/native.c`, and its table of algorithms as slices.

#![allow(non_snake_case)] // names of the contract, as in contract.rs

use std::ffi::{CStr, c_char, c_void};

use crate::contract::{Decision, View};
use crate::interval::Interval;

/// Bytes reserved for the state of a flow; a static assertion in C fails for an algorithm that needs more.
pub(crate) const STATE_BYTES: usize = parse(env!("CC_NATIVE_STATE_BYTES"));
/// Size of `struct cc_sends`, bytes; asserted in C.
pub(crate) const SENDS_BYTES: usize = parse(env!("CC_NATIVE_SENDS_BYTES"));
/// Most parameters that an algorithm may have; asserted in C.
pub(crate) const MAX_PARAMETERS: usize = parse(env!("CC_NATIVE_MAX_PARAMETERS"));

/// Macros with which `native/native.c` is compiled, as names and values of `-D`: for a library that the
/// feature `plugin` loads.
pub const NATIVE_DEFINES: [(&str, usize); 3] = [
    ("CC_NATIVE_STATE_BYTES", STATE_BYTES),
    ("CC_NATIVE_SENDS_BYTES", SENDS_BYTES),
    ("CC_NATIVE_MAX_PARAMETERS", MAX_PARAMETERS),
];

const fn parse(text: &str) -> usize {
    match usize::from_str_radix(text, 10) {
        Ok(n) => n,
        Err(_) => panic!("build.rs sets a number"),
    }
}

/// The struct `cc_native_parameter` of C.
#[repr(C)]
pub(crate) struct Parameter {
    pub(crate) name: *const c_char,
    pub(crate) what: *const c_char,
    pub(crate) why: *const c_char,
    pub(crate) default: u32,
    pub(crate) least: u32,
    pub(crate) most: u32,
    pub(crate) unit: u32,
}

/// The struct `cc_native_algorithm` of C.
#[repr(C)]
pub(crate) struct Algorithm {
    pub(crate) name: *const c_char,
    pub(crate) title: *const c_char,
    pub(crate) source: *const c_char,
    pub(crate) algorithm: *const c_char,
    pub(crate) settings: *const c_char,
    pub(crate) parameters: *const Parameter,
    pub(crate) parameter_count: u32,
    pub(crate) state_bytes: u32,
    pub(crate) kind: u32,
    /// A set of `enum cc_bounds`.
    pub(crate) bounds: u32,
}

/// The struct `cc_observation` of C; `phase` may hold any number.
#[repr(C)]
#[derive(Default)]
pub(crate) struct Observation {
    pub(crate) bw_Bps: u64,
    pub(crate) min_rtt_us: u32,
    pub(crate) pacing_gain_256: u32,
    pub(crate) cwnd_gain_256: u32,
    pub(crate) phase: u32,
}

/// The struct `cc_action` of C.
#[repr(C)]
#[derive(Default)]
pub(crate) struct Action {
    /// The form of the action: `enum cc_action_form`.
    pub(crate) form: u32,
    pub(crate) rate_Bps: u32,
    pub(crate) cwnd_pkts: u32,
    pub(crate) exponent: i32,
}

/// The type of the function `cc_native_algorithms` in a shared library. The types below are those of the
/// other functions.
#[cfg(feature = "plugin")]
pub(crate) type Algorithms = unsafe extern "C-unwind" fn(*mut u32) -> *const Algorithm;
#[cfg(feature = "plugin")]
pub(crate) type Init = unsafe extern "C-unwind" fn(u32, *mut c_void, *const u32, *const View, *mut Decision);
#[cfg(feature = "plugin")]
pub(crate) type OnAck = unsafe extern "C-unwind" fn(u32, *mut c_void, *const View, *mut Decision);
#[cfg(feature = "plugin")]
pub(crate) type OnEvent = unsafe extern "C-unwind" fn(u32, *mut c_void, u32, *const View, *mut Decision);
#[cfg(feature = "plugin")]
pub(crate) type Observe = unsafe extern "C-unwind" fn(u32, *const c_void, *mut Observation);

unsafe extern "C-unwind" {
    fn cc_native_algorithms(count: *mut u32) -> *const Algorithm;
    pub(crate) fn cc_native_init(
        id: u32,
        state: *mut c_void,
        params: *const u32,
        v: *const View,
        d: *mut Decision,
    );
    pub(crate) fn cc_native_on_ack(id: u32, state: *mut c_void, v: *const View, d: *mut Decision);
    pub(crate) fn cc_native_on_event(
        id: u32,
        state: *mut c_void,
        event: u32,
        v: *const View,
        d: *mut Decision,
    );
    pub(crate) fn cc_native_clamp(v: *const View, d: *mut Decision, bounds: u32) -> u32;
    pub(crate) fn cc_native_observe(id: u32, state: *const c_void, o: *mut Observation);
    pub(crate) fn cc_native_agent_read(state: *const c_void, now_us: u64, i: *mut Interval);
    pub(crate) fn cc_native_agent_act(state: *mut c_void, a: *const Action);
    pub(crate) fn cc_native_agent_features(state: *const c_void, i: *const Interval, features: *mut i32);
    pub(crate) fn cc_native_sends_start(r: *mut c_void, v: *const View);
    pub(crate) fn cc_native_sends_note(
        r: *mut c_void,
        v: *const View,
        delivered_pkts: u32,
        lost_pkts: u32,
        inflight_pkts: u32,
    );
    pub(crate) fn cc_native_sends_note_losses(r: *mut c_void, v: *const View);
    pub(crate) fn cc_native_sends_sample(r: *const c_void, v: *mut View, retransmitted: bool);
    pub(crate) fn cc_native_sends_lost(
        r: *mut c_void,
        v: *mut View,
        end_seq: u32,
        sample_retransmitted: bool,
    );
    pub(crate) fn cc_native_sends_is_retransmitted(r: *const c_void, v: *const View) -> bool;
}

/// Reports a false CC_CHECK in the C (only in debug builds): a defect of an algorithm. The panic unwinds
/// through the C.
#[unsafe(no_mangle)]
extern "C-unwind" fn cc_native_check_failed(what: *const c_char) {
    panic!("an algorithm broke its own rules: {}", text(what));
}

/// Returns the table of algorithms in C.
pub(crate) fn algorithms() -> &'static [Algorithm] {
    let mut count = 0;
    // SAFETY: returns a static array and its length; the pointers in it are to static data.
    unsafe {
        let first = cc_native_algorithms(&mut count);
        std::slice::from_raw_parts(first, count as usize)
    }
}

/// Returns the parameters in a row of the table.
pub(crate) fn parameters(algorithm: &'static Algorithm) -> &'static [Parameter] {
    // SAFETY: a static array and its length, from the table.
    unsafe { std::slice::from_raw_parts(algorithm.parameters, algorithm.parameter_count as usize) }
}

/// Returns a string of the table, or of a CC_CHECK.
pub(crate) fn text(pointer: *const c_char) -> &'static str {
    // SAFETY: only used on string literals in the C, which are static and terminated.
    let text = unsafe { CStr::from_ptr(pointer) };
    text.to_str().expect("the C is UTF-8")
}

#[cfg(test)]
pub(crate) mod layout {
    use super::*;

    #[repr(C)]
    pub(crate) struct Number {
        pub(crate) name: *const c_char,
        pub(crate) value: u32,
        pub(crate) bytes: u32,
    }

    unsafe extern "C-unwind" {
        fn cc_native_layout(count: *mut u32) -> *const Number;
    }

    pub(crate) fn numbers() -> &'static [Number] {
        let mut count = 0;
        // SAFETY: returns a static array and its length.
        unsafe {
            let first = cc_native_layout(&mut count);
            std::slice::from_raw_parts(first, count as usize)
        }
    }
}
