//! The catalogue entries of the two-phase model.

use super::{Entry, argument, count, quantity, sampled, thinned};
use crate::models::Output;
use crate::models::arguments::{Argument, Checked, Error};
use crate::models::mimd::simulation::{Point, Setting, Simulation};
use crate::models::mimd::{self, joint};

const SOURCE: &str = "Zhang et al., Improving Google's BBR for Reduced Latency and Increased Fairness, 2018";

const GAINS: &[Argument] = &[
    argument("gain", "", [1.0, 2.0], mimd::GAIN, "pacing gain of the first phase"),
    argument("cwnd_gain", "", [1.0, 10.0], mimd::CWND_GAIN, "cwnd in estimated bandwidth-delay products"),
];

const RTTS: &[Argument] = &[
    argument("rtt0_ms", "ms", [1.0, 1000.0], 20.0, "minimum RTT of flow 0"),
    argument("rtt1_ms", "ms", [1.0, 1000.0], 40.0, "minimum RTT of flow 1"),
];

pub(super) static LITERAL: Entry = Entry {
    name: "mimd.literal",
    title: "two-phase MIMD model: factors and equilibria of one flow, equations 1 to 10",
    source: SOURCE,
    arguments: &[
        &[
            argument("rtt_ms", "ms", [1.0, 1000.0], 20.0, "minimum RTT, T"),
            argument("delay_ms", "ms", [0.0, 10_000.0], 10.0, "queueing delay, D"),
        ],
        GAINS,
    ],
    values: &[
        quantity("pacing_factor", "", "factor of the estimate per cycle while pacing limits (7)"),
        quantity("cwnd_factor", "", "factor of the estimate per round while cwnd limits (7)"),
        quantity("pacing_equilibrium_ms", "ms", "D at which pacing_factor is 1 (8)"),
        quantity("cwnd_equilibrium_ms", "ms", "D at which cwnd_factor is 1 (8)"),
        quantity("alpha", "", "adaptive gain in excess of 1: D / T within 0.05 and 0.95 (10)"),
        quantity("adaptive_factor", "", "factor of the estimate per cycle with this alpha (9)"),
        quantity("adaptive_equilibrium_ms", "ms", "D at which adaptive_factor is 1 with this alpha (10)"),
    ],
    curves: &[
        quantity("pacing_factor", "ms, -", "pacing_factor over D, up to twice the RTT"),
        quantity("cwnd_factor", "ms, -", "cwnd_factor over D"),
        quantity("adaptive_factor", "ms, -", "adaptive_factor over D; alpha follows D"),
    ],
    evaluate: literal,
};

fn literal(arguments: &Checked) -> Result<Output, Error> {
    let [rtt, delay] = ["rtt_ms", "delay_ms"].map(|name| arguments.get(name));
    let [gain, cwnd_gain] = ["gain", "cwnd_gain"].map(|name| arguments.get(name));
    let alpha = mimd::adaptive_alpha(rtt, delay);
    let mut output = Output::default();
    output.value("pacing_factor", mimd::pacing_factor(gain, rtt, delay));
    output.value("cwnd_factor", mimd::cwnd_factor(cwnd_gain, rtt, delay));
    output.value("pacing_equilibrium_ms", mimd::pacing_equilibrium(gain, rtt));
    output.value("cwnd_equilibrium_ms", mimd::cwnd_equilibrium(cwnd_gain, rtt));
    output.value("alpha", alpha);
    output.value("adaptive_factor", mimd::adaptive_factor(rtt, delay));
    output.value("adaptive_equilibrium_ms", mimd::pacing_equilibrium(1.0 + alpha, rtt));
    let curve = |of: &dyn Fn(f64) -> f64| sampled(0.0, 2.0 * rtt, 200, of).collect::<Vec<_>>();
    output.curve("pacing_factor", curve(&|delay| mimd::pacing_factor(gain, rtt, delay)));
    output.curve("cwnd_factor", curve(&|delay| mimd::cwnd_factor(cwnd_gain, rtt, delay)));
    output.curve("adaptive_factor", curve(&|delay| mimd::adaptive_factor(rtt, delay)));
    Ok(output)
}

pub(super) static CORRECTED: Entry = Entry {
    name: "mimd.corrected",
    title: "two-phase MIMD model: two flows over one queue, with the boundary between the phases",
    source: SOURCE,
    arguments: &[
        RTTS,
        GAINS,
        &[argument("starved", "", [1e-9, 0.5], 0.001, "share at which a flow counts as starved")],
    ],
    values: &[
        quantity("cwnd_limits_from0_ms", "ms", "D above which cwnd limits flow 0, which paces at the gain"),
        quantity("cwnd_limits_from1_ms", "ms", "the same for flow 1"),
        quantity("equilibrium0_ms", "ms", "D at which flow 0's estimate stays, limited by cwnd"),
        quantity("equilibrium1_ms", "ms", "the same for flow 1"),
        quantity(
            "mixed_ratio",
            "",
            "ratio of the RTTs of a pacing-limited and a cwnd-limited flow in joint equilibrium",
        ),
        quantity("final_delay_ms", "ms", "D to which both tend: the equilibrium of the longer flow"),
        quantity(
            "odds_factor",
            "",
            "factor of the longer flow's odds per new estimate of both, at that delay",
        ),
        quantity(
            "updates_to_starve",
            "",
            "least number of new estimates until the shorter flow starves, from equal shares",
        ),
    ],
    curves: &[quantity("odds_factor", "ms, -", "odds_factor over D, up to twice the longer RTT")],
    evaluate: corrected,
};

fn corrected(arguments: &Checked) -> Result<Output, Error> {
    let rtts = ["rtt0_ms", "rtt1_ms"].map(|name| arguments.get(name));
    let [gain, cwnd_gain] = ["gain", "cwnd_gain"].map(|name| arguments.get(name));
    let mut output = Output::default();
    for (index, rtt) in rtts.into_iter().enumerate() {
        let limits_from = joint::cwnd_limits_from(gain, cwnd_gain, rtt);
        output.value(&format!("cwnd_limits_from{index}_ms"), limits_from);
        output.value(&format!("equilibrium{index}_ms"), mimd::cwnd_equilibrium(cwnd_gain, rtt));
    }
    let delay = joint::final_delay(cwnd_gain, rtts);
    output.value("mixed_ratio", joint::mixed_ratio(gain, cwnd_gain));
    output.value("final_delay_ms", delay);
    output.value("odds_factor", joint::odds_factor(rtts, delay));
    output.value("updates_to_starve", joint::updates_to(arguments.get("starved"), cwnd_gain, rtts));
    let longest = rtts[0].max(rtts[1]);
    output.curve("odds_factor", sampled(0.0, 2.0 * longest, 200, |delay| joint::odds_factor(rtts, delay)));
    Ok(output)
}

pub(super) static SIMULATION: Entry = Entry {
    name: "mimd.simulation",
    title: "two-phase MIMD model: two flows over one queue in continuous time",
    source: SOURCE,
    arguments: &[
        RTTS,
        &[
            argument("capacity_mbps", "Mbit/s", [0.1, 1e6], 1100.0, "rate of the link"),
            argument("r0_mbps", "Mbit/s", [1e-3, 1e6], 550.0, "estimate of flow 0 at the start"),
            argument("r1_mbps", "Mbit/s", [1e-3, 1e6], 550.0, "estimate of flow 1 at the start"),
        ],
        GAINS,
        &[
            count("adaptive", [0.0, 1.0], 0.0, "1: the gain is 1 + alpha, from each flow's delay"),
            count("filter_rounds", [1.0, 100.0], 10.0, "length of the maximum filter in rounds"),
            count("offset", [0.0, 7.0], 4.0, "rounds by which flow 1's cycle starts behind flow 0's"),
            argument("duration_s", "s", [0.1, 600.0], 60.0, "simulated time"),
        ],
    ],
    values: &[
        quantity("share0", "", "flow 0's share, mean of the last tenth"),
        quantity("delay_ms", "ms", "queueing delay, mean of the last tenth"),
        quantity("rtts_of_delay", "", "delay_ms in RTTs of the longer flow"),
        quantity("alpha0", "", "gain of flow 0 in excess of 1 at the end"),
        quantity("alpha1", "", "the same for flow 1"),
        quantity("used", "", "share of the capacity that is used, mean of the last tenth"),
    ],
    curves: &[
        quantity("rate0_mbps", "s, Mbit/s", "throughput of flow 0"),
        quantity("rate1_mbps", "s, Mbit/s", "throughput of flow 1"),
        quantity("share0", "s, -", "flow 0's share of the estimates"),
        quantity("delay_ms", "s, ms", "queueing delay"),
    ],
    evaluate: simulation,
};

fn simulation(arguments: &Checked) -> Result<Output, Error> {
    let of = |name| arguments.get(name);
    let setting = Setting {
        rtts_s: [of("rtt0_ms") / 1e3, of("rtt1_ms") / 1e3],
        capacity: of("capacity_mbps"),
        rates: [of("r0_mbps"), of("r1_mbps")],
        gain: of("gain"),
        cwnd_gain: of("cwnd_gain"),
        adaptive: arguments.is_on("adaptive"),
        filter_rounds: arguments.whole("filter_rounds"),
        offset: arguments.whole("offset"),
        duration_s: of("duration_s"),
    };
    let points: Vec<Point> = Simulation::new(setting).collect();
    let late = &points[points.len() - points.len().div_ceil(10)..];
    let mean = |of: &dyn Fn(&Point) -> f64| late.iter().map(of).sum::<f64>() / late.len() as f64;
    let delay_s = mean(&|point| point.delay_s);
    let mut output = Output::default();
    output.value("share0", mean(&|point| point.rates[0] / (point.rates[0] + point.rates[1])));
    output.value("delay_ms", delay_s * 1e3);
    output.value("rtts_of_delay", delay_s / setting.rtts_s[0].max(setting.rtts_s[1]));
    output.value("used", mean(&|point| (point.rates[0] + point.rates[1]) / setting.capacity));
    if let Some(last) = points.last() {
        output.value("alpha0", last.alphas[0]);
        output.value("alpha1", last.alphas[1]);
    }
    let thin = thinned(&points);
    let mut curve = |name: &str, of: fn(&Point) -> f64| {
        output.curve(name, thin.clone().map(|point| [point.time_s, of(&point)]));
    };
    curve("rate0_mbps", |point| point.rates[0]);
    curve("rate1_mbps", |point| point.rates[1]);
    curve("share0", |point| point.estimates[0] / (point.estimates[0] + point.estimates[1]));
    curve("delay_ms", |point| point.delay_s * 1e3);
    Ok(output)
}
