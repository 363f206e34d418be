//! `tcp_info` and congestion control info of many sockets at one instant, by `inet_diag`.
//!
//! A request for one socket gets one answer (Linux `net/ipv4/inet_diag.c`);
//! requests for all sockets of a host are sent together.

use super::netlink::{Answer, Netlink, Query, attributes, number};
use crate::error::Result;
use dumbbell_records::TCP_INFO_BYTES;
use netlink_packet_core::{NLM_F_DUMP, NLM_F_REQUEST, NetlinkHeader, NetlinkMessage, NetlinkPayload};
use netlink_packet_sock_diag::SockDiagMessage;
use netlink_packet_sock_diag::inet::{ExtensionFlags, InetRequest, SocketId, StateFlags};
use nix::sys::socket::SockProtocol;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

const AF_INET: u8 = 2;
const AF_INET6: u8 = 10;
/// IPv4 and IPv6: a server that listens on `::` has IPv6 sockets for IPv4 connections.
pub const FAMILIES: [u8; 2] = [AF_INET, AF_INET6];
/// `IPPROTO_TCP`.
pub const TCP: u8 = 6;
/// Length of `struct inet_diag_msg`, before the attributes.
pub const MESSAGE_BYTES: usize = 72;
/// Type of an answer that describes a socket.
pub const SOCK_DIAG_BY_FAMILY: u16 = 20;

const INFO: u16 = 2;
const CONTROLLER: u16 = 4;
/// `INET_DIAG_INFO`, `_CONG` and `_SKMEMINFO`, with the bytes kept of each.
pub const INFO_KEPT: (u16, usize) = (INFO, TCP_INFO_BYTES);
/// A congestion control's name has at most 16 bytes (`TCP_CA_NAME_MAX`).
pub const CONTROLLER_KEPT: (u16, usize) = (CONTROLLER, 16);
/// Nine numbers, `SK_MEMINFO_*`.
pub const MEMORY_KEPT: (u16, usize) = (7, 36);
/// `TCPF_*` of `include/net/tcp_states.h` without listeners and sockets that no longer send: `LISTEN`, `TIME_WAIT`,
/// `CLOSE`, `NEW_SYN_RECV`.
pub const CONNECTED: u32 = 0xb3e;
/// Attributes with congestion control info: vegas, dctcp, bbr.
pub const CC_INFO: [u16; 3] = [3, 9, 16];

/// The sampled sockets of one host.
pub struct Sockets {
    netlink: Netlink,
    requests: Vec<u8>,
    count: usize,
}

/// Statistics of one socket.
pub struct SocketInfo<'a> {
    /// The number given with [`Sockets::watch`].
    pub number: u32,
    /// `struct tcp_info`, in this kernel's length.
    pub tcp_info: &'a [u8],
    /// Attribute number of the congestion control info, or 0.
    pub cc_kind: u16,
    /// The congestion control info.
    pub cc_info: &'a [u8],
}

impl Sockets {
    /// No sockets yet.
    pub fn open(host: &str) -> Result<Self> {
        Ok(Self { netlink: Netlink::open(host, SockProtocol::NetlinkSockDiag)?, requests: Vec::new(), count: 0 })
    }

    /// Replaces the list of sockets: number, local address, remote address.
    pub fn watch(&mut self, sockets: impl Iterator<Item = (u32, SocketAddr, SocketAddr)>) {
        self.requests.clear();
        self.count = 0;
        for (number, local, remote) in sockets {
            self.requests.extend(request(number, local, remote));
            self.count += 1;
        }
    }

    /// The requests of a sample.
    pub fn queries(&self) -> Query<'_> {
        Query { netlink: &self.netlink, requests: &self.requests, count: self.count }
    }
}

/// Parses an answer; None if the socket no longer exists.
pub fn read<'a>(answer: &Answer<'a>) -> Option<SocketInfo<'a>> {
    // Any other message is an error.
    let is_socket = answer.kind == SOCK_DIAG_BY_FAMILY && answer.payload.len() >= MESSAGE_BYTES;
    is_socket.then(|| parse(answer.sequence, &answer.payload[MESSAGE_BYTES..]))
}

fn parse(number: u32, bytes: &[u8]) -> SocketInfo<'_> {
    let mut info = SocketInfo { number, tcp_info: &[], cc_kind: 0, cc_info: &[] };
    for (kind, value) in attributes(bytes) {
        match kind {
            INFO => info.tcp_info = &value[..value.len().min(TCP_INFO_BYTES)],
            kind if CC_INFO.contains(&kind) => (info.cc_kind, info.cc_info) = (kind, value),
            _ => {}
        }
    }
    info
}

/// A socket in a dump or a destroy notification.
pub struct Found {
    /// Local address.
    pub local: SocketAddr,
    /// Remote address.
    pub remote: SocketAddr,
    /// Unique identifier until reboot.
    pub cookie: u64,
    /// 0 if no process has it open.
    pub inode: u32,
    /// `struct tcp_info`.
    pub tcp_info: Vec<u8>,
    /// Name of its congestion control, only in a dump.
    pub cc: Option<String>,
    /// As in [`SocketInfo`].
    pub cc_kind: u16,
    /// As in [`SocketInfo`].
    pub cc_info: Vec<u8>,
}

/// Appends the fixed part of an answer: `struct inet_diag_msg`, then the first bytes of each of these attributes in
/// order, zero if missing.
pub fn keep(payload: &[u8], attributes_and_sizes: &[(u16, usize)], bytes: &mut Vec<u8>) {
    bytes.extend(&payload[..MESSAGE_BYTES]);
    let start = bytes.len();
    bytes.resize(start + attributes_and_sizes.iter().map(|(_, size)| size).sum::<usize>(), 0);
    for (kind, value) in attributes(&payload[MESSAGE_BYTES..]) {
        let mut position = start;
        for &(attribute, size) in attributes_and_sizes {
            if kind == attribute {
                let kept = value.len().min(size);
                bytes[position..position + kept].copy_from_slice(&value[..kept]);
            }
            position += size;
        }
    }
}

/// Dump request for all TCP connections of a family.
pub fn everything(family: u8) -> Vec<u8> {
    let is_socket = ExtensionFlags::INFO | ExtensionFlags::VEGASINFO | ExtensionFlags::CONG;
    dump(family, TCP, is_socket, StateFlags::from_bits_retain(CONNECTED))
}

/// Dump request for all sockets of a family and protocol in one of these states.
pub fn dump(family: u8, protocol: u8, extensions: ExtensionFlags, states: StateFlags) -> Vec<u8> {
    let socket_id = SocketId { cookie: [0; 8], ..SocketId::new_v4() };
    bytes(InetRequest { family, protocol, extensions, states, socket_id }, 0, NLM_F_REQUEST | NLM_F_DUMP)
}

/// Parses an answer to [`everything`] or a destroy notification; None for a socket connected within its host.
pub fn socket(answer: &Answer<'_>) -> Option<Found> {
    let payload = answer.payload;
    let SocketInfo { tcp_info, cc_kind, cc_info, .. } = read(answer)?;
    let (local, remote) = (address(payload, 4, 8), address(payload, 6, 24));
    let cc = attributes(&payload[MESSAGE_BYTES..]).find(|(kind, _)| *kind == CONTROLLER);
    let cookie = u64::from(number(payload, 44)) | (u64::from(number(payload, 48)) << 32);
    let crosses = !(local.ip().is_loopback() || remote.ip().is_unspecified() || local.ip() == remote.ip());
    (crosses && !tcp_info.is_empty()).then(|| Found {
        local,
        remote,
        cookie,
        inode: number(payload, 68),
        tcp_info: tcp_info.into(),
        cc: cc.map(|(_, name)| String::from_utf8_lossy(name).trim_end_matches('\0').to_string()),
        cc_kind,
        cc_info: cc_info.into(),
    })
}

/// An address; an IPv4-mapped IPv6 address (RFC 4291 section 2.5.5.2) is one of IPv4.
fn address(message: &[u8], port_at: usize, at: usize) -> SocketAddr {
    let port = u16::from_be_bytes([message[port_at], message[port_at + 1]]);
    let bytes: [u8; 16] = message[at..at + 16].try_into().expect("sixteen bytes");
    let ip = match message[0] {
        AF_INET => IpAddr::V4(Ipv4Addr::new(bytes[0], bytes[1], bytes[2], bytes[3])),
        _ => Ipv6Addr::from(bytes).to_canonical(),
    };
    SocketAddr::new(ip, port)
}

fn request(number: u32, local: SocketAddr, remote: SocketAddr) -> Vec<u8> {
    let socket_id = SocketId {
        source_port: local.port(),
        destination_port: remote.port(),
        source_address: local.ip(),
        destination_address: remote.ip(),
        interface_id: 0,
        cookie: [0xff; 8],
    };
    let request = InetRequest {
        family: if local.is_ipv6() { AF_INET6 } else { AF_INET },
        protocol: TCP,
        extensions: ExtensionFlags::INFO | ExtensionFlags::VEGASINFO,
        states: StateFlags::all(),
        socket_id,
    };
    bytes(request, number, NLM_F_REQUEST)
}

fn bytes(request: InetRequest, number: u32, flags: u16) -> Vec<u8> {
    let mut header = NetlinkHeader::default();
    header.flags = flags;
    header.sequence_number = number;
    let mut message = NetlinkMessage::new(header, NetlinkPayload::from(SockDiagMessage::InetRequest(request)));
    message.finalize();
    let mut bytes = vec![0; message.buffer_len()];
    message.serialize(&mut bytes);
    bytes
}
