//! hhf's options (iproute2 `tc/q_hhf.c`, `net/sched/sch_hhf.c`).

use crate::attributes::{Attributes, take_over};
use crate::syntax::attributes::{AttributeBytes, OPTIONS};
use crate::syntax::grammar::{Argument, Grammar, Options, option, span_us};
use crate::syntax::{Device, Wrong};
use dumbbell_net::queue::Config;
use dumbbell_net::queue::config::HhfConfig;
use dumbbell_net::queue::drr::quantum as bounded;

const LIMIT: u32 = 1_000;
const MIN_QUANTUM: u32 = 256;
const MAX_HEAVY: u32 = 2_048;
const RESET_US: u32 = 40_000;
const ADMIT_BYTES: u32 = 131_072;
const EVICT_US: u32 = 1_000_000;
const WEIGHT: u32 = 2;

/// What tc sends: no zeros.
#[derive(Clone, Debug)]
pub struct Hhf {
    limit: Option<u32>,
    quantum: Option<u32>,
    hh_limit: Option<u32>,
    reset_us: Option<u32>,
    admit_bytes: Option<u32>,
    evict_us: Option<u32>,
    non_hh_weight: Option<u32>,
}

impl Attributes for Hhf {
    const GRAMMAR: Grammar = &[&[
        option("limit", &[Argument::Packets]),
        option("quantum", &[Argument::Count]),
        option("hh_limit", &[Argument::Count]),
        option("reset_timeout", &[Argument::Time]),
        option("admit_bytes", &[Argument::Count]),
        option("evict_timeout", &[Argument::Time]),
        option("non_hh_weight", &[Argument::Count]),
    ]];

    fn parse(options: &Options<'_>) -> Result<Self, Wrong> {
        Ok(Self {
            limit: options.count_above_zero("limit")?,
            quantum: options.count_above_zero("quantum")?,
            hh_limit: options.count_above_zero("hh_limit")?,
            reset_us: options.micros_above_zero("reset_timeout")?,
            admit_bytes: options.count_above_zero("admit_bytes")?,
            evict_us: options.micros_above_zero("evict_timeout")?,
            non_hh_weight: options.count_above_zero("non_hh_weight")?,
        })
    }

    fn change(&mut self, new: Self) -> Result<(), Wrong> {
        take_over!(self, new, limit, quantum, hh_limit, reset_us, admit_bytes, evict_us, non_hh_weight);
        Ok(())
    }

    fn config(&self, device: &Device) -> Result<Config, Wrong> {
        let quantum = self.quantum.map_or_else(|| bounded(device.mtu), |quantum| quantum.max(MIN_QUANTUM));
        let non_hh_weight = self.non_hh_weight.unwrap_or(WEIGHT);
        if u64::from(quantum) * u64::from(non_hh_weight) > i32::MAX as u64 {
            return Err(Wrong::new("hhf's quantum × non_hh_weight is above 2147483647 bytes", ""));
        }
        let hh_limit = self.hh_limit.unwrap_or(MAX_HEAVY);
        if hh_limit > MAX_HEAVY {
            return Err(Wrong::new(format!("hhf has at most {MAX_HEAVY} heavy hitters"), "a smaller hh_limit"));
        }
        Ok(Config::Hhf(HhfConfig {
            limit: self.limit.unwrap_or(LIMIT),
            quantum,
            hh_limit,
            reset_timeout: span_us(self.reset_us.unwrap_or(RESET_US)).jiffies_up(),
            admit_bytes: self.admit_bytes.unwrap_or(ADMIT_BYTES),
            evict_timeout: span_us(self.evict_us.unwrap_or(EVICT_US)).jiffies_up(),
            non_hh_weight,
        }))
    }

    fn send(&self, to: &mut AttributeBytes) -> Result<(), Wrong> {
        // `TCA_HHF_*`, from 1.
        let attributes = [
            self.limit,
            self.quantum,
            self.hh_limit,
            self.reset_us,
            self.admit_bytes,
            self.evict_us,
            self.non_hh_weight,
        ];
        to.nested(OPTIONS, |to| (1..).zip(attributes).for_each(|(kind, value)| to.some_u32(kind, value)));
        Ok(())
    }
}
