//! Independent losses with a share that changes at given times.

use std::sync::Arc;

use fairpace_scenario::Random;

use crate::time::Nanos;

/// The share of lost packets in force and the later ones.
#[derive(Debug, Clone)]
pub(crate) struct InSteps {
    /// Share in force, billionths.
    ppb: u64,
    /// Later shares: each a time and the share from then on.
    steps: Arc<[(Nanos, u64)]>,
    next_step: usize,
}

impl InSteps {
    /// Returns losses with this share, and with those of `steps` from their times on, which grow.
    pub(crate) fn new(ppb: u64, steps: Arc<[(Nanos, u64)]>) -> Self {
        InSteps { ppb, steps, next_step: 0 }
    }

    /// Returns whether the packet that leaves at `now` is lost. Times must not go back.
    pub(crate) fn loses(&mut self, now: Nanos, random: &mut Random) -> bool {
        while let Some((_, ppb)) = self.steps.get(self.next_step).filter(|step| step.0 <= now) {
            self.ppb = *ppb;
            self.next_step += 1;
        }
        self.ppb > 0 && random.chance(self.ppb)
    }
}
