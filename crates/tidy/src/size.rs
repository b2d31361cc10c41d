//! Check of the length of files and of functions.

use crate::mask::is_word;
use crate::tree::{File, Violation};

const FILES: &str = "file length";
const FUNCTIONS: &str = "function length";
/// Most lines of a file, which a reader can read in one sitting.
const FILE: usize = 600;
/// Most lines of a file of C in cc/: an algorithm is one file, with the text that explains it.
const ALGORITHM: usize = 900;
/// Most lines of a function, from its name to its closing brace.
const FUNCTION: usize = 60;

/// Finds files and functions over their limits.
pub(crate) fn check(file: &File, found: &mut Vec<Violation>) {
    if !file.is_rust() && !file.is_c() {
        return;
    }
    let lines = file.text.lines().count();
    let limit = if file.is_c() && file.path.starts_with("cc/") { ALGORITHM } else { FILE };
    if lines > limit {
        found.push(Violation::new(FILES, file, lines, format!("{lines} lines, {limit} at most")));
    }
    let code = &file.masked().code;
    let functions = if file.is_rust() { of_rust(code) } else { of_c(code) };
    for Function { name, line, lines } in functions.into_iter().filter(|f| f.lines > FUNCTION) {
        let what = format!("{name} has {lines} lines, {FUNCTION} at most");
        found.push(Violation::new(FUNCTIONS, file, line, what));
    }
}

struct Function {
    name: String,
    line: usize,
    lines: usize,
}

/// Finds functions with a body: `fn`, a name, and the first brace that is not in parentheses.
fn of_rust(code: &str) -> Vec<Function> {
    let mut functions = Vec::new();
    for (at, _) in code.match_indices("fn ") {
        if code[..at].ends_with(is_word) {
            continue;
        }
        let rest = &code[at + 3..];
        let name: String = rest.chars().take_while(|c| is_word(*c)).collect();
        let Some(body) = body(rest) else { continue };
        if !name.is_empty() {
            let line = code[..at].matches('\n').count() + 1;
            functions.push(Function { name, line, lines: rest[..body].matches('\n').count() + 1 });
        }
    }
    functions
}

/// End of the body that follows a signature. `None`: the signature is of a declaration.
fn body(rest: &str) -> Option<usize> {
    let (mut parentheses, mut braces) = (0, 0);
    for (at, c) in rest.char_indices() {
        match c {
            '(' | '[' => parentheses += 1,
            ')' | ']' => parentheses -= 1,
            ';' if parentheses == 0 && braces == 0 => return None,
            '{' => braces += 1,
            '}' => {
                braces -= 1;
                if braces <= 0 {
                    return Some(at);
                }
            }
            _ => {}
        }
    }
    None
}

/// Finds functions in the kernel's style: both braces in the first column, after a closing parenthesis.
fn of_c(code: &str) -> Vec<Function> {
    let lines: Vec<&str> = code.lines().collect();
    let mut functions = Vec::new();
    let mut begin = None;
    for (index, line) in lines.iter().enumerate() {
        if line.starts_with('{') && index > 0 && lines[index - 1].trim_end().ends_with(')') {
            // a signature may have several lines; those behind its first are indented
            let first = (0..index).rev().find(|i| !lines[*i].starts_with([' ', '\t'])).unwrap_or(index - 1);
            begin = Some(first);
        } else if let (true, Some(first)) = (line.starts_with('}'), begin.take_if(|_| line.starts_with('}')))
        {
            let name = lines[first].split('(').next().unwrap_or_default();
            let name = name.rsplit([' ', '*']).next().unwrap_or_default().to_owned();
            functions.push(Function { name, line: first + 1, lines: index - first + 1 });
        }
    }
    functions
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> Vec<String> {
        let mut found = Vec::new();
        check(&File::new(path, text), &mut found);
        found.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_file_over_its_limit_is_found() {
        assert_eq!(found("crates/a.rs", &"//\n".repeat(FILE)), [""; 0]);
        assert_eq!(found("crates/a.rs", &"//\n".repeat(FILE + 1)).len(), 1);
        assert_eq!(found("cc/a.h", &"//\n".repeat(ALGORITHM)), [""; 0]);
        assert_eq!(found("cc/a.h", &"//\n".repeat(ALGORITHM + 1)).len(), 1);
        assert_eq!(found("cc/tests/a.rs", &"//\n".repeat(FILE + 1)).len(), 1);
    }

    #[test]
    fn a_function_of_rust_over_its_limit_is_found_with_its_line() {
        let function =
            |lines: usize| format!("\n    fn long(a: [u8; 2]) {{\n{}    }}\n", "    {}\n".repeat(lines - 2));
        assert_eq!(found("a.rs", &function(FUNCTION)), [""; 0]);
        let over = found("a.rs", &function(FUNCTION + 1));
        assert_eq!(over, ["a.rs:2: function length: long has 61 lines, 60 at most"]);
    }

    #[test]
    fn a_function_of_c_over_its_limit_is_found_with_its_line() {
        let function = |lines: usize| {
            format!("\nstatic int long(int a,\n\t\tint b)\n{{\n{}}}\n", "\t;\n".repeat(lines - 4))
        };
        assert_eq!(found("a.c", &function(FUNCTION)), [""; 0]);
        assert_eq!(
            found("a.c", &function(FUNCTION + 1)),
            ["a.c:2: function length: long has 61 lines, 60 at most"]
        );
    }
}
