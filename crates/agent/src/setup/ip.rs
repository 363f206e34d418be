//! Operations on links, addresses, neighbours and routes as rtnetlink messages, with the defaults of ip (iproute2 6.1,
//! `ip/`).

use super::no_device;
use super::rtnetlink::{Refusal, RequestSocket};
use crate::error::{Attempt, Result};
use crate::sys;
use dumbbell_plan::operation::{Network, Operation, Route, VethEnd};
use netlink_packet_core::{NLM_F_CREATE, NLM_F_EXCL, NLM_F_REPLACE, NetlinkSerializable};
use netlink_packet_route::address::{AddressAttribute, AddressMessage, AddressScope};
use netlink_packet_route::link::{InfoData, InfoKind, InfoVeth, LinkAttribute, LinkFlags, LinkInfo, LinkMessage};
use netlink_packet_route::neighbour::{NeighbourAddress, NeighbourAttribute, NeighbourMessage, NeighbourState};
use netlink_packet_route::route::{
    RouteAddress, RouteAttribute, RouteHeader, RouteMessage, RouteMetric, RouteProtocol, RouteScope, RouteType,
};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use std::fs::File;
use std::net::IpAddr;
use std::os::fd::AsRawFd;

/// `RTAX_FEATURE_ECN`.
const FEATURE_ECN: u32 = 1;

/// Sends the message of an operation on links, addresses, neighbours or routes.
pub fn send(operation: &Operation, socket: &RequestSocket) -> Result<std::result::Result<(), Refusal>> {
    let device = match operation {
        Operation::Up { device }
        | Operation::DeleteDevice { device }
        | Operation::AddAddress { device, .. }
        | Operation::AddNeighbour { device, .. }
        | Operation::Route(Route { device: Some(device), .. }) => Some(device),
        _ => None,
    };
    let index = match device {
        Some(device) => match socket.device(device)? {
            Some(index) => index,
            None => return Ok(Err(no_device(device))),
        },
        None => 0,
    };
    // Open until the message is sent.
    let namespaces = namespaces(operation)?;
    let (message, flags) = message(operation, index, &namespaces);
    let mut body = vec![0; message.buffer_len()];
    message.serialize(&mut body);
    socket.send(message.message_type(), flags, &body)
}

/// The namespaces of a veth's ends.
fn namespaces(operation: &Operation) -> Result<[Option<File>; 2]> {
    let Operation::AddVeth { end, peer } = operation else { return Ok([None, None]) };
    let open = |end: &VethEnd| {
        let file = end.host.as_ref().map(|host| File::open(format!("{}/{host}", sys::NAMESPACES)));
        file.transpose().attempt(|| format!("opening host '{}'", end.host.as_deref().unwrap_or_default()))
    };
    Ok([open(end)?, open(peer)?])
}

fn message(operation: &Operation, index: u32, namespaces: &[Option<File>; 2]) -> (RouteNetlinkMessage, u16) {
    const NEW: u16 = NLM_F_CREATE | NLM_F_EXCL;
    match operation {
        Operation::AddVeth { end, peer } => {
            let mut link = end_message(end, namespaces[0].as_ref());
            let data = InfoData::Veth(InfoVeth::Peer(end_message(peer, namespaces[1].as_ref())));
            let info = vec![LinkInfo::Kind(InfoKind::Veth), LinkInfo::Data(data)];
            link.attributes.push(LinkAttribute::LinkInfo(info));
            (RouteNetlinkMessage::NewLink(link), NEW)
        }
        Operation::AddIfb { device } => {
            let mut link = LinkMessage::default();
            let info = LinkAttribute::LinkInfo(vec![LinkInfo::Kind(InfoKind::Ifb)]);
            link.attributes.extend([LinkAttribute::IfName(device.clone()), info]);
            (RouteNetlinkMessage::NewLink(link), NEW)
        }
        Operation::Up { .. } => {
            let mut link = LinkMessage::default();
            link.header.index = index;
            link.header.change_mask = LinkFlags::Up;
            link.header.flags = LinkFlags::Up;
            (RouteNetlinkMessage::NewLink(link), 0)
        }
        Operation::DeleteDevice { .. } => {
            let mut link = LinkMessage::default();
            link.header.index = index;
            (RouteNetlinkMessage::DelLink(link), 0)
        }
        Operation::AddAddress { address: Network { address, prefix }, .. } => {
            let mut message = AddressMessage::default();
            (message.header.family, message.header.prefix_len) = (AddressFamily::Inet, *prefix);
            (message.header.scope, message.header.index) = (AddressScope::Universe, index);
            let address = IpAddr::V4(*address);
            message.attributes = vec![AddressAttribute::Local(address), AddressAttribute::Address(address)];
            (RouteNetlinkMessage::NewAddress(message), NEW)
        }
        Operation::Route(route) => {
            let flags = if route.replaces { NLM_F_CREATE | NLM_F_REPLACE } else { NEW };
            (RouteNetlinkMessage::NewRoute(route_message(route, index)), flags)
        }
        Operation::AddNeighbour { address, hardware, .. } => {
            let mut message = NeighbourMessage::default();
            (message.header.family, message.header.ifindex) = (AddressFamily::Inet, index);
            message.header.state = NeighbourState::Permanent;
            message.attributes = vec![
                NeighbourAttribute::Destination(NeighbourAddress::Inet(*address)),
                NeighbourAttribute::LinkLayerAddress(hardware.0.to_vec()),
            ];
            (RouteNetlinkMessage::NewNeighbour(message), NEW)
        }
        _ => unreachable!("it is no message of links, addresses, neighbours or routes"),
    }
}

fn end_message(end: &VethEnd, namespace: Option<&File>) -> LinkMessage {
    let mut link = LinkMessage::default();
    link.attributes.push(LinkAttribute::IfName(end.device.clone()));
    link.attributes.extend(end.hardware.map(|address| LinkAttribute::Address(address.0.to_vec())));
    link.attributes.extend(end.mtu.map(LinkAttribute::Mtu));
    link.attributes.extend(namespace.map(|file| LinkAttribute::NetNsFd(file.as_raw_fd())));
    link
}

fn route_message(route: &Route, index: u32) -> RouteMessage {
    let mut message = RouteMessage::default();
    message.header.address_family = AddressFamily::Inet;
    message.header.destination_prefix_length = route.to.prefix;
    message.header.table = RouteHeader::RT_TABLE_MAIN;
    message.header.protocol = RouteProtocol::Boot;
    message.header.scope = if route.via.is_some() { RouteScope::Universe } else { RouteScope::Link };
    message.header.kind = RouteType::Unicast;
    if route.to.prefix > 0 {
        message.attributes.push(RouteAttribute::Destination(RouteAddress::Inet(route.to.address)));
    }
    message.attributes.extend(route.via.map(|gateway| RouteAttribute::Gateway(RouteAddress::Inet(gateway))));
    message.attributes.extend(route.device.as_ref().map(|_| RouteAttribute::Oif(index)));
    let metrics: Vec<_> = [
        route.initial_window.map(RouteMetric::InitCwnd),
        route.ecn.then_some(RouteMetric::Features(FEATURE_ECN)),
        route.quickack.then_some(RouteMetric::QuickAck(1)),
    ]
    .into_iter()
    .flatten()
    .collect();
    if !metrics.is_empty() {
        message.attributes.push(RouteAttribute::Metrics(metrics));
    }
    message
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_route_is_the_message_that_ip_sends() {
        let to = Network { address: [10, 1, 0, 1].into(), prefix: 32 };
        let route = Route { replaces: true, device: Some("xa".into()), quickack: true, ..Route::to(to) };
        let (message, flags) = message(&Operation::Route(route), 7, &[None, None]);
        let mut bytes = vec![0; NetlinkSerializable::buffer_len(&message)];
        message.serialize(&mut bytes);
        assert_eq!(flags, NLM_F_CREATE | NLM_F_REPLACE);
        let header = [2, 32, 0, 0, 254, 3, 253, 1, 0, 0, 0, 0];
        let attributes = [8, 0, 1, 0, 10, 1, 0, 1, 8, 0, 4, 0, 7, 0, 0, 0, 12, 0, 8, 0, 8, 0, 15, 0, 1, 0, 0, 0];
        assert_eq!(bytes, [&header[..], &attributes[..]].concat());
    }
}
