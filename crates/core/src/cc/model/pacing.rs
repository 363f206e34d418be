//! The pacing rate before the path's bandwidth is known.

use super::bandwidth::Bandwidth;
use crate::cc::{CcState, SenderState};
use crate::rate::Rate;

/// The window per round trip at Startup's gain; per millisecond before the first round-trip time sample.
pub(in crate::cc) fn initial_rate(tp: &SenderState, cc: &CcState, gain: u32) -> Rate {
    let micros = if tp.srtt_us8 > 0 { (tp.srtt_us8 >> 3).max(1) } else { NOMINAL_RTT_US };
    let bandwidth = Bandwidth::of(u64::from(cc.cwnd), u64::from(micros));
    bandwidth.paced(tp.mss, gain).min(tp.max_pacing_rate)
}

/// Packets still in the network when the next one departs, out of `in_flight` (`bbr_packets_in_net_at_edt`): others
/// arrive while pacing holds it back.
pub(in crate::cc) fn in_network_at_departure(tp: &SenderState, in_flight: u32, bandwidth: Bandwidth) -> u32 {
    let micros = tp.next_send_at.since(tp.now).as_micros();
    in_flight.saturating_sub(bandwidth.packets_in(micros))
}

/// `USEC_PER_MSEC`: the assumed round-trip time.
const NOMINAL_RTT_US: u32 = 1_000;
