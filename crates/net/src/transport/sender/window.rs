//! The peer's window, and the use of the congestion window (RFC 2861, `tcp_cwnd_validate`).
//!
//! An unused window does not grow, and shrinks after idle time; both are decided here, growth itself in [`crate::cc`].

use super::Sender;
use crate::cc::{CaState, CongestionControl, Event};
use crate::number::low;
use crate::packet::Segment;

/// The peer's window.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Peer {
    /// Bytes from `snd_una` on.
    pub window: u32,
    /// The largest window so far.
    pub largest: u32,
    /// Sequence number of the segment that updated it (`snd_wl1`).
    updated_by: u64,
}

impl Peer {
    /// The handshake's window.
    pub const fn new(window: u32) -> Self {
        Self { window, largest: window, updated_by: 0 }
    }
}

/// Use of the congestion window.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Usage {
    /// End of the round.
    round_ends: u64,
    /// Maximum packets outstanding while the window was not the limit.
    used: u32,
    /// Jiffy of the last use or change (`snd_cwnd_stamp`).
    pub stamp: u64,
}

impl<C: CongestionControl> Sender<C> {
    /// First sequence number outside the peer's window.
    pub(super) const fn window_end(&self) -> u64 {
        self.tp.snd_una + self.peer.window as u64
    }

    /// Takes the window and the cumulative ACK from a segment (`tcp_ack_update_window`). Returns whether it updated the
    /// window.
    pub(super) fn update_window(&mut self, segment: &Segment) -> bool {
        let updates = segment.ack > self.tp.snd_una
            || segment.seq > self.peer.updated_by
            || (segment.seq == self.peer.updated_by && (segment.window > self.peer.window || segment.window == 0));
        if updates {
            self.peer.updated_by = segment.seq;
            if segment.window != self.peer.window {
                self.change_window(segment.window);
            }
        }
        self.counters.bytes_acked += segment.ack - self.tp.snd_una;
        self.tp.snd_una = segment.ack;
        updates
    }

    /// Records the use of the window after something was sent, or could not be (`tcp_cwnd_validate`).
    pub(super) fn validate_window(&mut self, is_limited: bool) {
        let (out, now) = (self.tp.packets_out, self.jiffy);
        let tp = &mut self.tp;
        let stronger = !tp.cwnd_limited && out > tp.max_packets_out;
        if tp.snd_una >= self.usage.round_ends || is_limited || stronger {
            tp.cwnd_limited = is_limited;
            tp.max_packets_out = out;
            self.usage.round_ends = tp.snd_nxt;
        }
        if self.tp.is_cwnd_limited(&self.cc) {
            (self.usage.used, self.usage.stamp) = (0, now);
            return;
        }
        self.usage.used = self.usage.used.max(out);
        if self.slow_start_after_idle && now - self.usage.stamp >= self.rtt.rto() && !self.has_cong_control {
            self.shrink_unused();
        }
        if self.app_source.end() == self.tp.snd_nxt && self.app_source.nospace {
            self.note_sndbuf_limited();
        }
    }

    /// With nothing outstanding and nothing sent for an RTO, restarts the window (`tcp_slow_start_after_idle_check`).
    pub(super) fn restart_after_idle(&mut self) {
        if !self.slow_start_after_idle || self.tp.packets_out > 0 || self.has_cong_control {
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
    fn change_window(&mut self, window: u32) {
        self.peer.window = window;
        if self.app_source.end() > self.tp.snd_nxt {
            self.restart_after_idle();
        }
        if window > self.peer.largest {
            self.peer.largest = window;
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
        self.tp.mss = self.tso.fit_window(self.peer.largest);
    }

    /// Halves the window for every RTO of idle time, down to the initial one (`tcp_cwnd_restart`).
    fn restart_window(&mut self, idle: u64) {
        self.controller.cwnd_event(&self.tp, &mut self.cc, Event::CwndRestart);
        self.cc.ssthresh = self.cc.current_ssthresh(self.tp.state);
        let floor = self.initial_window.min(self.cc.cwnd);
        let halvings = low((idle - 1) / self.rtt.rto());
        self.cc.cwnd = self.cc.cwnd.checked_shr(halvings).unwrap_or(0).max(floor);
        self.usage.stamp = self.jiffy;
        self.usage.used = 0;
    }

    /// The application or the peer kept the window from being full for an RTO: reduces it halfway to what was used
    /// (`tcp_cwnd_application_limited`).
    fn shrink_unused(&mut self) {
        if self.tp.state == CaState::Open && !self.app_source.nospace {
            let used = self.usage.used.max(self.initial_window);
            if used < self.cc.cwnd {
                self.cc.ssthresh = self.cc.current_ssthresh(self.tp.state);
                self.cc.cwnd = used.midpoint(self.cc.cwnd);
            }
            self.usage.used = 0;
        }
        self.usage.stamp = self.jiffy;
    }
}
