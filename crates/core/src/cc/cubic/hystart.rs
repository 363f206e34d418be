//! HyStart: leave slow start before it overflows the buffer (Ha and Rhee 2008, as `tcp_cubic.c` has it).
//!
//! Two detectors watch each round trip, and either one ends slow start by setting the threshold to the window:
//! ACKs that follow each other closely for half a round trip (the path is full end to end), and a smallest
//! round-trip time that has grown by an eighth (a queue is building).

use super::tuning::Tuning;
use crate::cc::Vitals;

/// Both detectors.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct HyStart {
    /// Slow start was ended; nothing is watched any more until a timeout.
    found: bool,
    /// When this round began.
    round_start_us: u64,
    /// The round is over when this byte has been acknowledged.
    round_end: u64,
    /// The last ACK that came close behind another.
    last_ack_us: u64,
    /// Smallest round-trip time of this round.
    round_min_rtt_us: u32,
    /// Samples of this round, up to [`SAMPLES`].
    samples: u8,
}

impl HyStart {
    /// Starts watching, with a round that begins now.
    pub(super) fn new(vitals: &Vitals) -> Self {
        let mut fresh = Self::default();
        fresh.begin_round(vitals);
        fresh
    }

    /// A round-trip time was measured in slow start.
    pub(super) fn on_sample(&mut self, vitals: &mut Vitals, rtt_us: u32, min_rtt_us: u32, tuning: &Tuning) {
        if self.found {
            return;
        }
        if vitals.snd_una > self.round_end {
            self.begin_round(vitals);
        }
        if vitals.cwnd < tuning.hystart_low_window {
            return;
        }
        let long_train = tuning.detects_trains() && self.is_train_long(vitals, min_rtt_us, tuning);
        let delayed = tuning.detects_delay() && self.is_delayed(rtt_us, min_rtt_us);
        if long_train || delayed {
            self.found = true;
            vitals.ssthresh = vitals.cwnd;
        }
    }

    fn begin_round(&mut self, vitals: &Vitals) {
        self.round_start_us = vitals.now.as_micros();
        self.last_ack_us = self.round_start_us;
        self.round_end = vitals.snd_nxt;
        self.round_min_rtt_us = u32::MAX;
        self.samples = 0;
    }

    /// Has the train of ACKs lasted for half a round trip, or a whole one where pacing stretches it?
    fn is_train_long(&mut self, vitals: &Vitals, min_rtt_us: u32, tuning: &Tuning) -> bool {
        let now_us = vitals.now.as_micros();
        if now_us.saturating_sub(self.last_ack_us) > u64::from(tuning.hystart_ack_delta_us) {
            return false;
        }
        self.last_ack_us = now_us;
        let whole = u64::from(min_rtt_us) + aggregation_delay_us(vitals);
        let longest = if vitals.paced { whole } else { whole / 2 };
        now_us.saturating_sub(self.round_start_us) > longest
    }

    /// Is the round's smallest delay an eighth above the smallest ever?
    fn is_delayed(&mut self, rtt_us: u32, min_rtt_us: u32) -> bool {
        self.round_min_rtt_us = self.round_min_rtt_us.min(rtt_us);
        if self.samples < SAMPLES {
            self.samples += 1;
            return false;
        }
        let threshold = (min_rtt_us / 8).clamp(LEAST_DELAY_US, MOST_DELAY_US);
        self.round_min_rtt_us > min_rtt_us.saturating_add(threshold)
    }
}

/// Time that super-packets add (`hystart_ack_delay`): four of the largest at the pacing rate, 1 ms at most.
fn aggregation_delay_us(vitals: &Vitals) -> u64 {
    let bytes_per_second = vitals.pacing_rate.as_bytes();
    if bytes_per_second == 0 {
        return 0;
    }
    (u64::from(vitals.gso_max_bytes) * 4 * 1_000_000 / bytes_per_second).min(1_000)
}

/// Samples of a round before its delay is judged (`HYSTART_MIN_SAMPLES`).
const SAMPLES: u8 = 8;
/// The least and the most that the delay must have grown by.
const LEAST_DELAY_US: u32 = 4_000;
const MOST_DELAY_US: u32 = 16_000;

#[cfg(test)]
mod tests;
