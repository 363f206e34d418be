//! pie's options (iproute2 `tc/q_pie.c`, `net/sched/sch_pie.c`). tc sends no zeros.

use crate::queue::Config;
use crate::queue::config::PieConfig;
use crate::tc::disciplines::{Attributes, take_over};
use crate::tc::grammar::{Argument, Grammar, Keyword, Options, flag, option, span_us};
use crate::tc::quantity::tick_span;
use crate::tc::{Device, Wrong};
use alloc::format;

const LIMIT: u32 = 1_000;
const TARGET_US: u32 = 15_000;
const UPDATE_US: u32 = 15_000;
const ALPHA: u32 = 2;
const BETA: u32 = 20;
const MAX_GAIN: u32 = 32;

/// Times in microseconds, gains in sixteenths.
#[derive(Clone, Debug)]
pub struct Pie {
    limit: Option<u32>,
    target: Option<u32>,
    tupdate: Option<u32>,
    alpha: Option<u32>,
    beta: Option<u32>,
    ecn: Option<bool>,
    bytemode: Option<bool>,
    dq_rate_estimator: Option<bool>,
}

/// Also options of `fq_pie`.
pub(crate) const KEYWORDS: &[Keyword] = &[
    option("limit", &[Argument::Packets]),
    option("target", &[Argument::Time]),
    option("tupdate", &[Argument::Time]),
    option("alpha", &[Argument::Count]),
    option("beta", &[Argument::Count]),
    flag("ecn"),
    flag("noecn"),
    flag("bytemode"),
    flag("nobytemode"),
    flag("dq_rate_estimator"),
    flag("no_dq_rate_estimator"),
];

impl Attributes for Pie {
    const GRAMMAR: Grammar = &[KEYWORDS];

    fn parse(options: &Options<'_>) -> Result<Self, Wrong> {
        let gain = |name| {
            let gain = options.count_above_zero(name)?;
            match gain {
                Some(gain) if gain > MAX_GAIN => {
                    Err(Wrong::new(format!("pie's {name} is above {MAX_GAIN}"), "the kernel's unit is a sixteenth"))
                }
                _ => Ok(gain),
            }
        };
        Ok(Self {
            limit: options.count_above_zero("limit")?,
            target: options.micros_above_zero("target")?,
            tupdate: options.micros_above_zero("tupdate")?,
            alpha: gain("alpha")?,
            beta: gain("beta")?,
            ecn: options.switch("ecn", "noecn"),
            bytemode: options.switch("bytemode", "nobytemode"),
            dq_rate_estimator: options.switch("dq_rate_estimator", "no_dq_rate_estimator"),
        })
    }

    fn change(&mut self, new: Self) -> Result<(), Wrong> {
        take_over!(self, new, limit, target, tupdate, alpha, beta, ecn, bytemode, dq_rate_estimator);
        Ok(())
    }

    fn config(&self, device: &Device) -> Result<Config, Wrong> {
        Ok(Config::Pie(self.control(device, LIMIT)))
    }
}

impl Pie {
    /// Settings with the default for `limit`.
    pub(crate) fn control(&self, device: &Device, limit: u32) -> PieConfig {
        let update = span_us(self.tupdate.unwrap_or(UPDATE_US)).jiffies_up();
        PieConfig {
            limit: self.limit.unwrap_or(limit),
            target: tick_span(u64::from(self.target.unwrap_or(TARGET_US))),
            tupdate: u32::try_from(update).expect("fewer jiffies than microseconds"),
            alpha: self.alpha.unwrap_or(ALPHA),
            beta: self.beta.unwrap_or(BETA),
            ecn: self.ecn.unwrap_or(false),
            bytemode: self.bytemode.unwrap_or(false),
            dq_rate_estimator: self.dq_rate_estimator.unwrap_or(false),
            mtu: device.mtu,
        }
    }
}
