//! The parameters of netem, tc-netem(8).

use fairpace_scenario::{Invalid, WHOLE_PPB};

use super::params::{Given, Params};
use super::units::{rate, seed, share, size, time, whole};
use super::words::Word;
use crate::source::Part;

/// Packets that netem holds without `limit`.
pub(crate) const LIMIT: u64 = 1000;

const NAMES: [&str; 15] = [
    "limit",
    "delay",
    "latency",
    "distribution",
    "loss",
    "drop",
    "ecn",
    "reorder",
    "gap",
    "corrupt",
    "duplicate",
    "rate",
    "slot",
    "seed",
    "jitter",
];

/// A netem.
#[derive(Debug, Clone)]
pub(crate) struct Netem {
    /// The packets that it holds, delayed and waiting ones.
    pub(crate) limit: Given<u64>,
    pub(crate) delay: Option<Given<Delay>>,
    pub(crate) loss: Option<Given<Loss>>,
    /// Share of packets that arrive twice, ppb.
    pub(crate) duplicate: Option<Given<u64>>,
    /// Share of packets that are not delayed, ppb.
    pub(crate) reorder: Option<Given<u64>>,
    /// Bits per second.
    pub(crate) rate: Option<Given<u64>>,
}

/// A delay, ns. The jitter is uniform, from the delay less the jitter to the delay plus the jitter, or normal
/// with the jitter as its standard deviation.
#[derive(Debug, Clone)]
pub(crate) struct Delay {
    pub(crate) ns: u64,
    pub(crate) jitter_ns: u64,
    /// Part of the jitter that a packet takes over from the packet before, ppb.
    pub(crate) correlation: Option<Given<u64>>,
    /// Where the line says that the jitter is normal.
    pub(crate) normal: Option<Part>,
}

/// Loss, with shares in ppb.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Loss {
    /// Losses are independent of each other.
    Independent(u64),
    /// Bad periods of this mean number of packets, and the share of packets lost on average, in a bad period
    /// and outside of it.
    Bursts { mean: u64, pkts: u64, inside: u64, outside: u64 },
}

/// Reads the parameters of a netem; `kind` is its name in the line.
pub(crate) fn read(params: &mut Params<'_>, kind: &Word) -> Result<Netem, Invalid> {
    let limit = Given { value: LIMIT, part: Part::new(kind.span.clone(), "netem limit") };
    let mut netem = Netem { limit, delay: None, loss: None, duplicate: None, reorder: None, rate: None };
    let mut distribution = None;
    while let Some(key) = params.take() {
        match params.name(key, &NAMES, &[["latency", "delay"], ["drop", "loss"]])? {
            // a number of packets, which tc reads like a size
            Some("limit") => netem.limit = params.value(key, size)?,
            Some("delay") => netem.delay = Some(delay(params, key)?),
            Some("distribution") => distribution = Some(params.value(key, |text| Ok(text.to_owned()))?),
            Some("loss") => netem.loss = Some(loss(params, key)?),
            Some("reorder") => netem.reorder = Some(uncorrelated(params, key)?),
            Some("duplicate") => netem.duplicate = Some(uncorrelated(params, key)?),
            Some("rate") => netem.rate = Some(rated(params, key)?),
            Some("gap") => {
                let gap = params.value(key, whole)?;
                if gap.value > 1 {
                    let why = "packets of a scenario are reordered at random, not each N-th";
                    return Err(params.untranslated(&gap.part, why, "write `reorder` without `gap`"));
                }
            }
            Some("seed") => {
                let seed = params.value(key, seed)?;
                params.warn(&seed.part, "it has no effect: a scenario has a seed of its own");
            }
            Some("corrupt") => {
                return Err(without_counterpart(params, key, "no packet has a wrong bit", LOSS));
            }
            Some("slot") => return Err(without_counterpart(params, key, "no link delivers in slots", TRACE)),
            Some("ecn") => return Err(without_counterpart(params, key, "loss never marks packets", STEP)),
            _ => return Err(params.unknown(key)),
        }
    }
    shaped(params, netem.delay.as_mut(), distribution)?;
    if let (Some(reorder), None) = (&netem.reorder, &netem.delay) {
        let message = "netem reorders only packets that it delays, and the line has no `delay`";
        return Err(params.source.refuse(&reorder.part, message, "write `delay` too, as in `delay 10ms`"));
    }
    Ok(netem)
}

const LOSS: &str = "TCP drops packets with wrong bits: write `loss` instead";
const TRACE: &str = "write `rate`, or import a trace of the link by `fairpace import mm-link`";
const STEP: &str = "write `queue = \"step\"` into the scenario";

fn without_counterpart(params: &mut Params<'_>, key: &Word, why: &str, help: &str) -> Invalid {
    let last = params.number().unwrap_or(key);
    params.untranslated(&params.part(key, last), why, help)
}

/// A share that has no correlation.
fn uncorrelated(params: &mut Params<'_>, key: &Word) -> Result<Given<u64>, Invalid> {
    let given = params.value(key, share)?;
    no_correlation(params, key)?;
    Ok(Given { value: ppb(given.value), part: given.part })
}

/// Reads a correlation, which must be zero.
fn no_correlation(params: &mut Params<'_>, key: &Word) -> Result<(), Invalid> {
    let Some(word) = params.number() else { return Ok(()) };
    let part = params.part(key, word);
    if params.read(&part, word, share)? == 0.0 {
        return Ok(());
    }
    let (what, help) = match &key.text {
        name if name.starts_with("reo") => ("reordered", "leave it out"),
        name if name.starts_with("dup") => ("duplicated", "leave it out"),
        _ => ("lost", "leave it out; for bursts of loss write `loss gemodel`"),
    };
    let why = format!("whether a packet of a scenario is {what} does not depend on the packet before");
    Err(params.untranslated(&part, &why, help))
}

fn delay(params: &mut Params<'_>, key: &Word) -> Result<Given<Delay>, Invalid> {
    let base = params.value(key, time)?;
    let value = Delay { ns: base.value, jitter_ns: 0, correlation: None, normal: None };
    let mut given = Given { value, part: base.part };
    if let Some(word) = params.number() {
        given.part = params.part(key, word);
        given.value.jitter_ns = params.read(&given.part, word, time)?;
        given.value.correlation = correlation(params, key, given.value.jitter_ns)?;
    }
    Ok(given)
}

/// The most that a packet takes over from the packet before, percent: the range of `jitter_correlation`.
const CORRELATION_MAX: u64 = 99;

/// Reads the correlation of a jitter. None is the same as 0.
fn correlation(params: &mut Params<'_>, key: &Word, jitter_ns: u64) -> Result<Option<Given<u64>>, Invalid> {
    let Some(word) = params.number() else { return Ok(None) };
    let part = params.part(key, word);
    let value = ppb(params.read(&part, word, share)?);
    if value > CORRELATION_MAX * (WHOLE_PPB / 100) {
        let why = format!("packets of a scenario take over {CORRELATION_MAX}% of the jitter before at most");
        return Err(params.untranslated(&part, &why, "write a smaller correlation"));
    }
    Ok((value > 0 && jitter_ns > 0).then_some(Given { value, part }))
}

/// Sets the distribution of the jitter, and checks that a scenario has such a jitter.
fn shaped(
    params: &Params<'_>,
    delay: Option<&mut Given<Delay>>,
    shape: Option<Given<String>>,
) -> Result<(), Invalid> {
    let delay = delay.filter(|delay| delay.value.jitter_ns > 0);
    match (delay, shape) {
        (None, None) => Ok(()),
        (None, Some(shape)) => {
            let help = "write it behind a jitter, as in `delay 100ms 10ms distribution normal`";
            Err(params.source.refuse(&shape.part, "there is no jitter that it could shape", help))
        }
        (Some(delay), Some(shape)) if shape.value == "normal" => {
            delay.value.normal = Some(shape.part);
            Ok(())
        }
        (Some(_), Some(shape)) if shape.value != "uniform" => {
            let why = "the jitter of a scenario is uniform or normal";
            Err(params.untranslated(&shape.part, why, "leave out the distribution"))
        }
        (Some(delay), _) if delay.value.jitter_ns > delay.value.ns => {
            let why = "the jitter is larger than the delay, so netem sends a share of the packets at once";
            Err(params.untranslated(&delay.part, why, "write a jitter of at most the delay"))
        }
        _ => Ok(()),
    }
}

fn rated(params: &mut Params<'_>, key: &Word) -> Result<Given<u64>, Invalid> {
    let given = params.value(key, rate)?;
    // the overhead of a packet, the size of a cell, the overhead of a cell
    while let Some(word) = params.number() {
        if word.text.parse() != Ok(0) {
            let why = "a packet of a scenario counts its IP length and 14 bytes, without further overhead";
            return Err(params.untranslated(&params.part(key, word), why, "leave the overhead out"));
        }
    }
    Ok(given)
}

/// The values behind `gemodel` and `state`, by position or by their names in the output of `tc qdisc show`.
fn chances(
    params: &mut Params<'_>,
    key: &Word,
    names: &[&'static str],
) -> Result<(Vec<Option<f64>>, Part), Invalid> {
    let mut values = vec![None; names.len()];
    let (mut at, mut last) = (0, key);
    loop {
        if let Some(name) = params.take_if(|text| names.contains(&text)) {
            at = names.iter().position(|of| *of == name.text).unwrap_or(at);
        }
        let Some(word) = params.number() else { break };
        last = word;
        let part = params.part(key, word);
        let Some(value) = values.get_mut(at) else {
            return Err(params.source.refuse(&part, "the model has fewer values", "remove it"));
        };
        *value = Some(params.read(&part, word, share)?);
        at += 1;
    }
    Ok((values, params.part(key, last)))
}

fn loss(params: &mut Params<'_>, key: &Word) -> Result<Given<Loss>, Invalid> {
    if params.take_if(|text| text == "gemodel").is_some() {
        let (values, part) = chances(params, key, &["p", "r", "1-h", "1-k"])?;
        let Some(p) = values[0] else { return Err(params.source.refuse(&part, "`p` is missing", GEMODEL)) };
        let [r, inside, outside] =
            [(1, 1.0 - p), (2, 1.0), (3, 0.0)].map(|(i, usual)| values[i].unwrap_or(usual));
        return gilbert(params, part, [p, r], [inside, outside]);
    }
    if params.take_if(|text| text == "state").is_some() {
        let (values, part) = chances(params, key, &["p13", "p31", "p32", "p23", "p14"])?;
        let Some(p13) = values[0] else {
            return Err(params.source.refuse(&part, "`p13` is missing", GEMODEL));
        };
        let is = |i: usize, usual: f64| values[i].is_none_or(|value| value == usual);
        if !(is(2, 0.0) && is(3, 1.0) && is(4, 0.0)) {
            let why = "the loss of a scenario has two states, as with `p13` and `p31` alone";
            return Err(params.untranslated(&part, why, GEMODEL));
        }
        return gilbert(params, part, [p13, values[1].unwrap_or(1.0 - p13)], [1.0, 0.0]);
    }
    params.take_if(|text| text == "random");
    let given = uncorrelated(params, key)?;
    Ok(Given { value: Loss::Independent(given.value), part: given.part })
}

const GEMODEL: &str = "write `loss gemodel P R`";

/// The loss of a line with two states: `p` and `r` are the chances that a packet finds the line turned bad
/// and turned good.
fn gilbert(
    params: &mut Params<'_>,
    part: Part,
    [p, r]: [f64; 2],
    [inside, outside]: [f64; 2],
) -> Result<Given<Loss>, Invalid> {
    if r == 0.0 && p > 0.0 {
        let message = "with `r` of 0 the line stays bad for ever";
        return Err(params.source.refuse(
            &part,
            message,
            "write an `r` of which 1/r is the length of a burst",
        ));
    }
    let bad = if p > 0.0 { p / (p + r) } else { 0.0 };
    let mean = ppb(bad * inside + (1.0 - bad) * outside);
    // with p + r = 1 the next state does not depend on the state
    if p == 0.0 || (p + r - 1.0).abs() < 1e-9 || inside == outside {
        return Ok(Given { value: Loss::Independent(mean), part });
    }
    if outside > inside {
        let message = "the good state loses more than the bad state";
        return Err(params.source.refuse(&part, message, "write 1-h above 1-k, and swap `p` and `r`"));
    }
    let length = 1.0 / r;
    let pkts = length.round();
    if (length - pkts).abs() > 1e-6 * length {
        let message =
            format!("bursts have a whole number of packets on average: {pkts} instead of {length:.3}");
        params.warn(&part, message);
    }
    let value = Loss::Bursts { mean, pkts: pkts as u64, inside: ppb(inside), outside: ppb(outside) };
    Ok(Given { value, part })
}

/// A share in ppb.
fn ppb(share: f64) -> u64 {
    (share * WHOLE_PPB as f64).round() as u64
}
