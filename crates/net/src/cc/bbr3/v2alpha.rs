//! BBR version 2, `tcp_bbr2.c` of branch v2alpha: its own values in Google's code.

use super::google::Kernel;
use super::tuning::Tuning;
use super::version::PhaseGains;
use super::{Bbr3, UNIT};
use crate::cc::model::Gains;
use crate::cc::model::pacing::{DRAIN_PACING, HIGH_GAIN, SLOW_BYTES};
use crate::cc::{CcState, Parameters, SenderState};

/// Branch v2alpha.
#[derive(Clone, Debug)]
pub struct V2Alpha {
    /// A probe ends with this multiple of the bandwidth-delay product in flight (`bbr_bw_probe_pif_gain`).
    full_inflight_gain: u32,
}

impl Kernel for V2Alpha {
    const NAME: &'static str = "bbr2";
    const GAINS: PhaseGains = PhaseGains {
        startup: Gains { pacing: HIGH_GAIN, window: HIGH_GAIN },
        drain: Gains { pacing: DRAIN_PACING, window: HIGH_GAIN },
        probe_down: Gains { pacing: UNIT * 3 / 4, window: 2 * UNIT },
        cruise: Gains { pacing: UNIT, window: 2 * UNIT },
        probe_up: Gains { pacing: UNIT * 5 / 4, window: 2 * UNIT },
        probe_rtt: Gains { pacing: UNIT, window: UNIT },
    };
    const PROBED_LOSSES_COUNT: bool = false;
    const UNUSED_BOUND_DROPS_CREDIT: bool = true;
    const LATEST_IS_SAFE: bool = false;
    const SLOW_BYTES: u64 = SLOW_BYTES;

    fn new(parameters: &mut Parameters) -> (Self, Tuning) {
        let tuning = Tuning::version_2(parameters);
        let full_inflight_gain = parameters.take("bw_probe_pif_gain", UNIT * 5 / 4, 0..=511);
        (Self { full_inflight_gain }, tuning)
    }

    /// The maximum counts, once per round, in Startup only (`bbr_check_full_bw_reached`).
    fn check_full_bw(bbr: &mut Bbr3<Self>) {
        if bbr.rounds.started && !bbr.full_bw.full_bw_reached {
            bbr.full_bw.take(bbr.max_bw.best(), true);
        }
    }

    /// After at least `min_rtt`, with enough in flight (`bbr_update_cycle_phase`).
    fn is_probe_over(bbr: &mut Bbr3<Self>, tp: &SenderState, cc: &CcState, inflight: u32) -> bool {
        let gain = bbr.version.full_inflight_gain;
        bbr.cycle.has_elapsed(tp, bbr.min_rtt.raw()) && inflight >= bbr.inflight(tp, cc, bbr.max_bw.best(), gain)
    }
}
