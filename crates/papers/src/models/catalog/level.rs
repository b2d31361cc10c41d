//! The catalogue entries of LEVEL.

use super::{Entry, argument, count, quantity, sampled};
use crate::models::Output;
use crate::models::arguments::{Argument, Checked, Error};
use crate::models::level::stability::Loop;
use crate::models::level::{Level, convergence, drain, equilibrium, packets_per_s, stability};

const SOURCE: &str = "cc/level.h and research/level/theory.md";

const LEVEL: &[Argument] = &[
    argument("level_us", "us", [10.0, 1e5], 2050.0, "level of a flow of 4096 packets/s"),
    argument("exponent", "", [0.1, 4.0], 0.5, "the level falls with this power of the rate"),
];
const LINK: &[Argument] = &[argument("capacity_mbps", "Mbit/s", [0.1, 1e6], 100.0, "rate of the link")];
const FLOWS: &[Argument] = &[count("flows", [1.0, 1000.0], 2.0, "flows of equal RTT")];
const RTT: &[Argument] = &[argument("rtt_ms", "ms", [1.0, 1000.0], 20.0, "base RTT of all flows")];
const RTTS: &[Argument] = &[
    argument("rtt0_ms", "ms", [1.0, 1000.0], 10.0, "base RTT of flow 0"),
    argument("rtt1_ms", "ms", [1.0, 1000.0], 50.0, "base RTT of flow 1"),
];
const GAIN: &[Argument] = &[argument("gain", "", [0.01, 2.0], 0.25, "gain of steering")];
const KEPT: &[Argument] = &[argument("kept", "", [0.0, 1.0], 0.25, "part of r T that a drain leaves")];

fn level(arguments: &Checked) -> Level {
    Level {
        reference_s: arguments.get("level_us") * 1e-6,
        reference_rate: 4096.0,
        exponent: arguments.get("exponent"),
    }
}

fn capacity(arguments: &Checked) -> f64 {
    packets_per_s(arguments.get("capacity_mbps"))
}

pub(super) static EQUILIBRIUM: Entry = Entry {
    name: "level.equilibrium",
    title: "LEVEL: rates and queueing delay at rest, on a FIFO and on a parking lot",
    source: SOURCE,
    arguments: &[
        LEVEL,
        LINK,
        FLOWS,
        &[
            argument("error_ms", "ms", [-100.0, 100.0], 0.0, "flow 0's base RTT is too high by this"),
            count("links", [1.0, 100.0], 2.0, "bottlenecks of the parking lot, with one flow on each"),
        ],
    ],
    values: &[
        quantity("equal_delay_ms", "ms", "queueing delay without an error: f(C / N)"),
        quantity("delay_ms", "ms", "queueing delay with the error"),
        quantity("share0", "", "flow 0's share with the error"),
        quantity("first_order", "", "its share to first order in the error"),
        quantity("utilization", "", "part of the capacity that is used with the error"),
        quantity("elasticity", "", "relative change of a rate per relative error of q"),
        quantity("parking_lot_share", "", "share of the flow over all links of the parking lot"),
        quantity("parking_lot_delay_ms", "ms", "queueing delay of each link of the parking lot"),
    ],
    curves: &[
        quantity("delay_ms", "-, ms", "f(C / N) over N, up to ten times the flows"),
        quantity("share0", "ms, -", "flow 0's share over its error, from -q to q"),
    ],
    evaluate: equilibrium_of,
};

fn equilibrium_of(arguments: &Checked) -> Result<Output, Error> {
    let (level, capacity, flows) = (level(arguments), capacity(arguments), arguments.whole("flows"));
    let equal_s = level.delay_s(capacity / f64::from(flows));
    let with = |error_ms: f64| {
        let mut errors = vec![0.0; flows as usize];
        errors[0] = error_ms / 1e3;
        equilibrium::fifo(&level, capacity, &errors)
    };
    let share0 = |fifo: &equilibrium::Fifo| fifo.rates[0] / fifo.rates.iter().sum::<f64>();
    let rest = with(arguments.get("error_ms"));
    let mut output = Output::default();
    output.value("equal_delay_ms", equal_s * 1e3);
    output.value("delay_ms", rest.queue_s * 1e3);
    output.value("share0", share0(&rest));
    let (equal, elasticity) = (1.0 / f64::from(flows), equilibrium::elasticity(&level));
    let change = elasticity * arguments.get("error_ms") / 1e3 / rest.queue_s;
    output.value("first_order", equal * (1.0 + (1.0 - equal) * change));
    output.value("utilization", rest.rates.iter().sum::<f64>() / capacity);
    output.value("elasticity", elasticity);
    let over_all = equilibrium::parking_lot_share(&level, arguments.get("links"));
    output.value("parking_lot_share", over_all);
    output.value("parking_lot_delay_ms", level.delay_s((1.0 - over_all) * capacity) * 1e3);
    let most = f64::from(flows) * 10.0;
    let delay = |flows: f64| level.delay_s(capacity / flows) * 1e3;
    output.curve("delay_ms", sampled(1.0, most, 100, delay));
    output.curve("share0", sampled(-equal_s * 1e3, equal_s * 1e3, 40, |error| share0(&with(error))));
    Ok(output)
}

pub(super) static STABILITY: Entry = Entry {
    name: "level.stability",
    title: "LEVEL: the gain up to which steering is stable, for flows of one RTT and of two",
    source: SOURCE,
    arguments: &[LEVEL, LINK, RTTS, GAIN],
    values: &[
        quantity("left_after_round", "", "part of a disturbance that is left after a round, one RTT"),
        quantity("critical_gain", "", "gain up to which nothing oscillates, one RTT"),
        quantity("gain_bound", "", "gain from which it does not settle, one RTT"),
        quantity("gain_bound_continuous", "", "the same of the continuous loop, rounds of all phases"),
        quantity("gain_bound_mixed", "", "the same for the two RTTs together"),
        quantity(
            "gain_bound_resonance",
            "",
            "what the ACK clock of the longer RTT alone allows, closed form",
        ),
        quantity("gain_bound_paced", "", "the same if pacing limits instead of cwnd, one RTT"),
        quantity("is_stable", "", "1: the two flows settle with this gain"),
    ],
    curves: &[quantity("left_after_round", "-, -", "left_after_round over the gain, up to 2")],
    evaluate: stability_of,
};

fn stability_of(arguments: &Checked) -> Result<Output, Error> {
    let (level, capacity, gain) = (level(arguments), capacity(arguments), arguments.get("gain"));
    let rtts = ["rtt0_ms", "rtt1_ms"].map(|name| arguments.get(name) / 1e3);
    let mixed = Loop::new(&level, capacity, &rtts);
    let mut output = Output::default();
    output.value("left_after_round", stability::left_after_round(gain));
    output.value("critical_gain", stability::CRITICAL_GAIN);
    output.value("gain_bound", stability::LARGEST_GAIN);
    output.value("gain_bound_continuous", Loop::new(&level, capacity, &rtts[..1]).gain_bound());
    output.value("gain_bound_mixed", mixed.gain_bound());
    output.value("gain_bound_resonance", mixed.resonance_bound());
    output.value("gain_bound_paced", stability::paced_gain_bound());
    output.value("is_stable", f64::from(u8::from(mixed.is_stable(gain))));
    output.curve("left_after_round", sampled(0.0, 2.0, 200, stability::left_after_round));
    Ok(output)
}

pub(super) static CONVERGENCE: Entry = Entry {
    name: "level.convergence",
    title: "LEVEL: how fast differences of rates go away, and what drains show",
    source: SOURCE,
    arguments: &[LEVEL, LINK, FLOWS, RTT, GAIN, KEPT],
    values: &[
        quantity("steering_s", "s", "time in which steering divides a difference of ln r by e"),
        quantity("exchange_factor", "", "what an exchange leaves of a small difference of ln r"),
        quantity("depth_ms", "ms", "how much one flow's drain lowers the queueing delay"),
        quantity("kept_share", "", "the share that a flow can keep whose drains no other joins"),
    ],
    curves: &[quantity("steering_s", "ms, s", "steering_s over the base RTT, up to ten times it")],
    evaluate: convergence_of,
};

fn convergence_of(arguments: &Checked) -> Result<Output, Error> {
    let (level, capacity) = (level(arguments), capacity(arguments));
    let (flows, gain) = (arguments.get("flows"), arguments.get("gain"));
    let (rtt_s, kept) = (arguments.get("rtt_ms") / 1e3, arguments.get("kept"));
    let rate = capacity / flows;
    let steering = |rtt_s: f64| convergence::steering_s(&level, gain, rtt_s, rate);
    let depth_s = drain::depth_s(1.0 / flows, kept, rtt_s, level.delay_s(rate));
    let kept_rate = drain::kept_rate(&level, capacity, flows, rtt_s, kept);
    let mut output = Output::default();
    output.value("steering_s", steering(rtt_s));
    output.value("exchange_factor", 1.0 - level.exponent);
    output.value("depth_ms", depth_s * 1e3);
    output.value("kept_share", kept_rate / capacity);
    output.curve("steering_s", sampled(0.0, 1e4 * rtt_s, 100, |rtt_ms| steering(rtt_ms / 1e3)));
    Ok(output)
}
