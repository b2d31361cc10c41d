//! A scenario as TOML, and its hash.

use std::fmt::Write as _;
use std::time::Duration;

use sha2::{Digest, Sha256};

use crate::quantity::{Dimension, show, show_steps, show_time};
use crate::{Burst, Flow, Link, Loss, Policer, Reorder, Scenario, Traffic, View, Window, Writes};

impl Scenario {
    /// The scenario in its canonical form: every key, groups expanded, in one order and one spelling. Reading
    /// it gives the same scenario.
    #[must_use]
    pub fn to_toml(&self) -> String {
        let mut text = String::new();
        let _ = write!(
            text,
            "title = {}\nwhy = {}\nseed = {}\n",
            quoted(&self.title),
            quoted(&self.why),
            self.seed
        );
        text.push_str(&self.experiment());
        text
    }

    /// SHA-256, in hex, of everything that decides the outcome except the seed: not of title, why, comments,
    /// order of keys or spelling of units. With the program's commit and the seed it identifies a simulation.
    #[must_use]
    pub fn canonical_hash(&self) -> String {
        hex(&Sha256::digest(self.experiment()))
    }

    fn experiment(&self) -> String {
        let mut text = String::new();
        let (from, to) = self.window;
        let _ = write!(
            text,
            "duration = \"{}\"\ninterval = \"{}\"\n\n[window]\nfrom = \"{}\"\nto = \"{}\"\n",
            show_time(self.duration),
            show_time(self.interval),
            show_time(from),
            show_time(to)
        );
        self.links.iter().for_each(|link| write_link(&mut text, link));
        self.flows.iter().for_each(|flow| write_flow(&mut text, flow));
        text
    }
}

/// SHA-256, in hex, over the hashes of several scenarios in this order: it stands for all of them.
#[must_use]
pub fn hash_of_all<'a>(scenarios: impl IntoIterator<Item = &'a Scenario>) -> String {
    let mut sum = Sha256::new();
    scenarios.into_iter().for_each(|scenario| sum.update(&scenario.hash));
    hex(&sum.finalize())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn write_link(text: &mut String, link: &Link) {
    let _ = write!(
        text,
        "\n[[link]]\nname = {}\nrate = \"{}\"\nbuffer = \"{}\"\n",
        quoted(&link.name),
        show(link.rate_bps, Dimension::Rate),
        show(link.buffer.bytes(), Dimension::Size)
    );
    if !link.rate_at.is_empty() {
        let steps: Vec<_> = link.rate_at.iter().map(|(at, rate)| (ns(*at), *rate)).collect();
        let _ = writeln!(text, "rate_at = \"{}\"", show_steps(&steps, Dimension::Rate));
    }
    if let Some(Policer { rate_bps, burst_bytes }) = link.policer {
        let (rate, burst) = (show(rate_bps, Dimension::Rate), show(burst_bytes, Dimension::Size));
        let _ = write!(text, "policer_rate = \"{rate}\"\npolicer_burst = \"{burst}\"\n");
    }
    let Loss { ppb, burst } = link.loss;
    if ppb > 0 {
        let _ = writeln!(text, "loss = \"{}\"", show(ppb, Dimension::Share));
    }
    if let Some(Burst { pkts, ppb, .. }) = burst {
        let within = show(ppb, Dimension::Share);
        let _ = write!(text, "loss_burst = {pkts}\nloss_in_burst = \"{within}\"\n");
    }
}

fn write_flow(text: &mut String, flow: &Flow) {
    let _ = write!(
        text,
        "\n[[flow]]\nname = {}\ncc = {}\nrtt = \"{}\"\nstart = \"{}\"\n",
        quoted(&flow.name),
        quoted(&flow.cc),
        show_time(flow.rtt),
        show_time(flow.start)
    );
    if let Some(stop) = flow.stop {
        let _ = writeln!(text, "stop = \"{}\"", show_time(stop));
    }
    write_conditions(text, flow);
    if !flow.set.is_empty() {
        let mut set: Vec<_> = flow.set.iter().collect();
        set.sort();
        let pairs: Vec<_> =
            set.into_iter().map(|(name, value)| format!("{} = {}", quoted(name), quoted(value))).collect();
        let _ = writeln!(text, "set = {{ {} }}", pairs.join(", "));
    }
    if flow.view != View::default() {
        let _ = writeln!(text, "view = \"{}\"", flow.view.name());
    }
}

/// What is beside the usual, in the order of the reference page.
fn write_conditions(text: &mut String, flow: &Flow) {
    let Traffic { size_bytes, writes } = flow.traffic;
    if let Some(size) = size_bytes {
        let _ = writeln!(text, "size = \"{}\"", show(size, Dimension::Size));
    }
    let _ = match writes {
        Writes::Always => Ok(()),
        Writes::OnOff { on, off } => {
            write!(text, "on = \"{}\"\noff = \"{}\"\n", show_time(on), show_time(off))
        }
        Writes::Responses { .. } => Ok(()), // below
        Writes::Paced { rate_bps, every } => {
            let rate = show(rate_bps, Dimension::Rate);
            write!(text, "write_rate = \"{rate}\"\nwrite_every = \"{}\"\n", show_time(every))
        }
    };
    if let Window::Fixed(bytes) = flow.receiving.window {
        let _ = writeln!(text, "receive_buffer = \"{}\"", show(bytes, Dimension::Size));
    }
    if !flow.rtt_at.is_empty() {
        let steps: Vec<_> = flow.rtt_at.iter().map(|(at, rtt)| (ns(*at), ns(*rtt))).collect();
        let _ = writeln!(text, "rtt_at = \"{}\"", show_steps(&steps, Dimension::Time));
    }
    if let Some(Reorder { ppb, delay }) = flow.reorder {
        let share = show(ppb, Dimension::Share);
        let _ = write!(text, "reorder = \"{share}\"\nreorder_delay = \"{}\"\n", show_time(delay));
    }
    let times = [
        ("ack_jitter", flow.ack_jitter),
        ("ack_aggregation", flow.ack_aggregation),
        ("host_jitter", flow.host_jitter),
    ];
    for (key, time) in times.into_iter().filter(|(_, time)| !time.is_zero()) {
        let _ = writeln!(text, "{key} = \"{}\"", show_time(time));
    }
    if flow.ack_loss_ppb > 0 {
        let _ = writeln!(text, "ack_loss = \"{}\"", show(flow.ack_loss_ppb, Dimension::Share));
    }
}

/// A time in its base unit.
fn ns(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// A TOML basic string.
fn quoted(text: &str) -> String {
    toml::Value::from(text).to_string()
}
