//! choke's options (iproute2 `tc/q_choke.c`, `net/sched/sch_choke.c`).

use crate::attributes::Attributes;
use crate::disciplines::red::{
    Estimator, SHARED, bandwidth, basic, check_weight, default_burst, parameters, probability, send_shared,
    written_flags,
};
use crate::syntax::attributes::{AttributeBytes, OPTIONS};
use crate::syntax::grammar::{Argument, Grammar, Options, option};
use crate::syntax::{Device, Wrong};
use dumbbell_net::queue::Config;
use dumbbell_net::queue::config::{ChokeConfig, RedConfig};

const AVERAGE_PACKET: u32 = 1_000;
const MAX_LIMIT: u32 = 128 * 1024 - 1;

/// tc always sends all of them.
#[derive(Clone, Debug)]
pub struct Choke(ChokeConfig);

impl Attributes for Choke {
    const GRAMMAR: Grammar = &[
        &[
            option("limit", &[Argument::Packets]),
            option("min", &[Argument::Count]),
            option("max", &[Argument::Count]),
            option("bandwidth", &[Argument::Rate]),
        ],
        SHARED,
    ];

    fn parse(options: &Options<'_>) -> Result<Self, Wrong> {
        let (Some(limit), Some(bandwidth)) = (options.count_above_zero("limit")?, bandwidth("choke", options)?) else {
            return Err(Wrong::new("choke needs 'limit' and 'bandwidth'", "such as choke limit 200 bandwidth 20mbit"));
        };
        if limit > MAX_LIMIT {
            return Err(Wrong::new(format!("choke holds at most {MAX_LIMIT} packets"), "a smaller limit"));
        }
        let (min, max) = thresholds("choke", options, limit)?;
        let average = options.size(&["avpkt"])?.unwrap_or(AVERAGE_PACKET);
        let in_bytes = |packets: u32| {
            let problem = || Wrong::new("choke's thresholds × avpkt do not fit 32 bits", "a smaller avpkt");
            packets.checked_mul(average).ok_or_else(problem)
        };
        let burst = options.count_above_zero("burst")?.map_or_else(|| default_burst(min, max, 1), u64::from);
        let estimator = Estimator { kind: "choke", average };
        let wlog = estimator.weight(in_bytes(min)?, burst)?;
        check_weight("choke", max, wlog)?;
        let (scell_log, idle_damping) = estimator.damping(wlog, bandwidth)?;
        let plog = estimator.slope(in_bytes(min)?, in_bytes(max)?, probability(options)?)?;
        let red = RedConfig { plog, scell_log, idle_damping, ..basic(options, 0, min, max, wlog)? };
        Ok(Self(ChokeConfig { limit, red }))
    }

    fn config(&self, _: &Device) -> Result<Config, Wrong> {
        Ok(Config::Choke(Box::new(self.0.clone())))
    }

    fn send(&self, to: &mut AttributeBytes) -> Result<(), Wrong> {
        let ChokeConfig { limit, red } = &self.0;
        to.nested(OPTIONS, |to| send_shared(red, &parameters(red, *limit, written_flags(red)), to));
        Ok(())
    }
}

/// Thresholds of choke and sfq, in units of `limit`.
pub(crate) fn thresholds(kind: &str, options: &Options<'_>, limit: u32) -> Result<(u32, u32), Wrong> {
    let max = options.count_above_zero("max")?.unwrap_or(limit / 4);
    let min = options.count_above_zero("min")?.unwrap_or(max / 3);
    if max > limit {
        return Err(Wrong::new(format!("{kind}'s max is above its limit"), "a smaller max"));
    }
    if min >= max {
        return Err(Wrong::new(format!("{kind}'s min is not below its max"), "a smaller min"));
    }
    Ok((min, max))
}
