//! Weighted round robin between the two queues by a signed credit (Linux `dualpi2_calculate_c_protection`,
//! `dequeue_packet`).

use crate::queue::DualPi2Config;

/// The credit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Credit {
    /// Up to 0 the low-latency queue is served. Unit: bytes times percent.
    balance: i64,
    /// The value after an idle period.
    rest: i64,
    /// Weight of the classic queue in percent.
    classic: i64,
}

impl Credit {
    /// Idle: the heavier queue starts.
    pub fn new(config: &DualPi2Config) -> Self {
        let classic = i64::from(config.classic_protection);
        let rest = i64::from(config.mtu) * (classic - (ALL - classic));
        Self { balance: rest, rest, classic }
    }

    pub const fn is_low_latencys_turn(&self) -> bool {
        self.balance <= 0
    }

    /// A low-latency packet left while a classic packet was queued.
    pub fn spend_low_latency(&mut self, bytes: u32) {
        self.balance += self.classic * i64::from(bytes);
    }

    /// A classic packet left while a low-latency packet was queued.
    pub fn spend_classic(&mut self, bytes: u32) {
        self.balance -= (ALL - self.classic) * i64::from(bytes);
    }

    /// Both queues are empty.
    pub const fn reset(&mut self) {
        self.balance = self.rest;
    }
}

/// Percent.
const ALL: i64 = 100;
