//! Hosts without TSO bursts: `tso = false`.
//!
//! Since Linux 4.17 TCP builds bursts for any device, whatever its features are (`sk_setup_caps` forces
//! `NETIF_F_GSO`): `ethtool -K DEVICE gso off` only moves the place where a burst is cut into packets, which
//! then still leave at once. The device's limit of segments per burst does reach TCP: a socket takes it when
//! it gets its route (`sk_gso_max_segs`), and `tcp_tso_segs` never exceeds it.
//!
//! On receipt nothing has to be switched off: a TUN device hands packets to the host one by one, since GRO is
//! a part of NAPI, which it does not use unless it is opened with `IFF_NAPI`.

use std::io;

use netlink_packet_core::{NLM_F_ACK, NLM_F_REQUEST, NetlinkHeader, NetlinkMessage, NetlinkPayload};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{LinkAttribute, LinkMessage};
use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_ROUTE};

/// Makes sockets that connect from now on through the device of this index, in the calling thread's
/// namespace, send packets without bursts.
///
/// # Errors
/// The kernel's answer; before Linux 4.16 that this cannot be set.
pub(crate) fn forbid(device: u32) -> io::Result<()> {
    let mut link = LinkMessage::default();
    link.header.index = device;
    link.attributes.push(LinkAttribute::GsoMaxSegs(1));
    let mut header = NetlinkHeader::default();
    header.flags = NLM_F_REQUEST | NLM_F_ACK;
    let mut request = NetlinkMessage::new(header, NetlinkPayload::from(RouteNetlinkMessage::SetLink(link)));
    request.finalize();
    let mut bytes = vec![0; request.buffer_len()];
    request.serialize(&mut bytes);
    let socket = Socket::new(NETLINK_ROUTE)?;
    socket.connect(&SocketAddr::new(0, 0))?;
    socket.send(&bytes, 0)?;
    let (received, _) = socket.recv_from_full()?;
    let answer = NetlinkMessage::<RouteNetlinkMessage>::deserialize(&received).map_err(io::Error::other)?;
    match answer.payload {
        // an acknowledgment is an error without a code
        NetlinkPayload::Error(error) if error.code.is_none() => Ok(()),
        NetlinkPayload::Error(error) => Err(error.to_io()),
        other => Err(io::Error::other(format!("the kernel answered {other:?}"))),
    }
}
