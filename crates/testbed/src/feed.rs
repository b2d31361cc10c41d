//! What a flow's application has to write now: `fairpace_netem`'s sources, in real time.

use fairpace_netem::build::nanos;
use fairpace_netem::{Nanos, Offer, Pattern, Source};
use fairpace_scenario::{Flow, Writes};

/// One application.
pub(crate) struct Feed {
    source: Source,
    /// Bytes that it has and that the socket has not taken; [`ENDLESS`].
    ready: u64,
}

const ENDLESS: u64 = u64::MAX;

impl Feed {
    /// The application of a flow.
    pub(crate) fn new(flow: &Flow) -> Self {
        let pattern = match flow.traffic.writes {
            Writes::Always | Writes::Responses { .. } => Pattern::Always,
            Writes::OnOff { on, off } => Pattern::OnOff { on: nanos(on), off: nanos(off) },
            Writes::Paced { rate_bps, every } => Pattern::Paced { rate_bps, every: nanos(every) },
        };
        Feed { source: Source::new(pattern, flow.traffic.size_bytes, nanos(flow.start)), ready: 0 }
    }

    /// Bytes that it would write at `now`.
    pub(crate) fn ready(&mut self, now: Nanos) -> u64 {
        while let Some(offer) = self.source.poll(now) {
            self.ready = match offer {
                Offer::Bytes(bytes) => self.ready.saturating_add(bytes),
                Offer::Endless => ENDLESS,
                Offer::Pause => 0,
            };
        }
        self.ready
    }

    /// The socket took so many.
    pub(crate) fn took(&mut self, bytes: u64) {
        if self.ready != ENDLESS {
            self.ready = self.ready.saturating_sub(bytes);
        }
    }

    /// When it may have more; `Nanos::MAX`: never.
    pub(crate) fn next(&self) -> Nanos {
        self.source.next_event()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairpace_netem::SECOND;
    use fairpace_scenario::{Cc, Traffic};
    use std::time::Duration;

    fn feed(size_bytes: Option<u64>, writes: Writes) -> Feed {
        let flow = Flow::new("f", "bbr1".parse::<Cc>().unwrap(), Duration::from_millis(10));
        Feed::new(&Flow { traffic: Traffic { size_bytes, writes }, start: Duration::from_secs(1), ..flow })
    }

    #[test]
    fn a_finite_application_has_its_size_and_no_more() {
        let mut feed = feed(Some(1000), Writes::Always);
        assert_eq!((feed.ready(0), feed.ready(SECOND)), (0, 1000));
        feed.took(400);
        assert_eq!((feed.ready(9 * SECOND), feed.next()), (600, Nanos::MAX));
    }

    #[test]
    fn what_was_not_written_before_a_pause_is_not_written_in_it() {
        let mut feed = feed(None, Writes::OnOff { on: Duration::from_secs(2), off: Duration::from_secs(3) });
        assert_eq!(feed.ready(SECOND), ENDLESS);
        feed.took(1 << 40);
        assert_eq!(feed.ready(3 * SECOND - 1), ENDLESS);
        assert_eq!((feed.ready(3 * SECOND), feed.next()), (0, 6 * SECOND));
        assert_eq!(feed.ready(6 * SECOND), ENDLESS);
    }

    #[test]
    fn chunks_that_were_not_written_in_time_wait() {
        let mut feed = feed(None, Writes::Paced { rate_bps: 8000, every: Duration::from_secs(1) });
        assert_eq!(feed.ready(SECOND), 1000);
        feed.took(300);
        assert_eq!((feed.ready(2 * SECOND), feed.next()), (1700, 3 * SECOND));
    }
}
