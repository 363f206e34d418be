//! The application's writes: skb by skb while the send buffer has room, each sent as it is written
//! (`tcp_sendmsg_locked`), and all of them when a pipe's load is complete ([`super::fragments`]). Without room it
//! sleeps until a third of the buffer is free (`sk_stream_write_space`).

use super::Sender;
use super::app_source::AppSource;
use super::host::true_size;
use super::tasks::Task;
use crate::cc::{CongestionControl, INITIAL_WINDOW};

impl<C: CongestionControl> Sender<C> {
    /// The application continues writing, or queues the FIN.
    pub(super) fn begin_writing(&mut self) {
        self.in_process = true;
        if self.app_source.has_more() {
            self.check_app_limited();
            self.app_source.wake(self.tp.snd_una);
            self.write_on();
        }
        if self.app_source.queue_fin() {
            self.note_busy();
        }
        if !self.is_corked() {
            self.tasks.schedule(Task::Push);
        }
    }

    /// Sends what was written, as far as possible; then the application continues, or is woken. Returns whether it
    /// wrote something.
    #[inline]
    pub(super) fn resume_writing(&mut self) -> bool {
        self.check_space();
        if self.app_source.nospace {
            return false;
        }
        if self.app_source.woken {
            self.check_app_limited();
            self.app_source.wake(self.tp.snd_una);
        }
        let wrote = self.write_on();
        self.app_source.queue_fin() || wrote
    }

    /// Grows the send buffer with the window while the window is not full, and wakes an application that waits for room
    /// (`tcp_check_space`). Called after each packet: the next one may split an skb, and so use room.
    pub(super) fn check_space(&mut self) {
        if !self.app_source.nospace {
            return;
        }
        if self.tp.in_flight() < self.cc.cwnd {
            self.grow_sndbuf();
            self.usage.stamp = self.jiffy;
        }
        if self.app_source.has_room(self.memory()) {
            (self.app_source.nospace, self.app_source.woken) = (false, true);
            self.stop_sndbuf_limited();
        }
    }

    /// Grows the send buffer for the window (`tcp_sndbuf_expand`).
    pub(super) fn grow_sndbuf(&mut self) {
        let segments = self.cc.cwnd.max(INITIAL_WINDOW).max(self.recovery.reordering + 1);
        self.app_source.grow(u64::from(segments), u64::from(self.controller.sndbuf_expand()));
    }

    /// Writes skbs until one is pushed at once, or the write ends. Fills the last skb before adding another.
    fn write_on(&mut self) -> bool {
        let before = self.app_source.end();
        self.app_source.corked = false;
        while self.app_source.is_writing() {
            let goal = u64::from(self.tso.goal);
            if !self.app_source.fill(self.tp.snd_nxt, goal) {
                if !self.app_source.add(goal, self.memory()) {
                    break;
                }
                self.restart_after_idle();
            }
            let pushes =
                self.app_source.is_writing() && self.app_source.pushes(self.tp.snd_nxt, goal, self.peer.largest);
            if pushes && self.cwnd_quota() > 0 && !(self.app_source.corked && self.is_corked()) {
                break;
            }
            (self.app_source.push_one, self.app_source.corked) = (false, false);
        }
        let wrote = self.app_source.end() > before;
        if wrote {
            self.note_busy();
        }
        if wrote && !self.app_source.has_more() {
            self.app_source.note_push();
        }
        wrote
    }

    /// A small write waits while packets are in the host's queue (`tcp_should_autocork`).
    fn is_corked(&mut self) -> bool {
        let tail = self.app_source.tail(self.tp.snd_nxt);
        let is_small = tail > 0 && tail < u64::from(self.tso.goal) && !self.app_source.has_fin();
        let corked = is_small && !self.board.is_empty() && self.host.bytes() >= true_size(tail);
        self.host.throttled |= corked;
        corked
    }

    /// Memory of the socket's skbs: outstanding and unsent.
    fn memory(&self) -> u64 {
        AppSource::memory(self.board.packets() + self.app_source.skbs(), self.app_source.end() - self.tp.snd_una)
    }
}
