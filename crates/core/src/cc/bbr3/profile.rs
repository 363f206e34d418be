//! The constants of each version: the draft's, and those of Google's branches v3 (2025) and v2alpha.
//!
//! Each version is a value of [`Profile`]; the rest of this folder only reads its fields.

use crate::cc::Parameters;
use crate::cc::model::Gains;
use crate::cc::model::bandwidth::UNIT;

/// A fraction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Share {
    pub(super) numerator: u32,
    pub(super) denominator: u32,
}

impl Share {
    const fn percent(numerator: u32) -> Self {
        Self { numerator, denominator: 100 }
    }

    /// In 1/256, as in Linux.
    const fn unit(numerator: u32) -> Self {
        Self { numerator, denominator: UNIT }
    }

    /// This share of a number, rounded down.
    pub(super) fn of(self, number: u32) -> u32 {
        narrow(u64::from(number) * u64::from(self.numerator) / u64::from(self.denominator))
    }

    /// One minus this share.
    const fn rest(self) -> Self {
        Self { numerator: self.denominator - self.numerator, denominator: self.denominator }
    }
}

/// How a bandwidth plateau is detected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Plateau {
    /// From the maximum, once per round, in Startup only (v2alpha).
    Maximum,
    /// From the delivery rate of the ACK that starts a round (the draft).
    RoundStart,
    /// Any ACK's delivery rate may show growth; rounds are counted (v3).
    AnySample,
}

/// What ends a probe that met neither loss nor a known limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UpEnd {
    /// At least `min_rtt`, and this much more than the BDP in flight.
    Queue(u32),
    /// A bandwidth plateau.
    Plateau,
}

/// Which details to follow where the draft and Linux's code differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rules {
    Draft,
    Linux,
}

/// The reaction to ECN marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Marks {
    /// None.
    Ignored,
    /// A marked packet counts as a lost one (the draft requires a reaction but leaves it open).
    AsLoss,
    /// `ecn_alpha` as in DCTCP, on paths with early marking (v3 with the route's feature `ecn_low`).
    Low,
}

/// One version.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "independent flags")]
pub(super) struct Profile {
    pub(super) name: &'static str,
    pub(super) rules: Rules,
    pub(super) startup: Gains,
    pub(super) drain: Gains,
    pub(super) probe_down: Gains,
    /// Of `ProbeBW_CRUISE` and `ProbeBW_REFILL`.
    pub(super) cruise: Gains,
    pub(super) probe_up: Gains,
    /// Its window is a bound, not a target.
    pub(super) probe_rtt: Gains,
    /// Drain ends after this many rounds, whatever is in flight.
    pub(super) drain_rounds: Option<u32>,
    pub(super) plateau: Plateau,
    pub(super) up_end: UpEnd,
    /// Maximum tolerated share of a flight lost (`LossThresh`).
    pub(super) loss_thresh: Share,
    /// Lossy events in a round that end Startup.
    pub(super) full_loss_count: u32,
    /// When loss ends Startup, does the last round's delivered amount count as safe?
    pub(super) latest_is_safe: bool,
    /// Share of the short-term bounds that remains after a lossy round (`Beta`).
    pub(super) beta: Share,
    /// Share of the long-term bound left free while cruising (`Headroom`).
    pub(super) headroom: Share,
    /// Are packets ignored that were acknowledged while the long-term bound was not the limit?
    pub(super) drops_credit: bool,
    /// Wait before a probe: the minimum, and the largest random addition.
    pub(super) probe_wait_us: u32,
    pub(super) probe_rand_us: u32,
    /// Maximum rounds before a probe, and the range of the random reduction.
    pub(super) probe_max_rounds: u32,
    pub(super) probe_rand_rounds: u32,
    /// `ProbeRTTInterval`, `ProbeRTTDuration`, `MinRTTFilterLen`.
    pub(super) probe_rtt_interval_us: u64,
    pub(super) probe_rtt_us: u64,
    pub(super) min_rtt_us: u64,
    /// The window in `ProbeRTT` as a share of the bandwidth-delay product (`ProbeRTTCwndGain`).
    pub(super) probe_rtt_gain: u32,
    /// Is state saved before the first loss of an episode, and the probe resumed after an undo?
    pub(super) resumes: bool,
    /// Does a loss that only a loss probe showed count?
    pub(super) counts_probed_losses: bool,
    pub(super) marks: Marks,
    /// Below this pacing rate in bytes per second, super-packets have one segment.
    pub(super) slow_bytes: u64,
}

/// Gains common to all versions.
const fn gains(pacing: u32, window: u32) -> Gains {
    Gains { pacing, window }
}

impl Profile {
    /// draft-ietf-ccwg-bbr.
    pub(super) const DRAFT: Self = Self {
        name: "bbr3",
        rules: Rules::Draft,
        startup: gains(UNIT * 277 / 100, 2 * UNIT),
        drain: gains(UNIT / 2, 2 * UNIT),
        probe_down: gains(UNIT * 90 / 100, 2 * UNIT),
        cruise: gains(UNIT, 2 * UNIT),
        probe_up: gains(UNIT * 5 / 4, UNIT * 9 / 4),
        probe_rtt: gains(UNIT, UNIT / 2),
        drain_rounds: Some(3),
        plateau: Plateau::RoundStart,
        up_end: UpEnd::Plateau,
        loss_thresh: Share::percent(2),
        full_loss_count: 6,
        latest_is_safe: true,
        beta: Share::percent(70),
        headroom: Share::percent(15),
        drops_credit: false,
        probe_wait_us: 2_000_000,
        probe_rand_us: 1_000_000,
        probe_max_rounds: 63,
        probe_rand_rounds: 2,
        probe_rtt_interval_us: 5_000_000,
        probe_rtt_us: 200_000,
        min_rtt_us: 10_000_000,
        probe_rtt_gain: UNIT / 2,
        resumes: true,
        counts_probed_losses: true,
        marks: Marks::AsLoss,
        slow_bytes: 0,
    };

    /// google/bbr, branch v3, `tcp_bbr.c` of March 2025.
    pub(super) const GOOGLE: Self = Self {
        rules: Rules::Linux,
        startup: gains(UNIT * 277 / 100 + 1, 2 * UNIT),
        drain: gains(UNIT * 1_000 / 2_885, 2 * UNIT),
        probe_down: gains(UNIT * 91 / 100, 2 * UNIT),
        probe_rtt: gains(UNIT, UNIT),
        drain_rounds: None,
        plateau: Plateau::AnySample,
        loss_thresh: Share::unit(UNIT * 2 / 100),
        beta: Share::unit(UNIT * 30 / 100).rest(),
        headroom: Share::unit(UNIT * 15 / 100),
        resumes: false,
        marks: Marks::Ignored,
        ..Self::DRAFT
    };

    /// google/bbr, branch v2alpha, `tcp_bbr2.c`.
    pub(super) const VERSION_2: Self = Self {
        name: "bbr2",
        startup: gains(HIGH_GAIN, HIGH_GAIN),
        drain: gains(UNIT * 1_000 / 2_885, HIGH_GAIN),
        probe_down: gains(UNIT * 3 / 4, 2 * UNIT),
        probe_up: gains(UNIT * 5 / 4, 2 * UNIT),
        plateau: Plateau::Maximum,
        up_end: UpEnd::Queue(UNIT * 5 / 4),
        full_loss_count: 8,
        latest_is_safe: false,
        counts_probed_losses: false,
        drops_credit: true,
        slow_bytes: 1_200_000 / 8,
        ..Self::GOOGLE
    };

    /// `bbr2` with the module's parameters, in their units.
    pub(super) fn version_2(parameters: &mut Parameters) -> Self {
        let mut profile = Self::VERSION_2;
        let mut share = |name, default: Share| Share::unit(parameters.take(name, default.numerator, 0..=255));
        profile.beta = share("beta", profile.beta.rest()).rest();
        profile.loss_thresh = share("loss_thresh", profile.loss_thresh);
        profile.headroom = share("inflight_headroom", profile.headroom);
        profile.take_times(parameters);
        profile.full_loss_count = parameters.take("full_loss_cnt", profile.full_loss_count, 0..=15);
        if let UpEnd::Queue(gain) = &mut profile.up_end {
            *gain = parameters.take("bw_probe_pif_gain", *gain, 0..=511);
        }
        profile
    }

    /// `bbr3` in the selected variant, with the draft's parameters in percent.
    pub(super) fn version_3(parameters: &mut Parameters) -> Self {
        let is_draft = parameters.choose("variant", &["draft", "google"]) == "draft";
        let mut profile = if is_draft { Self::DRAFT } else { Self::GOOGLE };
        let mut share = |name, field: &mut Share| {
            let default = field.numerator * 100 / field.denominator;
            let percent = parameters.take(name, default, 1..=99);
            if percent != default {
                *field = Share::percent(percent);
            }
        };
        let mut kept = profile.beta.rest();
        share("loss_thresh_percent", &mut profile.loss_thresh);
        share("beta_cut_percent", &mut kept);
        share("headroom_percent", &mut profile.headroom);
        profile.beta = kept.rest();
        profile.take_times(parameters);
        profile.full_loss_count = parameters.take("full_loss_cnt", profile.full_loss_count, 0..=15);
        if parameters.switch("ecn_low", false) {
            profile.marks = Marks::Low;
        }
        profile
    }

    fn take_times(&mut self, parameters: &mut Parameters) {
        self.probe_max_rounds = parameters.take("bw_probe_max_rounds", self.probe_max_rounds, 0..=255);
        self.probe_wait_us = parameters.take("bw_probe_base_us", self.probe_wait_us, 0..=67_108_863);
        self.probe_rand_us = parameters.take("bw_probe_rand_us", self.probe_rand_us, 0..=67_108_863);
        let interval_ms = parameters.take("probe_rtt_win_ms", self.probe_rtt_interval_us / 1_000, 1..=10_000);
        self.probe_rtt_interval_us = interval_ms * 1_000;
    }
}

/// Saturates at 32 bits.
pub(super) fn narrow(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// 2/ln 2, rounded up (`bbr_high_gain` of versions 1 and 2).
const HIGH_GAIN: u32 = UNIT * 2_885 / 1_000 + 1;
