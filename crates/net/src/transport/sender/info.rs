//! `tcp_info` of the sender (`tcp_get_info`), and what it says about limits.

use super::Sender;
use super::chrono::ChronoKind;
use crate::cc::CongestionControl;
use crate::number::narrow;
use crate::time::{Span, Time};
use crate::transport::Info;

impl<C: CongestionControl> Sender<C> {
    /// Fills in the sender's part of `tcp_info`. `segs_out` counts data segments and probes, not ACKs; `notsent_bytes`
    /// is data in the send buffer that was not sent yet.
    pub(crate) fn fill(&self, now: Time, info: &mut Info) {
        let tp = &self.tp;
        info.ca_state = tp.state;
        info.cwnd = self.cc.cwnd;
        info.ssthresh = self.cc.ssthresh;
        (info.rtt, info.rto) = self.round_trip();
        info.rttvar = Span::from_micros(self.rtt.deviation_us());
        info.min_rtt = (tp.min_rtt_us != u32::MAX).then(|| Span::from_micros(u64::from(tp.min_rtt_us)));
        info.unacked = tp.packets_out;
        info.sacked = tp.sacked_out;
        info.lost = tp.lost_out;
        info.retrans_out = tp.retrans_out;
        info.mss = tp.mss;
        info.pacing_rate = self.cc.pacing_rate.is_limited().then_some(self.cc.pacing_rate);
        info.delivery_rate = self.rate.shown(tp.mss);
        info.app_limited = self.rate.is_shown_app_limited();
        info.delivered = narrow(tp.delivered);
        info.delivered_ce = narrow(tp.delivered_ce);
        info.reordering = self.reordering.packets();
        info.reord_seen = self.reordering.seen();
        info.snd_wnd = self.peer.window();
        info.notsent_bytes = narrow(self.app_source.end() - tp.snd_nxt);
        info.backoff = self.rtt.backoff();
        info.ecn = self.ecn.is_negotiated();
        info.cc_info = self.controller.cc_info(tp, &self.cc);
        self.fill_totals(now, info);
    }

    /// Smoothed round-trip time and retransmission timeout, as in [`Sender::fill`].
    pub(crate) fn round_trip(&self) -> (Span, Span) {
        (Span::from_micros(u64::from(self.tp.srtt_us8 >> 3)), Span::from_jiffies(self.rtt.rto()))
    }

    fn fill_totals(&self, now: Time, info: &mut Info) {
        self.counters.fill(info);
        let spent = |what| self.chrono.spent(what, now);
        info.rwnd_limited = spent(ChronoKind::PeerLimited);
        info.sndbuf_limited = spent(ChronoKind::SndbufLimited);
        info.busy = spent(ChronoKind::Busy) + info.rwnd_limited + info.sndbuf_limited;
    }

    /// Does the peer's window limit the sender?
    pub(super) fn note_peer_limited(&mut self, is_limited: bool) {
        let now = self.jiffy;
        if is_limited {
            self.chrono.start(ChronoKind::PeerLimited, now);
        } else {
            self.stop_chrono(ChronoKind::PeerLimited, now);
        }
    }

    /// The send buffer limits the window.
    pub(super) fn note_sndbuf_limited(&mut self) {
        self.chrono.start(ChronoKind::SndbufLimited, self.jiffy);
    }

    /// Everything outstanding is acknowledged.
    pub(super) fn stop_chrono_when_idle(&mut self) {
        self.stop_chrono(ChronoKind::Busy, self.jiffy);
    }

    fn stop_chrono(&mut self, what: ChronoKind, now: u64) {
        if self.board.is_empty() && self.app_source.end() == self.tp.snd_nxt {
            self.chrono.change(ChronoKind::Nothing, now);
        } else {
            self.chrono.stop(what, now);
        }
    }

    /// There is something to send or outstanding.
    pub(super) fn note_busy(&mut self) {
        self.chrono.start(ChronoKind::Busy, self.jiffy);
    }

    /// The application found buffer space.
    pub(super) fn stop_sndbuf_limited(&mut self) {
        self.stop_chrono(ChronoKind::SndbufLimited, self.jiffy);
    }
}
