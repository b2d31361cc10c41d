//! The places that measured a figure: each stack in the simulator, and each stack with real flows.

use fairpace_scenario::Target;

use crate::figure::Stack;
use crate::record::{Measured, Record};

/// A place: a stack and a host, with the measurements of a figure.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place<'a> {
    pub(crate) stack: &'a Stack,
    pub(crate) on: Target,
    pub(crate) measured: Option<&'a Measured>,
}

impl Record {
    /// Iterates over the places of a figure: every stack in the simulator, and with real flows if there are
    /// any.
    pub(crate) fn places(&self) -> impl Iterator<Item = Place<'_>> {
        let of = |stack| {
            [Target::Simulator, Target::Testbed].map(|on| Place { stack, on, measured: self.at(stack, on) })
        };
        let places = self.stacks.iter().flat_map(of);
        places.filter(|place| place.measured.is_some() || place.on == Target::Simulator)
    }
}

impl Place<'_> {
    /// Name of the place: "simulator, TSO bursts".
    pub(crate) fn name(&self) -> String {
        let host = if self.on == Target::Simulator { "simulator" } else { "real flows" };
        let comma = if self.stack.title.is_empty() { "" } else { ", " };
        format!("{host}{comma}{}", self.stack.title)
    }
}
