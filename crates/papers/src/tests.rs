//! A run for the tests of this crate.

use fairpace_results::{
    Cost, FlowSeries, FlowSummary, LinkSeries, LinkSummary, Run, ScenarioId, Series, Summary,
};

/// A run with a flow "1.5ms" (bbr1) and flows "web-1" and "web-2" (cubic), with goodputs of 10, 20 and 30
/// plus `seed`, over four seconds.
pub(crate) fn run(seed: u64) -> Run {
    let goodputs = [10.0, 20.0, 30.0].map(|mbps| mbps + seed as f64);
    let names = [("1.5ms", "bbr1"), ("web-1", "cubic"), ("web-2", "cubic")];
    let flow = |((name, cc), goodput_mbps): ((&str, &str), f64)| FlowSummary {
        name: name.into(),
        cc: cc.into(),
        goodput_mbps,
        rtt_mean_ms: Some(goodput_mbps * 2.0),
        ..FlowSummary::default()
    };
    let series = |goodput: f64| FlowSeries {
        goodput_mbps: (0..4).map(|i| goodput as f32 * i as f32).collect(),
        rtt_ms: vec![f32::NAN, 3.0, 1.0, 2.0],
        phase: vec![0; 4],
        ..FlowSeries::default()
    };
    let link = LinkSummary {
        name: "bottleneck".into(),
        utilization: 0.5,
        backlog_share: vec![0.5, 0.25, 0.25],
        ..LinkSummary::default()
    };
    let summary = Summary {
        schema: "fairpace.summary/3".into(),
        on: "sim".into(),
        commit: "c".into(),
        seed,
        scenario: ScenarioId { title: "t".into(), hash: "h".into() },
        window_s: [0.0, 4.0],
        flows: names.into_iter().zip(goodputs).map(flow).collect(),
        links: vec![link],
        jain: Some(0.75),
        convergence_s: None,
        max_min_distance: None,
        cost: Cost { wall_s: 2.0, cpu_s: 1.0, data_packets: 100 },
    };
    let links = vec![LinkSeries {
        queue_delay_ms: vec![0.0, 5.0, f32::NAN, 7.0],
        backlog_kb: vec![vec![1.0; 4], vec![2.0; 4], vec![4.0; 4]],
        drops: vec![0, 1, 2, 3],
    }];
    let flows = goodputs.map(series).into();
    Run { summary, series: Series { t_s: vec![1.0, 2.0, 3.0, 4.0], flows, links }, notes: Vec::new() }
}
