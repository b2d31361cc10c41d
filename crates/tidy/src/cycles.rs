//! Check of imports: modules of a crate that import each other in a circle.
//!
//! An edge leads from a file to the file of the module whose items it names: `crate::a::X`, `super::a::X`, or
//! `a::X` where `a` is its own submodule. Names that a module re-exports (`pub use a::X`) lead to the module
//! that defines them. A `pub(crate) use` is an import like any other, because the crate itself uses its name.
//! Test items and re-exports are no edges, and neither is a name of a module that encloses the file: a module
//! and its submodules are one unit, in which privacy works from the inside.

use std::collections::{BTreeMap, BTreeSet};

use crate::mask::is_word;
use crate::tree::{File, Violation};

const CHECK: &str = "import cycle";

/// A file of a crate.
struct Module<'f> {
    file: &'f File,
    /// Path of the module in the crate; empty for the root.
    name: Vec<String>,
    /// The names of all `use` items outside of tests.
    uses: Vec<Named>,
    /// The code of the file without tests and without `use`.
    code: String,
    /// Names that the module re-exports, each with its path as written after `use`.
    reexports: BTreeMap<String, Vec<String>>,
}

/// Finds imports that are a part of a circle.
pub(crate) fn check(files: &[File], found: &mut Vec<Violation>) {
    let mut crates: BTreeMap<&str, Vec<Module<'_>>> = BTreeMap::new();
    for file in files.iter().filter(|file| file.is_rust()) {
        if let Some((folder, inside)) = file.path.split_once("src/") {
            crates.entry(folder).or_default().push(Module::new(file, inside));
        }
    }
    for modules in crates.values() {
        let edges: Vec<BTreeMap<usize, usize>> = (0..modules.len()).map(|at| imports(modules, at)).collect();
        for from in 0..modules.len() {
            for (to, line) in edges[from].iter().filter(|(to, _)| reaches(&edges, **to, from)) {
                let what =
                    format!("{} and {} import each other", modules[from].shown(), modules[*to].shown());
                found.push(Violation::new(CHECK, modules[from].file, *line, what));
            }
        }
    }
}

impl<'f> Module<'f> {
    fn new(file: &'f File, inside: &str) -> Module<'f> {
        let stem = inside.trim_end_matches(".rs").trim_end_matches("/mod");
        let name = if matches!(stem, "lib" | "main") { "" } else { stem };
        let name = name.split('/').filter(|part| !part.is_empty()).map(str::to_owned).collect();
        let (uses, code) = uses(&without_tests(&file.masked().code));
        let public = uses.iter().filter(|named| named.public);
        let reexports = public.map(|named| (named.name.clone(), named.path.clone())).collect();
        Module { file, name, uses, code, reexports }
    }

    fn shown(&self) -> String {
        if self.name.is_empty() { "the root".into() } else { self.name.join("::") }
    }
}

/// The modules whose items a module names, each with the line of the first such name.
fn imports(modules: &[Module<'_>], at: usize) -> BTreeMap<usize, usize> {
    let module = &modules[at];
    let mut edges = BTreeMap::new();
    let private = module.uses.iter().filter(|named| !named.public);
    for (line, path) in private.map(|named| (named.line, named.path.clone())).chain(inline(&module.code)) {
        let Some(to) = absolute(modules, module, &path).and_then(|path| target(modules, path)) else {
            continue;
        };
        if !module.name.starts_with(&modules[to].name) {
            edges.entry(to).or_insert(line);
        }
    }
    edges
}

/// The path from the crate's root. `None`: the path is of another crate.
fn absolute(modules: &[Module<'_>], module: &Module<'_>, path: &[String]) -> Option<Vec<String>> {
    let supers = path.iter().take_while(|part| *part == "super").count();
    match path.first()?.as_str() {
        "crate" => Some(path[1..].to_vec()),
        "self" => Some(module.name.iter().chain(&path[1..]).cloned().collect()),
        "super" => {
            let above = module.name.len().checked_sub(supers)?;
            Some(module.name[..above].iter().chain(&path[supers..]).cloned().collect())
        }
        _ => {
            let below: Vec<String> = module.name.iter().chain(path).cloned().collect();
            let child = &below[..=module.name.len()];
            modules.iter().any(|other| other.name == child).then_some(below)
        }
    }
}

/// The module that a path leads to, through re-exports.
fn target(modules: &[Module<'_>], path: Vec<String>) -> Option<usize> {
    let mut path = path;
    for _ in 0..8 {
        let longest =
            (0..=path.len()).rev().find_map(|n| modules.iter().position(|m| m.name == path[..n]))?;
        let module = &modules[longest];
        let name = path.get(module.name.len());
        let Some(source) = name.and_then(|name| module.reexports.get(name)) else { return Some(longest) };
        path = absolute(modules, module, source)?;
    }
    None
}

/// Whether a walk along the edges leads from one module to another.
fn reaches(edges: &[BTreeMap<usize, usize>], from: usize, to: usize) -> bool {
    let (mut seen, mut left) = (BTreeSet::new(), vec![from]);
    while let Some(at) = left.pop() {
        if at == to {
            return true;
        }
        if seen.insert(at) {
            left.extend(edges[at].keys());
        }
    }
    false
}

/// One name that a `use` brings in.
struct Named {
    line: usize,
    /// Whether the `use` is a re-export: `pub use`.
    public: bool,
    name: String,
    path: Vec<String>,
}

/// The code without its test items, whose lines are left empty.
fn without_tests(code: &str) -> String {
    const MARK: &str = "#[cfg(test)]";
    let mut kept = String::with_capacity(code.len());
    let mut rest = code;
    while let Some(at) = rest.find(MARK) {
        let (before, item) = rest.split_at(at);
        let (item, after) = item.split_at(end_of_item(item));
        kept.push_str(before);
        kept.extend(item.chars().filter(|c| *c == '\n'));
        rest = after;
    }
    kept + rest
}

/// Length of the item that begins here, attributes included: up to a semicolon or a closing brace that is in
/// no other bracket.
fn end_of_item(code: &str) -> usize {
    let mut depth = 0;
    for (at, c) in code.char_indices() {
        depth += i32::from("([{".contains(c)) - i32::from(")]}".contains(c));
        if depth < 0 {
            return at;
        }
        if depth == 0 && ";}".contains(c) {
            return at + 1;
        }
    }
    code.len()
}

/// The names of all `use` items, and the code without these items, whose lines are left empty.
fn uses(code: &str) -> (Vec<Named>, String) {
    let (mut found, mut kept, mut end) = (Vec::new(), String::with_capacity(code.len()), 0);
    for (at, _) in code.match_indices("use ") {
        let begin = code[..at].rfind('\n').map_or(0, |newline| newline + 1);
        let before = code[begin..at].trim();
        let is_restricted = before.starts_with("pub(") && before.ends_with(')');
        if !(before.is_empty() || before == "pub" || is_restricted) {
            continue;
        }
        let line = code[..at].matches('\n').count() + 1;
        let tree = code[at + 4..].split(';').next().unwrap_or_default();
        kept.push_str(&code[end..begin]);
        kept.extend(tree.chars().filter(|c| *c == '\n'));
        end = at + 4 + tree.len();
        let tree: String = tree.split_whitespace().collect::<Vec<_>>().join(" ");
        let mut paths = Vec::new();
        expand(&tree, &[], &mut paths);
        let public = before == "pub";
        found.extend(paths.into_iter().map(|(name, path)| Named { line, public, name, path }));
    }
    (found, kept + &code[end..])
}

/// The names and paths of a tree such as `a::{b, c::{d, e as f}}`.
fn expand(tree: &str, before: &[String], paths: &mut Vec<(String, Vec<String>)>) {
    let tree = tree.trim();
    let (head, group) = match tree.split_once('{') {
        Some((head, group)) => (head, group.trim_end().strip_suffix('}')),
        None => (tree, None),
    };
    let (head, alias) = head.split_once(" as ").map_or((head, None), |(head, alias)| (head, Some(alias)));
    let parts = head.split("::").map(str::trim).filter(|part| !part.is_empty() && *part != "*");
    let path: Vec<String> = before.iter().cloned().chain(parts.map(str::to_owned)).collect();
    let Some(group) = group else {
        let name = alias.or(path.last().map(String::as_str)).unwrap_or_default().to_owned();
        return paths.push((name, path));
    };
    let (mut depth, mut begin) = (0, 0);
    for (at, c) in group.char_indices() {
        depth += i32::from(c == '{') - i32::from(c == '}');
        if c == ',' && depth == 0 {
            expand(&group[begin..at], &path, paths);
            begin = at + 1;
        }
    }
    if !group[begin..].trim().is_empty() {
        expand(&group[begin..], &path, paths);
    }
}

/// Paths within code without `use`, such as `crate::a::f()` or `a::f()`, with their lines.
fn inline(code: &str) -> Vec<(usize, Vec<String>)> {
    let mut found = Vec::new();
    for (index, line) in code.lines().enumerate() {
        for token in line.split(|c: char| !is_word(c) && c != ':').filter(|token| token.contains("::")) {
            let path: Vec<String> = token.split("::").map(str::to_owned).collect();
            if !path[0].is_empty() {
                found.push((index + 1, path));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let files: Vec<File> = files.iter().map(|(path, text)| File::new(path, text)).collect();
        let mut found = Vec::new();
        check(&files, &mut found);
        let mut places: Vec<String> = found.iter().map(|v| format!("{}:{}", v.path, v.line)).collect();
        places.sort();
        places
    }

    #[test]
    fn two_files_that_import_each_other_are_found() {
        let a = ("x/src/a.rs", "use std::fmt;\nuse crate::b::{self, B};");
        assert_eq!(
            found(&[a, ("x/src/b.rs", "\n\nfn f() { crate::a::g() }")]),
            ["x/src/a.rs:2", "x/src/b.rs:3"]
        );
        assert_eq!(found(&[a, ("x/src/b.rs", "use super::a::A;")]).len(), 2);
        assert_eq!(found(&[a, ("y/src/b.rs", "use crate::a::A;")]).len(), 0, "another crate");
    }

    #[test]
    fn a_circle_of_three_is_found_and_a_chain_is_not() {
        let (a, b) = (("x/src/a.rs", "use crate::b::B;"), ("x/src/b.rs", "use crate::c::{C, d::D};"));
        assert_eq!(found(&[a, b, ("x/src/c.rs", "use crate::a::A;")]).len(), 3);
        assert_eq!(found(&[a, b, ("x/src/c.rs", "use std::a::A;")]).len(), 0);
    }

    #[test]
    fn a_reexport_leads_to_where_the_name_comes_from() {
        let root = ("x/src/lib.rs", "mod a;\nmod b;\npub use a::{A, Other as B};\nuse b::C;");
        let user = ("x/src/b.rs", "use crate::B;\n#[cfg(test)]\nmod tests { use crate::c::C; }");
        assert_eq!(found(&[root, user, ("x/src/a.rs", "")]).len(), 0);
        assert_eq!(
            found(&[root, user, ("x/src/a.rs", "use crate::b::B;")]),
            ["x/src/a.rs:1", "x/src/b.rs:1"]
        );
        assert_eq!(found(&[root, ("x/src/b.rs", "use crate::Own;")]).len(), 0, "its enclosing module");
    }

    #[test]
    fn code_behind_a_test_item_and_public_signatures_count() {
        let a = ("x/src/a.rs", "use crate::b::B;");
        let tests = "#[cfg(test)]\nmod tests;\n#[cfg(test)]\nmod more { use crate::a::A; }\n";
        assert_eq!(found(&[a, ("x/src/b.rs", tests)]).len(), 0);
        assert_eq!(
            found(&[a, ("x/src/b.rs", &format!("{tests}use crate::a::A;"))]),
            ["x/src/a.rs:1", "x/src/b.rs:5"]
        );
        assert_eq!(
            found(&[a, ("x/src/b.rs", "use std::{\n    fmt,\n};\npub fn f(a: &crate::a::A) {}")]),
            ["x/src/a.rs:1", "x/src/b.rs:4"]
        );
    }

    #[test]
    fn a_reexport_within_the_crate_is_an_import() {
        let a = ("x/src/a.rs", "use crate::b::C;");
        assert_eq!(found(&[a, ("x/src/b.rs", "pub(crate) use crate::a::A;")]).len(), 2);
        assert_eq!(found(&[a, ("x/src/b.rs", "pub(crate) use crate::c::C;"), ("x/src/c.rs", "")]).len(), 0);
    }
}
