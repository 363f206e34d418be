//! The application reads: the buffer grows, the window opens, and an ACK may be due.
//!
//! `reader` decides when it is woken.

use super::{Ack, Receiver};
use crate::time::Time;

impl Receiver {
    /// Was the application woken to read, and not scheduled yet?
    #[inline]
    pub fn take_read_request(&mut self) -> bool {
        self.reader.take_request()
    }

    /// The program that uses the socket releases it: this much arrived meanwhile. 0: all of that is processed.
    pub fn set_backlog(&mut self, memory: u32) {
        self.space.backlog = memory;
        self.repeated_window = None;
    }

    /// A woken application reads everything available, which may cause an ACK (`tcp_recvmsg`, then
    /// `tcp_cleanup_rbuf`). Returns whether it does.
    pub fn read(&mut self, now: Time) -> bool {
        if !self.reader.is_awake() {
            return false;
        }
        self.reader.sleep();
        let taken = self.reader.waiting(self.rcv_nxt);
        if taken > 0 {
            (self.repeated_window, self.delay.last_event_at) = (None, now);
            let first = self.reader.first_end().min(self.rcv_nxt);
            self.tuning.adjust(now, first, self.rcv_nxt, self.mss, &mut self.space);
            self.reader.take_all(self.rcv_nxt);
            self.count_memory();
        }
        if self.is_read_worth_an_ack(taken) {
            self.ack = Ack::Now;
        }
        if taken > 0 && self.reader.reconsiders() {
            self.reader.reconsider(&self.space, self.tuning.space, self.bytes_read());
        }
        self.ack == Ack::Now
    }

    /// A read causes an ACK when one is overdue, when it emptied the buffer of small data, or when it opens the window.
    fn is_read_worth_an_ack(&mut self, taken: u64) -> bool {
        if self.delay.is_scheduled()
            && (self.unacknowledged() > u64::from(self.delay.rcv_mss)
                || (taken > 0 && self.delay.is_ack_due_when_drained() && self.space.held == 0))
        {
            return true;
        }
        let open = self.space.open(self.rcv_nxt);
        if taken == 0 || self.is_closed() || open > self.space.clamp / 2 {
            return false;
        }
        let window = self.choose();
        window > 0 && window >= open.saturating_mul(2)
    }
}
