//! The application at work: it writes skb by skb while the send buffer has room, and each is sent as it comes
//! (`tcp_sendmsg_locked`); without room it sleeps until a third of the buffer is free (`sk_stream_write_space`).

use super::Sender;
use super::host::true_size;
use super::supply::Supply;
use super::todo::Task;
use crate::cc::{Control, INITIAL_WINDOW};

impl<C: Control> Sender<C> {
    /// A call of the application's: it writes on, or the FIN is queued.
    pub(super) fn begin_writing(&mut self) {
        if self.supply.has_more() {
            self.check_app_limited();
            self.supply.wake();
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
        if self.supply.starved {
            if !self.supply.has_room(self.least_memory()) {
                return false;
            }
            self.expand_sndbuf();
            if !self.supply.has_room(self.memory()) {
                return false;
            }
            self.stop_sndbuf_limited();
            self.check_app_limited();
            self.supply.wake();
        }
        let wrote = self.write_on();
        self.supply.queue_fin() || wrote
    }

    /// The send buffer follows the window while the window isn't full (`tcp_should_expand_sndbuf`).
    pub(super) fn expand_sndbuf(&mut self) {
        if self.supply.starved && self.vitals.in_flight() < self.vitals.cwnd {
            self.grow_sndbuf();
            self.usage.stamp = self.jiffy;
        }
    }

    /// The send buffer holds what the window needs (`tcp_sndbuf_expand`).
    pub(super) fn grow_sndbuf(&mut self) {
        let segments = self.vitals.cwnd.max(INITIAL_WINDOW).max(self.recovery.reordering + 1);
        self.supply.grow(u64::from(segments), u64::from(self.controller.sndbuf_expand()));
    }

    /// Writes an skb, or as many as fit when none could be sent anyway.
    fn write_on(&mut self) -> bool {
        let before = self.supply.end();
        while self.supply.is_writing() {
            let goal = u64::from(self.tso.goal);
            let unsent = self.supply.unsent(self.vitals.snd_nxt);
            // The last skb is filled up, then another is begun.
            let room = if unsent < goal { goal - unsent } else { goal };
            if !self.supply.add(room, self.memory()) {
                break;
            }
            self.restart_after_idle();
            if self.cwnd_quota() > 0 {
                break;
            }
        }
        let wrote = self.supply.end() > before;
        if wrote {
            self.note_busy();
        }
        wrote
    }

    /// A small write waits while packets stand in the host's queue (`tcp_should_autocork`).
    fn is_corked(&mut self) -> bool {
        let unsent = self.supply.end() - self.vitals.snd_nxt;
        let is_small = unsent > 0 && unsent < u64::from(self.tso.goal) && !self.supply.has_fin();
        let corked = is_small && !self.board.is_empty() && self.host.bytes() >= true_size(unsent);
        self.host.throttled |= corked;
        corked
    }

    /// Memory that the socket's skbs take: what is outstanding, and what waits in pieces of the goal's size.
    fn memory(&self) -> u64 {
        let unsent = self.supply.end() - self.vitals.snd_nxt;
        self.least_memory() + Supply::memory(unsent.div_ceil(u64::from(self.tso.goal)), 0)
    }

    fn least_memory(&self) -> u64 {
        Supply::memory(self.board.packets(), self.supply.end() - self.vitals.snd_una)
    }
}
