//! What travels: TCP segments, UDP datagrams and pings, each with the sizes and marks that a queue sees.
//!
//! A packet is a plain value that moves: whoever holds it owns it, so none can be in two queues, and one that is
//! dropped has to be handed to somebody. TCP's packets may be super-packets of several `segments`; [`cut`] parts them.

mod ace;
mod cut;
mod layout;
mod sack;

pub use ace::Ace;
pub use cut::cut;
pub use layout::{Layout, PAGE_BYTES};
pub use sack::{Blocks, MOST_SACK_BLOCKS, Sack};

use crate::time::Time;

/// Ethernet, IPv4, TCP and its timestamp option: what every TCP packet carries beside its payload, as a qdisc counts it.
pub const TCP_HEADERS_BYTES: u32 = ETHERNET_BYTES + IPV4_BYTES + 20 + 12;
/// Ethernet, IPv4 and UDP (or ICMP echo) headers.
pub const UDP_HEADERS_BYTES: u32 = ETHERNET_BYTES + IPV4_BYTES + 8;
/// Ethernet header: a qdisc counts it, the MTU does not.
pub const ETHERNET_BYTES: u32 = 14;
/// IPv4 header without options.
pub const IPV4_BYTES: u32 = 20;

/// A flow's (or probe series') number in its world.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowId(pub u32);

/// Which way a packet goes: data forward, its acknowledgements backward.
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
    /// Not ECN-capable: congestion drops it.
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
    /// May a queue mark this packet instead of dropping it?
    #[must_use]
    pub const fn is_capable(self) -> bool {
        !matches!(self, Self::NotEct)
    }

    /// As it stands in the header (RFC 3168 section 5).
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

/// One packet, or one super-packet.
#[derive(Clone, Copy, Debug)]
pub struct Packet {
    /// Whose it is.
    pub flow: FlowId,
    /// Which way it goes.
    pub direction: Direction,
    /// ECN field.
    pub ecn: Ecn,
    /// TCP segments inside: more than 1 in a super-packet.
    pub segments: u16,
    /// Size as a qdisc counts it: Ethernet header included, and every segment's headers.
    pub bytes: u32,
    /// The server's port, for classifiers.
    pub port: u16,
    /// The socket's mark (`SO_MARK`), for classifiers; 0 is none.
    pub mark: u16,
    /// When it joined the queue that it stands in; a queue sets and reads it.
    pub queued_at: Time,
    /// What it carries.
    pub body: Body,
}

impl Packet {
    /// Does it break a connection off? A reset has neither SYN nor ACK, which no other segment lacks: endpoints never
    /// see one.
    #[must_use]
    pub const fn is_reset(&self) -> bool {
        matches!(&self.body, Body::Tcp(segment) if !segment.flags.syn && !segment.flags.ack)
    }
}

/// What a packet carries.
#[derive(Clone, Copy, Debug)]
pub enum Body {
    /// A TCP segment.
    Tcp(Segment),
    /// A UDP datagram of a flow.
    Udp {
        /// When it was sent.
        sent_at: Time,
        /// Its number.
        seq: u64,
        /// Payload bytes.
        payload: u32,
    },
    /// A ping or UDP probe; it goes forward and comes back.
    Probe {
        /// Its number.
        seq: u64,
        /// When it was sent.
        sent_at: Time,
        /// When the far end turned it round; zero on the way there.
        turned_at: Time,
    },
}

/// A TCP segment's header (RFC 9293), with timestamps (RFC 7323) in nanoseconds.
///
/// Sequence numbers are 64 bits wide and never wrap: 0 is the SYN, data starts at 1.
#[derive(Clone, Copy, Debug, Default)]
pub struct Segment {
    /// First byte carried.
    pub seq: u64,
    /// Payload bytes.
    pub len: u32,
    /// How they lie on the sender's pages; none: as if one page followed the other from the stream's first byte on.
    pub layout: Option<Layout>,
    /// Next byte expected from the other side.
    pub ack: u64,
    /// Receive window in bytes (scaled already).
    pub window: u32,
    /// SYN, FIN and the rest.
    pub flags: Flags,
    /// When it left its sender (TSval).
    pub sent_at: Time,
    /// TSval that it echoes (TSecr).
    pub echo: Time,
    /// Selective acknowledgements.
    pub sack: Sack,
    /// Payload of each segment of a super-packet but the last (`gso_size`).
    pub mss: u16,
}

impl Segment {
    /// The first sequence number after this segment: payload, SYN and FIN count.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.seq + u64::from(self.len) + u64::from(self.flags.syn) + u64::from(self.flags.fin)
    }
}

/// Flags of a TCP header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "these are the header's bits")]
pub struct Flags {
    /// Opens a connection.
    pub syn: bool,
    /// `ack` is valid.
    pub ack: bool,
    /// The sender's last byte was before this one.
    pub fin: bool,
    /// Push: the end of what the application wrote.
    pub psh: bool,
    /// Congestion was experienced (RFC 3168 section 6.1).
    pub ece: bool,
    /// The window was reduced.
    pub cwr: bool,
    /// AccECN's count in the place of the two above, where it was negotiated (RFC 9768).
    pub ace: Option<Ace>,
}

/// Up to this size a copy is a few moves, above it a call.
const _: () = assert!(size_of::<Packet>() <= 128);
