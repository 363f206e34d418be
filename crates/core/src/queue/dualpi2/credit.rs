//! Whose turn it is when both queues have something: weighted round robin, whose sign tells the queue
//! (Linux `dualpi2_calculate_c_protection`, `dequeue_packet`).

use crate::queue::DualPi2Config;

/// The balance of both queues.
#[derive(Clone, Copy, Debug)]
pub(super) struct Credit {
    /// Up to 0 it is the low-latency queue's turn. Bytes times per cent.
    balance: i64,
    /// Where an idle time leaves it.
    rest: i64,
    /// Weight of the classic queue, in per cent.
    classic: i64,
}

impl Credit {
    /// At rest: the heavier queue begins.
    pub fn new(config: &DualPi2Config) -> Self {
        let classic = i64::from(config.classic_protection);
        let rest = i64::from(config.mtu) * (classic - (ALL - classic));
        Self { balance: rest, rest, classic }
    }

    pub const fn is_low_latencys_turn(&self) -> bool {
        self.balance <= 0
    }

    /// A low-latency packet left while a classic one waited.
    pub fn spend_low_latency(&mut self, bytes: u32) {
        self.balance += self.classic * i64::from(bytes);
    }

    /// A classic packet left while a low-latency one waited.
    pub fn spend_classic(&mut self, bytes: u32) {
        self.balance -= (ALL - self.classic) * i64::from(bytes);
    }

    /// Both queues are empty.
    pub const fn reset(&mut self) {
        self.balance = self.rest;
    }
}

/// Per cent.
const ALL: i64 = 100;
