//! An htb with one class: a link. The same buckets and the same waits as in [`super::tree`], without the search.
//!
//! Nobody lends to the class, so it sends or waits, and nothing takes turns with it. Every experiment's bottleneck is
//! such an htb: this is the path of every packet.

use super::class::{Class, Mode};
use crate::packet::Packet;
use crate::queue::bucket::{instant, nanos};
use crate::queue::discipline::{Discipline, Turn};
use crate::queue::tally::Tally;
use crate::queue::{HtbClass, Next, Verdict};
use crate::time::Time;

/// The one class.
#[derive(Debug)]
pub(super) struct Lone {
    class: Class,
}

impl Lone {
    /// A root class that is a leaf.
    pub const fn new(class: Class) -> Self {
        Self { class }
    }

    /// Its queue.
    pub fn leaf(&self) -> &Discipline {
        self.class.leaf().expect("a lone class is a leaf")
    }

    /// Its queue.
    #[inline]
    pub fn leaf_mut(&mut self) -> &mut Discipline {
        self.class.leaf_mut().expect("a lone class is a leaf")
    }

    /// Minor number.
    pub const fn minor(&self) -> u32 {
        self.class.minor
    }

    /// New settings; what is in the buckets stays.
    pub fn change(&mut self, config: &HtbClass) -> Option<()> {
        (config.minor == self.class.minor).then(|| self.class.change(config))
    }

    /// A packet joins.
    #[inline]
    pub fn enqueue(&mut self, packet: &Packet, tally: &mut Tally, turn: &mut Turn) -> Verdict {
        let leaf = self.leaf_mut();
        let before = leaf.tally.read();
        let verdict = leaf.enqueue(packet, turn);
        tally.follow(before, leaf.tally.read());
        verdict
    }

    /// When the buckets can pay, if they can't now.
    #[inline]
    pub fn waits(&self, now: Time) -> Option<Time> {
        let due_ns = self.class.due_ns;
        (self.class.mode != Mode::CanSend && due_ns > nanos(now)).then(|| instant(due_ns))
    }

    /// A packet when the buckets can pay, or when they can.
    #[inline]
    pub fn dequeue(&mut self, tally: &mut Tally, turn: &mut Turn) -> Next {
        let now_ns = nanos(turn.now);
        if self.class.mode != Mode::CanSend && !self.recovers(now_ns) {
            return Next::At(instant(self.class.due_ns));
        }
        let leaf = self.leaf_mut();
        let before = leaf.tally.read();
        let next = leaf.dequeue(turn);
        tally.follow(before, leaf.tally.read());
        if let Next::Packet(packet) = &next {
            self.charge(packet.bytes, now_ns, tally);
        }
        next
    }

    /// The wait may be over (`htb_do_events`).
    #[inline]
    fn recovers(&mut self, now_ns: i64) -> bool {
        if self.class.due_ns > now_ns {
            return false;
        }
        self.reckon(now_ns);
        self.class.mode == Mode::CanSend
    }

    #[inline]
    fn charge(&mut self, bytes: u32, now_ns: i64, tally: &mut Tally) {
        self.class.charge(bytes, 0, now_ns);
        let old = self.class.mode;
        self.reckon(now_ns);
        tally.counters.overlimits += u64::from(old != self.class.mode && self.class.mode == Mode::CantSend);
    }

    /// What the buckets let it do now, and when that changes.
    #[inline]
    fn reckon(&mut self, now_ns: i64) {
        let (mode, delay_ns) = self.class.mode_at(now_ns);
        self.class.mode = mode;
        self.class.due_ns = now_ns + delay_ns.max(1);
    }
}
