//! Writes the calls of LEVEL with their inputs and decisions, for cc/tests/level-python/replay.py: calls of
//! simulated flows of different kinds, and generated streams with values at every edge. One file of JSON
//! lines each.

// the streams by which the kernel's build is compared with the native one
#[path = "../../kernel/tests/all/support/streams.rs"]
mod streams;

use std::error::Error;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use fairpace_cc::{Algorithm, Controller, Decision, Params, View};
use fairpace_results::Silent;
use fairpace_scenario::Target;
use fairpace_sim::recording::{Call, CallKind, record};
use fairpace_test_support::Random;

use streams::Stream;

/// Simulated flows: name, seconds, links, flows.
const SCENARIOS: [(&str, u32, &str, &str); 12] = [
    (
        "rtts",
        40,
        "rate = \"100mbit\"\nbuffer = \"2MB\"",
        "[[flow]]\nname = \"a\"\nrtt = \"10ms\"\ncc = \"level\"\n\
         [[flow]]\nname = \"b\"\nrtt = \"50ms\"\ncc = \"level\"\nstart = \"1s\"",
    ),
    (
        "slow",
        120,
        "rate = \"2mbit\"\nbuffer = \"60kB\"",
        "[[flow]]\nrtt = \"20ms\"\ncc = \"level\"\ncount = 2",
    ),
    (
        "loss",
        60,
        "rate = \"20mbit\"\nbuffer = \"200kB\"\nloss = \"2%\"",
        "[[flow]]\nrtt = \"30ms\"\ncc = \"level\"",
    ),
    (
        "wifi",
        60,
        "rate = \"50mbit\"\nbuffer = \"500kB\"\njitter = \"3ms\"",
        "[[flow]]\nrtt = \"20ms\"\ncc = \"level\"\nack_aggregation = \"20ms\"\nack_jitter = \"5ms\"",
    ),
    (
        "pauses",
        60,
        "rate = \"20mbit\"\nbuffer = \"200kB\"",
        "[[flow]]\nname = \"a\"\nrtt = \"20ms\"\ncc = \"level\"\non = \"700ms\"\noff = \"400ms\"\n\
         [[flow]]\nname = \"b\"\nrtt = \"40ms\"\ncc = \"level\"\n\
         write_rate = \"3mbit\"\nwrite_every = \"100ms\"",
    ),
    (
        "crowd",
        40,
        "rate = \"10mbit\"\nbuffer = \"500kB\"",
        "[[flow]]\nrtt = \"20ms\"\ncc = \"level\"\ncount = 40",
    ),
    (
        "shallow",
        40,
        "rate = \"50mbit\"\nbuffer = \"10kB\"",
        "[[flow]]\nname = \"a\"\nrtt = \"100ms\"\ncc = \"level\"\n\
         [[flow]]\nname = \"b\"\nrtt = \"20ms\"\ncc = \"level\"\nstart = \"5s\"",
    ),
    // the longest growth
    (
        "competing",
        90,
        "rate = \"20mbit\"\nbuffer = \"100kB\"",
        "[[flow]]\nrtt = \"20ms\"\ncc = \"level\"\n\
         [[flow]]\nrtt = \"20ms\"\ncc = \"cubic\"\nstart = \"2s\"\nstop = \"60s\"",
    ),
    // flows that yield, but do not drain with it, are taken for competitors
    (
        "false-detection",
        80,
        "rate = \"20mbit\"\nbuffer = \"500kB\"",
        "[[flow]]\nrtt = \"20ms\"\ncc = \"level\"\nset = { detection_drains = 2 }\n\
         [[flow]]\nrtt = \"20ms\"\ncc = \"level\"\nset = { drain_interval = \"0s\", level = \"2700us\" }\n\
         start = \"10s\"\ncount = 5\n\
         [[flow]]\nrtt = \"20ms\"\ncc = \"level\"\nset = { drain_interval = \"0s\", level = \"2700us\" }\n\
         start = \"12s\"\non = \"1500ms\"\noff = \"700ms\"",
    ),
    // and these do not yield enough: their level rises as they shrink
    (
        "confirmed",
        80,
        "rate = \"20mbit\"\nbuffer = \"500kB\"",
        "[[flow]]\nrtt = \"20ms\"\ncc = \"level\"\nset = { detection_drains = 2 }\n\
         [[flow]]\nrtt = \"20ms\"\ncc = \"level\"\nset = { drain_interval = \"0s\", level = \"10ms\" }\n\
         start = \"10s\"\ncount = 5\n\
         [[flow]]\nrtt = \"20ms\"\ncc = \"level\"\nset = { drain_interval = \"0s\", level = \"10ms\" }\n\
         start = \"12s\"\non = \"1500ms\"\noff = \"700ms\"",
    ),
    (
        "held-acks",
        60,
        "rate = \"10mbit\"\nbuffer = \"100kB\"",
        "[[flow]]\nrtt = \"20ms\"\ncc = \"level\"\n\
         [[flow]]\nrtt = \"20ms\"\ncc = \"level\"\nack_delay_at = \"20s 40ms\"",
    ),
    (
        "faster",
        28,
        "rate = \"1mbit\"\nrate_at = \"20s 1gbit\"\nbuffer = \"4MB\"",
        "[[flow]]\nrtt = \"100ms\"\ncc = \"level\"",
    ),
];
/// Number of calls per generated flow: long enough to reach every mode.
const STREAM_CALLS: usize = 2_000;
/// Number of generated flows of each kind.
const STREAM_FLOWS: u32 = 30;

/// A function that makes the stream of a seed.
type Make = fn(u64) -> Stream;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args().nth(1).ok_or("usage: level_views DIR")?;
    let folder = Path::new(&folder);
    std::fs::create_dir_all(folder)?;
    let level = Params::defaults(Algorithm::by_name("level")?);
    for (name, seconds, link, flows) in SCENARIOS {
        let text =
            format!("title = \"{name}\"\nseed = 1\nduration = \"{seconds}s\"\n[[link]]\n{link}\n{flows}\n");
        let scenario = fairpace_scenario::parse(name, &text, &[], Target::Simulator)?;
        let (run, calls) = record(|| fairpace_sim::run(&scenario, &mut Silent));
        run?;
        let mut params = level;
        if ["false-detection", "confirmed"].contains(&name) {
            params.set("detection_drains", "2")?;
        }
        // the others there are CUBIC's, or have other parameters
        let only_first = ["competing", "false-detection", "confirmed"].contains(&name);
        let is_level = |call: &Call| !only_first || call.connection == 0;
        let calls: Vec<_> = calls.into_iter().filter(is_level).map(|call| (call, params)).collect();
        write(folder, name, &calls)?;
    }
    let streams = [("plausible", Stream::plausible as Make), ("extreme", Stream::extreme)];
    for (name, make) in streams {
        let flows = (0..STREAM_FLOWS).flat_map(|flow| {
            // every other flow has other parameters
            let params = if flow % 2 == 0 { level } else { random_params(&level, u64::from(flow)) };
            stream(flow, &params, make(1_000 + u64::from(flow))).into_iter().map(move |call| (call, params))
        });
        write(folder, name, &flows.collect::<Vec<_>>())?;
    }
    Ok(())
}

/// Returns parameters anywhere in their ranges.
fn random_params(level: &Params, seed: u64) -> Params {
    let mut random = Random::new(seed);
    let mut params = *level;
    for (parameter, _) in level.iter() {
        let raw = match random.between(0, 3) {
            0 => parameter.least,
            1 => parameter.most,
            _ => random.between(parameter.least, parameter.most),
        };
        // rounding to what can be written is fine here
        let _ = params.set(parameter.name, &parameter.unit.format(raw));
    }
    params
}

/// Returns the calls of a generated flow.
fn stream(connection: u32, params: &Params, mut stream: Stream) -> Vec<Call> {
    let view = stream.first();
    let before = Decision::in_force(&view);
    let mut after = before;
    let mut flow = Controller::new(params, &view, &mut after);
    let mut calls = vec![Call { connection, kind: CallKind::Init, view, before, after }];
    for _ in 0..STREAM_CALLS {
        stream.obey(&after);
        let step = stream.next();
        let before = Decision { min_burst_pkts: after.min_burst_pkts, ..Decision::in_force(&step.view) };
        after = before;
        match step.event {
            None => flow.on_ack(&step.view, &mut after),
            Some(event) => flow.on_event(event, &step.view, &mut after),
        }
        let kind = step.event.map_or(CallKind::Ack, CallKind::Event);
        calls.push(Call { connection, kind, view: step.view, before, after });
    }
    calls
}

fn write(folder: &Path, name: &str, calls: &[(Call, Params)]) -> Result<(), Box<dyn Error>> {
    let path = folder.join(format!("{name}.jsonl"));
    let mut file = BufWriter::new(File::create(&path)?);
    for (call, params) in calls {
        let event = match call.kind {
            CallKind::Init => "\"init\"".to_owned(),
            CallKind::Ack => "\"ack\"".to_owned(),
            CallKind::Event(event) => (event as u32).to_string(),
        };
        write!(file, "{{\"flow\":{},\"event\":{event},\"view\":{}", call.connection, view(&call.view))?;
        if call.kind == CallKind::Init {
            let values: Vec<_> = params.iter().map(|(p, raw)| format!("\"{}\":{raw}", p.name)).collect();
            write!(file, ",\"params\":{{{}}}", values.join(","))?;
        }
        let (before, after) = (decision(&call.before), decision(&call.after));
        writeln!(file, ",\"decision_in\":{before},\"decision\":{after}}}")?;
    }
    file.flush()?;
    println!("{}: {} calls", path.display(), calls.len());
    Ok(())
}

/// Returns the named fields as a JSON object of numbers.
macro_rules! object {
    ($of:expr; $($field:ident)*; $($flag:ident)*) => {{
        let mut text = String::from("{");
        $( let _ = write!(text, concat!("\"", stringify!($field), "\":{},"), $of.$field); )*
        $( let _ = write!(text, concat!("\"", stringify!($flag), "\":{},"), u8::from($of.$flag)); )*
        text.pop();
        text.push('}');
        text
    }};
}

fn view(view: &View) -> String {
    let mut text = object!(view;
        now_us delivered_us pacing_rate_Bps max_pacing_rate_Bps mss_bytes cwnd_pkts prior_cwnd_pkts
        ssthresh_pkts inflight_pkts delivered_pkts lost_pkts delivered_ce_pkts max_inflight_pkts
        snd_una snd_nxt srtt_us min_rtt_us departure_lead_us random pacing_shift
        sample_delivered_pkts sample_interval_us rtt_us sample_prior_delivered_pkts prior_inflight_pkts
        acked_pkts losses_pkts sample_inflight_pkts
        sample_lost_pkts sample_delivered_ce_pkts sample_end_seq;
        paced cwnd_limited app_limited ecn is_app_limited is_ack_delayed is_ece is_probe_ack);
    text.pop();
    let _ = write!(text, ",\"ca_state\":{}}}", view.ca_state as u8);
    text
}

fn decision(decision: &Decision) -> String {
    object!(decision; pacing_rate_Bps cwnd_pkts ssthresh_pkts app_limited_until_pkts min_burst_pkts;)
}
