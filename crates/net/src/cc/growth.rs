//! Slow start and additive increase, which most controllers share (Linux's `tcp_slow_start` and `tcp_cong_avoid_ai`).

use super::{CcState, SenderState};

/// Acknowledged packets left for congestion avoidance: None if the window was not the limit or if slow start used them
/// all.
pub(super) fn beyond_slow_start(tp: &SenderState, cc: &mut CcState, acked: u32) -> Option<u32> {
    if !tp.is_cwnd_limited(cc) {
        return None;
    }
    if !cc.in_slow_start() {
        return Some(acked);
    }
    Some(slow_start(cc, acked)).filter(|left_over| *left_over > 0)
}

/// May the window grow by congestion avoidance? Not if it was not the limit, and not if this ACK belongs to slow start,
/// which this function performs. Packets that slow start leaves over are discarded.
pub(super) fn in_avoidance(tp: &SenderState, cc: &mut CcState, acked: u32) -> bool {
    if !tp.is_cwnd_limited(cc) {
        return false;
    }
    if cc.in_slow_start() {
        slow_start(cc, acked);
        return false;
    }
    true
}

/// Slow start (RFC 5681 section 3.1, without its limit of one packet per ACK): one packet for each acknowledged one, up
/// to the threshold. Returns the acknowledged packets left over.
pub(super) fn slow_start(cc: &mut CcState, acked: u32) -> u32 {
    let target = cc.cwnd.saturating_add(acked).min(cc.ssthresh);
    let left_over = acked - (target - cc.cwnd);
    cc.cwnd = target.min(cc.cwnd_clamp);
    left_over
}

/// Adds one packet for every `per` acknowledged packets; the remainder stays in `cwnd_count`.
pub(super) fn additive_increase(cc: &mut CcState, per: u32, acked: u32) {
    // Credit from a time of slower growth adds one packet, not many at once.
    if cc.cwnd_count >= per {
        cc.cwnd_count = 0;
        cc.cwnd = cc.cwnd.saturating_add(1);
    }
    cc.cwnd_count = cc.cwnd_count.saturating_add(acked);
    if cc.cwnd_count >= per {
        cc.cwnd = cc.cwnd.saturating_add(cc.cwnd_count / per);
        cc.cwnd_count %= per;
    }
    cc.cwnd = cc.cwnd.min(cc.cwnd_clamp);
}

/// The phase of a controller without phases of its own: below the threshold or not.
pub(super) const fn phase(cc: &CcState) -> &'static str {
    if cc.in_slow_start() { "slow_start" } else { "avoidance" }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::testing::{cc, tp};

    #[test]
    fn slow_start_stops_at_the_threshold_and_returns_the_rest() {
        let (_tp, mut cc) = (tp(), cc());
        cc.ssthresh = 13;
        assert_eq!((slow_start(&mut cc, 2), cc.cwnd), (0, 12));
        assert_eq!((slow_start(&mut cc, 5), cc.cwnd), (4, 13));
    }

    #[test]
    fn slow_start_respects_the_clamp() {
        let (_tp, mut cc) = (tp(), cc());
        cc.cwnd_clamp = 11;
        assert_eq!((slow_start(&mut cc, 5), cc.cwnd), (0, 11));
    }

    #[test]
    fn old_credit_adds_only_one_packet() {
        let (_tp, mut cc) = (tp(), cc());
        cc.cwnd_count = 95;
        additive_increase(&mut cc, 10, 1);
        assert_eq!((cc.cwnd, cc.cwnd_count), (11, 1));
    }

    #[test]
    fn a_stretch_ack_counts_in_full() {
        let (_tp, mut cc) = (tp(), cc());
        additive_increase(&mut cc, 10, 35);
        assert_eq!((cc.cwnd, cc.cwnd_count), (13, 5));
    }
}
