//! What there is to send: the application's data, the send buffer's limit, and the FIN behind it.
//!
//! An endless supply is a buffer that is filled again and again; when is decided in [`super::writing`]. The buffer grows
//! with the window (`tcp_sndbuf_expand`) up to `tcp_wmem`'s maximum unless `SO_SNDBUF` fixed it.

#[cfg(test)]
mod tests;

use super::host::{MAX_TCP_HEADER, SHARED_INFO, SK_BUFF, SKB_OVERHEAD};
use super::pages::Pages;
use crate::packet::Layout;
use crate::transport::Settings;
use alloc::collections::VecDeque;

/// The application's side.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "they are independent of each other")]
pub(super) struct Supply {
    /// Bytes that the application still wants to write; `u64::MAX` is endless.
    backlog: u64,
    /// First sequence number after what is in the socket, without FIN (`write_seq`).
    written: u64,
    /// Where each skb ends that was not sent yet (`sk_write_queue`).
    ends: VecDeque<u64>,
    pages: Pages,
    /// Has the application closed?
    closing: bool,
    /// Is the FIN in the socket?
    fin: bool,
    /// Is the application writing?
    writing: bool,
    /// Is what was written pushed because the pipe is empty, and more follows at once (`MSG_MORE`)?
    pub corked: bool,
    /// Does the next push send one packet and wait for nothing (`tcp_push_one`)?
    pub push_one: bool,
    /// Where the last push while writing stood (`pushed_seq`).
    pushed: u64,
    /// Does it wait for room (`SOCK_NOSPACE`)?
    pub starved: bool,
    /// Has it got room, and not written since?
    pub woken: bool,
    /// Bytes of memory that the socket may fill (`sk_sndbuf`).
    limit: u64,
    fixed: bool,
    most: u64,
    /// What the buffer grows by for each segment of the window.
    per_segment: u64,
    /// End of the last piece below the MSS (`snd_sml`).
    pub small_end: u64,
}

impl Supply {
    /// Nothing written.
    pub fn new(settings: &Settings) -> Self {
        Self {
            backlog: 0,
            written: 1,
            ends: VecDeque::new(),
            pages: Pages::new(1),
            closing: false,
            fin: false,
            writing: false,
            corked: false,
            push_one: false,
            pushed: 1,
            starved: false,
            woken: false,
            limit: settings.sndbuf.unwrap_or(FIRST_SNDBUF),
            fixed: settings.sndbuf.is_some(),
            most: settings.wmem_max,
            per_segment: (u64::from(settings.mss) + TIMESTAMP_BYTES + MAX_TCP_HEADER + SHARED_INFO).next_power_of_two()
                + SK_BUFF,
            small_end: 0,
        }
    }

    /// The application writes more; `u64::MAX` is an endless supply, 0 ends it.
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

    /// First sequence number after all that is in the socket, FIN included.
    pub const fn end(&self) -> u64 {
        self.written + self.fin as u64
    }

    /// First sequence number after the data in the socket.
    pub const fn written(&self) -> u64 {
        self.written
    }

    /// Bytes of data from `next` on; the FIN doesn't count.
    pub const fn unsent(&self, next: u64) -> u64 {
        self.written.saturating_sub(next)
    }

    /// Is the FIN in the socket?
    pub const fn has_fin(&self) -> bool {
        self.fin
    }

    /// Does the data in the socket end what the application wrote?
    pub const fn is_whole(&self) -> bool {
        self.backlog == 0
    }

    /// Has the application more to write?
    pub const fn has_more(&self) -> bool {
        self.backlog > 0
    }

    /// Is it writing?
    pub const fn is_writing(&self) -> bool {
        self.writing
    }

    /// It writes, or goes on: a call begins. What lies before `una` was acknowledged.
    pub fn wake(&mut self, una: u64) {
        self.pages.begin(self.written, una);
        self.writing = true;
        (self.starved, self.woken) = (false, false);
    }

    /// Has one skb places for the pages of these bytes?
    pub fn fit(&self, start: u64, end: u64) -> bool {
        self.pages.fit(start, end)
    }

    /// How these bytes lie on pages.
    pub fn layout(&self, seq: u64, len: u32) -> Layout {
        self.pages.layout(seq, seq + u64::from(len))
    }

    /// Bytes from `next` to the end of the skb that they lie in.
    pub fn head(&self, next: u64) -> u64 {
        self.ends.front().map_or(0, |end| end - next)
    }

    /// The skb at `next` is to have `wanted` bytes: it takes them from the one behind it, if it has places for their pages
    /// (`tcp_grow_skb`, `skb_shift`).
    pub fn grow_head(&mut self, next: u64, wanted: u64) {
        let (Some(end), Some(behind)) = (self.ends.front().copied(), self.ends.get(1).copied()) else { return };
        let grown = behind.min(next + wanted);
        if end >= grown || !self.pages.fit(next, grown) {
            return;
        }
        self.ends.pop_front();
        if behind > next + wanted {
            self.ends.push_front(next + wanted);
        }
    }

    /// The first skb is cut at `end`, though it isn't sent: Linux cuts before it asks whether the host's queue has room.
    pub fn cut_head(&mut self, end: u64) {
        if self.ends.front().is_some_and(|front| *front > end) {
            self.ends.push_front(end);
        }
    }

    /// Is there one skb at most?
    pub fn is_tail(&self) -> bool {
        self.ends.len() <= 1
    }

    /// How many there are.
    pub fn skbs(&self) -> u64 {
        self.ends.len() as u64
    }

    /// Everything before `next` was sent.
    pub fn sent(&mut self, next: u64) {
        while self.ends.front().is_some_and(|end| *end <= next) {
            self.ends.pop_front();
        }
    }

    /// What ends here was not sent after all: it stays an skb of its own.
    pub fn take_back(&mut self, end: u64) {
        if self.ends.front() != Some(&end) {
            self.ends.push_front(end);
        }
    }

    /// The last skb is filled up to `goal` bytes as far as the pipe's load and its places for pages go; `next` is the
    /// first that was not sent. Says whether it had room.
    pub fn fill(&mut self, next: u64, goal: u64) -> bool {
        let room = goal.saturating_sub(self.tail(next)).min(self.backlog);
        if self.ends.is_empty() || room == 0 {
            return false;
        }
        let start = self.start_of_last(next);
        let room = room.min(self.pages.room(start, self.written));
        if room == 0 {
            self.note_push(); // Its places are taken (-EMSGSIZE).
            return false;
        }
        self.extend(room);
        true
    }

    /// What is pushed now that something was written and more is to come? All of it when the pipe is empty, or when
    /// half of the largest window was written since the last time (`forced_push`) and an skb is full; one packet when
    /// the full skb is the only one.
    pub fn pushes(&mut self, next: u64, goal: u64, largest_window: u32) -> bool {
        let is_forced = self.written > self.pushed + u64::from(largest_window >> 1);
        self.corked = self.pages.handed_over(self.written) == 0;
        let is_full = self.tail(next) >= goal;
        self.push_one = !self.corked && is_full && !is_forced && self.is_tail();
        let all = self.corked || (is_full && is_forced);
        if all && is_forced {
            self.note_push();
        }
        all || self.push_one
    }

    /// Bytes of the last skb.
    pub fn tail(&self, next: u64) -> u64 {
        if self.ends.is_empty() { 0 } else { self.written - self.start_of_last(next) }
    }

    /// Everything so far is pushed (`tcp_mark_push`).
    pub const fn note_push(&mut self) {
        self.pushed = self.written;
    }

    /// It adds an skb of up to `bytes`, while there is any room at all beside `memory` (`sk_stream_memory_free`); else
    /// it waits.
    pub fn add(&mut self, bytes: u64, memory: u64) -> bool {
        if memory >= self.limit {
            if self.pages.handed_over(self.written) > 0 {
                self.note_push();
            }
            self.starved = true;
            self.writing = false;
            return false;
        }
        let added = bytes.min(self.backlog).min(self.pages.room(self.written, self.written));
        if added > 0 {
            self.ends.push_back(self.written);
            self.extend(added);
        }
        added > 0
    }

    /// The last skb gets so many bytes more, or what is left in the pipe.
    fn extend(&mut self, bytes: u64) {
        let bytes = bytes.min(self.pages.left(self.written));
        self.count(bytes);
        if let Some(end) = self.ends.back_mut() {
            *end = self.written;
        }
    }

    fn start_of_last(&self, next: u64) -> u64 {
        let before = self.ends.len().checked_sub(2).and_then(|place| self.ends.get(place));
        before.copied().unwrap_or(next)
    }

    const fn count(&mut self, bytes: u64) {
        self.written += bytes;
        self.backlog -= if self.backlog == u64::MAX { 0 } else { bytes };
        self.writing = self.backlog > 0;
    }

    /// Queues the FIN when its time has come; says whether that is now.
    pub const fn queue_fin(&mut self) -> bool {
        let is_time = self.closing && self.backlog == 0 && !self.fin;
        self.fin |= is_time;
        is_time
    }

    /// Has so much become free that the application is woken (`sk_stream_is_writeable`)?
    pub const fn has_room(&self, memory: u64) -> bool {
        memory + memory / 2 <= self.limit
    }

    /// The buffer grows with the window: twice the window's skbs (`tcp_sndbuf_expand`).
    pub fn grow(&mut self, segments: u64, factor: u64) {
        if self.fixed {
            return;
        }
        self.limit = self.limit.max((factor * segments * self.per_segment).min(self.most));
    }

    /// Memory of so many skbs that hold `bytes`.
    pub const fn memory(skbs: u64, bytes: u64) -> u64 {
        skbs * SKB_OVERHEAD + bytes
    }
}

/// `tcp_wmem`'s second number.
const FIRST_SNDBUF: u64 = 16_384;
/// The negotiated MSS counts the timestamp option as payload.
const TIMESTAMP_BYTES: u64 = 12;
