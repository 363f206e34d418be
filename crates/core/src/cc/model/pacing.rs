//! The pacing rate before anything is known of the path's bandwidth.

use super::bandwidth::Bandwidth;
use crate::cc::Vitals;
use crate::rate::Rate;

/// The window in a round trip, at Startup's gain; in a millisecond while no round trip was measured.
pub(in crate::cc) fn initial_rate(vitals: &Vitals, gain: u32) -> Rate {
    let micros = if vitals.srtt_us8 > 0 { (vitals.srtt_us8 >> 3).max(1) } else { NOMINAL_RTT_US };
    let bandwidth = Bandwidth::of(u64::from(vitals.cwnd), u64::from(micros));
    bandwidth.paced(vitals.mss, gain).min(vitals.max_pacing_rate)
}

/// Of packets in flight, those that will be in the network when the next one departs (`bbr_packets_in_net_at_edt`):
/// pacing may hold it back while others arrive.
pub(in crate::cc) fn in_network_at_departure(vitals: &Vitals, in_flight: u32, bandwidth: Bandwidth) -> u32 {
    let micros = vitals.next_send_at.since(vitals.now).as_micros();
    in_flight.saturating_sub(bandwidth.packets_in(micros))
}

/// `USEC_PER_MSEC`: the round-trip time that is assumed.
const NOMINAL_RTT_US: u32 = 1_000;
