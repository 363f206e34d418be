//! What a controller hears: states, events, and what an ACK said of packets, rates and times.
//!
//! Plain values; who fills them is [`crate::transport`]'s affair.

use crate::time::Span;

/// How a sender stands towards congestion (Linux's `icsk_ca_state`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CaState {
    /// Nothing is wrong.
    #[default]
    Open,
    /// Something was SACKed or duplicated; nothing is known to be lost.
    Disorder,
    /// The window is being reduced for another reason than loss: ECN, a local drop.
    Cwr,
    /// Fast recovery.
    Recovery,
    /// After a retransmission timeout.
    Loss,
}

/// What happened to a sender beside an ACK (Linux's `tcp_ca_event`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// First transmission when nothing was in flight.
    TxStart,
    /// The window is restarted after an idle time.
    CwndRestart,
    /// The reduction of [`CaState::Cwr`] is complete.
    CompleteCwr,
    /// A retransmission timeout.
    Loss,
    /// The loss probe mended a loss that nothing else would have shown (`CA_EVENT_TLP_RECOVERY` of BBR's own kernels).
    LossProbeRecovery,
    /// A packet arrived with CE; or without, in which case [`Event::EcnNoCe`].
    EcnIsCe,
    /// A packet arrived without CE.
    EcnNoCe,
}

/// What a controller wants of ECN.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EcnUse {
    /// RFC 3168, where the experiment asks for it: new data are ECT(0), and of a round trip's marks one is told.
    #[default]
    Classic,
    /// Asked for always, every packet is ECT(0), and ACKs mirror the marks (RFC 8257; Linux's `TCP_CONG_NEEDS_ECN`).
    Mirrored,
    /// Asked for always, every packet is ECT(1) (RFC 9331), and ACKs count the marks (RFC 9768).
    Counted,
}

/// What an ACK said about its packets (Linux's `ack_sample`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckSample {
    /// Packets newly acknowledged, cumulatively or selectively.
    pub acked: u32,
    /// Round-trip time of the newest of them that was sent once, when there is one.
    pub rtt: Option<Span>,
    /// Packets in flight when it was sent.
    pub in_flight: u32,
}

impl AckSample {
    /// The round-trip time in microseconds, when there is one.
    #[must_use]
    pub fn rtt_us(&self) -> Option<u32> {
        self.rtt.map(|rtt| u32::try_from(rtt.as_micros()).unwrap_or(u32::MAX))
    }

    /// The same in jiffies, rounded up.
    #[must_use]
    pub fn rtt_jiffies(&self) -> Option<u32> {
        self.rtt.map(|rtt| u32::try_from(rtt.jiffies_up()).unwrap_or(u32::MAX))
    }
}

/// An ACK's timestamps in milliseconds (RFC 7323), on the simulator's one clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stamps {
    /// When the receiver sent it (TSval).
    pub sent_ms: u64,
    /// When what it answers was sent (TSecr).
    pub echo_ms: u64,
}

/// Delivery rate over the last round trip (draft-ietf-ccwg-bbr, "Delivery Rate Samples"; Linux's `rate_sample`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "they are independent of each other")]
pub struct RateSample {
    /// `delivered` when the newest packet acknowledged was sent: a packet-timed round ends when this reaches the round's mark.
    pub prior_delivered: u64,
    /// Packets delivered over `interval`; None when there is no valid sample.
    pub delivered: Option<u32>,
    /// Packets of those that were CE marked.
    pub delivered_ce: u32,
    /// Time in which they were delivered: the longer of the send and the ACK phase; zero when invalid.
    pub interval: Span,
    /// Round-trip time of the newest packet that was not retransmitted, when there is one.
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
    /// Packets in flight when the newest packet acknowledged was sent, with it (`tx_in_flight`).
    pub tx_in_flight: u32,
    /// Packets marked lost since it was sent.
    pub lost: u32,
    /// Does the ACK end at a loss probe that was a retransmission (`is_acking_tlp_retrans_seq`)?
    pub answers_probe: bool,
    /// Does the ACK echo congestion?
    pub is_ece: bool,
}

/// A packet that was just marked lost (Linux's `skb_marked_lost` of BBR's own kernels; the draft's per-packet state).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LostPacket {
    /// Packets in flight when it was sent, with it.
    pub tx_in_flight: u32,
    /// Packets marked lost since it was sent, with it.
    pub lost: u32,
    /// Was the application the limit when it was sent?
    pub is_app_limited: bool,
    /// Is the packet before it, in sequence, not lost?
    pub begins_range: bool,
}
