//! The two windows: what the peer takes, and how far the congestion window is used (RFC 2861, `tcp_cwnd_validate`).
//!
//! A window that isn't used doesn't grow, and shrinks after an idle time; both are decided here, growth itself in
//! [`crate::cc`].

use super::Sender;
use super::number::low;
use crate::cc::{CaState, Control, Event};
use crate::packet::Segment;

/// The peer's window.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Peer {
    /// Bytes from `snd_una` on.
    pub window: u32,
    /// The largest so far.
    pub largest: u32,
    /// Sequence number of the segment that told it (`snd_wl1`).
    told_by: u64,
}

impl Peer {
    /// As the handshake told it.
    pub const fn new(window: u32) -> Self {
        Self { window, largest: window, told_by: 0 }
    }
}

/// How far the congestion window is used.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Usage {
    /// The round's end.
    round_ends: u64,
    /// Most packets outstanding while it was not limiting.
    used: u32,
    /// Jiffy of the last use or change (`snd_cwnd_stamp`).
    pub stamp: u64,
}

impl<C: Control> Sender<C> {
    /// First sequence number that the peer does not take yet.
    pub(super) const fn window_end(&self) -> u64 {
        self.vitals.snd_una + self.peer.window as u64
    }

    /// Takes the window and the cumulative ACK from a segment (`tcp_ack_update_window`). Says whether it told of a window.
    pub(super) fn update_window(&mut self, segment: &Segment) -> bool {
        let updates = segment.ack > self.vitals.snd_una
            || segment.seq > self.peer.told_by
            || (segment.seq == self.peer.told_by && (segment.window > self.peer.window || segment.window == 0));
        if updates {
            self.peer.told_by = segment.seq;
            if segment.window != self.peer.window {
                self.change_window(segment.window);
            }
        }
        self.counters.bytes_acked += segment.ack - self.vitals.snd_una;
        self.vitals.snd_una = segment.ack;
        updates
    }

    /// Takes note of how far the window is used after something was sent, or could not be (`tcp_cwnd_validate`).
    pub(super) fn validate_window(&mut self, is_limited: bool) {
        let (out, now) = (self.vitals.packets_out, self.jiffy);
        let vitals = &mut self.vitals;
        let stronger = !vitals.cwnd_limited && out > vitals.max_packets_out;
        if vitals.snd_una >= self.usage.round_ends || is_limited || stronger {
            vitals.cwnd_limited = is_limited;
            vitals.max_packets_out = out;
            self.usage.round_ends = vitals.snd_nxt;
        }
        if self.vitals.is_cwnd_limited() {
            (self.usage.used, self.usage.stamp) = (0, now);
            return;
        }
        self.usage.used = self.usage.used.max(out);
        if self.slow_start_after_idle && now - self.usage.stamp >= self.rtt.rto && !self.controls {
            self.shrink_unused();
        }
        if self.supply.end() == self.vitals.snd_nxt && self.supply.starved {
            self.note_sndbuf_limited();
        }
    }

    /// With nothing outstanding and nothing sent for an RTO, the window starts over (`tcp_slow_start_after_idle_check`).
    pub(super) fn restart_after_idle(&mut self) {
        if !self.slow_start_after_idle || self.vitals.packets_out > 0 || self.controls {
            return;
        }
        let idle = self.jiffy - self.vitals.last_sent_at.jiffies();
        if idle > self.rtt.rto {
            self.restart_window(idle);
        }
    }

    /// How many segments may be sent now: half a window at most, so that two packets are in flight (`tcp_cwnd_test`).
    pub(super) fn cwnd_quota(&self) -> u32 {
        let (cwnd, in_flight) = (self.vitals.cwnd, self.vitals.in_flight());
        cwnd.saturating_sub(in_flight).min((cwnd >> 1).max(1))
    }

    /// If the application left a gap, samples tell of its pace until the gap is acknowledged
    /// (`tcp_rate_check_app_limited`).
    pub(super) fn check_app_limited(&mut self) {
        let vitals = &mut self.vitals;
        let in_flight = vitals.in_flight();
        if self.supply.end() - vitals.snd_nxt < u64::from(vitals.mss)
            && self.host.is_empty()
            && in_flight < vitals.cwnd
            && vitals.lost_out <= vitals.retrans_out
        {
            vitals.app_limited = (vitals.delivered + u64::from(in_flight)).max(1);
        }
    }

    #[inline(never)]
    fn change_window(&mut self, window: u32) {
        self.peer.window = window;
        if self.supply.end() > self.vitals.snd_nxt {
            self.restart_after_idle();
        }
        if window > self.peer.largest {
            self.peer.largest = window;
            self.tso.fit_window(window);
        }
    }

    /// Halves the window for every RTO of idleness, down to the initial one (`tcp_cwnd_restart`).
    fn restart_window(&mut self, idle: u64) {
        self.controller.on_event(&mut self.vitals, Event::CwndRestart);
        self.vitals.ssthresh = self.vitals.current_ssthresh();
        let floor = self.initial_window.min(self.vitals.cwnd);
        let halvings = low((idle - 1) / self.rtt.rto);
        self.vitals.cwnd = self.vitals.cwnd.checked_shr(halvings).unwrap_or(0).max(floor);
        self.usage.stamp = self.jiffy;
        self.usage.used = 0;
    }

    /// The window was not full for an RTO because of the application or the peer: halfway down to what was used
    /// (`tcp_cwnd_application_limited`).
    fn shrink_unused(&mut self) {
        if self.vitals.state == CaState::Open && !self.supply.starved {
            let used = self.usage.used.max(self.initial_window);
            if used < self.vitals.cwnd {
                self.vitals.ssthresh = self.vitals.current_ssthresh();
                self.vitals.cwnd = used.midpoint(self.vitals.cwnd);
            }
            self.usage.used = 0;
        }
        self.usage.stamp = self.jiffy;
    }
}
