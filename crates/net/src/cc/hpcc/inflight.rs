//! Utilization of the path's most loaded link, from two telemetry stacks (HPCC section 3.2, function
//! `MeasureInflight`).
//!
//! For a link with rate B and a base round-trip time T, `u = txRate/B + qlen/(B × T)` is the in-flight data relative to
//! what the link holds without a queue; 1 is full utilization with an empty queue. The maximum u counts, smoothed over
//! a round trip: `U = (1 − τ/T) × U + τ/T × u`, where τ is the time between the two stamps.

use crate::telemetry::{Hop, Stack};
use crate::time::Span;

/// 1 in the unit of a utilization.
pub(super) const ONE: u64 = 1 << 20;

/// The path's links as of the last ACK.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Inflight {
    last: Stack,
    /// U, in 1/2^20.
    utilization: u64,
}

impl Inflight {
    /// U after this stack; None for the first stack, which has no predecessor.
    pub(super) fn measure(&mut self, stack: &Stack, base_rtt: Span) -> Option<u64> {
        let last = core::mem::replace(&mut self.last, *stack);
        if last.hops().len() != stack.hops().len() || base_rtt == Span::ZERO {
            return None;
        }
        let loads = last.hops().iter().zip(stack.hops()).filter_map(|(before, now)| load(before, now, base_rtt));
        let (load, passed) = loads.max_by_key(|(load, _)| *load)?;
        let (passed, base_ns) = (passed.min(base_rtt).as_nanos(), base_rtt.as_nanos());
        let weighted =
            u128::from(base_ns - passed) * u128::from(self.utilization) + u128::from(passed) * u128::from(load);
        self.utilization = saturated(weighted / u128::from(base_ns));
        Some(self.utilization)
    }

    /// Rate of the path's slowest link in bytes per second; None before the first stack.
    pub(super) fn slowest(&self) -> Option<u64> {
        self.last.hops().iter().map(|hop| hop.rate.as_bytes()).min()
    }
}

/// u of one link, and the period over which it was measured; None if no time has passed.
fn load(before: &Hop, now: &Hop, base_rtt: Span) -> Option<(u64, Span)> {
    let passed = now.at.since(before.at);
    let rate = u128::from(now.rate.as_bytes());
    if passed == Span::ZERO || rate == 0 {
        return None;
    }
    let sent = u128::from(now.sent_bytes.saturating_sub(before.sent_bytes));
    // The shorter of both queue lengths counts: the longer one comes from a burst that has passed.
    let queued = u128::from(now.queue_bytes.min(before.queue_bytes));
    let share =
        |bytes: u128, time: Span| bytes * u128::from(ONE) * 1_000_000_000 / (rate * u128::from(time.as_nanos()));
    Some((saturated(share(sent, passed) + share(queued, base_rtt)), passed))
}

fn saturated(wide: u128) -> u64 {
    u64::try_from(wide).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rate::Rate;
    use crate::time::Time;
    use proptest::prelude::*;

    const T: Span = Span::from_micros(10);

    fn stack(hops: &[(u64, u64, u64)]) -> Stack {
        let mut stack = Stack::default();
        for &(at_ns, queue_bytes, sent_bytes) in hops {
            // 100 Gbit/s: 12.5 bytes per nanosecond, 125,000 in T.
            let rate = Rate::from_bits(100_000_000_000);
            stack.push(Hop { at: Time::from_nanos(at_ns), queue_bytes, sent_bytes, rate });
        }
        stack
    }

    fn percent(utilization: Option<u64>) -> Option<u64> {
        utilization.map(|utilization| (utilization * 100 + ONE / 2) / ONE)
    }

    #[test]
    fn a_full_link_with_an_empty_queue_is_1_and_a_queue_of_a_bdp_adds_1() {
        let mut inflight = Inflight::default();
        assert_eq!(inflight.measure(&stack(&[(0, 0, 0)]), T), None);
        assert_eq!(percent(inflight.measure(&stack(&[(10_000, 0, 125_000)]), T)), Some(100));
        assert_eq!(
            percent(inflight.measure(&stack(&[(20_000, 125_000, 250_000)]), T)),
            Some(100),
            "it was empty before"
        );
        assert_eq!(percent(inflight.measure(&stack(&[(30_000, 125_000, 375_000)]), T)), Some(200));
    }

    #[test]
    fn the_most_loaded_link_counts() {
        let mut inflight = Inflight::default();
        inflight.measure(&stack(&[(0, 0, 0), (0, 0, 0)]), T);
        let half_and_nine_tenths = stack(&[(10_000, 0, 62_500), (10_000, 0, 112_500)]);
        assert_eq!(percent(inflight.measure(&half_and_nine_tenths, T)), Some(90));
    }

    #[test]
    fn a_short_period_counts_for_its_share_of_a_round_trip() {
        let mut inflight = Inflight::default();
        inflight.measure(&stack(&[(0, 0, 0)]), T);
        inflight.measure(&stack(&[(10_000, 0, 0)]), T);
        assert_eq!(percent(inflight.measure(&stack(&[(11_000, 0, 12_500)]), T)), Some(10), "one microsecond of ten");
    }

    proptest! {
        #[test]
        fn no_stack_causes_an_overflow(
            hops in prop::collection::vec(((0..u64::MAX), (0..u64::MAX), (0..u64::MAX), (0..u64::MAX)), 0..20),
            rtt in 0..u64::MAX,
        ) {
            let mut inflight = Inflight::default();
            for (at, queue_bytes, sent_bytes, rate) in hops {
                let mut stack = Stack::default();
                stack.push(Hop { at: Time::from_nanos(at), queue_bytes, sent_bytes, rate: Rate::from_bytes(rate) });
                inflight.measure(&stack, Span::from_nanos(rtt));
            }
        }
    }
}
