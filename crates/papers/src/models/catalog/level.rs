//! The models of LEVEL by name.

use crate::models::Output;
use crate::models::arguments::Checked;
use crate::models::curve::sampled;
use crate::models::level::stability::Loop;
use crate::models::level::{Level, convergence, drain, equilibrium, packets_per_s, stability};

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

pub(super) fn equilibrium_of(arguments: &Checked) -> Output {
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
    output
}

pub(super) fn stability_of(arguments: &Checked) -> Output {
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
    output
}

pub(super) fn convergence_of(arguments: &Checked) -> Output {
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
    output
}
