//! Shared by the tests of all controllers: an established connection and short constructors of times.

use super::{CaState, GSO_MAX_BYTES, INFINITE_SSTHRESH, INITIAL_WINDOW, SenderState};
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
        cwnd: INITIAL_WINDOW,
        cwnd_count: 0,
        cwnd_clamp: u32::MAX,
        ssthresh: INFINITE_SSTHRESH,
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
        app_limited: 0,
        last_sent_at: Time::ZERO,
        snd_nxt: 1,
        snd_una: 1,
        pacing_rate: Rate::UNLIMITED,
        max_pacing_rate: Rate::UNLIMITED,
        paced: false,
        gso_max_bytes: GSO_MAX_BYTES,
        next_send_at: Time::ZERO,
    }
}
