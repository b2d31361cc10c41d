//! Barriers between rounds of requests: the next request of each flow comes when all flows of its barrier
//! have their response.

use fairpace_netem::Nanos;
use fairpace_results::observer::Observer;

use crate::round::Round;
use crate::simulation::Simulation;

impl<O: Observer> Simulation<O> {
    /// Processes a change of a flow's place in its round. When the last flow has its response, all get their
    /// next request.
    #[cold]
    pub(crate) fn pass_barrier(&mut self, flow: usize, now: Nanos) {
        let round = &mut self.flows[flow].round;
        *round = match *round {
            Round::Arrived => Round::Waiting,
            Round::Leaving => Round::Left,
            Round::None | Round::Running | Round::Waiting | Round::Left => return,
        };
        let index = flow as u32;
        let Some(members) = self.barriers.iter().find(|members| members.contains(&index)) else { return };
        if members.iter().any(|member| self.flows[*member as usize].round == Round::Running) {
            return;
        }
        for member in members.clone() {
            if self.flows[member as usize].round == Round::Waiting {
                self.request(member as usize, now);
            }
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
