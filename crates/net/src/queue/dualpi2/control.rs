//! The base probability that couples both queues: a proportional-integral controller on the longer queue's delay (RFC
//! 9332 appendix A.1; Linux `calculate_probability`).
//!
//! ```text
//!   p' ← p' + alpha (delay − target) + beta (delay − delay before)      every tupdate
//! ```
//!
//! Linux updates it on a timer. Here the next call catches up on missed updates: the inputs (arrival times of both
//! heads) have not changed since.

use crate::queue::DualPi2Config;
use crate::time::{Span, Time};

/// The probability and its inputs.
#[derive(Clone, Debug)]
pub(super) struct Control {
    target_ns: i64,
    period: Span,
    /// Per nanosecond of delay, in 2⁻³⁸.
    alpha: i64,
    beta: i64,
    coupling: u64,
    /// Upper bound of the probability.
    max: u32,
    /// p' in 2⁻³².
    probability: u32,
    delay_ns: i64,
    next_at: Time,
}

/// Arrival times of the heads of the queues, if any.
#[derive(Clone, Copy, Debug)]
pub(super) struct Delays {
    pub classic: Option<Time>,
    pub low_latency: Option<Time>,
}

impl Delays {
    /// The longer delay at a time.
    fn longest_ns(self, now: Time) -> i64 {
        let ns = |since: Option<Time>| since.map_or(0, |since| now.since(since).as_nanos());
        i64::try_from(ns(self.classic).max(ns(self.low_latency))).unwrap_or(i64::MAX)
    }

    const fn is_empty(self) -> bool {
        self.classic.is_none() && self.low_latency.is_none()
    }
}

impl Control {
    /// State before the first packet; the first update is one period after creation.
    pub fn new(config: &DualPi2Config) -> Self {
        let mut this = Self {
            target_ns: 0,
            period: config.tupdate,
            alpha: 0,
            beta: 0,
            coupling: 1,
            max: u32::MAX,
            probability: 0,
            delay_ns: 0,
            next_at: Time::ZERO + config.tupdate,
        };
        this.change(config);
        this
    }

    /// Applies new settings; the probability and the next update time stay.
    pub fn change(&mut self, config: &DualPi2Config) {
        self.target_ns = i64::try_from(config.target.as_nanos()).unwrap_or(i64::MAX);
        self.period = config.tupdate;
        (self.alpha, self.beta) = (per_nanosecond(config.alpha), per_nanosecond(config.beta));
        self.coupling = u64::from(config.coupling);
        self.max = if config.drop_on_overload { u32::MAX } else { u32::MAX / u32::from(config.coupling) };
    }

    /// The same with another probability.
    #[cfg(test)]
    pub fn at_probability(self, probability: u32) -> Self {
        Self { probability, ..self }
    }

    /// p'.
    pub const fn probability(&self) -> u32 {
        self.probability
    }

    /// k times p', which may exceed 1.
    pub const fn coupled(&self) -> u64 {
        self.probability as u64 * self.coupling
    }

    /// Whether k p' exceeds 1.
    pub const fn is_overloaded(&self) -> bool {
        self.coupled() > u32::MAX as u64
    }

    /// Whether an update is due.
    pub fn is_update_pending(&self, now: Time) -> bool {
        self.next_at <= now
    }

    /// Runs all updates due by now.
    pub fn catch_up(&mut self, now: Time, delays: Delays) {
        while self.next_at <= now {
            self.update(delays.longest_ns(self.next_at));
            self.next_at += self.period;
            if delays.is_empty() && self.probability == 0 {
                // Further updates would not change anything.
                let missed = now.since(self.next_at).as_nanos() / self.period.as_nanos();
                self.next_at += self.period * missed;
            }
        }
    }

    fn update(&mut self, delay_ns: i64) {
        let distance = delay_ns.saturating_sub(self.target_ns).saturating_mul(self.alpha);
        let change = delay_ns.saturating_sub(self.delay_ns).saturating_mul(self.beta);
        self.delay_ns = delay_ns;
        let delta = distance.saturating_add(change);
        // Rounded towards zero for either sign (`__scale_delta`).
        let step = u32::try_from(delta.unsigned_abs() >> GRANULARITY).unwrap_or(u32::MAX);
        self.probability =
            if delta > 0 { self.probability.saturating_add(step) } else { self.probability.saturating_sub(step) };
        self.probability = self.probability.min(self.max);
    }
}

/// tc's unit is 1/256 Hz; the kernel's is 2⁻³⁸ per nanosecond (`dualpi2_scale_alpha_beta`).
fn per_nanosecond(gain: u32) -> i64 {
    let scaled = (u64::from(gain) * u64::from(u32::MAX)) >> (SHIFT - GRANULARITY);
    i64::try_from(scaled / NANOS_PER_SECOND).unwrap_or(i64::MAX)
}

/// `ALPHA_BETA_SHIFT`.
const SHIFT: u32 = 8;
/// `ALPHA_BETA_GRANULARITY`.
const GRANULARITY: u32 = 6;
const NANOS_PER_SECOND: u64 = 1_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::dualpi2::tests::config;

    fn head(since: Time) -> Delays {
        Delays { classic: Some(since), low_latency: None }
    }

    /// 41/256 and 819/256 Hz: 44 and 879 in 2⁻³⁸ per nanosecond.
    #[test]
    fn gains_are_linuxs() {
        assert_eq!((per_nanosecond(41), per_nanosecond(819)), (44, 879));
    }

    /// A delay of 31 ms at the first update: 16 ms × 44 + 31 ms × 879, in 1/64.
    #[test]
    fn the_update_follows_distance_and_change() {
        let mut control = Control::new(&config());
        control.update(31_000_000);
        assert_eq!(u64::from(control.probability), (16_000_000 * 44 + 31_000_000 * 879) / 64);
        let before = control.probability;
        control.update(31_000_000);
        assert_eq!(control.probability - before, 16_000_000 * 44 / 64, "the delay did not change");
        let high = control.probability;
        control.update(0);
        assert_eq!(u64::from(high - control.probability), (15_000_000 * 44 + 31_000_000 * 879) / 64);
        control.update(0);
        control.update(0);
        assert_eq!(control.probability, 0, "the probability never falls below 0");
    }

    #[test]
    fn missed_updates_are_caught_up() {
        let mut at_once = Control::new(&config());
        let mut one_by_one = at_once.clone();
        let since = Time::ZERO + Span::from_millis(5);
        for millis in 1..=400 {
            one_by_one.catch_up(Time::ZERO + Span::from_millis(millis), head(since));
        }
        at_once.catch_up(Time::ZERO + Span::from_millis(400), head(since));
        assert_eq!((at_once.probability, at_once.next_at), (one_by_one.probability, one_by_one.next_at));
        assert!(at_once.probability > 0);
    }

    #[test]
    fn an_idle_queue_skips_updates() {
        let mut control = Control::new(&config());
        let none = Delays { classic: None, low_latency: None };
        control.catch_up(Time::ZERO + Span::from_secs(86_400 * 365), none);
        assert_eq!(control.probability, 0);
        let late = control.next_at.since(Time::ZERO).as_nanos();
        assert_eq!(late % 16_000_000, 0, "update times stay on the grid");
        assert!(!control.is_update_pending(Time::ZERO + Span::from_secs(86_400 * 365)));
    }

    #[test]
    fn without_drop_on_overload_the_coupled_probability_is_capped() {
        let mut control = Control::new(&DualPi2Config { drop_on_overload: false, ..config() });
        for _ in 0..100_000 {
            control.update(4_000_000_000);
        }
        assert_eq!(control.probability, u32::MAX / 2);
        assert!(!control.is_overloaded());
        control.change(&config());
        control.update(4_000_000_000);
        assert!(control.is_overloaded());
    }
}
