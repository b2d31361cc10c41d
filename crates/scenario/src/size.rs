//! An estimate of the memory of a run from numbers of links, flows and points, before any of it is allocated.

use std::time::Duration;

use crate::fault::{Fault, impossible};
use crate::key::Section;
use crate::quantity::show_time;
use crate::{Flow, Scenario, Writes};

/// Most bytes that a run may take, with its files, which are put together in memory: a small machine has 4
/// GB.
const MOST_BYTES: u128 = 2_200_000_000;

// Bytes for each, measured as peaks of `fairpace sim --out`: 2,000 links; 10,000 flows; 400 links with 5,000
// flows at one point; 100 links with 100 flows at 1,000 points.

/// Bytes of a link: its histogram of queueing delays.
const LINK: u128 = 180_000;
/// Bytes of a flow: its sender, its receiver, its histogram of RTTs.
const FLOW: u128 = 10_000;
/// Bytes of a flow with frames: two histograms of delays.
const MEDIA: u128 = 10_000;
/// Bytes of a frame, which is kept for 10 s until it is lost: 48 bytes, and a byte for each packet.
const FRAME: u128 = 64;
/// Time for which a frame is kept, s.
const FRAMES_KEPT_S: u128 = 10;
/// Bytes of a flow at a link: its meter, and its share of the backlog in the report.
const PAIR: u128 = 1_100;
/// Bytes of a point of a flow: 33 in the series, 100 in flows.csv.
const FLOW_POINT: u128 = 150;
/// Bytes of a point of a link.
const LINK_POINT: u128 = 50;
/// Bytes of a point of a flow at a link: 4 in the series, 34 in backlog.csv, and the reserve of growing
/// vectors.
const PAIR_POINT: u128 = 46;

/// Numbers that the memory of a run depends on.
struct Size {
    links: u128,
    flows: u128,
    points: u128,
    /// Bytes of frames of all flows.
    frames: u128,
}

impl Size {
    fn fixed(&self) -> u128 {
        self.links * LINK + self.flows * FLOW + self.links * self.flows * PAIR + self.frames
    }

    fn point(&self) -> u128 {
        self.links * LINK_POINT + self.flows * FLOW_POINT + self.links * self.flows * PAIR_POINT
    }

    fn bytes(&self) -> u128 {
        self.fixed() + self.points * self.point()
    }
}

/// Returns the fault of a scenario whose run would take too much memory.
pub(crate) fn fault(scenario: &Scenario) -> Option<Fault> {
    let Scenario { duration, interval, links, flows, .. } = scenario;
    let points = duration.as_nanos().checked_div(interval.as_nanos())?;
    let frames = flows.iter().map(frames).sum();
    let size = Size { links: links.len() as u128, flows: flows.len() as u128, points, frames };
    if size.bytes() <= MOST_BYTES {
        return None;
    }
    let message = format!(
        "a run of {} links x {} flows x {points} points takes about {} of memory; it may take {}",
        size.links,
        size.flows,
        show(size.bytes()),
        show(MOST_BYTES),
    );
    let left = MOST_BYTES.saturating_sub(size.fixed()) / size.point().max(1);
    if left < 1 {
        let help = "write a smaller `count`, or fewer links";
        return Some(impossible(Section::Flow, 0, "count", message, help));
    }
    // in whole milliseconds if that is fine enough
    let least = duration.as_nanos().div_ceil(left);
    let least = if least > 1_000_000 { least.next_multiple_of(1_000_000) } else { least };
    let least = show_time(Duration::from_nanos(u64::try_from(least).unwrap_or(u64::MAX)));
    let help = format!(
        "write interval = \"{least}\" or more, a shorter `duration`, a smaller `count`, or fewer links"
    );
    Some(impossible(Section::Top, 0, "interval", message, help))
}

/// Returns the bytes that the frames of a flow take.
fn frames(flow: &Flow) -> u128 {
    match &flow.traffic.writes {
        Writes::Frames(media) => MEDIA + FRAMES_KEPT_S * u128::from(media.per_s_milli) / 1_000 * FRAME,
        _ => 0,
    }
}

/// Returns a size in words, such as "4.6 GB".
fn show(bytes: u128) -> String {
    format!("{}.{} GB", bytes / 1_000_000_000, bytes / 100_000_000 % 10)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Link, Media};

    fn of(links: usize, flows: usize, points: u32) -> Option<Fault> {
        let mut scenario = Scenario::of_length(Duration::from_secs(10));
        scenario.interval = scenario.duration / points;
        scenario.links = vec![Link::new("l", 0, 0); links];
        scenario.flows = vec![Flow::any(); flows];
        fault(&scenario)
    }

    #[test]
    fn the_product_of_links_flows_and_points_is_bounded() {
        let fault = of(100, 1_000, 1_000).expect("it is too large");
        assert_eq!(
            fault.complaint.message,
            "a run of 100 links x 1000 flows x 1000 points takes about 4.8 GB of memory; it may take 2.2 GB"
        );
        assert!(fault.complaint.help.starts_with("write interval = \"24ms\" or more"), "{fault:?}");
        assert!(of(100, 1_000, 1_000 * 10 / 24).is_none());
        assert_eq!(of(10_000, 100_000, 1).map(|fault| fault.key), Some("count"));
        // each call keeps 300 frames
        let mut calls = Scenario::of_length(Duration::from_secs(10));
        calls.links = vec![Link::new("l", 0, 0)];
        let mut call = Flow::any();
        call.traffic.writes = Writes::Frames(Media::default());
        calls.flows = vec![call; 60_000];
        assert_eq!(super::fault(&calls).map(|fault| fault.key), Some("count"));
        calls.flows.truncate(10_000);
        calls.interval = calls.duration;
        assert!(super::fault(&calls).is_none());
        // what each alone may be
        assert!(
            [(1, 10, 1_000_000), (1, 100_000, 10), (10_000, 1, 100)]
                .iter()
                .all(|(l, f, p)| of(*l, *f, *p).is_none())
        );
    }
}
