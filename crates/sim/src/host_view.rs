//! The view that an algorithm gets from its host: the sender's whole state, or only the values that a stock
//! Linux kernel keeps.
//!
//! A simulated packet records the number of packets in flight when it was sent, and the sender reports each
//! loss. A stock kernel does neither: `cc/bpf` rebuilds both from a ring, and so does [`HostView`] here, with
//! the code of `cc/bpf`.

use fairpace_cc::{Clamps, Controller, Decision, Event, KernelSends, Kind, Observation, Params, View};
use fairpace_tcp::Control;

#[cfg(feature = "testing")]
use crate::recording::{self, Call, CallKind};

/// An algorithm's parameters, and the kind of its host.
#[derive(Debug, Clone)]
pub(crate) struct AlgorithmConfig {
    pub(crate) params: Params,
    /// True if the host keeps no more than a stock kernel.
    pub(crate) as_kernel: bool,
}

/// A connection's algorithm, behind the values that its host keeps.
#[derive(Clone)]
pub(crate) struct HostView {
    control: Controller,
    /// The kernel's record, 3 kB that most connections do not need.
    kernel: Option<Box<Kernel>>,
    /// The connection's number, if its calls are recorded.
    #[cfg(feature = "testing")]
    recorded: Option<u32>,
}

/// The record that the kernel host keeps of a connection.
#[derive(Clone)]
struct Kernel {
    sends: KernelSends,
    /// Value of `lost_pkts` when the algorithm was last notified of losses.
    notified_lost_pkts: u32,
    /// The end of the highest packet that was lost since then.
    lost_end_seq: Option<u32>,
}

impl Control for HostView {
    type Params = AlgorithmConfig;

    fn kind(config: &AlgorithmConfig) -> Kind {
        config.params.algorithm().kind()
    }

    fn tracks_sends(config: &AlgorithmConfig) -> bool {
        config.params.algorithm().tracks_sends()
    }

    fn start(config: &AlgorithmConfig, view: &View, decision: &mut Decision) -> Self {
        let as_kernel = config.as_kernel && Self::tracks_sends(config);
        let kernel = as_kernel.then(|| {
            Box::new(Kernel {
                sends: KernelSends::new(view),
                notified_lost_pkts: view.lost_pkts,
                lost_end_seq: None,
            })
        });
        #[cfg(feature = "testing")]
        let before = *decision;
        let started = HostView {
            control: Controller::new(&config.params, view, decision),
            kernel,
            #[cfg(feature = "testing")]
            recorded: recording::connection(),
        };
        #[cfg(feature = "testing")]
        started.keep(CallKind::Init, view, before, decision);
        started
    }

    #[inline(always)] // as Controller::on_ack
    fn on_ack(&mut self, view: &View, decision: &mut Decision) {
        #[cfg(feature = "testing")]
        let before = *decision;
        match &mut self.kernel {
            None => self.control.on_ack(view, decision),
            Some(kernel) => kernel.on_ack(&mut self.control, view, decision),
        }
        #[cfg(feature = "testing")]
        self.keep(CallKind::Ack, view, before, decision);
    }

    #[inline]
    fn on_event(&mut self, event: Event, view: &View, decision: &mut Decision) {
        #[cfg(feature = "testing")]
        let before = *decision;
        match &mut self.kernel {
            None => self.control.on_event(event, view, decision),
            Some(kernel) => kernel.on_event(&mut self.control, event, view, decision),
        }
        #[cfg(feature = "testing")]
        self.keep(CallKind::Event(event), view, before, decision);
    }

    fn observe(&self) -> Observation {
        self.control.observe()
    }

    fn clamps(&self) -> Clamps {
        self.control.clamps()
    }
}

impl HostView {
    /// The connection's algorithm.
    pub(crate) fn controller(&self) -> &Controller {
        &self.control
    }

    /// The connection's algorithm, to change it.
    pub(crate) fn controller_mut(&mut self) -> &mut Controller {
        &mut self.control
    }
}

#[cfg(feature = "testing")]
impl HostView {
    /// Records a call, if calls are recorded.
    #[inline]
    fn keep(&self, kind: CallKind, view: &View, before: Decision, after: &Decision) {
        if let Some(connection) = self.recorded {
            recording::keep(Call { connection, kind, view: *view, before, after: *after });
        }
    }
}

impl Kernel {
    /// Processes an ACK like cong_control in cc/bpf/object.bpf.c.
    fn on_ack(&mut self, control: &mut Controller, truth: &View, decision: &mut Decision) {
        let mut view = View { sample_inflight_pkts: 0, sample_lost_pkts: 0, ..*truth };
        let before = |now: u32, news: u32| now.wrapping_sub(news);
        self.sends.note(
            &view,
            before(view.delivered_pkts, view.acked_pkts),
            before(view.lost_pkts, view.losses_pkts),
            view.prior_inflight_pkts,
        );
        let retransmitted = self.sends.is_retransmitted(truth);
        if view.lost_pkts != self.notified_lost_pkts {
            let sampled = View {
                is_app_limited: view.is_app_limited,
                sample_prior_delivered_pkts: view.sample_prior_delivered_pkts,
                sample_end_seq: view.sample_end_seq,
                ..view.without_ack()
            };
            self.notify_losses(control, sampled, retransmitted, decision);
            put_in_force(&mut view, decision);
        }
        if view.sample_delivered_pkts >= 0 {
            self.sends.sample(&mut view, retransmitted);
        }
        control.on_ack(&view, decision);
    }

    fn on_event(&mut self, control: &mut Controller, event: Event, truth: &View, decision: &mut Decision) {
        let mut view = *truth;
        match event {
            Event::Lost => {
                let end_seq = truth.sample_end_seq;
                let is_higher = |notified: u32| (notified.wrapping_sub(end_seq) as i32) < 0;
                if self.lost_end_seq.is_none_or(is_higher) {
                    self.lost_end_seq = Some(end_seq);
                }
                return;
            }
            Event::Reduce | Event::CaState if truth.lost_pkts != self.notified_lost_pkts => {
                let lost = View { is_app_limited: truth.app_limited, ..truth.without_ack() };
                self.sends.note_losses(&lost);
                self.notify_losses(control, lost, false, decision);
                put_in_force(&mut view, decision);
            }
            _ => {}
        }
        control.on_event(event, &view, decision);
    }

    fn notify_losses(
        &mut self,
        control: &mut Controller,
        mut view: View,
        retransmitted: bool,
        decision: &mut Decision,
    ) {
        self.notified_lost_pkts = view.lost_pkts;
        // without a reported loss, the first packet, as in cc_last_lost_end
        let end_seq = self.lost_end_seq.take().unwrap_or(view.snd_una.wrapping_add(view.mss_bytes));
        self.sends.lost(&mut view, end_seq, retransmitted);
        control.on_event(Event::Lost, &view, decision);
    }
}

/// Updates the view: the sender applies a decision before it calls the algorithm again.
fn put_in_force(view: &mut View, decision: &Decision) {
    view.cwnd_pkts = decision.cwnd_pkts.max(1);
    view.ssthresh_pkts = decision.ssthresh_pkts;
    view.pacing_rate_Bps = decision.pacing_rate_Bps;
}
