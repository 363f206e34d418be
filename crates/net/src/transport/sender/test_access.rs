//! Access to a sender's internals for tests.

use super::Sender;
use crate::cc::{CcState, CongestionControl, SenderState};

impl<C: CongestionControl> Sender<C> {
    /// The sender's state.
    pub(crate) const fn tp(&self) -> &SenderState {
        &self.tp
    }

    /// What the controller sets.
    pub(crate) const fn cc(&self) -> &CcState {
        &self.cc
    }

    /// The controller.
    pub(crate) const fn controller_ref(&self) -> &C {
        &self.controller
    }

    /// The controller, for changing a parameter during a test.
    pub(crate) const fn controller_mut(&mut self) -> &mut C {
        &mut self.controller
    }

    /// Bytes written by the application and not yet sent.
    pub(crate) fn unsent_bytes(&self) -> u64 {
        self.app_source.end() - self.tp.snd_nxt
    }
}
