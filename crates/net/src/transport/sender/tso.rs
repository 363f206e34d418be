//! Number of segments in a packet, and whether to wait for more (`tcp_tso_autosize`, `tcp_tso_should_defer`).
//!
//! TCP always builds super-packets; a device without offloads segments them into a burst. So these sizes affect bursts,
//! pacing and TSQ in either case.

use super::host::MAX_TCP_HEADER;
use crate::cc::SenderState;
use crate::number::{low, narrow};
use crate::transport::Settings;

/// Super-packet sizes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tso {
    /// `sk_gso_max_size`.
    largest: u32,
    mss: u32,
    /// `tcp_min_tso_segs`.
    fewest: u32,
    /// Payload size of the application's skbs.
    goal: u32,
}

/// Does a packet wait, and for what?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Defer {
    No,
    /// The congestion window will open.
    ForCwnd,
    /// The receiver's window will open.
    ForPeer,
    /// The application may write more.
    ForData,
}

impl Tso {
    /// Limits of the device, and of the controller if it has one.
    pub fn new(settings: &Settings, max_segments: Option<u32>) -> Self {
        let device = settings.gso_max_bytes.unwrap_or(DEVICE_MAX_BYTES);
        let largest = device.saturating_sub(low(MAX_TCP_HEADER) + 1).max(settings.mss);
        let largest = max_segments.map_or(largest, |maximum| largest.min(maximum.saturating_mul(settings.mss)));
        let mut tso = Self { largest, mss: settings.mss, fewest: settings.min_tso_segments, goal: 0 };
        tso.fit_window(u32::MAX);
        tso
    }

    /// Payload size of the application's skbs (`tcp_xmit_size_goal`).
    pub const fn goal(&self) -> u32 {
        self.goal
    }

    /// `sk_gso_max_size` in bytes.
    pub const fn largest_bytes(&self) -> u32 {
        self.largest
    }

    /// Limits segments and super-packets to half the largest window that the peer ever had (`tcp_bound_to_half_wnd`).
    /// Returns the MSS.
    pub fn fit_window(&mut self, largest_window: u32) -> u32 {
        let bound = if largest_window > DEFAULT_MSS { largest_window / 2 } else { largest_window };
        let bound = if bound > 0 { bound } else { u32::MAX };
        let mss = self.mss.min(bound.max(MIN_MSS));
        self.goal = (self.largest.min(bound) / mss).max(1) * mss;
        mss
    }

    /// Maximum segments in a packet now: a millisecond's worth at the pacing rate, more on short paths, at least the
    /// controller's or the host's minimum (`tcp_tso_autosize`).
    pub fn segments(&self, tp: &SenderState, paced_bytes: u64, fewest: Option<u32>) -> u32 {
        let halvings = tp.min_rtt_us >> TSO_RTT_LOG;
        let short_path = self.largest.checked_shr(halvings).unwrap_or(0);
        let bytes = narrow(paced_bytes).saturating_add(short_path).min(self.largest);
        (bytes / tp.mss).max(fewest.unwrap_or(self.fewest))
    }

    /// Maximum segments in a packet if the controller chooses them.
    pub fn chosen_segments(&self, tp: &SenderState, segments: u32) -> u32 {
        segments.min(self.largest / tp.mss).max(1)
    }
}

/// What may be sent now. Bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    /// Data in the first skb.
    pub head: u64,
    /// Is that all there is?
    pub is_tail: bool,
    /// Does a FIN follow it?
    pub has_fin: bool,
    /// What the congestion window has left.
    pub cwnd_left: u64,
    /// What the peer's window has left.
    pub peer_left: u64,
    /// The smaller of both windows, in use or not.
    pub window: u64,
    /// A full packet.
    pub full: u64,
}

impl Room {
    /// Should it wait for a fuller packet instead of sending the part that the windows allow now
    /// (`tcp_tso_should_defer`)? `ack_is_near`: is the next ACK expected soon?
    pub fn defer(&self, ack_is_near: impl FnOnce() -> bool) -> Defer {
        let limit = self.peer_left.min(self.cwnd_left);
        let is_full = limit >= self.full || (!self.is_tail && limit >= self.head);
        if is_full || limit >= self.window / TSO_WIN_DIVISOR || !ack_is_near() {
            return Defer::No;
        }
        match self.cwnd_left < self.peer_left {
            true if self.cwnd_left <= self.head => Defer::ForCwnd,
            false if self.peer_left <= self.head => Defer::ForPeer,
            _ if self.is_tail && self.has_fin => Defer::No,
            _ => Defer::ForData,
        }
    }
}

/// A device's default (`GSO_LEGACY_MAX_SIZE`).
const DEVICE_MAX_BYTES: u32 = 65_536;
/// `TCP_MSS_DEFAULT`.
const DEFAULT_MSS: u32 = 536;
/// 68 bytes with the header.
const MIN_MSS: u32 = 36;
/// Every 512 µs of round trip halve the allowance for short paths (`tcp_tso_rtt_log`).
const TSO_RTT_LOG: u32 = 9;
/// `tcp_tso_win_divisor`.
const TSO_WIN_DIVISOR: u64 = 3;
