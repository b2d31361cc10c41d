//! A link as scenarios have it: a policer if there is one, a queue with a rate, then a line that may lose packets.

use fairpace_results::LinkSummary;

use crate::{Departed, Fate, Fifo, LinkMeter, Loss, Nanos, Packet, Policer};

/// A [`Fifo`] and what may happen to packets before and behind it.
///
/// What a policer refuses counts as dropped, like what the queue cannot hold. A packet that is lost on the line has waited for the link and used it, as a frame with bit errors has.
#[derive(Debug, Clone)]
pub struct Link<T> {
    policer: Option<Box<Policer>>,
    fifo: Fifo<T>,
    loss: Loss,
}

impl<T> Link<T> {
    /// A link that loses nothing but what its queue cannot hold.
    pub fn new(fifo: Fifo<T>) -> Self {
        Link { policer: None, fifo, loss: Loss::never() }
    }

    /// The same with a policer before its queue.
    #[must_use]
    pub fn with_policer(self, policer: Policer) -> Self {
        Link { policer: Some(Box::new(policer)), ..self }
    }

    /// The same with random loss on its line.
    #[must_use]
    pub fn with_loss(self, loss: Loss) -> Self {
        Link { loss, ..self }
    }

    /// Takes a packet and says when its last bit will be out, or gives it back: dropped.
    ///
    /// # Errors
    /// The packet itself, when the queue is full or the policer refuses it.
    #[inline]
    pub fn push(&mut self, now: Nanos, packet: Packet<T>) -> Result<Nanos, Packet<T>> {
        if let Some(policer) = &mut self.policer
            && !policer.passes(now, packet.bytes)
        {
            self.fifo.refused(now, &packet);
            return Err(packet);
        }
        self.fifo.push(now, packet)
    }

    /// When the next packet departs.
    #[inline]
    pub fn next_event(&self) -> Option<Nanos> {
        self.fifo.next_event()
    }

    /// The next packet that has departed by `now`, lost on the line or not; call until `None`.
    #[inline]
    pub fn poll(&mut self, now: Nanos) -> Option<Departed<T>> {
        let mut departed = self.fifo.poll(now)?;
        if self.loss.takes() {
            self.fifo.lost(departed.at, departed.packet.flow);
            departed.fate = Fate::Lost;
        }
        Some(departed)
    }

    /// Packets that wait or are being transmitted.
    pub fn len(&self) -> usize {
        self.fifo.len()
    }

    /// True when nothing waits and nothing is being transmitted.
    pub fn is_empty(&self) -> bool {
        self.fifo.is_empty()
    }

    /// Ends the measurement at `now`, when everything due has been polled.
    pub fn finish(&mut self, now: Nanos) {
        self.fifo.finish(now);
    }

    /// What the link has measured so far.
    pub fn meter(&self) -> &LinkMeter {
        self.fifo.meter()
    }

    /// The window's summary, once it has closed.
    pub fn summary(&self, name: &str) -> LinkSummary {
        self.fifo.summary(name)
    }
}
