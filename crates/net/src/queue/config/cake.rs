//! Settings of cake, as numbers.

use crate::rate::Rate;
use crate::time::Span;
use serde::Serialize;

/// Settings of cake as tc passes them to the kernel.
///
/// All packets here have DSCP 0, so only one of cake's tins is in use: the one for DSCP 0.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CakeConfig {
    /// Shaper rate; None is `unlimited`.
    pub rate: Option<Rate>,
    /// Threshold rate of the tin; its quantum and target follow from it.
    pub tin_rate: Option<Rate>,
    /// Target sojourn time.
    pub target: Span,
    /// Interval, before the adjustment for the rate.
    pub interval: Span,
    /// Flow isolation: which packets share a queue and a fair share.
    pub isolation: Isolation,
    /// When an ACK is dropped for a later one.
    pub ack_filter: AckFilter,
    /// Link-layer overhead.
    pub link: Link,
    /// Memory limit; None: four intervals at the rate, at least 4 MiB.
    pub memory_limit: Option<u64>,
    /// Split super-packets on arrival.
    pub split_gso: bool,
    /// Count dropped packets against the shaper (`ingress`).
    pub ingress: bool,
    /// MTU of the device including the Ethernet header.
    pub mtu: u32,
}

/// Flow isolation modes (tc-cake(8), "Flow Isolation Parameters"), in the order of the kernel's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Isolation {
    /// One queue for all packets.
    Flowblind,
    /// A queue per sending host.
    Srchost,
    /// A queue per receiving host.
    Dsthost,
    /// A queue per pair of hosts.
    Hosts,
    /// A queue per flow.
    Flows,
    /// Flows, fair among sending hosts first.
    DualSrchost,
    /// Flows, fair among receiving hosts first.
    DualDsthost,
    /// Flows, fair among sending and receiving hosts.
    TripleIsolate,
}

/// ACK filter modes, in the order of the kernel's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AckFilter {
    /// Off.
    None,
    /// Drop an ACK that two later ones supersede.
    Filter,
    /// Drop an ACK that one later one supersedes.
    Aggressive,
}

/// Overhead of the link behind the shaper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Link {
    /// Bytes added to each packet; may be negative.
    pub overhead: i32,
    /// Whether the overhead applies to the frame as the device counts it (`raw`) instead of the IP packet.
    pub raw: bool,
    /// Minimum packet unit in bytes.
    pub least: u32,
    /// Framing.
    pub framing: Framing,
}

/// Link framing, in the order of the kernel's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Framing {
    /// None.
    Plain,
    /// ATM: cells of 53 bytes that hold 48.
    Atm,
    /// PTM: 65 bytes for every 64.
    Ptm,
}
