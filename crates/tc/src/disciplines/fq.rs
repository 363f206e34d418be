//! fq's options (iproute2 `tc/q_fq.c`, `net/sched/sch_fq.c`).

use crate::options::{Declared, Settings, count, number, options, own, packets, rate, switch, time};
use crate::syntax::grammar::{Argument, option, span_us};
use crate::syntax::quantity::time_ns;
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

options! {
    /// Times in microseconds, but the slack in nanoseconds. `buckets` has no effect that an experiment can measure; it is
    /// sent as a logarithm.
    Fq {
        buckets: u32 = 8, BUCKETS;
        limit: u32 = 1, packets("limit");
        flow_limit: u32 = 2, packets("flow_limit");
        quantum: u32 = 3, count("quantum");
        initial_quantum: u32 = 4, count("initial_quantum");
        pacing: bool = 5, switch("pacing", "nopacing");
        max_rate: Rate = 7, rate("maxrate", |options, words| options.narrow_rate("fq", words[0].name));
        low_rate_threshold: Rate = 11,
            rate("low_rate_threshold", |options, words| options.narrow_rate("fq", words[0].name));
        refill_delay: u32 = 9, time("refill_delay");
        orphan_mask: u32 = 10, count("orphan_mask");
        ce_threshold: u32 = 12, time("ce_threshold");
        timer_slack: u32 = 13, SLACK;
        horizon: u32 = 14, time("horizon");
        horizon_drop: bool = 15, HORIZON_DROP;
    }
}

const BUCKETS: Declared<u32> = own(
    [option("buckets", &[Argument::Count])],
    |options, words| {
        let buckets = options.count(words[0].name)?;
        if buckets.is_some_and(|buckets| !(2..=MAX_BUCKETS).contains(&buckets)) {
            return Err(Wrong::new(format!("fq takes 2 to {MAX_BUCKETS} buckets"), ""));
        }
        Ok(buckets)
    },
    |to, kind, buckets| to.u32(kind, buckets.ilog2()),
);
const SLACK: Declared<u32> =
    number("timer_slack", &[Argument::Time], |options, words| options.first(words[0].name).map(nanos).transpose());
const HORIZON_DROP: Declared<bool> =
    switch("horizon_drop", "horizon_cap").sent_by(|to, kind, drop| to.u8(kind, drop.into()));

impl Settings for Fq {
    fn settings(&self, device: &Device) -> Result<Config, Wrong> {
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
