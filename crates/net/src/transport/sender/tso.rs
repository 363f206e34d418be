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
    /// `tcp_tso_win_divisor`.
    divisor: u32,
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
        let mut tso = Self {
            largest,
            mss: settings.mss,
            fewest: settings.min_tso_segments,
            divisor: settings.tunables.tso_win_divisor,
            goal: 0,
        };
        tso.fit_window(u32::MAX);
        tso
    }

    /// Payload size of the application's skbs (`tcp_xmit_size_goal`).
    pub const fn goal(&self) -> u32 {
        self.goal
    }

    /// The part of a window that is sent without waiting for more.
    pub fn enough(&self, window: u64) -> u64 {
        window / u64::from(self.divisor)
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
    /// This much is sent without a wait: a part of the smaller window, in use or not.
    pub enough: u64,
    /// A full packet.
    pub full: u64,
}

impl Room {
    /// Should it wait for a fuller packet instead of sending the part that the windows allow now
    /// (`tcp_tso_should_defer`)? `ack_is_near`: is the next ACK expected soon?
    pub fn defer(&self, ack_is_near: impl FnOnce() -> bool) -> Defer {
        let limit = self.peer_left.min(self.cwnd_left);
        let is_full = limit >= self.full || (!self.is_tail && limit >= self.head);
        if is_full || limit >= self.enough || !ack_is_near() {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::sender::initial_state::initial_state;
    use crate::transport::sender::tests::settings;
    use proptest::prelude::*;

    proptest! {
        /// A packet has a millisecond of the pacing rate, more on a path below a few milliseconds, at least two segments,
        /// and never more than the device takes.
        #[test]
        fn a_packet_has_a_millisecond_of_data(
            paced_bytes in prop_oneof![0_u64..70_000, 0_u64..10_000_000],
            min_rtt_us in prop_oneof![1_u32..4_000, 1_u32..100_000],
            fewest in prop::option::of(1_u32..10),
            chosen in 0_u32..1_000,
        ) {
            let settings = Settings { gso_max_bytes: Some(65_536), ..settings() };
            let tso = Tso::new(&settings, None);
            let tp = SenderState { min_rtt_us, ..initial_state(&settings, &tso) };
            let most = tso.largest_bytes() / tp.mss;
            let segments = tso.segments(&tp, paced_bytes, fewest);
            let extra = u64::from(tso.largest_bytes()) >> (min_rtt_us / 512).min(63);
            let expected = ((paced_bytes + extra) / u64::from(tp.mss)).min(u64::from(most));
            prop_assert_eq!(u64::from(segments), expected.max(u64::from(fewest.unwrap_or(2))));
            prop_assert_eq!(tso.chosen_segments(&tp, chosen), chosen.clamp(1, most));
        }

        /// Skbs and segments fit half the peer's largest window (RFC 1122 section 4.2.3.4), unless it is tiny.
        #[test]
        fn skbs_fit_half_the_window(window in 1_u32..200_000) {
            let mut tso = Tso::new(&settings(), None);
            let mss = tso.fit_window(window);
            prop_assert!((MIN_MSS..=1_000).contains(&mss) && tso.goal().is_multiple_of(mss) && tso.goal() >= mss);
            let bound = if window > DEFAULT_MSS { window / 2 } else { window };
            prop_assert!(tso.goal() <= bound.max(MIN_MSS));
            prop_assert_eq!(mss, 1_000.min(bound.max(MIN_MSS)));
        }

        /// It waits only for an ACK that is near, with less than a third of the window free, and when the data would fill
        /// what is left; a FIN does not wait for more data.
        #[test]
        fn it_waits_only_for_something_near(
            head in 1_u64..20,
            (is_tail, has_fin, is_near) in (any::<bool>(), any::<bool>(), any::<bool>()),
            (cwnd_left, peer_left, window) in (0_u64..20, 0_u64..20, 0_u64..100),
            full in 1_u64..40,
        ) {
            let room = Room { head, is_tail, has_fin, cwnd_left, peer_left, enough: window / 3, full };
            let least = cwnd_left.min(peer_left);
            let may_wait = is_near && least < full && least < window / 3 && (is_tail || least < head);
            let expected = match () {
                () if !may_wait => Defer::No,
                () if least > head && has_fin => Defer::No,
                () if least > head => Defer::ForData,
                () if cwnd_left < peer_left => Defer::ForCwnd,
                () => Defer::ForPeer,
            };
            prop_assert_eq!(room.defer(|| is_near), expected);
        }
    }
}
