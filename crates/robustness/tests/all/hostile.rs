//! Hostile headers in the simulator: every flow goes on, nothing overflows, and what the host changed is
//! counted.

use std::sync::OnceLock;
use std::time::Duration;

use fairpace_bpf_build::{NativeCompiler, Sources};
use fairpace_cc::Origin;
use fairpace_cc::plugin::{self, Compiled};
use fairpace_results::observer::{ConnectionId, Content, LinkEvent, Observer, Packet, SenderState};
use fairpace_results::{Run, Silent};
use fairpace_robustness::hostile::{FIRST_RANDOM, Hostile, write_headers};
use fairpace_scenario::{Cc, Flow, Link, Scenario, Window};

/// Random headers.
const RANDOM: u32 = 200;
/// Nanoseconds of a millisecond.
const MS: u64 = 1_000_000;

/// Compiles the headers for this machine and loads them, once.
#[expect(unsafe_code, reason = "the headers run in this process")]
fn load() {
    static LOADED: OnceLock<()> = OnceLock::new();
    LOADED.get_or_init(|| {
        let folder = tempfile::tempdir().expect("a folder");
        let compiler = NativeCompiler::new(Sources::contained().expect("unpack")).expect("clang");
        for header in write_headers(folder.path()).expect("write") {
            let library = compiler.compile(&header, folder.path()).unwrap_or_else(|error| panic!("{error}"));
            let origin = Origin { header, written: Vec::new(), digest: library.digest, files: library.files };
            // SAFETY: compiled from this version's native.c just now
            unsafe { plugin::load(Compiled { library: library.path, origin }) }.expect("it loads");
        }
    });
}

/// The algorithm with the parameters of a hostile header.
fn cc(hostile: Hostile) -> Cc {
    let mut cc: Cc = hostile.name().parse().expect("it is loaded");
    for (name, value) in hostile.settings() {
        cc.set(name, &value.to_string()).expect("it exists");
    }
    cc
}

/// Flows on paths of 0.2 to 600 ms over a link of 20 Mbit/s: also with pacing, whatever the algorithm asks
/// for. Their receive windows together fit into the buffer.
fn scenario(cc: &Cc, buffer_bytes: u64, loss_ppb: u64) -> Scenario {
    let mut link = Link::new("link", 20_000_000, buffer_bytes);
    link.loss.ppb = loss_ppb;
    let flow = |(number, rtt_us): (usize, u64)| {
        let mut flow = Flow::new(format!("f{number}"), cc.clone(), Duration::from_micros(rtt_us));
        flow.receiving.window = Window::Fixed(64 * 1448);
        flow.sending.pacing = (number % 2 == 1).then_some(true);
        flow
    };
    let rtts_us = [200, 200, 1_000, 1_000, 20_000, 20_000, 600_000, 600_000];
    Scenario {
        title: "hostile".into(),
        why: String::new(),
        seed: 1,
        duration: Duration::from_secs(8),
        window: (Duration::from_secs(1), Duration::from_secs(8)),
        interval: Duration::from_millis(100),
        links: vec![link],
        flows: rtts_us.into_iter().enumerate().map(flow).collect(),
        hash: String::new(),
    }
}

/// The longest pause between two packets of each flow at the link, as a part of what is allowed.
#[derive(Default)]
struct Pauses {
    flows: Vec<Pause>,
    cwnd_most_pkts: u32,
}

#[derive(Clone, Copy, Default)]
struct Pause {
    /// The last packet; 0 before the first.
    last_ns: u64,
    /// The RTT, and the longest since then.
    srtt_us: u64,
    longest_us: u64,
    worst: f64,
}

impl Pauses {
    fn of(&mut self, connection: ConnectionId) -> &mut Pause {
        let flow = connection.flow as usize;
        if self.flows.len() <= flow {
            self.flows.resize(flow + 1, Pause::default());
        }
        &mut self.flows[flow]
    }
}

impl Pause {
    fn end(&mut self, at_ns: u64) {
        let allowed_ns = (2 * self.longest_us * 1_000).max(500 * MS);
        if self.last_ns > 0 {
            self.worst = self.worst.max(at_ns.saturating_sub(self.last_ns) as f64 / allowed_ns as f64);
        }
        (self.last_ns, self.longest_us) = (at_ns, self.srtt_us);
    }
}

impl Observer for Pauses {
    fn packet(&mut self, at_ns: u64, _: u32, event: LinkEvent, packet: &Packet) {
        if event == LinkEvent::Departed && matches!(packet.content, Content::Data { .. }) {
            self.of(packet.connection).end(at_ns);
        }
    }

    fn sender(&mut self, _: u64, connection: ConnectionId, state: impl FnOnce() -> SenderState) {
        let state = state();
        self.cwnd_most_pkts = self.cwnd_most_pkts.max(state.cwnd_pkts);
        let pause = self.of(connection);
        pause.srtt_us = state.srtt_us;
        pause.longest_us = pause.longest_us.max(state.srtt_us);
    }
}

fn run(scenario: &Scenario) -> (Run, Pauses) {
    let mut pauses = Pauses::default();
    let run = fairpace_sim::run_with(scenario, &mut Silent, &mut pauses).expect("it runs");
    (run, pauses)
}

fn clamps(run: &Run) -> u64 {
    let of = |flow: &fairpace_results::FlowSummary| {
        flow.clamped.map_or(0, |c| c.cwnd + c.ssthresh + c.pacing_rate + c.min_burst + c.app_limited)
    };
    run.summary.flows.iter().map(of).sum()
}

#[test]
fn a_flow_of_any_hostile_header_goes_on() {
    load();
    for number in 0..FIRST_RANDOM + RANDOM {
        let hostile = Hostile::of(number);
        let cc = cc(hostile);
        let (run, mut pauses) = run(&scenario(&cc, 10_000_000, 0));
        for flow in 0..8 {
            let at = ConnectionId { flow, index: 0 };
            pauses.of(at).end(8_000 * MS);
            let worst = pauses.of(at).worst;
            assert!(worst <= 1.0, "header {number} {hostile:?}, flow {flow}: {worst:.2} of what is allowed");
        }
        assert!(pauses.cwnd_most_pkts < i32::MAX as u32, "header {number}");
        if number < FIRST_RANDOM {
            assert!(clamps(&run) > 100, "header {number}: {} clamps", clamps(&run));
            assert!(run.notes.iter().any(|note| note.contains("were changed: ")), "{:?}", run.notes);
        }
    }
}

/// With losses the same must not overflow, and ends.
#[test]
fn hostile_headers_survive_losses() {
    load();
    for number in 0..FIRST_RANDOM + RANDOM / 4 {
        for (buffer_bytes, loss_ppb) in [(30_000, 0), (10_000_000, 30_000_000)] {
            let (run, pauses) = run(&scenario(&cc(Hostile::of(number)), buffer_bytes, loss_ppb));
            assert!(pauses.cwnd_most_pkts < i32::MAX as u32, "header {number}");
            let goodput_mbps: f64 = run.summary.flows.iter().map(|flow| flow.goodput_mbps).sum();
            assert!(
                goodput_mbps > 0.1,
                "header {number} {:?} loss {loss_ppb}: {:#?}",
                Hostile::of(number),
                run.summary.flows
            );
        }
    }
}

/// What is shown is about the header, not about the host.
#[test]
fn a_header_that_grows_as_it_should_is_not_counted_until_it_reduces_to_zero() {
    load();
    let cc = cc(Hostile::reduces_to_zero());
    assert_eq!(clamps(&run(&scenario(&cc, 10_000_000, 0)).0), 0);
    let (run, _) = run(&scenario(&cc, 30_000, 0));
    let clamped = run.summary.flows[4].clamped.expect("it lost packets");
    assert!(clamped.ssthresh > 0, "{clamped:?}");
}
