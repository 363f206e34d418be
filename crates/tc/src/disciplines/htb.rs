//! The options of htb and its classes (iproute2 `tc/q_htb.c`, `net/sched/sch_htb.c`).

use crate::attributes::Attributes;
use crate::syntax::attributes::{AttributeBytes, OPTIONS, Structure};
use crate::syntax::grammar::{Argument, Grammar, Keyword, Options, minor_number, option};
use crate::syntax::rate_table::{LinkRate, bucket_ticks};
use crate::syntax::repeated::refuse_repeated;
use crate::syntax::{Device, Wrong};
use dumbbell_net::queue::Config;
use dumbbell_net::queue::config::{HtbClass, HtbConfig};
use dumbbell_net::queue::htb::class::{RATE_TO_QUANTUM, default_quantum};
use dumbbell_net::rate::Rate;

const LOWEST_PRIORITY: u32 = 7;
/// What tc adds to a bucket without a size.
const CLASS_MTU: u32 = 1_600;
/// By which tc sizes such a bucket: the timers' resolution in Hz (`/proc/net/psched`).
const PSCHED_HZ: u64 = 1_000_000_000;

const VERSION: u32 = 3;

/// `TCA_HTB_*`.
mod attribute {
    pub const PARAMETERS: u16 = 1;
    pub const GLOBAL: u16 = 2;
    pub const CEIL_TABLE: u16 = 3;
    pub const RATE_TABLE: u16 = 4;
    pub const DIRECT_LIMIT: u16 = 5;
    pub const RATE64: u16 = 6;
    pub const CEIL64: u16 = 7;
}

/// What tc sends.
#[derive(Clone, Debug)]
pub struct Htb {
    default: u32,
    /// Rate ÷ quantum of classes without a quantum.
    rate_to_quantum: u32,
    direct_limit: Option<u32>,
}

impl Attributes for Htb {
    const GRAMMAR: Grammar = &[&[
        option("default", &[Argument::Minor]),
        option("r2q", &[Argument::Count]),
        option("direct_qlen", &[Argument::Count]),
    ]];

    fn parse(options: &Options<'_>) -> Result<Self, Wrong> {
        Ok(Self {
            default: options.first("default").and_then(minor_number).map_or(0, u32::from),
            rate_to_quantum: options.count("r2q")?.unwrap_or(RATE_TO_QUANTUM).max(1),
            direct_limit: options.count("direct_qlen")?,
        })
    }

    fn change(&mut self, _: Self) -> Result<(), Wrong> {
        Err(Wrong::new("a htb can't be changed, at most its classes", ""))
    }

    fn config(&self, device: &Device) -> Result<Config, Wrong> {
        Ok(Config::Htb(Box::new(HtbConfig {
            default: self.default,
            classes: Vec::new(),
            filters: Vec::new(),
            direct_limit: self.direct_limit.unwrap_or(device.queue_length),
        })))
    }

    fn send(&self, to: &mut AttributeBytes) -> Result<(), Wrong> {
        let global = Structure::default().u32(VERSION).u32(self.rate_to_quantum).u32(self.default).u32(0).u32(0);
        to.nested(OPTIONS, |to| {
            to.bytes(attribute::GLOBAL, &global.finish());
            to.some_u32(attribute::DIRECT_LIMIT, self.direct_limit.filter(|limit| *limit < u32::MAX));
        });
        Ok(())
    }
}

/// The keywords of a class.
pub(crate) const CLASS: &[Keyword] = &[
    option("rate", &[Argument::Rate]),
    option("ceil", &[Argument::Rate]),
    option("burst", &[Argument::Size]),
    option("cburst", &[Argument::Size]),
    option("quantum", &[Argument::Count]),
    option("mtu", &[Argument::Count]),
    option("mpu", &[Argument::Count]),
    option("prio", &[Argument::Count]),
    option("overhead", &[Argument::Count]),
];

/// What tc sends for a class.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Class {
    rate: LinkRate,
    ceil: LinkRate,
    /// Buckets in bytes.
    burst: u64,
    cburst: u64,
    /// The same in ticks.
    buckets: [u32; 2],
    quantum: Option<u32>,
    prio: u32,
}

impl Class {
    pub fn parse(options: &Options<'_>) -> Result<Self, Wrong> {
        refuse_repeated("htb", options, &[&["rate"], &["ceil"]])?;
        let rate = options.rate("rate")?;
        let rate = rate.ok_or_else(|| Wrong::new("an htb class needs a rate", "such as htb rate 80mbit"))?;
        let ceil = options.rate("ceil")?.unwrap_or(rate);
        if rate == Rate::ZERO || ceil == Rate::ZERO {
            return Err(Wrong::new("an htb class with a rate below a byte per second", ""));
        }
        let size = |name| Ok(options.size(&[name])?.filter(|size| *size > 0));
        let small = |name| {
            let bytes = options.count(name)?.unwrap_or(0);
            let problem = |_| Wrong::new(format!("htb's {name} of {bytes} does not fit 16 bits"), "at most 65535");
            u16::try_from(bytes).map_err(problem)
        };
        let mtu = options.count("mtu")?.unwrap_or(CLASS_MTU);
        let bucket =
            |size: Option<u32>, rate: Rate| size.map_or(rate.as_bytes() / PSCHED_HZ + u64::from(mtu), u64::from);
        let (mpu, overhead) = (small("mpu")?, small("overhead")?);
        let link = |rate| LinkRate { rate, mtu, mpu, overhead };
        let (burst, cburst) = (bucket(size("burst")?, rate), bucket(size("cburst")?, ceil));
        let buckets = [bucket_ticks("htb", "burst", burst, rate)?, bucket_ticks("htb", "cburst", cburst, ceil)?];
        Ok(Self {
            rate: link(rate),
            ceil: link(ceil),
            burst,
            cburst,
            buckets,
            quantum: options.count_above_zero("quantum")?,
            prio: options.count("prio")?.unwrap_or(0),
        })
    }

    /// Appends the options.
    pub fn send(&self, to: &mut AttributeBytes) {
        let specifications = [self.rate, self.ceil].map(LinkRate::specification).concat();
        let [burst, cburst] = self.buckets;
        let parameters = Structure::default().bytes(&specifications).u32(burst).u32(cburst);
        // The level is the kernel's.
        let parameters = parameters.u32(self.quantum.unwrap_or(0)).u32(0).u32(self.prio).finish();
        to.nested(OPTIONS, |to| {
            self.rate.wide().into_iter().for_each(|rate| to.u64(attribute::RATE64, rate));
            self.ceil.wide().into_iter().for_each(|rate| to.u64(attribute::CEIL64, rate));
            to.bytes(attribute::PARAMETERS, &parameters);
            to.bytes(attribute::RATE_TABLE, &self.rate.table());
            to.bytes(attribute::CEIL_TABLE, &self.ceil.table());
        });
    }
}

impl Htb {
    /// A class with these numbers.
    pub(crate) fn class(&self, minor: u32, parent: u32, options: &Options<'_>) -> Result<HtbClass, Wrong> {
        let class = Class::parse(options)?;
        let link_layer = [("mpu", class.rate.mpu), ("overhead", class.rate.overhead)];
        if let Some((option, _)) = link_layer.into_iter().find(|(_, bytes)| *bytes > 0) {
            return Err(Wrong::lacking(format!("the simulator's htb has no '{option}'"), ""));
        }
        let (rate, ceil) = (class.rate.rate, class.ceil.rate);
        Ok(HtbClass {
            minor,
            parent,
            rate,
            ceil,
            burst: class.burst,
            cburst: class.cburst,
            quantum: class.quantum.unwrap_or_else(|| default_quantum(rate, self.rate_to_quantum)),
            prio: u8::try_from(class.prio.min(LOWEST_PRIORITY)).expect("at most 7"),
            leaf: None,
        })
    }
}
