//! Class `kernel`: loads and unloads algorithms, several at once, and kills commands at random moments. The
//! next command must work and report the true state. All names have a suffix that only this process uses.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Mutex;
use std::thread::sleep;
use std::time::{Duration, Instant};

use fairpace_cc::{Algorithm, Params};
use nix::sys::signal::Signal;

use super::Ran;
use super::case::{Act, Case};
use super::dice::Dice;
use super::hostile;
use super::judge::{Violation, judge};
use super::perform::{Seen, Session};
use crate::machine::offered;

/// Algorithms whose kernel names leave room for the suffix.
const ALGORITHMS: [&str; 4] = ["reno", "cubic", "bbr1", "bbr3"];
/// Folder in which `fairpace load` pins algorithms.
const PINS: &str = "/sys/fs/bpf/fairpace";
/// Folders in which a load or an unload has its pins while it runs.
const CHANGES: [&str; 4] =
    ["fairpace_loading", "fairpace_load_done", "fairpace_unloading", "fairpace_unloaded"];
/// Time in which the kernel removes a name from its list after a process was killed: it does so in a work
/// queue.
const SETTLING: Duration = Duration::from_secs(1);

/// The plot of a story: a kind of sequence of invocations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Plot {
    LoadInterrupted,
    UnloadInterrupted,
    Race,
    Twice,
    Hostile,
}

/// The plots of the stories, in turn.
const PLOTS: [Plot; 8] = {
    use Plot::{Hostile, LoadInterrupted as Load, Race, Twice, UnloadInterrupted as Unload};
    [Load, Unload, Race, Hostile, Load, Unload, Race, Twice]
};

impl Plot {
    const fn name(self) -> &'static str {
        match self {
            Self::LoadInterrupted => "signal to load",
            Self::UnloadInterrupted => "signal to unload",
            Self::Race => "race",
            Self::Twice => "load and unload twice",
            Self::Hostile => "hostile argument",
        }
    }
}

/// The names of this process in the kernel.
pub(super) struct Kernel {
    suffix: String,
    /// Times that a load and an unload of all algorithms take without interruption.
    usual: [Duration; 2],
    /// Number of stories by what happened in them. The lock lets one story run at a time, as they use the
    /// same names.
    told: Mutex<BTreeMap<&'static str, u64>>,
}

impl Kernel {
    /// Prepares the class. `Err` is the reason why the class is skipped.
    pub(super) fn prepare(session: &Session) -> Result<Self, String> {
        if !session.rights.is_root {
            return Err("it needs root".into());
        }
        let doctor = Command::new(&session.program).args(["doctor", "--json"]).output();
        let doctor = doctor.map_err(|error| error.to_string())?;
        let doctor = serde_json::from_slice::<serde_json::Value>(&doctor.stdout).unwrap_or_default();
        if doctor["can_load"] != true {
            return Err("`fairpace doctor` says that this kernel cannot load algorithms".into());
        }
        // four letters of the process's number
        let digits = b"0123456789abcdefghijklmnopqrstuvwxyz";
        let mut number = std::process::id() as usize;
        let mut suffix = String::from("_");
        for _ in 0..4 {
            suffix.push(char::from(digits[number % digits.len()]));
            number /= digits.len();
        }
        let mut kernel = Self { suffix, usual: [Duration::ZERO; 2], told: Mutex::default() };
        match kernel.loaded().is_empty() && kernel.pins().is_empty() && kernel.left().is_empty() {
            true => {
                kernel.usual = kernel.measure(session);
                Ok(kernel)
            }
            false => Err(format!("names with the suffix {} are in the kernel", kernel.suffix)),
        }
    }

    fn measure(&self, session: &Session) -> [Duration; 2] {
        let names = ALGORITHMS.map(|algorithm| self.name(algorithm));
        let load = [&["load", "--suffix", &self.suffix], &ALGORITHMS[..]].concat();
        let unload = [&["unload"], &names.each_ref().map(String::as_str)[..]].concat();
        let time = |args: &Vec<&str>| {
            let begun = Instant::now();
            // the first story shows whether it worked
            let _ = Command::new(&session.program).args(args).output();
            begun.elapsed()
        };
        let once = || [time(&load), time(&unload)];
        // other work on the machine only adds to it
        let [first, second] = [once(), once()];
        [first[0].min(second[0]), first[1].min(second[1])]
    }

    fn name(&self, algorithm: &str) -> String {
        format!("fp_{algorithm}{}", self.suffix)
    }

    /// Names of this process that sockets can select.
    fn loaded(&self) -> BTreeSet<String> {
        offered().into_iter().filter(|name| self.is_ours(name)).collect()
    }

    /// Whether a name belongs to this process; the suffix of a hostile name counts, too.
    fn is_ours(&self, name: &str) -> bool {
        name.starts_with("fp_") && name.contains(&self.suffix)
    }

    /// Paths of our names in a directory of the BPF file system.
    fn ours_in(&self, directory: &str) -> Vec<PathBuf> {
        let entries = fs::read_dir(directory).into_iter().flatten().flatten();
        let ours = entries.filter(|entry| entry.file_name().to_str().is_some_and(|name| self.is_ours(name)));
        ours.map(|entry| entry.path()).collect()
    }

    /// The names of our pins.
    fn pins(&self) -> BTreeSet<String> {
        let name = |pin: PathBuf| Some(pin.file_name()?.to_str()?.to_owned());
        self.ours_in(PINS).into_iter().filter_map(name).collect()
    }

    /// Our pins that an interrupted load or unload left.
    fn left(&self) -> Vec<PathBuf> {
        CHANGES.iter().flat_map(|change| self.ours_in(&format!("{PINS}/{change}"))).collect()
    }

    /// Number of stories by what happened in them.
    pub(super) fn told(&self) -> BTreeMap<&'static str, u64> {
        self.told.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone()
    }

    /// An event that happened in no story.
    pub(super) fn untold(&self) -> Option<&'static str> {
        let told = self.told();
        PLOTS.iter().map(|plot| plot.name()).find(|name| !told.contains_key(name))
    }

    /// Removes all of our names, without a judgement; returns the names that could not be removed.
    pub(super) fn finish(&self, session: &Session) -> Vec<String> {
        let command = |args: &[&str]| {
            // what is left shows whether it worked
            let _ = Command::new(&session.program).args(args).output();
        };
        if !self.left().is_empty() {
            command(&["list"]);
        }
        for name in self.loaded().union(&self.pins()) {
            command(&["unload", name]);
        }
        self.left().into_iter().chain(self.ours_in(PINS)).for_each(|pin| drop(fs::remove_file(pin)));
        self.settled(&BTreeSet::new()).into_iter().collect()
    }

    /// Waits until the names that sockets can select are the expected ones, for a limited time, and returns
    /// our names.
    fn settled(&self, expected: &BTreeSet<String>) -> BTreeSet<String> {
        let begun = Instant::now();
        loop {
            let loaded = self.loaded();
            if loaded == *expected || begun.elapsed() > SETTLING {
                return loaded;
            }
            sleep(Duration::from_millis(5));
        }
    }

    /// Performs the story with this index.
    pub(super) fn perform(
        &self,
        session: &Session,
        index: u64,
        dice: &mut Dice,
        stop: &dyn Fn() -> bool,
    ) -> io::Result<Vec<Ran>> {
        let mut told = self.told.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let plot = PLOTS[index as usize % PLOTS.len()];
        let (said, ran) = (BTreeSet::new(), Vec::new());
        let mut story = Story { kernel: self, session, index, stop, steps: 0, hits: None, said, ran };
        let ended = story.tell(plot, dice);
        let Story { hits, mut ran, .. } = story;
        if ended.is_ok() {
            *told.entry(plot.name()).or_default() += 1;
            hits.into_iter().for_each(|hit| *told.entry(hit).or_default() += 1);
        }
        let resisted = self.finish(session);
        if let (Some(last), false) = (ran.last_mut(), resisted.is_empty()) {
            last.violations.push(Violation::new("leftover", "an algorithm that cannot be unloaded"));
        }
        ended.map(|()| ran)
    }
}

/// A story: several invocations, one after the other or at once.
struct Story<'a> {
    kernel: &'a Kernel,
    session: &'a Session,
    index: u64,
    stop: &'a dyn Fn() -> bool,
    steps: usize,
    /// Name of the interruption, if a signal ended a load or an unload before it was done.
    hits: Option<&'static str>,
    /// Names that the last `list` reported as loaded.
    said: BTreeSet<String>,
    ran: Vec<Ran>,
}

impl Story<'_> {
    fn tell(&mut self, plot: Plot, dice: &mut Dice) -> io::Result<()> {
        let first = dice.below(ALGORITHMS.len());
        // one to three, of which the first is loaded again at the end
        let mut names: Vec<&str> = ALGORITHMS.to_vec();
        names.rotate_left(first);
        names.truncate(dice.within(1, 3));
        match plot {
            Plot::Twice => self.twice(names[0])?,
            Plot::LoadInterrupted => self.interrupted_load(&names, dice)?,
            Plot::UnloadInterrupted => self.interrupted_unload(&names, dice)?,
            Plot::Race => self.race(names[0], dice)?,
            Plot::Hostile => self.hostile(names[0], dice)?,
        }
        self.next_command(names[0])?;
        self.all_gone()
    }

    /// Runs a case and judges it.
    fn run(&mut self, case: Case) -> io::Result<Option<Seen>> {
        self.steps += 1;
        let name = format!("kernel-{}-{}", self.index, self.steps);
        let Some(seen) = self.session.perform(&case, &name, self.stop)? else { return Ok(None) };
        let violations = judge(&case, &seen);
        self.ran.push(Ran { case, seen: seen.clone(), violations });
        Ok(Some(seen))
    }

    fn violates(&mut self, rule: &'static str, what: impl Into<String>) {
        let violation = Violation::new(rule, what);
        if let Some(last) = self.ran.last_mut() {
            last.violations.push(violation);
        }
    }

    fn load(&self, algorithms: &[&str]) -> Case {
        Case::new(["load"]).arguments(algorithms.iter().copied()).arguments(["--suffix", &self.kernel.suffix])
    }

    fn unload(&self, algorithms: &[&str]) -> Case {
        Case::new(["unload"]).arguments(algorithms.iter().map(|algorithm| self.kernel.name(algorithm)))
    }

    fn twice(&mut self, algorithm: &str) -> io::Result<()> {
        self.run(self.load(&[algorithm]).what("load").fits([0]))?;
        self.run(self.load(&[algorithm]).what("load again").fits([6]))?;
        self.truth()?;
        self.run(self.unload(&[algorithm]).what("unload").fits([0]))?;
        self.run(self.unload(&[algorithm]).what("unload again").fits([6]))?;
        self.truth()
    }

    fn interrupted_load(&mut self, names: &[&str], dice: &mut Dice) -> io::Result<()> {
        let signal = *dice.pick(&[Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGKILL]);
        let mut case = self.load(names).what(format!("{} during load", signal.as_str()));
        let usual = self.kernel.usual[0] * names.len() as u32 / ALGORITHMS.len() as u32;
        case.during.push((Self::moment(usual, dice), Act::Signal(signal)));
        let Some(seen) = self.interrupted(case, signal)? else { return Ok(()) };
        self.truth()?;
        // an interruption that the program itself reports took everything back
        let fits = match seen.code {
            Some(0) => &[names.len()][..],
            Some(_) => &[0],
            None => &[0, names.len()],
        };
        self.all_or_none(names, fits, "load")
    }

    fn interrupted_unload(&mut self, names: &[&str], dice: &mut Dice) -> io::Result<()> {
        let signal = *dice.pick(&[Signal::SIGINT, Signal::SIGTERM, Signal::SIGKILL, Signal::SIGKILL]);
        self.run(self.load(names).what("load").fits([0]))?;
        let mut case = self.unload(names).what(format!("{} during unload", signal.as_str()));
        case.during.push((Self::moment(self.kernel.usual[1], dice), Act::Signal(signal)));
        let Some(seen) = self.interrupted(case, signal)? else { return Ok(()) };
        self.truth()?;
        let fits = if seen.code == Some(0) { &[0][..] } else { &[0, names.len()] };
        self.all_or_none(names, fits, "unload")
    }

    /// A random moment within the usual duration of a command, or slightly after it. The change itself comes
    /// late, so three quarters of the moments are in the second half.
    fn moment(usual: Duration, dice: &mut Dice) -> Duration {
        let least = if dice.percent(25) { 0 } else { 500 };
        usual * dice.within(least, 1_200) as u32 / 1_000
    }

    /// Runs a case that gets a signal.
    fn interrupted(&mut self, case: Case, signal: Signal) -> io::Result<Option<Seen>> {
        // nothing catches SIGKILL
        let fits = if signal == Signal::SIGKILL { vec![0] } else { vec![0, 128 + signal as i32] };
        let is_load = case.has("load");
        let seen = self.run(case.fits(fits))?;
        if seen.as_ref().is_some_and(|seen| seen.code != Some(0)) {
            self.hits = Some(if is_load { "interrupted load" } else { "interrupted unload" });
        }
        Ok(seen)
    }

    /// Checks that the number of loaded names is one of `fits`, as the last `list` reported them.
    fn all_or_none(&mut self, names: &[&str], fits: &[usize], what: &str) -> io::Result<()> {
        let loaded = names.iter().filter(|name| self.said.contains(&self.kernel.name(name))).count();
        if !fits.contains(&loaded) {
            let part = if loaded == 0 || loaded == names.len() { "not what it said" } else { "a part" };
            self.violates("partial", format!("an interrupted {what} did {part}, after the next command"));
        }
        Ok(())
    }

    /// Invokes a command with a hostile argument, with the rights to perform it. All names get our suffix.
    fn hostile(&mut self, algorithm: &str, dice: &mut Dice) -> io::Result<()> {
        let (suffix, argument) = (self.kernel.suffix.clone(), hostile::argument(dice));
        let shown: String = argument.chars().take(40).collect();
        let (what, case) = match dice.below(3) {
            0 => {
                let params = Algorithm::by_name(algorithm).map(|it| Params::defaults(it).formatted());
                let params = params.unwrap_or_default();
                let set = match params.is_empty() || dice.percent(30) {
                    true => argument,
                    false => format!("{algorithm}.{}={argument}", dice.pick(&params).0),
                };
                ("--set", self.load(&[algorithm]).arguments([format!("--set={set}")]).fits([0, 2]))
            }
            1 => {
                let suffix = format!("--suffix={suffix}{argument}");
                ("--suffix", Case::new(["load".to_owned(), algorithm.to_owned(), suffix]).fits([0, 2]))
            }
            _ => ("unload", Case::new(["unload".to_owned(), argument + &suffix]).fits([2, 6])),
        };
        self.run(case.what(format!("{what}: {}", shown.escape_debug())))?;
        self.truth()
    }

    /// Runs several processes that load and unload the same name at once.
    fn race(&mut self, algorithm: &str, dice: &mut Dice) -> io::Result<()> {
        let was_loaded = dice.percent(50);
        if was_loaded {
            self.run(self.load(&[algorithm]).what("load").fits([0]))?;
        }
        let loads: Vec<bool> = (0..dice.within(3, 8)).map(|_| dice.percent(50)).collect();
        let cases: Vec<Case> = loads
            .iter()
            .map(|load| if *load { self.load(&[algorithm]) } else { self.unload(&[algorithm]) })
            .map(|case| case.what("load and unload at once").fits([0, 6]))
            .collect();
        let mut change = 0;
        for (case, seen) in cases.iter().zip(self.at_once(&cases)) {
            let Some(seen) = seen? else { return Ok(()) };
            // an unload without effect on those who still hold the link has happened
            if seen.code == Some(0) || String::from_utf8_lossy(&seen.stderr).contains("was unloaded, but") {
                change += if case.has("load") { 1 } else { -1 };
            }
            let violations = judge(case, &seen);
            self.ran.push(Ran { case: case.clone(), seen, violations });
        }
        self.truth()?;
        let is_loaded = self.said.contains(&self.kernel.name(algorithm));
        if i32::from(is_loaded) - i32::from(was_loaded) != change {
            let what = "loads and unloads at once that succeeded do not add up to what is loaded";
            self.violates("untrue", what);
        }
        Ok(())
    }

    fn at_once(&self, cases: &[Case]) -> Vec<io::Result<Option<Seen>>> {
        let (session, index) = (self.session, self.index);
        std::thread::scope(|scope| {
            let start = |(number, case)| {
                let name = format!("kernel-{index}-race{number}");
                scope.spawn(move || session.perform(case, &name, &|| false))
            };
            let threads: Vec<_> = cases.iter().enumerate().map(start).collect();
            let ended = |thread: std::thread::ScopedJoinHandle<'_, _>| {
                thread.join().unwrap_or_else(|_| Err(io::Error::other("a thread of the generator panicked")))
            };
            threads.into_iter().map(ended).collect()
        })
    }

    /// Checks that `list`, which repairs, reports the names that the kernel offers, and that no other files
    /// are left.
    fn truth(&mut self) -> io::Result<()> {
        let Some(seen) = self.run(Case::new(["list", "--json"]).what("list").fits([0]))? else {
            return Ok(());
        };
        let list: serde_json::Value = serde_json::from_slice(&seen.stdout).unwrap_or_default();
        let entries = list.as_array().into_iter().flatten().filter(|entry| entry["status"] == "loaded");
        let said = entries
            .filter_map(|entry| entry["kernel_name"].as_str())
            .filter(|name| self.kernel.is_ours(name));
        self.said = said.map(str::to_owned).collect();
        let there = self.kernel.settled(&self.said);
        if !there.is_subset(&self.said) {
            self.violates("untrue", "list does not show what is loaded");
        }
        if !self.said.is_subset(&there) {
            self.violates("untrue", "list shows what is not there");
        }
        if !self.kernel.pins().is_subset(&self.said) {
            self.violates("leftover", "a pin of an algorithm that is not loaded");
        }
        if !self.kernel.left().is_empty() {
            self.violates("leftover", "a pin of an interrupted command, after the next one");
        }
        Ok(())
    }

    /// Checks that a load works after any interruption, unless `list` reported that the algorithm is loaded.
    fn next_command(&mut self, algorithm: &str) -> io::Result<()> {
        let is_loaded = self.said.contains(&self.kernel.name(algorithm));
        let fits = if is_loaded { 6 } else { 0 };
        self.run(self.load(&[algorithm]).what("the next load").fits([fits]))?;
        self.truth()
    }

    fn all_gone(&mut self) -> io::Result<()> {
        let all: Vec<String> = self.said.iter().cloned().collect();
        if !all.is_empty() {
            self.run(Case::new(["unload".to_owned()]).arguments(all).what("the next unload").fits([0]))?;
        }
        self.truth()?;
        if !self.said.is_empty() {
            self.violates("untrue", "list shows what was unloaded");
        }
        Ok(())
    }
}
