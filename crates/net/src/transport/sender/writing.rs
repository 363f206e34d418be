//! The application's writes: skb by skb while the send buffer has room, each sent as it is written
//! (`tcp_sendmsg_locked`), and all of them when a pipe's load is complete ([`super::fragments`]). Without room it
//! sleeps until a third of the buffer is free (`sk_stream_write_space`).

use super::Sender;
use super::app_source::AppSource;
use super::host::true_size;
use super::tasks::Task;
use crate::cc::{CongestionControl, INITIAL_WINDOW};
use crate::time::Time;

impl<C: CongestionControl> Sender<C> {
    /// Was the application woken to continue writing? Then call [`Sender::continue_writing`] after the softirqs of this
    /// instant.
    pub(crate) const fn wants_to_write(&self) -> bool {
        self.app_source.is_woken()
    }

    /// The application continues writing.
    pub(crate) fn continue_writing(&mut self, now: Time) {
        self.enter(now);
        self.in_process = true;
        if self.resume_writing() {
            self.tasks.schedule(Task::Push);
        }
    }

    /// Has the application locked the socket? Then call [`Sender::continue_call`] when all that was polled has left.
    pub(crate) const fn is_in_call(&self) -> bool {
        self.app_source.is_in_call()
    }

    /// The application has unlocked the socket after a pipe's load (`release_sock`), and packets that waited for it are
    /// processed. It tries again to pass on the rest of the load, and then the next one (`splice_to_socket`).
    pub(crate) fn continue_call(&mut self, now: Time) {
        self.enter(now);
        self.in_process = true;
        if !self.app_source.has_more() {
            return self.app_source.end_call();
        }
        self.check_app_limited();
        self.app_source.next_load();
        if self.write_on() {
            self.tasks.schedule(Task::Push);
        } else {
            self.app_source.end_call();
        }
    }

    /// Is the packet that was just polled delivered before anything else is polled?
    pub(crate) const fn departs_at_once(&self) -> bool {
        self.in_process
    }

    /// The application continues writing; if it has nothing to write it closes. What it has written is sent before the
    /// FIN is queued (the agent calls `send`, then `shutdown`), so the last segment rarely has the FIN.
    pub(super) fn begin_writing(&mut self) {
        self.in_process = true;
        let mut is_unsent = self.tasks.has(Task::Push);
        if self.app_source.has_more() {
            self.start_call();
            is_unsent |= self.write_on() && !self.is_corked();
        }
        if !is_unsent && self.app_source.queue_fin() {
            self.note_busy();
        }
        if !self.is_corked() {
            self.tasks.schedule(Task::Push);
        }
    }

    /// Sends what was written, as far as possible; then the application continues, or is woken, and after its last
    /// write has been sent as far as possible it closes. Returns whether it wrote or closed.
    #[inline]
    pub(super) fn resume_writing(&mut self) -> bool {
        if self.app_source.take_push() {
            return true;
        }
        self.check_space();
        if self.app_source.needs_space() {
            return false;
        }
        let is_unlocking = self.app_source.is_woken() || self.app_source.is_load_written();
        if self.app_source.is_in_call() && self.app_source.has_more() && is_unlocking {
            return false; // [`Sender::continue_call`] follows.
        }
        if self.app_source.is_woken() {
            self.start_call();
        }
        self.write_on() || self.app_source.queue_fin()
    }

    fn start_call(&mut self) {
        self.check_app_limited();
        self.app_source.wake(self.tp.snd_una);
    }

    /// Grows the send buffer with the window while the window is not full, and wakes an application that waits for room
    /// (`tcp_check_space`). Called after each packet: the next one may split an skb, and so use room.
    pub(super) fn check_space(&mut self) {
        if !self.app_source.needs_space() {
            return;
        }
        if self.tp.in_flight() < self.cc.cwnd {
            self.grow_sndbuf();
            self.usage.touch(self.jiffy);
        }
        if self.app_source.has_room(self.memory()) {
            self.app_source.free_space();
            self.stop_sndbuf_limited();
        }
    }

    /// Grows the send buffer for the window (`tcp_sndbuf_expand`).
    pub(super) fn grow_sndbuf(&mut self) {
        let segments = self.cc.cwnd.max(INITIAL_WINDOW).max(self.reordering.packets() + 1);
        self.app_source.grow(u64::from(segments), u64::from(self.controller.sndbuf_expand()));
    }

    /// Writes skbs until one is pushed at once, or the write ends. Fills the last skb before adding another.
    fn write_on(&mut self) -> bool {
        let before = self.app_source.end();
        self.app_source.uncork();
        while self.app_source.is_writing() {
            let goal = u64::from(self.tso.goal());
            if !self.app_source.fill(self.tp.snd_nxt, goal) {
                if !self.app_source.add(goal, self.memory()) {
                    break;
                }
                self.restart_after_idle();
            }
            let pushes =
                self.app_source.is_writing() && self.app_source.pushes(self.tp.snd_nxt, goal, self.peer.largest());
            if pushes && self.cwnd_quota() > 0 && !(self.app_source.is_corked() && self.is_corked()) {
                break;
            }
            self.app_source.begin_push();
            if self.app_source.is_load_written() {
                break;
            }
        }
        let wrote = self.app_source.end() > before;
        if wrote {
            self.note_busy();
        }
        if wrote && !self.app_source.has_more() {
            self.app_source.note_push();
        }
        self.app_source.take_push() || wrote
    }

    /// A small write waits while packets are in the host's queue (`tcp_should_autocork`).
    fn is_corked(&mut self) -> bool {
        let tail = self.app_source.tail(self.tp.snd_nxt);
        let is_small = tail > 0 && tail < u64::from(self.tso.goal()) && !self.app_source.has_fin();
        let corked = is_small && !self.board.is_empty() && self.host.bytes() >= true_size(tail);
        if corked {
            self.host.throttle();
        }
        corked
    }

    /// Memory of the socket's skbs: outstanding and unsent.
    fn memory(&self) -> u64 {
        AppSource::memory(self.board.packets() + self.app_source.skbs(), self.app_source.end() - self.tp.snd_una)
    }
}
