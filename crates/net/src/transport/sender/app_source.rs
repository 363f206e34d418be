//! The data to send: the application's data, the send buffer's limit, and the FIN.
//!
//! Unlimited data is a buffer that is refilled repeatedly; [`super::writing`] decides when. The buffer grows with
//! the window (`tcp_sndbuf_expand`) up to `tcp_wmem`'s maximum unless `SO_SNDBUF` fixes it.

#[cfg(test)]
mod tests;

use super::fragments::Fragments;
use super::host::{MAX_TCP_HEADER, SHARED_INFO, SK_BUFF, SKB_OVERHEAD};
use crate::packet::Layout;
use crate::transport::Settings;
use alloc::collections::VecDeque;

/// The application's data.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "independent flags")]
pub(super) struct AppSource {
    /// Bytes still to be written by the application; `u64::MAX` is unlimited.
    backlog: u64,
    /// Sequence number after the data in the socket, without FIN (`write_seq`).
    written: u64,
    /// The skbs that were not sent yet (`sk_write_queue`).
    skbs: VecDeque<UnsentSkb>,
    fragments: Fragments,
    /// Has the application closed?
    closing: bool,
    /// Is the FIN in the socket?
    fin: bool,
    /// Has the application more to write, and room?
    writing: bool,
    /// Where the application unlocks the socket next, after a pipe's load; None outside of a write call.
    load_end: Option<u64>,
    /// Where the current `sendmsg` began.
    began: u64,
    /// Pushes left of a `sendmsg` that found no room.
    pushes: u8,
    /// Is data pushed because the pipe is empty, with more to follow at once (`MSG_MORE`)?
    corked: bool,
    /// Does the next push send one packet without any wait (`tcp_push_one`)?
    push_one: bool,
    /// Position of the last push while writing (`pushed_seq`).
    pushed: u64,
    /// Is it waiting for buffer space (`SOCK_NOSPACE`)?
    nospace: bool,
    /// Was it woken, and has not written since?
    woken: bool,
    /// Memory limit of the socket in bytes (`sk_sndbuf`).
    limit: u64,
    fixed: bool,
    maximum: u64,
    /// Growth of the buffer per segment of the window.
    per_segment: u64,
    /// End of the last segment below the MSS (`snd_sml`).
    small_end: u64,
}

/// An skb that was not sent yet.
#[derive(Clone, Copy, Debug)]
struct UnsentSkb {
    /// Sequence number after its data.
    end: u64,
    /// Has it PSH? A split moves PSH to the second skb (`tcp_fragment`).
    pushed: bool,
}

impl AppSource {
    /// Nothing written.
    pub fn new(settings: &Settings) -> Self {
        Self {
            backlog: 0,
            written: 1,
            skbs: VecDeque::new(),
            fragments: Fragments::new(1),
            closing: false,
            fin: false,
            writing: false,
            load_end: None,
            began: 1,
            pushes: 0,
            corked: false,
            push_one: false,
            pushed: 1,
            nospace: false,
            woken: false,
            limit: settings.sndbuf.unwrap_or(settings.tunables.first_sndbuf),
            fixed: settings.sndbuf.is_some(),
            maximum: settings.wmem_max,
            per_segment: (u64::from(settings.mss) + TIMESTAMP_BYTES + MAX_TCP_HEADER + SHARED_INFO).next_power_of_two()
                + SK_BUFF,
            small_end: 0,
        }
    }

    /// The application writes `bytes` more; `u64::MAX` means unlimited data, 0 ends it.
    pub const fn write(&mut self, bytes: u64) {
        self.backlog = match bytes {
            0 if self.backlog == u64::MAX => 0,
            _ => self.backlog.saturating_add(bytes),
        };
    }

    /// The application closes: FIN follows the last byte.
    pub const fn close(&mut self) {
        if self.backlog == u64::MAX {
            self.backlog = 0;
        }
        self.closing = true;
    }

    /// Sequence number after everything in the socket, FIN included.
    pub const fn end(&self) -> u64 {
        self.written + self.fin as u64
    }

    /// Sequence number after the data in the socket.
    pub const fn written(&self) -> u64 {
        self.written
    }

    /// Bytes of data from `next` on, without the FIN.
    pub const fn unsent(&self, next: u64) -> u64 {
        self.written.saturating_sub(next)
    }

    /// Is the FIN in the socket?
    pub const fn has_fin(&self) -> bool {
        self.fin
    }

    /// Is everything that the application wrote in the socket?
    pub const fn is_complete(&self) -> bool {
        self.backlog == 0
    }

    /// Has the application more to write?
    pub const fn has_more(&self) -> bool {
        self.backlog > 0
    }

    /// Has it more to write, and room?
    pub const fn is_writing(&self) -> bool {
        self.writing
    }

    /// Starts a write call. Data before `una` was acknowledged.
    pub fn wake(&mut self, una: u64) {
        self.fragments.begin(self.written, una);
        self.next_load();
    }

    /// Continues a write call with what is left of the pipe's load, or the next one.
    pub fn next_load(&mut self) {
        self.writing = true;
        (self.nospace, self.woken) = (false, false);
        self.began = self.written;
        self.load_end = Some(self.written + self.fragments.left(self.written));
    }

    /// Ends the write call.
    pub const fn end_call(&mut self) {
        self.load_end = None;
    }

    /// Is the application in a write call, which has the socket locked?
    pub const fn is_in_call(&self) -> bool {
        self.load_end.is_some()
    }

    /// Has the write call passed on a pipe's load?
    pub fn is_load_written(&self) -> bool {
        self.load_end.is_some_and(|end| self.written >= end)
    }

    /// Is it waiting for buffer space?
    pub const fn needs_space(&self) -> bool {
        self.nospace
    }

    /// There is buffer space: wakes the application.
    pub const fn free_space(&mut self) {
        (self.nospace, self.woken) = (false, true);
    }

    /// Was it woken, and has not written since?
    pub const fn is_woken(&self) -> bool {
        self.woken
    }

    /// Does more follow at once, so that a partial segment waits?
    pub const fn is_corked(&self) -> bool {
        self.corked
    }

    /// What is written next is not pushed yet.
    pub const fn begin_push(&mut self) {
        (self.push_one, self.corked) = (false, false);
    }

    /// A write begins: nothing is known to follow.
    pub const fn uncork(&mut self) {
        self.corked = false;
    }

    /// Does the next push send one packet without any wait? Only once.
    pub const fn take_push_one(&mut self) -> bool {
        core::mem::replace(&mut self.push_one, false)
    }

    /// The segment that ends here is below the MSS.
    pub const fn sent_small(&mut self, end: u64) {
        self.small_end = end;
    }

    /// Is a segment below the MSS sent and not acknowledged (Minshall's variant of Nagle)?
    pub const fn is_small_out(&self, snd_una: u64) -> bool {
        self.small_end > snd_una
    }

    /// Do these bytes' pages fit the fragment slots of one skb?
    pub fn fit(&self, start: u64, end: u64) -> bool {
        self.fragments.fit(start, end)
    }

    /// Layout of these bytes on pages.
    pub fn layout(&self, seq: u64, len: u32) -> Layout {
        self.fragments.layout(seq, seq + u64::from(len))
    }

    /// Bytes from `next` to the end of its skb.
    pub fn head(&self, next: u64) -> u64 {
        self.skbs.front().map_or(0, |skb| skb.end - next)
    }

    /// Grows the skb at `next` to `length` bytes: takes them from the next skb, if it has fragment slots for them
    /// (`tcp_grow_skb`, `skb_shift`). It keeps its PSH, and gets the next skb's with that skb's last byte.
    pub fn grow_head(&mut self, next: u64, length: u64) {
        let (Some(head), Some(behind)) = (self.skbs.front().copied(), self.skbs.get(1).copied()) else { return };
        let end = behind.end.min(next + length);
        if head.end >= end || !self.fragments.fit(next, end) {
            return;
        }
        let is_whole = end == behind.end;
        if is_whole {
            self.skbs.pop_front();
        }
        self.skbs[0] = UnsentSkb { end, pushed: head.pushed || (is_whole && behind.pushed) };
    }

    /// Splits the first skb at `end` although it is not sent: Linux splits before it checks whether the host's queue
    /// has room.
    pub fn cut_head(&mut self, end: u64) {
        if self.skbs.front().is_some_and(|skb| skb.end > end) {
            self.skbs.push_front(UnsentSkb { end, pushed: false });
        }
    }

    /// Is there at most one skb?
    pub fn is_tail(&self) -> bool {
        self.skbs.len() <= 1
    }

    /// Number of skbs.
    pub fn skbs(&self) -> u64 {
        self.skbs.len() as u64
    }

    /// Everything before `next` was sent.
    pub fn sent(&mut self, next: u64) {
        while self.skbs.front().is_some_and(|skb| skb.end <= next) {
            self.skbs.pop_front();
        }
    }

    /// Data that ends here was not sent after all: it stays a separate skb, with its PSH.
    pub fn take_back(&mut self, end: u64, pushed: bool) {
        self.skbs.push_front(UnsentSkb { end, pushed });
    }

    /// Fills the last skb up to `goal` bytes, limited by the pipe's load and its fragment slots; `next` is the first
    /// unsent byte. Returns whether it had room.
    pub fn fill(&mut self, next: u64, goal: u64) -> bool {
        let room = goal.saturating_sub(self.tail(next)).min(self.backlog);
        if self.skbs.is_empty() || room == 0 {
            return false;
        }
        let start = self.start_of_last(next);
        let room = room.min(self.fragments.free_bytes(start, self.written));
        if room == 0 {
            self.note_push(); // Its fragment slots are used up (-EMSGSIZE).
            return false;
        }
        if let Some(tail) = self.skbs.back_mut() {
            tail.pushed &= self.fragments.handed_over(self.written) > 0; // A call's first data clear PSH.
        }
        self.extend(room);
        true
    }

    /// What to push after a write with more to come: everything if the pipe is empty, or if half of the largest window
    /// was written since the last push (`forced_push`) and an skb is full; one packet if the full skb is the only one.
    pub fn pushes(&mut self, next: u64, goal: u64, largest_window: u32) -> bool {
        let is_forced = self.written > self.pushed + u64::from(largest_window >> 1);
        self.corked = self.fragments.handed_over(self.written) == 0;
        let is_full = self.tail(next) >= goal;
        self.push_one = !self.corked && is_full && !is_forced && self.is_tail();
        let all = self.corked || (is_full && is_forced);
        if all && is_forced {
            self.note_push();
        }
        all || self.push_one
    }

    /// Takes one of the pushes of a `sendmsg` that found no room.
    pub const fn take_push(&mut self) -> bool {
        let is_left = self.pushes > 0;
        self.pushes -= is_left as u8;
        is_left
    }

    /// Bytes of the last skb.
    pub fn tail(&self, next: u64) -> u64 {
        if self.skbs.is_empty() { 0 } else { self.written - self.start_of_last(next) }
    }

    /// Sets PSH on the last skb (`tcp_mark_push`).
    pub fn note_push(&mut self) {
        if let Some(tail) = self.skbs.back_mut() {
            tail.pushed = true;
            self.pushed = self.written;
        }
    }

    /// Has the packet up to `end`, taken from the first skb, PSH?
    pub fn is_pushed(&self, end: u64) -> bool {
        self.skbs.front().is_some_and(|skb| skb.end == end && skb.pushed)
    }

    /// Sets PSH on the first skb, as probes of the peer's window do (`tcp_write_wakeup`).
    pub fn push_head(&mut self) {
        if let Some(head) = self.skbs.front_mut() {
            head.pushed = true;
        }
    }

    /// Adds an skb of up to `bytes` if there is any room besides `memory` (`sk_stream_memory_free`); otherwise the
    /// application waits.
    pub fn add(&mut self, bytes: u64, memory: u64) -> bool {
        if memory >= self.limit {
            if self.written > self.began {
                self.note_push();
                self.pushes = 2; // Before it waits for room, and before it returns (`tcp_sendmsg_locked`).
            }
            self.nospace = true;
            self.writing = false;
            return false;
        }
        let added = bytes.min(self.backlog).min(self.fragments.free_bytes(self.written, self.written));
        if added > 0 {
            self.skbs.push_back(UnsentSkb { end: self.written, pushed: false });
            self.extend(added);
        }
        added > 0
    }

    /// Extends the last skb by `bytes`, limited by what is left in the pipe.
    fn extend(&mut self, bytes: u64) {
        let bytes = bytes.min(self.fragments.left(self.written));
        self.count(bytes);
        if let Some(tail) = self.skbs.back_mut() {
            tail.end = self.written;
        }
    }

    fn start_of_last(&self, next: u64) -> u64 {
        let before = self.skbs.len().checked_sub(2).and_then(|index| self.skbs.get(index));
        before.map_or(next, |skb| skb.end)
    }

    const fn count(&mut self, bytes: u64) {
        self.written += bytes;
        self.backlog -= if self.backlog == u64::MAX { 0 } else { bytes };
        self.writing = self.backlog > 0;
    }

    /// Queues the FIN after the last data; returns whether it did.
    pub const fn queue_fin(&mut self) -> bool {
        let is_time = self.closing && self.backlog == 0 && !self.fin;
        self.fin |= is_time;
        is_time
    }

    /// Is enough memory free to wake the application (`sk_stream_is_writeable`)?
    pub const fn has_room(&self, memory: u64) -> bool {
        memory + memory / 2 <= self.limit
    }

    /// Grows the buffer with the window: twice the window's skbs (`tcp_sndbuf_expand`).
    pub fn grow(&mut self, segments: u64, factor: u64) {
        if self.fixed {
            return;
        }
        self.limit = self.limit.max((factor * segments * self.per_segment).min(self.maximum));
    }

    /// Memory of `skbs` skbs that hold `bytes`.
    pub const fn memory(skbs: u64, bytes: u64) -> u64 {
        skbs * SKB_OVERHEAD + bytes
    }
}

/// The negotiated MSS counts the timestamp option as payload.
const TIMESTAMP_BYTES: u64 = 12;
