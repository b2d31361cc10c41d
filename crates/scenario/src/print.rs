//! A scenario as TOML, and its hash.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use sha2::{Digest, Sha256};

use crate::check::ns;
use crate::quantity::{Dimension, show, show_limit, show_steps, show_time};
use crate::{
    Arrivals, Burst, Codel, Flow, FqCodel, Line, Link, Loss, Pie, Policer, Queue, Receiving, Red, RedRules,
    Reorder, Scenario, Sending, Sizes, Traffic, View, Window, Writes,
};

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
        text.push_str(&self.experiment(Files::ByName));
        text
    }

    /// The canonical form and the files that it names, to lie beside each other: whoever has these has the scenario. The files
    /// are called by what they hold.
    #[must_use]
    pub fn bundle(&self) -> Bundle {
        let mut renamed = self.clone();
        let mut files = BTreeMap::new();
        for trace in renamed.links.iter_mut().filter_map(|link| link.trace.as_mut()) {
            trace.file = format!("{}.trace", &trace.digest()[..12]);
            files.entry(trace.file.clone()).or_insert_with(|| trace.to_text());
        }
        for sizes in renamed.flows.iter_mut().filter_map(|flow| Some(&mut flow.arrivals.as_mut()?.sizes)) {
            if Sizes::built_in(&sizes.name).is_none() {
                sizes.name = format!("{}.cdf", &sizes.digest()[..12]);
                files.entry(sizes.name.clone()).or_insert_with(|| sizes.to_text());
            }
        }
        Bundle { toml: renamed.to_toml(), files: files.into_iter().collect() }
    }

    /// SHA-256, in hex, of everything that decides the outcome except the seed: not of title, why, comments,
    /// order of keys or spelling of units; of files that it names, it is of what they hold. With the program's commit and the seed it identifies a simulation.
    #[must_use]
    pub fn canonical_hash(&self) -> String {
        hex(&Sha256::digest(self.experiment(Files::ByContent)))
    }

    fn experiment(&self, files: Files) -> String {
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
        self.links.iter().for_each(|link| write_link(&mut text, link, files));
        self.flows.iter().for_each(|flow| write_flow(&mut text, flow, files));
        text
    }
}

/// A scenario with all that it needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bundle {
    /// The scenario file.
    pub toml: String,
    /// Name and text of each file that it names, in order of their names.
    pub files: Vec<(String, String)>,
}

/// SHA-256, in hex, over the hashes of several scenarios in this order: it stands for all of them.
#[must_use]
pub fn hash_of_all<'a>(scenarios: impl IntoIterator<Item = &'a Scenario>) -> String {
    let mut sum = Sha256::new();
    scenarios.into_iter().for_each(|scenario| sum.update(&scenario.hash));
    hex(&sum.finalize())
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// How a file is referred to.
#[derive(Clone, Copy)]
enum Files {
    /// To be read again.
    ByName,
    /// To be told from others.
    ByContent,
}

fn write_link(text: &mut String, link: &Link, files: Files) {
    let _ = write!(text, "\n[[link]]\nname = {}\n", quoted(&link.name));
    ends(text, link.ends.as_ref());
    let _ = match (&link.trace, files) {
        (None, _) => writeln!(text, "rate = \"{}\"", show(link.rate_bps, Dimension::Rate)),
        (Some(trace), Files::ByName) => writeln!(text, "trace = {}", quoted(&trace.file)),
        (Some(trace), Files::ByContent) => writeln!(text, "trace = \"sha256:{}\"", trace.digest()),
    };
    if let Some(bytes) = link.burst_bytes {
        size(text, "burst", bytes);
    }
    let _ = writeln!(text, "buffer = \"{}\"", show_limit(link.buffer));
    write_queue(text, &link.queue);
    if !link.rate_at.is_empty() {
        let steps: Vec<_> = link.rate_at.iter().map(|(at, rate)| (ns(*at), *rate)).collect();
        let _ = writeln!(text, "rate_at = \"{}\"", show_steps(&steps, Dimension::Rate));
    }
    if let Some(Policer { rate_bps, burst_bytes }) = link.policer {
        let _ = writeln!(text, "policer_rate = \"{}\"", show(rate_bps, Dimension::Rate));
        size(text, "policer_burst", burst_bytes);
    }
    let Loss { ppb, burst } = link.loss;
    share(text, "loss", ppb);
    if let Some(Burst { pkts, ppb, outside_ppb }) = burst {
        let within = show(ppb, Dimension::Share);
        let _ = write!(text, "loss_burst = {pkts}\nloss_in_burst = \"{within}\"\n");
        share(text, "loss_outside_burst", outside_ppb);
    }
    let Line { delay, jitter, reorders, duplicate_ppb } = link.line;
    time(text, "delay", delay);
    time(text, "jitter", jitter);
    unless(text, "reorders", reorders, false);
    share(text, "duplicate", duplicate_ppb);
}

/// All settings of a queue that is not a FIFO: some defaults depend on the buffer.
fn write_queue(text: &mut String, queue: &Queue) {
    if *queue != Queue::Fifo {
        let _ = writeln!(text, "queue = \"{}\"", queue.name());
    }
    match *queue {
        Queue::Fifo => {}
        Queue::Step(above) => {
            let _ = writeln!(text, "mark_above = \"{}\"", show_limit(above));
        }
        Queue::Red(Red { rules, min_bytes, max_bytes, max_ppb, burst_pkts, gentle, ecn }) => {
            let _ = writeln!(text, "ecn = {ecn}");
            size(text, "red_min", min_bytes);
            size(text, "red_max", max_bytes);
            share(text, "red_probability", max_ppb);
            let _ = writeln!(text, "red_burst = {burst_pkts}");
            if rules == RedRules::Floyd {
                let _ = writeln!(text, "red_gentle = {gentle}");
            }
        }
        Queue::Codel(codel) => write_codel(text, codel),
        Queue::FqCodel(FqCodel { codel, buckets, quantum_bytes }) => {
            write_codel(text, codel);
            let _ = writeln!(text, "fq_buckets = {buckets}");
            size(text, "fq_quantum", quantum_bytes.into());
        }
        Queue::Pie(Pie { target, update, ecn }) => {
            let (target, update) = (show_time(target), show_time(update));
            let _ = write!(text, "ecn = {ecn}\ntarget = \"{target}\"\npie_update = \"{update}\"\n");
        }
    }
}

fn write_codel(text: &mut String, Codel { target, interval, ecn, ce_threshold }: Codel) {
    let (target, interval) = (show_time(target), show_time(interval));
    let _ = write!(text, "ecn = {ecn}\ntarget = \"{target}\"\ncodel_interval = \"{interval}\"\n");
    if let Some(threshold) = ce_threshold {
        let _ = writeln!(text, "ce_threshold = \"{}\"", show_time(threshold));
    }
}

fn write_flow(text: &mut String, flow: &Flow, files: Files) {
    let _ = write!(
        text,
        "\n[[flow]]\nname = {}\ncc = {}\nrtt = \"{}\"\n",
        quoted(&flow.name),
        quoted(&flow.cc.to_string()),
        show_time(flow.rtt),
    );
    if let Some(route) = &flow.route {
        list(text, "route", route);
    }
    ends(text, flow.ends.as_ref());
    if !flow.reverse.is_empty() {
        list(text, "reverse", &flow.reverse);
    }
    time(text, "access_delay", flow.access_delay);
    let _ = writeln!(text, "start = \"{}\"", show_time(flow.start));
    if let Some(stop) = flow.stop {
        let _ = writeln!(text, "stop = \"{}\"", show_time(stop));
    }
    write_traffic(text, flow, files);
    write_conditions(text, flow);
    write_hosts(text, &flow.sending, &flow.receiving);
    let set = flow.cc.settings();
    if !set.is_empty() {
        let pairs: Vec<_> =
            set.iter().map(|(name, value)| format!("{} = {}", quoted(name), quoted(value))).collect();
        let _ = writeln!(text, "set = {{ {} }}", pairs.join(", "));
    }
    if flow.view != View::default() {
        let _ = writeln!(text, "view = \"{}\"", flow.view.name());
    }
}

fn write_traffic(text: &mut String, flow: &Flow, files: Files) {
    let Traffic { size_bytes, writes } = flow.traffic;
    if let Some(bytes) = size_bytes {
        size(text, "size", bytes);
    }
    let _ = match writes {
        Writes::Always => Ok(()),
        Writes::OnOff { on, off } => {
            write!(text, "on = \"{}\"\noff = \"{}\"\n", show_time(on), show_time(off))
        }
        Writes::Paced { rate_bps, every } => {
            let rate = show(rate_bps, Dimension::Rate);
            write!(text, "write_rate = \"{rate}\"\nwrite_every = \"{}\"\n", show_time(every))
        }
        Writes::Responses { bytes, think } => {
            size(text, "response", bytes);
            time(text, "think", think);
            Ok(())
        }
    };
    if let Some(Arrivals { per_s_milli, sizes }) = &flow.arrivals {
        let name = match files {
            Files::ByName => quoted(&sizes.name),
            Files::ByContent => format!("\"sha256:{}\"", sizes.digest()),
        };
        let _ = write!(text, "arrivals = \"{}\"\nsizes = {name}\n", show(*per_s_milli, Dimension::Frequency));
    }
}

/// What is beside the usual, in the order of the reference page.
fn write_conditions(text: &mut String, flow: &Flow) {
    match flow.receiving.window {
        Window::Ample => {}
        Window::Fixed(bytes) => size(text, "receive_buffer", bytes),
        Window::Autotuned(most) => size(text, "receive_buffer_max", most),
    }
    times_at(text, "rtt_at", &flow.rtt_at);
    if let Some(Reorder { ppb, delay }) = flow.reorder {
        share(text, "reorder", ppb);
        let _ = writeln!(text, "reorder_delay = \"{}\"", show_time(delay));
    }
    time(text, "ack_jitter", flow.ack_jitter);
    time(text, "ack_aggregation", flow.ack_aggregation);
    time(text, "host_jitter", flow.host_jitter);
    share(text, "ack_loss", flow.ack_loss_ppb);
}

fn write_hosts(text: &mut String, sending: &Sending, receiving: &Receiving) {
    let usual = Sending::default();
    if sending.ecn != usual.ecn {
        let _ = writeln!(text, "ecn = \"{}\"", sending.ecn.name());
    }
    for (key, value, usual) in [
        ("sack", sending.sack, usual.sack),
        ("rack", sending.rack, usual.rack),
        ("tlp", sending.tlp, usual.tlp),
        ("frto", sending.frto, usual.frto),
        ("undo", sending.undo, usual.undo),
        ("prr", sending.prr, usual.prr),
        ("idle_restart", sending.idle_restart, usual.idle_restart),
        ("tso", sending.tso, usual.tso),
    ] {
        unless(text, key, value, usual);
    }
    if let Some(paces) = sending.pacing {
        let _ = writeln!(text, "pacing = {paces}");
    }
    unless(text, "initial_cwnd", sending.initial_cwnd_pkts, usual.initial_cwnd_pkts);
    let usual = Receiving::default();
    unless(text, "ack_every", receiving.ack_every, usual.ack_every);
    unless(text, "delayed_ack", receiving.delayed_ack, usual.delayed_ack);
    unless(text, "sack_compression", receiving.sack_compression, usual.sack_compression);
    time(text, "gro", receiving.gro);
    time(text, "ack_delay", receiving.ack_delay);
    times_at(text, "ack_delay_at", &receiving.ack_delay_at);
}

/// A number or a truth that is not the default.
fn unless<T: PartialEq + std::fmt::Display>(text: &mut String, key: &str, value: T, usual: T) {
    if value != usual {
        let _ = writeln!(text, "{key} = {value}");
    }
}

/// A time whose default is 0.
fn time(text: &mut String, key: &str, time: Duration) {
    if !time.is_zero() {
        let _ = writeln!(text, "{key} = \"{}\"", show_time(time));
    }
}

/// A share whose default is 0.
fn share(text: &mut String, key: &str, ppb: u64) {
    if ppb > 0 {
        let _ = writeln!(text, "{key} = \"{}\"", show(ppb, Dimension::Share));
    }
}

fn size(text: &mut String, key: &str, bytes: u64) {
    let _ = writeln!(text, "{key} = \"{}\"", show(bytes, Dimension::Size));
}

fn times_at(text: &mut String, key: &str, steps: &[(Duration, Duration)]) {
    if !steps.is_empty() {
        let steps: Vec<_> = steps.iter().map(|(at, value)| (ns(*at), ns(*value))).collect();
        let _ = writeln!(text, "{key} = \"{}\"", show_steps(&steps, Dimension::Time));
    }
}

fn ends(text: &mut String, ends: Option<&(String, String)>) {
    if let Some((from, to)) = ends {
        let _ = write!(text, "from = {}\nto = {}\n", quoted(from), quoted(to));
    }
}

fn list(text: &mut String, key: &str, names: &[String]) {
    let names: Vec<_> = names.iter().map(|name| quoted(name)).collect();
    let _ = writeln!(text, "{key} = [{}]", names.join(", "));
}

/// A TOML basic string.
fn quoted(text: &str) -> String {
    toml::Value::from(text).to_string()
}
