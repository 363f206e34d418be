//! Datagrams that were sent, found again where they arrive.

use crate::sys::packets::Packet;
use dumbbell_net::datagrams::Arrivals;
use dumbbell_records::Datagrams;
use std::collections::hash_map::DefaultHasher;
use std::collections::{HashMap, VecDeque};
use std::hash::Hasher;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Bytes of a payload by which a datagram is known: QUIC's are behind a connection's identifier (RFC 9000 section 17.3)
/// encrypted, so no two begin alike. Of payloads that do, the first that was sent arrives first.
pub const KEY_BYTES: usize = 64;
/// Datagrams that may be on their way; the oldest beyond them are lost.
const MAX_WAITING: usize = 1 << 20;
const ETHERNET_BYTES: usize = 14;
const IPV6_BYTES: usize = 40;
const UDP_BYTES: usize = 8;
const IPV4: [u8; 2] = [0x08, 0x00];

/// What a packet says: one datagram, or a super-packet of several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// From.
    pub source: SocketAddr,
    /// To.
    pub destination: SocketAddr,
    /// Payload bytes, of all segments.
    pub bytes: u64,
    /// Number of segments.
    segments: u64,
    /// By its size and first bytes.
    key: u64,
}

impl Seen {
    /// Parses a UDP packet over IPv4 or IPv6 in an Ethernet frame; None if it is cut off or damaged.
    pub fn of(packet: &Packet<'_>) -> Option<Self> {
        let frame = packet.bytes;
        let ip = frame.get(ETHERNET_BYTES..)?;
        let address = |at: usize, bytes: usize| ip.get(at..at + bytes);
        let (ip_bytes, source, destination) = if frame[12..14] == IPV4 {
            let four = |at| Some(IpAddr::V4(Ipv4Addr::from(<[u8; 4]>::try_from(address(at, 4)?).ok()?)));
            (usize::from(ip.first()? & 0xf) * 4, four(12)?, four(16)?)
        } else {
            let six = |at| Some(IpAddr::V6(Ipv6Addr::from(<[u8; 16]>::try_from(address(at, 16)?).ok()?)));
            (IPV6_BYTES, six(8)?, six(24)?)
        };
        let udp = ip.get(ip_bytes..)?;
        let half = |at: usize| Some(u16::from_be_bytes(udp.get(at..at + 2)?.try_into().ok()?));
        let bytes = u64::from(half(4)?).checked_sub(UDP_BYTES as u64)?;
        let segment = packet.segment_bytes.map_or(bytes, u64::from).clamp(1, bytes.max(1));
        let first = bytes.min(segment);
        let payload = udp.get(UDP_BYTES..)?;
        let mut hasher = DefaultHasher::new();
        // What is beyond the datagram is padding of a short frame.
        let end = payload.len().min(KEY_BYTES).min(usize::try_from(first).unwrap_or(KEY_BYTES));
        hasher.write(&payload[..end]);
        hasher.write_u64(first);
        Some(Self {
            source: SocketAddr::new(source, half(0)?),
            destination: SocketAddr::new(destination, half(2)?),
            bytes,
            segments: bytes.div_ceil(segment).max(1),
            key: hasher.finish(),
        })
    }
}

/// One direction of a flow: what was sent, and what of it arrived.
#[derive(Debug, Default)]
pub struct Matching {
    /// Datagrams sent.
    pub sent_packets: u64,
    /// Payload bytes that arrived, copies not counted.
    pub received_bytes: u64,
    sent_bytes: u64,
    arrivals: Arrivals,
    /// First datagrams of what is on its way, by key.
    waiting: HashMap<u64, VecDeque<Sent>>,
    /// Their keys in the order of sending, to forget the oldest.
    order: VecDeque<u64>,
    /// Super-packets whose first datagram has not arrived.
    supers: VecDeque<Sent>,
    /// What has not arrived of the super-packet that the last datagram was cut from.
    behind: Option<Sent>,
}

#[derive(Clone, Copy, Debug)]
struct Sent {
    /// Of the first datagram.
    number: u64,
    time_ns: u64,
    segments: u64,
}

impl Sent {
    /// Without its first datagrams.
    fn after(self, segments: u64) -> Option<Self> {
        let rest = self.segments.checked_sub(segments).filter(|rest| *rest > 0)?;
        Some(Self { number: self.number + segments, segments: rest, ..self })
    }
}

impl Matching {
    /// A packet was sent.
    pub fn sent(&mut self, time_ns: u64, seen: &Seen) {
        let sent = Sent { number: self.sent_packets, time_ns, segments: seen.segments };
        self.waiting.entry(seen.key).or_default().push_back(sent);
        self.order.push_back(seen.key);
        if seen.segments > 1 {
            self.supers.push_back(sent);
        }
        self.sent_packets += seen.segments;
        self.sent_bytes += seen.bytes;
        if self.order.len() > MAX_WAITING {
            let oldest = self.order.pop_front().expect("there are more than that");
            // An equal one may have arrived meanwhile; then a younger one is forgotten.
            self.take(oldest);
        }
    }

    /// A packet arrived. One that nobody sent is a copy that the network made.
    pub fn arrived(&mut self, time_ns: u64, seen: &Seen) {
        let Some(sent) = self.take(seen.key).or_else(|| self.behind.take()).or_else(|| self.beheaded()) else { return };
        self.supers.retain(|each| each.number > sent.number);
        let segments = seen.segments.min(sent.segments);
        let mut is_new = false;
        for number in sent.number..sent.number + segments {
            is_new |= self.arrivals.add(number, sent.time_ns, time_ns);
        }
        self.behind = sent.after(segments);
        if is_new {
            self.received_bytes += seen.bytes;
        }
    }

    /// The rest of the next super-packet: it was cut, and its first datagram was lost.
    fn beheaded(&mut self) -> Option<Sent> {
        self.supers.pop_front()?.after(1)
    }

    /// What is known.
    pub fn datagrams(&self) -> Datagrams {
        Datagrams {
            sent_bytes: self.sent_bytes,
            lost: Some(self.arrivals.lost()),
            jitter_ns: self.arrivals.jitter(),
            delay_ns: self.arrivals.delay(),
        }
    }

    fn take(&mut self, key: u64) -> Option<Sent> {
        let equal = self.waiting.get_mut(&key)?;
        let sent = equal.pop_front();
        if equal.is_empty() {
            self.waiting.remove(&key);
        }
        sent
    }
}

#[cfg(test)]
mod tests;
