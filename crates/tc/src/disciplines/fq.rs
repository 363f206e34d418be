//! fq's options (iproute2 `tc/q_fq.c`, `net/sched/sch_fq.c`).

use crate::attributes::{Attributes, take_over};
use crate::syntax::attributes::{AttributeBytes, OPTIONS};
use crate::syntax::grammar::{Argument, Grammar, Options, flag, option, span_us};
use crate::syntax::quantity::{fit, time_ns};
use crate::syntax::{Device, Wrong};
use dumbbell_net::queue::Config;
use dumbbell_net::queue::config::FqConfig;
use dumbbell_net::rate::Rate;
use dumbbell_net::time::Span;

const LIMIT: u32 = 10_000;
const FLOW_LIMIT: u32 = 100;
const MIN_QUANTUM: u32 = 256;
const MAX_QUANTUM: u32 = 1 << 20;
const REFILL_DELAY_US: u32 = 40_000;
const TIMER_SLACK: Span = Span::from_micros(10);
const HORIZON_US: u32 = 10_000_000;
/// 550 kbit/s.
const LOW_RATE_THRESHOLD: Rate = Rate::from_bits(550_000);
const ORPHAN_MASK: u32 = 1_023;
const MAX_BUCKETS: u32 = 1 << 18;

/// `TCA_FQ_*`.
mod sent {
    pub const LIMIT: u16 = 1;
    pub const FLOW_LIMIT: u16 = 2;
    pub const QUANTUM: u16 = 3;
    pub const INITIAL_QUANTUM: u16 = 4;
    pub const RATE_ENABLE: u16 = 5;
    pub const MAX_RATE: u16 = 7;
    pub const BUCKETS_LOG: u16 = 8;
    pub const REFILL_DELAY: u16 = 9;
    pub const ORPHAN_MASK: u16 = 10;
    pub const LOW_RATE_THRESHOLD: u16 = 11;
    pub const CE_THRESHOLD: u16 = 12;
    pub const TIMER_SLACK: u16 = 13;
    pub const HORIZON: u16 = 14;
    pub const HORIZON_DROP: u16 = 15;
}

/// Times in microseconds, but the slack in nanoseconds. `buckets` has no effect that an experiment can measure.
#[derive(Clone, Debug)]
pub struct Fq {
    limit: Option<u32>,
    buckets: Option<u32>,
    flow_limit: Option<u32>,
    quantum: Option<u32>,
    initial_quantum: Option<u32>,
    max_rate: Option<Rate>,
    orphan_mask: Option<u32>,
    pacing: Option<bool>,
    refill_delay: Option<u32>,
    low_rate_threshold: Option<Rate>,
    ce_threshold: Option<u32>,
    timer_slack: Option<u32>,
    horizon: Option<u32>,
    horizon_drop: Option<bool>,
}

impl Attributes for Fq {
    const GRAMMAR: Grammar = &[&[
        option("limit", &[Argument::Packets]),
        option("flow_limit", &[Argument::Packets]),
        option("quantum", &[Argument::Count]),
        option("initial_quantum", &[Argument::Count]),
        option("maxrate", &[Argument::Rate]),
        option("buckets", &[Argument::Count]),
        option("orphan_mask", &[Argument::Count]),
        flag("pacing"),
        flag("nopacing"),
        option("refill_delay", &[Argument::Time]),
        option("low_rate_threshold", &[Argument::Rate]),
        option("ce_threshold", &[Argument::Time]),
        option("timer_slack", &[Argument::Time]),
        option("horizon", &[Argument::Time]),
        flag("horizon_cap"),
        flag("horizon_drop"),
    ]];

    fn parse(options: &Options<'_>) -> Result<Self, Wrong> {
        let buckets = options.count("buckets")?;
        if buckets.is_some_and(|buckets| !(2..=MAX_BUCKETS).contains(&buckets)) {
            return Err(Wrong::new(format!("fq takes 2 to {MAX_BUCKETS} buckets"), ""));
        }
        Ok(Self {
            limit: options.count("limit")?,
            buckets,
            flow_limit: options.count("flow_limit")?,
            quantum: options.count("quantum")?,
            initial_quantum: options.count("initial_quantum")?,
            max_rate: options.narrow_rate("fq", "maxrate")?,
            orphan_mask: options.count("orphan_mask")?,
            pacing: options.switch("pacing", "nopacing"),
            refill_delay: options.micros("refill_delay")?,
            low_rate_threshold: options.narrow_rate("fq", "low_rate_threshold")?,
            ce_threshold: options.micros("ce_threshold")?,
            timer_slack: options.first("timer_slack").map(nanos).transpose()?,
            horizon: options.micros("horizon")?,
            horizon_drop: options.switch("horizon_drop", "horizon_cap"),
        })
    }

    fn change(&mut self, new: Self) -> Result<(), Wrong> {
        take_over!(self, new, limit, buckets, flow_limit, quantum, initial_quantum, max_rate, orphan_mask, pacing);
        take_over!(self, new, refill_delay, low_rate_threshold, ce_threshold, timer_slack, horizon, horizon_drop);
        Ok(())
    }

    fn config(&self, device: &Device) -> Result<Config, Wrong> {
        let default_initial = device.mtu.saturating_mul(10).min(MAX_QUANTUM);
        let initial_quantum = self.initial_quantum.unwrap_or(default_initial);
        if initial_quantum > MAX_QUANTUM {
            return Err(Wrong::new(format!("fq's initial_quantum is above {MAX_QUANTUM}"), ""));
        }
        Ok(Config::Fq(Box::new(FqConfig {
            limit: self.limit.unwrap_or(LIMIT),
            flow_limit: self.flow_limit.unwrap_or(FLOW_LIMIT),
            quantum: self.quantum.unwrap_or(device.mtu.saturating_mul(2)).clamp(MIN_QUANTUM, MAX_QUANTUM),
            initial_quantum,
            pacing: self.pacing.unwrap_or(true),
            max_rate: limited(self.max_rate),
            refill_delay: span_us(self.refill_delay.unwrap_or(REFILL_DELAY_US)),
            low_rate_threshold: self.low_rate_threshold.unwrap_or(LOW_RATE_THRESHOLD),
            orphan_mask: self.orphan_mask.unwrap_or(ORPHAN_MASK),
            ce_threshold: self.ce_threshold.map(span_us),
            timer_slack: self.timer_slack.map_or(TIMER_SLACK, |nanos| Span::from_nanos(u64::from(nanos))),
            horizon: span_us(self.horizon.unwrap_or(HORIZON_US)),
            horizon_drop: self.horizon_drop.unwrap_or(true),
        })))
    }

    fn send(&self, to: &mut AttributeBytes) -> Result<(), Wrong> {
        let narrow = |rate: Option<Rate>| rate.map(|rate| fit(rate.as_bytes(), "rate")).transpose();
        let (max_rate, low_rate) = (narrow(self.max_rate)?, narrow(self.low_rate_threshold)?);
        to.nested(OPTIONS, |to| {
            to.some_u32(sent::BUCKETS_LOG, self.buckets.map(u32::ilog2));
            to.some_u32(sent::LIMIT, self.limit);
            to.some_u32(sent::FLOW_LIMIT, self.flow_limit);
            to.some_u32(sent::QUANTUM, self.quantum);
            to.some_u32(sent::INITIAL_QUANTUM, self.initial_quantum);
            to.switch(sent::RATE_ENABLE, self.pacing);
            to.some_u32(sent::MAX_RATE, max_rate);
            to.some_u32(sent::LOW_RATE_THRESHOLD, low_rate);
            to.some_u32(sent::REFILL_DELAY, self.refill_delay);
            to.some_u32(sent::ORPHAN_MASK, self.orphan_mask);
            to.some_u32(sent::CE_THRESHOLD, self.ce_threshold);
            to.some_u32(sent::TIMER_SLACK, self.timer_slack);
            to.some_u32(sent::HORIZON, self.horizon);
            if let Some(drop) = self.horizon_drop {
                to.u8(sent::HORIZON_DROP, drop.into());
            }
        });
        Ok(())
    }
}

/// The attribute has 32 bits; all of them set are no limit.
fn limited(rate: Option<Rate>) -> Option<Rate> {
    rate.filter(|rate| rate.as_bytes() < u64::from(u32::MAX))
}

/// Nanoseconds in 32 bits.
fn nanos(word: &str) -> Result<u32, Wrong> {
    let problem = |_| Wrong::new(format!("fq's timer_slack of {word} does not fit 32 bits"), "at most 4294967295ns");
    u32::try_from(time_ns(word)?).map_err(problem)
}
