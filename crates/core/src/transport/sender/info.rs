//! What a socket shows of its sender (`tcp_get_info`), and the times that it was busy or held up.

use super::Sender;
use super::number::narrow;
use crate::cc::Control;
use crate::rate::Rate;
use crate::time::{Span, Time};
use crate::transport::Info;

/// Totals.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counters {
    /// Segments sent.
    pub segs_out: u32,
    /// Segments with payload sent.
    pub data_segs_out: u32,
    /// Payload bytes sent.
    pub bytes_sent: u64,
    /// Sequence numbers acknowledged.
    pub bytes_acked: u64,
    /// Payload bytes retransmitted.
    pub bytes_retrans: u64,
    /// Segments retransmitted.
    pub total_retrans: u32,
    /// Segments that arrived twice.
    pub dsack_dups: u32,
}

/// What time is spent on; a later one displaces an earlier one (`enum tcp_chrono`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Occupation {
    #[default]
    Nothing,
    Busy,
    PeerLimited,
    SndbufLimited,
}

/// Time spent on each, in jiffies.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Chrono {
    current: Occupation,
    since: u64,
    spent: [u64; 4],
}

impl Chrono {
    fn change(&mut self, to: Occupation, now: u64) {
        self.spent[self.current as usize] += now - self.since;
        (self.current, self.since) = (to, now);
    }

    fn start(&mut self, what: Occupation, now: u64) {
        if what > self.current {
            self.change(what, now);
        }
    }

    fn stop(&mut self, what: Occupation, now: u64) {
        if what == self.current {
            self.change(Occupation::Busy, now);
        }
    }

    fn spent(&self, what: Occupation, now: Time) -> Span {
        let running = if what == self.current { now.jiffies() - self.since } else { 0 };
        Span::from_jiffies(self.spent[what as usize] + running)
    }
}

impl<C: Control> Sender<C> {
    /// Fills in what `tcp_info` shows of the sending side. `segs_out` counts data segments and probes, not ACKs;
    /// `notsent_bytes` is what the application has got into the send buffer and what did not leave yet.
    pub(crate) fn fill(&self, now: Time, info: &mut Info) {
        let vitals = &self.vitals;
        info.ca_state = vitals.state;
        info.cwnd = vitals.cwnd;
        info.ssthresh = vitals.ssthresh;
        (info.rtt, info.rto) = self.round_trip();
        info.rttvar = Span::from_micros(self.rtt.deviation_us());
        info.min_rtt = (vitals.min_rtt_us != u32::MAX).then(|| Span::from_micros(u64::from(vitals.min_rtt_us)));
        info.unacked = vitals.packets_out;
        info.sacked = vitals.sacked_out;
        info.lost = vitals.lost_out;
        info.retrans_out = vitals.retrans_out;
        info.mss = vitals.mss;
        info.pacing_rate = vitals.pacing_rate.is_limited().then_some(vitals.pacing_rate);
        info.delivery_rate = self.delivery_rate();
        info.app_limited = self.rate.shown_app_limited;
        info.delivered = narrow(vitals.delivered);
        info.delivered_ce = narrow(vitals.delivered_ce);
        info.reordering = self.recovery.reordering;
        info.reord_seen = self.recovery.reord_seen;
        info.snd_wnd = self.peer.window;
        info.notsent_bytes = narrow(self.supply.end() - vitals.snd_nxt);
        info.backoff = self.rtt.backoff;
        info.ecn = self.ecn.negotiated;
        info.insight = self.controller.insight(vitals);
        self.fill_totals(now, info);
    }

    /// Smoothed round-trip time and retransmission timeout, as [`Sender::fill`] shows them.
    pub(crate) fn round_trip(&self) -> (Span, Span) {
        (Span::from_micros(u64::from(self.vitals.srtt_us8 >> 3)), Span::from_jiffies(self.rtt.rto))
    }

    fn fill_totals(&self, now: Time, info: &mut Info) {
        let counters = &self.counters;
        info.total_retrans = counters.total_retrans;
        info.bytes_sent = counters.bytes_sent;
        // The SYN's sequence number counts (`tcp_snd_una_update`).
        info.bytes_acked = counters.bytes_acked + 1;
        info.bytes_retrans = counters.bytes_retrans;
        info.segs_out = counters.segs_out;
        info.data_segs_out = counters.data_segs_out;
        info.dsack_dups = counters.dsack_dups;
        let spent = |what| self.chrono.spent(what, now);
        info.rwnd_limited = spent(Occupation::PeerLimited);
        info.sndbuf_limited = spent(Occupation::SndbufLimited);
        info.busy = spent(Occupation::Busy) + info.rwnd_limited + info.sndbuf_limited;
    }

    fn delivery_rate(&self) -> Rate {
        let rate = &self.rate;
        if rate.shown_packets == 0 || rate.shown_interval_us == 0 {
            return Rate::ZERO;
        }
        let bytes = u64::from(rate.shown_packets) * u64::from(self.vitals.mss);
        Rate::from_bytes(bytes * 1_000_000 / rate.shown_interval_us)
    }

    /// Does the peer's window hold data back?
    pub(super) fn note_peer_limited(&mut self, is_limited: bool) {
        let now = self.jiffy;
        if is_limited {
            self.chrono.start(Occupation::PeerLimited, now);
        } else {
            self.stop_chrono(Occupation::PeerLimited, now);
        }
    }

    /// The send buffer is too small for the window.
    pub(super) fn note_sndbuf_limited(&mut self) {
        self.chrono.start(Occupation::SndbufLimited, self.jiffy);
    }

    /// Everything outstanding is acknowledged.
    pub(super) fn stop_chrono_when_idle(&mut self) {
        self.stop_chrono(Occupation::Busy, self.jiffy);
    }

    fn stop_chrono(&mut self, what: Occupation, now: u64) {
        if self.board.is_empty() && self.supply.end() == self.vitals.snd_nxt {
            self.chrono.change(Occupation::Nothing, now);
        } else {
            self.chrono.stop(what, now);
        }
    }

    /// There is something to send, or to have acknowledged.
    pub(super) fn note_busy(&mut self) {
        self.chrono.start(Occupation::Busy, self.jiffy);
    }

    /// The application found room.
    pub(super) fn stop_sndbuf_limited(&mut self) {
        self.stop_chrono(Occupation::SndbufLimited, self.jiffy);
    }
}
