//! COBALT, cake's control loop: `CoDel` while sojourn time is too long, BLUE while the queue overflows (Linux 6.12
//! `net/sched/sch_cake.c`; T. Høiland-Jørgensen, D. Täht, J. Morton, "Piece of CAKE", 2018, section III.C).
//!
//! The `CoDel` part differs from RFC 8289: its count decays step by step once the delay is below target instead of
//! being reset, and it never drops the last packet of a queue (the owner ensures that). The BLUE part drops at random;
//! its probability rises with every overflow and falls each time the queue runs empty.

use super::shaper::Price;
use crate::packet::Packet;
use crate::queue::bucket::{nanos, span_nanos};
use crate::queue::control::newton_step;
use crate::rate::Rate;
use crate::rng::Rng;
use crate::time::Span;

#[cfg(test)]
mod tests;

/// Parameters of a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::struct_field_names, reason = "each is a time with its unit")]
pub(super) struct Params {
    /// Target sojourn time.
    pub target_ns: i64,
    /// Interval: how long the target may be exceeded before the first signal.
    pub interval_ns: i64,
    /// Transmission time of an MTU-sized packet at the rate.
    pub packet_ns: i64,
}

/// State of a loop.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cobalt {
    /// Signals since the target was exceeded; decays once it is met again.
    count: u32,
    /// 1/√count in units of 2⁻³².
    inverse_sqrt: u32,
    next_ns: i64,
    blue_at_ns: i64,
    /// BLUE's drop probability in units of 2⁻³².
    blue: u32,
    dropping: bool,
    /// Whether the last packet judged was marked.
    pub marked: bool,
}

impl Params {
    /// Times at a rate. At a low rate one packet alone takes longer than the target; both times are then raised
    /// (`cake_set_rate`).
    pub fn new(rate: Option<Rate>, mtu: u32, target: Span, interval: Span) -> Self {
        let packet_ns = Price::at(rate).of(mtu).cast_signed();
        let target_ns = (packet_ns * 3 / 2).max(span_nanos(target));
        let interval_ns = (span_nanos(interval) + target_ns - span_nanos(target)).max(target_ns * 2);
        Self { target_ns, interval_ns, packet_ns }
    }
}

impl Cobalt {
    /// Whether the packet about to leave must be dropped. `CoDel` marks it instead if possible, BLUE does not.
    /// `bulk_flows` is 0 unless the shaper counts dropped packets.
    pub fn judges(
        &mut self,
        params: &Params,
        now_ns: i64,
        packet: &mut Packet,
        bulk_flows: u32,
        rng: &mut Rng,
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
            self.marked = packet.mark();
            drop = !self.marked;
            self.count = self.count.saturating_add(1);
            late_ns = self.schedule(params, now_ns);
        } else if is_due {
            late_ns = self.count_down(params, now_ns);
        }
        if self.blue > 0 {
            drop |= rng.next_u32() < self.blue;
        }
        if self.count == 0 {
            self.next_ns = now_ns + params.interval_ns;
        } else if late_ns > 0 && !drop {
            self.next_ns = now_ns;
        }
        drop
    }

    /// The queue overflowed and dropped a packet.
    pub fn overflows(&mut self, params: &Params, now_ns: i64) {
        if now_ns - self.blue_at_ns > params.target_ns {
            self.blue = self.blue.saturating_add(BLUE_UP);
            self.blue_at_ns = now_ns;
        }
        self.dropping = true;
        self.next_ns = now_ns;
        self.count = self.count.max(1);
    }

    /// The queue ran empty.
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

    /// Whether the loop is back in its initial state.
    pub const fn is_settled(&self, now_ns: i64) -> bool {
        self.blue == 0 && self.count == 0 && now_ns >= self.next_ns
    }

    /// Updates the time at which sojourn exceeds the target.
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

    /// Sojourn is below target: the count decays by one for each signal that is due.
    fn count_down(&mut self, params: &Params, now_ns: i64) -> i64 {
        loop {
            self.count -= 1;
            let late_ns = self.schedule(params, now_ns);
            if self.count == 0 || late_ns < 0 {
                return late_ns;
            }
        }
    }

    /// Sets the time of the next signal after the count changed; returns by how much it is overdue.
    fn schedule(&mut self, params: &Params, now_ns: i64) -> i64 {
        self.take_root();
        self.next_ns += self.gap_ns(params);
        now_ns - self.next_ns
    }

    /// Exact for small counts, one Newton step for others.
    fn take_root(&mut self) {
        if let Some(&root) = ROOTS.get(usize::try_from(self.count).expect("32 bits are a usize")) {
            self.inverse_sqrt = root;
            return;
        }
        self.inverse_sqrt = newton_step(self.inverse_sqrt, self.count);
    }

    /// interval/√count; only the interval's low 32 bits count (`reciprocal_scale`).
    const fn gap_ns(&self, params: &Params) -> i64 {
        let interval = params.interval_ns.cast_unsigned() & 0xffff_ffff;
        ((interval * self.inverse_sqrt as u64) >> 32).cast_signed()
    }
}

/// BLUE's steps: 1/256 up, 1/4096 down.
const BLUE_UP: u32 = 1 << 24;
const BLUE_DOWN: u32 = 1 << 20;

/// 2³²/√count, as far as 32 bits hold it: the values to which [`newton_step`] converges.
const ROOTS: [u32; 16] = roots();

/// Each from the one before, by eight steps while they differ much, then by four.
const fn roots() -> [u32; 16] {
    let mut roots = [u32::MAX; 16];
    let mut count = 1;
    while count < 16 {
        let mut root = roots[count as usize - 1];
        let mut steps = if count < 8 { 8 } else { 4 };
        while steps > 0 {
            root = newton_step(root, count);
            steps -= 1;
        }
        roots[count as usize] = root;
        count += 1;
    }
    roots
}
