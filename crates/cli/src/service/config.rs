//! `/etc/fairpace/fairpace.toml`: the algorithms that this machine loads at boot, their parameters, and the
//! default. It is the only file that the commands of this module write.
//!
//! ```toml
//! default = "bbr3"
//!
//! [[load]]
//! algorithm = "bbr3"
//! set = { beta = "0.8" }
//! ```

use std::fs;
use std::io::{self, Write};
use std::ops::Range;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use fairpace_cc::{Algorithm, Params, nearest};
use fairpace_cli_core::failure::{Exit, Failure};
use fairpace_kernel::{LoadOptions, Object};
use fairpace_scenario::{Invalid, Problem};
use toml::Spanned;
use toml::de::{DeTable, DeValue};
use toml_edit::{DocumentMut, InlineTable, Item, Table, value};

/// Largest file that is read, bytes: all algorithms with all their parameters need far less.
const MOST_BYTES: u64 = 1 << 18;
const ABOUT: &str = "configuration";
const HEADER: &str = "\
# What Fairpace loads into the kernel at boot: `fairpace apply` reads it. `fairpace enable` and `fairpace
# disable` change it and keep comments. `fairpace status` compares it with the kernel.
";

/// An algorithm to load.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Wanted {
    pub(crate) params: Params,
    pub(crate) suffix: String,
}

impl Wanted {
    /// Name of the algorithm in the kernel.
    pub(crate) fn kernel_name(&self) -> String {
        self.options().kernel_name(self.params.algorithm())
    }

    /// Options with which the algorithm is loaded: it stays loaded.
    pub(crate) fn options(&self) -> LoadOptions {
        LoadOptions { suffix: self.suffix.clone(), pin: true }
    }

    /// The object to load.
    pub(crate) fn object(&self) -> Result<Object, Failure> {
        Ok(Object::listed(&self.params)?)
    }

    /// The parameters that differ from the algorithm's defaults, with their values.
    fn settings(&self) -> Vec<(&'static str, String)> {
        let defaults = Params::defaults(self.params.algorithm()).formatted();
        self.params.formatted().into_iter().filter(|set| !defaults.contains(set)).collect()
    }
}

/// The configuration: the content of the file.
#[derive(Debug, Clone, Default)]
pub(crate) struct Config {
    path: PathBuf,
    text: String,
    pub(crate) exists: bool,
    /// Kernel name of the default; `None`: the system's own default.
    pub(crate) default: Option<String>,
    pub(crate) load: Vec<Wanted>,
}

impl Config {
    /// Reads the configuration. A file that does not exist is an empty configuration.
    pub(crate) fn read(path: &Path) -> Result<Config, Failure> {
        check_owner(path)?;
        let found = match fs::metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(Config { path: path.to_owned(), ..Config::default() });
            }
            other => other.map_err(|error| unreadable(path, &error))?,
        };
        if !found.is_file() || found.len() > MOST_BYTES {
            return Err(unreadable(path, &io::Error::other("it is not a file of at most 256 kB")));
        }
        let text = fs::read_to_string(path).map_err(|error| unreadable(path, &error))?;
        let (default, load) = parse(&path.display().to_string(), &text)?;
        Ok(Config { path: path.to_owned(), text, exists: true, default, load })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Adds an algorithm, or changes its parameters.
    pub(crate) fn enable(&mut self, wanted: Wanted) -> Result<(), Failure> {
        self.load.retain(|other| other.kernel_name() != wanted.kernel_name());
        self.load.push(wanted.clone());
        self.edit(|document| {
            remove(document, &wanted.kernel_name());
            let mut entry = Table::new();
            entry["algorithm"] = value(wanted.params.algorithm().name());
            if !wanted.suffix.is_empty() {
                entry["suffix"] = value(wanted.suffix.as_str());
            }
            let settings: InlineTable = wanted.settings().into_iter().collect();
            if !settings.is_empty() {
                entry["set"] = value(settings);
            }
            let all = document.entry("load").or_insert(Item::ArrayOfTables(Default::default()));
            if let Some(all) = all.as_array_of_tables_mut() {
                all.push(entry);
            }
        })
    }

    /// Removes an algorithm, by its name in the kernel. If it is the default, the default is removed, too.
    pub(crate) fn disable(&mut self, kernel_name: &str) -> Result<(), Failure> {
        self.load.retain(|wanted| wanted.kernel_name() != kernel_name);
        if self.default.as_deref() == Some(kernel_name) {
            self.set_default(None)?;
        }
        self.edit(|document| remove(document, kernel_name))
    }

    /// Sets the default, by its name in the kernel.
    pub(crate) fn set_default(&mut self, kernel_name: Option<&str>) -> Result<(), Failure> {
        self.default = kernel_name.map(str::to_owned);
        self.edit(|document| match kernel_name {
            Some(name) => document["default"] = value(name),
            None => {
                document.remove("default");
            }
        })
    }

    /// Edits the text of the file, whose other parts stay as they are. A list of algorithms in one line
    /// becomes several `[[load]]` parts.
    fn edit(&mut self, change: impl FnOnce(&mut DocumentMut)) -> Result<(), Failure> {
        let header = if self.text.trim().is_empty() { HEADER } else { "" };
        let parsed = self.text.parse::<DocumentMut>();
        let mut document = parsed.map_err(|error| unreadable(&self.path, &io::Error::other(error)))?;
        if let Some(item) = document.get_mut("load") {
            let made = std::mem::take(item).into_array_of_tables();
            *item = made.map_or_else(|other| other, Item::ArrayOfTables);
        }
        change(&mut document);
        self.text = format!("{header}{document}");
        Ok(())
    }

    /// Writes the file in one step: a reader sees the old or the new file.
    pub(crate) fn write(&self) -> Result<(), Failure> {
        let folder = self.path.parent().unwrap_or(Path::new("/"));
        let written = || -> io::Result<()> {
            fs::create_dir_all(folder)?;
            let mut file = tempfile::Builder::new().prefix(".fairpace-").tempfile_in(folder)?;
            file.write_all(self.text.as_bytes())?;
            file.as_file().set_permissions(fs::Permissions::from_mode(0o644))?;
            file.as_file().sync_all()?;
            file.persist(&self.path).map_err(|error| error.error)?;
            fs::File::open(folder)?.sync_all()
        };
        written().map_err(|error| {
            let another = "name another one with --config";
            Failure::file("cannot write the configuration", &self.path, &error, another)
        })
    }
}

/// Removes an algorithm from the text of the file.
fn remove(document: &mut DocumentMut, kernel_name: &str) {
    let Some(all) = document.get_mut("load").and_then(Item::as_array_of_tables_mut) else { return };
    all.retain(|entry| {
        let text = |key| entry.get(key).and_then(Item::as_str).unwrap_or_default();
        let options = LoadOptions { suffix: text("suffix").to_owned(), pin: true };
        !Algorithm::by_name(text("algorithm")).is_ok_and(|found| options.kernel_name(found) == kernel_name)
    });
    if all.is_empty() {
        document.remove("load");
    }
}

/// The sticky bit of a folder's mode, S_ISVTX of stat(2), with which all users share the folder.
const STICKY: u32 = 0o1000;

/// Checks who can change the file, because its content decides what root loads.
fn check_owner(path: &Path) -> Result<(), Failure> {
    for path in [path.parent().unwrap_or(path), path] {
        let found = match fs::metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            other => other.map_err(|error| unreadable(path, &error))?,
        };
        if found.uid() != 0 || found.mode() & 0o022 != 0 {
            let message = format!("{} can be changed by others than root", path.display());
            // a folder of all users, such as /tmp, has to stay one
            let shared = found.is_dir() && found.mode() & STICKY != 0;
            let help = if shared {
                "keep the file in a folder that only root can write to, such as /etc/fairpace".to_owned()
            } else {
                format!("chown root:root {0} && chmod go-w {0}", path.display())
            };
            return Err(Failure::new(Exit::Usage, message, help));
        }
    }
    Ok(())
}

fn unreadable(path: &Path, error: &io::Error) -> Failure {
    let message = format!("cannot read the configuration {}: {error}", path.display());
    match error.kind() {
        io::ErrorKind::PermissionDenied => Failure::new(Exit::Unsupported, message, "run it as root"),
        _ => Failure::new(Exit::Usage, message, "name another one with --config"),
    }
}

/// A reader of the file that collects all problems, so that the user sees them together.
struct Reader<'a> {
    name: &'a str,
    text: &'a str,
    problems: Vec<Problem>,
}

impl Reader<'_> {
    fn complain(&mut self, span: Range<usize>, kind: &'static str, key: &str, message: String, help: &str) {
        let problem = Problem::of(ABOUT, kind, key, message, help);
        self.problems.push(problem.within(self.name, self.text, span));
    }

    fn known(&mut self, table: &DeTable<'_>, path: &str, known: &[&str]) {
        for key in table.keys().filter(|key| !known.contains(&key.get_ref().as_ref())) {
            let written = key.get_ref().as_ref();
            let meant = nearest(written, known.iter().copied());
            let meant = meant.map(|meant| format!("did you mean `{meant}`? ")).unwrap_or_default();
            let help = format!("{meant}Known are {}", known.join(", "));
            let message = format!("there is no key `{written}` here");
            self.complain(key.span(), "unknown-key", &format!("{path}{written}"), message, &help);
        }
    }

    fn text<'t>(&mut self, value: &'t Spanned<DeValue<'_>>, key: &str) -> Option<&'t str> {
        let text = value.get_ref().as_str();
        if text.is_none() {
            let message = format!("`{key}` must be a text");
            self.complain(value.span(), "wrong-type", key, message, "write it in quotes");
        }
        text
    }

    /// Reads one `[[load]]` part.
    fn wanted(&mut self, item: &Spanned<DeValue<'_>>) -> Option<Wanted> {
        let Some(table) = item.get_ref().as_table() else {
            let message = "`load` must be a list of tables".to_owned();
            let help = "write [[load]] and algorithm = \"...\"";
            self.complain(item.span(), "wrong-type", "load", message, help);
            return None;
        };
        self.known(table, "load.", &["algorithm", "suffix", "set"]);
        let Some(name) = table.get("algorithm") else {
            let message = "`algorithm` is missing".to_owned();
            self.complain(item.span(), "missing-key", "load.algorithm", message, "add algorithm = \"bbr3\"");
            return None;
        };
        let algorithm = match Algorithm::by_name(self.text(name, "load.algorithm")?) {
            Ok(algorithm) => algorithm,
            Err(error) => {
                // where they are listed is added to all errors of this kind
                self.complain(name.span(), "unknown-algorithm", "load.algorithm", error.to_string(), "");
                return None;
            }
        };
        let suffix = match table.get("suffix") {
            Some(suffix) => self.text(suffix, "load.suffix")?.to_owned(),
            None => String::new(),
        };
        let mut params = Params::defaults(algorithm);
        if let Some(set) = table.get("set") {
            self.set(set, &mut params);
        }
        Some(Wanted { params, suffix })
    }

    /// Reads the parameters of one algorithm.
    fn set(&mut self, set: &Spanned<DeValue<'_>>, params: &mut Params) {
        let Some(table) = set.get_ref().as_table() else {
            let message = "`set` must be a table".to_owned();
            let help = "write set = { beta = \"0.8\" }";
            return self.complain(set.span(), "wrong-type", "load.set", message, help);
        };
        for (name, given) in table {
            let key = format!("load.set.{}", name.get_ref());
            let text = match given.get_ref() {
                DeValue::Boolean(is) => Some(is.to_string()),
                DeValue::Integer(number) if number.radix() == 10 => Some(number.as_str().to_owned()),
                DeValue::Float(number) => Some(number.as_str().to_owned()),
                other => other.as_str().map(str::to_owned),
            };
            let Some(text) = text else {
                let message = format!("`{key}` must be a text, a number, true or false");
                self.complain(given.span(), "wrong-type", &key, message, "write it in quotes");
                continue;
            };
            if let Err(error) = params.set(name.get_ref(), &text) {
                self.complain(given.span(), "wrong-parameter", &key, error.to_string(), "");
            }
        }
    }
}

/// Parses the text of a configuration: the kernel name of the default, and the algorithms to load.
pub(crate) fn parse(name: &str, text: &str) -> Result<(Option<String>, Vec<Wanted>), Invalid> {
    let mut reader = Reader { name, text, problems: Vec::new() };
    let parsed = match DeTable::parse(text) {
        Ok(parsed) => parsed,
        Err(error) => {
            let span = error.span().unwrap_or(0..0);
            reader.complain(span, "syntax", "", error.message().to_owned(), "see https://toml.io");
            return Err(Invalid { problems: reader.problems });
        }
    };
    let table = parsed.get_ref();
    reader.known(table, "", &["default", "load"]);
    let mut load: Vec<Wanted> = Vec::new();
    if let Some(items) = table.get("load") {
        let all = items.get_ref().as_array().map_or_else(|| vec![items], |items| items.iter().collect());
        for item in all {
            let Some(wanted) = reader.wanted(item) else { continue };
            if load.iter().any(|other| other.kernel_name() == wanted.kernel_name()) {
                let message = format!("{} is there twice", wanted.kernel_name());
                let help = "remove one, or give one of them a suffix";
                reader.complain(item.span(), "duplicate-name", "load", message, help);
            }
            load.push(wanted);
        }
    }
    let default = table.get("default").and_then(|given| {
        let name = reader.text(given, "default")?;
        let of_algorithm =
            |wanted: &&Wanted| wanted.params.algorithm().name() == name && wanted.suffix.is_empty();
        let found = load.iter().find(|wanted| wanted.kernel_name() == name);
        let found = found.or_else(|| load.iter().find(of_algorithm)).map(Wanted::kernel_name);
        if found.is_none() && reader.problems.is_empty() {
            let message = format!("the default \"{name}\" is none of those that are loaded here");
            let help = "add a [[load]] for it; a default of the kernel's own belongs into /etc/sysctl.d";
            reader.complain(given.span(), "impossible", "default", message, help);
        }
        found
    });
    if reader.problems.is_empty() { Ok((default, load)) } else { Err(Invalid { problems: reader.problems }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(text: &str) -> Vec<String> {
        let invalid = parse("fairpace.toml", text).expect_err("it is wrong");
        invalid.problems.iter().map(|p| format!("{}:{} {} {p}", p.line, p.column, p.kind)).collect()
    }

    #[test]
    fn what_it_wants_is_read_with_parameters_and_the_default_by_either_name() {
        for name in ["bbr3", "fp_bbr3"] {
            let text =
                format!("default = \"{name}\"\n[[load]]\nalgorithm = \"bbr3\"\nset = {{ beta = 0.8 }}\n");
            let (default, load) = parse("f", &text).expect("it is right");
            assert_eq!(default.as_deref(), Some("fp_bbr3"));
            assert_eq!(load.len(), 1);
            assert_ne!(load[0].params, Params::defaults(Algorithm::by_name("bbr3").expect("listed")));
        }
        assert_eq!(parse("f", "").expect("nothing is wanted"), (None, Vec::new()));
    }

    #[test]
    fn every_mistake_is_named_with_its_place() {
        let found = problems("defualt = \"x\"\n[[load]]\nalgorithm = \"bbr9\"\n[[load]]\nsuffix = 3\n");
        assert!(found[0].starts_with("1:1 unknown-key"), "{found:?}");
        assert!(found[1].starts_with("3:13 unknown-algorithm"), "{found:?}");
        assert!(found[2].contains("missing-key"), "{found:?}");
        let found = problems("[[load]]\nalgorithm = \"bbr3\"\nset = { beta = \"7 miles\", x = 1 }\n");
        assert!(found.iter().all(|f| f.contains("wrong-parameter")) && found.len() == 2, "{found:?}");
        let found = problems("default = \"bbq\"\n[[load]]\nalgorithm = \"bbr3\"\n");
        assert!(found[0].contains("impossible"), "{found:?}");
        let found = problems("[[load]]\nalgorithm = \"bbr3\"\n[[load]]\nalgorithm = \"bbr3\"\n");
        assert!(found[0].contains("duplicate-name"), "{found:?}");
        assert!(problems("default = ")[0].contains("syntax"));
    }

    #[test]
    fn a_damaged_file_is_an_error_or_read_and_never_a_panic() {
        let text =
            "default = \"bbr3\"\n[[load]]\nalgorithm = \"bbr3\"\nsuffix = \"_a\"\nset = { beta = 0.8 }\n";
        for at in 0..text.len() {
            let _ = parse("f", &text[..at]);
            for byte in [0, b'"', b'[', b'{', b'=', b'9', b'\n', 0x7f] {
                let mut bytes = text.as_bytes().to_vec();
                bytes[at] = byte;
                let _ = parse("f", &String::from_utf8_lossy(&bytes));
            }
        }
    }

    #[test]
    fn enabling_and_disabling_keeps_what_is_not_concerned() {
        let params = |name: &str, set: &[(&str, &str)]| {
            let mut params = Params::defaults(Algorithm::by_name(name).expect("listed"));
            set.iter().for_each(|(name, value)| params.set(name, value).expect("in range"));
            params
        };
        let wanted = |name, set: &[_]| Wanted { params: params(name, set), suffix: String::new() };
        let mut config =
            Config { text: "# mine\n[[load]]\nalgorithm = \"bbq\" # why\n".into(), ..Config::default() };
        (config.default, config.load) = parse("f", &config.text).expect("it is right");
        config.enable(wanted("bbr3", &[("beta", "0.8")])).expect("an edit");
        config.set_default(Some("fp_bbr3")).expect("an edit");
        let (default, load) = parse("f", &config.text).unwrap_or_else(|e| panic!("{e:?}: {}", config.text));
        assert_eq!((default.as_deref(), load.len()), (Some("fp_bbr3"), 2));
        assert_eq!(load[1], wanted("bbr3", &[("beta", "0.8")]));
        config.enable(wanted("bbr3", &[])).expect("an edit");
        config.disable("fp_bbq").expect("an edit");
        let (default, load) = parse("f", &config.text).unwrap_or_else(|e| panic!("{e:?}: {}", config.text));
        assert_eq!((default.as_deref(), load), (Some("fp_bbr3"), vec![wanted("bbr3", &[])]));
        config.disable("fp_bbr3").expect("an edit");
        assert_eq!(parse("f", &config.text).expect("nothing is wanted"), (None, Vec::new()));
    }
}
