//! `HighSpeed` TCP: Reno with increase and decrease depending on the window (RFC 3649, Linux's `tcp_highspeed.c`).
//!
//! - **What it does**: up to 38 packets it is Reno; above, a table gives the packets added per round trip (up to 73)
//!   and the decrease on loss (from a half down to a tenth).
//! - **Signal**: loss.
//! - **Works well**: windows of hundreds and thousands of packets, where Reno takes minutes to recover.
//! - **Works badly**: next to Reno at large windows, and between flows of different round-trip times.
//! - **Reference**: RFC 3649.
//!
//! Where Linux departs from RFC 3649: growth is a row's number of packets per window of *ACKs*, not of packets, so that
//! delayed ACKs slow it down.

mod table;

use super::{CcInfo, CcState, CongestionControl, SenderState, growth, reno};
use table::ROWS;

/// The flow's row in the table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HighSpeed {
    row: u8,
}

impl CongestionControl for HighSpeed {
    fn name(&self) -> &'static str {
        "highspeed"
    }

    fn init(&mut self, _tp: &SenderState, cc: &mut CcState) {
        self.row = 0;
        cc.cwnd_clamp = cc.cwnd_clamp.min(MAX_WINDOW);
    }

    /// The window less the row's decrease.
    fn ssthresh(&mut self, _tp: &SenderState, cc: &mut CcState) -> u32 {
        let (_, decrease) = ROWS[usize::from(self.row)];
        (cc.cwnd - ((cc.cwnd * u32::from(decrease)) >> 8)).max(2)
    }

    fn undo_cwnd(&mut self, tp: &SenderState, cc: &mut CcState) -> u32 {
        reno::undo_cwnd(tp, cc)
    }

    fn cong_avoid(&mut self, tp: &SenderState, cc: &mut CcState, acked: u32) {
        if !growth::in_avoidance(tp, cc, acked) {
            return;
        }
        self.find_row(cc.cwnd);
        if cc.cwnd < cc.cwnd_clamp {
            cc.cwnd_count += u32::from(self.row) + 1;
            if cc.cwnd_count >= cc.cwnd {
                cc.cwnd_count -= cc.cwnd;
                cc.cwnd += 1;
            }
        }
    }

    fn cc_info(&self, _tp: &SenderState, cc: &CcState) -> CcInfo {
        CcInfo { phase: growth::phase(cc), ..CcInfo::default() }
    }
}

impl HighSpeed {
    /// Finds the first row with a window of at least `cwnd`.
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

/// Limit so that a window times a decrease fits 32 bits.
const MAX_WINDOW: u32 = u32::MAX / 128;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::testing::{cc, tp};

    /// Growth of a window of this size over a window of single ACKs, and the threshold after a loss.
    fn round(window: u32) -> (u32, u32) {
        let mut highspeed = HighSpeed::default();
        let (tp, mut cc) = (tp(), CcState { cwnd: window, ssthresh: window, ..cc() });
        for _ in 0..window {
            highspeed.cong_avoid(&tp, &mut cc, 1);
        }
        (cc.cwnd - window, highspeed.ssthresh(&tp, &mut CcState { cwnd: window, ..cc }))
    }

    #[test]
    fn a_small_window_grows_as_reno() {
        assert_eq!((round(20), round(38)), ((1, 10), (1, 19)));
    }

    /// RFC 3649 appendix B: up to 1284 packets a(w) = 9 and b(w) = 0.32 (81/256), up to 9346 28 and 0.21 (54/256). A
    /// window that grows within the round grows slightly less.
    #[test]
    fn large_windows_grow_and_shrink_by_the_table() {
        assert_eq!((round(1_200), round(9_000)), ((8, 821), (27, 7_102)));
    }

    #[test]
    fn the_row_also_follows_a_shrinking_window() {
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
        let (tp, mut cc) = (tp(), CcState { cwnd: 30, ssthresh: 30, ..cc() });
        (0..15).for_each(|_| highspeed.cong_avoid(&tp, &mut cc, 2));
        assert_eq!((cc.cwnd, cc.cwnd_count), (30, 15));
    }
}
