//! Packets: TCP segments, UDP datagrams and probes, with the sizes and marks that queues use.
//!
//! A packet is a plain value with one owner: it cannot be in two queues, and the caller gets dropped packets.
//! TCP packets may be super-packets of several `segments`; [`cut`] splits them.

mod ace;
mod cut;
mod fragment;
mod layout;
mod sack;

pub use ace::Ace;
pub use cut::cut;
pub use fragment::{Fragment, MOST_FRAGMENTS, Reassembly, fragments};
pub use layout::{Layout, PAGE_BYTES};
pub use sack::{Blocks, MAX_SACK_BLOCKS, Sack};

use crate::time::Time;

/// Headers of every TCP packet as a qdisc counts them: Ethernet, IPv4, TCP and the timestamp option.
pub const TCP_HEADERS_BYTES: u32 = ETHERNET_BYTES + IPV4_BYTES + 20 + 12;
/// Ethernet, IPv4 and UDP (or ICMP echo) headers.
pub const UDP_HEADERS_BYTES: u32 = ETHERNET_BYTES + IPV4_BYTES + 8;
/// Ethernet header; a qdisc counts it, the MTU does not.
pub const ETHERNET_BYTES: u32 = 14;
/// IPv4 header without options.
pub const IPV4_BYTES: u32 = 20;

/// Index of a flow (or probe series) in its world.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowId(pub u32);

/// Direction of a packet: data goes forward, its acknowledgements backward.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Direction {
    /// From the flow's sender to its receiver.
    #[default]
    Forward,
    /// From the receiver to the sender.
    Backward,
}

/// The ECN field of IP (RFC 3168 section 5, RFC 9331).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Ecn {
    /// Not ECN-capable.
    #[default]
    NotEct,
    /// ECT(0): classic ECN.
    Ect0,
    /// ECT(1): L4S.
    Ect1,
    /// Congestion experienced.
    Ce,
}

impl Ecn {
    /// Whether a queue may mark this packet instead of dropping it.
    #[must_use]
    pub const fn is_capable(self) -> bool {
        !matches!(self, Self::NotEct)
    }

    /// The field's bits in the header (RFC 3168 section 5).
    #[must_use]
    pub const fn bits(self) -> u8 {
        match self {
            Self::NotEct => 0,
            Self::Ect1 => 1,
            Self::Ect0 => 2,
            Self::Ce => 3,
        }
    }
}

/// What a flipped bit damaged (netem's `corrupt`), and so who drops the packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Damage {
    /// Nothing.
    #[default]
    None,
    /// What the transport's checksum covers: the receiving host drops it.
    Transport,
    /// The link's header or IP's: the next host drops it.
    Network,
}

impl Damage {
    /// Of a bit in this byte of the frame. Nobody checks the source's link address.
    pub(crate) const fn of_byte(offset: u32) -> Self {
        match offset {
            6..12 => Self::None,
            0..NETWORK_BYTES => Self::Network,
            _ => Self::Transport,
        }
    }
}

/// Headers before the transport's.
const NETWORK_BYTES: u32 = ETHERNET_BYTES + IPV4_BYTES;

/// One packet or super-packet.
#[derive(Clone, Copy, Debug)]
pub struct Packet {
    /// The flow.
    pub flow: FlowId,
    /// Direction.
    pub direction: Direction,
    /// ECN field.
    pub ecn: Ecn,
    /// TCP segments; above 1 in a super-packet.
    pub segments: u16,
    /// Size as a qdisc counts it: with Ethernet header, and with headers for every segment.
    pub bytes: u32,
    /// Server port, for classifiers.
    pub port: u16,
    /// Socket mark (`SO_MARK`), for classifiers; 0 if unset.
    pub mark: u16,
    /// Timeouts of its socket: each draws another hash (`sk_rethink_txhash`), so disciplines that hash put the flow into
    /// another queue.
    pub rehashes: u16,
    /// Who will find it damaged.
    pub damage: Damage,
    /// Arrival time at the current queue; set and read by queues.
    pub queued_at: Time,
    /// Content.
    pub body: Body,
}

impl Packet {
    /// Marks it as CE if possible; returns whether it is marked (`INET_ECN_set_ce`).
    pub(crate) const fn mark(&mut self) -> bool {
        let is_capable = self.ecn.is_capable();
        if is_capable {
            self.ecn = Ecn::Ce;
        }
        is_capable
    }

    /// Bytes in the linear part of its skb (`skb_headlen`): a TCP segment's headers, since its payload is in pages, or a
    /// whole datagram.
    pub(crate) fn linear_bytes(&self) -> u32 {
        match &self.body {
            Body::Tcp(segment) => (self.bytes - segment.len) / u32::from(self.segments),
            _ => self.bytes,
        }
    }

    /// Whether this is a reset. A reset has neither SYN nor ACK, which every other segment has; endpoints never receive
    /// one.
    #[must_use]
    pub const fn is_reset(&self) -> bool {
        matches!(&self.body, Body::Tcp(segment) if !segment.flags.syn && !segment.flags.ack)
    }
}

/// Content of a packet.
#[derive(Clone, Copy, Debug)]
pub enum Body {
    /// A TCP segment.
    Tcp(Segment),
    /// A UDP datagram of a flow.
    Udp {
        /// Send time.
        sent_at: Time,
        /// Sequence number.
        seq: u64,
        /// Payload bytes of the datagram.
        payload: u32,
        /// Which fragment of it this is.
        fragment: Fragment,
    },
    /// A ping or UDP probe; it goes forward and returns.
    Probe {
        /// Sequence number.
        seq: u64,
        /// Send time.
        sent_at: Time,
        /// Time at which the far end replied; zero on the forward path.
        turned_at: Time,
    },
}

/// A TCP segment's header (RFC 9293), with timestamps (RFC 7323) in nanoseconds.
///
/// Sequence numbers are 64 bits wide and never wrap: 0 is the SYN, data starts at 1.
#[derive(Clone, Copy, Debug, Default)]
pub struct Segment {
    /// First payload byte.
    pub seq: u64,
    /// Payload bytes.
    pub len: u32,
    /// Payload layout on the sender's pages; None: contiguous pages from the stream's first byte.
    pub layout: Option<Layout>,
    /// Next byte expected from the peer.
    pub ack: u64,
    /// Receive window in bytes, after scaling.
    pub window: u32,
    /// Flags.
    pub flags: Flags,
    /// Send time (TSval).
    pub sent_at: Time,
    /// Echoed TSval (TSecr).
    pub echo: Time,
    /// Selective acknowledgements.
    pub sack: Sack,
    /// Payload of each segment of a super-packet except the last (`gso_size`).
    pub mss: u16,
}

impl Segment {
    /// The sequence number after this segment; SYN and FIN count.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.seq + u64::from(self.len) + u64::from(self.flags.syn) + u64::from(self.flags.fin)
    }
}

/// TCP header flags.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "these are the header's bits")]
pub struct Flags {
    /// SYN: opens a connection.
    pub syn: bool,
    /// ACK: `ack` is valid.
    pub ack: bool,
    /// FIN: no more data from the sender.
    pub fin: bool,
    /// PSH: end of an application write.
    pub psh: bool,
    /// ECE: congestion experienced (RFC 3168 section 6.1).
    pub ece: bool,
    /// CWR: congestion window reduced.
    pub cwr: bool,
    /// ACE counter of AccECN in place of ECE and CWR, once negotiated (RFC 9768).
    pub ace: Option<Ace>,
}

/// Up to this size the compiler copies inline; above it calls `memcpy`.
const _: () = assert!(size_of::<Packet>() <= 128);
