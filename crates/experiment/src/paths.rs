//! The random paths of a criterion, as cases.

use fairpace_scenario::Random;
use fairpace_scenario::quantity::PACKET_BYTES;
use fairpace_scenario::{Invalid, Set, Target, parse};

use crate::criterion::Criterion;
use crate::draw::Draw;
use crate::expand::{Case, taking_part};

/// Number of cells in a row of the picture.
const IN_A_ROW: usize = 20;

impl Criterion {
    /// The first `count` random paths of a seed, each as a case with its scenario for an algorithm. Empty
    /// unless [`Criterion::is_drawn`].
    ///
    /// # Errors
    /// Returns an error if a path is not a valid scenario, or if one of `sets` is wrong.
    pub fn paths(&self, cc: &str, sets: &[Set], count: usize, seed: u64) -> Result<Vec<Case>, Invalid> {
        let Some(draw) = &self.draw else { return Ok(Vec::new()) };
        let mut seeds = Random::new(seed);
        (1..=count).map(|number| self.path(draw, cc, sets, number, seeds.next_u64())).collect()
    }

    fn path(&self, draw: &Draw, cc: &str, sets: &[Set], number: usize, seed: u64) -> Result<Case, Invalid> {
        let path = draw.path(seed);
        let name = format!("path {number}: {}", path.name());
        let text = path.text(&name, cc, u64::from(self.least_pkts) * PACKET_BYTES, draw.interval());
        let scenario = parse(&self.source.name, &text, &taking_part(sets, &[cc]), Target::Simulator)?;
        let checks = self.checks(|_| None, &scenario)?;
        let first = (number - 1) / IN_A_ROW * IN_A_ROW + 1;
        let row = format!("{first} to {}", first + IN_A_ROW - 1);
        let column = vec![((number - 1) % IN_A_ROW + 1).to_string()];
        Ok(Case { name, scenario, checks, available: 1.0, row, column })
    }
}
