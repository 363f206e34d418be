//! sfq's options (iproute2 `tc/q_sfq.c`, `net/sched/sch_sfq.c`).

use crate::attributes::Attributes;
use crate::disciplines::choke::thresholds;
use crate::disciplines::red::{
    Estimator, SHARED, basic, check_weight, default_burst, parameters, probability, written_flags,
};
use crate::options::{count, joined, packets, size, structure, written};
use crate::syntax::attributes::{AttributeBytes, OPTIONS};
use crate::syntax::grammar::{Argument, Grammar, Options, flag, keywords, option};
use crate::syntax::{Device, Wrong};
use dumbbell_net::queue::Config;
use dumbbell_net::queue::config::{RedConfig, SfqConfig};
use dumbbell_net::queue::sfq::{MAX_DEPTH, MAX_DIVISOR, MAX_FLOWS, MIN_QUANTUM};
use dumbbell_net::time::HZ;

const LIMIT: u32 = 127;
const FLOWS: u32 = 128;
const DIVISOR: u32 = 1_024;
const MAX_QUANTUM: u32 = 1 << 20;
/// Seconds that fit an int in jiffies.
const MAX_PERTURB: u64 = i32::MAX as u64 / HZ;
const AVERAGE_PACKET: u32 = 1_000;
/// Any of these gives each queue a red.
const RED: Grammar = &[
    &[option("redflowlimit", &[Argument::Count]), option("min", &[Argument::Count]), option("max", &[Argument::Count])],
    SHARED,
    &[flag("harddrop")],
];

/// `struct tc_sfqred_stats`, which only the kernel fills.
const COUNTERS: [u8; 24] = [0; 24];

structure! {
    /// Zeros are the kernel's defaults.
    Numbers {
        quantum: size("quantum"), 0;
        perturb: count("perturb"), 0;
        limit: packets("limit"), 0;
        divisor: count("divisor"), 0;
        flows: count("flows"), 0;
        depth: count("depth"), 0;
        headdrop: written("headdrop"), 0;
    }
}

/// tc sends all of them if any option was written (`struct tc_sfq_qopt_v1`).
#[derive(Clone, Debug)]
pub struct Sfq {
    numbers: Numbers,
    /// With `redflowlimit`; the kernel has no red whose `min` is 0.
    red: Option<(u32, RedConfig)>,
    is_default: bool,
}

impl Attributes for Sfq {
    const GRAMMAR: Grammar = &joined::<{ Numbers::WORDS.len() + RED.len() }>(Numbers::WORDS, RED);

    fn parse(options: &Options<'_>) -> Result<Self, Wrong> {
        let numbers = Numbers::read(options)?;
        if options.has("limit") && numbers.limit < 2 {
            return Err(Wrong::new("sfq's limit is below 2 packets", ""));
        }
        let has_red = keywords(RED).any(|keyword| options.has(keyword.name));
        let red = if has_red { Some(red(options)?) } else { None };
        Ok(Self { numbers, red, is_default: options.iter().next().is_none() })
    }

    /// Without an option tc sends nothing that the kernel would refuse.
    fn change(&mut self, new: Self) -> Result<(), Wrong> {
        if new.is_default {
            return Ok(());
        }
        Err(Wrong::new("a sfq can't be changed", ""))
    }

    fn config(&self, device: &Device) -> Result<Config, Wrong> {
        let Numbers { quantum, perturb, limit, divisor, flows, depth, headdrop } = self.numbers;
        let or = |number: u32, default: u32| if number > 0 { number } else { default };
        if divisor > MAX_DIVISOR || (divisor > 0 && !divisor.is_power_of_two()) {
            return Err(Wrong::new("sfq's divisor is no power of two up to 65536", ""));
        }
        if quantum > MAX_QUANTUM || u64::from(perturb) > MAX_PERTURB {
            let hint = format!("at most {MAX_QUANTUM} bytes, {MAX_PERTURB} seconds");
            return Err(Wrong::new("sfq's quantum or perturb is too large", hint));
        }
        let depth = or(depth, MAX_DEPTH).min(MAX_DEPTH);
        let flows = or(flows, FLOWS).min(MAX_FLOWS).min(or(divisor, MAX_FLOWS));
        let limit = limit.min(depth * flows);
        if limit == 1 {
            return Err(Wrong::new("sfq's depth and flows leave one packet of limit", "two or more"));
        }
        Ok(Config::Sfq(Box::new(SfqConfig {
            limit: or(limit, LIMIT),
            depth,
            flows: flows.min(or(limit, flows)),
            divisor: or(divisor, DIVISOR),
            quantum: or(quantum, device.mtu).max(MIN_QUANTUM),
            perturb,
            headdrop: headdrop > 0,
            red: self.red.as_ref().map(|(_, red)| red.clone()).filter(|red| red.min > 0),
        })))
    }

    fn send(&self, to: &mut AttributeBytes) -> Result<(), Wrong> {
        if self.is_default {
            return Ok(());
        }
        let (red, max_p) = match &self.red {
            Some((limit, red)) => (parameters(red, *limit, written_flags(red)), red.max_p.0),
            None => ([0; 16].to_vec(), 0),
        };
        to.bytes(OPTIONS, &self.numbers.structure().bytes(&red).u32(max_p).bytes(&COUNTERS).finish());
        Ok(())
    }
}

fn red(options: &Options<'_>) -> Result<(u32, RedConfig), Wrong> {
    let Some(limit) = options.count_above_zero("redflowlimit")? else {
        return Err(Wrong::new("sfq's red needs 'redflowlimit'", "such as redflowlimit 100000"));
    };
    let (min, max) = thresholds("sfq", options, limit)?;
    let average = options.size(&["avpkt"])?.filter(|average| *average > 0).unwrap_or(AVERAGE_PACKET);
    let burst = options.count_above_zero("burst")?.map_or_else(|| default_burst(min, max, average), u64::from);
    let estimator = Estimator { kind: "sfq", average };
    let wlog = estimator.weight(min, burst)?;
    check_weight("sfq", max, wlog)?;
    let plog = estimator.slope(min, max, probability(options)?)?;
    Ok((limit, RedConfig { plog, ..basic(options, 0, min, max, wlog)? }))
}
