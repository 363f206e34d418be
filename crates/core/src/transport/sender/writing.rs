//! The application at work: it writes skb by skb while the send buffer has room, and each is sent as it comes
//! (`tcp_sendmsg_locked`), and all of them when a pipe's load is in ([`super::pages`]); without room it sleeps until a
//! third of the buffer is free (`sk_stream_write_space`).

use super::Sender;
use super::host::true_size;
use super::supply::Supply;
use super::todo::Task;
use crate::cc::{Control, INITIAL_WINDOW};

impl<C: Control> Sender<C> {
    /// A call of the application's: it writes on, or the FIN is queued.
    pub(super) fn begin_writing(&mut self) {
        self.in_process = true;
        if self.supply.has_more() {
            self.check_app_limited();
            self.supply.wake(self.vitals.snd_una);
            self.write_on();
        }
        if self.supply.queue_fin() {
            self.note_busy();
        }
        if !self.is_corked() {
            self.todo.want(Task::Push);
        }
    }

    /// What was written is sent, as far as it can: the application goes on, or is woken. Says whether it wrote something.
    #[inline]
    pub(super) fn go_on_writing(&mut self) -> bool {
        self.check_space();
        if self.supply.starved {
            return false;
        }
        if self.supply.woken {
            self.check_app_limited();
            self.supply.wake(self.vitals.snd_una);
        }
        let wrote = self.write_on();
        self.supply.queue_fin() || wrote
    }

    /// The send buffer follows the window while the window isn't full, and who waits for room is woken by it
    /// (`tcp_check_space`). Looked at after each packet: the next one may cut an skb in two, and so take room.
    pub(super) fn check_space(&mut self) {
        if !self.supply.starved {
            return;
        }
        if self.vitals.in_flight() < self.vitals.cwnd {
            self.grow_sndbuf();
            self.usage.stamp = self.jiffy;
        }
        if self.supply.has_room(self.memory()) {
            (self.supply.starved, self.supply.woken) = (false, true);
            self.stop_sndbuf_limited();
        }
    }

    /// The send buffer holds what the window needs (`tcp_sndbuf_expand`).
    pub(super) fn grow_sndbuf(&mut self) {
        let segments = self.vitals.cwnd.max(INITIAL_WINDOW).max(self.recovery.reordering + 1);
        self.supply.grow(u64::from(segments), u64::from(self.controller.sndbuf_expand()));
    }

    /// Writes skbs until one is pushed at once, or the writing ends. The last skb is filled up, then another is begun.
    fn write_on(&mut self) -> bool {
        let before = self.supply.end();
        self.supply.corked = false;
        while self.supply.is_writing() {
            let goal = u64::from(self.tso.goal);
            if !self.supply.fill(self.vitals.snd_nxt, goal) {
                if !self.supply.add(goal, self.memory()) {
                    break;
                }
                self.restart_after_idle();
            }
            let pushes = self.supply.is_writing() && self.supply.pushes(self.vitals.snd_nxt, goal, self.peer.largest);
            if pushes && self.cwnd_quota() > 0 && !(self.supply.corked && self.is_corked()) {
                break;
            }
            (self.supply.push_one, self.supply.corked) = (false, false);
        }
        let wrote = self.supply.end() > before;
        if wrote {
            self.note_busy();
        }
        if wrote && !self.supply.has_more() {
            self.supply.note_push();
        }
        wrote
    }

    /// A small write waits while packets stand in the host's queue (`tcp_should_autocork`).
    fn is_corked(&mut self) -> bool {
        let tail = self.supply.tail(self.vitals.snd_nxt);
        let is_small = tail > 0 && tail < u64::from(self.tso.goal) && !self.supply.has_fin();
        let corked = is_small && !self.board.is_empty() && self.host.bytes() >= true_size(tail);
        self.host.throttled |= corked;
        corked
    }

    /// Memory that the socket's skbs take: what is outstanding, and what waits.
    fn memory(&self) -> u64 {
        Supply::memory(self.board.packets() + self.supply.skbs(), self.supply.end() - self.vitals.snd_una)
    }
}
