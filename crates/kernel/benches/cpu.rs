//! CPU per gigabyte of `fp_bbr1` against the kernel's own `bbr`: the cost of running an algorithm as BPF.
//!
//!     cargo bench -p fairpace-kernel --bench cpu -- [--pairs N] [--seconds S] [--flows N]
//!         [--cc NAME] [--against NAME]
//!
//! Bulk flows (one, or --flows) from one network namespace to another over a plain veth pair, as fast as they
//! go. The two algorithms alternate (A B A B), and each neighbouring pair gives one ratio: a drift of the
//! machine affects both algorithms. Two shapes: packets of up to 64 KB, as they pass the stack of a host with
//! offloads, and packets of 1500 bytes, which bring many more ACKs per gigabyte.
//!
//! Senders run on the first CPU and receivers on the second: where the scheduler puts them moves the ratio of
//! two runs by up to a factor of two, otherwise. So does a window that outgrows the caches: receive buffers
//! are at most 512 KB.
//!
//! CPU is the time of this process's threads, which send and receive, plus the time that all CPUs spent in
//! interrupts, soft and hard: TCP's receive side, its timers and the pacing run there. Other processes count
//! only by the interrupts that they cause, and by the caches that they empty: an idle machine gives a
//! narrower range.

use std::ffi::OsString;
use std::fs;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::process::{Command, ExitCode};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use fairpace_cc::{Algorithm, Params};
use fairpace_kernel::{LoadOptions, Loaded, Program, load};
use libbpf_rs::query::ProgInfoIter;
use nix::sched::{CloneFlags, CpuSet, sched_setaffinity, unshare};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::socket::{setsockopt, sockopt::TcpCongestion};
use nix::unistd::{Pid, SysconfVar, gettid, sysconf};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Link-local addresses of the veth pair: they never leave the two namespaces.
const SENDER: &str = "169.254.77.1/30";
const RECEIVER: &str = "169.254.77.2/30";
/// Port of the receiver, which is in a network namespace of its own.
const PORT: u16 = 7700;

/// Value of `tcp_rmem` in the receiver's namespace, bytes: least, default, most.
const RECEIVE_BUFFER: &str = "4096 131072 524288";

struct Options {
    pairs: usize,
    /// Length of each run.
    time: Duration,
    flows: usize,
    algorithm: String,
    against: String,
}

fn main() -> ExitCode {
    // cargo test runs bench targets without --bench: nothing to test here
    if !std::env::args().any(|a| a == "--bench") {
        return ExitCode::SUCCESS;
    }
    match options().and_then(|o| run(&o)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("bench-kernel: {e}");
            ExitCode::FAILURE
        }
    }
}

fn options() -> Result<Options> {
    let mut options = Options {
        pairs: 31,
        time: Duration::from_secs(1),
        flows: 1,
        algorithm: "bbr1".into(),
        against: "bbr".into(),
    };
    let mut words = std::env::args().skip(1).filter(|a| a != "--bench");
    while let Some(word) = words.next() {
        let value = words.next().ok_or(format!("{word} needs a value"))?;
        match word.as_str() {
            "--pairs" => options.pairs = value.parse()?,
            "--seconds" => options.time = Duration::try_from_secs_f64(value.parse()?)?,
            "--flows" => options.flows = value.parse()?,
            "--cc" => options.algorithm = value,
            "--against" => options.against = value,
            _ => return Err(format!("unknown option {word}").into()),
        }
    }
    match options.pairs {
        0 => Err("--pairs takes 1 or more".into()),
        _ => Ok(options),
    }
}

fn run(options: &Options) -> Result<()> {
    let algorithm = Algorithm::by_name(&options.algorithm)?;
    let loaded = load(&Params::defaults(algorithm), &LoadOptions::unique())?;
    println!(
        "{} pairs of {} s, flows over veth: {}; CPU seconds per gigabyte",
        options.pairs,
        options.time.as_secs_f64(),
        options.flows
    );
    for (shape, tso) in [("64 KB packets (TSO)", "on"), ("1500-byte packets", "off")] {
        let path = Path::new(tso, options.flows)?;
        path.flow(loaded.kernel_name(), Duration::from_secs(1))?; // warms up caches, buffers and the clock
        let mut pairs = Vec::new();
        for _ in 0..options.pairs {
            let ours = path.flow(loaded.kernel_name(), options.time)?;
            let theirs = path.flow(&options.against, options.time)?;
            pairs.push((ours, theirs));
        }
        report(shape, options, &pairs);
    }
    programs(&loaded)?;
    undisturbed(&loaded)
}

/// Prints the number of calls of each hook and its time: by the kernel's own statistics, which cost time
/// themselves.
fn programs(loaded: &Loaded) -> Result<()> {
    // SAFETY: a system call without pointers; the result is a descriptor or a negative error
    let statistics = unsafe { libbpf_sys::bpf_enable_stats(libbpf_sys::BPF_STATS_RUN_TIME) };
    if statistics < 0 {
        return Err(format!("enabling BPF statistics: error {statistics}").into());
    }
    let count = || -> Vec<(u64, u64)> {
        let all: Vec<_> = ProgInfoIter::default().map(|p| (p.id, (p.run_cnt, p.run_time_ns))).collect();
        let of = |p: &Program| all.iter().find(|(id, _)| *id == p.id).map_or((0, 0), |(_, counts)| *counts);
        loaded.programs().iter().map(of).collect()
    };
    for tso in ["on", "off"] {
        let before = count();
        let cost = Path::new(tso, 1)?.flow(loaded.kernel_name(), Duration::from_secs(2))?;
        println!("hooks, tso {tso}: calls per MB, ns per call");
        let mut all_ns = 0;
        for ((program, after), before) in loaded.programs().iter().zip(count()).zip(before) {
            let (calls, ns) = (after.0 - before.0, after.1 - before.1);
            let per_mb = calls as f64 * 1e6 / cost.bytes as f64;
            all_ns += ns;
            println!("  {:<16} {per_mb:>8.2} {:>8.0}", program.name, ns as f64 / calls.max(1) as f64);
        }
        let part = all_ns as f64 * 1e-9 / cost.cpu_s;
        println!("  together {:.2} % of the CPU time, with the clocks that measure them", part * 100.0);
    }
    Ok(())
}

fn undisturbed(loaded: &Loaded) -> Result<()> {
    match loaded.counters()?.sentences().as_slice() {
        [] => Ok(()),
        sentences => Err(format!("the figures are not the algorithm's: {}", sentences.join("; ")).into()),
    }
}

fn report(shape: &str, options: &Options, pairs: &[(Cost, Cost)]) {
    let side = |pick: fn(&(Cost, Cost)) -> Cost| {
        let per_gb = spread(pairs.iter().map(|p| pick(p).cpu_s_per_gb()));
        let rate = spread(pairs.iter().map(|p| pick(p).gbit_per_s()));
        format!("{:.4} ({:.4}-{:.4}) at {:.1} Gbit/s", per_gb[1], per_gb[0], per_gb[2], rate[1])
    };
    let ratio: Vec<f64> =
        pairs.iter().map(|(ours, theirs)| ours.cpu_s_per_gb() / theirs.cpu_s_per_gb()).collect();
    let interval = median_interval(&ratio);
    let ratio = spread(ratio.into_iter());
    println!("{shape}");
    println!("  fp_{:<12} {}", options.algorithm, side(|p| p.0));
    println!("  {:<15} {}", options.against, side(|p| p.1));
    println!(
        "  ratio           {:.3} (median of pairs, 95 % interval {:.3}-{:.3}; all pairs {:.3}-{:.3})",
        ratio[1], interval[0], interval[1], ratio[0], ratio[2]
    );
}

/// Returns the interval that has the true median with a probability of 95 %: by ranks, so whatever the
/// distribution. The number of values below the median is binomial, n / 2 with a deviation of sqrt(n) / 2.
fn median_interval(values: &[f64]) -> [f64; 2] {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    let (n, half) = (values.len() as f64, 0.98 * (values.len() as f64).sqrt());
    let least = (n / 2.0 - half).floor().max(0.0) as usize;
    [values[least], values[values.len() - 1 - least]]
}

/// Returns the least value, the median and the largest value.
fn spread(values: impl Iterator<Item = f64>) -> [f64; 3] {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    [values[0], values[values.len() / 2], values[values.len() - 1]]
}

#[derive(Clone, Copy)]
struct Cost {
    cpu_s: f64,
    wall_s: f64,
    bytes: u64,
}

impl Cost {
    fn cpu_s_per_gb(self) -> f64 {
        self.cpu_s * 1e9 / self.bytes as f64
    }

    fn gbit_per_s(self) -> f64 {
        self.bytes as f64 * 8e-9 / self.wall_s
    }
}

/// Two namespaces, each held by a thread, and a veth pair between them. They disappear with the process at
/// the latest.
struct Path {
    /// Requests for runs: the algorithm and the duration.
    requests: mpsc::Sender<(String, Duration)>,
    results: mpsc::Receiver<std::result::Result<Cost, String>>,
}

impl Path {
    fn new(tso: &'static str, flows: usize) -> Result<Path> {
        let (requests, orders) = mpsc::channel::<(String, Duration)>();
        let (answers, results) = mpsc::channel();
        let (far_thread, far) = mpsc::channel();
        let (peer_ready, ready) = mpsc::channel();
        thread::spawn(move || {
            let prepare = || -> Result<String> {
                stay_on(1)?;
                let namespace = own_namespace()?;
                fs::write("/proc/sys/net/ipv4/tcp_rmem", RECEIVE_BUFFER)?; // of this namespace
                Ok(namespace)
            };
            let namespace = prepare().map_err(|e| e.to_string());
            let receiving = namespace.is_ok();
            let _ = far_thread.send(namespace);
            if receiving && ready.recv().is_ok() {
                receive();
            }
        });
        let (built, done) = mpsc::channel();
        thread::spawn(move || {
            let build = || -> Result<()> {
                build_path(&far.recv()??, tso)?;
                Ok(stay_on(0)?)
            };
            let outcome = build().map_err(|e| e.to_string());
            let usable = outcome.is_ok();
            let _ = peer_ready.send(());
            let _ = built.send(outcome);
            while usable && let Ok((name, duration)) = orders.recv() {
                let cost = send(&name, duration, flows).map_err(|e| e.to_string());
                if answers.send(cost).is_err() {
                    break;
                }
            }
        });
        done.recv()??;
        Ok(Path { requests, results })
    }

    fn flow(&self, congestion_control: &str, duration: Duration) -> Result<Cost> {
        self.requests.send((congestion_control.to_owned(), duration))?;
        Ok(self.results.recv()??)
    }
}

/// Keeps this thread, and the threads that it starts, on one of the CPUs.
fn stay_on(cpu: usize) -> nix::Result<()> {
    let cpus = thread::available_parallelism().map_or(1, usize::from);
    let mut set = CpuSet::new();
    set.set(cpu % cpus)?;
    sched_setaffinity(Pid::from_raw(0), &set)
}

/// Puts this thread into a new namespace; returns a path by which other threads can name it.
fn own_namespace() -> Result<String> {
    unshare(CloneFlags::CLONE_NEWNET)?;
    Ok(format!("/proc/{}/task/{}/ns/net", std::process::id(), gettid()))
}

fn build_path(far: &str, tso: &str) -> Result<()> {
    own_namespace()?;
    command("ip link add fp0 type veth peer name fp1")?;
    command(&format!("ip link set fp1 netns {far}"))?;
    command(&format!("ip addr add {SENDER} dev fp0"))?;
    command(&format!("ethtool -K fp0 tso {tso}"))?;
    command("ip link set fp0 up")?;
    in_namespace(far, vec![format!("ip addr add {RECEIVER} dev fp1"), "ip link set fp1 up".into()])
}

fn command(line: &str) -> Result<()> {
    let words: Vec<&str> = line.split(' ').collect();
    let output = Command::new(words[0]).args(&words[1..]).output();
    let output =
        output.map_err(|e| format!("{}: {e} (Debian: apt-get install iproute2 ethtool)", words[0]))?;
    if !output.status.success() {
        return Err(format!("{line}: {}", String::from_utf8_lossy(&output.stderr).trim()).into());
    }
    Ok(())
}

fn in_namespace(path: &str, lines: Vec<String>) -> Result<()> {
    let file = fs::File::open(path)?;
    // a thread of its own, so that this one stays where it is
    let work = move || -> std::result::Result<(), String> {
        nix::sched::setns(file, CloneFlags::CLONE_NEWNET).map_err(|e| e.to_string())?;
        lines.iter().try_for_each(|line| command(line).map_err(|e| e.to_string()))
    };
    Ok(thread::spawn(work).join().map_err(|_| "the thread that configures the receiver panicked")??)
}

/// Accepts connections and discards their data, each in a thread.
fn receive() {
    let Ok(listener) = TcpListener::bind(SocketAddr::from(([169, 254, 77, 2], PORT))) else { return };
    for mut connection in listener.incoming().flatten() {
        thread::spawn(move || {
            let mut buffer = vec![0; 1 << 18];
            while connection.read(&mut buffer).is_ok_and(|n| n > 0) {}
        });
    }
}

/// Sends on `flows` flows at once, and returns their cost from the first byte to the end of the last flow.
fn send(congestion_control: &str, duration: Duration, flows: usize) -> Result<Cost> {
    let connections: Vec<TcpStream> = (0..flows).map(|_| connect()).collect::<Result<_>>()?;
    for connection in &connections {
        setsockopt(connection, TcpCongestion, &OsString::from(congestion_control))
            .map_err(|e| format!("selecting {congestion_control}: {e}"))?;
    }
    let (start, before) = (Instant::now(), cpu_s()?);
    let sent: Vec<std::io::Result<u64>> = thread::scope(|scope| {
        let threads: Vec<_> =
            connections.iter().map(|c| scope.spawn(move || send_until(c, start + duration))).collect();
        threads
            .into_iter()
            .map(|t| t.join().unwrap_or_else(|_| Err(std::io::Error::other("panic"))))
            .collect()
    });
    let bytes = sent.into_iter().sum::<std::io::Result<u64>>()?;
    Ok(Cost { cpu_s: cpu_s()? - before, wall_s: start.elapsed().as_secs_f64(), bytes })
}

/// Sends until `end` and returns the number of bytes sent. It returns when the receiver has all bytes, so
/// that the next flows have the path alone.
fn send_until(mut connection: &TcpStream, end: Instant) -> std::io::Result<u64> {
    let data = vec![0x5a; 1 << 18];
    let mut bytes = 0;
    while Instant::now() < end {
        bytes += connection.write(&data)? as u64;
    }
    connection.shutdown(Shutdown::Write)?;
    // the end of the stream: the receiver has closed
    match connection.read(&mut [0])? {
        0 => Ok(bytes),
        _ => Err(std::io::Error::other("the receiver sent data")),
    }
}

/// Connects to the receiver, and retries since the receiver may not listen yet.
fn connect() -> Result<TcpStream> {
    let address = SocketAddr::from(([169, 254, 77, 2], PORT));
    let deadline = Instant::now() + Duration::from_secs(5);
    loop {
        match TcpStream::connect_timeout(&address, Duration::from_secs(5)) {
            Ok(connection) => return Ok(connection),
            Err(e) if Instant::now() > deadline => {
                return Err(format!("connecting to the receiver: {e}").into());
            }
            Err(_) => thread::sleep(Duration::from_millis(20)),
        }
    }
}

/// Returns this process's own time and all CPUs' time in interrupts, s.
fn cpu_s() -> Result<f64> {
    let own = getrusage(UsageWho::RUSAGE_SELF)?;
    let seconds = |t: nix::sys::time::TimeVal| t.tv_sec() as f64 + t.tv_usec() as f64 * 1e-6;
    let stat = fs::read_to_string("/proc/stat")?;
    let first = stat.lines().next().ok_or("/proc/stat is empty")?;
    // cpu user nice system idle iowait irq softirq ..., in ticks
    let field = |n: usize| first.split_whitespace().nth(n).and_then(|f| f.parse::<f64>().ok()).unwrap_or(0.0);
    let ticks_per_s = sysconf(SysconfVar::CLK_TCK)?.unwrap_or(100) as f64;
    Ok(seconds(own.user_time()) + seconds(own.system_time()) + (field(6) + field(7)) / ticks_per_s)
}
