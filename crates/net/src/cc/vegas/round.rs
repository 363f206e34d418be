//! A measured round trip of Vegas or `YeAH`: its samples, and its end.
//!
//! Measurement pauses while packets are missing.

use crate::cc::delay::Delay;
use crate::cc::{CaState, Event, SenderState};

/// The current round.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::cc) struct Round {
    /// Round-trip times.
    pub delay: Delay,
    /// Are its samples valid?
    pub is_watched: bool,
    /// The round ends when more than this is acknowledged.
    ends: u64,
}

impl Round {
    /// No samples yet.
    pub(in crate::cc) const fn new() -> Self {
        Self { delay: Delay::new(), is_watched: false, ends: 0 }
    }

    /// Resets everything: a new connection, or a restart from idle.
    pub(in crate::cc) const fn restart(&mut self, tp: &SenderState) {
        self.delay = Delay::new();
        self.watch(tp);
    }

    /// Is everything acknowledged that was sent when the round began?
    pub(in crate::cc) const fn is_over(&self, tp: &SenderState) -> bool {
        tp.snd_una > self.ends
    }

    /// Begins the next round.
    pub(in crate::cc) const fn begin(&mut self, tp: &SenderState) {
        self.ends = tp.snd_nxt;
        self.delay.forget_recent();
        self.delay.samples = 0;
    }

    /// Measures only while no packets are missing.
    pub(in crate::cc) fn set_state(&mut self, tp: &SenderState, new: CaState) {
        if new == CaState::Open {
            self.watch(tp);
        } else {
            self.is_watched = false;
        }
    }

    /// Resets everything after idle time.
    pub(in crate::cc) fn cwnd_event(&mut self, tp: &SenderState, event: Event) {
        if matches!(event, Event::CwndRestart | Event::TxStart) {
            self.restart(tp);
        }
    }

    const fn watch(&mut self, tp: &SenderState) {
        self.is_watched = true;
        self.begin(tp);
    }
}
