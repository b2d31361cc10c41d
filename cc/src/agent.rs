//! The interface of the algorithm `agent` to its environment, which reads statistics and hands in actions:
//! `lib/monitor.h` and `lib/action.h`.

#![allow(non_snake_case)] // names of the contract, as in contract.rs

use std::sync::LazyLock;

use crate::algorithm::Algorithm;
use crate::controller::Controller;
use crate::ffi;
use crate::interval::Interval;

/// The algorithm whose rate and cwnd are set from outside, if the list has it.
static AGENT: LazyLock<Option<Algorithm>> = LazyLock::new(|| Algorithm::all().find(|a| a.name() == "agent"));

/// An action: what a flow with the algorithm `agent` does from the first ACK after this monitor interval on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Action {
    /// A pacing rate, in bytes of payload per second, and a cwnd.
    Absolute {
        /// Pacing rate, from [`Action::LEAST_BPS`] to [`Action::MOST_BPS`].
        pacing_rate_Bps: u32,
        /// Congestion window, from 1 to [`Action::MOST_CWND_PKTS`].
        cwnd_pkts: u32,
    },
    /// A factor 2^a on the pacing rate, with a from -1 to 1. cwnd is `cwnd_gain` x rate x smoothed RTT.
    Factor {
        /// The exponent a, rounded to 16 binary places.
        exponent: f32,
    },
}

/// The reason why an action was not taken.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum ActionError {
    /// Another algorithm controls the flow.
    #[error("{0} controls this flow; only `agent` takes actions")]
    NotAnAgent(Algorithm),
    /// The pacing rate, in bytes per second, is out of its range.
    #[error("the pacing rate is {0} B/s; it is from {least} to {most}", least = Action::LEAST_BPS,
        most = Action::MOST_BPS)]
    Rate(u32),
    /// The cwnd is out of its range.
    #[error("cwnd is {0} packets; it is from 1 to {most}", most = Action::MOST_CWND_PKTS)]
    Cwnd(u32),
    /// The exponent of the factor is out of its range.
    #[error("the exponent is {0}; it is from -1 to 1")]
    Exponent(f32),
}

/// Number of features that a policy of `lib/policy.h` sees (`CC_FEATURES`).
pub const FEATURES: usize = 7;

// Values of `enum cc_action_form`.
pub(crate) const ABSOLUTE: u32 = 1;
pub(crate) const FACTOR: u32 = 2;
/// Raw number of an exponent of 1 (`CC_EXPONENT_UNIT`).
pub(crate) const EXPONENT_UNIT: i32 = 1 << 16;

impl Action {
    /// The least pacing rate, bytes per second: a packet in 1.5 s (`CC_ACTION_LEAST_BPS`).
    pub const LEAST_BPS: u32 = 1000;
    /// The highest pacing rate, bytes per second: 34 Gbit/s (`CC_ACTION_MOST_BPS`).
    pub const MOST_BPS: u32 = u32::MAX;
    /// The largest cwnd, packets: 400 Gbit/s and 0.5 s (`CC_ACTION_MOST_CWND_PKTS`).
    pub const MOST_CWND_PKTS: u32 = 1 << 24;

    fn to_c(self) -> Result<ffi::Action, ActionError> {
        match self {
            Action::Absolute { pacing_rate_Bps, .. } if pacing_rate_Bps < Action::LEAST_BPS => {
                Err(ActionError::Rate(pacing_rate_Bps))
            }
            Action::Absolute { cwnd_pkts, .. } if !(1..=Action::MOST_CWND_PKTS).contains(&cwnd_pkts) => {
                Err(ActionError::Cwnd(cwnd_pkts))
            }
            Action::Absolute { pacing_rate_Bps, cwnd_pkts } => {
                Ok(ffi::Action { form: ABSOLUTE, rate_Bps: pacing_rate_Bps, cwnd_pkts, exponent: 0 })
            }
            Action::Factor { exponent } if (-1.0..=1.0).contains(&exponent) => {
                // exact: a product with a power of two, rounded half away from zero
                let exponent = (exponent * EXPONENT_UNIT as f32).round() as i32;
                Ok(ffi::Action { form: FACTOR, exponent, ..ffi::Action::default() })
            }
            Action::Factor { exponent } => Err(ActionError::Exponent(exponent)),
        }
    }
}

impl Algorithm {
    /// Returns whether the algorithm is `agent`, whose pacing rate and cwnd are set from outside.
    #[must_use]
    pub fn is_agent(self) -> bool {
        *AGENT == Some(self)
    }
}

impl Controller {
    /// Returns the statistics of the monitor interval of an `agent` that ends at `now_us`, when all ACKs
    /// before have been processed; in the middle of an interval, of the part that has passed. `None`: another
    /// algorithm.
    #[must_use]
    pub fn interval(&self, now_us: u64) -> Option<Interval> {
        if !self.algorithm().is_agent() {
            return None;
        }
        let mut interval = Interval::default();
        // SAFETY: this is the state of an `agent`, by the check above, and is only read.
        unsafe { ffi::cc_native_agent_read(self.state.as_ptr().cast(), now_us, &mut interval) };
        Some(interval)
    }

    /// Returns the features of this interval that a policy of `lib/policy.h` sees, in 1/1024. `None`: another
    /// algorithm.
    #[must_use]
    pub fn features(&self, interval: &Interval) -> Option<[i32; FEATURES]> {
        if !self.algorithm().is_agent() {
            return None;
        }
        let mut features = [0; FEATURES];
        // SAFETY: this is the state of an `agent`, by the check above; it is only read, and the array has
        // CC_FEATURES numbers.
        unsafe {
            ffi::cc_native_agent_features(self.state.as_ptr().cast(), interval, features.as_mut_ptr());
        }
        Some(features)
    }

    /// Hands in an action. It is in force from the first ACK after this monitor interval on, and replaces an
    /// earlier action that is not in force yet.
    ///
    /// # Errors
    /// A value is out of its range, or another algorithm controls the flow. Nothing is changed then.
    pub fn act(&mut self, action: Action) -> Result<(), ActionError> {
        if !self.algorithm().is_agent() {
            return Err(ActionError::NotAnAgent(self.algorithm()));
        }
        let action = action.to_c()?;
        let (_, state) = self.parts();
        // SAFETY: this is the state of an `agent`, by the check above.
        unsafe { ffi::cc_native_agent_act(state, &action) };
        Ok(())
    }
}
