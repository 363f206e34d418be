//! The retransmission timer: one clock hand for RTO, loss probe, reordering and window probe.
//!
//! Linux has one timer for the four (`icsk_pending`): setting one displaces another. It ticks in jiffies on the timer
//! wheel ([`wheel`]). Who sets it when is decided
//! in [`super::rto`], [`super::probe`], [`super::rack`]; pacing has a timer of its own ([`super::pacing`]).

use super::rtt::RTO_MAX_JIFFIES;
use crate::time::Time;
use crate::transport::wheel;

/// What the timer is set for.
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
    /// Probe of a closed window.
    WindowProbe,
}

/// The timer.
#[derive(Clone, Debug)]
pub(super) struct Timer {
    /// What it is set for.
    pub pending: Pending,
    /// When it rings.
    pub at: Time,
}

impl Timer {
    /// Not set.
    pub const fn new() -> Self {
        Self { pending: Pending::Nothing, at: Time::NEVER }
    }

    /// Sets it to ring so many jiffies after this one, displacing what it was set for.
    pub fn set(&mut self, pending: Pending, jiffy: u64, jiffies: u64) {
        self.pending = pending;
        self.at = wheel::fires_from(jiffy, jiffies.min(RTO_MAX_JIFFIES));
    }

    /// Stops it.
    pub fn stop(&mut self) {
        *self = Self::new();
    }

    /// Did it ring, and was not set again?
    pub fn has_rung(&self) -> bool {
        self.pending != Pending::Nothing && !self.at.is_set()
    }

    /// It rang: it is silent now, but still says what for, until it is set again.
    pub fn ring(&mut self) -> Pending {
        self.at = Time::NEVER;
        self.pending
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Span;

    /// Below 63 jiffies a timer is a tick late at most, below 504 jiffies eight, below 4032 sixty-four.
    #[test]
    fn the_wheel_gets_coarser_with_distance() {
        let table = [(0, 50, 51), (7, 50, 58), (0, 62, 63), (0, 63, 64), (1, 63, 72), (1, 500, 504), (1, 504, 512)];
        for (now, delta, rings) in table {
            assert_eq!(wheel::fires_from(now, delta), Time::ZERO + Span::from_jiffies(rings), "{now} + {delta}");
        }
    }
}
