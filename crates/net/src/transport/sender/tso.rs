//! Number of segments in a packet, and whether to wait for more (`tcp_tso_autosize`, `tcp_tso_should_defer`).
//!
//! TCP always builds super-packets; a device without offloads segments them into a burst. So these sizes affect bursts,
//! pacing and TSQ in either case.

use super::Sender;
use super::host::MAX_TCP_HEADER;
use crate::cc::{CaState, CongestionControl};
use crate::number::{low, narrow};
use crate::time::{Span, Time};
use crate::transport::Settings;

/// Super-packet sizes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tso {
    /// `sk_gso_max_size`.
    largest: u32,
    mss: u32,
    /// `tcp_min_tso_segs`.
    fewest: u32,
    /// Payload size of the application's skbs (`tcp_xmit_size_goal`).
    pub goal: u32,
}

/// Why a packet waits for more data.
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
}

impl<C: CongestionControl> Sender<C> {
    /// Maximum segments in a packet now: a millisecond's worth, more on short paths, at least two (`tcp_tso_autosize`).
    pub(super) fn tso_segments(&self) -> u32 {
        let largest = self.tso.largest;
        if let Some(segments) = self.controller.tso_segments() {
            return segments.min(largest / self.tp.mss).max(1);
        }
        let mut bytes = narrow(self.paced_burst());
        let halvings = self.tp.min_rtt_us >> TSO_RTT_LOG;
        bytes = bytes.saturating_add(largest.checked_shr(halvings).unwrap_or(0)).min(largest);
        (bytes / self.tp.mss).max(self.controller.min_tso_segments(&self.tp, &self.cc).unwrap_or(self.tso.fewest))
    }

    /// Should it wait for a fuller packet instead of sending the part of `len` bytes that the windows allow now?
    pub(super) fn defer(&self, len: u64, is_tail: bool) -> Defer {
        let tp = &self.tp;
        // Only within a millisecond of the last packet: waiting longer would cause bursts.
        if tp.state >= CaState::Recovery || tp.now > tp.next_send_at + Span::from_millis(1) {
            return Defer::No;
        }
        let mss = u64::from(tp.mss);
        let peer_window_left = self.window_end() - tp.snd_nxt;
        let cwnd_left = u64::from(self.cc.cwnd - tp.in_flight()) * mss;
        let limit = peer_window_left.min(cwnd_left);
        let full = limit >= u64::from(self.burst.max_segments) * mss || (!is_tail && limit >= len);
        let window = u64::from(self.peer.window).min(u64::from(self.cc.cwnd) * mss);
        if full || limit >= window / TSO_WIN_DIVISOR || !self.ack_is_near() {
            return Defer::No;
        }
        match cwnd_left < peer_window_left {
            true if cwnd_left <= len => Defer::ForCwnd,
            false if peer_window_left <= len => Defer::ForPeer,
            _ if is_tail && self.app_source.has_fin() => Defer::No,
            _ => Defer::ForData,
        }
    }

    /// Is the next ACK expected within a millisecond, or half a round trip?
    fn ack_is_near(&self) -> bool {
        let Some(front) = self.board.front() else { return false };
        let srtt = Span::from_nanos(u64::from(self.tp.srtt_us8) * 125);
        let expected = Time::from_nanos((front.sent_us - 1) * 1_000 + u64::from(front.sent_rest_ns)) + srtt;
        let ahead = expected.as_nanos().cast_signed() - self.tp.now.as_nanos().cast_signed();
        ahead <= (srtt / 2).min(Span::from_millis(1)).as_nanos().cast_signed()
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
