//! One TCP endpoint as Linux 6.12 runs it, without sockets or clocks.
//!
//! ```text
//!   application     write, read            the world      on_packet, on_timer, on_departed
//!        |                                     |
//!        v                                     v
//!   +---------------------- Endpoint ----------------------+
//!   |  Sender: scoreboard, recovery, pacing, rate sample   |    poll(now) -> Packet | nothing
//!   |  Receiver: reassembly, ACKs, SACK, window            |    next_timer() -> Time
//!   +------------------------------------------------------+
//! ```
//!
//! The rule of use: hand in whatever happened with `now`, then poll until nothing comes, then ask for the next timer.
//! Time never runs backwards. What a packet meets outside is [`crate::queue`]'s and the world's affair.

mod endpoint;
mod receiver;
mod sender;
#[cfg(test)]
pub(crate) mod testing;
pub(crate) mod wheel;

pub use endpoint::{Endpoint, Identity};
#[cfg(test)]
pub(crate) use sender::{Sender, Transmission, tests::receiver::Receiver as HonestReceiver};

use crate::cc::{CaState, Insight};
use crate::rate::Rate;
use crate::time::Span;
use serde::Deserialize;

/// What a host's administrator set (sysctl, route, socket options), per endpoint.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch that Linux has")]
pub struct Settings {
    /// Payload bytes of a full segment: the MTU less IP, TCP and timestamps.
    pub mss: u32,
    /// Initial window in packets (`initcwnd`).
    pub initial_window: u32,
    /// Negotiate ECN (`tcp_ecn=1` or the route's feature).
    pub ecn: bool,
    /// Largest super-packet in bytes when offloads are on; None: the device cuts them into segments on their way out.
    pub gso_max_bytes: Option<u32>,
    /// Fewest segments in a super-packet (`tcp_min_tso_segs`), where the controller does not say.
    #[serde(default = "default_min_tso_segments")]
    pub min_tso_segments: u32,
    /// Acknowledge every segment at once (`quickack` on the route).
    pub quickack: bool,
    /// `tcp_slow_start_after_idle`.
    pub slow_start_after_idle: bool,
    /// `tcp_rmem`'s third number: how far the receive buffer grows.
    pub rmem_max: u64,
    /// A fixed receive buffer (`SO_RCVBUF`, as the kernel doubles it); no autotuning then.
    pub rcvbuf: Option<u64>,
    /// `tcp_wmem`'s third number: how far the send buffer grows.
    pub wmem_max: u64,
    /// A fixed send buffer (`SO_SNDBUF`, as the kernel doubles it).
    pub sndbuf: Option<u64>,
    /// `SO_MAX_PACING_RATE`.
    pub max_pacing_rate: Option<Rate>,
    /// Read each segment as it comes; otherwise the reader wakes rarely, as the agent's does.
    pub prompt_reads: bool,
    /// Does the discipline on this host's device hold packets back until they depart? For whoever knows the device to set.
    #[serde(skip)]
    pub queue_paces: bool,
}

const fn default_min_tso_segments() -> u32 {
    2
}

/// A sender's state as `tcp_info` shows it. Counts are packets, `None` is "not known".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Info {
    /// TCP state's number in Linux (1 is established).
    pub state: u8,
    /// Congestion state.
    pub ca_state: CaState,
    /// Window.
    pub cwnd: u32,
    /// Threshold; [`crate::cc::INFINITE_SSTHRESH`] while infinite.
    pub ssthresh: u32,
    /// Smoothed round-trip time.
    pub rtt: Span,
    /// Its mean deviation.
    pub rttvar: Span,
    /// Windowed minimum; None before the first sample.
    pub min_rtt: Option<Span>,
    /// Retransmission timeout.
    pub rto: Span,
    /// Sent and not cumulatively acknowledged.
    pub unacked: u32,
    /// Of those: SACKed.
    pub sacked: u32,
    /// Of those: thought lost.
    pub lost: u32,
    /// Of those: retransmitted and still out.
    pub retrans_out: u32,
    /// Retransmissions so far.
    pub total_retrans: u32,
    /// Payload bytes of a full segment.
    pub mss: u32,
    /// Pacing rate; None when not paced.
    pub pacing_rate: Option<Rate>,
    /// Last delivery rate sample that `tcp_info` would show.
    pub delivery_rate: Rate,
    /// Was that sample limited by the application?
    pub app_limited: bool,
    /// Payload bytes sent, retransmissions included.
    pub bytes_sent: u64,
    /// Payload bytes acknowledged.
    pub bytes_acked: u64,
    /// Payload bytes retransmitted.
    pub bytes_retrans: u64,
    /// Segments sent, ACKs included.
    pub segs_out: u32,
    /// Segments with payload sent.
    pub data_segs_out: u32,
    /// Packets delivered.
    pub delivered: u32,
    /// Packets delivered with CE.
    pub delivered_ce: u32,
    /// Reordering metric.
    pub reordering: u32,
    /// Reordering events seen.
    pub reord_seen: u32,
    /// Peer's window in bytes.
    pub snd_wnd: u32,
    /// Bytes written and not yet sent.
    pub notsent_bytes: u32,
    /// Time with data outstanding.
    pub busy: Span,
    /// Of that: limited by the peer's window.
    pub rwnd_limited: Span,
    /// Of that: limited by the send buffer.
    pub sndbuf_limited: Span,
    /// Timeouts in a row.
    pub backoff: u8,
    /// Was ECN negotiated?
    pub ecn: bool,
    /// DSACKs received.
    pub dsack_dups: u32,
    /// What the controller shows.
    pub insight: Insight,
}

/// AccECN's count of marked packets begins here, so that its field is never what classic ECN would say (RFC 9768 section
/// 3.2.1).
const FIRST_COUNT: u32 = 5;

/// What a receiver's socket shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Received {
    /// Payload bytes received in order.
    pub bytes: u64,
    /// Autotuned receive space.
    pub rcv_space: u32,
}
