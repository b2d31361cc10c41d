//! From queue disciplines to links: a link for the data and, if something delays or drops ACKs, a link for
//! the ACKs.

use fairpace_scenario::quantity::{Dimension, show, show_time};
use fairpace_scenario::{Invalid, ns};

use super::netem::{Delay, LIMIT, Loss, Netem};
use super::params::Given;
use super::queue::{PACKET_BYTES, Queue, Tbf};
use super::{Kind, Qdisc, Side};
use crate::draft::{Draft, Entry, LOCAL_RTT};
use crate::source::{Part, Source, Warning};
use crate::{Direction, Options};

/// Length of the queue of a device, packets: the default of Linux for Ethernet (`txqueuelen`).
const DEVICE_QUEUE: &str = "1000pkts";

/// A path under construction.
pub(crate) struct Path<'a> {
    source: Source<'a>,
    options: &'a Options,
    assumptions: Vec<String>,
    warnings: Vec<Warning>,
    data: Option<Side>,
    acks: Option<Side>,
}

/// The disciplines of a direction, by what they do.
#[derive(Default)]
struct Stack<'q> {
    netem: Option<&'q Netem>,
    tbf: Option<&'q Tbf>,
    queue: Option<&'q Queue>,
    /// Whether the netem is below the tbf.
    is_inside: bool,
}

impl<'a> Path<'a> {
    pub(crate) fn new(source: Source<'a>, options: &'a Options, warnings: Vec<Warning>) -> Self {
        Self { source, options, assumptions: Vec::new(), warnings, data: None, acks: None }
    }

    /// Adds an assumption to the scenario's comments.
    pub(crate) fn assume(&mut self, sentence: impl Into<String>) {
        self.assumptions.push(sentence.into());
    }

    fn warn(&mut self, part: &Part, message: impl Into<String>) {
        // the same lines in both directions have the same remarks
        let warning = self.source.warning(part, message);
        if !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
    }

    /// Sets the direction of the data.
    pub(crate) fn data(&mut self, chain: &[Qdisc]) -> Result<(), Invalid> {
        let side = self.side(chain, true)?;
        self.data = Some(side);
        Ok(())
    }

    /// Sets the direction of the ACKs.
    pub(crate) fn acks(&mut self, chain: &[Qdisc]) -> Result<(), Invalid> {
        let side = self.side(chain, false)?;
        self.acks = Some(side);
        Ok(())
    }

    fn stack<'q>(&self, chain: &'q [Qdisc]) -> Result<Stack<'q>, Invalid> {
        let mut stack = Stack::default();
        for qdisc in chain {
            let is_second = match &qdisc.kind {
                Kind::Netem(netem) => {
                    stack.is_inside = stack.tbf.is_some();
                    stack.netem.replace(netem).is_some()
                }
                Kind::Tbf(tbf) => stack.tbf.replace(tbf).is_some(),
                Kind::Queue(queue) => stack.queue.replace(queue).is_some(),
                Kind::Nothing => false,
            };
            if is_second {
                let message = "a device with two disciplines of this kind cannot be translated";
                return Err(self.source.refuse(&qdisc.part, message, "write one line with both effects"));
            }
        }
        if let (Some(tbf), Some(Netem { rate: Some(rate), .. })) = (stack.tbf, stack.netem) {
            let other = self.source.quote(&tbf.rate.part);
            let message = format!("two rates at one device cannot be translated; the other is in {other}");
            return Err(self.source.refuse(&rate.part, message, "leave one of them"));
        }
        Ok(stack)
    }

    fn side(&mut self, chain: &[Qdisc], has_data: bool) -> Result<Side, Invalid> {
        let stack = self.stack(chain)?;
        let mut keys = Vec::new();
        let rate_bps = self.rate(&stack, chain, &mut keys)?;
        self.buffer(&stack, rate_bps, has_data, &mut keys)?;
        let mut side = Side { keys, delay_ns: 0, flow: Vec::new() };
        if let Some(netem) = stack.netem {
            self.loss(netem, &mut side);
            self.delay(netem, has_data, &mut side)?;
        }
        Ok(side)
    }

    fn rate(&self, stack: &Stack<'_>, chain: &[Qdisc], keys: &mut Vec<Entry>) -> Result<u64, Invalid> {
        if let Some(Tbf { rate, burst, .. }) = stack.tbf {
            keys.push(Entry::rate("rate", rate.value, self.source.quote(&rate.part)));
            keys.push(Entry::text("burst", format!("{}B", burst.value), self.source.quote(&burst.part)));
            return Ok(rate.value);
        }
        if let Some(Netem { rate: Some(Given { value, part }), .. }) = stack.netem {
            keys.push(Entry::rate("rate", *value, self.source.quote(part)));
            return Ok(*value);
        }
        let Some(rate_bps) = self.options.rate_bps else {
            let help = "add the rate of the interface, as in `--rate 1gbit`";
            return Err(match chain.first() {
                Some(first) => self.source.refuse(&first.part, "no line at this device has a rate", help),
                None => self.source.refuse_all("no line says at which rate the data comes", help),
            });
        };
        keys.push(Entry::rate("rate", rate_bps, "--rate"));
        Ok(rate_bps)
    }

    fn buffer(
        &mut self,
        stack: &Stack<'_>,
        rate_bps: u64,
        has_data: bool,
        keys: &mut Vec<Entry>,
    ) -> Result<(), Invalid> {
        let (mut value, mut from) = (DEVICE_QUEUE.to_owned(), "the queue of a device: txqueuelen".to_owned());
        if let Some(buffer) = &self.options.buffer {
            (value, from) = (buffer.clone(), "--buffer".to_owned());
        }
        if let Some(tbf) = stack.tbf {
            value = format!("{}B", tbf.limit.value);
            from = self.source.quote(&tbf.limit.part);
            let below = stack.queue.map(|queue| &queue.part);
            let netem = stack.netem.filter(|_| stack.is_inside).map(|netem| &netem.limit.part);
            if let Some(part) = below.or(netem) {
                let limit = self.source.quote(part);
                self.warn(&tbf.limit.part, format!("it has no effect: the queue is that of {limit}"));
            }
        }
        if let Some(netem) = stack.netem {
            let has_rate = netem.rate.is_some();
            let waits = has_rate || stack.is_inside;
            let free = self.delay_line(netem, rate_bps, has_data)?;
            if waits {
                value = format!("{free}pkts");
                let limit = netem.limit.value;
                from = match limit - free {
                    0 if limit == LIMIT => format!("line {}: the default of netem", self.line(netem)),
                    0 => self.source.quote(&netem.limit.part),
                    delayed => {
                        format!(
                            "line {}: limit {limit} less {delayed} packets that netem delays",
                            self.line(netem)
                        )
                    }
                };
            }
            if let (Some(queue), true) = (stack.queue, has_rate) {
                let message =
                    "it has no effect: netem sends packets to it at the rate of the link, so none wait";
                self.warn(&queue.part, message);
                keys.push(Entry::text("buffer", value, from));
                return Ok(());
            }
        }
        let Some(queue) = stack.queue else {
            keys.push(Entry::text("buffer", value, from));
            return Ok(());
        };
        let own = &queue.buffer;
        keys.push(Entry::text("buffer", own.value.clone(), self.source.quote(&own.part)));
        if queue.name != "fifo" {
            keys.push(Entry::text("queue", queue.name, self.source.quote(&queue.part)));
        }
        keys.extend(queue.keys.iter().cloned());
        Ok(())
    }

    fn line(&self, netem: &Netem) -> usize {
        self.source.line(netem.limit.part.span.start)
    }

    /// The packets that netem can hold besides those that it delays at the rate of the link.
    fn delay_line(&self, netem: &Netem, rate_bps: u64, has_data: bool) -> Result<u64, Invalid> {
        let limit = netem.limit.value;
        // ACKs are few and small: the delay line holds hardly any
        let delay_ns = netem.delay.as_ref().filter(|_| has_data).map_or(0, |delay| delay.value.ns);
        let bits = u128::from(rate_bps) * u128::from(delay_ns) / 1_000_000_000;
        let delayed = u64::try_from(bits.div_ceil(8 * u128::from(PACKET_BYTES))).unwrap_or(u64::MAX);
        if delayed < limit {
            return Ok(limit - delayed);
        }
        let (rate, delay) = (show(rate_bps, Dimension::Rate), show(delay_ns, Dimension::Time));
        let message = format!(
            "netem holds {limit} packets, those that it delays among them, but {rate} have {delayed} full \
             packets within {delay}: netem drops packets below that rate"
        );
        let help = format!("write a `limit` above {delayed}, or a lower rate");
        Err(self.source.refuse(&netem.limit.part, message, help))
    }

    fn loss(&mut self, netem: &Netem, side: &mut Side) {
        if let Some(Given { value, part }) = &netem.loss {
            let from = self.source.quote(part);
            match *value {
                Loss::Independent(ppb) => side.keys.push(Entry::share("loss", ppb, from)),
                Loss::Bursts { mean, pkts, inside, outside } => {
                    side.keys.push(Entry::share("loss", mean, from.clone()));
                    side.keys.push(Entry::plain("loss_burst", pkts.to_string(), from.clone()));
                    side.keys.push(Entry::share("loss_in_burst", inside, from.clone()));
                    if outside > 0 {
                        side.keys.push(Entry::share("loss_outside_burst", outside, from));
                    }
                }
            }
            let lost =
                "packets are lost behind the queue here, and in front of it by netem: here they use the link";
            self.warn(part, lost);
        }
        if let Some(Given { value, part }) = &netem.duplicate {
            side.keys.push(Entry::share("duplicate", *value, self.source.quote(part)));
            self.warn(part, "packets are duplicated behind the queue here, and in front of it by netem");
        }
    }

    fn delay(&mut self, netem: &Netem, has_data: bool, side: &mut Side) -> Result<(), Invalid> {
        let Some(Given { value: Delay { ns, jitter_ns, correlation, normal }, part }) = &netem.delay else {
            return Ok(());
        };
        let from = self.source.quote(part);
        if let Some(reorder) = netem.reorder.as_ref().filter(|reorder| reorder.value > 0) {
            return self.reorder(netem, reorder, has_data, side);
        }
        // uniform: from the delay less the jitter to the delay plus the jitter; normal: around the delay
        let (delay_ns, jitter) =
            if normal.is_some() { (*ns, *jitter_ns) } else { (ns - jitter_ns, 2 * jitter_ns) };
        side.delay_ns = delay_ns;
        side.keys.push(Entry::time("delay", delay_ns, from.clone()));
        if let Some(part) = normal {
            side.keys.push(Entry::text("jitter_distribution", "normal", self.source.quote(part)));
        }
        if let Some(Given { value, part }) = correlation {
            let message = "packets take over this part of the jitter here, as tc-netem(8) says; Linux then \
                           takes the remainder by a smaller number, which leaves hardly any of it";
            self.warn(part, message);
            side.keys.push(Entry::share("jitter_correlation", *value, self.source.quote(part)));
        }
        if *jitter_ns > 0 {
            side.keys.push(Entry::time("jitter", jitter, from.clone()));
            // with a rate netem counts each delay from the packet before
            if netem.rate.is_none() {
                side.keys.push(Entry::plain("reorders", "true", from));
            }
        }
        Ok(())
    }

    /// Packets that netem does not delay overtake the others: the others take `reorder_delay` longer.
    fn reorder(
        &mut self,
        netem: &Netem,
        reorder: &Given<u64>,
        has_data: bool,
        side: &mut Side,
    ) -> Result<(), Invalid> {
        let refuse = |why: &str, help: &str| {
            Err(self.source.refuse(&reorder.part, format!("it cannot be translated: {why}"), help))
        };
        let Some(Given { value: Delay { ns, jitter_ns, .. }, part }) = &netem.delay else { return Ok(()) };
        if !has_data {
            return refuse(
                "ACKs of a scenario keep their order",
                "leave it out in the direction of the ACKs",
            );
        }
        if *jitter_ns > 0 {
            return refuse(
                "packets are reordered by a fixed delay",
                "leave out either `reorder` or the jitter",
            );
        }
        if netem.rate.is_some() {
            let help = "put the rate into a tbf below the netem";
            return refuse("netem sends such packets without waiting for its `rate`", help);
        }
        let from = format!("{}, {}", self.source.quote(part), self.source.quote(&reorder.part));
        let delayed = fairpace_scenario::WHOLE_PPB - reorder.value;
        if delayed > 0 {
            side.flow.push(Entry::share("reorder", delayed, from.clone()));
            side.flow.push(Entry::time("reorder_delay", *ns, from));
        }
        let message = "the delay is that of the packets that are overtaken, and no part of `rtt`";
        self.warn(&reorder.part, message);
        Ok(())
    }

    /// The draft of the path, when the direction of the data is known.
    pub(crate) fn into_draft(self, tool: &'static str) -> Result<Draft<'a>, Invalid> {
        let Self { source, options, mut assumptions, warnings, data, acks } = self;
        let Some(data) = data else {
            return Err(source.refuse_all("nothing is known of the path of the data", "add its lines"));
        };
        let delays = data.delay_ns.saturating_add(acks.as_ref().map_or(0, |acks| acks.delay_ns));
        let (own, from) = match options.rtt {
            Some(rtt) => (ns(rtt), "--rtt"),
            None if delays == 0 => (ns(LOCAL_RTT), "a local path"),
            None => (0, ""),
        };
        let rtt_ns = delays.saturating_add(own);
        let from = match (delays, from) {
            (0, from) => from.to_owned(),
            (_, "") => "the delays of the links".to_owned(),
            (_, from) => format!("the delays of the links, and {from}"),
        };
        if options.rtt.is_none() && delays == 0 {
            let rtt = show_time(LOCAL_RTT);
            assumptions
                .push(format!("No line delays packets: the RTT is {rtt}, unless --rtt says otherwise."));
        }
        let mut flow = vec![Entry::time("rtt", rtt_ns, from)];
        flow.extend(data.flow);
        let mut links = vec![data.keys];
        if let Some(acks) = acks {
            links[0].insert(0, Entry::text("name", "data", ""));
            links.push(acks.keys);
            links[1].insert(0, Entry::text("name", "acks", ""));
            flow.push(Entry::plain("route", "[\"data\"]", ""));
            flow.push(Entry::plain("reverse", "[\"acks\"]", ""));
        } else if options.direction == Direction::Send {
            links[0].insert(0, Entry::text("name", "bottleneck", ""));
        }
        Ok(Draft { source, tool, assumptions, warnings, duration: None, links, flow })
    }
}
