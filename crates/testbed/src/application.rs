//! The application of a flow: `fairpace_netem`'s sources, in real time.

use fairpace_netem::{Frames, Nanos, Offer, Pattern, Source};
use fairpace_scenario::{Flow, Writes, ns};

/// An application, and the data that it has written and its socket has not taken.
pub(crate) struct Application {
    source: Source,
    /// Number of bytes that the application has written and the socket has not taken; [`ENDLESS`].
    ready: u64,
}

const ENDLESS: u64 = u64::MAX;

/// Returns the length of a response, if the flow's application answers requests.
pub(crate) fn response_bytes(flow: &Flow) -> Option<u64> {
    match flow.traffic.writes {
        Writes::Responses { bytes, .. } => Some(bytes),
        _ => None,
    }
}

impl Application {
    /// Returns the application of a flow.
    pub(crate) fn new(flow: &Flow) -> Self {
        let pattern = match &flow.traffic.writes {
            Writes::Always | Writes::Responses { .. } => Pattern::Always,
            Writes::OnOff { on, off } => Pattern::OnOff { on: ns(*on), off: ns(*off) },
            Writes::Paced { rate_bps, every } => Pattern::Paced { rate_bps: *rate_bps, every: ns(*every) },
            Writes::Scheduled(table) => Pattern::Scheduled(table.rows.clone()),
            Writes::Frames(media) => Pattern::Frames(Frames::new(*media)),
        };
        // of responses, the first
        let size_bytes = response_bytes(flow).or(flow.traffic.total_bytes());
        Application { source: Source::new(pattern, size_bytes, ns(flow.start)), ready: 0 }
    }

    /// Returns the number of bytes that the application offers to the socket at `now`.
    pub(crate) fn ready(&mut self, now: Nanos) -> u64 {
        while let Some(offer) = self.source.poll(now) {
            self.ready = match offer {
                Offer::Bytes(bytes) | Offer::Frame(bytes) => self.ready.saturating_add(bytes),
                Offer::Endless => ENDLESS,
                Offer::Pause => 0,
            };
        }
        self.ready
    }

    /// Writes `bytes` beside what the application writes by itself.
    pub(crate) fn write(&mut self, bytes: u64) {
        self.ready = self.ready.saturating_add(bytes);
    }

    /// Records that the socket took `bytes`.
    pub(crate) fn took(&mut self, bytes: u64) {
        if self.ready != ENDLESS {
            self.ready = self.ready.saturating_sub(bytes);
        }
    }

    /// The time when the application may offer more; `Nanos::MAX`: never.
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

    fn application(size_bytes: Option<u64>, writes: Writes) -> Application {
        let flow = Flow::new("f", "bbr1".parse::<Cc>().unwrap(), Duration::from_millis(10));
        Application::new(&Flow {
            traffic: Traffic { size_bytes, writes },
            start: Duration::from_secs(1),
            ..flow
        })
    }

    #[test]
    fn a_finite_application_has_its_size_and_no_more() {
        let mut application = application(Some(1000), Writes::Always);
        assert_eq!((application.ready(0), application.ready(SECOND)), (0, 1000));
        application.took(400);
        assert_eq!((application.ready(9 * SECOND), application.next()), (600, Nanos::MAX));
    }

    #[test]
    fn a_response_follows_a_request() {
        let mut application =
            application(None, Writes::Responses { bytes: 500, think: Duration::from_secs(1) });
        assert_eq!((application.ready(0), application.ready(SECOND)), (0, 500));
        application.took(500);
        assert_eq!((application.ready(9 * SECOND), application.next()), (0, Nanos::MAX));
        application.write(500);
        assert_eq!(application.ready(9 * SECOND), 500);
    }

    #[test]
    fn unwritten_bytes_are_withdrawn_by_a_pause() {
        let mut application =
            application(None, Writes::OnOff { on: Duration::from_secs(2), off: Duration::from_secs(3) });
        assert_eq!(application.ready(SECOND), ENDLESS);
        application.took(1 << 40);
        assert_eq!(application.ready(3 * SECOND - 1), ENDLESS);
        assert_eq!((application.ready(3 * SECOND), application.next()), (0, 6 * SECOND));
        assert_eq!(application.ready(6 * SECOND), ENDLESS);
    }

    #[test]
    fn unwritten_chunks_accumulate() {
        let mut application =
            application(None, Writes::Paced { rate_bps: 8000, every: Duration::from_secs(1) });
        assert_eq!(application.ready(SECOND), 1000);
        application.took(300);
        assert_eq!((application.ready(2 * SECOND), application.next()), (1700, 3 * SECOND));
    }
}
