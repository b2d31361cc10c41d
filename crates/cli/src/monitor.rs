//! Watching a long run: a progress bar for people, and signals that end it in order.

use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use fairpace_results::Monitor;
use fairpace_scenario::{OPPORTUNITY_BYTES, Scenario};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

/// A run shorter than this needs no progress bar.
const PATIENCE: Duration = Duration::from_secs(1);

/// The signal that arrived, 0 for none. The first one asks a run to end; a second one ends the process at once.
#[derive(Debug, Clone)]
pub(crate) struct Signals(Arc<AtomicUsize>);

impl Signals {
    pub(crate) fn catch() -> std::io::Result<Self> {
        let received = Arc::new(AtomicUsize::new(0));
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            let again = Arc::new(std::sync::atomic::AtomicBool::new(false));
            signal_hook::flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&again))?;
            signal_hook::flag::register(signal, again)?;
            signal_hook::flag::register_usize(signal, Arc::clone(&received), signal.unsigned_abs() as usize)?;
        }
        Ok(Self(received))
    }

    /// The signal that arrived, if one did.
    pub(crate) fn received(&self) -> Option<i32> {
        i32::try_from(self.0.load(Ordering::Relaxed)).ok().filter(|signal| *signal > 0)
    }
}

/// The progress of many simulations, in packets. It can be shared by threads.
pub(crate) struct Tally {
    bar: ProgressBar,
    /// What each of them will deliver if it fills its link.
    packets: Vec<f64>,
    done: AtomicUsize,
}

impl Tally {
    /// Nothing is shown when `quiet` or when stderr is no terminal.
    pub(crate) fn new(scenarios: &[&Scenario], quiet: bool) -> Self {
        Self::of(scenarios.iter().map(|scenario| expected_packets(scenario)).collect(), quiet)
    }

    /// The same, where the scenarios are not at hand: of the packets that each is expected to deliver.
    pub(crate) fn of(packets: Vec<f64>, quiet: bool) -> Self {
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
        let tally = Self { bar, packets, done };
        tally.show(0);
        tally
    }

    fn show(&self, done: usize) {
        self.bar.set_message(format!("{done} of {} simulations", self.packets.len()));
    }

    /// One of them has done such a part of itself more.
    pub(crate) fn more(&self, index: usize, part: f64) {
        self.bar.inc((self.packets.get(index).unwrap_or(&0.0) * part) as u64);
    }

    pub(crate) fn one_done(&self) {
        self.show(self.done.fetch_add(1, Ordering::Relaxed) + 1);
    }

    /// A line above the bar.
    pub(crate) fn say(&self, line: &str) {
        self.bar.suspend(|| eprintln!("{line}"));
    }
}

/// Packets that fit through the fastest link in all its time.
pub(crate) fn expected_packets(scenario: &Scenario) -> f64 {
    let rate_bps = scenario.links.iter().map(|link| link.rate_bps).max().unwrap_or_default();
    scenario.duration.as_secs_f64() * rate_bps as f64 / 8.0 / OPPORTUNITY_BYTES as f64
}

impl Drop for Tally {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// A monitor for one run.
pub(crate) struct Watch<'a> {
    signals: &'a Signals,
    what: String,
    shown: bool,
    begun: Instant,
    bar: Option<ProgressBar>,
}

impl<'a> Watch<'a> {
    /// `what` is shown beside the bar. Nothing is shown when `quiet` or when stderr is no terminal.
    pub(crate) fn new(signals: &'a Signals, what: &str, quiet: bool) -> Self {
        let shown = !quiet && std::io::stderr().is_terminal();
        Self { signals, what: what.to_owned(), shown, begun: Instant::now(), bar: None }
    }

    fn start_bar(&self, total_ms: u64) -> ProgressBar {
        let style =
            ProgressStyle::with_template("{msg} {wide_bar} {percent:>3} %  {elapsed} of about {duration}")
                .unwrap_or_else(|_| ProgressStyle::default_bar());
        ProgressBar::with_draw_target(Some(total_ms), ProgressDrawTarget::stderr())
            .with_style(style)
            .with_elapsed(self.begun.elapsed())
            .with_message(self.what.clone())
    }
}

impl Monitor for Watch<'_> {
    fn progress(&mut self, done_s: f64, total_s: f64) {
        if !self.shown || self.begun.elapsed() < PATIENCE {
            return;
        }
        let ms = |s: f64| (s.max(0.0) * 1e3) as u64;
        if self.bar.is_none() {
            self.bar = Some(self.start_bar(ms(total_s)));
        }
        if let Some(bar) = &self.bar {
            let wall_s = self.begun.elapsed().as_secs_f64();
            bar.set_message(format!("{}: {done_s:.0} of {total_s:.0} s, {:.0}x", self.what, done_s / wall_s));
            bar.set_position(ms(done_s));
        }
    }

    fn stop(&self) -> bool {
        self.signals.received().is_some()
    }
}

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
