//! The settings of a flow that an experiment may change.

use crate::cc::Parameters;
use crate::cc::model::bandwidth::UNIT;
use crate::number::narrow;

/// A fraction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    pub(super) numerator: u32,
    pub(super) denominator: u32,
}

impl Share {
    pub(super) const fn percent(numerator: u32) -> Self {
        Self { numerator, denominator: 100 }
    }

    /// In 1/256, as in Linux.
    pub(super) const fn unit(numerator: u32) -> Self {
        Self { numerator, denominator: UNIT }
    }

    /// A percentage in 1/256, rounded down as Linux does (`BBR_UNIT * percent / 100`).
    pub(super) const fn percent_in_units(percent: u32) -> Self {
        Self::unit(UNIT * percent / 100)
    }

    /// This share of a number, rounded down.
    pub(super) fn of(self, number: u32) -> u32 {
        narrow(u64::from(number) * u64::from(self.numerator) / u64::from(self.denominator))
    }

    /// One minus this share.
    pub(super) const fn rest(self) -> Self {
        Self { numerator: self.denominator - self.numerator, denominator: self.denominator }
    }
}

/// Settings; the names in parentheses are the draft's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tuning {
    /// Maximum tolerated share of a flight lost (`LossThresh`).
    pub(super) loss_thresh: Share,
    /// Lossy events in a round that end Startup.
    pub(super) full_loss_count: u32,
    /// Share of the short-term bounds that remains after a lossy round (`Beta`).
    pub(super) beta: Share,
    /// Share of the long-term bound left free while cruising (`Headroom`).
    pub(super) headroom: Share,
    /// Wait before a probe: the minimum, and the largest random addition.
    pub(super) probe_wait_us: u32,
    pub(super) probe_rand_us: u32,
    /// Maximum rounds before a probe.
    pub(super) probe_max_rounds: u32,
    /// `ProbeRTTInterval`.
    pub(super) probe_rtt_interval_us: u64,
    /// Does the path mark early (the route's feature `ecn_low`)?
    pub(super) marks_early: bool,
}

impl Tuning {
    /// Version 3's settings; `share` makes the version's own share of a default in percent.
    pub(super) fn version_3(parameters: &mut Parameters, share: fn(u32) -> Share) -> Self {
        let mut take = |name, default| match parameters.take(name, default, 1..=99) {
            percent if percent == default => share(percent),
            percent => Share::percent(percent),
        };
        let loss_thresh = take("loss_thresh_percent", LOSS_THRESH_PERCENT);
        let beta = take("beta_cut_percent", BETA_CUT_PERCENT).rest();
        let headroom = take("headroom_percent", HEADROOM_PERCENT);
        let tuning = Self::with_times(parameters, loss_thresh, beta, headroom, 6);
        Self { marks_early: parameters.switch("ecn_low", false), ..tuning }
    }

    /// Version 2's settings with the module's parameters, in their units.
    pub(super) fn version_2(parameters: &mut Parameters) -> Self {
        let mut take = |name, percent| {
            let default = Share::percent_in_units(percent).numerator;
            Share::unit(parameters.take(name, default, 0..=255))
        };
        let beta = take("beta", BETA_CUT_PERCENT).rest();
        let loss_thresh = take("loss_thresh", LOSS_THRESH_PERCENT);
        let headroom = take("inflight_headroom", HEADROOM_PERCENT);
        Self::with_times(parameters, loss_thresh, beta, headroom, 8)
    }

    fn with_times(
        parameters: &mut Parameters,
        loss_thresh: Share,
        beta: Share,
        headroom: Share,
        full_loss_count: u32,
    ) -> Self {
        Self {
            loss_thresh,
            beta,
            headroom,
            probe_max_rounds: parameters.take("bw_probe_max_rounds", 63, 0..=255),
            probe_wait_us: parameters.take("bw_probe_base_us", 2_000_000, 0..=MAX_PROBE_US),
            probe_rand_us: parameters.take("bw_probe_rand_us", 1_000_000, 0..=MAX_PROBE_US),
            probe_rtt_interval_us: parameters.take("probe_rtt_win_ms", 5_000_u64, 1..=10_000) * 1_000,
            full_loss_count: parameters.take("full_loss_cnt", full_loss_count, 0..=15),
            marks_early: false,
        }
    }
}

const LOSS_THRESH_PERCENT: u32 = 2;
const BETA_CUT_PERCENT: u32 = 30;
const HEADROOM_PERCENT: u32 = 15;
/// Linux keeps these times in 26 bits.
const MAX_PROBE_US: u32 = 67_108_863;
