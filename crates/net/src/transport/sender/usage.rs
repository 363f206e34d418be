//! Use of the congestion window: one that was not used neither grows nor stays (RFC 2861, `tcp_cwnd_validate`).

use crate::cc::CcState;
use crate::number::low;
use crate::transport::Settings;

/// How much of the window was used, and when.
#[derive(Clone, Debug)]
pub(super) struct Usage {
    /// End of the round.
    round_ends: u64,
    /// Maximum packets outstanding while the window was not the limit.
    used: u32,
    /// Jiffy of the last use or change (`snd_cwnd_stamp`).
    stamp: u64,
    /// `tcp_slow_start_after_idle`.
    shrinks: bool,
    /// The window never shrinks below this for lack of use.
    initial_window: u32,
}

impl Usage {
    /// Nothing used.
    pub const fn new(settings: &Settings) -> Self {
        let (shrinks, initial_window) = (settings.slow_start_after_idle, settings.initial_window);
        Self { round_ends: 0, used: 0, stamp: 0, shrinks, initial_window }
    }

    /// The route's initial window.
    pub const fn initial_window(&self) -> u32 {
        self.initial_window
    }

    /// Does an unused window shrink?
    pub const fn shrinks(&self) -> bool {
        self.shrinks
    }

    /// The window was changed.
    pub const fn touch(&mut self, jiffy: u64) {
        self.stamp = jiffy;
    }

    /// Does a round end, so that the next one is measured up to `snd_nxt`? `is_stronger`: this measurement replaces that of
    /// the round.
    pub const fn ends_round(&mut self, snd_una: u64, snd_nxt: u64, is_stronger: bool) -> bool {
        let ends = snd_una >= self.round_ends || is_stronger;
        if ends {
            self.round_ends = snd_nxt;
        }
        ends
    }

    /// The window is in full use.
    pub const fn used_fully(&mut self, jiffy: u64) {
        (self.used, self.stamp) = (0, jiffy);
    }

    /// So many packets are outstanding, and the window is not the limit. Returns whether that has lasted for `rto` jiffies.
    pub fn used_partly(&mut self, packets: u32, jiffy: u64, rto: u64) -> bool {
        self.used = self.used.max(packets);
        self.shrinks && jiffy - self.stamp >= rto
    }

    /// The window halfway to what was used, and to the initial one at least, if it is larger
    /// (`tcp_cwnd_application_limited`).
    pub fn shrunk(&mut self, cwnd: u32) -> Option<u32> {
        let used = self.used.max(self.initial_window);
        self.used = 0;
        (used < cwnd).then(|| used.midpoint(cwnd))
    }

    /// The window after idle time: halved for every RTO, down to the initial one (`tcp_cwnd_restart`). Jiffies.
    pub fn restarted(&mut self, cc: &CcState, idle: u64, rto: u64) -> u32 {
        self.used = 0;
        let floor = self.initial_window.min(cc.cwnd);
        let halvings = low((idle - 1) / rto);
        cc.cwnd.checked_shr(halvings).unwrap_or(0).max(floor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::sender::initial_state::initial_cc;
    use crate::transport::sender::tests::settings;
    use proptest::prelude::*;

    proptest! {
        /// RFC 2861: half for each timeout of idle time, never below the initial window, never larger than before.
        #[test]
        fn idle_time_halves_the_window(cwnd in 1_u32..100_000, rto in 1_u64..1_000, timeouts in 0_u64..20, more in 1_u64..4) {
            let idle = timeouts * rto + more.min(rto);
            let settings = settings();
            let mut usage = Usage::new(&settings);
            let cc = CcState { cwnd, ..initial_cc(&settings) };
            let mut expected = cwnd;
            let mut left = idle;
            while left > rto && expected > 0 {
                expected /= 2;
                left -= rto;
            }
            prop_assert_eq!(usage.restarted(&cc, idle, rto), expected.max(settings.initial_window.min(cwnd)));
        }

        /// After an RTO of partial use the window goes halfway to the most that was used; full use starts anew.
        #[test]
        fn partial_use_shrinks_the_window_halfway(
            uses in prop::collection::vec((0_u32..200, 0_u64..40, prop::bool::weighted(0.1)), 1..60),
            cwnd in 20_u32..300,
        ) {
            let mut usage = Usage::new(&settings());
            let (mut jiffy, mut most, mut since) = (0, 0, 0);
            for (packets, waited, is_full) in uses {
                jiffy += waited;
                if is_full {
                    usage.used_fully(jiffy);
                    (most, since) = (0, jiffy);
                    continue;
                }
                most = most.max(packets);
                let is_due = usage.used_partly(packets, jiffy, 60);
                prop_assert_eq!(is_due, jiffy - since >= 60);
                if is_due {
                    let used = most.max(10);
                    prop_assert_eq!(usage.shrunk(cwnd), (used < cwnd).then(|| used + (cwnd - used) / 2));
                    usage.touch(jiffy);
                    (most, since) = (0, jiffy);
                }
            }
        }

        /// A round ends when what was next at its start is acknowledged, or with a stronger measurement.
        #[test]
        fn a_round_lasts_until_its_end_is_acknowledged(steps in prop::collection::vec((0_u64..9, 0_u64..9, any::<bool>()), 1..30)) {
            let mut usage = Usage::new(&settings());
            let (mut una, mut next, mut end) = (1, 1, 0);
            for (acked, sent, is_stronger) in steps {
                next += sent;
                una = (una + acked).min(next);
                let ends = una >= end || is_stronger;
                prop_assert_eq!(usage.ends_round(una, next, is_stronger), ends);
                end = if ends { next } else { end };
            }
        }
    }
}
