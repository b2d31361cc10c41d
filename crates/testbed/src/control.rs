//! Which congestion control each flow has, under which name the kernel knows it, and what it tells about itself.

use crate::telemetry::Inside;
use crate::{Error, sockopt};
use fairpace_scenario::{Flow, Scenario};
use std::os::fd::BorrowedFd;

/// What a scenario writes before the name of one of the kernel's own algorithms.
const KERNEL: &str = "kernel:";

/// Where a flow's algorithm tells about itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Voice {
    /// Nowhere.
    Silent,
    /// `TCP_CC_INFO`, in the form of the kernel's `bbr`.
    KernelBbr,
}

/// The flows' congestion controls.
pub(crate) struct Controls {
    of_flow: Vec<(String, Voice)>,
}

impl Controls {
    /// Makes the scenario's algorithms available.
    ///
    /// # Errors
    /// [`Error::ForeignParameter`].
    pub(crate) fn prepare(scenario: &Scenario) -> Result<Self, Error> {
        let of_flow = scenario.flows.iter().map(of_flow).collect::<Result<_, _>>()?;
        Ok(Controls { of_flow })
    }

    /// The name under which the kernel knows the flow's algorithm.
    pub(crate) fn kernel_name(&self, flow: usize) -> &str {
        &self.of_flow[flow].0
    }

    /// What the flow's algorithm tells of itself on this socket.
    pub(crate) fn look_inside(&self, flow: usize, fd: BorrowedFd<'_>) -> Inside {
        match self.of_flow[flow].1 {
            Voice::Silent => Inside::UNKNOWN,
            Voice::KernelBbr => sockopt::bbr_info(fd).map_or(Inside::UNKNOWN, Inside::from),
        }
    }
}

fn of_flow(flow: &Flow) -> Result<(String, Voice), Error> {
    let Some(name) = flow.cc.strip_prefix(KERNEL) else {
        return Err(Error::UnknownCongestionControl {
            flow: flow.name.clone(),
            name: flow.cc.clone(),
            available: "kernel:NAME".into(),
        });
    };
    if let Some((key, _)) = flow.set.first() {
        return Err(Error::ForeignParameter {
            flow: flow.name.clone(),
            cc: flow.cc.clone(),
            key: key.clone(),
        });
    }
    Ok((name.to_owned(), if name == "bbr" { Voice::KernelBbr } else { Voice::Silent }))
}
