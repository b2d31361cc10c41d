//! Capture of a link in pcap-ng, as at its entrance: all packets that arrive, dropped or not, and the ACKs
//! for them.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use fairpace_results::observer::{Ack, ConnectionId, Content, EcnField, LinkEvent, Packet};
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::pcapng::blocks::section_header::{SectionHeaderBlock, SectionHeaderOption};
use pcap_file::pcapng::{PcapNgBlock, PcapNgWriter};
use pcap_file::{DataLink, Endianness, PcapError};

use crate::frame::{self, Context};
use crate::{Error, RunInfo, create, failed, file_names};

/// Exponent of the unit of timestamps, 10^-9 s: option if_tsresol of the pcap-ng draft, section 4.2.
const NANOSECONDS: u8 = 9;

/// An open capture file.
#[derive(Debug)]
pub(crate) struct Capture {
    pub(crate) link: u32,
    path: PathBuf,
    writer: Writer,
    /// The last timestamp of the receiver that each sender has seen, ms.
    echoes: HashMap<ConnectionId, u32>,
}

/// The library's writer with a `Debug` implementation.
struct Writer(PcapNgWriter<BufWriter<File>>);

impl std::fmt::Debug for Writer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("PcapNgWriter")
    }
}

impl Capture {
    pub(crate) fn create(dir: &Path, link: u32, run_info: &RunInfo) -> Result<Self, Error> {
        let names = file_names(run_info.links.iter().map(String::as_str));
        let name = names.get(link as usize).cloned().unwrap_or_else(|| link.to_string());
        let path = dir.join(format!("{name}.pcapng"));
        let wrong = |error: PcapError| wrong(&path, error);
        let comment = format!(
            "{}; seed {}, scenario {}, commit {}",
            run_info.title, run_info.seed, run_info.hash, run_info.commit
        );
        let section = SectionHeaderBlock {
            endianness: Endianness::Little,
            options: vec![
                SectionHeaderOption::Comment(comment.into()),
                SectionHeaderOption::UserApplication("Fairpace".into()),
            ],
            ..SectionHeaderBlock::default()
        };
        let mut writer = PcapNgWriter::with_section_header(create(&path)?, section).map_err(wrong)?;
        let name = run_info.links.get(link as usize).cloned().unwrap_or_default();
        let interface = InterfaceDescriptionBlock {
            linktype: DataLink::ETHERNET,
            snaplen: frame::MOST_BYTES,
            options: vec![
                InterfaceDescriptionOption::IfName(name.into()),
                InterfaceDescriptionOption::IfTsResol(NANOSECONDS),
            ],
        };
        writer.write_pcapng_block(interface).map_err(wrong)?;
        Ok(Capture { link, path, writer: Writer(writer), echoes: HashMap::new() })
    }

    fn context(&self, connection: ConnectionId, run_info: &RunInfo) -> Context {
        let flow = run_info.flows.get(connection.flow as usize);
        Context {
            mss_bytes: run_info.mss_bytes(connection),
            ecn: flow.is_some_and(|flow| flow.ecn),
            accurate_ecn: flow.is_some_and(|flow| flow.accurate_ecn),
            echo_ms: self.echoes.get(&connection).copied().unwrap_or(0),
        }
    }

    pub(crate) fn packet(
        &mut self,
        at_ns: u64,
        event: LinkEvent,
        packet: &Packet,
        run_info: &RunInfo,
    ) -> Result<(), Error> {
        let comment = match event {
            LinkEvent::Enqueued => None,
            LinkEvent::Refused => Some("dropped on arrival"),
            // the capture has these packets already
            LinkEvent::Dropped | LinkEvent::Marked | LinkEvent::Departed | LinkEvent::Lost => return Ok(()),
        };
        if let Content::Syn = packet.content {
            self.echoes.remove(&packet.connection);
        }
        let (bytes, on_wire) = frame::of_packet(packet, self.context(packet.connection, run_info));
        self.write(at_ns, &bytes, on_wire, comment)
    }

    /// Writes an ACK that reaches its sender. At this time it passes the entrance of the link, unless its
    /// reverse route contains the link: then the capture has it already.
    pub(crate) fn ack(
        &mut self,
        at_ns: u64,
        connection: ConnectionId,
        ack: &Ack,
        run_info: &RunInfo,
    ) -> Result<(), Error> {
        let Some(flow) = run_info.flows.get(connection.flow as usize) else { return Ok(()) };
        if !flow.route.contains(&self.link) {
            return Ok(());
        }
        self.echoes.insert(connection, frame::timestamp(at_ns));
        if flow.back.contains(&self.link) {
            return Ok(());
        }
        let context = self.context(connection, run_info);
        let (bytes, on_wire) = frame::of_ack(connection, ack, EcnField::NotEct, at_ns, context);
        self.write(at_ns, &bytes, on_wire, None)
    }

    fn write(
        &mut self,
        at_ns: u64,
        bytes: &[u8],
        on_wire: u32,
        comment: Option<&'static str>,
    ) -> Result<(), Error> {
        let comments = comment.map(|text| EnhancedPacketOption::Comment(Cow::Borrowed(text)));
        let block = EnhancedPacketBlock {
            interface_id: 0,
            timestamp: Duration::from_nanos(at_ns),
            original_len: on_wire,
            data: Cow::Borrowed(bytes),
            options: comments.into_iter().collect(),
        };
        let written = self.writer.0.write_block(&block.into_block());
        written.map(drop).map_err(|error| wrong(&self.path, error))
    }

    pub(crate) fn finish(self) -> Result<(), Error> {
        let mut file = self.writer.0.into_inner();
        file.flush().map_err(|error| failed(&self.path, &error))
    }
}

/// Returns the error of a file. The library calls every such error "Error reading bytes"; the error inside
/// has the cause.
fn wrong(path: &Path, error: PcapError) -> Error {
    match error {
        PcapError::IoError(error) => failed(path, &error),
        error => failed(path, &error),
    }
}
