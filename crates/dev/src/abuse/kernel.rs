//! Class `kernel`: loads and unloads algorithms, in races and killed at random moments. The next command must
//! work and tell the truth. All names end with a suffix that only this process uses.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Mutex;

use nix::sys::signal::Signal;

use super::Ran;
use super::case::{Act, Case};
use super::dice::Dice;
use super::judge::{Violation, judge};
use super::perform::{Seen, Session};

/// Algorithms whose kernel names leave room for the suffix.
const ALGORITHMS: [&str; 4] = ["reno", "cubic", "bbr1", "bbr3"];
/// The names that the kernel offers to sockets.
const AVAILABLE: &str = "/proc/sys/net/ipv4/tcp_available_congestion_control";
/// Where `fairpace load` pins what it loads.
const PINS: &str = "/sys/fs/bpf/fairpace";

/// The names of this process in the kernel.
pub(super) struct Kernel {
    suffix: String,
    /// One story at a time: they use the same names.
    one: Mutex<()>,
}

impl Kernel {
    /// `Err`: why the class is skipped.
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
        let kernel = Self { suffix, one: Mutex::new(()) };
        match kernel.loaded().is_empty() && kernel.pins().is_empty() {
            true => Ok(kernel),
            false => Err(format!("names with the suffix {} are in the kernel", kernel.suffix)),
        }
    }

    fn name(&self, algorithm: &str) -> String {
        format!("fp_{algorithm}{}", self.suffix)
    }

    /// Our names that sockets can select.
    fn loaded(&self) -> BTreeSet<String> {
        let names = fs::read_to_string(AVAILABLE).unwrap_or_default();
        let ours = names.split_whitespace().filter(|name| self.is_ours(name));
        ours.map(str::to_owned).collect()
    }

    fn is_ours(&self, name: &str) -> bool {
        ALGORITHMS.iter().any(|algorithm| name == self.name(algorithm))
    }

    /// Our pins.
    fn pins(&self) -> Vec<PathBuf> {
        let pins = ALGORITHMS.iter().map(|algorithm| PathBuf::from(PINS).join(self.name(algorithm)));
        pins.filter(|pin| pin.exists()).collect()
    }

    /// Removes all of our names, without a judgement; says what resisted.
    pub(super) fn finish(&self, session: &Session) -> Vec<String> {
        for algorithm in ALGORITHMS {
            let name = self.name(algorithm);
            if self.loaded().contains(&name) || !self.pins().is_empty() {
                // what is left shows whether it worked
                let _ = Command::new(&session.program).args(["unload", &name]).output();
            }
        }
        self.pins().iter().for_each(|pin| drop(fs::remove_file(pin)));
        self.loaded().into_iter().collect()
    }

    /// Performs story `index`.
    pub(super) fn perform(
        &self,
        session: &Session,
        name: &str,
        dice: &mut Dice,
        stop: &dyn Fn() -> bool,
    ) -> io::Result<Vec<Ran>> {
        let _one = self.one.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let mut story = Story { kernel: self, session, name, stop, steps: 0, ran: Vec::new() };
        story.tell(dice)?;
        let mut ran = story.ran;
        let resisted = self.finish(session);
        if let (Some(last), false) = (ran.last_mut(), resisted.is_empty()) {
            last.violations.push(Violation::new("leftover", "an algorithm that cannot be unloaded"));
        }
        Ok(ran)
    }
}

/// Several invocations, one after the other or at once.
struct Story<'a> {
    kernel: &'a Kernel,
    session: &'a Session,
    name: &'a str,
    stop: &'a dyn Fn() -> bool,
    steps: usize,
    ran: Vec<Ran>,
}

impl Story<'_> {
    fn tell(&mut self, dice: &mut Dice) -> io::Result<()> {
        let first = *dice.pick(&ALGORITHMS);
        match dice.below(6) {
            0 => self.twice(first)?,
            1 | 2 => self.interrupted_load(dice)?,
            3 | 4 => self.interrupted_unload(first, dice)?,
            _ => self.race(first, dice)?,
        }
        self.next_command(first)?;
        self.all_gone()
    }

    /// Runs and judges a case.
    fn run(&mut self, case: Case) -> io::Result<Option<Seen>> {
        self.steps += 1;
        let name = format!("{}-{}", self.name, self.steps);
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

    fn unload(&self, algorithm: &str) -> Case {
        Case::new(["unload".to_owned(), self.kernel.name(algorithm)])
    }

    fn twice(&mut self, algorithm: &str) -> io::Result<()> {
        self.run(self.load(&[algorithm]).what("load").fits([0]))?;
        self.run(self.load(&[algorithm]).what("load again").fits([6]))?;
        self.truth()?;
        self.run(self.unload(algorithm).what("unload").fits([0]))?;
        self.run(self.unload(algorithm).what("unload again").fits([6]))?;
        self.truth()
    }

    fn interrupted_load(&mut self, dice: &mut Dice) -> io::Result<()> {
        let signal = *dice.pick(&[Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGKILL]);
        let names = &ALGORITHMS[..3];
        let mut case = self.load(names).what(format!("{} during load", signal.as_str()));
        case.during.push((dice.ms(0, 300), Act::Signal(signal)));
        self.run(case.fits([0, 128 + signal as i32]))?;
        let loaded = self.kernel.loaded().len();
        if loaded != 0 && loaded != names.len() && signal != Signal::SIGKILL {
            self.violates("leftover", "a part of the algorithms of an interrupted load");
        }
        self.truth()
    }

    fn interrupted_unload(&mut self, algorithm: &str, dice: &mut Dice) -> io::Result<()> {
        let signal = *dice.pick(&[Signal::SIGINT, Signal::SIGTERM, Signal::SIGKILL, Signal::SIGKILL]);
        self.run(self.load(&[algorithm]).what("load").fits([0]))?;
        let mut case = self.unload(algorithm).what(format!("{} during unload", signal.as_str()));
        case.during.push((dice.ms(0, 80), Act::Signal(signal)));
        self.run(case.fits([0, 128 + signal as i32]))?;
        self.truth()
    }

    /// Several processes load and unload the same name at once.
    fn race(&mut self, algorithm: &str, dice: &mut Dice) -> io::Result<()> {
        if dice.percent(50) {
            self.run(self.load(&[algorithm]).what("load").fits([0]))?;
        }
        let loads: Vec<bool> = (0..dice.within(3, 8)).map(|_| dice.percent(50)).collect();
        let cases: Vec<Case> = loads
            .iter()
            .map(|load| if *load { self.load(&[algorithm]) } else { self.unload(algorithm) })
            .map(|case| case.what("load and unload at once").fits([0, 6]))
            .collect();
        let (session, name) = (self.session, self.name);
        let seen: Vec<io::Result<Option<Seen>>> = std::thread::scope(|scope| {
            let start = |(index, case)| {
                let name = format!("{name}-race{index}");
                scope.spawn(move || session.perform(case, &name, &|| false))
            };
            let threads: Vec<_> = cases.iter().enumerate().map(start).collect();
            let ended = |thread: std::thread::ScopedJoinHandle<'_, _>| {
                thread.join().unwrap_or_else(|_| Err(io::Error::other("a thread of the generator panicked")))
            };
            threads.into_iter().map(ended).collect()
        });
        for (case, seen) in cases.into_iter().zip(seen) {
            let Some(seen) = seen? else { continue };
            let violations = judge(&case, &seen);
            self.ran.push(Ran { case, seen, violations });
        }
        self.truth()
    }

    /// `list` says what the kernel offers.
    fn truth(&mut self) -> io::Result<()> {
        let Some(seen) = self.run(Case::new(["list", "--json"]).what("list").fits([0]))? else {
            return Ok(());
        };
        let list: serde_json::Value = serde_json::from_slice(&seen.stdout).unwrap_or_default();
        let entries = list.as_array().into_iter().flatten().filter(|entry| entry["status"] == "loaded");
        let said = entries
            .filter_map(|entry| entry["kernel_name"].as_str())
            .filter(|name| self.kernel.is_ours(name));
        let said: BTreeSet<String> = said.map(str::to_owned).collect();
        if said != self.kernel.loaded() {
            let what = if said.is_empty() {
                "list does not show what is loaded"
            } else {
                "list shows what is not there"
            };
            self.violates("untrue", what);
        }
        Ok(())
    }

    /// Whatever happened before, a load works, unless the algorithm is loaded.
    fn next_command(&mut self, algorithm: &str) -> io::Result<()> {
        let is_loaded = self.kernel.loaded().contains(&self.kernel.name(algorithm));
        let fits = if is_loaded { 6 } else { 0 };
        self.run(self.load(&[algorithm]).what("the next load").fits([fits]))?;
        self.truth()
    }

    fn all_gone(&mut self) -> io::Result<()> {
        for algorithm in ALGORITHMS {
            if self.kernel.loaded().contains(&self.kernel.name(algorithm)) {
                self.run(self.unload(algorithm).what("the next unload").fits([0]))?;
            }
        }
        self.truth()?;
        if !self.kernel.pins().is_empty() {
            self.violates("leftover", "a pin of an algorithm that is not loaded");
        }
        Ok(())
    }
}
