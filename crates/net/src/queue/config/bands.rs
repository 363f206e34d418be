//! Settings of filters, prio, drr and policers, as numbers.

use super::Node;
use crate::packet::Packet;
use crate::rate::Rate;
use crate::time::Span;
use alloc::vec::Vec;
use serde::Serialize;

/// A filter: which class a packet belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Filter {
    /// Packets with this server port, in either direction.
    Port {
        /// Port.
        port: u16,
        /// Minor number of the class.
        minor: u32,
    },
    /// Packets of sockets with this mark.
    Mark {
        /// `SO_MARK`.
        mark: u16,
        /// Minor number of the class.
        minor: u32,
    },
    /// Every packet (`matchall`).
    All {
        /// Minor number of the class.
        minor: u32,
    },
}

impl Filter {
    /// Whether it matches this packet.
    #[inline]
    #[must_use]
    pub const fn catches(&self, packet: &Packet) -> bool {
        match self {
            Self::Port { port, .. } => packet.port == *port,
            Self::Mark { mark, .. } => packet.mark == *mark,
            Self::All { .. } => true,
        }
    }

    /// Minor number of its class.
    #[must_use]
    pub const fn minor(&self) -> u32 {
        let (Self::Port { minor, .. } | Self::Mark { minor, .. } | Self::All { minor }) = self;
        *minor
    }
}

/// A filter with its actions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Rule {
    /// Match and class.
    pub filter: Filter,
    /// Policer for matching packets.
    pub police: Option<PoliceConfig>,
}

/// `action police … drop`: drops packets that exceed the bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct PoliceConfig {
    /// Bytes per second.
    pub rate: Rate,
    /// Bucket depth as time at `rate`, in whole ticks of 64 ns.
    pub burst: Span,
    /// Larger packets are dropped; of a super-packet each segment is checked.
    pub mtu: u32,
    /// A second bucket of `mtu` bytes that fills at this rate.
    pub peak: Option<Rate>,
}

/// prio: the first non-empty band sends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PrioConfig {
    /// Qdisc of each band; None: a pfifo of the device's queue length.
    pub bands: Vec<Option<Node>>,
    /// Band, from 0, of packets with priority 0, which all packets have here (`priomap`'s first number).
    pub default: u32,
    /// Filters in order of precedence; class 1 is band 0.
    pub rules: Vec<Rule>,
    /// Packet limit of default bands.
    pub band_limit: u32,
}

/// drr: deficit round robin among classes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DrrConfig {
    /// Classes in order of creation.
    pub classes: Vec<DrrClass>,
    /// Filters in order of precedence; unmatched packets are dropped.
    pub rules: Vec<Rule>,
    /// Packet limit of default classes.
    pub class_limit: u32,
}

/// One drr class.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DrrClass {
    /// Minor number.
    pub minor: u32,
    /// Quantum in bytes.
    pub quantum: u32,
    /// Qdisc of the class; None: a pfifo of the device's queue length.
    pub leaf: Option<Node>,
}

/// ets: bands of which the first are strict and the others share by quantum.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EtsConfig {
    /// Number of strict bands.
    pub strict: u32,
    /// Quantum in bytes of each band, also of strict ones, which do not use it.
    pub quanta: Vec<u32>,
    /// Qdisc of each band; None: a pfifo of the device's queue length.
    pub bands: Vec<Option<Node>>,
    /// Band, from 0, of packets with priority 0, which all packets have here (`priomap`'s first number).
    pub default: u32,
    /// Filters in order of precedence; class 1 is band 0.
    pub rules: Vec<Rule>,
    /// Packet limit of default bands.
    pub band_limit: u32,
}
