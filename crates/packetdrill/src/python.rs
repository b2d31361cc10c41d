//! The Python of scripts, as far as they need it: `assert`, `print` and assignments of expressions, on lines
//! or behind `;`. Other statements are refused by name.

use std::fmt;

use winnow::ascii::{dec_uint, digit1, hex_uint};
use winnow::combinator::{
    alt, cut_err, delimited, eof, fail, not, opt, peek, preceded, repeat, separated, terminated,
};
use winnow::error::{ContextError, ErrMode};
use winnow::prelude::*;
use winnow::stream::LocatingSlice;
use winnow::token::{any, one_of, take_till, take_while};

use crate::parse::{Input, expected, word};

/// Deepest nesting of an expression: deeper ones come from no person.
const DEEPEST: u32 = 32;

/// A value of an expression.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    None,
    Int(i128),
    Float(f64),
    Text(String),
    Tuple(Vec<Value>),
}

#[derive(Debug, Clone)]
pub(crate) enum Statement {
    Assert(String, Expr, Option<Expr>),
    Print(Vec<Expr>),
    /// A name, an operator of `+=` or `=`, and the value.
    Assign(String, &'static str, Expr),
    Nothing,
}

#[derive(Debug, Clone)]
pub(crate) enum Expr {
    Value(Value),
    Name(String),
    Unary(&'static str, Box<Expr>),
    Binary(Box<Expr>, &'static str, Box<Expr>),
    /// `a <= b < c`
    Compare(Box<Expr>, Vec<(&'static str, Expr)>),
    /// `a if c else b`, as condition, then, else.
    If(Box<[Expr; 3]>),
    Call(String, Vec<Expr>),
    Tuple(Vec<Expr>),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::None => f.write_str("None"),
            Value::Int(n) => n.fmt(f),
            Value::Float(x) => x.fmt(f),
            Value::Text(text) => f.write_str(text),
            Value::Tuple(items) => {
                let items: Vec<String> = items.iter().map(ToString::to_string).collect();
                write!(f, "({})", items.join(", "))
            }
        }
    }
}

/// Reads a block.
///
/// # Errors
/// Returns what is not interpreted.
pub(crate) fn read(code: &str) -> Result<Vec<Statement>, String> {
    let joined = code.replace("\\\n", " ");
    let read = block.parse(LocatingSlice::new(joined.as_str()));
    read.map_err(|error| {
        let rest = joined[error.offset()..].lines().next().unwrap_or("").trim();
        format!("the Python at `{rest}`: only assert, print and assignments are interpreted")
    })
}

type Error = ErrMode<ContextError>;

/// Blanks within a line; in brackets lines end nothing, but no script uses this.
fn blanks(input: &mut Input<'_>) -> ModalResult<()> {
    take_while(0.., [' ', '\t', '\r']).void().parse_next(input)
}

fn token<'a, O>(parser: impl Parser<Input<'a>, O, Error>) -> impl Parser<Input<'a>, O, Error> {
    preceded(blanks, parser)
}

fn block(input: &mut Input<'_>) -> ModalResult<Vec<Statement>> {
    let comment = opt(('#', take_till(0.., '\n')));
    let end = (token(comment), alt((one_of([';', '\n']).void(), eof.void())));
    let one = (peek(any), terminated(token(statement), end));
    let statements: Vec<(char, Statement)> = repeat(0.., one).parse_next(input)?;
    blanks(input)?;
    eof.parse_next(input)?;
    Ok(statements.into_iter().map(|(_, statement)| statement).collect())
}

fn statement(input: &mut Input<'_>) -> ModalResult<Statement> {
    let asserted = (expr(0).with_taken(), opt(preceded(token(','), token(expr(0)))));
    let assert = preceded(keyword("assert"), token(asserted))
        .map(|((holds, text), message)| Statement::Assert(text.trim().to_owned(), holds, message));
    let printed = separated(0.., token(expr(0)), token(','));
    let print = preceded(keyword("print"), token(printed)).map(Statement::Print);
    let operator = alt(("=", "+=", "-=", "*=")).map(|of: &str| match of {
        "+=" => "+",
        "-=" => "-",
        "*=" => "*",
        _ => "",
    });
    let assign = (word, terminated(token(operator), not('=')), cut_err(token(expr(0))))
        .map(|(name, operator, value)| Statement::Assign(name.to_owned(), operator, value));
    let nothing = peek(alt((eof.void(), one_of([';', '\n', '#']).void()))).value(Statement::Nothing);
    let pass = keyword("pass").value(Statement::Nothing);
    alt((nothing, pass, assert, print, assign)).parse_next(input)
}

fn keyword<'a>(name: &'static str) -> impl Parser<Input<'a>, (), Error> {
    word.verify(move |w: &str| w == name).void()
}

/// The operators of two values from the loosest on; comparisons stand between `not` and these.
const LEVELS: [&[&str]; 6] = [&["|"], &["^"], &["&"], &["<<", ">>"], &["+", "-"], &["*", "//", "/", "%"]];
const COMPARISONS: [&str; 6] = ["==", "!=", "<=", ">=", "<", ">"];

fn expr<'a>(depth: u32) -> impl Parser<Input<'a>, Expr, Error> {
    move |input: &mut Input<'a>| {
        if depth > DEEPEST {
            return fail.context(expected("expression that is nested so deeply")).parse_next(input);
        }
        let then = logic(input, depth, "or")?;
        let condition =
            opt(preceded(token(keyword("if")), cut_err(token(any_logic(depth))))).parse_next(input)?;
        let Some(condition) = condition else { return Ok(then) };
        let otherwise =
            cut_err(preceded(token(keyword("else")), token(expr(depth + 1)))).parse_next(input)?;
        Ok(Expr::If(Box::new([condition, then, otherwise])))
    }
}

fn any_logic<'a>(depth: u32) -> impl Parser<Input<'a>, Expr, Error> {
    move |input: &mut Input<'a>| logic(input, depth, "or")
}

/// `or` of `and` of `not`.
fn logic<'a>(input: &mut Input<'a>, depth: u32, name: &'static str) -> ModalResult<Expr> {
    let next = |input: &mut Input<'a>| match name {
        "or" => logic(input, depth, "and"),
        _ => negation(input, depth),
    };
    let mut left = next(input)?;
    while opt(token(keyword(name))).parse_next(input)?.is_some() {
        blanks(input)?;
        left = Expr::Binary(Box::new(left), name, Box::new(next(input)?));
    }
    Ok(left)
}

fn negation(input: &mut Input<'_>, depth: u32) -> ModalResult<Expr> {
    let nots: usize = repeat(0..=DEEPEST as usize, terminated(keyword("not"), blanks))
        .map(|of: Vec<()>| of.len())
        .parse_next(input)?;
    let mut value = comparison(input, depth)?;
    for _ in 0..nots {
        value = Expr::Unary("not", Box::new(value));
    }
    Ok(value)
}

fn comparison(input: &mut Input<'_>, depth: u32) -> ModalResult<Expr> {
    let first = binary(input, depth, 0)?;
    let mut more = Vec::new();
    while let Some(operator) = opt(token(operator(&COMPARISONS))).parse_next(input)? {
        blanks(input)?;
        more.push((operator, binary(input, depth, 0)?));
    }
    Ok(if more.is_empty() { first } else { Expr::Compare(Box::new(first), more) })
}

/// One of these operators, the longer ones first where one begins another.
fn operator<'a>(of: &'static [&'static str]) -> impl Parser<Input<'a>, &'static str, Error> {
    move |input: &mut Input<'a>| {
        for operator in of {
            let longer = operator.len() == 1 && (input.starts_with("<<") || input.starts_with(">>"));
            if !longer && opt(*operator).parse_next(input)?.is_some() {
                return Ok(*operator);
            }
        }
        fail.parse_next(input)
    }
}

fn binary(input: &mut Input<'_>, depth: u32, level: usize) -> ModalResult<Expr> {
    let Some(operators) = LEVELS.get(level) else { return unary(input, depth) };
    let mut left = binary(input, depth, level + 1)?;
    while let Some(operator) = opt(token(operator(operators))).parse_next(input)? {
        blanks(input)?;
        left = Expr::Binary(Box::new(left), operator, Box::new(binary(input, depth, level + 1)?));
    }
    Ok(left)
}

fn unary(input: &mut Input<'_>, depth: u32) -> ModalResult<Expr> {
    let signs: Vec<char> =
        repeat(0..=DEEPEST as usize, terminated(one_of(['-', '+', '~']), blanks)).parse_next(input)?;
    let mut value = atom(input, depth)?;
    for sign in signs.into_iter().rev() {
        let name = match sign {
            '-' => "-",
            '~' => "~",
            _ => continue,
        };
        value = Expr::Unary(name, Box::new(value));
    }
    Ok(value)
}

fn atom(input: &mut Input<'_>, depth: u32) -> ModalResult<Expr> {
    let text = alt((text('\''), text('"'))).map(Value::Text);
    let float = (digit1, '.', digit1).take().parse_to().map(Value::Float);
    let hex = preceded(alt(("0x", "0X")), cut_err(hex_uint)).map(|n: u64| Value::Int(n.into()));
    let int = dec_uint.map(|n: u64| Value::Int(n.into()));
    let value = alt((text, float, hex, int)).map(Expr::Value);
    let items = (separated(0.., token(expr(depth + 1)), token(',')), opt(token(',')));
    let tuple =
        delimited('(', items, token(')')).map(|(mut items, comma): (Vec<Expr>, Option<char>)| {
            match (items.len(), comma) {
                (1, None) => items.remove(0),
                _ => Expr::Tuple(items),
            }
        });
    let arguments = delimited('(', separated(0.., token(expr(depth + 1)), token(',')), token(')'));
    let named = (word, opt(token(arguments))).map(|(name, arguments)| match arguments {
        Some(arguments) => Expr::Call(name.to_owned(), arguments),
        None => Expr::Name(name.to_owned()),
    });
    alt((value, tuple, named)).parse_next(input)
}

fn text<'a>(mark: char) -> impl Parser<Input<'a>, String, Error> {
    delimited(mark, take_till(0.., [mark, '\n']).map(str::to_owned), mark)
}
