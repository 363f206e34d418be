//! pie's options (iproute2 `tc/q_pie.c`, `net/sched/sch_pie.c`). tc sends no zeros.

use crate::attributes::{Attributes, take_over};
use crate::syntax::attributes::{AttributeBytes, OPTIONS};
use crate::syntax::grammar::{Argument, Grammar, Keyword, Options, flag, option, span_us};
use crate::syntax::quantity::tick_span;
use crate::syntax::{Device, Wrong};
use dumbbell_net::queue::Config;
use dumbbell_net::queue::config::PieConfig;

const LIMIT: u32 = 1_000;
const TARGET_US: u32 = 15_000;
const UPDATE_US: u32 = 15_000;
const ALPHA: u32 = 2;
const BETA: u32 = 20;
const MAX_GAIN: u32 = 32;

/// `TCA_PIE_*`.
mod sent {
    pub const TARGET: u16 = 1;
    pub const LIMIT: u16 = 2;
    pub const TUPDATE: u16 = 3;
    pub const ALPHA: u16 = 4;
    pub const BETA: u16 = 5;
    pub const ECN: u16 = 6;
    pub const BYTEMODE: u16 = 7;
    pub const DQ_RATE_ESTIMATOR: u16 = 8;
}

/// Times in microseconds, gains in sixteenths.
#[derive(Clone, Debug)]
pub struct Pie {
    pub(crate) limit: Option<u32>,
    pub(crate) target: Option<u32>,
    pub(crate) tupdate: Option<u32>,
    pub(crate) alpha: Option<u32>,
    pub(crate) beta: Option<u32>,
    pub(crate) ecn: Option<bool>,
    pub(crate) bytemode: Option<bool>,
    pub(crate) dq_rate_estimator: Option<bool>,
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

    fn send(&self, to: &mut AttributeBytes) -> Result<(), Wrong> {
        to.nested(OPTIONS, |to| {
            to.some_u32(sent::LIMIT, self.limit);
            to.some_u32(sent::TUPDATE, self.tupdate);
            to.some_u32(sent::TARGET, self.target);
            to.some_u32(sent::ALPHA, self.alpha);
            to.some_u32(sent::BETA, self.beta);
            to.switch(sent::ECN, self.ecn);
            to.switch(sent::BYTEMODE, self.bytemode);
            to.switch(sent::DQ_RATE_ESTIMATOR, self.dq_rate_estimator);
        });
        Ok(())
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
