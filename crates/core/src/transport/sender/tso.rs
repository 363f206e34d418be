//! How many segments go into one packet, and whether to wait for more (`tcp_tso_autosize`, `tcp_tso_should_defer`).
//!
//! TCP always builds super-packets; a device without offloads cuts them into segments that leave back to back. So the
//! sizes below shape bursts, pacing and small queues either way.

use super::Sender;
use super::host::MAX_TCP_HEADER;
use super::number::{low, narrow, signed};
use crate::cc::{CaState, Control};
use crate::time::{Span, Time};
use crate::transport::Settings;

/// A burst is what the pacing rate carries in 2^-10 s, about a millisecond (`sk_pacing_shift`).
pub(super) const PACING_SHIFT: u32 = 10;

/// Sizes of super-packets.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tso {
    /// `sk_gso_max_size`.
    largest: u32,
    mss: u32,
    /// `tcp_min_tso_segs`.
    fewest: u32,
    /// Payload that the application's writes are cut into (`tcp_xmit_size_goal`).
    pub goal: u32,
}

/// Why a packet waits for more to come.
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
    /// As the device allows, and the controller where it says so.
    pub fn new(settings: &Settings, most_segments: Option<u32>) -> Self {
        let device = settings.gso_max_bytes.unwrap_or(DEVICE_MAX_BYTES);
        let largest = device.saturating_sub(low(MAX_TCP_HEADER) + 1).max(settings.mss);
        let largest = most_segments.map_or(largest, |most| largest.min(most.saturating_mul(settings.mss)));
        let mut tso = Self { largest, mss: settings.mss, fewest: settings.min_tso_segments, goal: 0 };
        tso.fit_window(u32::MAX);
        tso
    }

    /// `sk_gso_max_size` in bytes.
    pub const fn largest_bytes(&self) -> u32 {
        self.largest
    }

    /// No piece is larger than half the largest window that the peer ever had (`tcp_bound_to_half_wnd`).
    pub fn fit_window(&mut self, largest_window: u32) {
        let bound = if largest_window > DEFAULT_MSS { largest_window / 2 } else { largest_window };
        let bytes = if bound > 0 { self.largest.min(bound) } else { self.largest };
        self.goal = (bytes / self.mss).max(1) * self.mss;
    }
}

impl<C: Control> Sender<C> {
    /// Most segments in a packet now: a millisecond's worth, more on short paths, two at least (`tcp_tso_autosize`).
    pub(super) fn tso_segments(&self) -> u32 {
        let largest = self.tso.largest;
        if let Some(segments) = self.controller.tso_segments() {
            return segments.min(largest / self.vitals.mss).max(1);
        }
        let mut bytes = narrow(self.paced_burst());
        let halvings = self.vitals.min_rtt_us >> TSO_RTT_LOG;
        bytes = bytes.saturating_add(largest.checked_shr(halvings).unwrap_or(0)).min(largest);
        (bytes / self.vitals.mss).max(self.controller.min_tso_segments(&self.vitals).unwrap_or(self.tso.fewest))
    }

    /// Is it better to wait for a fuller packet than to send what the windows allow of `len` bytes now?
    pub(super) fn defer(&self, len: u64, is_tail: bool) -> Defer {
        let vitals = &self.vitals;
        // Only while the last packet is a millisecond young: waiting longer would make bursts.
        if vitals.state >= CaState::Recovery || vitals.now > vitals.next_send_at + Span::from_millis(1) {
            return Defer::No;
        }
        let mss = u64::from(vitals.mss);
        let peer_room = self.window_end() - vitals.snd_nxt;
        let own_room = u64::from(vitals.cwnd - vitals.in_flight()) * mss;
        let limit = peer_room.min(own_room);
        let full = limit >= u64::from(self.burst.most_segments) * mss || (!is_tail && limit >= len);
        let window = u64::from(self.peer.window).min(u64::from(vitals.cwnd) * mss);
        if full || limit >= window / TSO_WIN_DIVISOR || !self.ack_is_near() {
            return Defer::No;
        }
        match own_room < peer_room {
            true if own_room <= len => Defer::ForCwnd,
            false if peer_room <= len => Defer::ForPeer,
            _ if is_tail && self.supply.has_fin() => Defer::No,
            _ => Defer::ForData,
        }
    }

    /// Will the next ACK come within a millisecond, or half a round trip?
    fn ack_is_near(&self) -> bool {
        let Some(front) = self.board.front() else { return false };
        let srtt = Span::from_nanos(u64::from(self.vitals.srtt_us8) * 125);
        let expected = Time::from_nanos((front.sent_us - 1) * 1_000) + srtt;
        let ahead = signed(expected.as_nanos()) - signed(self.vitals.now.as_nanos());
        ahead <= signed((srtt / 2).min(Span::from_millis(1)).as_nanos())
    }
}

/// A device's default (`GSO_LEGACY_MAX_SIZE`).
const DEVICE_MAX_BYTES: u32 = 65_536;
/// `TCP_MSS_DEFAULT`.
const DEFAULT_MSS: u32 = 536;
/// Each 512 us of round trip halve the allowance for short paths (`tcp_tso_rtt_log`).
const TSO_RTT_LOG: u32 = 9;
/// `tcp_tso_win_divisor`.
const TSO_WIN_DIVISOR: u64 = 3;
