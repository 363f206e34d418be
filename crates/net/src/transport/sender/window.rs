//! The two windows: what the peer's allows ([`super::peer`]), and whether the congestion window is used
//! ([`super::usage`]). Growth itself is in [`crate::cc`].

use super::Sender;
use super::peer::Update;
use crate::cc::{CaState, CongestionControl, Event};
use crate::packet::Segment;

impl<C: CongestionControl> Sender<C> {
    /// First sequence number outside the peer's window.
    pub(super) const fn window_end(&self) -> u64 {
        self.tp.snd_una + self.peer.window() as u64
    }

    /// Takes the window and the cumulative ACK from a segment (`tcp_ack_update_window`). Returns whether it updated the
    /// window.
    pub(super) fn update_window(&mut self, segment: &Segment) -> bool {
        let update = self.peer.take(segment, self.tp.snd_una);
        if matches!(update, Update::Changed | Update::Largest) {
            self.on_window_changed(update == Update::Largest);
        }
        self.counters.acked(segment.ack - self.tp.snd_una);
        self.tp.snd_una = segment.ack;
        update != Update::No
    }

    /// Records the use of the window after something was sent, or could not be (`tcp_cwnd_validate`).
    pub(super) fn validate_window(&mut self, is_limited: bool) {
        let (out, now) = (self.tp.packets_out, self.jiffy);
        let tp = &mut self.tp;
        let is_stronger = is_limited || (!tp.cwnd_limited && out > tp.max_packets_out);
        if self.usage.ends_round(tp.snd_una, tp.snd_nxt, is_stronger) {
            tp.cwnd_limited = is_limited;
            tp.max_packets_out = out;
        }
        if self.tp.is_cwnd_limited(&self.cc) {
            self.usage.used_fully(now);
            return;
        }
        if self.usage.used_partly(out, now, self.rtt.rto()) && !self.has_cong_control {
            self.shrink_unused();
        }
        if self.app_source.end() == self.tp.snd_nxt && self.app_source.needs_space() {
            self.note_sndbuf_limited();
        }
    }

    /// With nothing outstanding and nothing sent for an RTO, restarts the window (`tcp_slow_start_after_idle_check`).
    pub(super) fn restart_after_idle(&mut self) {
        if !self.usage.shrinks() || self.tp.packets_out > 0 || self.has_cong_control {
            return;
        }
        let idle = self.jiffy - self.tp.last_sent_at.jiffies();
        if idle > self.rtt.rto() {
            self.restart_window(idle);
        }
    }

    /// Segments that may be sent now: at most half a window, so that two packets are in flight (`tcp_cwnd_test`).
    pub(super) fn cwnd_quota(&self) -> u32 {
        let (cwnd, in_flight) = (self.cc.cwnd, self.tp.in_flight());
        cwnd.saturating_sub(in_flight).min((cwnd >> 1).max(1))
    }

    /// If the application left a gap, samples are application-limited until the gap is acknowledged
    /// (`tcp_rate_check_app_limited`).
    pub(super) fn check_app_limited(&mut self) {
        let tp = &mut self.tp;
        let in_flight = tp.in_flight();
        if self.app_source.end() - tp.snd_nxt < u64::from(tp.mss)
            && self.host.is_empty()
            && in_flight < self.cc.cwnd
            && tp.lost_out <= tp.retrans_out
        {
            self.cc.app_limited = (tp.delivered + u64::from(in_flight)).max(1);
        }
    }

    #[inline(never)]
    fn on_window_changed(&mut self, is_largest: bool) {
        if self.app_source.end() > self.tp.snd_nxt {
            self.restart_after_idle();
        }
        if is_largest {
            self.fit_mss();
        }
    }

    /// Payload of a full segment now.
    pub(crate) fn mss(&self) -> u16 {
        u16::try_from(self.tp.mss).unwrap_or(u16::MAX)
    }

    /// Has the application closed, after it wrote everything?
    pub(crate) const fn has_fin(&self) -> bool {
        self.app_source.has_fin()
    }

    /// Adapts the MSS to the largest window (`tcp_sync_mss`).
    pub(super) fn fit_mss(&mut self) {
        self.tp.mss = self.tso.fit_window(self.peer.largest());
    }

    fn restart_window(&mut self, idle: u64) {
        self.controller.cwnd_event(&self.tp, &mut self.cc, Event::CwndRestart);
        self.cc.ssthresh = self.cc.current_ssthresh(self.tp.state);
        self.cc.cwnd = self.usage.restarted(&self.cc, idle, self.rtt.rto());
        self.usage.touch(self.jiffy);
    }

    /// The application or the peer kept the window from being full for an RTO.
    fn shrink_unused(&mut self) {
        if self.tp.state == CaState::Open
            && !self.app_source.needs_space()
            && let Some(cwnd) = self.usage.shrunk(self.cc.cwnd)
        {
            self.cc.ssthresh = self.cc.current_ssthresh(self.tp.state);
            self.cc.cwnd = cwnd;
        }
        self.usage.touch(self.jiffy);
    }
}
