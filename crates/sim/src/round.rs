//! A flow's place in a round of requests.

/// A flow's place in a round of its barrier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Round {
    /// The flow has no barrier.
    #[default]
    None,
    /// The response has not arrived.
    Running,
    /// The response has just arrived: the barrier does not know it yet.
    Arrived,
    /// The response has arrived, others are missing.
    Waiting,
    /// The flow has just stopped or failed: the barrier does not know it yet.
    Leaving,
    /// The flow has stopped or failed.
    Left,
}

impl Round {
    /// Records that the flow sends no more responses.
    pub(crate) fn leave(&mut self) {
        if !matches!(self, Round::None | Round::Left) {
            *self = Round::Leaving;
        }
    }
}
