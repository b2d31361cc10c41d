//! Compiles `truth.h`, loads it and collects its records.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use fairpace_bpf_build::{Algorithm, BpfCompiler, Kind, Sources};
use fairpace_cc::View;
use fairpace_cli_core::failure::{Exit, Failure};
use libbpf_rs::btf::Btf;
use libbpf_rs::btf::types::{MemberAttr, Struct};
use libbpf_rs::{
    Link, MapCore, MapFlags, MapHandle, MapType, Object, ObjectBuilder, OpenObject, RingBufferBuilder,
};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// Texts of the watched algorithm's header and of the part that records. Texts are used instead of paths,
/// because the program may run on another machine than it was built on.
const HEADERS: [(&str, &str); 2] =
    [("truth.h", include_str!("truth.h")), ("programs.h", include_str!("programs.h"))];

// enum truth_kind.
const SENT: u32 = 0;
const PENDING: u32 = 1;
const ACK: u32 = 2;

/// A record of the ring buffer.
#[derive(Debug, Clone)]
pub enum Record {
    /// A burst of packets left.
    Sent(Packets),
    /// Packets that are marked lost and not yet retransmitted. All of them are recorded right before each
    /// LOST event.
    Pending(Packets),
    /// The algorithm's on_ack ran.
    Ack(Box<View>),
    /// The algorithm's on_event ran; the number is a value of `enum cc_event`.
    Event(u32, Box<View>),
}

/// The structure truth_packets: a burst that left, or a packet that is marked lost.
#[derive(Debug, Clone, Copy)]
pub struct Packets {
    seq: u32,
    end_seq: u32,
    mss_bytes: u32,
    pub(super) inflight_pkts: u32,
    pub(super) lost_pkts: u32,
    pub(super) delivered_pkts: u32,
}

impl Packets {
    /// Iterates over the sequence number after each packet.
    pub(super) fn ends(&self) -> impl Iterator<Item = u32> {
        let bytes = self.end_seq.wrapping_sub(self.seq);
        // a burst of one does not say how large its packets are
        let mss = if self.mss_bytes == 0 { bytes } else { self.mss_bytes }.max(1);
        let (seq, end_seq) = (self.seq, self.end_seq);
        (1..=bytes.div_ceil(mss))
            .map(move |i| if i * mss >= bytes { end_seq } else { seq.wrapping_add(i * mss) })
    }
}

/// A recorder with the watched algorithm, which is in the kernel from [`Recorder::start`] to
/// [`Recorder::finish`], or until the recorder is dropped.
pub struct Recorder {
    name: String,
    links: Vec<Link>,
    object: Object,
    stop: Arc<AtomicBool>,
    collector: Option<JoinHandle<Result<Vec<Record>>>>,
}

impl Recorder {
    /// Compiles the watched algorithm and loads it. `suffix` makes the algorithm's name in the kernel unique.
    ///
    /// # Errors
    /// Returns an error if there is no clang, or if the kernel refuses the algorithm or the programs.
    pub fn start(suffix: &str) -> std::result::Result<Recorder, Failure> {
        let elf = compile().map_err(|error| {
            let exit = match error.downcast_ref() {
                Some(fairpace_bpf_build::Error::NoClang { .. }) => Exit::Unsupported,
                _ => Exit::Internal,
            };
            Failure::new(exit, error.to_string(), "the object that records the true numbers needs clang")
        })?;
        Recorder::load(format!("fp_truth{suffix}"), &elf).map_err(|error| {
            let message = format!("the kernel refuses the object that records the true numbers: {error}");
            Failure::new(Exit::Internal, message, "`fairpace doctor` checks what this kernel can do")
        })
    }

    fn load(name: String, elf: &[u8]) -> Result<Recorder> {
        libbpf_rs::set_print(None); // it would print the hooks that this kernel lacks; errors are returned
        let mut open = ObjectBuilder::default().open_memory(elf)?;
        adapt(&mut open, elf, &name)?;
        let mut object = open.load()?;
        let mut links = Vec::new();
        for mut map in object.maps_mut().filter(|m| m.map_type() == MapType::StructOps) {
            links.push(map.attach_struct_ops()?);
        }
        for program in object.progs_mut().filter(|p| p.name() == "truth_sent") {
            links.push(program.attach()?);
        }
        let records = MapHandle::try_from(&map(&object, "truth_records")?)?;
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let collector =
            std::thread::Builder::new().name("fp-truth".into()).spawn(move || collect(&records, &stopped))?;
        Ok(Recorder { name, links, object, stop, collector: Some(collector) })
    }

    /// Name by which sockets select the algorithm.
    #[must_use]
    pub fn kernel_name(&self) -> &str {
        &self.name
    }

    /// Unloads the algorithm and returns all records in order.
    ///
    /// # Errors
    /// Returns an error if records cannot be read, or if some were missed, because the others would be
    /// misinterpreted.
    pub fn finish(mut self) -> std::result::Result<Vec<Record>, Failure> {
        let failed = |error: &dyn std::fmt::Display| {
            let message = format!("the records of the true numbers cannot be read: {error}");
            Failure::new(Exit::Internal, message, "`fairpace doctor` checks what this kernel can do")
        };
        self.links.clear();
        let missed = self.missed().map_err(|error| failed(&error))?;
        self.stop.store(true, Ordering::Relaxed);
        let collected = self.collector.take().map(JoinHandle::join);
        if missed > 0 {
            let message = format!("{missed} records of the true numbers found no room in their buffer");
            return Err(Failure::new(Exit::Disturbed, message, "run it again on a quiet machine"));
        }
        match collected {
            Some(Ok(records)) => records.map_err(|error| failed(&error)),
            _ => Err(failed(&"the thread that collects them panicked")),
        }
    }

    /// Number of records for which the ring buffer had no room.
    fn missed(&self) -> Result<u64> {
        let counters = map(&self.object, ".data.truth")?.lookup(&0u32.to_ne_bytes(), MapFlags::ANY)?;
        Ok(counters.and_then(|v| v.first_chunk().copied()).map_or(0, u64::from_ne_bytes))
    }
}

fn compile() -> Result<Vec<u8>> {
    let dir = tempfile::tempdir()?;
    for (name, text) in HEADERS {
        std::fs::write(dir.path().join(name), text)?;
    }
    let compiler = BpfCompiler::new(Sources::contained()?)?;
    Ok(compiler.compile(&Algorithm::new(dir.path().join(HEADERS[0].0), Kind::TracksSends)?)?.elf)
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

fn map<'o>(object: &'o Object, name: &str) -> Result<libbpf_rs::Map<'o>> {
    object.maps().find(|m| m.name() == name).ok_or_else(|| format!("the object has no map {name}").into())
}

/// Sets the name, and leaves out the hook that kernels before 7.1 do not have.
fn adapt(open: &mut OpenObject, elf: &[u8], name: &str) -> Result<()> {
    let ours = Btf::from_raw("truth", elf)?.ok_or("the object has no BTF")?;
    let ops = ours.type_by_name::<Struct<'_>>("tcp_congestion_ops").ok_or("no tcp_congestion_ops")?;
    let offset = |member: &str| match ops.iter().find(|m| m.name.is_some_and(|n| n == member))?.attr {
        MemberAttr::Normal { offset } => Some(offset as usize / 8),
        MemberAttr::BitField { .. } => None,
    };
    let write =
        |value: &mut [u8], at: usize, bytes: &[u8]| value[at..at + bytes.len()].copy_from_slice(bytes);
    let mut padded = [0; 16];
    write(&mut padded, 0, name.as_bytes());
    for mut map in open.maps_mut() {
        let is_ops = map.name() == "fp_truth";
        let is_name = map.name() == ".rodata.truth";
        let Some(value) = map.initial_value_mut() else { continue };
        if is_ops {
            write(value, offset("name").ok_or("no name")?, &padded);
            let tx_start = offset("cwnd_event_tx_start").ok_or("no cwnd_event_tx_start")?;
            write(value, tx_start, &0usize.to_ne_bytes());
        } else if is_name {
            write(value, 0, &padded);
        }
    }
    Ok(())
}

fn collect(records: &MapHandle, stop: &AtomicBool) -> Result<Vec<Record>> {
    let mut seen = Vec::new();
    let mut builder = RingBufferBuilder::new();
    builder.add(records, |bytes| {
        seen.extend(decode(bytes));
        0
    })?;
    let ring = builder.build()?;
    while !stop.load(Ordering::Relaxed) {
        ring.poll(Duration::from_millis(20))?;
    }
    ring.consume()?;
    drop(ring);
    Ok(seen)
}

fn decode(bytes: &[u8]) -> Option<Record> {
    let word = |i: usize| Some(u32::from_ne_bytes(*bytes.get(4 * i..)?.first_chunk()?));
    let kind = word(0)?;
    if kind == SENT || kind == PENDING {
        let packets = Packets {
            seq: word(1)?,
            end_seq: word(2)?,
            mss_bytes: word(3)?,
            inflight_pkts: word(4)?,
            lost_pkts: word(5)?,
            delivered_pkts: word(6)?,
        };
        return Some(if kind == SENT { Record::Sent(packets) } else { Record::Pending(packets) });
    }
    let view = Box::new(View::from_bytes(bytes.get(8..8 + size_of::<View>())?)?);
    Some(if kind == ACK { Record::Ack(view) } else { Record::Event(word(1)?, view) })
}
