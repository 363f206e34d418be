//! Base delay and current delay from round-trip times (RFC 6817 section 2.4.2, applied to round trips as in LEDBAT++).

use crate::time::{Span, Time};

/// Minima of the last ten minutes, and the last four samples.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Delays {
    /// A minimum per minute; the newest is at `minute`.
    minutes: [Option<Span>; MINUTES],
    /// Number of the current minute, counted from the first sample.
    minute: u64,
    began: Option<Time>,
    /// The last samples, unordered.
    recent: [Option<Span>; SAMPLES],
    next: usize,
}

impl Delays {
    /// Takes a sample.
    pub(super) fn update(&mut self, now: Time, rtt: Span) {
        let began = *self.began.get_or_insert(now);
        let minute = now.since(began).as_nanos() / MINUTE.as_nanos();
        for passed in self.minute + 1..=minute.min(self.minute + MINUTES as u64) {
            self.minutes[slot(passed)] = None;
        }
        if minute - self.minute > MINUTES as u64 {
            self.minutes = [None; MINUTES];
        }
        self.minute = minute;
        let minimum = &mut self.minutes[slot(minute)];
        *minimum = Some(minimum.map_or(rtt, |minimum| minimum.min(rtt)));
        self.recent[self.next] = Some(rtt);
        self.next = (self.next + 1) % SAMPLES;
    }

    /// The minimum round-trip time of ten minutes, and how far the minimum of the last four samples is above it.
    pub(super) fn base_and_queueing(&self) -> Option<(Span, Span)> {
        let base = self.minutes.iter().flatten().min()?;
        let current = self.recent.iter().flatten().min()?;
        Some((*base, current.saturating_sub(*base)))
    }
}

fn slot(minute: u64) -> usize {
    usize::try_from(minute % MINUTES as u64).unwrap_or(0)
}

/// `BASE_HISTORY`.
const MINUTES: usize = 10;
/// `CURRENT_FILTER`.
const SAMPLES: usize = 4;
const MINUTE: Span = Span::from_secs(60);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::testing::ms;

    fn at(delays: &mut Delays, second: u64, rtt_ms: u64) -> (u64, u64) {
        delays.update(ms(second * 1_000), Span::from_millis(rtt_ms));
        let (base, queueing) = delays.base_and_queueing().unwrap();
        (base.as_micros() / 1_000, queueing.as_micros() / 1_000)
    }

    #[test]
    fn the_minimum_of_ten_minutes_is_the_base() {
        let mut delays = Delays::default();
        assert_eq!(at(&mut delays, 1, 20), (20, 0));
        for second in 2..=600 {
            let (base, _) = at(&mut delays, second, 50);
            assert_eq!(base, 20, "after {second} s");
        }
        assert_eq!(at(&mut delays, 602, 50), (50, 0), "the first minute has expired");
        assert_eq!(at(&mut delays, 9_000, 70), (70, 0), "after a long pause everything has expired");
    }

    #[test]
    fn a_spike_counts_only_from_the_fourth_sample() {
        let mut delays = Delays::default();
        at(&mut delays, 1, 20);
        let queueing = [90, 90, 90, 90].map(|rtt| at(&mut delays, 2, rtt).1);
        assert_eq!(queueing, [0, 0, 0, 70]);
    }
}
