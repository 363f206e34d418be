//! What a queue's samples have from the plan: the rate that limits the queue, and the delay that follows from it. Both
//! engines' tables come from here.

const BITS: f64 = 8.0;
const NS: f64 = 1e9;

/// The rate that limits a queue at a time, if any; `limits` as [`crate::Queue::limits`]. A sample at the time of
/// a change is taken after it, as both engines do: changes come before samples of the same instant.
#[must_use]
pub fn rate_at(limits: &[(u64, u64)], time_ns: i64) -> Option<i64> {
    let after = limits.partition_point(|(start, _)| start.cast_signed() <= time_ns);
    let (_, rate) = limits.get(after.saturating_sub(1))?;
    (*rate > 0).then(|| rate.cast_signed())
}

/// Backlog ÷ rate.
#[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "both are below 2^53")]
#[must_use]
pub fn delay_ns(backlog_bytes: i64, rate_bps: i64) -> i64 {
    (backlog_bytes as f64 * (BITS * NS) / rate_bps as f64).round_ties_even() as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_at_a_change_has_the_new_rate() {
        let limits = [(0, 10), (100, 20)];
        assert_eq!([0, 99, 100, 101].map(|time| rate_at(&limits, time)), [10, 10, 20, 20].map(Some));
        assert_eq!(rate_at(&[], 5), None);
        assert_eq!(rate_at(&[(0, 0)], 5), None);
    }

    #[test]
    fn a_delay_is_rounded_to_the_nearest_nanosecond() {
        assert_eq!(delay_ns(1_500, 10_000_000), 1_200_000);
        assert_eq!(delay_ns(1, 3_000_000_000), 3);
    }
}
