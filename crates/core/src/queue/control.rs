//! `CoDel`'s control loop: drop from the head while packets have waited too long for too long (RFC 8289).
//!
//! `codel` runs one loop, `fq_codel` one a flow. It sees its packets through a [`Bin`]; limits are its owner's affair.
//! Times are Linux's: units of 1024 ns in 32 bits that wrap (Linux `include/net/codel.h`, `codel_impl.h`).
//!
//! ```text
//!             sojourn >= target for an interval: drop or mark one
//!    Calm ------------------------------------------------------> Dropping --+ every interval / sqrt(count)
//!      ^                                                             |   ^   | drop or mark one
//!      +------------------ sojourn < target, or nearly empty --------+   +---+
//! ```

use super::CodelConfig;
use crate::packet::{Ecn, Packet};
use crate::time::{Span, Time};

#[cfg(test)]
mod tests;

/// Where a loop takes its packets from.
pub(super) trait Bin {
    /// The oldest packet.
    fn pop(&mut self) -> Option<Packet>;
    /// Bytes that stand in the whole discipline.
    fn backlog_bytes(&self) -> u64;
    /// A packet dies.
    fn kill(&mut self, packet: Packet);
    /// A packet was marked.
    fn marked(&mut self);
}

/// What a loop is told.
#[derive(Clone, Copy, Debug)]
pub(super) struct Params {
    target: Ticks,
    interval: Ticks,
    ce_threshold: Option<Ticks>,
    ce_selector: Option<(u8, u8)>,
    ecn: bool,
    mtu: u32,
}

/// What a loop remembers.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Control {
    dropping: bool,
    /// Drops since it began to drop.
    count: u32,
    /// `count` when it last began to drop.
    last_count: u32,
    /// 1/sqrt(count) in units of 2⁻¹⁶.
    inverse_sqrt: u16,
    /// When packets will have waited too long for an interval; 0 is never.
    above_until: Ticks,
    drop_next: Ticks,
    sojourn: Ticks,
}

/// Times in units of 1024 ns.
type Ticks = u32;

impl Params {
    /// tc hands microseconds to the kernel, and the kernel shifts them.
    pub fn new(config: &CodelConfig) -> Self {
        Self {
            target: ticks(config.target),
            interval: ticks(config.interval),
            ce_threshold: config.ce_threshold.map(ticks),
            ce_selector: config.ce_selector,
            ecn: config.ecn,
            mtu: config.mtu,
        }
    }
}

impl Control {
    /// The next packet that may leave.
    pub fn next(&mut self, params: &Params, now: Time, bin: &mut impl Bin) -> Option<Packet> {
        let now = clock(now);
        let Some(head) = bin.pop() else {
            self.above_until = 0;
            self.dropping = false;
            return None;
        };
        let late = self.is_late(Some(&head), params, now, bin);
        let mut left = match (self.dropping, late) {
            (false, false) => Some(head),
            (false, true) => self.begin(head, params, now, bin),
            (true, true) => self.go_on(head, params, now, bin),
            (true, false) => {
                self.dropping = false;
                Some(head)
            }
        };
        if let (Some(threshold), Some(packet)) = (params.ce_threshold, &mut left)
            && is_after(self.sojourn, threshold)
            && packet.ecn.is_capable()
            && params.ce_selector.is_none_or(|(value, mask)| packet.ecn.bits() & mask == value)
        {
            packet.ecn = Ecn::Ce;
            bin.marked();
        }
        left
    }

    /// Drops by somebody else raise the signal too (`fq_codel_drop`).
    pub const fn add_drops(&mut self, drops: u32) {
        self.count = self.count.wrapping_add(drops);
    }

    /// Has the queue stood above target for an interval? A queue of a packet's size never has.
    fn is_late(&mut self, packet: Option<&Packet>, params: &Params, now: Ticks, bin: &impl Bin) -> bool {
        let Some(packet) = packet else {
            self.above_until = 0;
            return false;
        };
        self.sojourn = now.wrapping_sub(clock(packet.queued_at));
        if is_after(params.target, self.sojourn) || bin.backlog_bytes() <= u64::from(params.mtu) {
            self.above_until = 0;
            return false;
        }
        if self.above_until == 0 {
            self.above_until = now.wrapping_add(params.interval);
            return false;
        }
        is_after(now, self.above_until)
    }

    /// Calm → Dropping. When the last time was not long ago, it goes on where that one stopped.
    fn begin(&mut self, mut head: Packet, params: &Params, now: Ticks, bin: &mut impl Bin) -> Option<Packet> {
        let left = if mark(&mut head, params, bin) {
            Some(head)
        } else {
            bin.kill(head);
            let next = bin.pop();
            self.is_late(next.as_ref(), params, now, bin);
            next
        };
        self.dropping = true;
        let fresh = self.count.wrapping_sub(self.last_count);
        let since = now.wrapping_sub(self.drop_next);
        if fresh > 1 && is_after(REMEMBERED_INTERVALS.wrapping_mul(params.interval), since) {
            self.count = fresh;
            self.improve_inverse_sqrt();
        } else {
            self.count = 1;
            self.inverse_sqrt = u16::MAX;
        }
        self.last_count = self.count;
        self.drop_next = self.next_after(now, params);
        left
    }

    /// Dropping: one or more, as many as are due.
    fn go_on(&mut self, head: Packet, params: &Params, now: Ticks, bin: &mut impl Bin) -> Option<Packet> {
        let mut head = Some(head);
        while self.dropping && !is_after(self.drop_next, now) {
            let mut packet = head?;
            self.count = self.count.wrapping_add(1);
            self.improve_inverse_sqrt();
            if mark(&mut packet, params, bin) {
                self.drop_next = self.next_after(self.drop_next, params);
                return Some(packet);
            }
            bin.kill(packet);
            head = bin.pop();
            if self.is_late(head.as_ref(), params, now, bin) {
                self.drop_next = self.next_after(self.drop_next, params);
            } else {
                self.dropping = false;
            }
        }
        head
    }

    /// The control law: `interval` / sqrt(count) after `from`.
    fn next_after(&self, from: Ticks, params: &Params) -> Ticks {
        let fraction = u64::from(self.inverse_sqrt) << 16;
        from.wrapping_add(high(u64::from(params.interval) * fraction))
    }

    /// One Newton step towards 1/sqrt(count): x ← x × (3 − count × x²) / 2 (`codel_Newton_step`).
    fn improve_inverse_sqrt(&mut self) {
        let x = u64::from(self.inverse_sqrt) << 16;
        let square = u64::from(high(x * x));
        let rest = (3u64 << 32).wrapping_sub(u64::from(self.count).wrapping_mul(square));
        // Two bits less, so that the product does not overflow.
        let next = (rest >> 2).wrapping_mul(x) >> (32 - 2 + 1);
        self.inverse_sqrt = low((next >> 16) & 0xffff);
    }
}

/// Marks a packet when that is wished and possible, and says whether it was.
fn mark(packet: &mut Packet, params: &Params, bin: &mut impl Bin) -> bool {
    let marks = params.ecn && packet.ecn.is_capable();
    if marks {
        packet.ecn = Ecn::Ce;
        bin.marked();
    }
    marks
}

fn clock(time: Time) -> Ticks {
    wrapped(time.as_nanos() >> 10)
}

fn ticks(span: Span) -> Ticks {
    wrapped((span.as_micros() * 1_000) >> 10)
}

/// Is `a` later than `b`, on a clock that wraps?
const fn is_after(a: Ticks, b: Ticks) -> bool {
    a.wrapping_sub(b).cast_signed() > 0
}

#[expect(clippy::cast_possible_truncation, reason = "Linux's clock has 32 bits and wraps")]
const fn wrapped(ticks: u64) -> Ticks {
    ticks as Ticks
}

const fn high(product: u64) -> u32 {
    (product >> 32) as u32
}

#[expect(clippy::cast_possible_truncation, reason = "it was masked")]
const fn low(number: u64) -> u16 {
    number as u16
}

/// Intervals after which it forgets how often it had to drop.
const REMEMBERED_INTERVALS: u32 = 16;
