//! The forms of the two-phase model by name.

use crate::models::Output;
use crate::models::arguments::Checked;
use crate::models::curve::{sampled, thinned};
use crate::models::mimd::simulation::{Point, Setting, Simulation};
use crate::models::mimd::{self, joint};

pub(super) fn literal(arguments: &Checked) -> Output {
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
    output
}

pub(super) fn corrected(arguments: &Checked) -> Output {
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
    output
}

pub(super) fn simulation(arguments: &Checked) -> Output {
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
    output
}
