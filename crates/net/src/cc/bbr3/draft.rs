//! BBR as draft-ietf-ccwg-bbr defines it; the section numbers are those of revision 06.
//!
//! The steps of the draft that Google's kernels take in the same way are in the other files of this folder, under the
//! draft's names. This file has the rest.

use super::tuning::{Share, Tuning};
use super::version::{AckAggregation, PhaseGains, Version, is_at_plateau};
use super::{Bbr3, UNIT};
use crate::cc::model::Gains;
use crate::cc::model::aggregation::Epoch;
use crate::cc::model::bandwidth::Bandwidth;
use crate::cc::model::max_filter::MaxFilter;
use crate::cc::model::rounds::Rounds;
use crate::cc::{CaState, CcState, Parameters, RateSample, SenderState};
use crate::number::narrow;

/// The version of the draft.
#[derive(Clone, Debug)]
pub struct Draft;

impl Version for Draft {
    const NAME: &'static str = "bbr3";
    /// Section 5.6.1.
    const GAINS: PhaseGains = PhaseGains {
        startup: Gains { pacing: UNIT * 277 / 100, window: 2 * UNIT },
        drain: Gains { pacing: UNIT / 2, window: 2 * UNIT },
        probe_down: Gains { pacing: UNIT * 90 / 100, window: 2 * UNIT },
        cruise: Gains { pacing: UNIT, window: 2 * UNIT },
        probe_up: Gains { pacing: UNIT * 5 / 4, window: UNIT * 9 / 4 },
        probe_rtt: Gains { pacing: UNIT, window: UNIT / 2 },
    };
    /// Section 5.3.2.
    const DRAIN_ROUNDS: Option<u32> = Some(3);
    const DRAIN_RESETS_SIGNALS: bool = false;
    const CRUISE_CAPS_SHORT_TERM: bool = false;
    /// Section 5.3.1.
    const STARTUP_COUNTS_GAPS: bool = true;
    /// Section 5.2.4: the steps of each lost packet.
    const ACKS_REPORT_LOSS: bool = false;
    const PROBED_LOSSES_COUNT: bool = true;
    const UNUSED_BOUND_DROPS_CREDIT: bool = false;
    /// Section 3.7 requires a reaction to marks but leaves it open.
    const MARKS_ARE_LOSSES: bool = true;
    /// Section 5.5.11.
    const UNDO_RESUMES_PHASE: bool = true;
    /// Section 5.6.4: after fast recovery, too.
    const CWND_RETURNS_FROM: CaState = CaState::Recovery;
    /// Section 5.5.7.
    const EQUAL_RTT_RENEWS: bool = false;
    const DELAYED_ACK_RENEWS: bool = true;
    const SLOW_BYTES: u64 = 0;
    type Aggregation = Aggregation;

    fn new(parameters: &mut Parameters) -> (Self, Tuning) {
        (Self, Tuning::version_3(parameters, Share::percent))
    }

    fn clock_us(tp: &SenderState) -> u64 {
        tp.now.as_micros()
    }

    /// The delivery rate of the ACK that starts a round counts (section 5.3.1, `CheckFullBWReached`).
    fn check_full_bw(bbr: &mut Bbr3<Self>) {
        if bbr.rounds.started && !bbr.full_bw.full_bw_now {
            bbr.full_bw.take(bbr.delivery_rate, true);
        }
    }

    /// What the last round delivered is safe (section 5.3.1, `CheckStartupHighLoss`).
    fn inflight_after_startup(bbr: &Bbr3<Self>, _tp: &SenderState, _cc: &CcState) -> u32 {
        bbr.bdp_multiple(bbr.bw(), UNIT).max(bbr.signals.inflight_latest)
    }

    /// Section 5.3.2 (`CheckDrainDone`).
    fn is_drained(bbr: &Bbr3<Self>, tp: &SenderState, cc: &CcState) -> bool {
        tp.in_flight() <= bbr.inflight(tp, cc, bbr.bw(), UNIT)
    }

    /// Section 5.3.3.
    fn inflight_in_cycle(_bbr: &Bbr3<Self>, tp: &SenderState, _cc: &CcState, _sample: &RateSample) -> u32 {
        tp.in_flight()
    }

    /// Section 5.3.3 (`TargetInflight`).
    fn inflight_target(bbr: &Bbr3<Self>, _tp: &SenderState, _cc: &CcState) -> u32 {
        bbr.bdp_multiple(bbr.bw(), UNIT)
    }

    /// Section 5.3.3 (`IsTimeToGoDown`).
    fn is_probe_over(bbr: &mut Bbr3<Self>, tp: &SenderState, cc: &CcState, _inflight: u32) -> bool {
        is_at_plateau(bbr, tp, cc)
    }

    /// Section 5.5.10 (`IsInflightTooHigh`), without rounding.
    fn exceeds_loss(thresh: Share, lost: u32, inflight: u32) -> bool {
        u64::from(lost) * u64::from(thresh.denominator) > u64::from(inflight) * u64::from(thresh.numerator)
    }

    /// Sections 5.5.8 (`UpdateOffloadBudget`) and 5.6.3 (`SetSendQuantum`): a millisecond at the pacing rate, from two
    /// segments to 64 KB.
    fn offload_budget(_bbr: &Bbr3<Self>, tp: &SenderState, cc: &CcState) -> u32 {
        let send_quantum = narrow(cc.pacing_rate.as_bytes() / 1_000).min(MAX_SEND_QUANTUM).max(2 * tp.mss);
        3 * send_quantum / tp.mss
    }

    /// Section 5.6.4 (`SetCwnd`).
    fn is_young(bbr: &Bbr3<Self>, tp: &SenderState, _cc: &CcState) -> bool {
        tp.delivered < u64::from(bbr.initial_cwnd)
    }
}

/// `extra_acked` over ten rounds, one in Startup (section 5.5.9).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Aggregation {
    epoch: Epoch,
    filter: MaxFilter<u32>,
}

impl AckAggregation for Aggregation {
    fn new(tp: &SenderState) -> Self {
        Self { epoch: Epoch::new(tp), filter: MaxFilter::default() }
    }

    /// The draft moves only the start of the interval (section 5.4.1); the packets acknowledged before would then all
    /// be excess, so they are forgotten here, as in Linux.
    fn restart(&mut self, tp: &SenderState) {
        self.epoch = Epoch::new(tp);
    }

    fn update(
        &mut self,
        tp: &SenderState,
        cc: &CcState,
        sample: &RateSample,
        bw: Bandwidth,
        rounds: &Rounds,
        is_full: bool,
    ) {
        let Some(excess) = self.epoch.excess(tp, cc, sample, bw) else { return };
        self.filter.update(rounds.count, excess, if is_full { FILTER_ROUNDS } else { 1 });
    }

    fn extra_acked(&self, _bw: Bandwidth) -> u32 {
        self.filter.best()
    }
}

/// `ExtraAckedFilterLen`.
const FILTER_ROUNDS: u32 = 10;
const MAX_SEND_QUANTUM: u32 = 65_536;
