//! `HighSpeed` TCP: Reno whose growth and decrease depend on the window (RFC 3649, Linux's `tcp_highspeed.c`).
//!
//! - **What it does**: up to 38 packets it is Reno; above, a table gives how many packets more a round trip (up to 73)
//!   and how much less on loss (from a half down to a tenth).
//! - **Signal it listens to**: loss.
//! - **When it does well**: windows of hundreds and thousands of packets, where Reno would need minutes to recover.
//! - **When it does badly**: beside Reno at large windows, and between flows of different round-trip times.
//! - **Reference**: RFC 3649.
//!
//! Where Linux departs from RFC 3649: growth is a row's number of packets a window of *ACKs*, not of packets, so that
//! delayed ACKs slow it down.

mod table;

use super::{Control, Insight, Vitals, growth, reno};
use table::ROWS;

/// Where in the table a flow is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HighSpeed {
    row: u8,
}

impl Control for HighSpeed {
    fn name(&self) -> &'static str {
        "highspeed"
    }

    fn start(&mut self, vitals: &mut Vitals) {
        self.row = 0;
        vitals.cwnd_clamp = vitals.cwnd_clamp.min(MOST_WINDOW);
    }

    /// The row's share less.
    fn ssthresh(&mut self, vitals: &mut Vitals) -> u32 {
        let (_, decrease) = ROWS[usize::from(self.row)];
        (vitals.cwnd - ((vitals.cwnd * u32::from(decrease)) >> 8)).max(2)
    }

    fn undo_cwnd(&mut self, vitals: &mut Vitals) -> u32 {
        reno::undo_cwnd(vitals)
    }

    fn avoid(&mut self, vitals: &mut Vitals, acked: u32) {
        if !growth::in_avoidance(vitals, acked) {
            return;
        }
        self.find_row(vitals.cwnd);
        if vitals.cwnd < vitals.cwnd_clamp {
            vitals.cwnd_count += u32::from(self.row) + 1;
            if vitals.cwnd_count >= vitals.cwnd {
                vitals.cwnd_count -= vitals.cwnd;
                vitals.cwnd += 1;
            }
        }
    }

    fn insight(&self, vitals: &Vitals) -> Insight {
        Insight { phase: growth::phase(vitals), ..Insight::default() }
    }
}

impl HighSpeed {
    /// The first row whose window is not below this one.
    fn find_row(&mut self, cwnd: u32) {
        let last = ROWS.len() - 1;
        let mut row = usize::from(self.row);
        while row < last && cwnd > ROWS[row].0 {
            row += 1;
        }
        while row > 0 && cwnd <= ROWS[row - 1].0 {
            row -= 1;
        }
        self.row = u8::try_from(row).unwrap_or(u8::MAX);
    }
}

/// So that a window times a share fits 32 bits.
const MOST_WINDOW: u32 = u32::MAX / 128;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::testing::vitals;

    /// How far a window of this size grows by a window of single ACKs, and the threshold then.
    fn round(window: u32) -> (u32, u32) {
        let mut highspeed = HighSpeed::default();
        let mut vitals = Vitals { cwnd: window, ssthresh: window, ..vitals() };
        for _ in 0..window {
            highspeed.avoid(&mut vitals, 1);
        }
        (vitals.cwnd - window, highspeed.ssthresh(&mut Vitals { cwnd: window, ..vitals }))
    }

    #[test]
    fn a_small_window_is_renos() {
        assert_eq!((round(20), round(38)), ((1, 10), (1, 19)));
    }

    /// RFC 3649 appendix B: up to 1284 packets a(w) = 9 and b(w) = 0.32 (81/256), up to 9346 28 and 0.21 (54/256). A
    /// window that grows on the way buys a little less.
    #[test]
    fn large_windows_grow_and_shrink_by_the_table() {
        assert_eq!((round(1_200), round(9_000)), ((8, 821), (27, 7_102)));
    }

    #[test]
    fn the_row_follows_the_window_down_too() {
        let mut highspeed = HighSpeed::default();
        highspeed.find_row(100_000);
        assert_eq!(usize::from(highspeed.row), ROWS.len() - 1);
        highspeed.find_row(118);
        assert_eq!(highspeed.row, 1);
        highspeed.find_row(38);
        assert_eq!(highspeed.row, 0);
    }

    #[test]
    fn it_counts_acks_not_packets() {
        let mut highspeed = HighSpeed::default();
        let mut vitals = Vitals { cwnd: 30, ssthresh: 30, ..vitals() };
        (0..15).for_each(|_| highspeed.avoid(&mut vitals, 2));
        assert_eq!((vitals.cwnd, vitals.cwnd_count), (30, 15));
    }
}
