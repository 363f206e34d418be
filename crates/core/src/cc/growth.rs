//! The two ways in which most windows grow (Linux's `tcp_slow_start` and `tcp_cong_avoid_ai`).

use super::Vitals;

/// How many acknowledged packets a window grows by in avoidance: none where it is not the limit, and none where slow
/// start takes all of them.
pub(super) fn beyond_slow_start(vitals: &mut Vitals, acked: u32) -> Option<u32> {
    if !vitals.is_cwnd_limited() {
        return None;
    }
    if !vitals.in_slow_start() {
        return Some(acked);
    }
    Some(slow_start(vitals, acked)).filter(|left_over| *left_over > 0)
}

/// May a window grow as avoidance has it? Not where it is not the limit, nor where this ACK belongs to slow start, which
/// is done here: what is left over of it is lost.
pub(super) fn in_avoidance(vitals: &mut Vitals, acked: u32) -> bool {
    if !vitals.is_cwnd_limited() {
        return false;
    }
    if vitals.in_slow_start() {
        slow_start(vitals, acked);
        return false;
    }
    true
}

/// Slow start (RFC 5681 section 3.1, without its limit of one packet an ACK): a packet for each one
/// acknowledged, up to the threshold. Answers how many acknowledged packets were left over.
pub(super) fn slow_start(vitals: &mut Vitals, acked: u32) -> u32 {
    let target = vitals.cwnd.saturating_add(acked).min(vitals.ssthresh);
    let left_over = acked - (target - vitals.cwnd);
    vitals.cwnd = target.min(vitals.cwnd_clamp);
    left_over
}

/// A packet more for every `per` packets acknowledged; the rest is kept in `cwnd_count`.
pub(super) fn additive_increase(vitals: &mut Vitals, per: u32, acked: u32) {
    // Credit that was gathered at a slower growth buys one packet, not many at once.
    if vitals.cwnd_count >= per {
        vitals.cwnd_count = 0;
        vitals.cwnd = vitals.cwnd.saturating_add(1);
    }
    vitals.cwnd_count = vitals.cwnd_count.saturating_add(acked);
    if vitals.cwnd_count >= per {
        vitals.cwnd = vitals.cwnd.saturating_add(vitals.cwnd_count / per);
        vitals.cwnd_count %= per;
    }
    vitals.cwnd = vitals.cwnd.min(vitals.cwnd_clamp);
}

/// The phase of a controller that has no other: below the threshold or not.
pub(super) const fn phase(vitals: &Vitals) -> &'static str {
    if vitals.in_slow_start() { "slow_start" } else { "avoidance" }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::testing::vitals;

    #[test]
    fn slow_start_stops_at_the_threshold_and_hands_back_the_rest() {
        let mut vitals = vitals();
        vitals.ssthresh = 13;
        assert_eq!((slow_start(&mut vitals, 2), vitals.cwnd), (0, 12));
        assert_eq!((slow_start(&mut vitals, 5), vitals.cwnd), (4, 13));
    }

    #[test]
    fn slow_start_obeys_the_clamp() {
        let mut vitals = vitals();
        vitals.cwnd_clamp = 11;
        assert_eq!((slow_start(&mut vitals, 5), vitals.cwnd), (0, 11));
    }

    #[test]
    fn old_credit_buys_one_packet_only() {
        let mut vitals = vitals();
        vitals.cwnd_count = 95;
        additive_increase(&mut vitals, 10, 1);
        assert_eq!((vitals.cwnd, vitals.cwnd_count), (11, 1));
    }

    #[test]
    fn a_stretch_ack_buys_all_that_it_is_worth() {
        let mut vitals = vitals();
        additive_increase(&mut vitals, 10, 35);
        assert_eq!((vitals.cwnd, vitals.cwnd_count), (13, 5));
    }
}
