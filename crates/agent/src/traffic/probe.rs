//! Pings and UDP probes, timed at both ends on one clock.
//!
//! The receiver's kernel answers pings; a raw socket also receives each request, which
//! gives both one-way delays. The agent answers UDP probes. If only one end is on this host, it records
//! that end's times: the client its send and answer times, the server each probe's arrival.

use crate::error::{Attempt, Result};
use crate::sample::record::Records;
use crate::sys;
use dumbbell_plan::{Probe, ProbeKind};
use dumbbell_records::{NEVER, ProbeRecord};
use nix::sys::socket::{MsgFlags, SockaddrStorage, recvfrom, sendto};
use socket2::{Domain, Protocol, SockAddr, Socket, Type};
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, RawFd};

/// One series of probes.
pub struct Probing {
    number: u32,
    plan: Probe,
    client: Option<Socket>,
    server: Option<Socket>,
    /// By sequence number.
    sent: Vec<ProbeRecord>,
}

impl Probing {
    /// Opens both ends.
    pub fn open(number: u32, plan: Probe) -> Result<Self> {
        let (client, server) = open_ends(&plan).attempt(|| format!("opening probe {number}"))?;
        Ok(Self { number, plan, client, server, sent: Vec::new() })
    }

    /// Descriptors of the client and the server end.
    pub fn descriptors(&self) -> [Option<RawFd>; 2] {
        [&self.client, &self.server].map(|end| end.as_ref().map(AsRawFd::as_raw_fd))
    }

    /// When the first probe is due, if the client is on this host.
    pub fn start_ns(&self) -> Option<u64> {
        self.client.as_ref().map(|_| self.plan.start_ns)
    }

    /// Sends the next probe; returns when the following one is due.
    pub fn send(&mut self, now_ns: u64) -> Result<u64> {
        let Some(client) = &self.client else { unreachable!("only the client sends") };
        let sequence = u32::try_from(self.sent.len()).expect("fewer probes than 2^32");
        let packet = match self.plan.kind {
            ProbeKind::Ping => echo_request(self.echo(), self.identifier(), sequence, self.plan.payload),
            ProbeKind::Udp => datagram(sequence, self.plan.payload),
        };
        let target = SockAddr::from(SocketAddr::new(self.plan.address, self.target_port()));
        match client.send_to(&packet, &target) {
            Ok(_) => {}
            Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => {}
            Err(error) => return Err(error).attempt(|| format!("sending probe {}", self.number)),
        }
        self.sent.push(unseen(self.number, sequence, now_ns));
        Ok(now_ns + self.plan.interval_ns)
    }

    /// The client's socket is readable: an answer has arrived.
    pub fn answered(&mut self, now_ns: u64) {
        while let Some((packet, _)) = self.client.as_ref().and_then(receive) {
            let reply = self.echo().reply;
            if let Some(sample) = self.recognise(&packet, reply) {
                sample.answered_ns = sample.answered_ns.min(now_ns);
            }
        }
    }

    /// The server's socket is readable: a probe has arrived.
    pub fn arrived(&mut self, now_ns: u64) {
        while let Some((packet, from)) = self.server.as_ref().and_then(receive) {
            self.reserve(&packet);
            let request = self.echo().request;
            if let Some(sample) = self.recognise(&packet, request) {
                sample.arrived_ns = sample.arrived_ns.min(now_ns);
            }
            if let (ProbeKind::Udp, Some(client)) = (self.plan.kind, from) {
                // A full reverse queue drops the answer; the record shows it.
                let [_, server] = self.descriptors();
                let _ = sendto(server.expect("it has just received"), &packet, &client, MsgFlags::empty());
            }
        }
    }

    /// Writes all probes, answered or not.
    pub fn write(&self, records: &mut Records) -> Result<()> {
        self.sent.iter().try_for_each(|sample| records.probe(sample))
    }

    fn identifier(&self) -> u16 {
        0xdb00 | u16::try_from(self.number & 0xff).expect("eight bits")
    }

    fn echo(&self) -> Echo {
        if self.plan.address.is_ipv6() { ECHO_V6 } else { ECHO_V4 }
    }

    fn target_port(&self) -> u16 {
        if self.plan.kind == ProbeKind::Udp { self.plan.port } else { 0 }
    }

    fn recognise(&mut self, packet: &[u8], kind: u8) -> Option<&mut ProbeRecord> {
        let sequence = self.sequence(packet, kind)?;
        self.sent.get_mut(sequence as usize)
    }

    fn sequence(&self, packet: &[u8], kind: u8) -> Option<u32> {
        match self.plan.kind {
            ProbeKind::Ping => echo_sequence(self.echo(), packet, kind, self.identifier()),
            ProbeKind::Udp => Some(u32::from_be_bytes(packet.get(..4)?.try_into().ok()?)),
        }
    }

    /// A server without a client here adds probes when they arrive; bounds the sequence numbers it accepts.
    fn reserve(&mut self, packet: &[u8]) {
        if self.client.is_some() {
            return;
        }
        let Some(sequence) =
            self.sequence(packet, self.echo().request).filter(|sequence| *sequence < MAX_RECEIVED_PROBES)
        else {
            return;
        };
        for missing in self.sent.len()..=sequence as usize {
            self.sent.push(unseen(self.number, u32::try_from(missing).expect("few"), NEVER));
        }
    }
}

fn unseen(probe: u32, sequence: u32, sent_ns: u64) -> ProbeRecord {
    ProbeRecord { probe, sequence, sent_ns, arrived_ns: NEVER, answered_ns: NEVER }
}

/// Bounds the records of one receiver.
const MAX_RECEIVED_PROBES: u32 = 20_000_000;
/// The types of echo messages, and whether a raw socket gets the IP header with them.
#[derive(Clone, Copy)]
struct Echo {
    request: u8,
    reply: u8,
    has_ip_header: bool,
}

/// RFC 792.
const ECHO_V4: Echo = Echo { request: 8, reply: 0, has_ip_header: true };
/// RFC 4443; Linux writes the checksum, which covers addresses.
const ECHO_V6: Echo = Echo { request: 128, reply: 129, has_ip_header: false };

fn open_ends(plan: &Probe) -> io::Result<(Option<Socket>, Option<Socket>)> {
    let any = sys::any_address(plan.address, plan.port);
    let icmp = if any.is_ipv6() { Protocol::ICMPV6 } else { Protocol::ICMPV4 };
    let open = || match plan.kind {
        ProbeKind::Ping => Socket::new(Domain::for_address(any), Type::RAW.nonblocking(), Some(icmp)),
        ProbeKind::Udp => Socket::new(Domain::for_address(any), Type::DGRAM.nonblocking(), Some(Protocol::UDP)),
    };
    let client = plan.ends.sends().then(|| sys::within(&plan.sender, open)).transpose()?;
    let server = plan.ends.receives().then(|| sys::within(&plan.receiver, open)).transpose()?;
    if let (ProbeKind::Udp, Some(server)) = (plan.kind, &server) {
        server.bind(&any.into())?;
    }
    Ok((client, server))
}

fn receive(socket: &Socket) -> Option<(Vec<u8>, Option<SockaddrStorage>)> {
    let mut packet = vec![0; 2048];
    let (length, from) = recvfrom::<SockaddrStorage>(socket.as_raw_fd(), &mut packet).ok()?;
    packet.truncate(length);
    Some((packet, from))
}

fn datagram(sequence: u32, payload: u32) -> Vec<u8> {
    let mut packet = vec![0; payload.max(4) as usize];
    packet[..4].copy_from_slice(&sequence.to_be_bytes());
    packet
}

/// An echo request whose payload carries the full sequence number.
fn echo_request(echo: Echo, identifier: u16, sequence: u32, payload: u32) -> Vec<u8> {
    let mut packet = vec![0; 8 + payload.max(4) as usize];
    packet[0] = echo.request;
    packet[4..6].copy_from_slice(&identifier.to_be_bytes());
    packet[6..8].copy_from_slice(&sequence.to_be_bytes()[2..]);
    packet[8..12].copy_from_slice(&sequence.to_be_bytes());
    let sum = checksum(&packet);
    packet[2..4].copy_from_slice(&sum.to_be_bytes());
    packet
}

/// Sequence number of one of the probe's echo messages.
fn echo_sequence(echo: Echo, packet: &[u8], kind: u8, identifier: u16) -> Option<u32> {
    let header = if echo.has_ip_header { usize::from(packet.first()? & 0x0f) * 4 } else { 0 };
    let icmp = packet.get(header..header + 12)?;
    let ours = icmp[0] == kind && icmp[4..6] == identifier.to_be_bytes();
    ours.then(|| u32::from_be_bytes([icmp[8], icmp[9], icmp[10], icmp[11]]))
}

/// The Internet checksum (RFC 1071).
fn checksum(bytes: &[u8]) -> u16 {
    let sum: u32 =
        bytes.chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair.get(1).copied().unwrap_or(0)]))).sum();
    let folded = (sum >> 16) + (sum & 0xffff);
    !u16::try_from((folded >> 16) + (folded & 0xffff)).expect("folded twice")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_echo_request_has_a_valid_checksum_and_parses() {
        let packet = echo_request(ECHO_V4, 0xdb01, 70_000, 56);
        assert_eq!(packet.len(), 64);
        assert_eq!(checksum(&packet), 0, "a packet with its checksum sums to zero (RFC 1071 section 1)");
        let mut with_ip_header = vec![0x45; 20];
        with_ip_header.extend(&packet);
        assert_eq!(echo_sequence(ECHO_V4, &with_ip_header, 8, 0xdb01), Some(70_000));
        assert_eq!(echo_sequence(ECHO_V4, &with_ip_header, 8, 0xdb02), None);
        let packet = echo_request(ECHO_V6, 0xdb01, 70_000, 56);
        assert_eq!(echo_sequence(ECHO_V6, &packet, 128, 0xdb01), Some(70_000));
        assert_eq!(echo_sequence(ECHO_V6, &packet, 129, 0xdb01), None);
    }
}
