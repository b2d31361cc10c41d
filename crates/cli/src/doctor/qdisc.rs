//! Queueing disciplines of devices, by netlink (rtnetlink(7)).

use std::collections::BTreeMap;
use std::io;

use netlink_packet_core::{NLM_F_DUMP, NLM_F_REQUEST, NetlinkHeader, NetlinkMessage, NetlinkPayload};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{LinkAttribute, LinkMessage};
use netlink_packet_route::tc::{TcAttribute, TcMessage};
use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_ROUTE};

/// Names of the queueing disciplines by name of the device. Only disciplines that hold packets are listed, so
/// not mq itself.
pub(super) fn of_devices() -> io::Result<BTreeMap<String, Vec<String>>> {
    let socket = Socket::new(NETLINK_ROUTE)?;
    socket.connect(&SocketAddr::new(0, 0))?;
    let mut names: BTreeMap<u32, String> = BTreeMap::new();
    for message in dump(&socket, RouteNetlinkMessage::GetLink(LinkMessage::default()))? {
        if let RouteNetlinkMessage::NewLink(link) = message {
            let name = link.attributes.iter().find_map(|attribute| match attribute {
                LinkAttribute::IfName(name) => Some(name.clone()),
                _ => None,
            });
            names.extend(name.map(|name| (link.header.index, name)));
        }
    }
    let mut all: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for message in dump(&socket, RouteNetlinkMessage::GetQueueDiscipline(TcMessage::default()))? {
        let RouteNetlinkMessage::NewQueueDiscipline(qdisc) = message else { continue };
        let kind = qdisc.attributes.iter().find_map(|attribute| match attribute {
            TcAttribute::Kind(kind) => Some(kind.clone()),
            _ => None,
        });
        let name = u32::try_from(qdisc.header.index).ok().and_then(|index| names.get(&index));
        if let (Some(name), Some(kind)) = (name, kind)
            && !["mq", "ingress", "clsact"].contains(&kind.as_str())
        {
            let kinds = all.entry(name.clone()).or_default();
            if !kinds.contains(&kind) {
                kinds.push(kind);
            }
        }
    }
    Ok(all)
}

/// All answers to a netlink request for a list.
fn dump(socket: &Socket, request: RouteNetlinkMessage) -> io::Result<Vec<RouteNetlinkMessage>> {
    let mut header = NetlinkHeader::default();
    header.flags = NLM_F_REQUEST | NLM_F_DUMP;
    let mut message = NetlinkMessage::new(header, NetlinkPayload::from(request));
    message.finalize();
    let mut bytes = vec![0; message.buffer_len()];
    message.serialize(&mut bytes);
    socket.send(&bytes, 0)?;
    let mut answers = Vec::new();
    loop {
        let (received, _) = socket.recv_from_full()?;
        let mut rest = &received[..];
        while !rest.is_empty() {
            let message =
                NetlinkMessage::<RouteNetlinkMessage>::deserialize(rest).map_err(io::Error::other)?;
            // messages are aligned to 4 bytes: NLMSG_ALIGN
            let length = (message.header.length as usize).next_multiple_of(4);
            rest = rest.get(length.max(1)..).unwrap_or_default();
            match message.payload {
                NetlinkPayload::Done(_) => return Ok(answers),
                NetlinkPayload::Error(error) => return Err(error.to_io()),
                NetlinkPayload::InnerMessage(answer) => answers.push(answer),
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_devices_of_this_machine_can_be_asked_for() {
        let all = of_devices().expect("any user may");
        assert!(all.values().flatten().all(|kind| kind != "mq" && !kind.is_empty()), "{all:?}");
    }
}
