//! `tcp_info` and controller info of many sockets at one instant, by `inet_diag`.
//!
//! Linux `net/ipv4/inet_diag.c` answers a request that names one socket with one message;
//! requests for all sockets of a host travel together.

use super::netlink::{Answer, Netlink, Questions, attributes};
use crate::error::Result;
use crate::sys::TCP_INFO_BYTES;
use netlink_packet_core::{NLM_F_REQUEST, NetlinkHeader, NetlinkMessage, NetlinkPayload};
use netlink_packet_sock_diag::SockDiagMessage;
use netlink_packet_sock_diag::inet::{ExtensionFlags, InetRequest, SocketId, StateFlags};
use nix::sys::socket::SockProtocol;
use std::net::SocketAddrV4;

const AF_INET: u8 = 2;
const TCP: u8 = 6;
/// Length of `struct inet_diag_msg`, before the attributes.
const MESSAGE_BYTES: usize = 72;
const SOCK_DIAG_BY_FAMILY: u16 = 20;

const INFO: u16 = 2;
/// Attributes with a controller's own info: vegas, dctcp, bbr.
const CC_INFO: [u16; 3] = [3, 9, 16];

/// All sockets of one host that are sampled.
pub struct Sockets {
    netlink: Netlink,
    requests: Vec<u8>,
    count: usize,
}

/// What one socket said.
pub struct SocketInfo<'a> {
    /// The number given with [`Sockets::watch`].
    pub number: u32,
    /// `struct tcp_info`, as long as this kernel has it.
    pub tcp_info: &'a [u8],
    /// Attribute number of the controller's info, or 0.
    pub cc_kind: u16,
    /// The controller's info.
    pub cc_info: &'a [u8],
}

impl Sockets {
    /// No sockets yet.
    pub fn open(host: &str) -> Result<Self> {
        Ok(Self { netlink: Netlink::open(host, SockProtocol::NetlinkSockDiag)?, requests: Vec::new(), count: 0 })
    }

    /// Starts over with these sockets: number, own address, peer's address.
    pub fn watch(&mut self, sockets: impl Iterator<Item = (u32, SocketAddrV4, SocketAddrV4)>) {
        self.requests.clear();
        self.count = 0;
        for (number, local, remote) in sockets {
            self.requests.extend(request(number, local, remote));
            self.count += 1;
        }
    }

    /// What to ask for a sample.
    pub fn questions(&self) -> Questions<'_> {
        Questions { partner: &self.netlink, requests: &self.requests, count: self.count }
    }
}

/// Reads an answer; none comes from a socket that is gone.
pub fn read<'a>(answer: &Answer<'a>) -> Option<SocketInfo<'a>> {
    // Anything else is an error message.
    let told = answer.kind == SOCK_DIAG_BY_FAMILY && answer.payload.len() >= MESSAGE_BYTES;
    told.then(|| parse(answer.sequence, &answer.payload[MESSAGE_BYTES..]))
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

fn request(number: u32, local: SocketAddrV4, remote: SocketAddrV4) -> Vec<u8> {
    let socket_id = SocketId {
        source_port: local.port(),
        destination_port: remote.port(),
        source_address: (*local.ip()).into(),
        destination_address: (*remote.ip()).into(),
        interface_id: 0,
        cookie: [0xff; 8],
    };
    let request = InetRequest {
        family: AF_INET,
        protocol: TCP,
        extensions: ExtensionFlags::INFO | ExtensionFlags::VEGASINFO,
        states: StateFlags::all(),
        socket_id,
    };
    let mut header = NetlinkHeader::default();
    header.flags = NLM_F_REQUEST;
    header.sequence_number = number;
    let mut message = NetlinkMessage::new(header, NetlinkPayload::from(SockDiagMessage::InetRequest(request)));
    message.finalize();
    let mut bytes = vec![0; message.buffer_len()];
    message.serialize(&mut bytes);
    bytes
}
