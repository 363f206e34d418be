//! ip's commands as rtnetlink messages: the few that plans use, with the defaults of ip (iproute2 6.1, `ip/`).

use super::no_device;
use super::rtnetlink::{MAX_NAME_BYTES, Refusal, RequestSocket};
use crate::error::{Attempt, Result};
use crate::sys;
use netlink_packet_core::{NLM_F_CREATE, NLM_F_EXCL, NLM_F_REPLACE, NetlinkSerializable};
use netlink_packet_route::address::{AddressAttribute, AddressMessage, AddressScope};
use netlink_packet_route::link::{InfoData, InfoKind, InfoVeth, LinkAttribute, LinkFlags, LinkInfo, LinkMessage};
use netlink_packet_route::neighbour::{NeighbourAddress, NeighbourAttribute, NeighbourMessage, NeighbourState};
use netlink_packet_route::route::{
    RouteAddress, RouteAttribute, RouteHeader, RouteMessage, RouteMetric, RouteProtocol, RouteScope, RouteType,
};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use std::fs::File;
use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::AsRawFd;

/// `RTAX_FEATURE_ECN`.
const FEATURE_ECN: u32 = 1;

/// A command.
#[derive(Debug, PartialEq, Eq)]
pub enum Request {
    AddNamespace { name: String },
    AddLink { end: End, peer: End },
    SetLink { device: String, is_up: bool },
    DeleteLink { device: String },
    AddAddress { address: Ipv4Addr, prefix: u8, device: String },
    Route(Route),
    AddNeighbour { address: Ipv4Addr, hardware: [u8; 6], device: String },
}

/// One end of a veth pair.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct End {
    name: String,
    hardware: Option<[u8; 6]>,
    mtu: Option<u32>,
    /// Network namespace; None: that of the command.
    host: Option<String>,
}

/// A route.
#[derive(Debug, PartialEq, Eq)]
pub struct Route {
    replaces: bool,
    destination: Ipv4Addr,
    prefix: u8,
    gateway: Option<Ipv4Addr>,
    device: Option<String>,
    metrics: Vec<RouteMetric>,
}

impl Request {
    /// Reads the words after `ip`; None: only the machine's ip knows them.
    pub fn read(words: &[&str]) -> Option<Self> {
        Some(match *words {
            ["netns", "add", name] => Self::AddNamespace { name: file_name(name)? },
            ["link", "add", name, ref options @ ..] => {
                let (end, rest) = End::read(name, options)?;
                let ["type", "veth", "peer", "name", peer, ref options @ ..] = *rest else { return None };
                let (peer, []) = End::read(peer, options)? else { return None };
                Self::AddLink { end, peer }
            }
            ["link", "set", device, "up"] => Self::SetLink { device: device_name(device)?, is_up: true },
            ["link", "set", device, "down"] => Self::SetLink { device: device_name(device)?, is_up: false },
            ["link", "del", device] => Self::DeleteLink { device: device_name(device)? },
            ["addr", "add", network, "dev", device] => {
                let (address, prefix) = prefixed(network)?;
                Self::AddAddress { address, prefix, device: device_name(device)? }
            }
            ["route", verb @ ("add" | "replace"), destination, ref options @ ..] => {
                Self::Route(Route::read(verb == "replace", destination, options)?)
            }
            ["neigh", "add", address, "lladdr", hardware, "dev", device, "nud", "permanent"] => Self::AddNeighbour {
                address: address.parse().ok()?,
                hardware: hardware_address(hardware)?,
                device: device_name(device)?,
            },
            _ => return None,
        })
    }

    /// Sends the message.
    pub fn send(&self, socket: &RequestSocket) -> Result<std::result::Result<(), Refusal>> {
        let device = match self {
            Self::SetLink { device, .. }
            | Self::DeleteLink { device }
            | Self::AddAddress { device, .. }
            | Self::AddNeighbour { device, .. }
            | Self::Route(Route { device: Some(device), .. }) => Some(device),
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
        let namespaces = self.namespaces()?;
        let (message, flags) = self.message(index, &namespaces);
        let mut body = vec![0; message.buffer_len()];
        message.serialize(&mut body);
        socket.send(message.message_type(), flags, &body)
    }

    /// The namespaces of a veth's ends.
    fn namespaces(&self) -> Result<[Option<File>; 2]> {
        let Self::AddLink { end, peer } = self else { return Ok([None, None]) };
        let open = |end: &End| {
            let file = end.host.as_ref().map(|host| File::open(format!("{}/{host}", sys::NAMESPACES)));
            file.transpose().attempt(|| format!("opening host '{}'", end.host.as_deref().unwrap_or_default()))
        };
        Ok([open(end)?, open(peer)?])
    }

    fn message(&self, index: u32, namespaces: &[Option<File>; 2]) -> (RouteNetlinkMessage, u16) {
        const NEW: u16 = NLM_F_CREATE | NLM_F_EXCL;
        match self {
            Self::AddNamespace { .. } => unreachable!("a namespace is no message"),
            Self::AddLink { end, peer } => {
                let mut link = end.message(namespaces[0].as_ref());
                let data = InfoData::Veth(InfoVeth::Peer(peer.message(namespaces[1].as_ref())));
                let info = vec![LinkInfo::Kind(InfoKind::Veth), LinkInfo::Data(data)];
                link.attributes.push(LinkAttribute::LinkInfo(info));
                (RouteNetlinkMessage::NewLink(link), NEW)
            }
            Self::SetLink { is_up, .. } => {
                let mut link = LinkMessage::default();
                link.header.index = index;
                link.header.change_mask = LinkFlags::Up;
                link.header.flags = if *is_up { LinkFlags::Up } else { LinkFlags::empty() };
                (RouteNetlinkMessage::NewLink(link), 0)
            }
            Self::DeleteLink { .. } => {
                let mut link = LinkMessage::default();
                link.header.index = index;
                (RouteNetlinkMessage::DelLink(link), 0)
            }
            Self::AddAddress { address, prefix, .. } => {
                let mut message = AddressMessage::default();
                (message.header.family, message.header.prefix_len) = (AddressFamily::Inet, *prefix);
                (message.header.scope, message.header.index) = (AddressScope::Universe, index);
                let address = IpAddr::V4(*address);
                message.attributes = vec![AddressAttribute::Local(address), AddressAttribute::Address(address)];
                (RouteNetlinkMessage::NewAddress(message), NEW)
            }
            Self::Route(route) => {
                let flags = if route.replaces { NLM_F_CREATE | NLM_F_REPLACE } else { NEW };
                (RouteNetlinkMessage::NewRoute(route.message(index)), flags)
            }
            Self::AddNeighbour { address, hardware, .. } => {
                let mut message = NeighbourMessage::default();
                (message.header.family, message.header.ifindex) = (AddressFamily::Inet, index);
                message.header.state = NeighbourState::Permanent;
                message.attributes = vec![
                    NeighbourAttribute::Destination(NeighbourAddress::Inet(*address)),
                    NeighbourAttribute::LinkLayerAddress(hardware.to_vec()),
                ];
                (RouteNetlinkMessage::NewNeighbour(message), NEW)
            }
        }
    }
}

impl End {
    /// Reads the options of one end; the words after them.
    fn read<'a, 'b>(name: &str, words: &'b [&'a str]) -> Option<(Self, &'b [&'a str])> {
        let (mut end, mut rest) = (Self { name: device_name(name)?, ..Self::default() }, words);
        while let [option @ ("address" | "mtu" | "netns"), value, after @ ..] = rest {
            match *option {
                "address" => end.hardware = Some(hardware_address(value)?),
                "mtu" => end.mtu = Some(value.parse().ok()?),
                _ => end.host = Some(file_name(value)?),
            }
            rest = after;
        }
        Some((end, rest))
    }

    fn message(&self, namespace: Option<&File>) -> LinkMessage {
        let mut link = LinkMessage::default();
        link.attributes.push(LinkAttribute::IfName(self.name.clone()));
        link.attributes.extend(self.hardware.map(|address| LinkAttribute::Address(address.to_vec())));
        link.attributes.extend(self.mtu.map(LinkAttribute::Mtu));
        link.attributes.extend(namespace.map(|file| LinkAttribute::NetNsFd(file.as_raw_fd())));
        link
    }
}

impl Route {
    fn read(replaces: bool, destination: &str, options: &[&str]) -> Option<Self> {
        let (destination, prefix) = match destination {
            "default" => (Ipv4Addr::UNSPECIFIED, 0),
            network => prefixed(network)?,
        };
        let mut route = Self { replaces, destination, prefix, gateway: None, device: None, metrics: Vec::new() };
        let mut rest = options;
        while let [option, value, after @ ..] = rest {
            match *option {
                "via" => route.gateway = Some(value.parse().ok()?),
                "dev" => route.device = Some(device_name(value)?),
                "initcwnd" => route.metrics.push(RouteMetric::InitCwnd(value.parse().ok()?)),
                "quickack" => route.metrics.push(RouteMetric::QuickAck(value.parse().ok()?)),
                "features" if *value == "ecn" => route.metrics.push(RouteMetric::Features(FEATURE_ECN)),
                _ => return None,
            }
            rest = after;
        }
        rest.is_empty().then_some(route)
    }

    fn message(&self, index: u32) -> RouteMessage {
        let mut message = RouteMessage::default();
        message.header.address_family = AddressFamily::Inet;
        message.header.destination_prefix_length = self.prefix;
        message.header.table = RouteHeader::RT_TABLE_MAIN;
        message.header.protocol = RouteProtocol::Boot;
        message.header.scope = if self.gateway.is_some() { RouteScope::Universe } else { RouteScope::Link };
        message.header.kind = RouteType::Unicast;
        if self.prefix > 0 {
            message.attributes.push(RouteAttribute::Destination(RouteAddress::Inet(self.destination)));
        }
        message.attributes.extend(self.gateway.map(|gateway| RouteAttribute::Gateway(RouteAddress::Inet(gateway))));
        message.attributes.extend(self.device.as_ref().map(|_| RouteAttribute::Oif(index)));
        if !self.metrics.is_empty() {
            message.attributes.push(RouteAttribute::Metrics(self.metrics.clone()));
        }
        message
    }
}

/// An address with the length of its network's prefix.
fn prefixed(word: &str) -> Option<(Ipv4Addr, u8)> {
    let (address, prefix) = word.split_once('/')?;
    Some((address.parse().ok()?, prefix.parse().ok().filter(|prefix| *prefix <= 32)?))
}

fn hardware_address(word: &str) -> Option<[u8; 6]> {
    let bytes = word.split(':').map(|byte| u8::from_str_radix(byte, 16).ok());
    bytes.collect::<Option<Vec<_>>>()?.try_into().ok()
}

fn device_name(word: &str) -> Option<String> {
    (word.len() < MAX_NAME_BYTES && !word.is_empty() && !word.contains('\0')).then(|| word.into())
}

/// The name of a namespace.
fn file_name(word: &str) -> Option<String> {
    let is_file = !word.is_empty() && word != "." && word != ".." && !word.contains(['/', '\0']);
    is_file.then(|| word.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(line: &str) -> Option<Request> {
        Request::read(&line.split_whitespace().collect::<Vec<_>>())
    }

    #[test]
    fn the_commands_of_plans_are_understood() {
        for line in [
            "netns add router",
            "link add right address 02:00:00:00:01:01 mtu 9000 netns sender type veth peer name left netns router",
            "link add trial type veth peer name trial-end",
            "link set lo up",
            "link del trial",
            "addr add 10.0.1.1/24 dev right",
            "route add default via 10.0.1.2 initcwnd 20 features ecn",
            "route replace 10.0.1.1/32 dev left quickack 1",
            "neigh add 10.0.1.2 lladdr 02:00:00:00:01:02 dev right nud permanent",
        ] {
            assert!(read(line).is_some(), "{line}");
        }
    }

    #[test]
    fn other_commands_are_left_to_the_machine() {
        for line in [
            "",
            "netns add ../x",
            "link add x type dummy",
            "link set a-name-that-is-too-long up",
            "addr add 10.0.1.1/33 dev right",
            "route add default via 10.0.1.2 metric 5",
            "route add default via",
            "neigh add 10.0.1.2 lladdr 02:00:00:00:01 dev right nud permanent",
        ] {
            assert!(read(line).is_none(), "{line}");
        }
    }

    #[test]
    fn a_route_is_the_message_that_ip_sends() {
        let Some(request) = read("route replace 10.1.0.1/32 dev xa quickack 1") else { panic!("it is understood") };
        let (message, flags) = request.message(7, &[None, None]);
        let mut bytes = vec![0; NetlinkSerializable::buffer_len(&message)];
        message.serialize(&mut bytes);
        assert_eq!(flags, NLM_F_CREATE | NLM_F_REPLACE);
        let header = [2, 32, 0, 0, 254, 3, 253, 1, 0, 0, 0, 0];
        let attributes = [8, 0, 1, 0, 10, 1, 0, 1, 8, 0, 4, 0, 7, 0, 0, 0, 12, 0, 8, 0, 8, 0, 15, 0, 1, 0, 0, 0];
        assert_eq!(bytes, [&header[..], &attributes[..]].concat());
    }

    const WORDS: &[&str] = &[
        "netns",
        "link",
        "addr",
        "route",
        "neigh",
        "add",
        "replace",
        "set",
        "del",
        "type",
        "veth",
        "peer",
        "name",
        "address",
        "mtu",
        "dev",
        "via",
        "default",
        "features",
        "ecn",
        "quickack",
        "nud",
        "permanent",
        "lladdr",
        "up",
        "10.0.0.1",
        "10.0.0.1/24",
        "02:00:00:00:00:01",
        "1",
        "99999999999",
        "x",
    ];

    proptest! {
        #[test]
        fn any_words_are_read_or_left(words in prop::collection::vec(prop_oneof![
            4 => prop::sample::select(WORDS).prop_map(String::from),
            1 => ".{0,20}",
        ], 0..16)) {
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            if let Some(request) = Request::read(&words) && !matches!(request, Request::AddNamespace { .. }) {
                let (message, _) = request.message(1, &[None, None]);
                let mut bytes = vec![0; NetlinkSerializable::buffer_len(&message)];
                message.serialize(&mut bytes);
            }
        }
    }
}
