//! The requests of receiving applications, which senders answer with responses: when each is sent.

use fairpace_netem::Nanos;
use fairpace_scenario::{Flow, Writes, ns};

/// The requests of all flows. A request follows the response before it after a time to think. Flows with the
/// same barrier are asked in rounds: a request follows the last response of its round.
pub(crate) struct Requests {
    /// Time from a response to the next request; `None`: the flow has no requests.
    think: Vec<Option<Nanos>>,
    /// The flows of each barrier.
    barriers: Vec<Vec<usize>>,
    /// The flows whose response has arrived before others of their round.
    waiting: Vec<bool>,
    /// Requests that will be sent, and when.
    due: Vec<(Nanos, usize)>,
}

impl Requests {
    pub(crate) fn new(flows: &[Flow]) -> Self {
        let think = |flow: &Flow| match flow.traffic.writes {
            Writes::Responses { think, .. } => Some(ns(think)),
            _ => None,
        };
        let mut names: Vec<&str> = flows.iter().filter_map(|flow| flow.barrier.as_deref()).collect();
        names.sort_unstable();
        names.dedup();
        let has = |name: &str, flow: usize| flows[flow].barrier.as_deref() == Some(name);
        let members = |name: &&str| (0..flows.len()).filter(|flow| has(name, *flow)).collect();
        Requests {
            think: flows.iter().map(think).collect(),
            barriers: names.iter().map(members).collect(),
            waiting: vec![false; flows.len()],
            due: Vec::new(),
        }
    }

    /// Records that a flow has received a response.
    pub(crate) fn response_arrived(&mut self, flow: usize, now: Nanos) {
        if self.barriers.iter().any(|members| members.contains(&flow)) {
            self.waiting[flow] = true;
        } else {
            self.schedule(flow, now);
        }
    }

    /// Begins the next round of each barrier whose flows all have their response. No flow waits for one that
    /// `is_over`.
    pub(crate) fn pass_barriers(&mut self, now: Nanos, is_over: impl Fn(usize) -> bool) {
        for members in std::mem::take(&mut self.barriers) {
            if members.iter().all(|flow| self.waiting[*flow] || is_over(*flow)) {
                for flow in &members {
                    if std::mem::take(&mut self.waiting[*flow]) {
                        self.schedule(*flow, now);
                    }
                }
            }
            self.barriers.push(members);
        }
    }

    fn schedule(&mut self, flow: usize, now: Nanos) {
        self.due.extend(self.think[flow].map(|think| (now.saturating_add(think), flow)));
    }

    /// Takes the flows whose request is due.
    pub(crate) fn take_due(&mut self, now: Nanos) -> impl Iterator<Item = usize> {
        self.due.extract_if(.., move |(at, _)| *at <= now).map(|(_, flow)| flow)
    }

    /// The time of the next request; `Nanos::MAX`: none is known.
    pub(crate) fn next(&self) -> Nanos {
        self.due.iter().map(|(at, _)| *at).min().unwrap_or(Nanos::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairpace_netem::MS;
    use fairpace_scenario::{Cc, Traffic};
    use std::time::Duration;

    fn requests(barriers: &[Option<&str>]) -> Requests {
        let flow = |barrier: &Option<&str>| Flow {
            traffic: Traffic {
                size_bytes: None,
                writes: Writes::Responses { bytes: 1000, think: Duration::from_millis(5) },
            },
            barrier: barrier.map(str::to_owned),
            ..Flow::new("f", Cc::Kernel("reno".to_owned()), Duration::from_millis(10))
        };
        Requests::new(&barriers.iter().map(flow).collect::<Vec<_>>())
    }

    fn due(requests: &mut Requests, now: Nanos) -> Vec<usize> {
        requests.take_due(now).collect()
    }

    #[test]
    fn a_request_follows_its_response_after_the_time_to_think() {
        let mut requests = requests(&[None, None]);
        assert_eq!(requests.next(), Nanos::MAX);
        requests.response_arrived(1, 10 * MS);
        assert_eq!(requests.next(), 15 * MS);
        assert_eq!(due(&mut requests, 15 * MS - 1), [0; 0]);
        assert_eq!((due(&mut requests, 15 * MS), due(&mut requests, 15 * MS)), (vec![1], vec![]));
    }

    #[test]
    fn a_round_begins_when_all_responses_of_the_last_have_arrived() {
        let mut requests = requests(&[Some("a"), Some("a"), Some("b"), None]);
        requests.response_arrived(0, MS);
        requests.pass_barriers(MS, |_| false);
        assert_eq!(requests.next(), Nanos::MAX, "flow 1 is missing");
        requests.response_arrived(2, 2 * MS);
        requests.pass_barriers(2 * MS, |_| false);
        assert_eq!(due(&mut requests, 7 * MS), [2], "it is alone behind its barrier");
        requests.response_arrived(1, 3 * MS);
        requests.pass_barriers(3 * MS, |_| false);
        assert_eq!(due(&mut requests, 8 * MS), [0, 1]);
        requests.response_arrived(0, 9 * MS);
        requests.pass_barriers(9 * MS, |flow| flow == 1);
        assert_eq!(due(&mut requests, 14 * MS), [0], "flow 1 is over");
    }
}
