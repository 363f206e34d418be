//! Full pipe detection: three rounds in a row with less than 25 % more bandwidth.
//!
//! Three, because the receive window may have to grow first: one round to grow it, one to use it, one to measure.

use super::bandwidth::{Bandwidth, UNIT};

/// Detects the end of Startup.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct FullPipe {
    /// The next round has to exceed this bandwidth by a quarter.
    bandwidth: Bandwidth,
    /// Rounds in a row that did not.
    rounds: u8,
    reached: bool,
}

impl FullPipe {
    pub(super) fn is_reached(&self) -> bool {
        self.reached
    }

    /// Updates on an ACK. Only an ACK that starts a round counts, and only if its sample is not application-limited.
    pub(super) fn update(&mut self, max_bandwidth: Bandwidth, round_started: bool, is_app_limited: bool) {
        if self.reached || !round_started || is_app_limited {
            return;
        }
        if max_bandwidth >= self.bandwidth.scaled(GROWTH) {
            self.bandwidth = max_bandwidth;
            self.rounds = 0;
            return;
        }
        self.rounds += 1;
        self.reached = self.rounds >= ROUNDS;
    }

    /// Restarts the count after an undone reduction, whose rounds are not meaningful.
    pub(super) fn restart(&mut self) {
        self.bandwidth = Bandwidth::ZERO;
        self.rounds = 0;
    }

    /// Resets the bandwidth after a timeout; the next round sets it again.
    pub(super) fn forget_bandwidth(&mut self) {
        self.bandwidth = Bandwidth::ZERO;
    }
}

/// `bbr_full_bw_thresh`.
const GROWTH: u32 = UNIT * 5 / 4;
/// `bbr_full_bw_cnt`.
const ROUNDS: u8 = 3;

#[cfg(test)]
mod tests {
    use super::*;

    /// Feeds rounds with these bandwidths; returns after how many the pipe is full.
    fn full_after(bandwidths: &[u32]) -> Option<usize> {
        let mut pipe = FullPipe::default();
        bandwidths.iter().position(|&bandwidth| {
            pipe.update(Bandwidth(bandwidth), true, false);
            pipe.is_reached()
        })
    }

    #[test]
    fn three_rounds_without_growth_fill_the_pipe() {
        assert_eq!(full_after(&[100, 200, 400, 400, 400, 400]), Some(5));
        assert_eq!(full_after(&[100, 124, 124, 124]), Some(3));
        assert_eq!(
            full_after(&[100, 110, 120, 125, 125, 125, 125]),
            Some(6),
            "growth by a quarter within three rounds restarts the count"
        );
    }

    #[test]
    fn app_limited_rounds_do_not_count() {
        let mut pipe = FullPipe::default();
        for _ in 0..10 {
            pipe.update(Bandwidth(100), true, true);
            pipe.update(Bandwidth(100), false, false);
        }
        assert_eq!(pipe, FullPipe::default());
    }

    #[test]
    fn an_undo_restarts_the_count_but_a_full_pipe_stays_full() {
        let mut pipe = FullPipe { bandwidth: Bandwidth(100), rounds: 2, reached: false };
        pipe.restart();
        pipe.update(Bandwidth(100), true, false);
        assert_eq!(pipe, FullPipe { bandwidth: Bandwidth(100), rounds: 0, reached: false });
        let mut pipe = FullPipe { bandwidth: Bandwidth(100), rounds: 3, reached: true };
        pipe.restart();
        assert!(pipe.is_reached());
    }
}
