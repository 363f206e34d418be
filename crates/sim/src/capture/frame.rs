//! Encodes a packet's headers: Ethernet II, IPv4, TCP or UDP.
//!
//! Payload is all zeros, as the agent sends it, so checksums are valid without it. Sequence numbers are those of
//! [`Segment`] modulo 2³²; timestamps are in milliseconds like Linux's default `tcp_timestamps` clock.

use crate::net::HostId;
use dumbbell_net::packet::{
    Ace, Body, Direction, ETHERNET_BYTES, Ecn, Flags, IPV4_BYTES, Packet, Segment, TCP_HEADERS_BYTES, UDP_HEADERS_BYTES,
};
use dumbbell_net::time::Time;

/// Sender's and receiver's host of every flow, for addresses.
#[derive(Clone, Debug, Default)]
pub struct Senders {
    /// By flow id.
    pub hosts: Vec<[HostId; 2]>,
    /// Payload of a full segment, for the SYN's MSS option; 0 for protocols other than TCP.
    pub mss: Vec<u32>,
    /// Window scales that sender and receiver offer; 0 for protocols other than TCP.
    pub scales: Vec<[u8; 2]>,
}

/// Headers of a packet.
pub fn build(packet: &Packet, senders: &Senders) -> Vec<u8> {
    let ends = Ends::of(packet, senders);
    let transport = match &packet.body {
        Body::Tcp(segment) => tcp(packet, segment, &ends, senders),
        Body::Udp { .. } if packet.offset_bytes() > 0 => Vec::new(),
        Body::Udp { payload, .. } => udp(*payload, &ends),
        Body::Probe { .. } => udp(packet.bytes - UDP_HEADERS_BYTES, &ends),
    };
    let mut frame = Vec::with_capacity(128);
    frame.extend_from_slice(&mac(ends.to));
    frame.extend_from_slice(&mac(ends.from));
    frame.extend_from_slice(&ETHERTYPE_IPV4.to_be_bytes());
    frame.extend_from_slice(&ipv4(packet, &ends));
    frame.extend_from_slice(&transport);
    frame
}

/// Length of the whole frame, payload included.
pub fn frame_bytes(packet: &Packet) -> u32 {
    match &packet.body {
        Body::Tcp(segment) => ETHERNET_BYTES + IPV4_BYTES + tcp_header_bytes(packet, segment) + segment.len,
        Body::Udp { .. } | Body::Probe { .. } => packet.bytes,
    }
}

/// Addresses and ports of a packet.
struct Ends {
    from: HostId,
    to: HostId,
    ports: [u16; 2],
}

impl Ends {
    fn of(packet: &Packet, senders: &Senders) -> Self {
        let [sender, receiver] = senders.hosts[packet.flow.0 as usize];
        let client = FIRST_CLIENT_PORT + low16(packet.flow.0 % CLIENT_PORTS);
        match packet.direction {
            Direction::Forward => Self { from: sender, to: receiver, ports: [client, packet.port] },
            Direction::Backward => Self { from: receiver, to: sender, ports: [packet.port, client] },
        }
    }
}

fn mac(host: HostId) -> [u8; 6] {
    let [a, b, c, d] = host.to_be_bytes();
    [0x02, 0, a, b, c, d]
}

/// 10.0.0.1 and following.
fn address(host: HostId) -> [u8; 4] {
    (0x0a00_0001 + (host & 0x00ff_ffff)).to_be_bytes()
}

fn ipv4(packet: &Packet, ends: &Ends) -> Vec<u8> {
    let ecn = match packet.ecn {
        Ecn::NotEct => 0,
        Ecn::Ect1 => 1,
        Ecn::Ect0 => 2,
        Ecn::Ce => 3,
    };
    // Linux writes 0 for BIG TCP packets, whose length exceeds the field.
    let length = u16::try_from(frame_bytes(packet) - ETHERNET_BYTES).unwrap_or(0);
    let protocol = if matches!(packet.body, Body::Tcp(_)) { PROTOCOL_TCP } else { PROTOCOL_UDP };
    let mut header = vec![0x45, ecn];
    header.extend_from_slice(&length.to_be_bytes());
    header.extend_from_slice(&fragmentation(packet));
    header.extend_from_slice(&[TTL, protocol, 0, 0]);
    header.extend_from_slice(&address(ends.from));
    header.extend_from_slice(&address(ends.to));
    let sum = checksum(sum_words(0, &header));
    header[10..12].copy_from_slice(&sum.to_be_bytes());
    header
}

/// Identification, flags and offset: a whole packet must not be fragmented.
fn fragmentation(packet: &Packet) -> [u8; 4] {
    let (Body::Udp { seq, .. }, Some(fragment)) = (&packet.body, packet.fragment()) else { return [0, 0, 0x40, 0] };
    let [high, low] = low16(low32(*seq)).wrapping_add(1).to_be_bytes();
    let more = u16::from(fragment.has_more()) << 13;
    let [flags, offset] = (more | low16(packet.offset_bytes() / 8)).to_be_bytes();
    [high, low, flags, offset]
}

fn tcp(packet: &Packet, segment: &Segment, ends: &Ends, senders: &Senders) -> Vec<u8> {
    let flow = packet.flow.0 as usize;
    let [sender, receiver] = senders.scales[flow];
    let scale = if packet.direction == Direction::Forward { sender } else { receiver };
    let options = options(packet, segment, senders.mss[flow], scale);
    let mut header = Vec::with_capacity(60);
    header.extend_from_slice(&ends.ports.map(u16::to_be_bytes).concat());
    header.extend_from_slice(&low32(segment.seq).to_be_bytes());
    header.extend_from_slice(&low32(segment.ack).to_be_bytes());
    let words = u8::try_from((20 + options.len()) / 4).expect("at most 15 words");
    header.push((words << 4) | accurate_bit(segment.flags));
    header.push(flag_bits(packet, segment.flags));
    header.extend_from_slice(&window(segment, scale).to_be_bytes());
    header.extend_from_slice(&[0; 4]);
    header.extend_from_slice(&options);
    let sum = transport_checksum(&header, segment.len, PROTOCOL_TCP, ends);
    header[16..18].copy_from_slice(&sum.to_be_bytes());
    header
}

fn udp(payload: u32, ends: &Ends) -> Vec<u8> {
    let length = payload + UDP_HEADERS_BYTES - ETHERNET_BYTES - IPV4_BYTES;
    let mut header = Vec::with_capacity(8);
    header.extend_from_slice(&ends.ports.map(u16::to_be_bytes).concat());
    header.extend_from_slice(&low16(length).to_be_bytes());
    header.extend_from_slice(&[0; 2]);
    // RFC 768: a checksum of zero is sent as all ones.
    let sum = match transport_checksum(&header, payload, PROTOCOL_UDP, ends) {
        0 => u16::MAX,
        sum => sum,
    };
    header[6..8].copy_from_slice(&sum.to_be_bytes());
    header
}

/// Options in Linux's order; each group is padded to 32-bit words.
fn options(packet: &Packet, segment: &Segment, mss: u32, scale: u8) -> Vec<u8> {
    let mut options = Vec::with_capacity(40);
    if packet.is_reset() {
        return options;
    }
    let stamps = [millis(segment.sent_at), millis(segment.echo)].map(u32::to_be_bytes).concat();
    if segment.flags.syn {
        // RFC 9293 section 3.7.1: the MSS option excludes option bytes, segments include them (RFC 6691).
        let [high, low] = low16(mss + TIMESTAMP_BYTES).to_be_bytes();
        options.extend_from_slice(&[2, 4, high, low, 4, 2, 8, 10]);
        options.extend_from_slice(&stamps);
        options.extend_from_slice(&[1, 3, 3, scale]);
        return options;
    }
    options.extend_from_slice(&[1, 1, 8, 10]);
    options.extend_from_slice(&stamps);
    let blocks = segment.sack.blocks();
    if !blocks.is_empty() {
        options.extend_from_slice(&[1, 1, 5, 2 + 8 * u8::try_from(blocks.len()).expect("three at most")]);
        for &(start, end) in blocks.iter() {
            options.extend_from_slice(&low32(start).to_be_bytes());
            options.extend_from_slice(&low32(end).to_be_bytes());
        }
    }
    options
}

fn tcp_header_bytes(packet: &Packet, segment: &Segment) -> u32 {
    let plain = TCP_HEADERS_BYTES - ETHERNET_BYTES - IPV4_BYTES;
    match segment.flags.syn {
        true => plain + 8,
        false if packet.is_reset() => plain - TIMESTAMP_BYTES,
        false => plain + segment.sack.bytes(),
    }
}

/// AE, the highest bit of AccECN's field, is next to the header length (RFC 9768 section 3.1).
fn accurate_bit(flags: Flags) -> u8 {
    flags.ace.map_or(0, |ace| ace.bits() >> 2)
}

fn flag_bits(packet: &Packet, flags: Flags) -> u8 {
    let ace = flags.ace.map_or(0, Ace::bits);
    let (ece, cwr) = (flags.ece || ace & 1 > 0, flags.cwr || ace & 2 > 0);
    let bits = [flags.fin, flags.syn, packet.is_reset(), flags.psh, flags.ack, false, ece, cwr];
    bits.iter().enumerate().map(|(position, &bit)| u8::from(bit) << position).sum()
}

/// A SYN's window is never scaled (RFC 7323 section 2.2).
fn window(segment: &Segment, scale: u8) -> u16 {
    let scaled = if segment.flags.syn { segment.window } else { segment.window >> scale };
    u16::try_from(scaled).unwrap_or(u16::MAX)
}

/// Checksum over pseudo-header, header and a payload of zeros (RFC 9293 section 3.1).
fn transport_checksum(header: &[u8], payload: u32, protocol: u8, ends: &Ends) -> u16 {
    let length = u32::try_from(header.len()).expect("headers are short") + payload;
    let pseudo = sum_words(sum_words(u32::from(protocol), &address(ends.from)), &address(ends.to));
    checksum(sum_words(pseudo + (length >> 16) + (length & 0xffff), header))
}

/// Sums 16-bit words (RFC 1071).
fn sum_words(sum: u32, bytes: &[u8]) -> u32 {
    bytes.chunks_exact(2).fold(sum, |sum, pair| sum + u32::from(u16::from_be_bytes([pair[0], pair[1]])))
}

fn checksum(sum: u32) -> u16 {
    let folded = (sum >> 16) + (sum & 0xffff);
    !low16((folded >> 16) + (folded & 0xffff))
}

#[expect(clippy::cast_possible_truncation, reason = "sequence numbers wrap (RFC 9293 section 3.4)")]
const fn low32(number: u64) -> u32 {
    number as u32
}

#[expect(clippy::cast_possible_truncation, reason = "the field holds the low half")]
const fn low16(number: u32) -> u16 {
    number as u16
}

fn millis(at: Time) -> u32 {
    low32(at.as_nanos() / 1_000_000)
}

const ETHERTYPE_IPV4: u16 = 0x0800;
const PROTOCOL_TCP: u8 = 6;
const PROTOCOL_UDP: u8 = 17;
const TTL: u8 = 64;
/// The timestamp option, padded.
const TIMESTAMP_BYTES: u32 = 12;
/// Start of Linux's ephemeral ports (`ip_local_port_range`).
const FIRST_CLIENT_PORT: u16 = 32_768;
const CLIENT_PORTS: u32 = 28_232;
