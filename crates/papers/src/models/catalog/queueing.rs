//! The forms of the queueing model by name.

use crate::models::Output;
use crate::models::arguments::{Checked, Error};
use crate::models::curve::{sampled, thinned};
use crate::models::queueing::simulation::{Point, Setting, Simulation, largest_ratio};
use crate::models::queueing::{PROBE_BW_S, corrected, literal};

/// The largest ratio in the search for a ratio that drains the flow. The paper goes to 9.5.
const MOST_RATIO: f64 = 20.0;

pub(super) fn literal_form(arguments: &Checked) -> Output {
    let of = |name| arguments.get(name);
    let [ratio, rtt0_s, starved] = [of("ratio"), of("rtt0_ms") / 1e3, of("starved")];
    let [capacity, r0, r1] = [of("capacity_mbps"), of("r0_mbps"), of("r1_mbps")];
    let mut output = Output::default();
    output.value("rounds_fitted", literal::fitted_rounds(ratio));
    output.value("slots_above_8", literal::slots_above_8(ratio, starved));
    output.value("argument_below_8", literal::argument_below_8(ratio, starved));
    output.value("slots_below_8", literal::slots_below_8(ratio, starved).unwrap_or(f64::NAN));
    let slots = literal::slots_of_probe_bw(ratio, rtt0_s);
    output.value("slots_of_probe_bw", f64::from(slots));
    output.value("lower_bound", literal::lower_bound(ratio, rtt0_s, capacity, r0, r1));
    let largest = literal::largest_ratio(rtt0_s, capacity, [r0, r1], starved, MOST_RATIO);
    output.value("largest_ratio", largest);
    output.value("rate1_limit_mbps", capacity - r0 / ratio);
    let time_s = |slot: usize| slot as f64 * ratio * rtt0_s;
    let rates = literal::slots(slots as usize, ratio, capacity, r0, r1).s1;
    let shares: Vec<_> =
        rates.iter().enumerate().map(|(slot, s1)| [time_s(slot), 1.0 - s1 / capacity]).collect();
    output.curve("share0", thinned(&shares));
    let eq10 = |slot: u32| [time_s(slot as usize), literal::rate1(slot, ratio, capacity, r0, r1)];
    let eq10: Vec<_> = (0..=slots).map(eq10).collect();
    output.curve("rate1_eq10_mbps", thinned(&eq10));
    output
}

pub(super) fn corrected_form(arguments: &Checked) -> Output {
    let of = |name| arguments.get(name);
    let [ratio, rtt0_s, starved] = [of("ratio"), of("rtt0_ms") / 1e3, of("starved")];
    let [odds, filter] = [of("r1_mbps") / of("r0_mbps"), of("filter_rounds")];
    let rounds = corrected::rounds_to_starve(ratio, odds, starved, filter);
    let share0 = |time_s: f64| corrected::share0(time_s, ratio, rtt0_s, odds, filter);
    let mut output = Output::default();
    output.value("updates", corrected::updates_to_starve(ratio, odds, starved));
    output.value("rounds", rounds);
    output.value("starved_s", rounds * ratio * rtt0_s);
    output.value("share0", share0(PROBE_BW_S));
    output.value("largest_ratio", corrected::largest_ratio(rtt0_s, odds, starved, filter));
    output.curve("share0", sampled(0.0, PROBE_BW_S, 980, share0));
    let rounds = |ratio: f64| corrected::rounds_to_starve(ratio, odds, starved, filter);
    output.curve("rounds", sampled(1.5, 10.0, 170, rounds));
    output
}

fn setting(arguments: &Checked) -> Setting {
    let of = |name| arguments.get(name);
    Setting {
        rtt0_s: of("rtt0_ms") / 1e3,
        ratio: 1.0,
        capacity: of("capacity_mbps"),
        rates: [of("r0_mbps"), of("r1_mbps")],
        filter_rounds: arguments.whole("filter_rounds"),
        samples_per_round: arguments.whole("samples_per_round"),
        gain: of("gain"),
        phases: [arguments.whole("phase0"), arguments.whole("phase1")],
        little: arguments.is_on("little"),
        duration_s: PROBE_BW_S,
    }
}

pub(super) fn simulation_form(arguments: &Checked) -> Result<Output, Error> {
    let of = |name| arguments.get(name);
    let (ends_s, then_at_s) = (of("duration_s"), of("then_at_s"));
    let has_second = then_at_s > 0.0;
    if has_second {
        arguments.above("duration_s", "then_at_s")?;
    }
    let ratio = of("ratio");
    let first = if has_second { then_at_s } else { ends_s };
    let first = Setting { ratio, duration_s: first, ..setting(arguments) };
    let mut points: Vec<Point> = Simulation::new(first).collect();
    let share0 = |points: &[Point]| points.last().map_or(f64::NAN, Point::share0);
    let starved_s = |points: &[Point]| {
        let starved = points.iter().find(|point| point.share0() <= of("starved"));
        starved.map_or(f64::NAN, |point| point.time_s)
    };
    let mut output = Output::default();
    output.value("starved_s", starved_s(&points));
    output.value("rounds", starved_s(&points) / (ratio * first.rtt0_s));
    output.value("settled_s", settled_s(&points));
    output.value("share0", share0(&points));
    output.value("share1", 1.0 - share0(&points));
    if has_second {
        let second = Setting {
            capacity: of("then_capacity_mbps"),
            rates: [of("then_r0_mbps"), of("then_r1_mbps")],
            duration_s: ends_s - then_at_s,
            ..first
        };
        let later: Vec<Point> = Simulation::new(second).collect();
        output.value("then_share0", share0(&later));
        output.value("then_share1", 1.0 - share0(&later));
        output.value("then_starved_s", starved_s(&later));
        points.extend(later.iter().map(|point| Point { time_s: point.time_s + then_at_s, ..*point }));
    }
    let thin = thinned(&points);
    output.curve("share0", thin.clone().map(|point| [point.time_s, point.share0()]));
    output.curve("share1", thin.clone().map(|point| [point.time_s, 1.0 - point.share0()]));
    output.curve("rate0_mbps", thin.clone().map(|point| [point.time_s, point.estimates[0]]));
    output.curve("rate1_mbps", thin.map(|point| [point.time_s, point.estimates[1]]));
    Ok(output)
}

/// The first time after which flow 0's share stays within 0.05 of its final value, seconds.
fn settled_s(points: &[Point]) -> f64 {
    let Some(last) = points.last() else { return f64::NAN };
    let off = points.iter().rposition(|point| (point.share0() - last.share0()).abs() > 0.05);
    points.get(off.map_or(0, |index| index + 1)).map_or(f64::NAN, |point| point.time_s)
}

pub(super) fn threshold_form(arguments: &Checked) -> Output {
    let duration_s = arguments.get("duration_s");
    let setting = Setting { duration_s, ..setting(arguments) };
    let ratio = largest_ratio(setting, arguments.get("starved"), arguments.get("most"), 0.001);
    let mut output = Output::default();
    output.value("largest_ratio", ratio);
    output.value("largest_rtt1_ms", ratio * arguments.get("rtt0_ms"));
    output
}
