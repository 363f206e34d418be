//! Is the pipe full? It is when three rounds in a row bring less than a quarter more bandwidth.
//!
//! Three, because a receive window may have to grow first: one round for that, one to use it, one to measure.

use super::bandwidth::{Bandwidth, UNIT};

/// What Startup waits for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct FullPipe {
    /// The bandwidth that the next round has to exceed by a quarter.
    bandwidth: Bandwidth,
    /// Rounds in a row that did not.
    rounds: u8,
    reached: bool,
}

impl FullPipe {
    pub(super) fn is_reached(&self) -> bool {
        self.reached
    }

    /// An ACK came; only one that starts a round counts, and only if the application did not limit the sample.
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

    /// A reduction was in error: the rounds before it tell nothing.
    pub(super) fn look_again(&mut self) {
        self.bandwidth = Bandwidth::ZERO;
        self.rounds = 0;
    }

    /// After a timeout the next round sets the mark anew.
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

    /// Rounds with these bandwidths; answers after how many the pipe is full.
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
        assert_eq!(full_after(&[100, 110, 120, 125, 125, 125, 125]), Some(6), "a quarter in three rounds starts anew");
    }

    #[test]
    fn rounds_of_an_idle_application_do_not_count() {
        let mut pipe = FullPipe::default();
        for _ in 0..10 {
            pipe.update(Bandwidth(100), true, true);
            pipe.update(Bandwidth(100), false, false);
        }
        assert_eq!(pipe, FullPipe::default());
    }

    #[test]
    fn an_undo_starts_the_count_anew_but_a_full_pipe_stays_full() {
        let mut pipe = FullPipe { bandwidth: Bandwidth(100), rounds: 2, reached: false };
        pipe.look_again();
        pipe.update(Bandwidth(100), true, false);
        assert_eq!(pipe, FullPipe { bandwidth: Bandwidth(100), rounds: 0, reached: false });
        let mut pipe = FullPipe { bandwidth: Bandwidth(100), rounds: 3, reached: true };
        pipe.look_again();
        assert!(pipe.is_reached());
    }
}
