//! The retransmission timer, shared by RTO, loss probe, reordering and window probe.
//!
//! Linux has one timer for the four (`icsk_pending`): setting one replaces another. It counts in jiffies on the timer
//! wheel ([`wheel`]). [`super::rto`], [`super::probe`] and [`super::rack`] set it; pacing has its own timer
//! ([`super::pacing`]).

use super::rtt::RTO_MAX_JIFFIES;
use crate::time::Time;
use crate::wheel;

/// The purpose of the timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pending {
    /// Nothing.
    Nothing,
    /// Retransmission timeout.
    Retransmit,
    /// Tail loss probe.
    LossProbe,
    /// End of RACK's reordering window.
    Reordering,
    /// Zero window probe.
    WindowProbe,
}

/// The timer.
#[derive(Clone, Debug)]
pub(super) struct Timer {
    /// Its purpose.
    pub pending: Pending,
    /// When it fires.
    pub at: Time,
}

impl Timer {
    /// Not set.
    pub const fn new() -> Self {
        Self { pending: Pending::Nothing, at: Time::NEVER }
    }

    /// Sets it to fire `jiffies` after `jiffy`, replacing its previous purpose.
    pub fn set(&mut self, pending: Pending, jiffy: u64, jiffies: u64) {
        self.pending = pending;
        self.at = wheel::fires_from(jiffy, jiffies.min(RTO_MAX_JIFFIES));
    }

    /// Stops it.
    pub fn stop(&mut self) {
        *self = Self::new();
    }

    /// Did it fire, without being set again?
    pub fn has_fired(&self) -> bool {
        self.pending != Pending::Nothing && !self.at.is_set()
    }

    /// Marks it as fired; it keeps its purpose until it is set again.
    pub fn fire(&mut self) -> Pending {
        self.at = Time::NEVER;
        self.pending
    }
}

/// The minimum of the probe's and the reordering timer (`TCP_TIMEOUT_MIN_US`).
pub(super) const TIMEOUT_MIN_US: u64 = 2_000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Span;

    /// Below 63 jiffies a timer is at most a tick late, below 504 jiffies eight, below 4032 sixty-four.
    #[test]
    fn the_wheel_gets_coarser_with_distance() {
        let table = [
            (0, 50, 51),
            (7, 50, 58),
            (0, 62, 63),
            (0, 63, 70),
            (6, 63, 70),
            (7, 63, 78),
            (1, 500, 502),
            (1, 504, 542),
        ];
        for (now, delta, fire_timer) in table {
            assert_eq!(wheel::fires_from(now, delta), Time::ZERO + Span::from_jiffies(fire_timer), "{now} + {delta}");
        }
    }
}
