//! The congestion control of each flow: its name in the kernel, and its state.

use crate::telemetry::AlgorithmState;
use crate::{Error, sockopt};
use fairpace_cc::Params;
use fairpace_kernel::{LoadOptions, Loaded};
use fairpace_scenario::{Cc, Scenario};
use std::os::fd::BorrowedFd;

/// Longest name of a congestion control (TCP_CA_NAME_MAX less its final zero).
const NAME_MAX: usize = 15;
/// Least length of a suffix: a longer name is cut for it.
const SUFFIX_LEAST: usize = 7;
/// Digits of a suffix.
const DIGITS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";

/// A flow's congestion control.
#[derive(Debug, Clone, PartialEq)]
enum Control {
    /// One of the kernel's own algorithms, by its name.
    Kernel(String),
    /// Index of one of ours in [`Controls::loaded`].
    Loaded(usize),
}

/// The flows' congestion controls. Ours are loaded for this run only, under unique names. The kernel unloads
/// them when this value is dropped or the process ends.
pub(crate) struct Controls {
    of_flow: Vec<Control>,
    loaded: Vec<Loaded>,
}

impl Controls {
    /// Loads the scenario's algorithms. Flows of one algorithm with the same parameters share a loaded
    /// object.
    ///
    /// # Errors
    /// [`Error::Kernel`].
    pub(crate) fn prepare(scenario: &Scenario) -> Result<Self, Error> {
        let mut settings: Vec<Params> = Vec::new();
        let mut of_flow = Vec::with_capacity(scenario.flows.len());
        for flow in &scenario.flows {
            of_flow.push(match &flow.cc {
                Cc::Kernel(name) => Control::Kernel(name.clone()),
                Cc::Ours(ours) => {
                    let known = settings.iter().position(|params| params == ours.params());
                    Control::Loaded(known.unwrap_or_else(|| {
                        settings.push(*ours.params());
                        settings.len() - 1
                    }))
                }
            });
        }
        let loaded = settings.iter().map(load).collect::<Result<_, _>>()?;
        Ok(Controls { of_flow, loaded })
    }

    /// The kernel's name of the flow's algorithm.
    pub(crate) fn kernel_name(&self, flow: usize) -> &str {
        match &self.of_flow[flow] {
            Control::Kernel(name) => name,
            Control::Loaded(index) => self.loaded[*index].kernel_name(),
        }
    }

    /// The state of the flow's algorithm on this socket. A state that cannot be read is not an error of the
    /// run.
    pub(crate) fn observe(&self, flow: usize, fd: BorrowedFd<'_>) -> AlgorithmState {
        match &self.of_flow[flow] {
            Control::Kernel(name) if name == "bbr" => sockopt::bbr_info(fd).map(AlgorithmState::from),
            Control::Kernel(_) => None,
            Control::Loaded(index) => {
                let seen = self.loaded[*index].observe(fd);
                seen.ok().flatten().and_then(|flow| flow.observation).map(AlgorithmState::from)
            }
        }
        .unwrap_or(AlgorithmState::UNKNOWN)
    }

    /// What a reader of the results must know about the algorithms.
    pub(crate) fn notes(&self) -> Vec<String> {
        let note = |loaded: &Loaded| match loaded.fallbacks() {
            Ok(0) => None,
            Ok(n) => Some(format!(
                "{}: {n} ACKs were handled without state, because the kernel had no memory for it",
                loaded.kernel_name()
            )),
            Err(e) => Some(format!("{}: its counters could not be read: {e}", loaded.kernel_name())),
        };
        self.loaded.iter().filter_map(note).collect()
    }
}

/// Loads an algorithm under the first free name of this process.
fn load(params: &Params) -> Result<Loaded, Error> {
    let room = NAME_MAX.saturating_sub(params.algorithm().kernel_name().len()).max(SUFFIX_LEAST);
    let mut last = 0;
    loop {
        let options =
            LoadOptions { suffix: suffix(room, std::process::id(), last), ..LoadOptions::default() };
        match fairpace_kernel::load(params, &options) {
            Err(fairpace_kernel::Error::NameBusy { .. }) if last + 1 < DIGITS.len() => last += 1,
            result => return Ok(result?),
        }
    }
}

/// A dot, as much of the process id in base 36 as `room` characters allow (its low digits, which differ
/// between processes that run at the same time), and a digit that distinguishes algorithms of one process.
fn suffix(room: usize, process: u32, last: usize) -> String {
    let digit = |n: usize| char::from(DIGITS[n % DIGITS.len()]);
    let mut digits = vec![digit(last)];
    let mut rest = process as usize;
    while rest > 0 && digits.len() + 1 < room {
        digits.push(digit(rest));
        rest /= DIGITS.len();
    }
    digits.push('.');
    digits.iter().rev().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_one_run_fit_and_differ_from_another_process() {
        // The largest process id of a 64-bit Linux is 2^22.
        assert_eq!(suffix(7, 1 << 22, 35), ".2hwcgz");
        assert_eq!(suffix(7, 1 << 22, 35).len(), 7);
        assert_ne!(suffix(7, 1234, 0), suffix(7, 1235, 0));
        assert_ne!(suffix(7, 1234, 0), suffix(7, 1234, 1));
        assert_eq!(suffix(3, 1 << 22, 1), ".g1", "a long name leaves little room");
    }
}
