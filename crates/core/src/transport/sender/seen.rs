//! What tests see of a sender; nobody else looks inside.

use super::Sender;
use crate::cc::{Control, Vitals};

impl<C: Control> Sender<C> {
    /// What the sender knows.
    pub(crate) const fn vitals(&self) -> &Vitals {
        &self.vitals
    }

    /// Who decides.
    pub(crate) const fn decided_by(&self) -> &C {
        &self.controller
    }

    /// The same, for whoever turns a parameter meanwhile.
    pub(crate) const fn decided_by_mut(&mut self) -> &mut C {
        &mut self.controller
    }

    /// What the application wrote and did not leave yet.
    pub(crate) fn unsent_bytes(&self) -> u64 {
        self.supply.end() - self.vitals.snd_nxt
    }
}
