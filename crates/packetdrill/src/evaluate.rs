//! Values of Python expressions.

use std::collections::BTreeMap;

use crate::python::{Expr, Statement, Value, read};

/// Looks up a name that the script has not assigned.
pub(crate) type Known<'a> = dyn FnMut(&str) -> Result<Value, Stop> + 'a;

/// The reason why a block ended early.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Stop {
    /// An assertion does not hold: its text, and its message.
    Asserted(String, Option<String>),
    /// A name that no one has defined.
    Unknown(String),
    /// What this interpreter, or Python, cannot do.
    Wrong(String),
}

/// The variables of all blocks of a script.
#[derive(Debug, Clone, Default)]
pub(crate) struct Scope {
    pub(crate) own: BTreeMap<String, Value>,
    /// What `print` has printed.
    pub(crate) printed: Vec<String>,
}

/// Performs a block. `known` gives the values of the connection.
pub(crate) fn run(code: &str, scope: &mut Scope, known: &mut Known<'_>) -> Result<(), Stop> {
    let statements = read(code).map_err(Stop::Wrong)?;
    statements.into_iter().try_for_each(|statement| scope.perform(statement, known))
}

/// Most bits of a shift: what a 64-bit counter needs.
const MOST_SHIFT: i128 = 64;

impl Scope {
    pub(crate) fn perform(&mut self, statement: Statement, known: &mut Known<'_>) -> Result<(), Stop> {
        match statement {
            Statement::Nothing => {}
            Statement::Assert(text, holds, message) => {
                if !self.value(&holds, known)?.holds() {
                    let message = message.map(|of| self.value(&of, known)).transpose()?;
                    return Err(Stop::Asserted(text, message.map(|value| value.to_string())));
                }
            }
            Statement::Print(of) => {
                let values = of.iter().map(|of| self.value(of, known).map(|value| value.to_string()));
                let line = values.collect::<Result<Vec<_>, _>>()?.join(" ");
                self.printed.push(line);
            }
            Statement::Assign(name, operator, value) => {
                let mut value = self.value(&value, known)?;
                if !operator.is_empty() {
                    value = binary(self.name(&name, known)?, operator, value)?;
                }
                self.own.insert(name, value);
            }
        }
        Ok(())
    }

    fn name(&self, name: &str, known: &mut Known<'_>) -> Result<Value, Stop> {
        match name {
            "True" => Ok(Value::Int(1)),
            "False" => Ok(Value::Int(0)),
            "None" => Ok(Value::None),
            _ => self.own.get(name).cloned().map_or_else(|| known(name), Ok),
        }
    }

    fn value(&self, expr: &Expr, known: &mut Known<'_>) -> Result<Value, Stop> {
        match expr {
            Expr::Value(value) => Ok(value.clone()),
            Expr::Name(name) => self.name(name, known),
            Expr::Unary(operator, of) => unary(operator, self.value(of, known)?),
            Expr::Binary(left, "and", right) => match self.value(left, known)? {
                value if value.holds() => self.value(right, known),
                value => Ok(value),
            },
            Expr::Binary(left, "or", right) => match self.value(left, known)? {
                value if value.holds() => Ok(value),
                _ => self.value(right, known),
            },
            Expr::Binary(left, operator, right) => {
                binary(self.value(left, known)?, operator, self.value(right, known)?)
            }
            Expr::Compare(first, more) => self.compare(first, more, known),
            Expr::If(parts) => {
                let [condition, then, otherwise] = &**parts;
                let holds = self.value(condition, known)?.holds();
                self.value(if holds { then } else { otherwise }, known)
            }
            Expr::Call(name, arguments) => call(name, self.values(arguments, known)?),
            Expr::Tuple(items) => self.values(items, known).map(Value::Tuple),
        }
    }

    fn values(&self, of: &[Expr], known: &mut Known<'_>) -> Result<Vec<Value>, Stop> {
        of.iter().map(|of| self.value(of, known)).collect()
    }

    fn compare(
        &self,
        first: &Expr,
        more: &[(&'static str, Expr)],
        known: &mut Known<'_>,
    ) -> Result<Value, Stop> {
        let mut left = self.value(first, known)?;
        for (operator, right) in more {
            let right = self.value(right, known)?;
            if !holds(&left, operator, &right)? {
                return Ok(Value::Int(0));
            }
            left = right;
        }
        Ok(Value::Int(1))
    }
}

impl Value {
    fn holds(&self) -> bool {
        match self {
            Value::None => false,
            Value::Int(n) => *n != 0,
            Value::Float(x) => *x != 0.0,
            Value::Text(text) => !text.is_empty(),
            Value::Tuple(items) => !items.is_empty(),
        }
    }

    fn float(&self) -> Result<f64, Stop> {
        match self {
            Value::Int(n) => Ok(*n as f64),
            Value::Float(x) => Ok(*x),
            other => Err(Stop::Wrong(format!("{other:?} is no number"))),
        }
    }
}

fn holds(left: &Value, operator: &str, right: &Value) -> Result<bool, Stop> {
    let order = match (left, right) {
        (Value::Int(a), Value::Int(b)) => Some(a.cmp(b)),
        (Value::Text(a), Value::Text(b)) => Some(a.cmp(b)),
        (Value::Int(_) | Value::Float(_), Value::Int(_) | Value::Float(_)) => {
            left.float()?.partial_cmp(&right.float()?)
        }
        _ if operator == "==" => return Ok(left == right),
        _ if operator == "!=" => return Ok(left != right),
        _ => return Err(Stop::Wrong(format!("{left} and {right} have no order"))),
    };
    Ok(order.is_some_and(|order| match operator {
        "==" => order.is_eq(),
        "!=" => order.is_ne(),
        "<" => order.is_lt(),
        "<=" => order.is_le(),
        ">" => order.is_gt(),
        _ => order.is_ge(),
    }))
}

fn unary(operator: &str, value: Value) -> Result<Value, Stop> {
    match (operator, value) {
        ("not", value) => Ok(Value::Int(i128::from(!value.holds()))),
        ("-", Value::Int(n)) => Ok(Value::Int(-n)),
        ("-", Value::Float(x)) => Ok(Value::Float(-x)),
        ("~", Value::Int(n)) => Ok(Value::Int(!n)),
        (_, value) => Err(Stop::Wrong(format!("`{operator}` of {value}"))),
    }
}

fn binary(left: Value, operator: &str, right: Value) -> Result<Value, Stop> {
    match (&left, &right) {
        (Value::Text(text), _) if operator == "%" => Ok(Value::Text(format(text, right))),
        (Value::Text(a), Value::Text(b)) if operator == "+" => Ok(Value::Text(format!("{a}{b}"))),
        (Value::Int(a), Value::Int(b)) if operator != "/" => {
            let result = ints(*a, operator, *b);
            result.map(Value::Int).ok_or_else(|| Stop::Wrong(format!("{a} {operator} {b} has no value")))
        }
        _ => {
            let (a, b) = (left.float()?, right.float()?);
            match operator {
                "+" => Ok(Value::Float(a + b)),
                "-" => Ok(Value::Float(a - b)),
                "*" => Ok(Value::Float(a * b)),
                "/" if b != 0.0 => Ok(Value::Float(a / b)),
                "//" if b != 0.0 => Ok(Value::Float((a / b).floor())),
                _ => Err(Stop::Wrong(format!("{left} {operator} {right} has no value"))),
            }
        }
    }
}

/// Python rounds quotients down.
fn ints(a: i128, operator: &str, b: i128) -> Option<i128> {
    match operator {
        "+" => a.checked_add(b),
        "-" => a.checked_sub(b),
        "*" => a.checked_mul(b),
        "//" => {
            let quotient = a.checked_div(b)?;
            Some(if a % b != 0 && (a < 0) != (b < 0) { quotient - 1 } else { quotient })
        }
        "%" => a.checked_rem(b).map(|rest| if rest != 0 && (rest < 0) != (b < 0) { rest + b } else { rest }),
        "|" => Some(a | b),
        "&" => Some(a & b),
        "^" => Some(a ^ b),
        "<<" if (0..=MOST_SHIFT).contains(&b) => a.checked_mul(1 << b),
        ">>" if b >= 0 => Some(a >> b.min(MOST_SHIFT * 2 - 1)),
        _ => None,
    }
}

fn call(name: &str, values: Vec<Value>) -> Result<Value, Stop> {
    let wrong = || Stop::Wrong(format!("the Python function {name} of {} values", values.len()));
    match (name, values.as_slice()) {
        ("abs", [Value::Int(n)]) => Ok(Value::Int(n.abs())),
        ("abs", [value]) => value.float().map(|x| Value::Float(x.abs())),
        ("int", [value]) => value.float().map(|x| match value {
            Value::Int(n) => Value::Int(*n),
            _ => Value::Int(x as i128),
        }),
        ("float", [value]) => value.float().map(Value::Float),
        ("str", [value]) => Ok(Value::Text(value.to_string())),
        ("min" | "max", [first, rest @ ..]) => rest.iter().try_fold(first.clone(), |best, value| {
            let better = holds(value, if name == "min" { "<" } else { ">" }, &best)?;
            Ok(if better { value.clone() } else { best })
        }),
        _ => Err(wrong()),
    }
}

/// `'%d of %s' % (1, 2)`: each conversion takes the next value.
fn format(text: &str, values: Value) -> String {
    let mut values = match values {
        Value::Tuple(items) => items,
        one => vec![one],
    }
    .into_iter();
    let mut out = String::new();
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        if c != '%' {
            out.push(c);
            continue;
        }
        match rest.by_ref().find(|c| c.is_ascii_alphabetic() || *c == '%') {
            Some('%') | None => out.push('%'),
            Some(_) => out.push_str(&values.next().map_or_else(|| "?".to_owned(), |v| v.to_string())),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(code: &str) -> Result<Vec<String>, Stop> {
        let mut scope = Scope::default();
        let mut known = |name: &str| match name {
            "tcpi_snd_cwnd" => Ok(Value::Int(10)),
            _ => Err(Stop::Unknown(name.to_owned())),
        };
        run(code, &mut scope, &mut known).map(|()| scope.printed)
    }

    #[test]
    fn expressions_have_the_values_of_python() {
        let lines = "print(7 // 2, -7 // 2, -7 % 3, 7 / 2, 1 << 4 | 3, 2 + 3 * 4)\n\
                     print(0x10, not 1, 1 < 2 < 3, 3 > 2 > 2, 5 if 0 else 6, ~0)\n\
                     print(min(3, 1, 2), max(1, 2.5), abs(-4), int(2.9), 'a' + 'b', 'x=%d %5.2f%%' % (1, 2))";
        let printed = ["(3, -4, 2, 3.5, 19, 14)", "(16, 0, 1, 0, 6, -1)", "(1, 2.5, 4, 2, ab, x=1 2%)"];
        assert_eq!(outcome(lines).unwrap(), printed);
    }

    #[test]
    fn assertions_give_their_text_and_message() {
        assert_eq!(outcome("assert 9 <= tcpi_snd_cwnd <= 10, tcpi_snd_cwnd").unwrap(), [""; 0]);
        let failed =
            outcome("cwnd = 8; cwnd += 1 # nine\nassert tcpi_snd_cwnd == cwnd, 'cwnd=%d' % tcpi_snd_cwnd");
        let text = "tcpi_snd_cwnd == cwnd".to_owned();
        assert_eq!(failed, Err(Stop::Asserted(text, Some("cwnd=10".to_owned()))));
        assert_eq!(
            outcome("assert (tcpi_snd_cwnd & 2) != 0 and tcpi_snd_cwnd,\\\n 1;\\\n").unwrap(),
            [""; 0]
        );
    }

    #[test]
    fn what_is_not_interpreted_is_refused_and_never_panics() {
        for code in ["import os", "for x in y: z", "assert", "print(1", "1 +", "x = = 1", "assert 1 2"] {
            assert!(matches!(outcome(code), Err(Stop::Wrong(_))), "{code}: {:?}", outcome(code));
        }
        assert_eq!(outcome("print(tcpi_none)"), Err(Stop::Unknown("tcpi_none".to_owned())));
        let deep = format!("print({}1{})", "(".repeat(10_000), ")".repeat(10_000));
        assert!(matches!(outcome(&deep), Err(Stop::Wrong(_))));
        for code in ["print(1 // 0)", "print(1 << 200)", "print('a' < 1)", "print(-'a')", "print(foo(1))"] {
            assert!(matches!(outcome(code), Err(Stop::Wrong(_))), "{code}");
        }
    }
}
