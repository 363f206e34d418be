//! Shared by the tests of all controllers: an established connection and short constructors of times.

use super::{CaState, CcState, GSO_MAX_BYTES, INFINITE_SSTHRESH, INITIAL_WINDOW, SenderState};
use crate::rate::Rate;
use crate::time::{Span, Time};

pub(super) mod path;

/// `millis` milliseconds after the start.
pub(super) const fn ms(millis: u64) -> Time {
    Time::from_nanos(millis * 1_000_000)
}

/// A sender that has just been established and is limited by its window.
pub(super) fn tp() -> SenderState {
    SenderState {
        now: Time::ZERO + Span::from_secs(1),
        mss: 1_448,
        prior_cwnd: 0,
        cwnd_limited: true,
        max_packets_out: 0,
        state: CaState::Open,
        ecn: false,
        srtt_us8: 0,
        min_rtt_us: u32::MAX,
        packets_out: 0,
        sacked_out: 0,
        lost_out: 0,
        retrans_out: 0,
        delivered: 1,
        delivered_ce: 0,
        delivered_at: Time::ZERO,
        lost: 0,
        last_sent_at: Time::ZERO,
        snd_nxt: 1,
        snd_una: 1,
        max_pacing_rate: Rate::UNLIMITED,
        gso_max_bytes: GSO_MAX_BYTES,
        next_send_at: Time::ZERO,
    }
}

/// Its window and pacing.
pub(super) fn cc() -> CcState {
    CcState {
        cwnd: INITIAL_WINDOW,
        cwnd_count: 0,
        cwnd_clamp: u32::MAX,
        ssthresh: INFINITE_SSTHRESH,
        pacing_rate: Rate::UNLIMITED,
        paced: false,
        app_limited: 0,
    }
}
