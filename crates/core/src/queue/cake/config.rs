//! What an experiment may say of a cake, in numbers; what they do is its own files' affair.

use crate::rate::Rate;
use crate::time::Span;
use serde::Deserialize;

/// cake, as the kernel gets it from tc.
///
/// Packets here have no DSCP but 0, so of cake's tins there is one: the one that DSCP 0 goes to.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CakeConfig {
    /// The shaper's rate; None is `unlimited`.
    #[serde(default)]
    pub rate: Option<Rate>,
    /// The threshold rate of the tin, from which its quantum and its target follow.
    #[serde(default)]
    pub tin_rate: Option<Rate>,
    /// Sojourn time that may stand.
    pub target: Span,
    /// How long it may be exceeded, before the rate's share is added.
    pub interval: Span,
    /// Who gets a queue of his own, and who a fair share.
    pub isolation: Isolation,
    /// What becomes of an acknowledgement when a better one stands behind it.
    pub ack_filter: AckFilter,
    /// What the link adds to a packet.
    pub link: Link,
    /// Most memory, where it is said; otherwise four intervals' worth and at least 4 MiB.
    #[serde(default)]
    pub memory_limit: Option<u64>,
    /// Is a super-packet cut when it comes?
    pub split_gso: bool,
    /// Does what is dropped count as having passed the shaper?
    pub ingress: bool,
    /// The device's MTU with its header.
    pub mtu: u32,
}

/// By what packets are told apart (tc-cake(8), "Flow Isolation Parameters").
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Isolation {
    /// One queue for all.
    Flowblind,
    /// A queue for each sending host.
    Srchost,
    /// A queue for each receiving host.
    Dsthost,
    /// A queue for each pair of hosts.
    Hosts,
    /// A queue for each flow.
    Flows,
    /// Flows, fair among sending hosts first.
    DualSrchost,
    /// Flows, fair among receiving hosts first.
    DualDsthost,
    /// Flows, fair among both.
    TripleIsolate,
}

/// Which acknowledgements die.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AckFilter {
    /// None.
    None,
    /// Those that two later ones make useless.
    Filter,
    /// Those that one later one makes useless.
    Aggressive,
}

/// What a packet costs on the link behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// Bytes added to each packet, which may be fewer than none.
    pub overhead: i32,
    /// Added to the packet as the device counts it (`raw`), with its Ethernet header? Otherwise to the IP packet.
    pub raw: bool,
    /// Every packet counts as so many bytes at least.
    pub least: u32,
    /// How the link frames its bytes.
    pub framing: Framing,
}

/// How a link frames its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Framing {
    /// As they are.
    Plain,
    /// In cells of 53 bytes that hold 48.
    Atm,
    /// 65 bytes for 64.
    Ptm,
}
