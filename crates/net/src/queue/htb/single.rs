//! htb with one class: a plain shaper. Same buckets and waits as in [`super::tree`], without the search.
//!
//! The class cannot borrow and has no siblings, so it sends or waits. Every experiment's bottleneck is such an htb;
//! every packet takes this code path.

use super::class::{Class, Mode};
use crate::packet::Packet;
use crate::queue::bucket::{instant, nanos};
use crate::queue::call::CallContext;
use crate::queue::child::Child;
use crate::queue::stats::QdiscStats;
use crate::queue::{HtbClass, Next, Verdict};
use crate::time::Time;

/// The class.
#[derive(Debug)]
pub(super) struct SingleClass<Q> {
    class: Class<Q>,
}

impl<Q: Child> SingleClass<Q> {
    /// A root class that is a leaf.
    pub const fn new(class: Class<Q>) -> Self {
        Self { class }
    }

    /// Its qdisc.
    pub fn leaf(&self) -> &Q {
        self.class.leaf().expect("the only class is a leaf")
    }

    /// Its qdisc.
    #[inline]
    pub fn leaf_mut(&mut self) -> &mut Q {
        self.class.leaf_mut().expect("the only class is a leaf")
    }

    /// Minor number.
    pub const fn minor(&self) -> u32 {
        self.class.minor
    }

    /// Applies new settings; the tokens stay.
    pub fn change(&mut self, config: &HtbClass) -> Option<()> {
        (config.minor == self.class.minor).then(|| self.class.change(config))
    }

    /// Enqueues a packet.
    #[inline]
    pub fn enqueue(&mut self, packet: &Packet, stats: &mut QdiscStats, ctx: &mut CallContext) -> Verdict {
        let leaf = self.leaf_mut();
        let before = leaf.stats().read();
        let verdict = leaf.enqueue(packet, ctx);
        stats.follow(before, leaf.stats().read());
        verdict
    }

    /// The time at which tokens suffice, if they do not suffice now.
    #[inline]
    pub fn next_departure(&self, now: Time) -> Option<Time> {
        let due_ns = self.class.due_ns;
        (self.class.mode != Mode::CanSend && due_ns > nanos(now)).then(|| instant(due_ns))
    }

    /// Dequeues a packet, or returns the time at which tokens suffice.
    #[inline]
    pub fn dequeue(&mut self, stats: &mut QdiscStats, ctx: &mut CallContext) -> Next {
        let now_ns = nanos(ctx.now);
        if self.class.mode != Mode::CanSend && !self.recovers(now_ns) {
            return Next::At(instant(self.class.due_ns));
        }
        let leaf = self.leaf_mut();
        let before = leaf.stats().read();
        let next = leaf.dequeue(ctx);
        stats.follow(before, leaf.stats().read());
        if let Next::Packet(packet) = &next {
            self.charge(packet.bytes, now_ns, stats);
        }
        next
    }

    /// Updates the mode after a wait (`htb_do_events`).
    #[inline]
    fn recovers(&mut self, now_ns: i64) -> bool {
        if self.class.due_ns > now_ns {
            return false;
        }
        self.update_mode(now_ns);
        self.class.mode == Mode::CanSend
    }

    #[inline]
    fn charge(&mut self, bytes: u32, now_ns: i64, stats: &mut QdiscStats) {
        self.class.charge(bytes, 0, now_ns);
        let old = self.class.mode;
        self.update_mode(now_ns);
        stats.counters.overlimits += u64::from(old != self.class.mode && self.class.mode == Mode::CantSend);
    }

    /// Updates the mode and the time of its next change.
    #[inline]
    fn update_mode(&mut self, now_ns: i64) {
        let (mode, delay_ns) = self.class.mode_at(now_ns);
        self.class.mode = mode;
        self.class.due_ns = now_ns + delay_ns.max(1);
    }
}
