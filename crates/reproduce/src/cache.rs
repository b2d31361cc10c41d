//! Finished runs, one file each, from which an interrupted reproduction continues.
//!
//! A run is known by where it ran, its scenario, its seed, and the build that ran it. A build from a clean
//! tree is known by its commit; any other by its executable file, since the same commit with changes may be
//! any program.

use std::fs::{self, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use fairpace_results::Run;
use fairpace_scenario::{Scenario, Target};
use sha2::{Digest, Sha256};

/// Folder of the cache, beside the papers.
pub const FOLDER: &str = ".cache";

/// The finished runs of one build.
#[derive(Debug, Clone)]
pub struct Cache {
    dir: PathBuf,
    build: String,
}

impl Cache {
    /// The cache below `root`, of the program built from `commit`, which is the file `executable`.
    #[must_use]
    pub fn new(root: &Path, commit: &str, executable: Option<&Path>) -> Self {
        let is_clean = commit.len() >= 40 && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
        let build = match (is_clean, executable) {
            (true, _) => commit.to_owned(),
            (false, Some(path)) => format!("{commit} {}", stamp(path)),
            (false, None) => format!("{commit} process {}", std::process::id()),
        };
        Self { dir: root.join(FOLDER), build }
    }

    /// The same, for runs that also depend on something else, such as the release of a kernel.
    #[must_use]
    pub fn with(&self, more: &str) -> Self {
        Self { dir: self.dir.clone(), build: format!("{} {more}", self.build) }
    }

    fn path(&self, scenario: &Scenario, on: Target) -> PathBuf {
        let key = format!("{} {} {} {}", on.name(), scenario.hash, scenario.seed, self.build);
        let key: String = Sha256::digest(key).iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        self.dir.join(&key[..2]).join(format!("{key}.json"))
    }

    /// A finished run. One that cannot be read is none.
    #[must_use]
    pub fn get(&self, scenario: &Scenario, on: Target) -> Option<Run> {
        let text = fs::read_to_string(self.path(scenario, on)).ok()?;
        let run: Run = serde_json::from_str(&text).ok()?;
        (run.summary.scenario.hash == scenario.hash && run.summary.seed == scenario.seed).then_some(run)
    }

    /// Whether there is a run to [`get`](Self::get).
    #[must_use]
    pub fn has(&self, scenario: &Scenario, on: Target) -> bool {
        self.get(scenario, on).is_some()
    }

    /// Keeps a finished run; it is there as a whole or not at all.
    ///
    /// # Errors
    /// When the folder cannot be written to.
    pub fn put(&self, scenario: &Scenario, on: Target, run: &Run) -> io::Result<()> {
        let text = serde_json::to_string(run).map_err(io::Error::other)?;
        write(&self.path(scenario, on), &text)
    }

    /// Forgets a run.
    ///
    /// # Errors
    /// When there is one that cannot be removed.
    pub fn forget(&self, scenario: &Scenario, on: Target) -> io::Result<()> {
        match fs::remove_file(self.path(scenario, on)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }
}

/// Writes a file in one step, and its folders before.
pub(crate) fn write(path: &Path, text: &str) -> io::Result<()> {
    let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::create_dir_all(dir)?;
    let mut file = tempfile::Builder::new()
        .prefix(&temporary_prefix())
        // 0666 less the umask, as for any file that a program makes
        .permissions(Permissions::from_mode(0o666))
        .tempfile_in(dir)?;
    file.write_all(text.as_bytes())?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    Ok(())
}

/// What names of temporary files begin with: whose they are, should the process be killed.
pub(crate) fn temporary_prefix() -> String {
    format!(".fairpace-{}-", std::process::id())
}

/// Size and time of a file, which a new build changes.
fn stamp(path: &Path) -> String {
    let Ok(found) = fs::metadata(path) else { return format!("process {}", std::process::id()) };
    let changed = found.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    format!("{} {}", found.len(), changed.map_or(0, |changed| changed.as_nanos()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;
    use fairpace_scenario::{Cc, Flow, Link};
    use std::time::Duration;

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
        let (cache, scenario) = (Cache::new(root.path(), CLEAN, None), scenario(1));
        let mut run = sample::run(scenario.seed);
        run.summary.scenario.hash.clone_from(&scenario.hash);
        run.summary.seed = scenario.seed;
        cache.with("6.18.1").put(&scenario, Target::Testbed, &run).unwrap();
        assert!(cache.with("6.18.1").has(&scenario, Target::Testbed));
        assert!(!cache.with("6.18.2").has(&scenario, Target::Testbed));
        assert!(!cache.has(&scenario, Target::Testbed));
    }

    #[test]
    fn a_file_in_a_folder_that_all_may_write_to_is_not_for_all_to_change() {
        let dir = tempfile::tempdir().unwrap();
        fs::set_permissions(dir.path(), Permissions::from_mode(0o1777)).unwrap();
        let (ours, usual) = (dir.path().join("ours"), dir.path().join("usual"));
        write(&ours, "").unwrap();
        fs::write(&usual, "").unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode();
        assert_eq!(mode(&ours), mode(&usual));
    }

    #[test]
    fn a_run_comes_back_as_it_was_and_only_for_its_scenario_seed_place_and_commit() {
        let dir = tempfile::tempdir().unwrap();
        let cache = Cache::new(dir.path(), CLEAN, None);
        assert_eq!(cache.get(&scenario(3), Target::Simulator), None);
        cache.put(&scenario(3), Target::Simulator, &sample::run(3)).unwrap();
        // NaN is not equal to itself
        let text = |run: &Run| serde_json::to_string(run).unwrap();
        assert_eq!(
            cache.get(&scenario(3), Target::Simulator).as_ref().map(text),
            Some(text(&sample::run(3)))
        );
        assert!(cache.has(&scenario(3), Target::Simulator) && !cache.has(&scenario(3), Target::Testbed));
        assert!(!cache.has(&scenario(4), Target::Simulator));
        assert!(!cache.has(&Scenario { hash: "i".into(), ..scenario(3) }, Target::Simulator));
        let other = Cache::new(dir.path(), &CLEAN.replace('9', "a"), None);
        assert!(!other.has(&scenario(3), Target::Simulator), "another commit");
        cache.forget(&scenario(3), Target::Simulator).unwrap();
        cache.forget(&scenario(3), Target::Simulator).unwrap();
        assert!(!cache.has(&scenario(3), Target::Simulator));
    }

    #[test]
    fn a_dirty_build_is_known_by_its_file() {
        let dir = tempfile::tempdir().unwrap();
        let program = dir.path().join("program");
        fs::write(&program, "one").unwrap();
        let dirty = format!("{CLEAN}+dirty");
        let open = || Cache::new(dir.path(), &dirty, Some(&program));
        open().put(&scenario(3), Target::Simulator, &sample::run(3)).unwrap();
        assert!(open().has(&scenario(3), Target::Simulator));
        fs::write(&program, "another").unwrap();
        assert!(!open().has(&scenario(3), Target::Simulator));
    }

    #[test]
    fn a_broken_file_is_no_run() {
        let dir = tempfile::tempdir().unwrap();
        let cache = Cache::new(dir.path(), CLEAN, None);
        cache.put(&scenario(3), Target::Simulator, &sample::run(3)).unwrap();
        fs::write(cache.path(&scenario(3), Target::Simulator), "{\"summary\"").unwrap();
        assert_eq!(cache.get(&scenario(3), Target::Simulator), None);
    }
}
