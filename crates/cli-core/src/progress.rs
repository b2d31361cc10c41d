//! Progress bars on standard error, for one run and for many jobs.

use std::io::IsTerminal;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use fairpace_results::Monitor;
use fairpace_scenario::{OPPORTUNITY_BYTES, Scenario, visible};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use crate::output::note;
use crate::signals::Signals;

/// Length of a run from which it has a progress bar; in a shorter run the bar would only flicker.
const SHOWN_AFTER: Duration = Duration::from_secs(1);

/// Time between lines of progress of many jobs, where there is no terminal.
const LINE_EVERY: Duration = Duration::from_secs(20);

/// The progress of many jobs, each weighted by its expected duration. Threads share it.
///
/// On a terminal the progress is a bar. In a log it is a line from time to time.
pub struct Progress {
    bar: ProgressBar,
    /// Name of the jobs, such as "simulations".
    what: &'static str,
    count: usize,
    /// The weight of each job; empty: all jobs have the same weight.
    weights: Vec<f64>,
    unit: Unit,
    done: AtomicUsize,
    failed: AtomicUsize,
    begun: Instant,
    /// Time of the next line; `None`: there are no lines.
    due: Option<Mutex<Instant>>,
}

/// Unit of the weights of jobs.
#[derive(Debug, Clone, Copy)]
enum Unit {
    /// Jobs: all weights are equal.
    Jobs,
    /// Expected packets of runs whose time is virtual.
    Packets,
    /// Microseconds of runs with real flows.
    Us,
}

impl Progress {
    /// The progress of simulations that are expected to deliver `packets` each. Nothing is shown when
    /// `quiet`.
    #[must_use]
    pub fn new(packets: Vec<f64>, quiet: bool) -> Self {
        Self::of("simulations", packets.len(), (packets, Unit::Packets), quiet)
    }

    /// The progress of `count` jobs of a kind, such as "scenarios". Nothing is shown when `quiet`.
    #[must_use]
    pub fn counted(what: &'static str, count: usize, quiet: bool) -> Self {
        Self::of(what, count, (Vec::new(), Unit::Jobs), quiet)
    }

    /// The progress of runs with real flows, which take as long as their scenarios last. Nothing is shown
    /// when `quiet`.
    #[must_use]
    pub fn of_real_runs(scenarios: &[&Scenario], quiet: bool) -> Self {
        let us = scenarios.iter().map(|scenario| scenario.duration.as_secs_f64() * 1e6).collect();
        Self::of("runs", scenarios.len(), (us, Unit::Us), quiet)
    }

    /// The progress of runs on a kernel in virtual time, which are expected to deliver `packets` each.
    /// Nothing is shown when `quiet`.
    #[must_use]
    pub fn of_virtual_runs(packets: Vec<f64>, quiet: bool) -> Self {
        Self::of("runs", packets.len(), (packets, Unit::Packets), quiet)
    }

    /// The progress of simulations of these scenarios.
    #[must_use]
    pub fn of_scenarios(scenarios: &[&Scenario], quiet: bool) -> Self {
        Self::new(scenarios.iter().map(|scenario| expected_packets(scenario)).collect(), quiet)
    }

    fn of(what: &'static str, count: usize, (weights, unit): (Vec<f64>, Unit), quiet: bool) -> Self {
        let total = match unit {
            Unit::Jobs => count as u64,
            Unit::Packets | Unit::Us => weights.iter().sum::<f64>() as u64,
        };
        let (is_terminal, begun) = (std::io::stderr().is_terminal(), Instant::now());
        let target = match is_terminal && !quiet {
            true => ProgressDrawTarget::stderr(),
            false => ProgressDrawTarget::hidden(),
        };
        let rate = rate_of(what, unit);
        let style = ProgressStyle::with_template("{msg} {wide_bar} {percent:>3} %, {rate}, {eta} left")
            .unwrap_or_else(|_| ProgressStyle::default_bar())
            .with_key("rate", move |state: &ProgressState, text: &mut dyn std::fmt::Write| {
                let _ = text.write_str(&rate(state.per_sec()));
            });
        let progress = Self {
            bar: ProgressBar::with_draw_target(Some(total), target).with_style(style),
            what,
            count,
            weights,
            unit,
            done: AtomicUsize::new(0),
            failed: AtomicUsize::new(0),
            begun,
            due: (!is_terminal && !quiet).then(|| Mutex::new(begun + LINE_EVERY)),
        };
        progress.bar.set_message(progress.message());
        progress
    }

    /// Text of the number of jobs: "3 of 20 simulations", and the number of failed jobs, if there is any.
    fn message(&self) -> String {
        let Self { what, count, .. } = self;
        let [done, failed] = [&self.done, &self.failed].map(|number| number.load(Ordering::Relaxed));
        let failed = if failed == 0 { String::new() } else { format!(", {failed} failed") };
        format!("{done} of {count} {what}{failed}")
    }

    /// Text of the progress in a line, after this time.
    fn line(&self, after: Duration) -> String {
        let (position, total) = (self.bar.position(), self.bar.length().unwrap_or_default());
        let per_s = position as f64 / after.as_secs_f64().max(1e-9);
        let rate = rate_of(self.what, self.unit)(per_s);
        let left = left(after, position, total);
        format!("{}, {} %, {rate}{left}", self.message(), position * 100 / total.max(1))
    }

    /// Records that job `index` went from one fraction to another. The second fraction is smaller if the job
    /// begins again.
    pub(crate) fn advance(&self, index: usize, from: f64, to: f64) {
        let weight = match self.unit {
            Unit::Jobs => 1.0,
            Unit::Packets | Unit::Us => self.weights.get(index).copied().unwrap_or_default(),
        };
        // of whole units, so that many small steps add up to what one step back takes
        let [from, to] = [from, to].map(|fraction| (weight * fraction) as u64);
        match to.checked_sub(from) {
            Some(forth) => self.bar.inc(forth),
            None => self.bar.dec(from - to),
        }
        // another thread that looks at the same time prints the line
        let Some(mut due) = self.due.as_ref().and_then(|due| due.try_lock().ok()) else { return };
        let now = Instant::now();
        if now >= *due {
            *due = now + LINE_EVERY;
            note(&self.line(now - self.begun));
        }
    }

    /// Records that a further job is done.
    pub(crate) fn job_done(&self) {
        self.done.fetch_add(1, Ordering::Relaxed);
        self.bar.set_message(self.message());
    }

    /// Records that a further job failed.
    pub fn count_failed(&self) {
        self.failed.fetch_add(1, Ordering::Relaxed);
    }

    /// Prints a line above the bar.
    pub fn print(&self, line: &str) {
        self.bar.suspend(|| note(line));
    }
}

/// Text of the time that is left, ", about 3 min left", if the rest is as fast as the part that is done.
fn left(after: Duration, position: u64, total: u64) -> String {
    if position == 0 || position >= total {
        return String::new();
    }
    match after.as_secs_f64() * (total - position) as f64 / position as f64 {
        seconds if seconds < 120.0 => format!(", about {seconds:.0} s left"),
        seconds if seconds < 7200.0 => format!(", about {:.0} min left", seconds / 60.0),
        seconds => format!(", about {:.1} h left", seconds / 3600.0),
    }
}

/// A function that writes the rate of the work per second.
fn rate_of(what: &'static str, unit: Unit) -> impl Fn(f64) -> String + Clone + Send + Sync {
    move |per_s| match unit {
        Unit::Jobs => format!("{per_s:.1} {what}/s"),
        Unit::Packets => format!("{:.2} M packets/s", per_s / 1e6),
        Unit::Us => format!("{:.1} at a time", per_s / 1e6),
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// Number of packets that fit through the scenario's fastest link in the whole run.
#[must_use]
pub fn expected_packets(scenario: &Scenario) -> f64 {
    let rate_bps = scenario.links.iter().map(|link| link.rate_bps).max().unwrap_or_default();
    scenario.duration.as_secs_f64() * rate_bps as f64 / 8.0 / OPPORTUNITY_BYTES as f64
}

/// Shows the progress of one run and stops it when a signal arrives.
pub struct RunProgress<'a> {
    signals: &'a Signals,
    label: String,
    shown: bool,
    begun: Instant,
    bar: Option<ProgressBar>,
}

impl<'a> RunProgress<'a> {
    /// Displays the progress of a run; `label` is shown beside the bar. Nothing is shown when `quiet` or when
    /// stderr is not a terminal.
    #[must_use]
    pub fn new(signals: &'a Signals, label: &str, quiet: bool) -> Self {
        let shown = !quiet && std::io::stderr().is_terminal();
        Self { signals, label: visible(label).into_owned(), shown, begun: Instant::now(), bar: None }
    }

    fn start_bar(&self, total_ms: u64) -> ProgressBar {
        let style =
            ProgressStyle::with_template("{msg} {wide_bar} {percent:>3} %  {elapsed} of about {duration}")
                .unwrap_or_else(|_| ProgressStyle::default_bar());
        ProgressBar::with_draw_target(Some(total_ms), ProgressDrawTarget::stderr())
            .with_style(style)
            .with_elapsed(self.begun.elapsed())
            .with_message(self.label.clone())
    }
}

impl Monitor for RunProgress<'_> {
    fn progress(&mut self, done_s: f64, total_s: f64) {
        if !self.shown || self.begun.elapsed() < SHOWN_AFTER {
            return;
        }
        let ms = |s: f64| (s.max(0.0) * 1e3) as u64;
        if self.bar.is_none() {
            self.bar = Some(self.start_bar(ms(total_s)));
        }
        if let Some(bar) = &self.bar {
            let speed = done_s / self.begun.elapsed().as_secs_f64();
            bar.set_message(format!("{}: {done_s:.0} of {total_s:.0} s, {speed:.0}x", self.label));
            bar.set_position(ms(done_s));
        }
    }

    fn stop(&self) -> bool {
        self.signals.received().is_some()
    }
}

impl Drop for RunProgress<'_> {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_the_count_the_failures_the_rate_and_the_time_that_is_left() {
        let progress = Progress::counted("scenarios", 200, true);
        for job in 0..50 {
            progress.advance(job, 0.0, 1.0);
            progress.job_done();
        }
        assert_eq!(
            progress.line(Duration::from_secs(20)),
            "50 of 200 scenarios, 25 %, 2.5 scenarios/s, about 60 s left"
        );
        progress.count_failed();
        assert!(progress.message().ends_with("scenarios, 1 failed"), "{}", progress.message());
        let progress = Progress::new(vec![3e6, 1e6], true);
        progress.advance(1, 0.0, 1.0);
        assert_eq!(
            progress.line(Duration::from_secs(2)),
            "0 of 2 simulations, 25 %, 0.50 M packets/s, about 6 s left"
        );
        let scenario = fairpace_scenario::parse(
            "a.toml",
            "title = \"t\"\nduration = \"60s\"\n[[link]]\nrate = \"1mbit\"\nbuffer = \"9kB\"\n\
             [[flow]]\ncc = \"kernel:bbr\"\nrtt = \"9ms\"",
            &[],
            fairpace_scenario::Target::Testbed,
        );
        let scenario = scenario.expect("it is complete");
        let progress = Progress::of_real_runs(&[&scenario; 6], true);
        [0, 1, 2].into_iter().for_each(|run| progress.advance(run, 0.0, 0.5));
        assert_eq!(
            progress.line(Duration::from_secs(30)),
            "0 of 6 runs, 25 %, 3.0 at a time, about 90 s left"
        );
        // the machine disturbed one, which begins anew
        progress.advance(1, 0.5, 0.0);
        assert_eq!(
            progress.line(Duration::from_secs(60)),
            "0 of 6 runs, 16 %, 1.0 at a time, about 5 min left"
        );
        assert_eq!(left(Duration::from_secs(60), 1, 10), ", about 9 min left");
        assert_eq!(left(Duration::from_secs(3600), 1, 4), ", about 3.0 h left");
        // in steps that are no whole microseconds
        let alone = Progress::of_real_runs(&[&scenario], true);
        let steps: Vec<f64> = (0..=7000).map(|step| f64::from(step) / 7000.0).collect();
        steps.windows(2).for_each(|pair| alone.advance(0, pair[0], pair[1]));
        assert_eq!(alone.bar.position(), 60_000_000);
        alone.advance(0, 1.0, 0.0);
        assert_eq!(alone.bar.position(), 0);
        assert_eq!([left(Duration::from_secs(60), 0, 10), left(Duration::from_secs(60), 10, 10)], ["", ""]);
    }
}
