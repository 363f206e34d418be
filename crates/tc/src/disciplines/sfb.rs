//! sfb's options (iproute2 `tc/q_sfb.c`, `net/sched/sch_sfb.c`).
#![expect(clippy::float_arithmetic, reason = "tc computes with doubles")]

use crate::attributes::Attributes;
use crate::options::{count, number, packets, structure};
use crate::syntax::attributes::{AttributeBytes, OPTIONS};
use crate::syntax::grammar::{Argument, Grammar, Keyword, Options};
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

structure! {
    /// tc always sends all of them (`struct tc_sfb_qopt`); of the limit 0 is the device's queue length. `rehash` and `db` in
    /// milliseconds.
    Sfb {
        rehash: count("rehash"), REHASH_MS;
        db: count("db"), WARMUP_MS;
        max: count("max"), 0;
        target: count("target"), 0;
        increment: number("increment", &[Argument::Fraction], probability), INCREMENT;
        decrement: number("decrement", &[Argument::Fraction], probability), DECREMENT;
        limit: packets("limit"), 0;
        penalty_rate: count("penalty_rate"), PENALTY_RATE;
        penalty_burst: count("penalty_burst"), PENALTY_BURST;
    }
}

/// `TCA_SFB_PARMS`.
const PARAMETERS: u16 = 1;

impl Attributes for Sfb {
    const GRAMMAR: Grammar = Self::WORDS;

    fn parse(options: &Options<'_>) -> Result<Self, Wrong> {
        let mut sfb = Self::read(options)?;
        // tc computes in 32 bits.
        sfb.max = match (sfb.max, sfb.target) {
            (0, 0) => MAX,
            (0, target) => target.wrapping_mul(5).wrapping_add(1) / 4,
            (max, _) => max,
        };
        if sfb.target == 0 {
            sfb.target = sfb.max.wrapping_mul(4).wrapping_add(3) / 5;
        }
        Ok(sfb)
    }

    fn config(&self, device: &Device) -> Result<Config, Wrong> {
        let Self { rehash, db, max, target, increment, decrement, limit, penalty_rate, penalty_burst } = *self;
        let limit = if limit > 0 { limit } else { device.queue_length };
        let (rehash, warmup, rules) = (jiffies(rehash), jiffies(db), Vec::new());
        Ok(Config::Sfb(Box::new(SfbConfig {
            limit,
            max,
            target,
            increment,
            decrement,
            rehash,
            warmup,
            penalty_rate,
            penalty_burst,
            rules,
        })))
    }

    fn send(&self, to: &mut AttributeBytes) -> Result<(), Wrong> {
        to.nested(OPTIONS, |to| to.bytes(PARAMETERS, &self.structure().finish()));
        Ok(())
    }
}

/// Milliseconds in jiffies.
fn jiffies(millis: u32) -> u64 {
    if i32::try_from(millis).is_ok() { Span::from_millis(millis.into()).jiffies_up() } else { NEVER_JIFFIES }
}

/// A probability in units of 1/65535, rounded as tc does.
fn probability(options: &Options<'_>, words: &[Keyword]) -> Result<Option<u32>, Wrong> {
    let name = words[0].name;
    match options.fraction(name)? {
        Some(share) if share > 1.0 => Err(Wrong::new(format!("sfb's {name} is above 1"), "such as 0.0005")),
        Some(share) => Ok(u32::try_from(truncated(share * ALWAYS + 0.5)).ok()),
        None => Ok(None),
    }
}
