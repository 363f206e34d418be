//! One class: its buckets and its mode.
//!
//! ```text
//!              ceil bucket < 0            rate bucket < 0
//!   CantSend <----------------- MayBorrow <--------------- CanSend
//!            ----------------->           --------------->
//! ```

use super::list::{ClassList, Id};
use crate::queue::HtbClass;
use crate::queue::bucket::Bucket;
use crate::queue::child::Child;
use crate::rate::Rate;
use crate::time::{PSCHED_TICK_NS, Span};
use alloc::boxed::Box;

/// tc's default of `r2q`.
pub const RATE_TO_QUANTUM: u32 = 10;
const MIN_QUANTUM: u32 = 1_000;
const MAX_QUANTUM: u32 = 200_000;

/// Number of priorities (`TC_HTB_NUMPRIO`).
pub(super) const PRIORITIES: usize = 8;
/// Maximum levels (`TC_HTB_MAXDEPTH`).
pub(super) const MAX_LEVELS: usize = 8;

/// What a class may do, given its buckets (`enum htb_cmode`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    CantSend,
    MayBorrow,
    CanSend,
}

/// A class.
#[derive(Debug)]
pub(super) struct Class<Q> {
    pub minor: u32,
    pub parent: Option<Id>,
    /// 0 for leaves, increasing towards the root.
    pub level: usize,
    pub mode: Mode,
    /// Bit mask of priorities for which it or a descendant has packets to send.
    pub active: u8,
    pub priority: usize,
    pub quantum: i64,
    /// Remaining deficit, by level at which it was served.
    pub deficits: [i64; MAX_LEVELS],
    /// Time of its next change of mode; its key in the level's waiting list.
    pub due_ns: i64,
    pub below: Below<Q>,
    rate: Bucket,
    ceil: Bucket,
    /// Time of the last bucket update (`t_c`).
    checked_ns: i64,
}

/// What a class contains.
#[derive(Debug)]
pub(super) enum Below<Q> {
    /// A leaf: packets.
    Leaf(Box<Q>),
    /// Classes that borrow from it, by priority.
    Classes(Box<[ClassList; PRIORITIES]>),
}

impl<Q: Child> Class<Q> {
    /// A class with full buckets.
    pub fn new(config: &HtbClass, parent: Option<Id>, level: usize, below: Below<Q>) -> Self {
        Self {
            minor: config.minor,
            parent,
            level,
            mode: Mode::CanSend,
            active: 0,
            priority: priority(config),
            quantum: quantum(config),
            deficits: [0; MAX_LEVELS],
            due_ns: 0,
            below,
            rate: Bucket::full(config.rate, depth(config.rate, config.burst)),
            ceil: Bucket::full(config.ceil, depth(config.ceil, config.cburst)),
            checked_ns: 0,
        }
    }

    /// Applies new settings; the tokens stay.
    pub fn change(&mut self, config: &HtbClass) {
        self.rate.reshape(config.rate, depth(config.rate, config.burst));
        self.ceil.reshape(config.ceil, depth(config.ceil, config.cburst));
        self.priority = priority(config);
        self.quantum = quantum(config);
    }

    /// Its mode at `now`, and the time until it may change (`htb_class_mode`).
    #[inline]
    pub fn mode_at(&self, now_ns: i64) -> (Mode, i64) {
        let elapsed_ns = self.elapsed(now_ns);
        let ceil_ns = self.ceil.tokens_ns() + elapsed_ns;
        if ceil_ns < 0 {
            return (Mode::CantSend, -ceil_ns);
        }
        let rate_ns = self.rate.tokens_ns() + elapsed_ns;
        if rate_ns < 0 { (Mode::MayBorrow, -rate_ns) } else { (Mode::CanSend, 0) }
    }

    /// Charges a packet sent at the expense of a class of `level`: this class pays, or only updates its time
    /// (`htb_charge_class`).
    #[inline]
    pub fn charge(&mut self, bytes: u32, level: usize, now_ns: i64) {
        let elapsed_ns = self.elapsed(now_ns);
        if self.level >= level {
            pay(&mut self.rate, elapsed_ns, bytes);
        } else {
            self.rate.gain(elapsed_ns);
        }
        pay(&mut self.ceil, elapsed_ns, bytes);
        self.checked_ns = now_ns;
    }

    /// Its qdisc, if it is a leaf.
    pub fn leaf(&self) -> Option<&Q> {
        match &self.below {
            Below::Leaf(leaf) => Some(leaf),
            Below::Classes(_) => None,
        }
    }

    /// Its qdisc, if it is a leaf.
    #[inline]
    pub fn leaf_mut(&mut self) -> Option<&mut Q> {
        match &mut self.below {
            Below::Leaf(leaf) => Some(leaf),
            Below::Classes(_) => None,
        }
    }

    /// Classes that borrow from it at this priority.
    pub fn list_mut(&mut self, priority: usize) -> &mut ClassList {
        match &mut self.below {
            Below::Classes(lists) => &mut lists[priority],
            Below::Leaf(_) => unreachable!("classes cannot borrow from a leaf"),
        }
    }

    fn elapsed(&self, now_ns: i64) -> i64 {
        (now_ns - self.checked_ns).min(MAX_WAIT_NS)
    }
}

fn pay(bucket: &mut Bucket, elapsed_ns: i64, bytes: u32) {
    let tokens_ns = bucket.after(elapsed_ns, bytes);
    bucket.set(tokens_ns.max(1 - MAX_WAIT_NS));
}

/// Bucket depth as time, as iproute2 6.1 passes it to the kernel: whole microseconds (`tc_core_time2tick` takes an
/// integer), then whole ticks of 64 ns.
fn depth(rate: Rate, bytes: u64) -> Span {
    let nanos = rate.time_for(bytes).as_micros() * 1_000;
    Span::from_nanos(nanos - nanos % PSCHED_TICK_NS)
}

fn priority(config: &HtbClass) -> usize {
    usize::from(config.prio).min(PRIORITIES - 1)
}

/// The given quantum, or a tenth of a second at `rate` within bounds (`r2q`).
fn quantum(config: &HtbClass) -> i64 {
    match config.quantum {
        0 => i64::from(default_quantum(config.rate, RATE_TO_QUANTUM)),
        given => i64::from(given),
    }
}

/// Maximum wait of a class, and maximum time that its buckets accumulate (`mbuffer`).
const MAX_WAIT_NS: i64 = 60_000_000_000;

/// The quantum of a class without one (`htb_change_class`).
#[must_use]
pub fn default_quantum(rate: Rate, rate_to_quantum: u32) -> u32 {
    let bytes = rate.as_bytes() / u64::from(rate_to_quantum);
    u32::try_from(bytes).unwrap_or(u32::MAX).clamp(MIN_QUANTUM, MAX_QUANTUM)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depth_is_rounded_to_microseconds_then_ticks_of_64_ns() {
        // 1514 B at 80 Mbit/s take 151.4 µs; 151 µs are 2359.4 ticks.
        assert_eq!(depth(Rate::from_bits(80_000_000), 1_514), Span::from_nanos(2_359 * 64));
        // At 10 Gbit/s 1.2112 µs: one microsecond, 15 ticks.
        assert_eq!(depth(Rate::from_bits(10_000_000_000), 1_514), Span::from_nanos(960));
    }
}
