//! Inputs of a controller: states, events, and what an ACK reported about packets, rates and times.
//!
//! Plain values; [`crate::transport`] fills them.

use crate::time::Span;

/// A sender's congestion state (Linux's `icsk_ca_state`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CaState {
    /// No loss suspected.
    #[default]
    Open,
    /// SACKs or duplicate ACKs arrived; no packet is marked lost.
    Disorder,
    /// The window is being reduced without loss: ECN or a local drop.
    Cwr,
    /// Fast recovery.
    Recovery,
    /// After a retransmission timeout.
    Loss,
}

/// An event other than an ACK (Linux's `tcp_ca_event`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// First transmission when nothing was in flight.
    TxStart,
    /// The window is restarted after idle time.
    CwndRestart,
    /// The reduction of [`CaState::Cwr`] is complete.
    CompleteCwr,
    /// A retransmission timeout.
    Loss,
    /// A loss probe repaired a loss that left no other trace (`CA_EVENT_TLP_RECOVERY` of BBR's own kernels).
    LossProbeRecovery,
    /// A packet arrived with CE.
    EcnIsCe,
    /// A packet arrived without CE.
    EcnNoCe,
}

/// A controller's use of ECN.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EcnUse {
    /// RFC 3168, if the experiment enables ECN: new data are ECT(0), and the receiver reports at most one mark per
    /// round trip.
    #[default]
    Classic,
    /// Always negotiated, every packet is ECT(0), and ACKs mirror the marks (RFC 8257; Linux's `TCP_CONG_NEEDS_ECN`).
    Mirrored,
    /// Always negotiated, every packet is ECT(1) (RFC 9331), and ACKs count the marks (RFC 9768).
    Counted,
}

/// What an ACK reported about its packets (Linux's `ack_sample`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckSample {
    /// Packets newly acknowledged, cumulatively or selectively.
    pub acked: u32,
    /// Round-trip time of the newest of them that was sent only once; None if there is none.
    pub rtt: Option<Span>,
    /// Packets in flight when it was sent.
    pub in_flight: u32,
}

impl AckSample {
    /// The round-trip time in microseconds.
    #[must_use]
    pub fn rtt_us(&self) -> Option<u32> {
        self.rtt.map(|rtt| u32::try_from(rtt.as_micros()).unwrap_or(u32::MAX))
    }

    /// The round-trip time in jiffies, rounded up.
    #[must_use]
    pub fn rtt_jiffies(&self) -> Option<u32> {
        self.rtt.map(|rtt| u32::try_from(rtt.jiffies_up()).unwrap_or(u32::MAX))
    }
}

/// An ACK's timestamps in milliseconds (RFC 7323). The simulator has one clock for both ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stamps {
    /// When the receiver sent the ACK (TSval).
    pub sent_ms: u64,
    /// When the packet that it answers was sent (TSecr).
    pub echo_ms: u64,
}

/// Delivery rate over the last round trip (draft-ietf-ccwg-bbr, "Delivery Rate Samples"; Linux's `rate_sample`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "independent flags")]
pub struct RateSample {
    /// `delivered` when the newest packet acknowledged was sent: a packet-timed round ends when this reaches the
    /// round's mark.
    pub prior_delivered: u64,
    /// Packets delivered over `interval`; None when there is no valid sample.
    pub delivered: Option<u32>,
    /// Packets of those that were CE marked.
    pub delivered_ce: u32,
    /// Time over which they were delivered: the longer of the send and the ACK phase; zero when invalid.
    pub interval: Span,
    /// Round-trip time of the newest packet that was not retransmitted; None if there is none.
    pub rtt: Option<Span>,
    /// Packets newly marked lost by this ACK.
    pub losses: u32,
    /// Packets newly acknowledged or SACKed by this ACK.
    pub acked_sacked: u32,
    /// Packets in flight before this ACK.
    pub prior_in_flight: u32,
    /// Was the application the limit when the newest packet was sent?
    pub is_app_limited: bool,
    /// Was the newest packet a retransmission?
    pub is_retransmission: bool,
    /// Was the ACK likely a delayed one?
    pub is_ack_delayed: bool,
    /// Packets in flight, including it, when the newest acknowledged packet was sent (`tx_in_flight`).
    pub tx_in_flight: u32,
    /// Packets marked lost since it was sent.
    pub lost: u32,
    /// Does the ACK end at a loss probe that was a retransmission (`is_acking_tlp_retrans_seq`)?
    pub answers_probe: bool,
    /// Does the ACK echo congestion?
    pub is_ece: bool,
}

/// A packet that was just marked lost (`skb_marked_lost` of BBR's own kernels; per-packet state in the draft).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LostPacket {
    /// Packets in flight when it was sent, including it.
    pub tx_in_flight: u32,
    /// Packets marked lost since it was sent, including it.
    pub lost: u32,
    /// Was the application the limit when it was sent?
    pub is_app_limited: bool,
    /// Is the packet before it, in sequence, not lost?
    pub begins_range: bool,
}
