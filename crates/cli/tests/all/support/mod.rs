//! Runs the program as users do.

use std::fs;
use std::ops::Deref;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

pub(crate) use fairpace_test_support::TWO_FLOWS as SMALL;
use fairpace_test_support::{Folder, skip};

/// What a run of the program left.
pub(crate) struct Ended {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ended {
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {}", self.stdout))
    }

    /// The error object of `--json`.
    pub(crate) fn error(&self) -> serde_json::Value {
        let error: serde_json::Value =
            serde_json::from_str(&self.stderr).unwrap_or_else(|error| panic!("{error}: {}", self.stderr));
        error["error"].clone()
    }

    /// Asserts the exit code and that stderr, with its lines joined, has this text.
    #[track_caller]
    pub(crate) fn fails(&self, code: i32, text: &str) {
        assert_eq!(self.code, code, "{}{}", self.stdout, self.stderr);
        let words: Vec<_> = self.stderr.split_whitespace().filter(|word| *word != "│").collect();
        let said = words.join(" ");
        assert!(said.contains(text), "{text:?} is not in {said:?}");
        assert!(!said.contains("panicked"), "{said}");
        assert_eq!(self.stdout, "", "an error belongs to stderr");
    }

    #[track_caller]
    pub(crate) fn succeeds(self) -> Self {
        assert_eq!(self.code, 0, "{}{}", self.stdout, self.stderr);
        self
    }
}

impl From<Output> for Ended {
    fn from(output: Output) -> Self {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Self {
            code: output.status.code().unwrap_or(-1),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }
}

pub(crate) fn program() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_fairpace"))
}

/// A directory for one test, in which the program is run.
pub(crate) struct Place {
    folder: Folder,
}

impl Deref for Place {
    type Target = Folder;

    fn deref(&self) -> &Folder {
        &self.folder
    }
}

impl Place {
    pub(crate) fn new() -> Self {
        Self { folder: Folder::create() }
    }

    /// With [`SMALL`] as `small.toml`.
    pub(crate) fn with_scenario() -> Self {
        let place = Self::new();
        place.write("small.toml", SMALL);
        place
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        self.command_of(program(), arguments)
    }

    /// The same for a copy of the program that a test has built.
    pub(crate) fn command_of(&self, program: &Path, arguments: &[&str]) -> Command {
        let mut command = Command::new(program);
        command.args(arguments);
        self.prepare(&mut command);
        command
    }

    fn prepare(&self, command: &mut Command) {
        command.current_dir(self.path()).stdin(Stdio::null());
        command
            .env_remove("FAIRPACE_LOG")
            .env_remove("FAIRPACE_UML")
            .env_remove("COLUMNS")
            .env("NO_COLOR", "1");
        // what is compiled goes away with the test
        command.env("XDG_CACHE_HOME", self.path().join(".cache"));
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Ended {
        self.command(arguments).output().unwrap().into()
    }

    /// Runs `sh -c SCRIPT` in mount namespaces of its own. In the script `"$@"` is the program with its
    /// arguments.
    pub(crate) fn run_in_own_mounts(&self, script: &str, arguments: &[&str]) -> Ended {
        let mut command = Command::new("unshare");
        command.args(["--mount", "sh", "-ec", script, "sh"]).arg(program()).args(arguments);
        self.prepare(&mut command);
        command.output().unwrap().into()
    }

    /// Runs a copy of the program as a user without rights, who may not be able to reach the original.
    pub(crate) fn run_unprivileged(&self, arguments: &[&str]) -> Ended {
        use std::os::unix::process::CommandExt;
        /// A user id without rights of its own.
        const UNPRIVILEGED: u32 = 65534;
        fs::set_permissions(self.path(), fs::Permissions::from_mode(0o777)).unwrap();
        let copy = self.path().join("fairpace");
        // by another process: a copy that this one has open for writing could be inherited by what another
        // test starts at that moment, and a file that is open for writing cannot be run
        assert!(Command::new("cp").arg(program()).arg(&copy).status().unwrap().success());
        let mut command = Command::new(&copy);
        command.args(arguments).uid(UNPRIVILEGED).gid(UNPRIVILEGED);
        self.prepare(&mut command);
        let ended = command.output().unwrap().into();
        fs::remove_file(copy).unwrap();
        ended
    }
}

/// A suffix for kernel names that no other process uses, most likely: another test run may be under way on
/// this machine. With one more letter it leaves room for `fp_cubic`.
pub(crate) fn own_suffix() -> String {
    format!("_{:x}", std::process::id() & 0xffff)
}

/// Whether this is root; if not, the test is reported as skipped.
pub(crate) fn is_root() -> bool {
    let root = nix::unistd::geteuid().is_root();
    if !root {
        skip("it needs root");
    }
    root
}

/// Whether the testbed and the loader have what they need; if not, the test is reported as skipped.
pub(crate) fn has_kernel() -> bool {
    if !is_root() {
        return false;
    }
    let doctor: Ended = Command::new(program()).args(["doctor", "--json"]).output().unwrap().into();
    // the exit code is only about loading
    let can = doctor.json()["can_load"] == true && doctor.json()["can_measure"] == true;
    if !can {
        skip(&format!("`fairpace doctor` fails: {}{}", doctor.stdout, doctor.stderr));
    }
    can
}

/// Takes an algorithm out again, also when the test fails.
pub(crate) struct Unload(pub(crate) String);

impl Drop for Unload {
    fn drop(&mut self) {
        let _ = Place::new().run(&["unload", &self.0]);
    }
}
