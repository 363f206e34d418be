//! What filters, prio, drr and policers are told, in numbers.

use super::Node;
use crate::packet::Packet;
use crate::rate::Rate;
use crate::time::Span;
use alloc::vec::Vec;
use serde::Deserialize;

/// Which class a packet belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Filter {
    /// Packets of this server port, either way.
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
    /// Does it catch this packet?
    #[inline]
    #[must_use]
    pub const fn catches(&self, packet: &Packet) -> bool {
        match self {
            Self::Port { port, .. } => packet.port == *port,
            Self::Mark { mark, .. } => packet.mark == *mark,
            Self::All { .. } => true,
        }
    }

    /// Minor number of the class that it names.
    #[must_use]
    pub const fn minor(&self) -> u32 {
        let (Self::Port { minor, .. } | Self::Mark { minor, .. } | Self::All { minor }) = self;
        *minor
    }
}

/// A filter with what else its action does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// Which packets, and their class.
    pub filter: Filter,
    /// A policer that these packets have to pass.
    #[serde(default)]
    pub police: Option<PoliceConfig>,
}

/// `action police … drop`: packets that a bucket can't pay for die at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PoliceConfig {
    /// Bytes a second.
    pub rate: Rate,
    /// The bucket's size as time at `rate`, in whole ticks of 64 ns.
    pub burst: Span,
    /// A larger packet dies; of a super-packet each segment is looked at.
    pub mtu: u32,
    /// A second bucket of `mtu` bytes that fills at this rate.
    #[serde(default)]
    pub peak: Option<Rate>,
}

/// prio: the first band that holds a packet sends.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PrioConfig {
    /// What stands in each band; a pfifo of the device's queue length when not said.
    pub bands: Vec<Option<Node>>,
    /// The band, from 0 on, of packets of priority 0: all of ours (`priomap`'s first number).
    pub default: u32,
    /// Filters in the order in which they are asked; class 1 is band 0.
    pub rules: Vec<Rule>,
    /// Packets in a band of which nothing is said.
    pub band_limit: u32,
}

/// drr: classes take turns, a quantum each.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DrrConfig {
    /// Classes in the order in which they were made.
    pub classes: Vec<DrrClass>,
    /// Filters in the order in which they are asked; what none catches dies.
    pub rules: Vec<Rule>,
    /// Packets in a class of which nothing is said.
    pub class_limit: u32,
}

/// One class of drr.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DrrClass {
    /// Its minor number.
    pub minor: u32,
    /// Bytes that it may send in its turn.
    pub quantum: u32,
    /// What stands in it; a pfifo of the device's queue length when not said.
    #[serde(default)]
    pub leaf: Option<Node>,
}
