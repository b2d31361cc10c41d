//! The catalogue entries of the queueing model.

use super::{Entry, Quantity, argument, count, quantity, sampled, thinned};
use crate::models::Output;
use crate::models::arguments::{Argument, Checked, Error};
use crate::models::queueing::simulation::{Point, Setting, Simulation, largest_ratio};
use crate::models::queueing::{PROBE_BW_S, STARVED, corrected, literal};

const SOURCE: &str =
    "Tao et al., Unraveling the RTT-fairness Problem for BBR: A Queueing Model, GLOBECOM 2018";

const RATIO: &[Argument] =
    &[argument("ratio", "", [1.0, 100.0], 5.0, "RTT of flow 1 over that of flow 0, a")];

/// The settings of section V, "unless otherwise specified".
const PATH: &[Argument] = &[
    argument("rtt0_ms", "ms", [1.0, 1000.0], 10.0, "RTT of flow 0, the shorter one"),
    argument("capacity_mbps", "Mbit/s", [0.1, 1e6], 100.0, "rate of the link, c"),
    argument("r0_mbps", "Mbit/s", [1e-3, 1e6], 10.0, "rate of flow 0 at the start"),
    argument("r1_mbps", "Mbit/s", [1e-3, 1e6], 10.0, "rate of flow 1 at the start"),
];

/// The largest ratio that is tried where one that drains is sought. The paper goes to 9.5.
const MOST_RATIO: f64 = 20.0;

const STARVED_SHARE: Argument =
    argument("starved", "", [1e-9, 0.5], STARVED, "share at which flow 0 counts as drained");

const FILTER: Argument =
    count("filter_rounds", [1.0, 100.0], 10.0, "length of the maximum filter in rounds; 1: no filter");

pub(super) static LITERAL: Entry = Entry {
    name: "queueing.literal",
    title: "queueing model: equations 1 to 22 as printed, with their errors",
    source: SOURCE,
    arguments: &[RATIO, PATH, &[STARVED_SHARE]],
    values: &[
        quantity(
            "rounds_fitted",
            "",
            "round trips of flow 1 until flow 0 is drained, by the fit of figure 6",
        ),
        quantity("slots_above_8", "", "D of equation 16; negative"),
        quantity("argument_below_8", "", "argument of the logarithm in equation 20"),
        quantity("slots_below_8", "", "X of equation 20; absent where the logarithm has no value"),
        quantity("slots_of_probe_bw", "", "N of equation 21: slots of flow 1 between two PROBE_RTTs"),
        quantity("lower_bound", "", "L of equation 22: least share of flow 0, by equation 8"),
        quantity("largest_ratio", "", "largest ratio below the first one, up to 20, whose L drains flow 0"),
        quantity("rate1_limit_mbps", "Mbit/s", "limit of equation 10 for a constant S0 = r0: c - S0/a"),
    ],
    curves: &[
        quantity("share0", "s, -", "flow 0's share of the capacity, by equation 8"),
        quantity("rate1_eq10_mbps", "s, Mbit/s", "S1 by equation 10 with S0 = r0"),
    ],
    evaluate: literal_form,
};

fn literal_form(arguments: &Checked) -> Result<Output, Error> {
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
    Ok(output)
}

pub(super) static CORRECTED: Entry = Entry {
    name: "queueing.corrected",
    title: "queueing model: equation 6 solved exactly, with BBR's filter",
    source: SOURCE,
    arguments: &[RATIO, PATH, &[FILTER, STARVED_SHARE]],
    values: &[
        quantity("starved_s", "s", "time until flow 0 is drained; absent if it never is"),
        quantity("rounds", "", "the same in round trips of flow 1"),
        quantity("updates", "", "the same in new estimates of both flows"),
        quantity("share0", "", "flow 0's share when PROBE_BW ends, after 9.8 s"),
        quantity("largest_ratio", "", "largest ratio at which flow 0 is not drained by then"),
    ],
    curves: &[
        quantity("share0", "s, -", "flow 0's share, until PROBE_BW ends"),
        quantity("rounds", "-, -", "round trips of flow 1 until flow 0 is drained, over the ratio"),
    ],
    evaluate: corrected_form,
};

fn corrected_form(arguments: &Checked) -> Result<Output, Error> {
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
    Ok(output)
}

const DYNAMICS: &[Argument] = &[
    count("filter_rounds", [0.0, 100.0], 10.0, "length of the maximum filter in rounds; 0: no filter"),
    count("samples_per_round", [1.0, 10.0], 1.0, "samples of each flow per round trip"),
    argument("gain", "", [1.0, 2.0], 1.0, "gain of every eighth round; the next has 2 minus this; 1: none"),
    count("phase0", [0.0, 7.0], 2.0, "phase in which flow 0 starts; in the paper the third"),
    count("phase1", [0.0, 7.0], 2.0, "the same for flow 1"),
    count("little", [0.0, 1.0], 0.0, "1: throughput by Little's law instead of equation 6"),
    STARVED_SHARE,
];

pub(super) static SIMULATION: Entry = Entry {
    name: "queueing.simulation",
    title: "queueing model: the two flows in continuous time, event by event",
    source: SOURCE,
    arguments: &[
        RATIO,
        PATH,
        DYNAMICS,
        &[
            argument("duration_s", "s", [0.01, 1000.0], PROBE_BW_S, "simulated time"),
            argument(
                "then_at_s",
                "s",
                [0.0, 1000.0],
                0.0,
                "a second period begins here, with the values below; 0: none",
            ),
            argument("then_capacity_mbps", "Mbit/s", [0.1, 1e6], 100.0, "rate of the link from then on"),
            argument(
                "then_r0_mbps",
                "Mbit/s",
                [1e-3, 1e6],
                10.0,
                "rate of flow 0 at the start of that period",
            ),
            argument(
                "then_r1_mbps",
                "Mbit/s",
                [1e-3, 1e6],
                10.0,
                "rate of flow 1 at the start of that period",
            ),
        ],
    ],
    values: &[
        quantity("starved_s", "s", "time until flow 0 is drained; absent if it never is"),
        quantity("rounds", "", "the same in round trips of flow 1"),
        quantity("settled_s", "s", "time after which flow 0's share stays within 0.05 of its last value"),
        quantity("share0", "", "flow 0's share at the end of the (first) period"),
        quantity("share1", "", "the same for flow 1"),
        quantity("then_share0", "", "flow 0's share at the end of the second period; absent without one"),
        quantity("then_share1", "", "the same for flow 1"),
        quantity("then_starved_s", "s", "time from its start until flow 0 is drained"),
    ],
    curves: &[
        quantity("share0", "s, -", "flow 0's share of the throughput"),
        quantity("share1", "s, -", "flow 1's share of the throughput"),
        quantity("rate0_mbps", "s, Mbit/s", "estimate of flow 0"),
        quantity("rate1_mbps", "s, Mbit/s", "estimate of flow 1"),
    ],
    evaluate: simulation_form,
};

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

fn simulation_form(arguments: &Checked) -> Result<Output, Error> {
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

/// The first time after which flow 0's share stays within 0.05 of its last value.
fn settled_s(points: &[Point]) -> f64 {
    let Some(last) = points.last() else { return f64::NAN };
    let off = points.iter().rposition(|point| (point.share0() - last.share0()).abs() > 0.05);
    points.get(off.map_or(0, |index| index + 1)).map_or(f64::NAN, |point| point.time_s)
}

pub(super) static THRESHOLD: Entry = Entry {
    name: "queueing.threshold",
    title: "queueing model: the largest ratio at which the simulation does not drain flow 0",
    source: SOURCE,
    arguments: &[
        PATH,
        DYNAMICS,
        &[
            argument("most", "", [1.001, 100.0], MOST_RATIO, "largest ratio that is tried"),
            argument("duration_s", "s", [0.01, 100.0], PROBE_BW_S, "time within which flow 0 is not drained"),
        ],
    ],
    values: THRESHOLD_VALUES,
    curves: &[],
    evaluate: threshold_form,
};

const THRESHOLD_VALUES: &[Quantity] = &[
    quantity("largest_ratio", "", "by bisection to 0.001, which assumes that a larger ratio drains sooner"),
    quantity("largest_rtt1_ms", "ms", "the RTT of flow 1 at that ratio"),
];

fn threshold_form(arguments: &Checked) -> Result<Output, Error> {
    let duration_s = arguments.get("duration_s");
    let setting = Setting { duration_s, ..setting(arguments) };
    let ratio = largest_ratio(setting, arguments.get("starved"), arguments.get("most"), 0.001);
    let mut output = Output::default();
    output.value("largest_ratio", ratio);
    output.value("largest_rtt1_ms", ratio * arguments.get("rtt0_ms"));
    Ok(output)
}
