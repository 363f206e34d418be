//! New data: what is sent next, and what limits it (`tcp_write_xmit`, `__tcp_transmit_skb`).
//!
//! A burst is what Linux sends in one call: it ends by data, window, pacing or the host's queue, and only then the
//! window's use is evaluated and the timers are set. [`super::retransmit`] has retransmissions.

use super::pacing::{self, Departure};
use super::record::{Marks, Record};
use super::tasks::Task;
use super::timer::Pending;
use super::tso::{Defer, Room};
use super::{Sender, Transmission};
use crate::cc::{CaState, CongestionControl, Event};
use crate::number::narrow;
use crate::time::{Span, Time};

/// State of a burst.
#[derive(Clone, Copy, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "independent flags")]
pub(super) struct Burst {
    is_open: bool,
    /// Segments of new data sent in it.
    sent: u32,
    /// Maximum segments in a packet; 0 before the first.
    max_segments: u32,
    is_cwnd_limited: bool,
    is_peer_limited: bool,
    /// Did the host's queue refuse a packet?
    refused: bool,
    /// It is a probe of the peer's window.
    is_probe: bool,
    /// It is one packet sent without any wait: the application is still writing.
    is_single: bool,
}

/// A packet to send.
struct Piece {
    len: u32,
    fin: bool,
}

impl<C: CongestionControl> Sender<C> {
    /// One step of sending new data.
    #[inline]
    pub(super) fn push_next(&mut self, task: Task) -> Option<Transmission> {
        if !self.burst.is_open {
            if self.app_source.end() == self.tp.snd_nxt {
                self.end_push(task);
                return None;
            }
            self.open_burst();
        }
        if !self.is_held_back()
            && let Some(piece) = self.next_piece(task == Task::Push, false)
        {
            return Some(self.transmit(&piece));
        }
        self.close_burst();
        self.end_push(task);
        None
    }

    /// Sends new data if there is any, else retransmits the last segment; one probe per episode (`tcp_send_loss_probe`).
    pub(super) fn send_loss_probe(&mut self) -> Option<Transmission> {
        self.tasks.done(Task::LossProbe);
        if self.board.is_empty() {
            self.timer.stop();
            return None;
        }
        let transmission = if self.recovery.is_probe_out() { None } else { self.try_loss_probe() };
        if let Some(transmission) = &transmission {
            self.recovery.probe_sent(self.tp.snd_nxt, transmission.retransmission);
            self.timer.stop(); // The timeout starts now.
        }
        self.rearm_timeout();
        transmission
    }

    fn try_loss_probe(&mut self) -> Option<Transmission> {
        let next = self.tp.snd_nxt;
        let unsent = self.app_source.unsent(next);
        let first = unsent.min(u64::from(self.tp.mss));
        let fin = u64::from(unsent == first && self.app_source.has_fin());
        if self.app_source.end() > next && next + first + fin <= self.window_end() {
            return self.force_push();
        }
        self.retransmit_last()
    }

    /// Sends what the window allows; if nothing, an old byte's number, so that the peer answers (`tcp_write_wakeup`).
    pub(super) fn send_window_probe(&mut self) -> Option<Transmission> {
        self.tasks.done(Task::WindowProbe);
        if self.tp.packets_out > 0 || self.app_source.end() == self.tp.snd_nxt {
            self.rtt.end_backoff();
            return None;
        }
        if self.window_end() > self.tp.snd_nxt {
            let transmission = self.push_into_window();
            self.rtt.end_backoff();
            return Some(transmission);
        }
        self.rtt.back_off_probe(MAX_WINDOW_BACKOFF);
        self.set_window_probe();
        self.counters.sent(0, 1);
        Some(Transmission { seq: self.tp.snd_una - 1, segments: 1, ..Transmission::default() })
    }

    /// Sends a packet of new data, independent of the congestion window: the tail loss probe's first choice.
    fn force_push(&mut self) -> Option<Transmission> {
        self.open_burst();
        let piece = if self.is_held_back() { None } else { self.next_piece(false, true) };
        let transmission = piece.map(|piece| self.transmit(&piece));
        self.judge_window();
        self.burst.is_open = false;
        transmission
    }

    /// Sends what fits the peer's window of one segment.
    fn push_into_window(&mut self) -> Transmission {
        self.burst = Burst { is_probe: true, ..Burst::default() };
        let seq = self.tp.snd_nxt;
        let room = self.window_end() - seq;
        let unsent = self.app_source.unsent(seq);
        let len = unsent.min(u64::from(self.tp.mss)).min(room);
        self.app_source.push_head();
        let fin = self.app_source.has_fin() && len == unsent && room > len;
        Transmission { psh: true, ..self.transmit(&Piece { len: narrow(len), fin }) }
    }

    /// Is there too much in the host's queue to add an skb of `payload` bytes? Then a departure wakes the socket.
    pub(super) fn is_host_full(&mut self, payload: u32, factor: u32) -> bool {
        let is_full = self.host.is_full(payload, pacing::burst_bytes(&self.cc), self.cc.paced, factor);
        if !is_full || self.board.is_single_packet() {
            return false;
        }
        self.host.throttle();
        true
    }

    /// The last polled packet was refused: it counts as never sent.
    pub(super) fn take_back(&mut self) {
        let refused = core::mem::take(&mut self.polled);
        self.host.take_back(refused.len);
        self.pacing.take_back(refused.departs_at);
        self.tp.next_send_at = refused.departs_at;
        if refused.retransmission {
            self.take_back_retransmission(refused.seq);
            return;
        }
        self.burst.refused = true;
        let pushed = refused.len > 0 && self.board.get(self.board.next() - 1).marks.has(Marks::PSH);
        while !self.board.is_empty() && self.board.start_of(self.board.next() - 1) >= refused.seq {
            self.board.pop_last(&mut self.tp);
            self.burst.sent = self.burst.sent.saturating_sub(1);
        }
        self.tp.snd_nxt = refused.seq;
        if refused.len > 0 {
            self.app_source.take_back(refused.seq + u64::from(refused.len), pushed);
        }
        if self.tp.packets_out == 0 {
            self.timer.stop();
            if self.burst.is_probe {
                self.probe_window_later();
            }
        }
    }

    fn open_burst(&mut self) {
        let is_single = self.app_source.take_push_one();
        self.burst = Burst { is_open: true, is_single, ..Burst::default() };
    }

    fn close_burst(&mut self) {
        self.note_peer_limited(self.burst.is_peer_limited);
        self.judge_window();
        self.burst.is_open = false;
        if self.burst.sent > 0 {
            self.schedule_loss_probe(false);
        } else {
            self.schedule_window_probe();
        }
    }

    #[inline]
    fn judge_window(&mut self) {
        let is_limited = self.burst.is_cwnd_limited || self.tp.in_flight() >= self.cc.cwnd;
        if self.burst.sent > 0 || is_limited {
            self.validate_window(is_limited);
        }
        self.recovery.sent(self.tp.state, self.burst.sent);
    }

    #[inline]
    fn end_push(&mut self, task: Task) {
        self.tasks.done(task);
        if task == Task::NewData {
            self.end_new_data();
        } else if !self.in_process {
            self.check_space();
        } else if self.resume_writing() {
            self.tasks.schedule(Task::Push);
        }
    }

    /// Is there nothing to send, or nothing that may be sent yet, independent of the windows?
    #[inline]
    fn is_held_back(&mut self) -> bool {
        let is_over = self.burst.refused || (self.burst.is_single && self.burst.sent > 0);
        self.app_source.end() == self.tp.snd_nxt || is_over || self.must_wait()
    }

    /// What may be sent now, unless [`Sender::is_held_back`].
    fn next_piece(&mut self, nagle: bool, forced: bool) -> Option<Piece> {
        let seq = self.tp.snd_nxt;
        let mut quota = self.cwnd_quota();
        if quota == 0 && forced {
            quota = 1;
        }
        if quota == 0 {
            return None;
        }
        if self.burst.max_segments == 0 {
            self.burst.max_segments = self.tso_segments();
        }
        let quota = quota.min(self.burst.max_segments);
        let mss = u64::from(self.tp.mss);
        self.app_source.grow_head(seq, u64::from(quota) * mss);
        let head = self.app_source.head(seq);
        let is_tail = self.app_source.is_tail();
        let fin = is_tail && self.app_source.has_fin();
        if self.window_end() < seq + head.min(mss) + u64::from(fin && head <= mss) {
            self.burst.is_peer_limited = true;
            return None;
        }
        let limit = self.piece_limit(head, quota, is_tail, nagle, forced)?;
        let len = narrow(head.min(limit));
        if self.is_host_full(len, 0) {
            self.app_source.cut_head(seq + u64::from(len));
            return None;
        }
        Some(Piece { len, fin: fin && u64::from(len) == head })
    }

    /// How much of `head` bytes may go into one packet; None to wait.
    fn piece_limit(&mut self, head: u64, quota: u32, is_tail: bool, nagle: bool, forced: bool) -> Option<u64> {
        let mss = u64::from(self.tp.mss);
        let nagle = nagle && self.is_small_piece_out();
        if head <= mss {
            // The last segment may wait, but not with a FIN (tcp_nagle_test).
            let waits = nagle && is_tail && !self.app_source.has_fin();
            return (head == mss || !waits).then_some(mss);
        }
        if !forced && !self.burst.is_single {
            match self.defer(head, is_tail) {
                Defer::No => {}
                Defer::ForCwnd => {
                    self.burst.is_cwnd_limited = true;
                    return None;
                }
                Defer::ForPeer => {
                    self.burst.is_peer_limited = true;
                    return None;
                }
                Defer::ForData => return None,
            }
        }
        let maximum = u64::from(quota) * mss;
        let window = self.window_end() - self.tp.snd_nxt;
        let room = head.min(window);
        if maximum <= room || (maximum <= window && !is_tail) {
            return Some(maximum);
        }
        // Nagle holds back a partial segment at the end of the skb or the window, wherever it is (tcp_mss_split_point).
        Some(if nagle { room - room % mss } else { room })
    }

    /// Minshall's variant of Nagle: is a segment below the MSS outstanding? Or does more follow at once?
    const fn is_small_piece_out(&self) -> bool {
        self.app_source.is_corked() || (self.tp.packets_out > 0 && self.app_source.is_small_out(self.tp.snd_una))
    }

    fn transmit(&mut self, piece: &Piece) -> Transmission {
        let (seq, len) = (self.tp.snd_nxt, piece.len);
        let segments = if len <= self.tp.mss { 1 } else { len.div_ceil(self.tp.mss) };
        let departure = self.depart();
        self.note_sent(len, segments);
        let end = seq + u64::from(len);
        let is_last = end == self.app_source.written() && self.app_source.is_complete();
        let pushed = len > 0 && (is_last || self.burst.is_probe || self.app_source.is_pushed(end));
        let transmission = Transmission {
            seq,
            len,
            segments: u16::try_from(segments).unwrap_or(u16::MAX),
            fin: piece.fin,
            psh: pushed || segments > 1,
            cwr: len > 0 && self.ecn.take_cwr(),
            ect: len > 0 && self.ecn.is_negotiated(),
            retransmission: false,
            departs_at: departure.at,
        };
        let was_idle = self.tp.packets_out == 0;
        self.record(&transmission, pushed);
        self.space_next(len, &departure);
        self.note_outstanding(segments, end + u64::from(piece.fin), was_idle);
        if u64::from(len) < u64::from(segments) * u64::from(self.tp.mss) {
            self.app_source.sent_small(self.tp.snd_nxt);
        }
        transmission
    }

    /// Counts a packet that is sent (`tcp_event_data_sent` and related).
    pub(super) fn note_sent(&mut self, len: u32, segments: u32) {
        if len > 0 {
            if self.tp.in_flight() == 0 {
                self.controller.cwnd_event(&self.tp, &mut self.cc, Event::TxStart);
            }
            self.tp.last_sent_at = self.tp.now;
        }
        self.counters.sent(len, segments);
    }

    /// Linux sets PSH of a super-packet on the copy that leaves: a retransmission has PSH only if data were `pushed`.
    fn record(&mut self, packet: &Transmission, pushed: bool) {
        let (sent_us, sent_rest_ns) = self.pacing.stamp(self.tp.now, self.now_us);
        let mut record = Record { sent_us, sent_rest_ns, serial: self.host.serial(), ..Record::default() };
        self.rate.stamp(&mut record, &self.tp, self.cc.app_limited != 0, self.tp.in_flight());
        record.marks.set(Marks::FIRST);
        let mss = self.tp.mss;
        let mut left = packet.len;
        record.end = packet.seq;
        for remaining in (0..packet.segments).rev() {
            let len = left.min(mss);
            left -= len;
            record.in_flight += 1;
            record.end += u64::from(len);
            if remaining == 0 {
                record.end += u64::from(packet.fin);
                record.marks.set(Marks::FIN.when(packet.fin).with(Marks::PSH.when(pushed)));
            }
            self.board.push(&mut self.tp, record);
            record.marks.clear(Marks::FIRST);
        }
        self.host.enqueue(packet.len);
    }

    /// Maximum segments in a packet now.
    pub(super) fn tso_segments(&self) -> u32 {
        if let Some(segments) = self.controller.tso_segments() {
            return self.tso.chosen_segments(&self.tp, segments);
        }
        let fewest = self.controller.min_tso_segments(&self.tp, &self.cc);
        self.tso.segments(&self.tp, pacing::burst_bytes(&self.cc), fewest)
    }

    /// Should it wait for a fuller packet instead of sending the part of `head` bytes that the windows allow now?
    fn defer(&self, head: u64, is_tail: bool) -> Defer {
        let tp = &self.tp;
        // Only within a millisecond of the last packet: waiting longer would cause bursts.
        if tp.state >= CaState::Recovery || tp.now > tp.next_send_at + Span::from_millis(1) {
            return Defer::No;
        }
        let mss = u64::from(tp.mss);
        let room = Room {
            head,
            is_tail,
            has_fin: self.app_source.has_fin(),
            cwnd_left: u64::from(self.cc.cwnd - tp.in_flight()) * mss,
            peer_left: self.window_end() - tp.snd_nxt,
            enough: self.tso.enough(u64::from(self.peer.window()).min(u64::from(self.cc.cwnd) * mss)),
            full: u64::from(self.burst.max_segments) * mss,
        };
        room.defer(|| self.ack_is_near())
    }

    /// Is the next ACK expected within a millisecond, or half a round trip?
    fn ack_is_near(&self) -> bool {
        let Some(front) = self.board.front() else { return false };
        let srtt = Span::from_nanos(u64::from(self.tp.srtt_us8) * 125);
        let expected = Time::from_nanos((front.sent_us - 1) * 1_000 + u64::from(front.sent_rest_ns)) + srtt;
        let ahead = expected.as_nanos().cast_signed() - self.tp.now.as_nanos().cast_signed();
        ahead <= (srtt / 2).min(Span::from_millis(1)).as_nanos().cast_signed()
    }

    /// Must the next packet wait for the pacing timer?
    #[inline]
    pub(super) fn must_wait(&mut self) -> bool {
        self.pacing.must_wait(self.tp.now, self.cc.paced)
    }

    /// A packet leaves.
    #[inline]
    pub(super) fn depart(&mut self) -> Departure {
        let departure = self.pacing.depart(self.tp.now);
        self.tp.next_send_at = departure.at;
        departure
    }

    /// A packet with `payload` bytes has left.
    pub(super) fn space_next(&mut self, payload: u32, departure: &Departure) {
        if self.cc.paced {
            self.pacing.space(payload, departure, self.cc.pacing_rate, self.counters.data_segs_out());
            self.tp.next_send_at = self.pacing.next();
        }
    }

    /// Continues after a wait for pacing or for the host's queue: the work of TSQ's tasklet (`tcp_tsq_write`).
    pub(super) fn resume(&mut self) {
        self.in_process = false;
        if self.tp.lost_out > self.tp.retrans_out && self.cc.cwnd > self.tp.in_flight() {
            self.tasks.schedule(Task::Retransmit);
        }
        self.tasks.schedule(Task::Push);
    }

    /// Marks new data as outstanding (`tcp_event_new_data_sent`).
    fn note_outstanding(&mut self, segments: u32, end: u64, was_idle: bool) {
        self.tp.snd_nxt = end;
        self.app_source.sent(end);
        self.burst.sent += segments;
        if was_idle || self.timer.pending() == Pending::LossProbe {
            self.rearm_timeout();
        }
        self.check_space();
    }
}

/// `tcp_retries2`.
const MAX_WINDOW_BACKOFF: u8 = 15;
