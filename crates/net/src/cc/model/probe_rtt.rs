//! Constants of `ProbeRTT` and of the minimum round-trip time.

use crate::time::Span;

/// The minimum of this duration counts (`bbr_min_rtt_win_sec`, `MinRTTFilterLen`).
pub(in crate::cc) const MIN_RTT_WINDOW: Span = Span::from_secs(10);
/// `ProbeRTT` lasts at least this long (`bbr_probe_rtt_mode_ms`, `ProbeRTTDuration`).
pub(in crate::cc) const DURATION: Span = Span::from_millis(200);
/// Packets in flight that keep ACKs coming, even delayed ones (`bbr_cwnd_min_target`, `MinPipeCwnd`).
pub(in crate::cc) const MIN_PIPE_CWND: u32 = 4;
