//! The grammar of scripts (packetdrill's own is in its parser.y and lexer.l). Texts that only other stacks or
//! other protocols need are read loosely, so that `run.rs` can refuse them by name.

use fairpace_scenario::Problem;
use fairpace_tcp::Nanos;
use winnow::ascii::{dec_uint, digit1, hex_uint};
use winnow::combinator::{
    alt, cut_err, delimited, eof, fail, opt, peek, preceded, repeat, separated, terminated,
};
use winnow::error::{ContextError, StrContext, StrContextValue};
use winnow::prelude::*;
use winnow::stream::LocatingSlice;
use winnow::token::{any, one_of, take_till, take_until, take_while};

use crate::script::{Action, Arg, Call, Event, Flag, Packet, Script, TcpOption, When};

pub(crate) type Input<'a> = LocatingSlice<&'a str>;

/// The latest time of an event, s: a day. A script that waits for longer tests something else.
const LATEST_S: u64 = 86_400;
/// Protocols and tunnels of packetdrill other than TCP.
const FOREIGN: [&str; 9] = ["icmp", "udp", "ipv4", "ipv6", "gre", "GREv0", "mpls", "psp", "raw"];
/// Deepest nesting of arguments: deeper ones come from no person.
const DEEPEST: u32 = 16;

impl Script {
    /// Reads a script. `file` is its name in messages.
    ///
    /// # Errors
    /// Returns the place and what was expected there if the text is no script.
    pub fn parse(file: &str, text: &str) -> Result<Script, Box<Problem>> {
        let (flags, events) = script.parse(LocatingSlice::new(text)).map_err(|error| {
            // an end that is missing is missing behind the last word
            let end = text.trim_end().len();
            let at = if error.offset() > end { end } else { error.offset() };
            let message = match describe(error.inner()) {
                Some(what) => format!("this is no {what}"),
                None => "this is no event of a script".to_owned(),
            };
            problem(
                "syntax",
                message,
                "an event is a time and a packet, a system call, `command` or %{ code }%",
            )
            .within(file, text, at..at + text[at..].chars().next().map_or(0, char::len_utf8))
        })?;
        if events.is_empty() {
            let help = "write events, such as `0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3`";
            let none = problem("syntax", "the script has no event".to_owned(), help);
            return Err(Box::new(none.in_file(file)));
        }
        Ok(Script { file: file.to_owned(), text: text.to_owned(), flags, events })
    }
}

/// An error in a script.
pub(crate) fn problem(kind: &'static str, message: String, help: &str) -> Problem {
    Problem::of("packetdrill", kind, "", message, help)
}

fn describe(error: &ContextError) -> Option<String> {
    error.context().find_map(|context| match context {
        StrContext::Expected(StrContextValue::Description(what)) => Some((*what).to_owned()),
        _ => None,
    })
}

pub(crate) fn expected(what: &'static str) -> StrContext {
    StrContext::Expected(StrContextValue::Description(what))
}

fn script(input: &mut Input<'_>) -> ModalResult<(Vec<Flag>, Vec<Event>)> {
    space(input)?;
    let flags = repeat(0.., terminated(flag, space)).parse_next(input)?;
    let events = repeat(0.., terminated(event, space)).parse_next(input)?;
    eof.context(expected("event: its time is missing")).parse_next(input)?;
    Ok((flags, events))
}

/// White space and comments.
fn space(input: &mut Input<'_>) -> ModalResult<()> {
    let line = ("//", take_till(0.., '\n')).void();
    let block = ("/*", cut_err((take_until(0.., "*/"), "*/")).context(expected("end of the comment"))).void();
    repeat(0.., alt((one_of([' ', '\t', '\n', '\r']).void(), line, block))).parse_next(input)
}

/// A parser with white space before it.
fn token<'a, O>(
    parser: impl Parser<Input<'a>, O, winnow::error::ErrMode<ContextError>>,
) -> impl Parser<Input<'a>, O, winnow::error::ErrMode<ContextError>> {
    preceded(space, parser)
}

pub(crate) fn word<'a>(input: &mut Input<'a>) -> ModalResult<&'a str> {
    take_while(1.., |c: char| c.is_ascii_alphanumeric() || c == '_').parse_next(input)
}

fn flag(input: &mut Input<'_>) -> ModalResult<Flag> {
    let value = alt((quoted('"'), take_till(1.., [' ', '\t', '\n', '\r']).map(str::to_owned)));
    let ((name, value), span) =
        (preceded("--", word), opt(preceded('=', value))).with_span().parse_next(input)?;
    Ok(Flag { name: name.to_owned(), value: value.unwrap_or_default(), span })
}

/// A text between two of `mark`, without them. `\` keeps the mark behind it.
fn quoted<'a>(mark: char) -> impl Parser<Input<'a>, String, winnow::error::ErrMode<ContextError>> {
    let inside = repeat(0.., alt((('\\', any).void(), one_of(move |c| c != mark && c != '\\').void())));
    delimited(
        mark,
        inside.map(|(): ()| ()).take().map(str::to_owned),
        cut_err(mark).context(expected("end of the quotation")),
    )
}

fn event(input: &mut Input<'_>) -> ModalResult<Event> {
    let (mut event, span) = alt((command.map(untimed), timed)).with_span().parse_next(input)?;
    event.span = span;
    Ok(event)
}

fn untimed(action: Action) -> Event {
    Event { when: When::Untimed, end: None, action, span: 0..0 }
}

fn timed(input: &mut Input<'_>) -> ModalResult<Event> {
    let when = when(input)?;
    let end = opt(preceded(token("..."), cut_err(token(time)))).parse_next(input)?;
    let action = cut_err(token(action)).parse_next(input)?;
    Ok(Event { when, end, action, span: 0..0 })
}

fn when(input: &mut Input<'_>) -> ModalResult<When> {
    let relative = (
        preceded('+', cut_err(token(time))),
        opt(preceded(token('~'), cut_err(preceded((token('+'), space), time)))),
    );
    let absolute = (time, opt(preceded(token('~'), cut_err(token(time)))));
    let range = |(from, to): (Nanos, Option<Nanos>)| (from, to.unwrap_or(from));
    let ordered = |when: &When| match when {
        When::At(from, to) | When::After(from, to) => from <= to,
        _ => true,
    };
    alt((
        '*'.value(When::Any),
        relative.map(range).map(|(from, to)| When::After(from, to)),
        absolute.map(range).map(|(from, to)| When::At(from, to)),
    ))
    .verify(ordered)
    .context(expected("time, or it ends before it begins"))
    .parse_next(input)
}

/// Seconds with a fraction, of which packetdrill takes microseconds.
fn time(input: &mut Input<'_>) -> ModalResult<Nanos> {
    let fraction = preceded('.', digit1);
    let number = alt(((digit1, opt(fraction)), preceded('.', digit1).map(|of| ("0", Some(of)))));
    number
        .verify_map(|(whole, fraction): (&str, Option<&str>)| {
            let us: String = fraction.unwrap_or("").chars().chain("000000".chars()).take(6).collect();
            let (s, us) = (whole.parse::<u64>().ok()?, us.parse::<u64>().ok()?);
            (s <= LATEST_S).then_some((s * 1_000_000 + us) * 1_000)
        })
        .context(expected("time of up to a day"))
        .parse_next(input)
}

fn action(input: &mut Input<'_>) -> ModalResult<Action> {
    alt((command, code, preceded(peek(one_of(['<', '>'])), packet), call.map(Action::Call)))
        .context(expected("packet, system call, command or code"))
        .parse_next(input)
}

fn command(input: &mut Input<'_>) -> ModalResult<Action> {
    quoted('`').map(Action::Command).parse_next(input)
}

fn code(input: &mut Input<'_>) -> ModalResult<Action> {
    let inside = take_until(0.., "}%").with_span();
    let (text, span) =
        delimited("%{", cut_err(inside).context(expected("end of the code, }%")), "}%").parse_next(input)?;
    Ok(Action::Code(text.to_owned(), span.start))
}

fn packet(input: &mut Input<'_>) -> ModalResult<Action> {
    let inbound = one_of(['<', '>']).map(|c| c == '<').parse_next(input)?;
    let foreign = word.verify(|word: &str| FOREIGN.contains(&word));
    if let Some(name) = opt(token(foreign)).parse_next(input)? {
        take_till(0.., '\n').void().parse_next(input)?;
        return Ok(Action::Foreign(name.to_owned()));
    }
    cut_err(tcp_packet(inbound)).map(Action::Packet).parse_next(input)
}

fn tcp_packet<'a>(inbound: bool) -> impl Parser<Input<'a>, Packet, winnow::error::ErrMode<ContextError>> {
    move |input: &mut Input<'a>| {
        let bracket = delimited('[', take_till(0.., [']', '\n']), ']');
        let ip: Vec<&str> = repeat(0.., token(bracket)).parse_next(input)?;
        let ports = opt(token((digit1, '>', digit1))).parse_next(input)?.is_some();
        let flags = token(take_while(1.., |c: char| c.is_ascii_alphanumeric() || "._-".contains(c)))
            .context(expected("flags of a packet, such as S. or P."))
            .parse_next(input)?;
        let (seq, _, end_seq, len) = token((number, ':', number, delimited('(', number, ')')))
            .context(expected("range of sequence numbers, such as 1:1001(1000)"))
            .parse_next(input)?;
        let ack = opt(preceded(token("ack"), cut_err(token(number)))).parse_next(input)?;
        let win = opt(preceded(token("win"), cut_err(token(number)))).parse_next(input)?;
        let urg = opt(preceded(token("urg"), cut_err(token(number)))).parse_next(input)?.is_some();
        let options = opt(token(tcp_options)).parse_next(input)?.unwrap_or_else(|| Some(Vec::new()));
        let (flags, ip) = (flags.to_owned(), ip.into_iter().map(str::to_owned).collect());
        Ok(Packet { inbound, ip, ports, flags, seq, end_seq, len, ack, win, urg, options })
    }
}

fn number(input: &mut Input<'_>) -> ModalResult<u32> {
    dec_uint.context(expected("number of 32 bits")).parse_next(input)
}

/// `<...>` gives `None`. A packet's options are on its line, so that a `<` of the next event is none.
fn tcp_options(input: &mut Input<'_>) -> ModalResult<Option<Vec<TcpOption>>> {
    let any_options = ('<', token("..."), token('>')).value(None);
    let list = delimited(
        ('<', peek(token(one_of(|c: char| c.is_ascii_alphabetic())))),
        separated(1.., token(tcp_option), token(',')),
        token('>'),
    );
    let whole = (list, peek(alt((eof.void(), one_of([' ', '\t', '\n', '\r', '/']).void()))));
    alt((any_options, whole.map(|(list, ())| Some(list)))).parse_next(input)
}

fn tcp_option(input: &mut Input<'_>) -> ModalResult<TcpOption> {
    let block = (number, ':', number).map(|(start, _, end)| (start, end));
    let timestamp = (preceded(token("val"), token(number)), preceded(token("ecr"), token(number)));
    let name = word.parse_next(input)?;
    match name {
        "nop" => Ok(TcpOption::Nop),
        "sackOK" => Ok(TcpOption::SackOk),
        "mss" => token(number).map(TcpOption::Mss).parse_next(input),
        "wscale" => token(number).map(TcpOption::Wscale).parse_next(input),
        "TS" => cut_err(timestamp).map(|(val, ecr)| TcpOption::Timestamp { val, ecr }).parse_next(input),
        "sack" => cut_err(repeat(1.., token(block))).map(TcpOption::Sack).parse_next(input),
        other => {
            let rest = take_till(0.., [',', '>', '\n']).parse_next(input)?;
            Ok(TcpOption::Other(format!("{other}{rest}")))
        }
    }
}

fn call(input: &mut Input<'_>) -> ModalResult<Call> {
    let name = word.verify(|name: &str| !name.starts_with(|c: char| c.is_ascii_digit())).parse_next(input)?;
    let args = delimited(token('('), separated(0.., token(arg(0)), token(',')), token(')'));
    let args = cut_err(args).context(expected("list of arguments")).parse_next(input)?;
    let result = preceded(token('='), token(arg(0)));
    let result = cut_err(result).context(expected("result of a system call, `= 0`")).parse_next(input)?;
    let error_name = take_while(2.., |c: char| c.is_ascii_uppercase() || c.is_ascii_digit())
        .verify(|name: &str| name.starts_with('E'));
    let errno = opt(token(error_name)).parse_next(input)?;
    let note = ('(', take_till(0.., [')', '\n']), ')');
    opt(token(note)).parse_next(input)?;
    Ok(Call { name: name.to_owned(), args, result, errno: errno.map(str::to_owned) })
}

fn arg<'a>(depth: u32) -> impl Parser<Input<'a>, Arg, winnow::error::ErrMode<ContextError>> {
    move |input: &mut Input<'a>| {
        if depth > DEEPEST {
            return fail.context(expected("argument that is nested so deeply")).parse_next(input);
        }
        let list = delimited('[', separated(0.., token(arg(depth + 1)), token(',')), token(']'));
        let fields = delimited('{', separated(0.., token(field(depth)), token(',')), token('}'));
        alt((
            "...".value(Arg::Any),
            quoted('"').map(Arg::Text),
            list.map(Arg::List),
            fields.map(Arg::Struct),
            preceded("0x", hex_uint).map(|n: u32| Arg::Int(i64::from(n))),
            integer.map(Arg::Int),
            words,
        ))
        .context(expected("argument"))
        .parse_next(input)
    }
}

fn integer(input: &mut Input<'_>) -> ModalResult<i64> {
    (opt('-'), digit1).take().parse_to().parse_next(input)
}

/// `A|B`, and `htons(8080)` and the like, of which only the name matters.
fn words(input: &mut Input<'_>) -> ModalResult<Arg> {
    let argument = delimited('(', take_till(0.., [')', '\n']), ')');
    let one = terminated(word, opt(argument));
    separated(1.., token(one), token('|'))
        .map(|words: Vec<&str>| Arg::Words(words.into_iter().map(str::to_owned).collect()))
        .parse_next(input)
}

/// `onoff=1`, `msg_iov(1)=[...]` or only a value.
fn field<'a>(depth: u32) -> impl Parser<Input<'a>, (String, Arg), winnow::error::ErrMode<ContextError>> {
    move |input: &mut Input<'a>| {
        let size = delimited('(', take_till(0.., [')', '\n']), ')');
        let name = opt(terminated((word, opt(size)), token('='))).parse_next(input)?;
        let value = token(arg(depth + 1)).parse_next(input)?;
        Ok((name.map_or_else(String::new, |(name, _)| name.to_owned()), value))
    }
}
