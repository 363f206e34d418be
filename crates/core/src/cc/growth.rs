//! Slow start and additive increase, which most controllers share (Linux's `tcp_slow_start` and `tcp_cong_avoid_ai`).

use super::SenderState;

/// Acknowledged packets left for congestion avoidance: None if the window was not the limit or if slow start used them
/// all.
pub(super) fn beyond_slow_start(tp: &mut SenderState, acked: u32) -> Option<u32> {
    if !tp.is_cwnd_limited() {
        return None;
    }
    if !tp.in_slow_start() {
        return Some(acked);
    }
    Some(slow_start(tp, acked)).filter(|left_over| *left_over > 0)
}

/// May the window grow by congestion avoidance? Not if it was not the limit, and not if this ACK belongs to slow start,
/// which this function performs. Packets that slow start leaves over are discarded.
pub(super) fn in_avoidance(tp: &mut SenderState, acked: u32) -> bool {
    if !tp.is_cwnd_limited() {
        return false;
    }
    if tp.in_slow_start() {
        slow_start(tp, acked);
        return false;
    }
    true
}

/// Slow start (RFC 5681 section 3.1, without its limit of one packet per ACK): one packet for each acknowledged one, up
/// to the threshold. Returns the acknowledged packets left over.
pub(super) fn slow_start(tp: &mut SenderState, acked: u32) -> u32 {
    let target = tp.cwnd.saturating_add(acked).min(tp.ssthresh);
    let left_over = acked - (target - tp.cwnd);
    tp.cwnd = target.min(tp.cwnd_clamp);
    left_over
}

/// Adds one packet for every `per` acknowledged packets; the remainder stays in `cwnd_count`.
pub(super) fn additive_increase(tp: &mut SenderState, per: u32, acked: u32) {
    // Credit from a time of slower growth adds one packet, not many at once.
    if tp.cwnd_count >= per {
        tp.cwnd_count = 0;
        tp.cwnd = tp.cwnd.saturating_add(1);
    }
    tp.cwnd_count = tp.cwnd_count.saturating_add(acked);
    if tp.cwnd_count >= per {
        tp.cwnd = tp.cwnd.saturating_add(tp.cwnd_count / per);
        tp.cwnd_count %= per;
    }
    tp.cwnd = tp.cwnd.min(tp.cwnd_clamp);
}

/// The phase of a controller without phases of its own: below the threshold or not.
pub(super) const fn phase(tp: &SenderState) -> &'static str {
    if tp.in_slow_start() { "slow_start" } else { "avoidance" }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::testing::tp;

    #[test]
    fn slow_start_stops_at_the_threshold_and_returns_the_rest() {
        let mut tp = tp();
        tp.ssthresh = 13;
        assert_eq!((slow_start(&mut tp, 2), tp.cwnd), (0, 12));
        assert_eq!((slow_start(&mut tp, 5), tp.cwnd), (4, 13));
    }

    #[test]
    fn slow_start_respects_the_clamp() {
        let mut tp = tp();
        tp.cwnd_clamp = 11;
        assert_eq!((slow_start(&mut tp, 5), tp.cwnd), (0, 11));
    }

    #[test]
    fn old_credit_adds_only_one_packet() {
        let mut tp = tp();
        tp.cwnd_count = 95;
        additive_increase(&mut tp, 10, 1);
        assert_eq!((tp.cwnd, tp.cwnd_count), (11, 1));
    }

    #[test]
    fn a_stretch_ack_counts_in_full() {
        let mut tp = tp();
        additive_increase(&mut tp, 10, 35);
        assert_eq!((tp.cwnd, tp.cwnd_count), (13, 5));
    }
}
