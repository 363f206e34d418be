//! BBR as Google's kernels have it: `tcp_bbr.c` of branch v3 (March 2025), and what `tcp_bbr2.c` of branch v2alpha has
//! in common with it.
//!
//! The names in parentheses are those of the kernel's functions and constants. [`super::v2alpha`] has version 2's own
//! values.

use super::tuning::{Share, Tuning};
use super::version::{AckAggregation, PhaseGains, Version, is_at_plateau};
use super::{Bbr3, UNIT};
use crate::cc::model::Gains;
use crate::cc::model::aggregation::{self, Aggregation};
use crate::cc::model::bandwidth::Bandwidth;
use crate::cc::model::pacing::{DRAIN_PACING, in_network_at_departure};
use crate::cc::model::rounds::Rounds;
use crate::cc::{CaState, CcState, GSO_MAX_BYTES, PACING_SHIFT, Parameters, RateSample, SenderState};
use crate::number::narrow;
use crate::time::HZ;

/// Where the two kernels differ.
pub trait Kernel: Clone + core::fmt::Debug {
    /// See [`Version::NAME`].
    const NAME: &'static str;
    /// See [`Version::GAINS`].
    const GAINS: PhaseGains;
    /// See [`Version::PROBED_LOSSES_COUNT`].
    const PROBED_LOSSES_COUNT: bool;
    /// See [`Version::UNUSED_BOUND_DROPS_CREDIT`].
    const UNUSED_BOUND_DROPS_CREDIT: bool;
    /// When loss ends Startup, is what the last round delivered safe?
    const LATEST_IS_SAFE: bool;
    /// See [`Version::SLOW_BYTES`].
    const SLOW_BYTES: u64;

    /// See [`Version::new`].
    fn new(parameters: &mut Parameters) -> (Self, Tuning);

    /// See [`Version::check_full_bw`].
    fn check_full_bw(bbr: &mut Bbr3<Self>);

    /// See [`Version::is_probe_over`].
    fn is_probe_over(bbr: &mut Bbr3<Self>, tp: &SenderState, cc: &CcState, inflight: u32) -> bool;
}

/// Branch v3.
#[derive(Clone, Debug)]
pub struct GoogleV3;

impl Kernel for GoogleV3 {
    const NAME: &'static str = "bbr3";
    const GAINS: PhaseGains = PhaseGains {
        startup: Gains { pacing: UNIT * 277 / 100 + 1, window: 2 * UNIT },
        drain: DRAIN,
        probe_down: Gains { pacing: UNIT * 91 / 100, window: 2 * UNIT },
        cruise: Gains { pacing: UNIT, window: 2 * UNIT },
        probe_up: Gains { pacing: UNIT * 5 / 4, window: UNIT * 9 / 4 },
        probe_rtt: Gains { pacing: UNIT, window: UNIT },
    };
    const PROBED_LOSSES_COUNT: bool = true;
    const UNUSED_BOUND_DROPS_CREDIT: bool = false;
    const LATEST_IS_SAFE: bool = true;
    const SLOW_BYTES: u64 = 0;

    fn new(parameters: &mut Parameters) -> (Self, Tuning) {
        (Self, Tuning::version_3(parameters, Share::percent_in_units))
    }

    /// Any ACK's delivery rate may show growth; rounds are counted (`bbr_check_full_bw_reached`).
    fn check_full_bw(bbr: &mut Bbr3<Self>) {
        if !bbr.full_bw.full_bw_now {
            bbr.full_bw.take(bbr.delivery_rate, bbr.rounds.started);
        }
    }

    /// `bbr_is_time_to_go_down`.
    fn is_probe_over(bbr: &mut Bbr3<Self>, tp: &SenderState, cc: &CcState, _inflight: u32) -> bool {
        is_at_plateau(bbr, tp, cc)
    }
}

impl<K: Kernel> Version for K {
    const NAME: &'static str = K::NAME;
    const GAINS: PhaseGains = K::GAINS;
    const DRAIN_ROUNDS: Option<u32> = None;
    /// `bbr_check_drain`.
    const DRAIN_RESETS_SIGNALS: bool = true;
    /// `bbr_start_bw_probe_cruise`.
    const CRUISE_CAPS_SHORT_TERM: bool = true;
    /// `bbr_check_loss_too_high_in_startup`.
    const STARTUP_COUNTS_GAPS: bool = false;
    /// `bbr_adapt_upper_bounds`.
    const ACKS_REPORT_LOSS: bool = true;
    const PROBED_LOSSES_COUNT: bool = K::PROBED_LOSSES_COUNT;
    const UNUSED_BOUND_DROPS_CREDIT: bool = K::UNUSED_BOUND_DROPS_CREDIT;
    /// Marks count only where the path marks early (`ecn_low`).
    const MARKS_ARE_LOSSES: bool = false;
    const UNDO_RESUMES_PHASE: bool = false;
    /// `bbr_set_state`.
    const CWND_RETURNS_FROM: CaState = CaState::Loss;
    /// `bbr_update_min_rtt`.
    const EQUAL_RTT_RENEWS: bool = true;
    const DELAYED_ACK_RENEWS: bool = false;
    const SLOW_BYTES: u64 = K::SLOW_BYTES;
    type Aggregation = Aggregation;

    fn new(parameters: &mut Parameters) -> (Self, Tuning) {
        K::new(parameters)
    }

    /// Linux keeps these times in jiffies.
    fn clock_us(tp: &SenderState) -> u64 {
        tp.now.jiffies() * (1_000_000 / HZ)
    }

    fn check_full_bw(bbr: &mut Bbr3<Self>) {
        K::check_full_bw(bbr);
    }

    /// `bbr_handle_queue_too_high_in_startup`.
    fn inflight_after_startup(bbr: &Bbr3<Self>, tp: &SenderState, cc: &CcState) -> u32 {
        let inflight = bbr.inflight(tp, cc, bbr.max_bw.best(), UNIT);
        if K::LATEST_IS_SAFE { inflight.max(bbr.signals.inflight_latest) } else { inflight }
    }

    /// `bbr_check_drain`.
    fn is_drained(bbr: &Bbr3<Self>, tp: &SenderState, cc: &CcState) -> bool {
        bbr.at_departure(tp, cc, tp.in_flight()) <= bbr.inflight(tp, cc, bbr.max_bw.best(), UNIT)
    }

    /// `bbr_update_cycle_phase`.
    fn inflight_in_cycle(bbr: &Bbr3<Self>, tp: &SenderState, cc: &CcState, sample: &RateSample) -> u32 {
        bbr.at_departure(tp, cc, sample.prior_in_flight)
    }

    /// `bbr_target_inflight`.
    fn inflight_target(bbr: &Bbr3<Self>, tp: &SenderState, cc: &CcState) -> u32 {
        bbr.inflight(tp, cc, bbr.bw(), UNIT)
    }

    fn is_probe_over(bbr: &mut Bbr3<Self>, tp: &SenderState, cc: &CcState, inflight: u32) -> bool {
        K::is_probe_over(bbr, tp, cc, inflight)
    }

    /// `bbr_is_inflight_too_high`: the threshold is rounded down to packets.
    fn exceeds_loss(thresh: Share, lost: u32, inflight: u32) -> bool {
        lost > 0 && inflight > 0 && lost > thresh.of(inflight)
    }

    /// `bbr_quantization_budget`.
    fn offload_budget(bbr: &Bbr3<Self>, tp: &SenderState, cc: &CcState) -> u32 {
        3 * bbr.tso_segments(tp, cc)
    }

    /// `bbr_set_cwnd`.
    fn is_young(bbr: &Bbr3<Self>, _tp: &SenderState, cc: &CcState) -> bool {
        cc.cwnd < 2 * bbr.initial_cwnd
    }
}

impl<K: Kernel> Bbr3<K> {
    /// Packets still in the network when the next one departs, out of `in_flight`; includes that one if the flight is
    /// to grow (`bbr_packets_in_net_at_edt`).
    fn at_departure(&self, tp: &SenderState, cc: &CcState, in_flight: u32) -> u32 {
        let departing = if self.gains.pacing > UNIT { self.tso_segments(tp, cc) } else { 0 };
        in_network_at_departure(tp, in_flight + departing, self.bw())
    }

    /// Segments in a super-packet: a millisecond's worth, more on short paths (`bbr_tso_segs_goal`).
    fn tso_segments(&self, tp: &SenderState, cc: &CcState) -> u32 {
        let halvings = self.min_rtt.raw() >> TSO_RTT_SHIFT;
        let bytes = narrow(cc.pacing_rate.as_bytes() >> PACING_SHIFT);
        let bytes = bytes.saturating_add(LEGACY_BYTES.checked_shr(halvings).unwrap_or(0)).min(GSO_MAX_BYTES);
        (bytes / tp.mss).max(2)
    }
}

/// Over five to ten rounds, one to two in Startup (`bbr_update_ack_aggregation`).
impl AckAggregation for Aggregation {
    fn new(tp: &SenderState) -> Self {
        Self::new(tp)
    }

    fn restart(&mut self, tp: &SenderState) {
        self.restart(tp);
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
        self.update(tp, cc, sample, bw, rounds.started, if is_full { aggregation::ROUNDS } else { 1 });
    }

    fn extra_acked(&self, bw: Bandwidth) -> u32 {
        self.max_excess().min(bw.packets_in(aggregation::MAX_US))
    }
}

/// The inverse of version 1's gain in Startup (`bbr_drain_gain`).
const DRAIN: Gains = Gains { pacing: DRAIN_PACING, window: 2 * UNIT };
/// `GSO_LEGACY_MAX_SIZE`.
const LEGACY_BYTES: u32 = 65_536;
/// Every 512 µs of round trip halve the allowance for short paths (`bbr_tso_rtt_shift`).
const TSO_RTT_SHIFT: u32 = 9;
