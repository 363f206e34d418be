//! The short-term model: what recent rounds delivered, and the bounds from losses since the last probe.
//!
//! Once per lossy round, outside of probes, `bw_shortterm` and `inflight_shortterm` fall to 0.7 of their value, but not
//! below what the round delivered. Each probe starts by resetting them.

use super::Bbr3;
use super::version::Version;
use crate::cc::model::bandwidth::{Bandwidth, measured};
use crate::cc::{CcState, RateSample, SenderState};

/// The bounds; unlimited at first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ShortTerm {
    pub(super) bw_shortterm: Bandwidth,
    pub(super) inflight_shortterm: u32,
}

impl Default for ShortTerm {
    fn default() -> Self {
        Self { bw_shortterm: UNLIMITED, inflight_shortterm: u32::MAX }
    }
}

/// Congestion signals of the current round.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "independent flags")]
pub(super) struct Signals {
    bw_latest: Bandwidth,
    pub(super) inflight_latest: u32,
    /// Loss rounds have their own mark: the first loss starts one.
    pub(super) loss_round_delivered: u64,
    pub(super) loss_round_start: bool,
    pub(super) is_loss_in_round: bool,
    pub(super) is_mark_in_round: bool,
    /// Lossy events in this round (Startup).
    pub(super) loss_events: u32,
    /// Since the last probe.
    pub(super) is_loss_in_cycle: bool,
    pub(super) is_mark_in_cycle: bool,
}

impl<V: Version> Bbr3<V> {
    /// Start of an ACK (`UpdateLatestDeliverySignals`).
    pub(super) fn update_latest(&mut self, tp: &SenderState, sample: &RateSample) {
        self.signals.loss_round_start = false;
        self.delivery_rate = Bandwidth::ZERO;
        let Some((delivered, micros)) = measured(sample).filter(|_| sample.acked_sacked > 0) else { return };
        self.delivery_rate = Bandwidth::of_at_least(u64::from(delivered), micros);
        let signals = &mut self.signals;
        signals.bw_latest = signals.bw_latest.max(self.delivery_rate);
        signals.inflight_latest = signals.inflight_latest.max(delivered);
        if sample.prior_delivered >= signals.loss_round_delivered {
            signals.loss_round_delivered = tp.delivered;
            signals.loss_round_start = true;
        }
    }

    /// Updates the maximum rate, and adapts the bounds once per round (`UpdateCongestionSignals`).
    pub(super) fn update_congestion(&mut self, cc: &CcState, sample: &RateSample) {
        if self.delivery_rate == Bandwidth::ZERO {
            return;
        }
        self.update_max_bw(sample);
        self.signals.is_loss_in_round |= sample.losses > 0;
        if !self.signals.loss_round_start {
            return;
        }
        if !self.phase.is_probing() {
            self.adapt_lower_bounds(cc);
        }
        self.signals.is_loss_in_round = false;
        self.signals.is_mark_in_round = false;
    }

    /// End of an ACK (`AdvanceLatestDeliverySignals`). While a loss probe is being answered the old signals stay: they
    /// show what the path delivered before the loss that the probe may have repaired.
    pub(super) fn advance_latest(&mut self, sample: &RateSample) {
        if self.signals.loss_round_start && !(sample.answers_probe && V::PROBED_LOSSES_COUNT) {
            self.signals.bw_latest = self.delivery_rate;
            self.signals.inflight_latest = sample.delivered.unwrap_or(0);
        }
    }

    /// A packet was lost; the first loss starts a loss round (`NoteLoss`).
    pub(super) fn record_loss(&mut self, tp: &SenderState) {
        if !self.signals.is_loss_in_round {
            self.signals.loss_round_delivered = tp.delivered;
        }
        self.signals.is_loss_in_round = true;
        self.signals.is_loss_in_cycle = true;
    }

    /// `ResetCongestionSignals`.
    pub(super) fn reset_signals(&mut self) {
        let signals = &mut self.signals;
        (signals.is_loss_in_round, signals.is_mark_in_round) = (false, false);
        (signals.is_loss_in_cycle, signals.is_mark_in_cycle) = (false, false);
        signals.bw_latest = Bandwidth::ZERO;
        signals.inflight_latest = 0;
    }

    /// `AdaptLowerBoundsFromCongestion`.
    fn adapt_lower_bounds(&mut self, cc: &CcState) {
        let mut by_marks = u32::MAX;
        if self.signals.is_mark_in_round {
            let inflight = self.begun_inflight(cc);
            by_marks = self.ecn.as_ref().map_or(u32::MAX, |ecn| ecn.cut(inflight));
        }
        if self.signals.is_loss_in_round {
            let inflight = self.begun_inflight(cc);
            let beta = self.tuning.beta;
            let bounds = &mut self.short_term;
            if bounds.bw_shortterm == UNLIMITED {
                bounds.bw_shortterm = self.max_bw.best();
            }
            bounds.bw_shortterm = self.signals.bw_latest.max(Bandwidth(beta.of(bounds.bw_shortterm.0)));
            bounds.inflight_shortterm = self.signals.inflight_latest.max(beta.of(inflight));
        }
        let bounds = &mut self.short_term;
        bounds.inflight_shortterm = bounds.inflight_shortterm.min(by_marks);
    }

    /// The bound on in-flight data; the window if not set yet.
    fn begun_inflight(&mut self, cc: &CcState) -> u32 {
        if self.short_term.inflight_shortterm == u32::MAX {
            self.short_term.inflight_shortterm = cc.cwnd;
        }
        self.short_term.inflight_shortterm
    }
}

/// No bound.
pub(super) const UNLIMITED: Bandwidth = Bandwidth(u32::MAX);
