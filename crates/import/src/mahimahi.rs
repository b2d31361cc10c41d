//! Commands of Mahimahi: `mm-link` with its queues, within or around `mm-delay` and `mm-loss`.
//!
//! Each command of Mahimahi starts the rest of its line within a shell of its own, so the commands of a line
//! are stages of one path. Data takes the uplink if the sender runs within the innermost shell.

use fairpace_scenario::{Invalid, WHOLE_PPB, ns};

use crate::draft::{Draft, Entry, LOCAL_RTT, seen_from};
use crate::source::{Part, Source, Warning};
use crate::tc::words::{Word, commands};
use crate::{Direction, Imported, Options};

/// A buffer that no run fills, the largest of a link: Mahimahi's queue is infinite unless the command says
/// otherwise.
const INFINITE: &str = "16GB";

/// A direction of the path.
#[derive(Default)]
struct Side {
    /// The trace of delivery opportunities.
    trace: Option<(String, Part)>,
    queue: Option<(String, Part)>,
    arguments: Option<(String, Part)>,
    /// The share of packets that pass all stages of loss.
    passed: f64,
    loss: Option<Part>,
    /// A stage of loss that packets pass before the link, if there is a link.
    before: Option<Part>,
}

/// The stages of a command.
struct Shells<'a> {
    source: Source<'a>,
    /// Uplink and downlink.
    sides: [Side; 2],
    /// Delay of each direction, ns.
    delay_ns: u64,
    delay: Option<Part>,
    warnings: Vec<Warning>,
}

/// Translates a command of Mahimahi to a scenario.
pub(crate) fn import(source: Source<'_>, options: &Options) -> Result<Imported<String>, Invalid> {
    let mut all = commands(&source)?;
    if all.len() != 1 {
        let what = if all.is_empty() { "there is no command" } else { "there is more than one command" };
        let help = "write one command, such as `mm-delay 20 mm-link up.trace down.trace`";
        return Err(source.refuse_all(what, help));
    }
    if options.direction == Direction::Both {
        let help = "write `--direction send` or `--direction receive`";
        return Err(source.refuse_all(
            "mm-link has two directions of its own, so `--direction both` has no meaning",
            help,
        ));
    }
    let side = || Side { passed: 1.0, ..Side::default() };
    let mut shells =
        Shells { source, sides: [side(), side()], delay_ns: 0, delay: None, warnings: Vec::new() };
    shells.read(&all.remove(0))?;
    shells.scenario(options)
}

impl Shells<'_> {
    fn read(&mut self, words: &[Word]) -> Result<(), Invalid> {
        let mut rest = words;
        let mut is_first = true;
        while let Some((shell, behind)) = rest.split_first() {
            let name = shell.text.rsplit('/').next().unwrap_or_default();
            rest = match name {
                "mm-delay" => self.delay(shell, behind)?,
                "mm-loss" => self.loss(shell, behind)?,
                "mm-link" => self.link(shell, behind)?,
                "--" => behind,
                _ if name.starts_with("mm-") => {
                    let message = format!("{name} cannot be translated");
                    return Err(self.source.refuse(
                        &shell.part(),
                        message,
                        "mm-link, mm-delay and mm-loss can be",
                    ));
                }
                _ if is_first => {
                    let message = format!("\"{}\" is no command of Mahimahi", shell.text);
                    let help = "write a command such as `mm-delay 20 mm-link up.trace down.trace`";
                    return Err(self.source.refuse(&shell.part(), message, help));
                }
                // what runs within the shells
                _ => &[],
            };
            is_first = false;
        }
        Ok(())
    }

    fn missing(&self, shell: &Word, what: &str) -> Invalid {
        self.source.refuse(&shell.part(), format!("{} needs {what}", shell.text), "complete the command")
    }

    fn delay<'w>(&mut self, shell: &Word, words: &'w [Word]) -> Result<&'w [Word], Invalid> {
        let Some((ms, rest)) = words.split_first() else { return Err(self.missing(shell, "a delay in ms")) };
        let part = Part::new(shell.span.start..ms.span.end, "mm-delay");
        // ten seconds are the longest delay of a link
        let Ok(delay) = ms.text.parse::<u64>() else {
            let message = format!("\"{}\" is no delay in whole milliseconds", ms.text);
            return Err(self.source.refuse(
                &part,
                message,
                "write the delay of one direction, as in `mm-delay 20`",
            ));
        };
        self.delay_ns = self.delay_ns.saturating_add(delay.saturating_mul(1_000_000));
        self.delay = Some(part);
        Ok(rest)
    }

    fn loss<'w>(&mut self, shell: &Word, words: &'w [Word]) -> Result<&'w [Word], Invalid> {
        let [direction, rate, rest @ ..] = words else {
            return Err(self.missing(shell, "a direction and a rate, as in `mm-loss uplink 0.01`"));
        };
        let part = Part::new(shell.span.start..rate.span.end, "mm-loss");
        let index = match direction.text.as_str() {
            "uplink" => 0,
            "downlink" => 1,
            other => {
                let message = format!("\"{other}\" is no direction");
                return Err(self.source.refuse(&part, message, "write uplink or downlink"));
            }
        };
        let Some(share) = rate.text.parse::<f64>().ok().filter(|share| (0.0..=1.0).contains(share)) else {
            let message = format!("\"{}\" is no loss rate from 0 to 1", rate.text);
            return Err(self.source.refuse(&part, message, "write a share, as 0.01 for 1 %"));
        };
        let side = &mut self.sides[index];
        // packets of the uplink pass inner shells first, and those of the downlink outer ones
        if (index == 0) == side.trace.is_some() {
            side.before = Some(part.clone());
        }
        side.passed *= 1.0 - share;
        side.loss = Some(part);
        Ok(rest)
    }

    fn link<'w>(&mut self, shell: &Word, words: &'w [Word]) -> Result<&'w [Word], Invalid> {
        if self.sides[0].trace.is_some() {
            let message = "a second mm-link cannot be translated";
            return Err(self.source.refuse(
                &shell.part(),
                message,
                "write the scenario of two links by hand",
            ));
        }
        let mut traces: Vec<&Word> = Vec::new();
        let mut rest = words;
        while let Some((word, behind)) = rest.split_first() {
            if word.text == "--" || (traces.len() == 2 && !word.text.starts_with("--")) {
                break;
            }
            rest = behind;
            if word.text.starts_with("--") {
                rest = self.option(word, behind)?;
            } else {
                traces.push(word);
            }
        }
        let [up, down] = traces[..] else {
            return Err(self.missing(shell, "two traces: uplink and downlink"));
        };
        for (side, trace) in self.sides.iter_mut().zip([up, down]) {
            side.trace = Some((trace.text.clone(), trace.part()));
        }
        Ok(rest)
    }

    /// Reads an option of mm-link; returns the words behind it.
    fn option<'w>(&mut self, word: &Word, behind: &'w [Word]) -> Result<&'w [Word], Invalid> {
        let (name, value, rest) = match word.text.split_once('=') {
            Some((name, value)) => (name, Some(value), behind),
            None => (word.text.as_str(), None, behind),
        };
        let mut part = Part::new(word.span.clone(), name);
        let side = usize::from(name.starts_with("--downlink"));
        match name {
            "--uplink-queue"
            | "--downlink-queue"
            | "--uplink-queue-args"
            | "--downlink-queue-args"
            | "--uplink-log"
            | "--downlink-log" => {
                let (value, rest) = match (value, behind) {
                    (Some(value), _) => (value.to_owned(), rest),
                    (None, [next, rest @ ..]) => {
                        part.span.end = next.span.end;
                        (next.text.clone(), rest)
                    }
                    (None, []) => {
                        return Err(self.source.refuse(
                            &part,
                            "its value is missing",
                            "complete the command",
                        ));
                    }
                };
                if name.ends_with("-queue") {
                    self.sides[side].queue = Some((value, part));
                } else if name.ends_with("-args") {
                    self.sides[side].arguments = Some((value, part));
                } else {
                    let message = "it has no effect: `fairpace sim --trace` and `--pcap` record packets";
                    self.warnings.push(self.source.warning(&part, message));
                }
                Ok(rest)
            }
            "--once" => {
                let message = "the trace begins again here: keep `duration` below its length";
                self.warnings.push(self.source.warning(&part, message));
                Ok(rest)
            }
            _ if name.starts_with("--meter") || name.contains("-meter") => {
                self.warnings.push(self.source.warning(&part, "it has no effect: it only shows a graph"));
                Ok(rest)
            }
            _ => {
                let message = format!("the option {name} cannot be translated");
                Err(self.source.refuse(&part, message, "remove it, or write the scenario by hand"))
            }
        }
    }

    fn scenario(mut self, options: &Options) -> Result<Imported<String>, Invalid> {
        for side in self.sides.iter().filter(|side| side.trace.is_some()) {
            if let Some(part) = &side.before {
                let message = "packets are lost behind the queue here, and in front of it by this command";
                self.warnings.push(self.source.warning(part, message));
            }
        }
        let names = ["uplink", "downlink"];
        let data = usize::from(options.direction == Direction::Receive);
        let acks = 1 - data;
        let [data_name, acks_name] = [names[data], names[acks]];
        let mut links = vec![self.keys(data, data_name, options)?, self.keys(acks, acks_name, options)?];
        let (own, from) = match (options.rtt, self.delay_ns) {
            (Some(rtt), _) => (ns(rtt), ", and --rtt"),
            (None, 0) => (ns(LOCAL_RTT), "a local path"),
            (None, _) => (0, ""),
        };
        let delays =
            self.delay.as_ref().map(|part| format!("{}, in both directions", self.source.quote(part)));
        let from = format!("{}{from}", delays.unwrap_or_default());
        let rtt_ns = self.delay_ns.saturating_mul(2).saturating_add(own);
        let mut flow = vec![Entry::time("rtt", rtt_ns, from.trim_start_matches(", and "))];
        flow.push(Entry::plain("route", format!("[\"{data_name}\"]"), ""));
        if self.sides[acks].trace.is_some() {
            flow.push(Entry::plain("reverse", format!("[\"{acks_name}\"]"), ""));
        } else {
            // without mm-link only loss can happen to ACKs
            links.truncate(1);
            let lost = lost_ppb(&self.sides[acks]);
            if let (Some(part), true) = (&self.sides[acks].loss, lost > 0) {
                flow.push(Entry::share("ack_loss", lost, self.source.quote(part)));
            }
        }
        let mut assumptions =
            vec![format!("Data takes the {data_name}, and ACKs take the {acks_name} (--direction).")];
        if self.sides[0].trace.is_some() {
            assumptions.push(
                "An opportunity of a trace carries 1514 bytes here and 1504 bytes in Mahimahi: a full packet \
                 in both."
                    .to_owned(),
            );
        }
        let Shells { source, warnings, .. } = self;
        Draft { source, tool: "mm-link", assumptions, warnings, duration: None, links, flow }.finish(options)
    }

    fn keys(&self, index: usize, name: &str, options: &Options) -> Result<Vec<Entry>, Invalid> {
        let side = &self.sides[index];
        let mut keys = vec![Entry::text("name", name, "")];
        match (&side.trace, options.rate_bps) {
            (Some((trace, part)), _) => {
                keys.push(Entry::text("trace", seen_from(trace, &options.folder), self.source.quote(part)));
            }
            (None, Some(rate)) => keys.push(Entry::rate("rate", rate, "--rate")),
            (None, None) => {
                let help = "add the rate of the interface, as in `--rate 1gbit`";
                return Err(self
                    .source
                    .refuse_all("the command has no mm-link, so nothing says the rate", help));
            }
        }
        keys.extend(self.queue(side, options)?);
        let lost = lost_ppb(side);
        if let (Some(part), true) = (&side.loss, lost > 0) {
            keys.push(Entry::share("loss", lost, self.source.quote(part)));
        }
        Ok(keys)
    }

    fn two_limits(&self, side: &Side) -> Invalid {
        let (message, help) = ("a queue has a limit in packets or in bytes", "leave one of them");
        match side.arguments.as_ref().or(side.queue.as_ref()) {
            Some((_, part)) => self.source.refuse(part, message, help),
            None => self.source.refuse_all(message, help),
        }
    }

    fn queue(&self, side: &Side, options: &Options) -> Result<Vec<Entry>, Invalid> {
        let (name, part) =
            side.queue.as_ref().map_or(("infinite", None), |(name, part)| (name.as_str(), Some(part)));
        let arguments = self.arguments(side)?;
        let argument = |name: &str| arguments.iter().find(|(key, _)| key == name).map(|(_, value)| *value);
        let known: &[&str] = match name {
            "infinite" => &[],
            "droptail" => &["packets", "bytes"],
            "codel" => &["packets", "bytes", "target", "interval"],
            "pie" => &["packets", "bytes", "qdelay_ref", "max_burst"],
            _ => {
                let part = part.cloned().unwrap_or_else(|| Part::new(0..0, ""));
                let message = format!("the queue {name} cannot be translated");
                return Err(self.source.refuse(&part, message, "infinite, droptail, codel and pie can be"));
            }
        };
        if let (Some((key, _)), Some((_, part))) =
            (arguments.iter().find(|(key, _)| !known.contains(&key.as_str())), &side.arguments)
        {
            let message = format!("the queue {name} has no argument \"{key}\" that can be translated");
            return Err(self.source.refuse(part, message, "remove it, or write the scenario by hand"));
        }
        let from = side.arguments.as_ref().map(|(_, part)| self.source.quote(part)).unwrap_or_default();
        let mut keys = Vec::new();
        match (argument("packets"), argument("bytes")) {
            (Some(_), Some(_)) => return Err(self.two_limits(side)),
            (Some(packets), None) => keys.push(Entry::text("buffer", format!("{packets}pkts"), from.clone())),
            (None, Some(bytes)) => keys.push(Entry::text("buffer", format!("{bytes}B"), from.clone())),
            (None, None) if name == "infinite" => match &options.buffer {
                Some(buffer) => keys.push(Entry::text("buffer", buffer, "--buffer")),
                None => keys.push(Entry::text("buffer", INFINITE, "an infinite queue")),
            },
            (None, None) => {
                let part = part.cloned().unwrap_or_else(|| Part::new(0..0, ""));
                let help = "add it, as in `--uplink-queue-args=packets=100`";
                return Err(self.source.refuse(&part, format!("the queue {name} needs a limit"), help));
            }
        }
        if let ("codel" | "pie", Some(part)) = (name, part) {
            keys.push(Entry::text("queue", name, self.source.quote(part)));
            for (key, ours) in
                [("target", "target"), ("interval", "codel_interval"), ("qdelay_ref", "target")]
            {
                if let Some(ms) = argument(key) {
                    keys.push(Entry::text(ours, format!("{ms}ms"), from.clone()));
                }
            }
            if argument("max_burst").is_some_and(|ms| ms != 150) {
                let (_, part) =
                    side.arguments.as_ref().ok_or_else(|| self.source.refuse_all("no argument", ""))?;
                let message = "max_burst cannot be translated: PIE of a scenario has the 150 ms of RFC 8033";
                return Err(self.source.refuse(part, message, "leave it out"));
            }
        }
        Ok(keys)
    }

    /// The arguments of a queue: `packets=100, target=5`. All are whole numbers; times are ms.
    fn arguments(&self, side: &Side) -> Result<Vec<(String, u64)>, Invalid> {
        let Some((text, part)) = &side.arguments else { return Ok(Vec::new()) };
        let mut found = Vec::new();
        for argument in text.split(',').map(str::trim).filter(|argument| !argument.is_empty()) {
            let read = argument
                .split_once('=')
                .and_then(|(key, value)| Some((key.trim(), value.trim().parse().ok()?)));
            let Some((key, value)) = read else {
                let message = format!("\"{argument}\" is no argument of a queue with a whole number");
                return Err(self.source.refuse(part, message, "write it like `packets=100`"));
            };
            found.push((key.to_owned(), value));
        }
        Ok(found)
    }
}

/// The share of packets that a direction loses, ppb.
fn lost_ppb(side: &Side) -> u64 {
    ((1.0 - side.passed) * WHOLE_PPB as f64).round() as u64
}
