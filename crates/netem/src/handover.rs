//! Handovers of links: the rates and delays that follow from a scenario's seed.

use fairpace_scenario::{Handover, Scenario, ns};

use crate::cellular;
use crate::purpose::Purpose;
use crate::time::{MS, Nanos};

/// Steps of a link: each a time and the value from then on.
type Steps<T> = Vec<(Nanos, T)>;

/// Rates and delays drawn for the handovers of a link.
#[derive(Debug, Default)]
struct Drawn {
    rates_bps: Steps<u64>,
    /// Extra delays of packets, ns.
    delays: Steps<Nanos>,
}

/// Returns the rates of the link with the index `link` after each change: those of `rate_at`, of its
/// handovers, or of a cellular link.
pub fn rate_steps(scenario: &Scenario, link: usize) -> Vec<(Nanos, u64)> {
    let settings = &scenario.links[link];
    match (settings.handover, settings.cellular) {
        (Some(_), _) => drawn(scenario, link).rates_bps,
        (None, Some(of)) => cellular::rate_steps(scenario, link, of),
        (None, None) => settings.rate_at.iter().map(|(at, rate)| (ns(*at), *rate)).collect(),
    }
}

/// Returns the delays behind the link with the index `link` after each of its handovers, its own delay
/// included.
pub(crate) fn delay_steps(scenario: &Scenario, link: usize) -> Vec<(Nanos, Nanos)> {
    let own = ns(scenario.links[link].line.delay);
    drawn(scenario, link).delays.into_iter().map(|(at, more)| (at, own + more)).collect()
}

/// Draws rate and delay for each handover, even if only one of them changes, so that neither depends on the
/// other.
fn drawn(scenario: &Scenario, link: usize) -> Drawn {
    let settings = &scenario.links[link];
    let Some(Handover { every, rate_bps, delay, outage }) = settings.handover else {
        return Drawn::default();
    };
    let mut random = Purpose::Handovers.stream(scenario.seed, link as u32);
    let (every, delay, outage) = (ns(every).max(MS), ns(delay), ns(outage));
    let least_bps = rate_bps.unwrap_or(settings.rate_bps).min(settings.rate_bps);
    let mut drawn = Drawn::default();
    for number in 1..=ns(scenario.duration) / every {
        let at = number * every;
        let rate_bps = least_bps + random.below(settings.rate_bps - least_bps + 1);
        let more = random.below(delay + 1);
        if outage > 0 {
            drawn.rates_bps.push((at, 0));
        }
        if outage > 0 || least_bps < settings.rate_bps {
            drawn.rates_bps.push((at + outage, rate_bps));
        }
        if delay > 0 {
            drawn.delays.push((at, more));
        }
    }
    drawn
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use fairpace_scenario::Link;

    use super::*;
    use crate::time::SECOND;

    /// Returns a day of handovers every 15 s, from 50 to 100 Mbit/s and 0 to 12 ms, with outages of 100 ms.
    fn scenario(seed: u64) -> Scenario {
        let handover = Handover {
            every: Duration::from_secs(15),
            rate_bps: Some(50_000_000),
            delay: Duration::from_millis(12),
            outage: Duration::from_millis(100),
        };
        let link = Link { handover: Some(handover), ..Link::new("sky", 100_000_000, 1_000_000) };
        Scenario {
            title: String::new(),
            why: String::new(),
            seed,
            duration: Duration::from_secs(86_400),
            window: (Duration::ZERO, Duration::from_secs(86_400)),
            interval: Duration::from_secs(1),
            links: vec![link.clone(), link],
            flows: Vec::new(),
            hash: String::new(),
        }
    }

    #[test]
    fn handovers_are_at_multiples_of_their_time_and_begin_with_an_outage() {
        let scenario = scenario(1);
        let (rates, delays) = (rate_steps(&scenario, 0), delay_steps(&scenario, 0));
        assert_eq!((rates.len(), delays.len()), (2 * 5_760, 5_760));
        for (number, (pair, delay)) in (1..).zip(rates.chunks(2).zip(&delays)) {
            let at = number * 15 * SECOND;
            assert_eq!((pair[0], pair[1].0, delay.0), ((at, 0), at + 100 * MS, at));
        }
    }

    #[test]
    fn rates_and_delays_are_uniform() {
        let scenario = scenario(1);
        let rates = rate_steps(&scenario, 0).into_iter().map(|(_, rate)| rate).filter(|rate| *rate > 0);
        let delays = delay_steps(&scenario, 0).into_iter().map(|(_, delay)| delay);
        let cases = [(rates.collect::<Vec<_>>(), 50e6, 100e6), (delays.collect(), 0.0, 12e6)];
        for (values, least, most) in cases {
            let (n, span) = (values.len() as f64, most - least);
            let mean = values.iter().sum::<u64>() as f64 / n;
            assert!(values.iter().all(|value| (least..=most).contains(&(*value as f64))));
            // the standard deviation of one is span / sqrt(12)
            assert!((mean - (least + most) / 2.0).abs() < 4.0 * span / (12.0 * n).sqrt(), "{mean}");
            let first_quarter = values.iter().filter(|value| (**value as f64) < least + span / 4.0).count();
            assert!((first_quarter as f64 / n - 0.25).abs() < 4.0 * (0.1875 / n).sqrt(), "{first_quarter}");
        }
    }

    #[test]
    fn the_seed_and_the_link_decide_and_what_changes_does_not() {
        let one = scenario(1);
        assert_eq!(rate_steps(&one, 0), rate_steps(&scenario(1), 0));
        assert_ne!(rate_steps(&one, 0), rate_steps(&scenario(2), 0));
        assert_ne!(rate_steps(&one, 0), rate_steps(&one, 1));
        let mut same_rate = one.clone();
        let handover = same_rate.links[0].handover.as_mut().unwrap();
        (handover.rate_bps, handover.outage) = (None, Duration::ZERO);
        assert_eq!(delay_steps(&same_rate, 0), delay_steps(&one, 0));
        assert_eq!(rate_steps(&same_rate, 0), []);
    }
}
