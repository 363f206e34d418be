//! HyStart: leave slow start before it overflows the buffer (Ha and Rhee 2008, as in `tcp_cubic.c`).
//!
//! Two detectors run in each round trip, and either one ends slow start by setting the threshold to the window: a train
//! of closely spaced ACKs that lasts half a round trip (the path is full), and a minimum round-trip time that has grown
//! by an eighth (a queue is building).

use super::tuning::Tuning;
use crate::cc::{CcState, SenderState};

/// State of both detectors.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct HyStart {
    /// Slow start was ended; detection is off until a timeout.
    found: bool,
    /// Start of this round.
    round_start_us: u64,
    /// The round ends when this byte has been acknowledged.
    round_end: u64,
    /// The last ACK that closely followed another.
    last_ack_us: u64,
    /// Minimum round-trip time of this round.
    round_min_rtt_us: u32,
    /// Samples in this round, up to [`SAMPLES`].
    samples: u8,
}

impl HyStart {
    /// Starts detection with a round that begins now.
    pub(super) fn new(tp: &SenderState) -> Self {
        let mut fresh = Self::default();
        fresh.begin_round(tp);
        fresh
    }

    /// A round-trip time was measured in slow start.
    pub(super) fn on_sample(
        &mut self,
        tp: &SenderState,
        cc: &mut CcState,
        rtt_us: u32,
        min_rtt_us: u32,
        tuning: &Tuning,
    ) {
        if self.found {
            return;
        }
        if tp.snd_una > self.round_end {
            self.begin_round(tp);
        }
        if cc.cwnd < tuning.hystart_low_window {
            return;
        }
        let long_train = tuning.detects_trains() && self.is_train_long(tp, cc, min_rtt_us, tuning);
        let delayed = tuning.detects_delay() && self.is_delayed(rtt_us, min_rtt_us);
        if long_train || delayed {
            self.found = true;
            cc.ssthresh = cc.cwnd;
        }
    }

    fn begin_round(&mut self, tp: &SenderState) {
        self.round_start_us = tp.now.as_micros();
        self.last_ack_us = self.round_start_us;
        self.round_end = tp.snd_nxt;
        self.round_min_rtt_us = u32::MAX;
        self.samples = 0;
    }

    /// Has the ACK train lasted half a round trip, or a full one if pacing stretches it?
    fn is_train_long(&mut self, tp: &SenderState, cc: &CcState, min_rtt_us: u32, tuning: &Tuning) -> bool {
        let now_us = tp.now.as_micros();
        if now_us.saturating_sub(self.last_ack_us) > u64::from(tuning.hystart_ack_delta_us) {
            return false;
        }
        self.last_ack_us = now_us;
        let full_length = u64::from(min_rtt_us) + aggregation_delay_us(tp, cc);
        let longest = if cc.paced { full_length } else { full_length / 2 };
        now_us.saturating_sub(self.round_start_us) > longest
    }

    /// Is the round's minimum delay an eighth above the overall minimum?
    fn is_delayed(&mut self, rtt_us: u32, min_rtt_us: u32) -> bool {
        self.round_min_rtt_us = self.round_min_rtt_us.min(rtt_us);
        if self.samples < SAMPLES {
            self.samples += 1;
            return false;
        }
        let threshold = (min_rtt_us / 8).clamp(MIN_DELAY_US, MAX_DELAY_US);
        self.round_min_rtt_us > min_rtt_us.saturating_add(threshold)
    }
}

/// Delay added by super-packets (`hystart_ack_delay`): four of the largest at the pacing rate, at most 1 ms.
fn aggregation_delay_us(tp: &SenderState, cc: &CcState) -> u64 {
    let bytes_per_second = cc.pacing_rate.as_bytes();
    if bytes_per_second == 0 {
        return 0;
    }
    (u64::from(tp.gso_max_bytes) * 4 * 1_000_000 / bytes_per_second).min(1_000)
}

/// Samples in a round before its delay is judged (`HYSTART_MIN_SAMPLES`).
const SAMPLES: u8 = 8;
/// Lower and upper limit of the delay increase (`HYSTART_DELAY_MIN`, `HYSTART_DELAY_MAX`).
const MIN_DELAY_US: u32 = 4_000;
const MAX_DELAY_US: u32 = 16_000;

#[cfg(test)]
mod tests;
