//! sfb's options (iproute2 `tc/q_sfb.c`, `net/sched/sch_sfb.c`).
#![expect(clippy::float_arithmetic, reason = "tc computes with doubles")]

use crate::attributes::Attributes;
use crate::syntax::attributes::{AttributeBytes, OPTIONS, Structure};
use crate::syntax::grammar::{Argument, Grammar, Options, option};
use crate::syntax::quantity::truncated;
use crate::syntax::{Device, Wrong};
use dumbbell_net::queue::Config;
use dumbbell_net::queue::config::SfbConfig;
use dumbbell_net::time::Span;

const REHASH_MS: u32 = 600_000;
const WARMUP_MS: u32 = 60_000;
const MAX: u32 = 25;
const INCREMENT: u32 = 33;
const DECREMENT: u32 = 3;
const PENALTY_RATE: u32 = 10;
const PENALTY_BURST: u32 = 20;
/// `SFB_MAX_PROB`.
const ALWAYS: f64 = 65_535.0;
/// A time that does not fit an int is as good as infinite (`msecs_to_jiffies`).
const NEVER_JIFFIES: u64 = (i64::MAX as u64 >> 1) - 1;

/// tc always sends all of them; of the limit 0 is the device's queue length.
#[derive(Clone, Debug)]
pub struct Sfb {
    settings: SfbConfig,
    /// `rehash` and `db`, in milliseconds.
    times: [u32; 2],
}

/// `TCA_SFB_PARMS`.
const PARAMETERS: u16 = 1;

impl Attributes for Sfb {
    const GRAMMAR: Grammar = &[&[
        option("rehash", &[Argument::Count]),
        option("db", &[Argument::Count]),
        option("limit", &[Argument::Packets]),
        option("max", &[Argument::Count]),
        option("target", &[Argument::Count]),
        option("increment", &[Argument::Fraction]),
        option("decrement", &[Argument::Fraction]),
        option("penalty_rate", &[Argument::Count]),
        option("penalty_burst", &[Argument::Count]),
    ]];

    fn parse(options: &Options<'_>) -> Result<Self, Wrong> {
        let number = |name, default| Ok(options.count(name)?.unwrap_or(default));
        let (max, target) = (number("max", 0)?, number("target", 0)?);
        // tc computes in 32 bits.
        let max = match (max, target) {
            (0, 0) => MAX,
            (0, _) => target.wrapping_mul(5).wrapping_add(1) / 4,
            _ => max,
        };
        let target = if target == 0 { max.wrapping_mul(4).wrapping_add(3) / 5 } else { target };
        let times = [number("rehash", REHASH_MS)?, number("db", WARMUP_MS)?];
        let settings = SfbConfig {
            limit: number("limit", 0)?,
            max,
            target,
            increment: probability(options, "increment")?.unwrap_or(INCREMENT),
            decrement: probability(options, "decrement")?.unwrap_or(DECREMENT),
            rehash: jiffies(times[0]),
            warmup: jiffies(times[1]),
            penalty_rate: number("penalty_rate", PENALTY_RATE)?,
            penalty_burst: number("penalty_burst", PENALTY_BURST)?,
            rules: Vec::new(),
        };
        Ok(Self { settings, times })
    }

    fn config(&self, device: &Device) -> Result<Config, Wrong> {
        let limit = if self.settings.limit > 0 { self.settings.limit } else { device.queue_length };
        Ok(Config::Sfb(Box::new(SfbConfig { limit, ..self.settings.clone() })))
    }

    fn send(&self, to: &mut AttributeBytes) -> Result<(), Wrong> {
        let (sfb, [rehash, warmup]) = (&self.settings, self.times);
        let parameters = Structure::default().u32(rehash).u32(warmup).u32(sfb.max).u32(sfb.target);
        let parameters = parameters.u32(sfb.increment).u32(sfb.decrement).u32(sfb.limit);
        let parameters = parameters.u32(sfb.penalty_rate).u32(sfb.penalty_burst).finish();
        to.nested(OPTIONS, |to| to.bytes(PARAMETERS, &parameters));
        Ok(())
    }
}

/// Milliseconds in jiffies.
fn jiffies(millis: u32) -> u64 {
    if i32::try_from(millis).is_ok() { Span::from_millis(millis.into()).jiffies_up() } else { NEVER_JIFFIES }
}

/// A probability in units of 1/65535, rounded as tc does.
fn probability(options: &Options<'_>, name: &str) -> Result<Option<u32>, Wrong> {
    match options.fraction(name)? {
        Some(share) if share > 1.0 => Err(Wrong::new(format!("sfb's {name} is above 1"), "such as 0.0005")),
        Some(share) => Ok(u32::try_from(truncated(share * ALWAYS + 0.5)).ok()),
        None => Ok(None),
    }
}
