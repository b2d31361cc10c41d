//! Progress bars on standard error: of one run, and of many jobs.

use std::io::IsTerminal;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use fairpace_results::Monitor;
use fairpace_scenario::{OPPORTUNITY_BYTES, Scenario};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use crate::signals::Signals;

/// A run shorter than this shows no progress bar, which would only flicker.
const SHOWN_AFTER: Duration = Duration::from_secs(1);

/// The progress of many jobs, weighted by the packets that each is expected to deliver. Threads share it.
pub struct Progress {
    bar: ProgressBar,
    /// Expected packets of each job.
    packets: Vec<f64>,
    done: AtomicUsize,
}

impl Progress {
    /// The progress of jobs that are expected to deliver `packets` each. Nothing is shown when `quiet` or
    /// when stderr is not a terminal.
    #[must_use]
    pub fn new(packets: Vec<f64>, quiet: bool) -> Self {
        let total = packets.iter().sum::<f64>() as u64;
        let done = AtomicUsize::new(0);
        if quiet || !std::io::stderr().is_terminal() {
            return Self { bar: ProgressBar::hidden(), packets, done };
        }
        let template = "{msg} {wide_bar} {percent:>3} %, {rate}, {eta} left";
        let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
        let style = style.with_key("rate", |state: &ProgressState, text: &mut dyn std::fmt::Write| {
            let _ = write!(text, "{:.2} M packets/s", state.per_sec() / 1e6);
        });
        let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr()).with_style(style);
        let progress = Self { bar, packets, done };
        progress.show(0);
        progress
    }

    /// The progress of simulations.
    #[must_use]
    pub fn of_scenarios(scenarios: &[&Scenario], quiet: bool) -> Self {
        Self::new(scenarios.iter().map(|scenario| expected_packets(scenario)).collect(), quiet)
    }

    fn show(&self, done: usize) {
        self.bar.set_message(format!("{done} of {} simulations", self.packets.len()));
    }

    /// Job `index` advanced by this fraction of itself.
    pub(crate) fn advance(&self, index: usize, fraction: f64) {
        self.bar.inc((self.packets.get(index).unwrap_or(&0.0) * fraction) as u64);
    }

    /// One more job is done.
    pub(crate) fn job_done(&self) {
        self.show(self.done.fetch_add(1, Ordering::Relaxed) + 1);
    }

    /// Prints a line above the bar.
    pub fn print(&self, line: &str) {
        self.bar.suspend(|| eprintln!("{line}"));
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// Packets that fit through the scenario's fastest link in the whole run.
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
    /// `label` is shown beside the bar. Nothing is shown when `quiet` or when stderr is not a terminal.
    #[must_use]
    pub fn new(signals: &'a Signals, label: &str, quiet: bool) -> Self {
        let shown = !quiet && std::io::stderr().is_terminal();
        Self { signals, label: label.to_owned(), shown, begun: Instant::now(), bar: None }
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
