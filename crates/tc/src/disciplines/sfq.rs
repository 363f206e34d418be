//! sfq's options (iproute2 `tc/q_sfq.c`, `net/sched/sch_sfq.c`).

use crate::attributes::Attributes;
use crate::disciplines::choke::thresholds;
use crate::disciplines::red::{
    Estimator, SHARED, basic, check_weight, default_burst, parameters, probability, written_flags,
};
use crate::syntax::attributes::{AttributeBytes, OPTIONS, Structure};
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

/// tc sends all of them if any option was written; zeros are the kernel's defaults.
#[derive(Clone, Debug)]
pub struct Sfq {
    limit: u32,
    depth: u32,
    flows: u32,
    divisor: u32,
    quantum: u32,
    perturb: u32,
    headdrop: bool,
    /// With `redflowlimit`; the kernel has no red whose `min` is 0.
    red: Option<(u32, RedConfig)>,
    is_default: bool,
}

impl Attributes for Sfq {
    const GRAMMAR: Grammar = &[
        &[
            option("limit", &[Argument::Packets]),
            option("perturb", &[Argument::Count]),
            option("quantum", &[Argument::Size]),
            option("divisor", &[Argument::Count]),
            option("depth", &[Argument::Count]),
            option("flows", &[Argument::Count]),
            flag("headdrop"),
        ],
        RED[0],
        RED[1],
        RED[2],
    ];

    fn parse(options: &Options<'_>) -> Result<Self, Wrong> {
        let number = |name| Ok(options.count(name)?.unwrap_or(0));
        let limit = number("limit")?;
        if options.has("limit") && limit < 2 {
            return Err(Wrong::new("sfq's limit is below 2 packets", ""));
        }
        Ok(Self {
            limit,
            depth: number("depth")?,
            flows: number("flows")?,
            divisor: number("divisor")?,
            quantum: options.size(&["quantum"])?.unwrap_or(0),
            perturb: number("perturb")?,
            headdrop: options.has("headdrop"),
            red: if keywords(RED).any(|keyword| options.has(keyword.name)) { Some(red(options)?) } else { None },
            is_default: options.iter().next().is_none(),
        })
    }

    /// Without an option tc sends nothing that the kernel would refuse.
    fn change(&mut self, new: Self) -> Result<(), Wrong> {
        if new.is_default {
            return Ok(());
        }
        Err(Wrong::new("a sfq can't be changed", ""))
    }

    fn config(&self, device: &Device) -> Result<Config, Wrong> {
        let or = |number: u32, default: u32| if number > 0 { number } else { default };
        if self.divisor > MAX_DIVISOR || (self.divisor > 0 && !self.divisor.is_power_of_two()) {
            return Err(Wrong::new("sfq's divisor is no power of two up to 65536", ""));
        }
        if self.quantum > MAX_QUANTUM || u64::from(self.perturb) > MAX_PERTURB {
            let right = format!("at most {MAX_QUANTUM} bytes, {MAX_PERTURB} seconds");
            return Err(Wrong::new("sfq's quantum or perturb is too large", right));
        }
        let depth = or(self.depth, MAX_DEPTH).min(MAX_DEPTH);
        let flows = or(self.flows, FLOWS).min(MAX_FLOWS).min(or(self.divisor, MAX_FLOWS));
        let limit = self.limit.min(depth * flows);
        if limit == 1 {
            return Err(Wrong::new("sfq's depth and flows leave one packet of limit", "two or more"));
        }
        Ok(Config::Sfq(Box::new(SfqConfig {
            limit: or(limit, LIMIT),
            depth,
            flows: flows.min(or(limit, flows)),
            divisor: or(self.divisor, DIVISOR),
            quantum: or(self.quantum, device.mtu).max(MIN_QUANTUM),
            perturb: self.perturb,
            headdrop: self.headdrop,
            red: self.red.as_ref().map(|(_, red)| red.clone()).filter(|red| red.min > 0),
        })))
    }

    fn send(&self, to: &mut AttributeBytes) -> Result<(), Wrong> {
        if self.is_default {
            return Ok(());
        }
        let queues = Structure::default().u32(self.quantum).u32(self.perturb).u32(self.limit).u32(self.divisor);
        let queues = queues.u32(self.flows).u32(self.depth).u32(self.headdrop.into());
        let (red, max_p) = match &self.red {
            Some((limit, red)) => (parameters(red, *limit, written_flags(red)), red.max_p.0),
            None => ([0; 16].to_vec(), 0),
        };
        to.bytes(OPTIONS, &queues.bytes(&red).u32(max_p).bytes(&COUNTERS).finish());
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
