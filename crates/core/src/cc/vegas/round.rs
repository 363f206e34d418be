//! A round trip that Vegas, or `YeAH`, watches: its samples, and where it ends.
//!
//! Nothing is watched while packets are missing. What is made of a round is its owner's.

use crate::cc::delay::Delay;
use crate::cc::{CaState, Event, Vitals};

/// The round.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::cc) struct Round {
    /// Round-trip times.
    pub delay: Delay,
    /// May its samples be trusted?
    pub is_watched: bool,
    /// It is over when more than this is acknowledged.
    ends: u64,
}

impl Round {
    /// None yet.
    pub(in crate::cc) const fn new() -> Self {
        Self { delay: Delay::new(), is_watched: false, ends: 0 }
    }

    /// All is forgotten: a new connection, or a new start after an idle time.
    pub(in crate::cc) const fn restart(&mut self, vitals: &Vitals) {
        self.delay = Delay::new();
        self.watch(vitals);
    }

    /// Is everything acknowledged that was sent when it began?
    pub(in crate::cc) const fn is_over(&self, vitals: &Vitals) -> bool {
        vitals.snd_una > self.ends
    }

    /// The next one begins.
    pub(in crate::cc) const fn begin(&mut self, vitals: &Vitals) {
        self.ends = vitals.snd_nxt;
        self.delay.forget_recent();
        self.delay.samples = 0;
    }

    /// Only an undisturbed flow is watched.
    pub(in crate::cc) fn on_state(&mut self, vitals: &Vitals, new: CaState) {
        if new == CaState::Open {
            self.watch(vitals);
        } else {
            self.is_watched = false;
        }
    }

    /// After an idle time all is forgotten.
    pub(in crate::cc) fn on_event(&mut self, vitals: &Vitals, event: Event) {
        if matches!(event, Event::CwndRestart | Event::TxStart) {
            self.restart(vitals);
        }
    }

    const fn watch(&mut self, vitals: &Vitals) {
        self.is_watched = true;
        self.begin(vitals);
    }
}
