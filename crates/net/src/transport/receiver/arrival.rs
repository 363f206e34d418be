//! Arrival of a segment: to the reader's queue, out of order behind a hole, or discarded (`tcp_data_queue`).
//!
//! The receiver decides whether to accept a segment, and when to acknowledge.

use super::holes::{self, Inserted, Packet};
use super::space::OVERHEAD;
use super::{Ack, Echo, Receiver};
use crate::packet::{Ecn, Segment};
use crate::time::Time;
use crate::transport::receiver::delay::MAX_QUICK_ACKS;
use crate::transport::receiver::tuning::millis;

impl Receiver {
    /// Processes an accepted segment; `ecn` is its packet's ECN field, `segments` the number of TCP segments in it.
    #[inline]
    pub fn on_segment(&mut self, now: Time, segment: &Segment, ecn: Ecn, segments: u16) {
        self.delay.last_event_at = now;
        // RFC 7323 section 4.3: the segment that covers what was acknowledged last.
        let is_newer = segment.sent_at >= self.ts_recent || millis(segment.sent_at) == millis(self.ts_recent);
        if segment.seq <= self.space.acked && is_newer {
            self.ts_recent = segment.sent_at;
        }
        let end = segment.end();
        if segment.flags.cwr {
            self.on_cwr(end > segment.seq);
        }
        let full = end - segment.seq >= u64::from(self.delay.rcv_mss);
        self.tuning.measure_by_echo(now, segment.echo, full);
        if end > segment.seq {
            self.on_payload(now, segment, ecn, segments);
        }
    }

    /// Data or a FIN (`tcp_data_queue`).
    fn on_payload(&mut self, now: Time, segment: &Segment, ecn: Ecn, segments: u16) {
        self.repeated_window = None;
        if self.disordered {
            self.holes_mut().forget_duplicate();
        }
        if self.ack != Ack::Now {
            self.ack = Ack::Check;
        }
        if segment.seq == self.rcv_nxt || self.reaches_further(segment, ecn, segments) {
            self.in_order_or_shut(now, segment, ecn, segments);
        }
    }

    /// Handles a segment that does not start where the last one ended. Returns whether it starts before that and ends
    /// after it; all other cases are complete.
    fn reaches_further(&mut self, segment: &Segment, ecn: Ecn, segments: u16) -> bool {
        let end = segment.end();
        if end <= self.rcv_nxt {
            if self.ecn == Echo::Counting {
                self.feed(ecn, segments);
            }
            self.report_duplicate(segment.seq, end);
            self.out_of_window();
        } else if segment.seq >= self.rcv_nxt + u64::from(self.space.open(self.rcv_nxt)) {
            self.out_of_window();
        } else if segment.seq < self.rcv_nxt {
            self.report_duplicate(segment.seq, self.rcv_nxt);
            return true;
        } else {
            self.out_of_order(segment, ecn, segments);
        }
        false
    }

    fn in_order_or_shut(&mut self, now: Time, segment: &Segment, ecn: Ecn, segments: u16) {
        let bare_fin = segment.len == 0 && segment.seq == self.rcv_nxt;
        if self.space.is_shut(self.rcv_nxt) && !bare_fin {
            self.out_of_window();
        } else {
            self.in_order(now, segment, ecn, segments);
        }
    }

    fn in_order(&mut self, now: Time, segment: &Segment, ecn: Ecn, segments: u16) {
        if self.space.is_overfull() && !self.make_room(segment.seq) {
            self.delay.out_of_memory();
            self.reader.wake();
            if self.reader.waiting(self.rcv_nxt) > 0 && segment.len > 0 {
                return;
            }
        }
        self.reader.queue(Packet::of(segment));
        self.count_memory();
        self.rcv_nxt = segment.end();
        if segment.len > 0 {
            self.on_data(now, segment, ecn, segments);
        }
        self.note_fin(segment);
        if self.disordered {
            self.close_hole();
        }
        if self.is_closed() {
            self.on_fin();
        }
        self.wake();
    }

    /// Data arrived in order (`tcp_event_data_recv`).
    fn on_data(&mut self, now: Time, segment: &Segment, ecn: Ecn, segments: u16) {
        self.delay.schedule();
        self.measure(segment, segments);
        self.tuning.measure_by_window(now, self.rcv_nxt, self.space.offered);
        self.delay.on_data(now, self.space.offered);
        self.update_ecn(ecn, segments);
        if segment.len >= MIN_TO_GROW {
            self.grow(segment.len, segment.len);
        }
    }

    /// Moves data that is now in order out of the holes.
    #[inline(never)]
    fn close_hole(&mut self) {
        let (reader, rcv_nxt) = (&mut self.reader, self.rcv_nxt);
        let Some(holes) = self.holes.as_mut().filter(|holes| !holes.is_empty()) else { return };
        self.rcv_nxt = holes.drain(rcv_nxt, |packet| reader.queue(packet));
        let closed = holes.is_empty();
        self.count_memory();
        if closed {
            // RFC 5681 section 4.2: an ACK at once when a gap is filled.
            self.delay.request_ack_now();
        }
    }

    /// Data behind a hole (`tcp_data_queue_ofo`).
    fn out_of_order(&mut self, segment: &Segment, ecn: Ecn, segments: u16) {
        self.update_ecn(ecn, segments);
        if self.space.is_overfull() && !self.make_room(segment.seq) {
            if self.reader.waiting(self.rcv_nxt) > 0 {
                self.reader.wake();
            }
            return;
        }
        self.measure(segment, segments);
        self.delay.schedule();
        self.note_fin(segment);
        self.disordered = true;
        let (start, end) = (segment.seq, segment.end());
        let compressing = self.delay.is_compressing();
        let holes = self.holes_mut();
        let packet = Packet::of(segment);
        let inserted = holes.insert(packet);
        let is_late = compressing && holes.displaces_unreported_blocks(start, end);
        // Linux counts a merged packet's memory before it grows the window, another one's afterwards.
        self.count_memory();
        match inserted {
            Inserted::Merged => self.grow(segment.len, segment.len),
            Inserted::Alone => self.space.held -= packet.memory,
            Inserted::Discarded => {}
        }
        if is_late {
            // Report what was held back before the new block displaces it; the new one waits for the next ACK.
            let window = self.offer();
            (self.repeated_window, self.ack) = (Some(window), Ack::Now);
            self.holes_mut().report_late(start, end);
        } else {
            self.holes_mut().report(start, end);
        }
        if inserted == Inserted::Alone {
            self.grow(segment.len, packet.memory);
            self.space.held += packet.memory;
        }
    }

    /// A segment outside the window: acknowledge soon.
    fn out_of_window(&mut self) {
        self.delay.enter_quickack_mode(MAX_QUICK_ACKS, self.space.offered);
        self.delay.schedule();
    }

    fn note_fin(&mut self, segment: &Segment) {
        if segment.flags.fin {
            self.fin = segment.end() - 1;
        }
    }

    /// The peer has closed (`tcp_fin`): the ACK may wait for our own FIN.
    #[cold]
    fn on_fin(&mut self) {
        self.delay.schedule();
        self.delay.enter_pingpong();
        self.reader.wake();
        if let Some(holes) = &mut self.holes {
            holes.clear();
        }
    }

    /// Wakes the application if enough data are waiting (`tcp_epollin_ready`).
    fn wake(&mut self) {
        if self.reader.is_awake() || self.reader.waiting(self.rcv_nxt) == 0 {
            return;
        }
        if !self.reader.sleeps(self.rcv_nxt)
            || self.space.is_pressed()
            || self.space.open(self.rcv_nxt) <= self.delay.rcv_mss
        {
            self.reader.wake();
        }
    }

    /// Measures a segment's size; a new size gives the ratio of memory to payload.
    fn measure(&mut self, segment: &Segment, segments: u16) {
        let size = if segments > 1 { self.mss.min(segment.len) } else { segment.len };
        let (pushed, closes) = (segment.flags.psh, segment.flags.fin);
        let is_new = self.delay.measure_mss(size, segment.sack.bytes(), pushed, closes, self.mss);
        if is_new && self.space.measure(segment.len, segment.len + OVERHEAD) {
            self.tuning.space = self.tuning.space.min(i64::from(self.space.clamp));
        }
    }

    /// Grows the window; while it grows, each segment is acknowledged at once.
    fn grow(&mut self, payload: u32, weight: u32) {
        if self.space.grow(payload, weight, self.delay.rcv_mss) {
            self.delay.quick_acks |= 1;
        }
    }

    /// RFC 3168 section 6.1.3: the sender has reduced its window. It may be down to one packet, so it needs an ACK.
    fn on_cwr(&mut self, carries: bool) {
        match self.ecn {
            Echo::Echoing => self.ecn = Echo::Seen,
            Echo::MirroringCe => self.ecn = Echo::Mirroring,
            _ => {}
        }
        if carries {
            self.delay.request_ack_now();
        }
    }

    fn update_ecn(&mut self, ecn: Ecn, segments: u16) {
        match (self.ecn, ecn) {
            // Not ECN-capable although others were: a retransmission.
            (Echo::Seen | Echo::Echoing, Ecn::NotEct) => {
                self.delay.enter_quickack_mode(FEW_QUICK_ACKS, self.space.offered);
            }
            (Echo::On | Echo::Seen, Ecn::Ce) => {
                self.delay.enter_quickack_mode(FEW_QUICK_ACKS, self.space.offered);
                self.ecn = Echo::Echoing;
            }
            (Echo::On, Ecn::Ect0 | Ecn::Ect1) => self.ecn = Echo::Seen,
            (Echo::Mirroring | Echo::MirroringCe | Echo::Counting, _) => self.feed(ecn, segments),
            _ => {}
        }
    }

    /// More is held than the buffer allows (`tcp_prune_queue`): grows the buffer, compacts it, then discards the data
    /// furthest ahead.
    #[cold]
    fn make_room(&mut self, seq: u64) -> bool {
        self.delay.quick_acks = 0;
        self.space.clamp_window();
        if self.space.is_overfull() {
            self.reader.held = self.reader.held.min(holes::packed(self.reader.waiting(self.rcv_nxt)));
            if let Some(holes) = &mut self.holes {
                holes.pack();
            }
            self.count_memory();
        }
        if self.space.is_overfull() {
            let (goal, excess) = (self.space.rcvbuf() >> 3, self.space.held - self.space.rcvbuf());
            if let Some(holes) = &mut self.holes {
                holes.prune(seq, goal, excess);
            }
            self.count_memory();
        }
        !self.space.is_overfull()
    }
}

/// Quick ACKs after a mark or a retransmission.
const FEW_QUICK_ACKS: u8 = 2;
/// Smaller segments do not grow the window.
const MIN_TO_GROW: u32 = 128;
