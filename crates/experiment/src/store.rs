//! The store of finished runs, one file for each, from which an interrupted experiment continues.
//!
//! The key of a run is where it ran, its scenario, its seed, and the build that ran it. A build from a clean
//! tree is identified by its commit; any other build by its executable file, since a commit with local
//! changes may be any program. Several processes may use one store: each file appears in one step, and two
//! processes that perform the same run write the same file. Runs in another version's format lie in another
//! folder of the store, which this program neither reads nor changes.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use fairpace_cli_core::new_file::write;
use fairpace_results::Run;
use fairpace_scenario::{Scenario, Target};
use sha2::{Digest, Sha256};

/// Name of the store's folder within the folder of experiments.
const FOLDER: &str = ".cache";
/// Version of the format of the store's files; the name of a folder in the store.
const VERSION: &str = "v1";

/// The finished runs of one build.
#[derive(Debug, Clone)]
pub struct Store {
    dir: PathBuf,
    build: String,
}

impl Store {
    /// The store below `root`, for the program that was built from `commit` and is the file `executable`.
    #[must_use]
    pub fn new(root: &Path, commit: &str, executable: Option<&Path>) -> Self {
        let is_clean = commit.len() >= 40 && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
        let build = match (is_clean, executable) {
            (true, _) => commit.to_owned(),
            (false, Some(path)) => format!("{commit} {}", stamp(path)),
            (false, None) => format!("{commit} process {}", std::process::id()),
        };
        Self { dir: root.join(FOLDER).join(VERSION), build }
    }

    /// A store for runs that also depend on something else, such as the release of a kernel.
    #[must_use]
    pub fn with(&self, more: &str) -> Self {
        Self { dir: self.dir.clone(), build: format!("{} {more}", self.build) }
    }

    fn path(&self, scenario: &Scenario, on: Target) -> PathBuf {
        let key = format!("{} {} {} {}", on.name(), scenario.hash, scenario.seed, self.build);
        let key: String = Sha256::digest(key).iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        self.dir.join(&key[..2]).join(format!("{key}.json"))
    }

    /// Reads a finished run. `None` if there is no run, or if its file cannot be read.
    #[must_use]
    pub fn get(&self, scenario: &Scenario, on: Target) -> Option<Run> {
        let text = fs::read_to_string(self.path(scenario, on)).ok()?;
        let run: Run = serde_json::from_str(&text).ok()?;
        (run.summary.scenario.hash == scenario.hash && run.summary.seed == scenario.seed).then_some(run)
    }

    /// Whether the store has a run for [`get`](Self::get) to read.
    #[must_use]
    pub fn has(&self, scenario: &Scenario, on: Target) -> bool {
        self.get(scenario, on).is_some()
    }

    /// Stores a finished run; its file appears in one step.
    ///
    /// # Errors
    /// Returns an error if the folder cannot be written to.
    pub fn put(&self, scenario: &Scenario, on: Target, run: &Run) -> io::Result<()> {
        let text = serde_json::to_string(run).map_err(io::Error::other)?;
        write(&self.path(scenario, on), &text)
    }
}

/// Size and modification time of a file, which change with a new build.
fn stamp(path: &Path) -> String {
    let Ok(found) = fs::metadata(path) else { return format!("process {}", std::process::id()) };
    let changed = found.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    format!("{} {}", found.len(), changed.map_or(0, |changed| changed.as_nanos()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairpace_scenario::{Cc, Flow, Link};
    use std::time::Duration;

    /// A short run with this seed.
    fn sample(seed: u64) -> Run {
        fairpace_sim::run(&scenario(seed), &mut fairpace_results::Silent).unwrap()
    }

    const CLEAN: &str = "0123456789012345678901234567890123456789";

    fn scenario(seed: u64) -> Scenario {
        Scenario {
            title: String::new(),
            why: String::new(),
            seed,
            duration: Duration::from_secs(4),
            window: (Duration::ZERO, Duration::from_secs(4)),
            interval: Duration::from_secs(1),
            links: vec![Link::new("bottleneck", 1_000_000, 10_000)],
            flows: vec![Flow::new("1.5ms", "bbr1".parse::<Cc>().unwrap(), Duration::from_millis(1))],
            hash: "h".into(),
        }
    }

    #[test]
    fn a_run_on_one_kernel_is_none_of_another() {
        let root = tempfile::tempdir().unwrap();
        let (store, scenario) = (Store::new(root.path(), CLEAN, None), scenario(1));
        let mut run = sample(scenario.seed);
        run.summary.scenario.hash.clone_from(&scenario.hash);
        run.summary.seed = scenario.seed;
        store.with("6.18.1").put(&scenario, Target::Testbed, &run).unwrap();
        assert!(store.with("6.18.1").has(&scenario, Target::Testbed));
        assert!(!store.with("6.18.2").has(&scenario, Target::Testbed));
        assert!(!store.has(&scenario, Target::Testbed));
    }

    #[test]
    fn a_run_comes_back_as_it_was_and_only_for_its_scenario_seed_place_and_commit() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::new(dir.path(), CLEAN, None);
        assert_eq!(store.get(&scenario(3), Target::Simulator), None);
        let run = sample(3);
        store.put(&scenario(3), Target::Simulator, &run).unwrap();
        // NaN is not equal to itself
        let text = |run: &Run| serde_json::to_string(run).unwrap();
        assert_eq!(store.get(&scenario(3), Target::Simulator).as_ref().map(text), Some(text(&run)));
        assert!(store.has(&scenario(3), Target::Simulator) && !store.has(&scenario(3), Target::Testbed));
        assert!(!store.has(&scenario(4), Target::Simulator));
        assert!(!store.has(&Scenario { hash: "i".into(), ..scenario(3) }, Target::Simulator));
        let other = Store::new(dir.path(), &CLEAN.replace('9', "a"), None);
        assert!(!other.has(&scenario(3), Target::Simulator), "another commit");
    }

    #[test]
    fn a_run_in_the_format_of_another_version_is_none_and_stays() {
        let dir = tempfile::tempdir().unwrap();
        let older = Store { dir: dir.path().join(FOLDER).join("v0"), build: CLEAN.into() };
        older.put(&scenario(3), Target::Simulator, &sample(3)).unwrap();
        let store = Store::new(dir.path(), CLEAN, None);
        assert!(!store.has(&scenario(3), Target::Simulator));
        store.put(&scenario(3), Target::Simulator, &sample(3)).unwrap();
        assert!(older.has(&scenario(3), Target::Simulator));
    }

    #[test]
    fn processes_that_keep_the_same_run_at_the_same_time_leave_it_whole() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::new(dir.path(), CLEAN, None);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..50 {
                        store.put(&scenario(3), Target::Simulator, &sample(3)).unwrap();
                        assert!(store.has(&scenario(3), Target::Simulator));
                    }
                });
            }
        });
    }

    #[test]
    fn a_dirty_build_is_known_by_its_file() {
        let dir = tempfile::tempdir().unwrap();
        let program = dir.path().join("program");
        fs::write(&program, "one").unwrap();
        let dirty = format!("{CLEAN}+dirty");
        let open = || Store::new(dir.path(), &dirty, Some(&program));
        open().put(&scenario(3), Target::Simulator, &sample(3)).unwrap();
        assert!(open().has(&scenario(3), Target::Simulator));
        fs::write(&program, "another").unwrap();
        assert!(!open().has(&scenario(3), Target::Simulator));
    }

    #[test]
    fn a_broken_file_is_no_run() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::new(dir.path(), CLEAN, None);
        store.put(&scenario(3), Target::Simulator, &sample(3)).unwrap();
        fs::write(store.path(&scenario(3), Target::Simulator), "{\"summary\"").unwrap();
        assert_eq!(store.get(&scenario(3), Target::Simulator), None);
    }
}
