//! COBALT, cake's control loop: `CoDel` while packets wait too long, BLUE while the queue overflows
//! (Linux 6.12 `net/sched/sch_cake.c`; T. Høiland-Jørgensen, D. Täht, J. Morton, "Piece of CAKE", 2018, section III.C).
//!
//! `CoDel`'s half differs from RFC 8289: it counts down as it counted up when the queue is good again, rather than
//! starting anew, and it never drops the last packet of a queue, which is for its owner to see to. BLUE's half drops by
//! chance, more with every overflow and less with every time that the queue runs empty.

use super::shaper::Price;
use crate::dice::Dice;
use crate::packet::{Ecn, Packet};
use crate::queue::bucket::{nanos, signed};
use crate::rate::Rate;
use crate::time::Span;

#[cfg(test)]
mod tests;

/// What a loop is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::struct_field_names, reason = "each is a time and says its unit")]
pub(super) struct Params {
    /// Sojourn time that may stand.
    pub target_ns: i64,
    /// How long it may be exceeded at first.
    pub interval_ns: i64,
    /// What a full packet takes at the rate.
    pub packet_ns: i64,
}

/// What a loop remembers.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cobalt {
    /// Signals of this spell, counted down again when it is over.
    count: u32,
    /// 1/√count in units of 2⁻³².
    inverse_sqrt: u32,
    next_ns: i64,
    blue_at_ns: i64,
    /// BLUE's chance in units of 2⁻³².
    blue: u32,
    dropping: bool,
    /// Was the packet that was judged last marked?
    pub marked: bool,
}

impl Params {
    /// At a low rate a packet alone takes longer than the target; then both times grow (`cake_set_rate`).
    pub fn new(rate: Option<Rate>, mtu: u32, target: Span, interval: Span) -> Self {
        let packet_ns = Price::at(rate).of(mtu).cast_signed();
        let target_ns = (packet_ns * 3 / 2).max(signed(target));
        let interval_ns = (signed(interval) + target_ns - signed(target)).max(target_ns * 2);
        Self { target_ns, interval_ns, packet_ns }
    }
}

impl Cobalt {
    /// Must this packet, which is about to leave, be dropped? It is marked instead if it can be, but not in BLUE's name.
    /// `bulk_flows` is 0 where only what is sent counts.
    pub fn judges(
        &mut self,
        params: &Params,
        now_ns: i64,
        packet: &mut Packet,
        bulk_flows: u32,
        dice: &mut Dice,
    ) -> bool {
        let sojourn_ns = now_ns - nanos(packet.queued_at);
        let mut late_ns = now_ns - self.next_ns;
        let is_due = self.count > 0 && late_ns >= 0;
        let is_late = sojourn_ns > params.target_ns
            && sojourn_ns > params.packet_ns * i64::from(bulk_flows) * 2
            && sojourn_ns > params.packet_ns * 4;
        self.note(is_late, params, now_ns);
        self.marked = false;
        let mut drop = false;
        if is_due && self.dropping {
            self.marked = mark(packet);
            drop = !self.marked;
            self.count = self.count.saturating_add(1);
            late_ns = self.schedule(params, now_ns);
        } else if is_due {
            late_ns = self.count_down(params, now_ns);
        }
        if self.blue > 0 {
            drop |= dice.word() < self.blue;
        }
        if self.count == 0 {
            self.next_ns = now_ns + params.interval_ns;
        } else if late_ns > 0 && !drop {
            self.next_ns = now_ns;
        }
        drop
    }

    /// The queue has overflowed, and one of its packets was dropped.
    pub fn overflows(&mut self, params: &Params, now_ns: i64) {
        if now_ns - self.blue_at_ns > params.target_ns {
            self.blue = self.blue.saturating_add(BLUE_UP);
            self.blue_at_ns = now_ns;
        }
        self.dropping = true;
        self.next_ns = now_ns;
        self.count = self.count.max(1);
    }

    /// The queue was found empty.
    pub fn runs_empty(&mut self, params: &Params, now_ns: i64) {
        if self.blue > 0 && now_ns - self.blue_at_ns > params.target_ns {
            self.blue = self.blue.saturating_sub(BLUE_DOWN);
            self.blue_at_ns = now_ns;
        }
        self.dropping = false;
        if self.count > 0 && now_ns >= self.next_ns {
            self.count -= 1;
            self.schedule(params, now_ns);
        }
    }

    /// Has it nothing left to remember?
    pub const fn is_calm(&self, now_ns: i64) -> bool {
        self.blue == 0 && self.count == 0 && now_ns >= self.next_ns
    }

    /// Takes note of whether packets wait too long.
    fn note(&mut self, is_late: bool, params: &Params, now_ns: i64) {
        if is_late {
            if !self.dropping {
                self.dropping = true;
                self.next_ns = now_ns + self.gap_ns(params);
            }
            self.count = self.count.max(1);
        } else {
            self.dropping = false;
        }
    }

    /// All is well again: what is due counts down.
    fn count_down(&mut self, params: &Params, now_ns: i64) -> i64 {
        loop {
            self.count -= 1;
            let late_ns = self.schedule(params, now_ns);
            if self.count == 0 || late_ns < 0 {
                return late_ns;
            }
        }
    }

    /// Sets the time of the next signal after a change of the count; says how long ago that is.
    fn schedule(&mut self, params: &Params, now_ns: i64) -> i64 {
        self.take_root();
        self.next_ns += self.gap_ns(params);
        now_ns - self.next_ns
    }

    /// Exactly for small counts, one step of Newton's for others.
    fn take_root(&mut self) {
        if let Some(&root) = ROOTS.get(usize::try_from(self.count).expect("32 bits are a usize")) {
            self.inverse_sqrt = root;
            return;
        }
        let root = u64::from(self.inverse_sqrt);
        let left = (3_u64 << 32).wrapping_sub(u64::from(self.count).wrapping_mul((root * root) >> 32));
        self.inverse_sqrt = low((left >> 2).wrapping_mul(root) >> 31);
    }

    /// interval/√count; only 32 bits of the interval count (`reciprocal_scale`).
    const fn gap_ns(&self, params: &Params) -> i64 {
        let interval = params.interval_ns.cast_unsigned() & 0xffff_ffff;
        ((interval * self.inverse_sqrt as u64) >> 32).cast_signed()
    }
}

/// Marks a packet if it can be; one that is marked already counts (`INET_ECN_set_ce`).
const fn mark(packet: &mut Packet) -> bool {
    if packet.ecn.is_capable() {
        packet.ecn = Ecn::Ce;
        return true;
    }
    false
}

#[expect(clippy::cast_possible_truncation, reason = "the low half is what is wanted")]
const fn low(number: u64) -> u32 {
    number as u32
}

/// BLUE's steps: 1/256 up, 1/4096 down.
const BLUE_UP: u32 = 1 << 24;
const BLUE_DOWN: u32 = 1 << 20;

/// 2³²/√count, as far as 32 bits hold it.
const ROOTS: [u32; 16] = [
    u32::MAX,
    u32::MAX,
    3_037_000_500,
    2_479_700_525,
    2_147_483_647,
    1_920_767_767,
    1_753_413_056,
    1_623_345_051,
    1_518_500_250,
    1_431_655_765,
    1_358_187_914,
    1_294_981_364,
    1_239_850_263,
    1_191_209_601,
    1_147_878_294,
    1_108_955_788,
];
