//! The options of htb and its classes (iproute2 `tc/q_htb.c`, `net/sched/sch_htb.c`).

use crate::queue::Config;
use crate::queue::config::{HtbClass, HtbConfig};
use crate::rate::Rate;
use crate::tc::disciplines::Attributes;
use crate::tc::grammar::{Argument, Grammar, Keyword, Options, option};
use crate::tc::{Device, Wrong};
use alloc::boxed::Box;
use alloc::format;
use alloc::vec::Vec;

/// tc's default of `r2q`.
pub(crate) const RATE_TO_QUANTUM: u32 = 10;
const MIN_QUANTUM: u64 = 1_000;
const MAX_QUANTUM: u64 = 200_000;
const LOWEST_PRIORITY: u32 = 7;
/// What tc adds to a bucket without a size.
const CLASS_MTU: u32 = 1_600;
/// By which tc sizes such a bucket: the timers' resolution in Hz (`/proc/net/psched`).
const PSCHED_HZ: u64 = 1_000_000_000;

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
        option("default", &[Argument::Count]),
        option("r2q", &[Argument::Count]),
        option("direct_qlen", &[Argument::Count]),
    ]];

    fn parse(options: &Options<'_>) -> Result<Self, Wrong> {
        let default = options.first("default").unwrap_or("0");
        let default = u32::from_str_radix(default, 16)
            .map_err(|_| Wrong::new(format!("htb's default is not a class: '{default}'"), "such as default 10"))?;
        Ok(Self {
            default,
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
}

/// The quantum of a class without one (`htb_change_class`).
pub(crate) fn default_quantum(rate: Rate, rate_to_quantum: u32) -> u32 {
    let bytes = rate.as_bytes() / u64::from(rate_to_quantum);
    u32::try_from(bytes.clamp(MIN_QUANTUM, MAX_QUANTUM)).expect("at most 200,000")
}

/// The keywords of a class.
pub(crate) const CLASS: &[Keyword] = &[
    option("rate", &[Argument::Rate]),
    option("ceil", &[Argument::Rate]),
    option("burst", &[Argument::Size]),
    option("cburst", &[Argument::Size]),
    option("quantum", &[Argument::Size]),
    option("mtu", &[Argument::Size]),
    option("mpu", &[Argument::Size]),
    option("prio", &[Argument::Count]),
    option("overhead", &[Argument::Count]),
];

impl Htb {
    /// A class with these numbers.
    pub(crate) fn class(&self, minor: u32, parent: u32, options: &Options<'_>) -> Result<HtbClass, Wrong> {
        for option in ["mpu", "overhead"] {
            if options.size(&[option])?.is_some_and(|bytes| bytes > 0) {
                return Err(Wrong::lacking(format!("the simulator's htb has no '{option}'"), ""));
            }
        }
        let rate = options.rate("rate")?;
        let rate = rate.ok_or_else(|| Wrong::new("an htb class needs a rate", "such as htb rate 80mbit"))?;
        let ceil = options.rate("ceil")?.unwrap_or(rate);
        if rate == Rate::ZERO || ceil == Rate::ZERO {
            return Err(Wrong::new("an htb class with a rate below a byte per second", ""));
        }
        let size = |name| Ok(options.size(&[name])?.filter(|size| *size > 0));
        let mtu = u64::from(options.size(&["mtu"])?.unwrap_or(CLASS_MTU));
        let bucket = |size: Option<u32>, rate: Rate| size.map_or(rate.as_bytes() / PSCHED_HZ + mtu, u64::from);
        let prio = options.count("prio")?.unwrap_or(0).min(LOWEST_PRIORITY);
        Ok(HtbClass {
            minor,
            parent,
            rate,
            ceil,
            burst: bucket(size("burst")?, rate),
            cburst: bucket(size("cburst")?, ceil),
            quantum: size("quantum")?.unwrap_or_else(|| default_quantum(rate, self.rate_to_quantum)),
            prio: u8::try_from(prio).expect("at most 7"),
            leaf: None,
        })
    }
}
