//! `CoDel`'s control loop: drops from the head while sojourn time exceeds `target` for an `interval` (RFC 8289).
//!
//! `codel` runs one loop, `fq_codel` one per flow. The loop reads packets through a [`PacketSource`]; the owner
//! enforces limits. Times are Linux's: units of 1024 ns in 32 bits that wrap (Linux `include/net/codel.h`,
//! `codel_impl.h`).
//!
//! ```text
//!             sojourn >= target for an interval: drop or mark one
//!    Calm ------------------------------------------------------> Dropping --+ every interval / sqrt(count)
//!      ^                                                             |   ^   | drop or mark one
//!      +------------------ sojourn < target, or nearly empty --------+   +---+
//! ```

use super::CodelConfig;
use crate::number::{high, low};
use crate::packet::Packet;
use crate::time::{Span, Time};

#[cfg(test)]
mod tests;

/// The queue that a loop dequeues from.
pub(super) trait PacketSource {
    /// Dequeues the oldest packet.
    fn pop(&mut self) -> Option<Packet>;
    /// Backlog of the whole qdisc in bytes.
    fn backlog_bytes(&self) -> u64;
    /// Drops a packet.
    fn drop_packet(&mut self, packet: Packet);
    /// Counts a marked packet.
    fn marked(&mut self);
}

/// Parameters of a loop.
#[derive(Clone, Copy, Debug)]
pub(super) struct Params {
    target: Ticks,
    interval: Ticks,
    ce_threshold: Option<Ticks>,
    ce_selector: Option<(u8, u8)>,
    ecn: bool,
    mtu: u32,
}

/// State of a loop.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Control {
    dropping: bool,
    /// Drops since it entered the dropping state.
    count: u32,
    /// `count` when it last entered the dropping state.
    last_count: u32,
    /// 1/sqrt(count) in units of 2⁻¹⁶.
    inverse_sqrt: u16,
    /// Time at which sojourn will have exceeded `target` for an interval; 0 if it does not exceed it.
    above_until: Ticks,
    drop_next: Ticks,
    sojourn: Ticks,
}

/// Times in units of 1024 ns.
type Ticks = u32;

impl Params {
    /// Converts as the kernel does: microseconds from tc, shifted.
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
    /// The next packet to send.
    pub fn next(&mut self, params: &Params, now: Time, source: &mut impl PacketSource) -> Option<Packet> {
        let now = clock(now);
        let Some(head) = source.pop() else {
            self.above_until = 0;
            self.dropping = false;
            return None;
        };
        let late = self.is_late(Some(&head), params, now, source);
        let mut left = match (self.dropping, late) {
            (false, false) => Some(head),
            (false, true) => self.begin(head, params, now, source),
            (true, true) => self.continue_dropping(head, params, now, source),
            (true, false) => {
                self.dropping = false;
                Some(head)
            }
        };
        if let (Some(threshold), Some(packet)) = (params.ce_threshold, &mut left)
            && is_after(self.sojourn, threshold)
            && params.ce_selector.is_none_or(|(value, mask)| packet.ecn.bits() & mask == value)
            && packet.mark()
        {
            source.marked();
        }
        left
    }

    /// Counts drops made elsewhere, which also raise the signal (`fq_codel_drop`).
    pub const fn add_drops(&mut self, drops: u32) {
        self.count = self.count.wrapping_add(drops);
    }

    /// Whether sojourn has exceeded `target` for an interval. A queue of at most one packet never has.
    fn is_late(&mut self, packet: Option<&Packet>, params: &Params, now: Ticks, source: &impl PacketSource) -> bool {
        let Some(packet) = packet else {
            self.above_until = 0;
            return false;
        };
        self.sojourn = now.wrapping_sub(clock(packet.queued_at));
        if is_after(params.target, self.sojourn) || source.backlog_bytes() <= u64::from(params.mtu) {
            self.above_until = 0;
            return false;
        }
        if self.above_until == 0 {
            self.above_until = now.wrapping_add(params.interval);
            return false;
        }
        is_after(now, self.above_until)
    }

    /// Calm → Dropping. Resumes at the earlier drop rate if the last dropping state ended recently.
    fn begin(
        &mut self,
        mut head: Packet,
        params: &Params,
        now: Ticks,
        source: &mut impl PacketSource,
    ) -> Option<Packet> {
        let left = if mark(&mut head, params, source) {
            Some(head)
        } else {
            source.drop_packet(head);
            let next = source.pop();
            self.is_late(next.as_ref(), params, now, source);
            next
        };
        self.dropping = true;
        let fresh = self.count.wrapping_sub(self.last_count);
        let since = now.wrapping_sub(self.drop_next);
        if fresh > 1 && is_after(RESUME_INTERVALS.wrapping_mul(params.interval), since) {
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

    /// Dropping: signals as often as due.
    fn continue_dropping(
        &mut self,
        head: Packet,
        params: &Params,
        now: Ticks,
        source: &mut impl PacketSource,
    ) -> Option<Packet> {
        let mut head = Some(head);
        while self.dropping && !is_after(self.drop_next, now) {
            let mut packet = head?;
            self.count = self.count.wrapping_add(1);
            self.improve_inverse_sqrt();
            if mark(&mut packet, params, source) {
                self.drop_next = self.next_after(self.drop_next, params);
                return Some(packet);
            }
            source.drop_packet(packet);
            head = source.pop();
            if self.is_late(head.as_ref(), params, now, source) {
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

    /// One Newton step, in 16 bits (`codel_Newton_step`).
    fn improve_inverse_sqrt(&mut self) {
        self.inverse_sqrt = upper_half(newton_step(u32::from(self.inverse_sqrt) << 16, self.count));
    }
}

/// One step of Newton's method towards 1/√count, in 2⁻³²: x ← x (3 − count x²) / 2 (`cobalt_newton_step`).
pub(super) const fn newton_step(root: u32, count: u32) -> u32 {
    let root = root as u64;
    let left = (3_u64 << 32).wrapping_sub((count as u64).wrapping_mul((root * root) >> 32));
    // Two bits less, to avoid overflow.
    low((left >> 2).wrapping_mul(root) >> 31)
}

/// Marks a packet if enabled and possible; returns whether it did.
fn mark(packet: &mut Packet, params: &Params, source: &mut impl PacketSource) -> bool {
    let marks = params.ecn && packet.mark();
    if marks {
        source.marked();
    }
    marks
}

fn clock(time: Time) -> Ticks {
    low(time.as_nanos() >> 10)
}

fn ticks(span: Span) -> Ticks {
    low((span.as_micros() * 1_000) >> 10)
}

/// Whether `a` is later than `b` on a clock that wraps.
const fn is_after(a: Ticks, b: Ticks) -> bool {
    a.wrapping_sub(b).cast_signed() > 0
}

const fn upper_half(number: u32) -> u16 {
    (number >> 16) as u16
}

/// Intervals after which it no longer resumes at the earlier drop rate.
const RESUME_INTERVALS: u32 = 16;
