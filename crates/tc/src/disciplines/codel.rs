//! codel's options (iproute2 `tc/q_codel.c`, `net/sched/sch_codel.c`).

use crate::attributes::{Attributes, take_over};
use crate::syntax::attributes::{AttributeBytes, OPTIONS};
use crate::syntax::grammar::{Argument, Grammar, Keyword, Options, flag, option, span_us};
use crate::syntax::{Device, Wrong};
use dumbbell_net::queue::Config;
use dumbbell_net::queue::config::CodelConfig;

const LIMIT: u32 = 1_000;
const TARGET_US: u32 = 5_000;
const INTERVAL_US: u32 = 100_000;

/// `TCA_CODEL_*`, and `TCA_FQ_CODEL_*` up to ECN.
pub(crate) mod sent {
    pub const TARGET: u16 = 1;
    pub const LIMIT: u16 = 2;
    pub const INTERVAL: u16 = 3;
    pub const ECN: u16 = 4;
    pub const CE_THRESHOLD: u16 = 5;
}

/// Times in microseconds.
#[derive(Clone, Debug)]
pub struct Codel {
    pub(crate) limit: Option<u32>,
    target: Option<u32>,
    interval: Option<u32>,
    ecn: Option<bool>,
    pub(crate) ce_threshold: Option<u32>,
}

/// Also options of `fq_codel`.
pub(crate) const KEYWORDS: &[Keyword] = &[
    option("limit", &[Argument::Packets]),
    option("target", &[Argument::Time]),
    option("interval", &[Argument::Time]),
    flag("ecn"),
    flag("noecn"),
    option("ce_threshold", &[Argument::Time]),
];

impl Attributes for Codel {
    const GRAMMAR: Grammar = &[KEYWORDS];

    fn parse(options: &Options<'_>) -> Result<Self, Wrong> {
        Ok(Self {
            limit: options.count("limit")?,
            target: options.micros_above_zero("target")?,
            interval: options.micros_above_zero("interval")?,
            ecn: options.switch("ecn", "noecn"),
            ce_threshold: options.micros("ce_threshold")?,
        })
    }

    fn change(&mut self, new: Self) -> Result<(), Wrong> {
        take_over!(self, new, limit, target, interval, ecn, ce_threshold);
        Ok(())
    }

    fn config(&self, device: &Device) -> Result<Config, Wrong> {
        Ok(Config::Codel(self.control(device, LIMIT, false)))
    }

    fn send(&self, to: &mut AttributeBytes) -> Result<(), Wrong> {
        to.nested(OPTIONS, |to| {
            self.send_shared(to);
            to.some_u32(sent::CE_THRESHOLD, self.ce_threshold);
        });
        Ok(())
    }
}

impl Codel {
    /// Appends what `fq_codel` sends with the same types.
    pub(crate) fn send_shared(&self, to: &mut AttributeBytes) {
        to.above_zero(sent::LIMIT, self.limit);
        to.some_u32(sent::INTERVAL, self.interval);
        to.some_u32(sent::TARGET, self.target);
        to.switch(sent::ECN, self.ecn);
    }

    /// Settings with the defaults for `limit` and `ecn`.
    pub(crate) fn control(&self, device: &Device, limit: u32, ecn: bool) -> CodelConfig {
        CodelConfig {
            limit: self.limit.unwrap_or(limit),
            target: span_us(self.target.unwrap_or(TARGET_US)),
            interval: span_us(self.interval.unwrap_or(INTERVAL_US)),
            ecn: self.ecn.unwrap_or(ecn),
            ce_threshold: self.ce_threshold.map(span_us),
            ce_selector: None,
            mtu: device.mtu,
        }
    }
}
