//! Lines of `tc qdisc`: what the tree of queue disciplines at each device does to packets.
//!
//! Semantics follow Linux 6.18 and iproute2 6.17. netem holds `limit` packets in all, those that it delays
//! and those that wait for its `rate`. It decides on loss when a packet arrives. With a `rate` or without
//! jitter it keeps the order of packets. A discipline below tbf takes the place of tbf's own queue, so
//! `latency` and `limit` of tbf have no effect then.

mod netem;
mod params;
mod path;
mod queue;
mod units;
pub(crate) mod words;

use fairpace_scenario::Invalid;

use crate::draft::Entry;
use crate::source::{Part, Source, Warning};
use crate::{Direction, Imported, Options};
use netem::Netem;
use params::Params;
use path::Path;
use queue::{Queue, Tbf};
use words::{Word, commands};

/// Commands of scripts that set up devices, and shape nothing.
const HARMLESS: [&str; 7] = ["ip", "modprobe", "echo", "set", "sleep", "ethtool", "sysctl"];
/// What `tc qdisc` does. A line of a file for `tc -batch` begins with `qdisc`.
const VERBS: [&str; 9] = ["add", "replace", "change", "link", "del", "delete", "show", "ls", "list"];
/// Options of tc that have a value.
const WITH_VALUE: [&str; 7] = ["-n", "-net", "-netns", "-b", "-batch", "-cf", "-conf"];

/// A queue discipline at its place.
pub(crate) struct Qdisc {
    device: String,
    handle: Option<String>,
    /// The parent's handle; `None`: it is the root.
    parent: Option<String>,
    kind: Kind,
    part: Part,
    /// Whether the kernel made it by itself.
    is_default: bool,
}

/// A queue discipline with its parameters.
pub(crate) enum Kind {
    Netem(Netem),
    Tbf(Tbf),
    Queue(Queue),
    /// A discipline that neither delays nor drops: fq with the pacing of the host, or none.
    Nothing,
}

/// Translates lines of tc to a scenario.
pub(crate) fn import(source: Source<'_>, options: &Options) -> Result<Imported<String>, Invalid> {
    let mut warnings = Vec::new();
    let mut qdiscs: Vec<Qdisc> = Vec::new();
    let (counters, lines) = without_counters(source, commands(&source)?);
    if let Some(word) = counters {
        warnings.push(source.warning(&word.part(), "the counters of `tc -s` have no effect here"));
    }
    let (mut defaults, lines): (Vec<_>, Vec<_>) = lines.into_iter().partition(|words| is_default(words));
    for words in lines {
        add(source, &words, &mut qdiscs, &mut warnings)?;
    }
    let is_nothing = |words: &Vec<Word>| words[1].text == "noqueue";
    defaults.sort_by_key(is_nothing);
    for words in defaults {
        let matters = qdiscs.iter().all(|qdisc| qdisc.is_default);
        if matters && (qdiscs.is_empty() || !is_nothing(&words)) {
            add(source, &words, &mut qdiscs, &mut warnings)?;
        } else {
            let message = "it has no effect here: no command made it, the kernel did";
            warnings.push(source.warning(&words[1].part(), message));
        }
    }
    let mut devices: Vec<Vec<Qdisc>> = Vec::new();
    for qdisc in qdiscs {
        match devices.iter_mut().find(|of| of[0].device == qdisc.device) {
            Some(device) => device.push(qdisc),
            None => devices.push(vec![qdisc]),
        }
    }
    let mut chains = Vec::new();
    for device in devices {
        chains.push((device[0].device.clone(), chain(source, device)?));
    }
    scenario(source, chains, warnings, options)
}

/// The lines without the counters that `tc -s qdisc show` writes in indented lines below each discipline, and
/// the first word of these.
fn without_counters(source: Source<'_>, lines: Vec<Vec<Word>>) -> (Option<Word>, Vec<Vec<Word>>) {
    let (mut is_below, mut counters, mut rest) = (false, None, Vec::new());
    for words in lines {
        let Some(first) = words.first() else { continue };
        let is_indented = source.text[..first.span.start].ends_with([' ', '\t']);
        if is_below && is_indented && !matches!(first.text.as_str(), "qdisc" | "tc" | "sudo") {
            counters.get_or_insert_with(|| first.clone());
            continue;
        }
        is_below = is_shown(&words);
        rest.push(words);
    }
    (counters, rest)
}

/// Whether a line is one of the output of `tc qdisc show`: `qdisc KIND HANDLE: ...`.
fn is_shown(words: &[Word]) -> bool {
    matches!(words, [qdisc, _, handle, ..] if qdisc.text == "qdisc" && handle.text.ends_with(':'))
}

/// Whether a line shows a discipline that the kernel made by itself: its handle is 0. That of lo is the first
/// line of most outputs.
fn is_default(words: &[Word]) -> bool {
    is_shown(words) && words[2].text == "0:"
}

/// Adds the discipline of a line, or replaces an earlier one by it.
fn add(
    source: Source<'_>,
    words: &[Word],
    qdiscs: &mut Vec<Qdisc>,
    warnings: &mut Vec<Warning>,
) -> Result<(), Invalid> {
    let Some((qdisc, replaces)) = line(source, words, warnings)? else { return Ok(()) };
    let same = |of: &Qdisc| of.device == qdisc.device && of.parent == qdisc.parent;
    match qdiscs.iter().position(same) {
        Some(at) if replaces => qdiscs[at] = qdisc,
        Some(_) => {
            let message = "another line has a discipline at the same place, and tc refuses this one";
            return Err(source.refuse(&qdisc.part, message, "remove one of the two"));
        }
        None => qdiscs.push(qdisc),
    }
    Ok(())
}

/// The scenario of the chains of one or two devices.
fn scenario(
    source: Source<'_>,
    mut chains: Vec<(String, Vec<Qdisc>)>,
    warnings: Vec<Warning>,
    options: &Options,
) -> Result<Imported<String>, Invalid> {
    let mut path = Path::new(source, options, warnings);
    match (&chains[..], options.direction) {
        ([], _) => {
            let help = match source.text.lines().any(|line| line.trim_start().starts_with("# tc")) {
                true => "remove the `#` before `tc`, which begins a comment",
                false => "write lines such as `tc qdisc add dev eth0 root netem delay 50ms rate 10mbit`",
            };
            return Err(source.refuse_all("no line adds a queue discipline", help));
        }
        ([_], _) | ([_, _], Direction::Send | Direction::Receive) => {}
        (more, _) => {
            let last = more.last().and_then(|(_, chain)| chain.first());
            let part = last.map_or_else(|| Part::new(0..0, ""), |qdisc| qdisc.part.clone());
            let message = "the lines are about more devices than a path has directions";
            let help = "leave the lines of the device of one direction, or of two devices without \
                        `--direction both`";
            return Err(source.refuse(&part, message, help));
        }
    }
    let second = (chains.len() == 2).then(|| chains.remove(1));
    let (device, first) = chains.remove(0);
    match (options.direction, second) {
        (Direction::Send, None) => {
            path.assume(format!("Data passes these lines at {device}. ACKs return without delay."));
            path.data(&first)?;
        }
        (Direction::Receive, None) => {
            path.assume(format!(
                "ACKs pass these lines at {device}. Data comes at the rate of the interface."
            ));
            path.data(&[])?;
            path.acks(&first)?;
        }
        (Direction::Both, _) => {
            path.assume(format!("Data passes these lines at {device}, and ACKs pass the same lines."));
            path.data(&first)?;
            path.acks(&first)?;
        }
        (direction, Some((other, second))) => {
            let ((data, of_data), (acks, of_acks)) = match direction {
                Direction::Receive => ((other, second), (device, first)),
                _ => ((device, first), (other, second)),
            };
            path.assume(format!("Data passes the lines at {data}, and ACKs pass the lines at {acks}."));
            path.data(&of_data)?;
            path.acks(&of_acks)?;
        }
    }
    path.into_draft("tc")?.finish(options)
}

/// The queue discipline of a line, and whether it replaces an earlier one; `None` for a line without one.
fn line(
    source: Source<'_>,
    words: &[Word],
    warnings: &mut Vec<Warning>,
) -> Result<Option<(Qdisc, bool)>, Invalid> {
    let words = without_prefix(words);
    let Some((first, rest)) = words.split_first() else { return Ok(None) };
    let is_batch = rest.first().is_some_and(|verb| VERBS.contains(&verb.text.as_str()));
    let mut rest = rest;
    match first.text.rsplit('/').next().unwrap_or_default() {
        "qdisc" if is_batch => rest = words,
        _ if first.text.contains(['$', '=']) => {
            let message = "variables of a shell have no value here";
            return Err(source.refuse(&first.part(), message, "write each line in full, as tc runs it"));
        }
        // a line of the output of `tc qdisc show`
        "qdisc" => return placed(source, first, rest, warnings).map(|qdisc| Some((qdisc, false))),
        "tc" => {}
        name if HARMLESS.contains(&name) => {
            warnings.push(source.warning(&first.part(), "it is no line of tc, and has no effect here"));
            return Ok(None);
        }
        _ => {
            let message = format!("\"{}\" is no line of tc", first.text);
            let help = "write lines such as `tc qdisc add dev eth0 root netem delay 50ms rate 10mbit`";
            return Err(source.refuse(&first.part(), message, help));
        }
    }
    while let [option, others @ ..] = rest
        && option.text.starts_with('-')
    {
        let has_value = WITH_VALUE.contains(&option.text.as_str());
        rest = others.get(usize::from(has_value)..).unwrap_or_default();
    }
    let [object, verb, rest @ ..] = rest else {
        return Err(source.refuse(&first.part(), "the line ends behind `tc`", "write the line in full"));
    };
    if object.text != "qdisc" {
        let message = format!("`tc {}` cannot be translated: all packets pass the same link", object.text);
        let help =
            "write the shaper as a tbf: `tc qdisc add dev eth0 root tbf rate 10mbit burst 32kb latency 50ms`";
        return Err(source.refuse(&object.part(), message, help));
    }
    match verb.text.as_str() {
        "add" => placed(source, object, rest, warnings).map(|qdisc| Some((qdisc, false))),
        "replace" => placed(source, object, rest, warnings).map(|qdisc| Some((qdisc, true))),
        "del" | "delete" | "show" | "ls" | "list" => {
            warnings.push(source.warning(&verb.part(), "the line adds nothing, and has no effect here"));
            Ok(None)
        }
        _ => {
            let message = format!(
                "`tc qdisc {}` cannot be translated: a scenario begins with one set of values",
                verb.text
            );
            Err(source.refuse(&verb.part(), message, "leave the line with the values that matter, as `add`"))
        }
    }
}

/// The command without `sudo`, `ip netns exec NAME`, and the prompt of a shell that was copied with the line.
fn without_prefix(words: &[Word]) -> &[Word] {
    let mut words = words;
    while let [first, rest @ ..] = words
        && (first.text == "sudo" || (!rest.is_empty() && first.text.ends_with(['$', '#'])))
    {
        words = rest;
    }
    if let [ip, netns, exec, _, rest @ ..] = words
        && [ip, netns, exec].map(|word| word.text.as_str()) == ["ip", "netns", "exec"]
    {
        words = rest;
    }
    words
}

/// Reads a queue discipline with its place. `before` is the word before the first.
fn placed(
    source: Source<'_>,
    before: &Word,
    words: &[Word],
    warnings: &mut Vec<Warning>,
) -> Result<Qdisc, Invalid> {
    let (mut device, mut handle, mut parent, mut is_placed) = ("this device".to_owned(), None, None, false);
    let is_shown = before.text == "qdisc" && words.get(1).is_some_and(|word| word.text.ends_with(':'));
    let mut kind = None;
    let mut rest = words;
    if let ([first, second, others @ ..], true) = (words, is_shown) {
        (kind, handle, rest) = (Some(first), Some(major(&second.text)), others);
    }
    while let [word, others @ ..] = rest {
        rest = match (word.text.as_str(), others) {
            ("root", _) => {
                is_placed = true;
                others
            }
            ("dev", [value, others @ ..]) => {
                device.clone_from(&value.text);
                others
            }
            ("handle", [value, others @ ..]) => {
                handle = Some(major(&value.text));
                others
            }
            ("parent", [value, others @ ..]) => {
                (parent, is_placed) = (Some(major(&value.text)), true);
                others
            }
            ("refcnt", [_, others @ ..]) => others,
            _ if kind.is_some() => break,
            _ => {
                kind = Some(word);
                rest = others;
                break;
            }
        };
    }
    let last = words.last().unwrap_or(before);
    let part = Part::new(before.span.start..last.span.end.max(before.span.end), "qdisc");
    let kind = sending(source, kind, is_placed, &part)?;
    let mut params = Params::new(source, &kind.text, rest);
    let of = self::kind(&mut params, kind)?;
    warnings.append(&mut params.warnings);
    let is_default = is_shown && handle.as_deref() == Some("0");
    Ok(Qdisc { device, handle, parent, kind: of, part, is_default })
}

/// The name of a discipline, which must exist, be for packets that leave, and have a place.
fn sending<'w>(
    source: Source<'_>,
    kind: Option<&'w Word>,
    is_placed: bool,
    part: &Part,
) -> Result<&'w Word, Invalid> {
    let Some(kind) = kind else {
        return Err(source.refuse(part, "the line names no queue discipline", "complete the line"));
    };
    if matches!(kind.text.as_str(), "ingress" | "clsact") {
        let help = "import the lines of the device that the packets are redirected to, such as ifb0, with \
                    --direction receive";
        let message = "a discipline for arriving packets cannot be translated";
        return Err(source.refuse(&kind.part(), message, help));
    }
    if !is_placed {
        let help = "complete the line, as in `tc qdisc add dev eth0 root ...`";
        return Err(source.refuse(part, "the line says neither `root` nor `parent`", help));
    }
    Ok(kind)
}

/// The part of a handle before the colon: "1:1" and "1:" are below and at the discipline "1".
fn major(handle: &str) -> String {
    handle.split(':').next().unwrap_or_default().to_owned()
}

fn kind(params: &mut Params<'_>, kind: &Word) -> Result<Kind, Invalid> {
    match kind.text.as_str() {
        "netem" => netem::read(params, kind).map(Kind::Netem),
        "tbf" => queue::tbf(params, kind).map(Kind::Tbf),
        "fq" | "noqueue" => {
            let part = kind.part();
            while let Some(key) = params.take() {
                // the other parameters say how packets of many flows wait, and how exact the pacing is
                if let "maxrate" | "ce_threshold" = key.text.as_str() {
                    let value = params.take().unwrap_or(key);
                    let why = "a sender here has no limit of its rate, and no queue of its own that marks";
                    return Err(params.untranslated(
                        &params.part(key, value),
                        why,
                        "write the rate as a tbf",
                    ));
                }
            }
            if kind.text == "fq" {
                params.warn(&part, "it has no effect: a sender here paces packets without it");
            }
            Ok(Kind::Nothing)
        }
        _ => match queue::read(params, kind)? {
            Some(queue) => Ok(Kind::Queue(queue)),
            None => {
                let message = format!("the queue discipline {} cannot be translated", kind.text);
                let help = "netem, tbf, pfifo, bfifo, codel, fq_codel, pie, red and fq can be";
                Err(params.source.refuse(&kind.part(), message, help))
            }
        },
    }
}

/// The disciplines of a device from the root to the leaf.
fn chain(source: Source<'_>, mut of: Vec<Qdisc>) -> Result<Vec<Qdisc>, Invalid> {
    let mut chain: Vec<Qdisc> = Vec::new();
    while !of.is_empty() {
        let handle = chain.last().map(|above| above.handle.clone());
        let is_next = |qdisc: &Qdisc| match &handle {
            None => qdisc.parent.is_none(),
            Some(above) => qdisc.parent.is_some() && qdisc.parent == *above,
        };
        let Some(at) = of.iter().position(is_next) else {
            let message = "no line has the discipline that this one is below";
            let help = "give the discipline above a handle, as in `root handle 1:` and `parent 1:`";
            return Err(source.refuse(&of[0].part, message, help));
        };
        if let Some(Qdisc { kind: Kind::Queue(_) | Kind::Nothing, .. }) = chain.last() {
            let message = "the discipline above this one has no children that can be translated";
            return Err(source.refuse(&of[at].part, message, "write it below a netem or a tbf"));
        }
        chain.push(of.remove(at));
    }
    Ok(chain)
}

/// Keys of a direction, which become a link, and what it does besides.
pub(crate) struct Side {
    pub(crate) keys: Vec<Entry>,
    /// The least delay, ns.
    pub(crate) delay_ns: u64,
    /// Keys of the flow.
    pub(crate) flow: Vec<Entry>,
}
