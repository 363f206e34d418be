//! A TCP endpoint as in Linux 6.12, without sockets or clocks.
//!
//! ```text
//!   application     write, read            simulator      on_packet, on_timer, on_departed
//!        |                                     |
//!        v                                     v
//!   +---------------------- Endpoint ----------------------+
//!   |  Sender: scoreboard, recovery, pacing, rate sample   |    poll(now) -> Packet | None
//!   |  Receiver: reassembly, ACKs, SACK, window            |    next_timer() -> Time
//!   +------------------------------------------------------+
//! ```
//!
//! Usage: pass in every event with `now`, then poll until there is nothing more, then request the next timer. Programs
//! read and write when the packets of an instant are processed. Time never runs backwards. The simulator and [`crate::queue`] handle packets outside the endpoint.

mod endpoint;
mod receiver;
mod sender;
mod socket_backlog;
#[cfg(test)]
pub(crate) mod testing;

pub use endpoint::{Endpoint, Identity};
pub use receiver::window_scale;
#[cfg(test)]
pub(crate) use sender::{Sender, Transmission, tests::receiver::Receiver as StandardReceiver};
pub use socket_backlog::SocketBacklog;

use crate::cc::{CaState, CcInfo};
use crate::rate::Rate;
use crate::time::Span;
use serde::{Deserialize, Serialize};

/// A host's configuration (sysctl, route, socket options), per endpoint.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "Linux's switches")]
pub struct Settings {
    /// Payload bytes of a full segment: the MTU less IP, TCP and timestamps.
    pub mss: u32,
    /// Initial window in packets (`initcwnd`).
    pub initial_window: u32,
    /// Negotiate ECN (`tcp_ecn=1` or the route's feature).
    pub ecn: bool,
    /// Maximum super-packet in bytes with offloads on; None: the device segments super-packets before sending.
    pub gso_max_bytes: Option<u32>,
    /// Minimum segments in a super-packet (`tcp_min_tso_segs`), unless the controller sets it.
    #[serde(
        default = "Settings::default_min_tso_segments",
        skip_serializing_if = "Settings::is_default_min_tso_segments"
    )]
    pub min_tso_segments: u32,
    /// Acknowledge every segment at once (`quickack` on the route).
    pub quickack: bool,
    /// `tcp_slow_start_after_idle`.
    pub slow_start_after_idle: bool,
    /// `tcp_rmem`'s third number: limit of the receive buffer.
    pub rmem_max: u64,
    /// A fixed receive buffer (`SO_RCVBUF`, as the kernel doubles it); no autotuning then.
    pub rcvbuf: Option<u64>,
    /// `tcp_wmem`'s third number: limit of the send buffer.
    pub wmem_max: u64,
    /// A fixed send buffer (`SO_SNDBUF`, as the kernel doubles it).
    pub sndbuf: Option<u64>,
    /// `SO_MAX_PACING_RATE`.
    pub max_pacing_rate: Option<Rate>,
    /// Read each segment as it arrives; otherwise the reader wakes infrequently, as the agent's does.
    pub prompt_reads: bool,
    /// Settings that hardly any host changes.
    #[serde(default, skip_serializing_if = "Tunables::are_defaults")]
    pub tunables: Tunables,
    /// Does the qdisc of this host's device hold packets until their departure time? Set by the code that configures
    /// the device.
    #[serde(skip)]
    pub queue_paces: bool,
}

/// Settings with the defaults of Linux.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Tunables {
    /// `tcp_rmem`'s second number: the receive buffer at first.
    pub first_rcvbuf: u64,
    /// `tcp_wmem`'s second number: the send buffer at first.
    pub first_sndbuf: u64,
    /// `tcp_tso_win_divisor`: the part of the window that is sent without waiting for more; at least 1.
    pub tso_win_divisor: u32,
}

impl Default for Tunables {
    fn default() -> Self {
        Self { first_rcvbuf: 131_072, first_sndbuf: 16_384, tso_win_divisor: 3 }
    }
}

impl Tunables {
    fn are_defaults(&self) -> bool {
        *self == Self::default()
    }
}

impl Settings {
    /// Linux's default of [`Settings::min_tso_segments`].
    #[must_use]
    pub const fn default_min_tso_segments() -> u32 {
        2
    }

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
    const fn is_default_min_tso_segments(segments: &u32) -> bool {
        *segments == Self::default_min_tso_segments()
    }
}

/// A sender's state as `tcp_info` reports it. Counts are packets; None means unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Info {
    /// TCP state, by its number in Linux (1 is established).
    pub state: u8,
    /// Congestion state.
    pub ca_state: CaState,
    /// Congestion window.
    pub cwnd: u32,
    /// Slow start threshold; [`crate::cc::INFINITE_SSTHRESH`] while infinite.
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
    /// Of those: marked lost.
    pub lost: u32,
    /// Of those: retransmitted and still in flight.
    pub retrans_out: u32,
    /// Retransmissions so far.
    pub total_retrans: u32,
    /// Payload bytes of a full segment.
    pub mss: u32,
    /// Pacing rate; None when not paced.
    pub pacing_rate: Option<Rate>,
    /// Last delivery rate sample, as in `tcp_info`.
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
    /// The controller's state.
    pub cc_info: CcInfo,
}

/// Initial value of AccECN's count of marked packets, so that its field never equals classic ECN's (RFC 9768
/// section 3.2.1).
const FIRST_COUNT: u32 = 5;

/// A receiver's state as its socket reports it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Received {
    /// Payload bytes received in order.
    pub bytes: u64,
    /// Autotuned receive space.
    pub rcv_space: u32,
}
