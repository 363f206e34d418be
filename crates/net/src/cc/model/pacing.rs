//! Pacing: gains and limits common to the versions, and the rate before the path's bandwidth is known.

use super::bandwidth::{Bandwidth, UNIT};
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
/// 2/ln 2, rounded up: the smallest gain that doubles the delivery rate each round trip (`bbr_high_gain`).
pub(in crate::cc) const HIGH_GAIN: u32 = UNIT * 2_885 / 1_000 + 1;
/// Its inverse empties the queue of Startup in about one round trip (`bbr_drain_gain`).
pub(in crate::cc) const DRAIN_PACING: u32 = UNIT * 1_000 / 2_885;
/// Below this pacing rate in bytes per second, super-packets have one segment (`bbr_min_tso_rate`).
pub(in crate::cc) const SLOW_BYTES: u64 = 1_200_000 / 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gains_are_739_and_88_in_1_256() {
        assert_eq!((HIGH_GAIN, DRAIN_PACING), (739, 88));
        assert_eq!(HIGH_GAIN * 1_000 / UNIT, 2_886);
    }
}
