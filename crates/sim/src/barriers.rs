//! Barriers between rounds of requests: the next request of each flow comes when all flows of its barrier
//! have their response.

use fairpace_netem::Nanos;
use fairpace_results::observer::Observer;

use crate::round::Round;
use crate::simulation::Simulation;

impl<O: Observer> Simulation<O> {
    /// Processes a change of a flow's place in its round. When the last flow has its response, all get their
    /// next request, at the time when the last response arrives.
    #[cold]
    pub(crate) fn pass_barrier(&mut self, flow: usize, now: Nanos) {
        let round = &mut self.flows[flow].round;
        *round = match *round {
            Round::Arrived(at) => Round::Waiting(at),
            Round::Leaving => Round::Left,
            Round::None | Round::Running | Round::Waiting(_) | Round::Left => return,
        };
        let index = flow as u32;
        let Some(members) = self.barriers.iter().find(|members| members.contains(&index)) else { return };
        if members.iter().any(|member| self.flows[*member as usize].round == Round::Running) {
            return;
        }
        let waiting = |member: &u32| match self.flows[*member as usize].round {
            Round::Waiting(at) => Some((*member as usize, at)),
            _ => None,
        };
        let waiting: Vec<_> = members.iter().filter_map(waiting).collect();
        let last = waiting.iter().fold(now, |last, (_, at)| last.max(*at));
        for (member, _) in waiting {
            self.request(member, last);
        }
    }

    /// Sends the next request to a flow's sender.
    fn request(&mut self, flow: usize, now: Nanos) {
        self.flows[flow].round = Round::Running;
        let Some(slot) = self.flow_of.iter().position(|of| *of as usize == flow) else { return };
        let connection = &mut self.connections[slot];
        connection.receiver_side.request_next(&mut connection.slot, now, &self.flows[flow]);
        self.queue.set_earlier(self.first_connection + slot, connection.next_event());
    }
}
