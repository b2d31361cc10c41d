//! Duels: every algorithm against every other algorithm on one link, for `fairpace-dev run` and the Python
//! package.

mod plan;
mod record;

use std::time::Duration;

use clap::Args;
use clap::builder::StringValueParser;
use fairpace_cc::Algorithm;
use fairpace_scenario::quantity::{parse_time, show_time};
use fairpace_scenario::{Cc, CcError, Set};

use fairpace_cli_core::args::{Trimmed, from_one_to};
use fairpace_cli_core::comparison::distinct;
use fairpace_cli_core::failure::Failure;

use crate::evaluation::check_sets;

pub use plan::Plan;
pub use record::{AlgorithmSettings, Buffer, Duel, Record, SCHEMA};

/// Which algorithms meet, and where. Texts are values of scenario keys, with their units.
#[derive(Debug, Clone, Args)]
pub struct Duels {
    /// The algorithms; by default all but `agent`.
    #[arg(
        long,
        value_name = "NAME,...",
        value_delimiter = ',',
        value_parser = Trimmed(StringValueParser::new())
    )]
    pub cc: Vec<String>,
    /// Rate of the link.
    #[arg(long, default_value = "100mbit")]
    pub rate: String,
    /// RTT of both flows.
    #[arg(long, default_value = "20ms")]
    pub rtt: String,
    /// Buffers of the link; all duels are repeated at each of them.
    #[arg(long, value_name = "SIZE,...", value_delimiter = ',', default_value = "0.5bdp,1bdp,4bdp")]
    pub buffer: Vec<String>,
    /// Length of each simulation.
    #[arg(long, value_name = "TIME", default_value = "60s")]
    pub duration: String,
    /// Measure from here to the end.
    #[arg(long, value_name = "TIME", default_value = "20s")]
    pub warmup: String,
    /// Start of the second flow in the first repetition. Later repetitions delay it more, up to almost
    /// twice as much.
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = parse_time)]
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

/// Whether one of the names is an algorithm, or a variant of it.
fn is_with(names: &[String], algorithm: &str) -> bool {
    names.iter().any(|name| Cc::split(name).0 == algorithm)
}

impl Duels {
    /// Names of the algorithms: [`cc`](Self::cc), or all but `agent`, which only works in an environment.
    fn names(&self) -> Result<Vec<String>, Failure> {
        if self.cc.is_empty() {
            let names = Algorithm::all().map(|algorithm| algorithm.name().to_owned());
            return Ok(names.filter(|name| name != "agent").collect());
        }
        // a header is called by its name; what is no algorithm is an error of the scenarios
        let all: Vec<Cc> = self.cc.iter().map(|cc| cc.parse()).collect::<Result<_, CcError>>()?;
        distinct(&all.iter().collect::<Vec<_>>(), "--cc")
            .map_err(|failure| failure.with_help("each algorithm meets itself without being named twice"))?;
        let names: Vec<String> = all.iter().map(Cc::to_string).collect();
        check_sets(&self.sets, &names, &[])?;
        Ok(names)
    }

    /// The Python call that repeats the measurement, with all defaults.
    fn command(&self) -> String {
        let Self { cc, rate, rtt, buffer, duration, warmup, stagger, seeds, seed, sets } = self;
        let stagger = show_time(*stagger);
        let mut call = format!(
            "fairpace.duels({cc:?}, rate={rate:?}, rtt={rtt:?}, buffer={buffer:?}, duration={duration:?}, \
             warmup={warmup:?}, stagger={stagger:?}, seeds={seeds}, seed={seed}"
        );
        let pair =
            |set: &Set| set.to_string().split_once('=').map(|(key, value)| format!("{key:?}: {value:?}"));
        let pairs: Vec<String> = sets.iter().filter_map(pair).collect();
        if !pairs.is_empty() {
            call.push_str(&format!(", set={{{}}}", pairs.join(", ")));
        }
        call + ")"
    }
}
