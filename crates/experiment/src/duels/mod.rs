//! Every algorithm against every other one on one link: what `fairpace-dev run` and the Python package have
//! in common.

mod plan;
mod record;

use std::time::Duration;

use clap::Args;
use fairpace_cc::Algorithm;
use fairpace_scenario::Set;
use fairpace_scenario::quantity::{parse_time, show_time};

use fairpace_cli_core::args::{Jobs, from_one_to};
use fairpace_cli_core::batch;
use fairpace_cli_core::failure::{Exit, Failure};
use fairpace_cli_core::signals::Signals;

pub use plan::Plan;
pub use record::{AlgorithmSettings, Buffer, Duel, Record, SCHEMA};

/// Which algorithms meet, and where. Texts are values of scenario keys, with their units.
#[derive(Debug, Clone, Args)]
pub struct Duels {
    /// The algorithms; by default all but `agent`.
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    pub cc: Vec<String>,
    /// Rate of the link.
    #[arg(long, allow_hyphen_values = true, default_value = "100mbit")]
    pub rate: String,
    /// RTT of both flows.
    #[arg(long, allow_hyphen_values = true, default_value = "20ms")]
    pub rtt: String,
    /// Buffers of the link; all duels are repeated at each of them.
    #[arg(
        long,
        allow_hyphen_values = true,
        value_name = "SIZE,...",
        value_delimiter = ',',
        default_value = "0.5bdp,1bdp,4bdp"
    )]
    pub buffer: Vec<String>,
    /// Length of each simulation.
    #[arg(long, allow_hyphen_values = true, value_name = "TIME", default_value = "60s")]
    pub duration: String,
    /// Measure from here to the end.
    #[arg(long, allow_hyphen_values = true, value_name = "TIME", default_value = "20s")]
    pub warmup: String,
    /// Start of the second flow in the first repetition. Later repetitions delay it more, up to almost
    /// twice as much.
    #[arg(
        long,
        allow_hyphen_values = true,
        value_name = "TIME",
        default_value = "1s",
        value_parser = parse_time
    )]
    pub stagger: Duration,
    /// Repetitions of each duel in each order, with different seeds and starts of the second flow.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = from_one_to(1000))]
    pub seeds: u32,
    /// The first of these seeds.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Change a parameter of an algorithm, or a key of all scenarios; repeatable.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub sets: Vec<Set>,
}

impl Duels {
    /// The algorithms: those of [`cc`](Self::cc), or all but `agent`, which only an environment can decide
    /// for.
    ///
    /// # Errors
    /// One is named twice.
    pub fn names(&self) -> Result<Vec<String>, Failure> {
        if self.cc.is_empty() {
            let names = Algorithm::all().map(|algorithm| algorithm.name().to_owned());
            return Ok(names.filter(|name| name != "agent").collect());
        }
        // a header is called by its name; what is no algorithm is an error of the scenarios
        let name =
            |written: &String| Algorithm::by_name(written).map_or(written.clone(), |of| of.name().to_owned());
        let asked: Vec<String> = self.cc.iter().map(name).collect();
        match asked.iter().enumerate().find(|(index, name)| asked[..*index].contains(name)) {
            Some((_, twice)) => Err(Failure::new(
                Exit::Usage,
                format!("--cc names {twice} twice"),
                "each algorithm meets itself without being named twice",
            )),
            None => Ok(asked),
        }
    }

    /// The call in Python that measures the same again, with all defaults.
    fn command(&self) -> String {
        let Self { cc, rate, rtt, buffer, duration, warmup, stagger, seeds, seed, sets } = self;
        let stagger = show_time(*stagger);
        let mut call = format!(
            "fairpace.duels({cc:?}, rate={rate:?}, rtt={rtt:?}, buffer={buffer:?}, duration={duration:?}, \
             warmup={warmup:?}, stagger={stagger:?}, seeds={seeds}, seed={seed}"
        );
        if !sets.is_empty() {
            let pairs = sets.iter().map(ToString::to_string);
            let pairs =
                pairs.map(|set| set.split_once('=').map(|(key, value)| format!("{key:?}: {value:?}")));
            call.push_str(&format!(", set={{{}}}", pairs.flatten().collect::<Vec<_>>().join(", ")));
        }
        call + ")"
    }
}

impl Plan<'_> {
    /// Simulates all duels.
    ///
    /// # Errors
    /// A signal arrived.
    pub fn measure(&self, jobs: Jobs, signals: &Signals, quiet: bool) -> Result<Record, Failure> {
        let summaries =
            batch::simulate_all(self.scenarios(), jobs.at_a_time, signals, quiet, |_, run| run.summary)?;
        Ok(self.record(&summaries))
    }
}
