//! A sender's initial state.

use super::tso::Tso;
use crate::cc::{CaState, CcState, INFINITE_SSTHRESH, SenderState};
use crate::rate::Rate;
use crate::time::Time;
use crate::transport::Settings;

pub(super) fn initial_state(settings: &Settings, tso: &Tso) -> SenderState {
    SenderState {
        now: Time::ZERO,
        mss: settings.mss,
        prior_cwnd: 0,
        cwnd_limited: false,
        max_packets_out: 0,
        state: CaState::Open,
        ecn: false,
        srtt_us8: 0,
        min_rtt_us: u32::MAX,
        packets_out: 0,
        sacked_out: 0,
        lost_out: 0,
        retrans_out: 0,
        // The handshake's packet counts (`tcp_clean_rtx_queue`, `tcp_rcv_state_process`).
        delivered: 1,
        delivered_ce: 0,
        delivered_at: Time::ZERO,
        lost: 0,
        last_sent_at: Time::ZERO,
        snd_nxt: FIRST_BYTE,
        snd_una: FIRST_BYTE,
        max_pacing_rate: max_pacing_rate(settings),
        gso_max_bytes: tso.largest_bytes(),
        next_send_at: Time::ZERO,
    }
}

/// The window and pacing before the handshake.
pub(super) fn initial_cc(settings: &Settings) -> CcState {
    CcState {
        cwnd: settings.initial_window,
        cwnd_count: 0,
        cwnd_clamp: u32::MAX,
        ssthresh: INFINITE_SSTHRESH,
        pacing_rate: max_pacing_rate(settings),
        paced: settings.max_pacing_rate.is_some() || settings.queue_paces,
        app_limited: 0,
    }
}

fn max_pacing_rate(settings: &Settings) -> Rate {
    settings.max_pacing_rate.unwrap_or(Rate::UNLIMITED)
}

/// The SYN has sequence number 0.
pub(super) const FIRST_BYTE: u64 = 1;
