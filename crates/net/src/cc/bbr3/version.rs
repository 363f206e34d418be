//! Where the versions differ: constants, and the steps that each defines in its own way.
//!
//! Everything else in this folder is common to them. [`super::draft`] and [`super::google`] implement the trait.

use super::Bbr3;
use super::tuning::{Share, Tuning};
use crate::cc::model::Gains;
use crate::cc::model::bandwidth::Bandwidth;
use crate::cc::model::rounds::Rounds;
use crate::cc::{CaState, CcState, Parameters, RateSample, SenderState};
use core::fmt::Debug;

/// The gains of each phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PhaseGains {
    pub(super) startup: Gains,
    pub(super) drain: Gains,
    pub(super) probe_down: Gains,
    /// Of `ProbeBW_CRUISE` and `ProbeBW_REFILL`.
    pub(super) cruise: Gains,
    pub(super) probe_up: Gains,
    /// Its window is a bound, not a target.
    pub(super) probe_rtt: Gains,
}

/// One version of BBR.
pub trait Version: Clone + Debug {
    /// The controller's name.
    const NAME: &'static str;
    /// The gains of each phase.
    const GAINS: PhaseGains;
    /// Drain ends after this many rounds, whatever is in flight.
    const DRAIN_ROUNDS: Option<u32>;
    /// Does Drain start without the signals of Startup?
    const DRAIN_RESETS_SIGNALS: bool;
    /// Does CRUISE limit the short-term bound to the long-term one?
    const CRUISE_CAPS_SHORT_TERM: bool;
    /// Do gaps between lost packets end Startup, or else ACKs that report losses?
    const STARTUP_COUNTS_GAPS: bool;
    /// Does an ACK's sample end a probe by loss, or only each lost packet?
    const ACKS_REPORT_LOSS: bool;
    /// Does a loss that only a loss probe showed count?
    const PROBED_LOSSES_COUNT: bool;
    /// Are packets forgotten that were acknowledged while the long-term bound was not the limit?
    const UNUSED_BOUND_DROPS_CREDIT: bool;
    /// Does a marked packet count as a lost one, unless the path marks early?
    const MARKS_ARE_LOSSES: bool;
    /// Is state saved before the first loss of an episode, and the phase resumed after an undo?
    const UNDO_RESUMES_PHASE: bool;
    /// The window returns when a state of at least this severity ends.
    const CWND_RETURNS_FROM: CaState;
    /// Does a sample equal to the minimum renew it?
    const EQUAL_RTT_RENEWS: bool;
    /// Does a delayed ACK replace an expired estimate of the round-trip time?
    const DELAYED_ACK_RENEWS: bool;
    /// Below this pacing rate in bytes per second, super-packets have one segment.
    const SLOW_BYTES: u64;
    /// How ACK aggregation is measured.
    type Aggregation: AckAggregation;

    /// The version with its settings.
    fn new(parameters: &mut Parameters) -> (Self, Tuning);

    /// The clock of the round-trip time estimates, in microseconds.
    fn clock_us(tp: &SenderState) -> u64;

    /// Updates the detection of a full pipe on an ACK that is not application-limited.
    fn check_full_bw(bbr: &mut Bbr3<Self>);

    /// The long-term bound after loss ended Startup.
    fn inflight_after_startup(bbr: &Bbr3<Self>, tp: &SenderState, cc: &CcState) -> u32;

    /// Is the queue of Startup empty?
    fn is_drained(bbr: &Bbr3<Self>, tp: &SenderState, cc: &CcState) -> bool;

    /// Packets in flight as the probing cycle counts them.
    fn inflight_in_cycle(bbr: &Bbr3<Self>, tp: &SenderState, cc: &CcState, sample: &RateSample) -> u32;

    /// The target of packets in flight before the window limits it.
    fn inflight_target(bbr: &Bbr3<Self>, tp: &SenderState, cc: &CcState) -> u32;

    /// Has a probe that met neither loss nor a known limit reached its end? `inflight` is as the cycle counts it.
    fn is_probe_over(bbr: &mut Bbr3<Self>, tp: &SenderState, cc: &CcState, inflight: u32) -> bool;

    /// Do `lost` packets of a flight exceed the share that is tolerated?
    fn exceeds_loss(thresh: Share, lost: u32, inflight: u32) -> bool;

    /// Packets that hosts hold back in super-packets.
    fn offload_budget(bbr: &Bbr3<Self>, tp: &SenderState, cc: &CcState) -> u32;

    /// Is the model too new for the window's target to be reliable?
    fn is_young(bbr: &Bbr3<Self>, tp: &SenderState, cc: &CcState) -> bool;
}

/// The recent maximum of packets acknowledged beyond the bandwidth (`extra_acked`).
pub trait AckAggregation: Clone + Debug + Default {
    /// Measurement starts.
    fn new(tp: &SenderState) -> Self;

    /// Sending restarts after idle time, which must not count.
    fn restart(&mut self, tp: &SenderState);

    /// Updates on an ACK; `is_full`: Startup found the bandwidth.
    fn update(
        &mut self,
        tp: &SenderState,
        cc: &CcState,
        sample: &RateSample,
        bw: Bandwidth,
        rounds: &Rounds,
        is_full: bool,
    );

    /// Packets to add to the window.
    fn extra_acked(&self, bw: Bandwidth) -> u32;
}

/// The end of a probe in version 3: a bandwidth plateau. While the long-term bound limits the bandwidth, detection
/// starts again (`IsTimeToGoDown`).
pub(super) fn is_at_plateau<V: Version>(bbr: &mut Bbr3<V>, tp: &SenderState, cc: &CcState) -> bool {
    if tp.cwnd_limited && cc.cwnd >= bbr.long_term.inflight_longterm {
        bbr.full_bw.reset(bbr.delivery_rate);
        return false;
    }
    bbr.full_bw.full_bw_now
}
