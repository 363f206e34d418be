//! pie's drop probability and its decisions (Linux `include/net/pie.h`, `net/sched/sch_pie.c`).
//!
//! ```text
//!   every tupdate:  p += alpha × (delay − target) + beta × (delay − delay before)
//! ```
//!
//! Gains decrease with p (RFC 8033 section 5.1). Arithmetic is Linux's: times are ticks of 64 ns in 64 bits that wrap,
//! probabilities units of 2⁻⁵⁶.

use crate::number::low;
use crate::packet::{Ecn, Packet, TCP_HEADERS_BYTES};
use crate::queue::PieConfig;
use crate::rng::Rng;
use crate::time::{HZ, PSCHED_SHIFT, Time};
use crate::wheel;

/// Parameters.
#[derive(Clone, Copy, Debug)]
pub(in crate::queue) struct Params {
    target: Ticks,
    alpha: u64,
    beta: u64,
    pub ecn: bool,
    bytemode: bool,
    estimates: bool,
    mtu: u32,
}

/// State (`struct pie_vars`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::queue) struct Control {
    delay: Ticks,
    delay_before: Ticks,
    /// Remaining burst allowance: no drops for this long.
    burst: Ticks,
    /// Time of the last departure, or the start of the rate measurement.
    left_at: Option<Ticks>,
    probability: u64,
    /// Sum of probabilities since the last drop; evens out the gaps.
    sum: u64,
    /// Bytes sent since `left_at`; None while not measuring.
    counted: Option<u64>,
    /// Departure rate in bytes per tick, shifted left by 8.
    rate: u32,
}

/// Decision for a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::queue) enum Decision {
    /// Enqueue it.
    Pass,
    /// Enqueue it, marked CE.
    Mark,
    /// Drop it.
    Drop,
}

/// Emulates Linux's timer: computes how often it would have fired by now.
#[derive(Clone, Copy, Debug)]
pub(in crate::queue) struct Ticker {
    next: Time,
    /// Time of the last tick.
    last: u64,
    /// Period in jiffies; the timer fires in the jiffy after (`wheel`).
    pub period_jiffies: u32,
}

/// Times in units of 64 ns (`PSCHED_SHIFT`).
type Ticks = u64;

impl Params {
    /// From numbers as tc passes them.
    pub const fn new(config: &PieConfig) -> Self {
        Self {
            target: config.target.as_nanos() >> PSCHED_SHIFT,
            alpha: gain(config.alpha),
            beta: gain(config.beta),
            ecn: config.ecn,
            bytemode: config.bytemode,
            estimates: config.dq_rate_estimator,
            mtu: config.mtu,
        }
    }
}

/// Sixteenths of probability per second, converted to ticks.
const fn gain(sixteenths: u32) -> u64 {
    (sixteenths as u64 * (CERTAIN / TICKS_PER_SECOND)) >> 4
}

impl Default for Control {
    fn default() -> Self {
        Self { delay: 0, delay_before: 0, burst: BURST, left_at: None, probability: 0, sum: 0, counted: None, rate: 0 }
    }
}

impl Control {
    /// Decides about a packet that arrives at this backlog, or at a full queue. A selected packet is marked if it and
    /// the settings allow it and the probability is at most `marks_up_to`; otherwise it is dropped.
    pub fn admit(
        &mut self,
        params: &Params,
        full: bool,
        backlog_bytes: u64,
        packet: &mut Packet,
        marks_up_to: u64,
        rng: &mut Rng,
    ) -> Decision {
        if !full && !self.hits(params, backlog_bytes, packet, rng) {
            return Decision::Pass;
        }
        if !full && params.ecn && self.probability <= marks_up_to && packet.ecn.is_capable() {
            packet.ecn = Ecn::Ce;
            return Decision::Mark;
        }
        self.dropped();
        Decision::Drop
    }

    /// Whether to drop or mark a packet that arrives at this backlog (`pie_drop_early`).
    pub fn hits(&mut self, params: &Params, backlog_bytes: u64, packet: &Packet, rng: &mut Rng) -> bool {
        let calm = self.delay < params.target / 2 && self.probability < CERTAIN / 5;
        if self.burst > 0 || calm || backlog_bytes < 2 * u64::from(params.mtu) {
            return false;
        }
        let size = buffer_bytes(packet);
        let probability = if params.bytemode && size <= params.mtu {
            u64::from(size) * (self.probability / u64::from(params.mtu.max(1)))
        } else {
            self.probability
        };
        self.sum = if probability == 0 { 0 } else { self.sum.wrapping_add(probability) };
        if self.sum < CERTAIN / 100 * 85 {
            return false;
        }
        if self.sum >= CERTAIN / 2 * 17 {
            return true;
        }
        let hit = rng.next_u64() >> 8 < probability;
        if hit {
            self.sum = 0;
        }
        hit
    }

    /// A packet was dropped for any reason.
    pub const fn dropped(&mut self) {
        self.sum = 0;
    }

    /// A packet left, leaving this backlog (`pie_process_dequeue`).
    pub fn left(&mut self, params: &Params, packet: &Packet, backlog_bytes: u64, now: Time) {
        let now = ticks(now);
        let passed = if params.estimates {
            self.estimate(buffer_bytes(packet), backlog_bytes, now)
        } else {
            self.delay = if backlog_bytes > 0 { now.wrapping_sub(ticks(packet.queued_at)) } else { 0 };
            self.left_at.replace(now).map(|before| now - before)
        };
        self.burst = self.burst.saturating_sub(passed.unwrap_or(0));
    }

    /// Timer tick (`pie_calculate_probability`). Returns whether nothing changed, which means that the next tick
    /// changes nothing either.
    pub fn tick(&mut self, params: &Params, backlog_bytes: u64) -> bool {
        let before = *self;
        let (delay, delay_before) = self.delays(params, backlog_bytes);
        let step = step(self.gains(params), delay.wrapping_sub(params.target), delay.wrapping_sub(delay_before));
        let mut settled = delay == 0 && delay_before == 0 && backlog_bytes == 0;
        let delta = self.limited(step, delay);
        self.probability = match self.probability.checked_add_signed(delta) {
            Some(moved) => moved,
            None if delta > 0 => {
                settled = false;
                CERTAIN
            }
            None => 0,
        };
        if settled {
            self.probability -= self.probability / 64;
        }
        self.delay = delay;
        let calm = delay < params.target / 2 && self.delay_before < params.target / 2;
        if calm && self.probability == 0 && (!params.estimates || self.rate > 0) {
            let Self { delay, delay_before, probability, .. } = *self;
            *self = Self { delay, delay_before, probability, ..Self::default() };
        }
        if !params.estimates {
            self.delay_before = delay;
        }
        before == *self
    }

    /// In units of 2⁻⁵⁶.
    #[cfg(test)]
    pub const fn probability(&self) -> u64 {
        self.probability
    }

    /// Measures the departure rate while the queue is long; returns the length of a completed measurement.
    fn estimate(&mut self, bytes: u32, backlog_bytes: u64, now: Ticks) -> Option<Ticks> {
        if backlog_bytes >= MEASURE_BYTES && self.counted.is_none() {
            self.left_at = Some(now);
            self.counted = Some(0);
        }
        let counted = self.counted.as_mut()?;
        *counted += u64::from(bytes);
        if *counted < MEASURE_BYTES {
            return None;
        }
        let took = now - self.left_at.unwrap_or(now);
        let per_tick = low(*counted << RATE_SHIFT).checked_div(low(took))?;
        self.rate = if self.rate == 0 { per_tick } else { self.rate - (self.rate >> 3) + (per_tick >> 3) };
        if backlog_bytes < MEASURE_BYTES {
            self.counted = None;
        } else {
            self.counted = Some(0);
            self.left_at = Some(now);
        }
        Some(took)
    }

    /// The current and previous delay; a backlog's delay follows from the estimated rate.
    fn delays(&mut self, params: &Params, backlog_bytes: u64) -> (Ticks, Ticks) {
        if !params.estimates {
            return (self.delay, self.delay_before);
        }
        self.delay_before = self.delay;
        let delay = low(backlog_bytes << RATE_SHIFT).checked_div(self.rate).unwrap_or(0);
        (u64::from(delay), self.delay_before)
    }

    /// alpha and beta: below a probability of 10 % an eighth or less, a quarter less for each power of ten.
    fn gains(&self, params: &Params) -> (u64, u64) {
        let mut shift = 0;
        if self.probability < TEN_PERCENT {
            shift = 1;
            let mut power = 100;
            while power <= 1_000_000 && self.probability < CERTAIN / power {
                shift += 2;
                power *= 10;
            }
        }
        (params.alpha >> shift, params.beta >> shift)
    }

    /// Above 10 % the probability rises by at most 2 % per update, and by 2 % more while the delay exceeds 250 ms.
    const fn limited(&self, step: i64, delay: Ticks) -> i64 {
        let is_large = step > TWO_PERCENT && self.probability >= TEN_PERCENT;
        let step = if is_large { (CERTAIN / 100 * 2).cast_signed() } else { step };
        if delay > LONG_DELAY { step + TWO_PERCENT } else { step }
    }
}

impl Ticker {
    /// For a qdisc created just before the experiment: `pie_init` sets the timer half a second ahead, and in a guest it
    /// fires at 504 ms.
    pub fn new(period_jiffies: u32) -> Self {
        Self { next: wheel::at_jiffy(HZ / 2 + 1), last: 0, period_jiffies }
    }

    /// Whether another tick is due by now. Call until it is not.
    pub fn next_tick(&mut self, now: Time) -> bool {
        let due = self.next <= now;
        if due {
            self.last = self.next.jiffies();
            self.next = wheel::fires_from(self.last, self.period_jiffies.into());
        }
        due
    }

    /// The tick did not visit all flows: it continues with the next jiffy, not after a period.
    pub fn hurry(&mut self) {
        self.next = wheel::fires_from(self.last, 0);
    }
}

/// alpha × distance + beta × change, on 64 bits that wrap.
const fn step(gains: (u64, u64), distance: u64, change: u64) -> i64 {
    gains.0.wrapping_mul(distance).wrapping_add(gains.1.wrapping_mul(change)).cast_signed()
}

/// Length of a packet's buffer (`skb->len`): headers count once for any number of segments.
fn buffer_bytes(packet: &Packet) -> u32 {
    packet.bytes - (u32::from(packet.segments.max(1)) - 1) * TCP_HEADERS_BYTES
}

const fn ticks(time: Time) -> Ticks {
    time.as_nanos() >> PSCHED_SHIFT
}

const TICKS_PER_SECOND: u64 = 1_000_000_000 >> PSCHED_SHIFT;
/// A probability of one (`MAX_PROB`).
const CERTAIN: u64 = u64::MAX >> 8;
/// Up to this probability pie marks instead of dropping.
pub(in crate::queue) const TEN_PERCENT: u64 = CERTAIN / 10;
const TWO_PERCENT: i64 = (CERTAIN / 50).cast_signed();
/// Burst allowance: 150 ms without drops after an idle period.
const BURST: Ticks = 150_000_000 >> PSCHED_SHIFT;
const LONG_DELAY: Ticks = 250_000_000 >> PSCHED_SHIFT;
/// Bytes per rate measurement, and minimum backlog to start one (`QUEUE_THRESHOLD`).
const MEASURE_BYTES: u64 = 16_384;
/// `PIE_SCALE`.
const RATE_SHIFT: u32 = 8;

/// One percent in units of the probability.
pub(in crate::queue) const fn percent(share: u32) -> u64 {
    CERTAIN / 100 * share as u64
}
