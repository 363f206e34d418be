//! `fq_codel`'s options (iproute2 `tc/q_fq_codel.c`, `net/sched/sch_fq_codel.c`).

use crate::attributes::{Attributes, take_over};
use crate::disciplines::codel::{Codel, KEYWORDS};
use crate::syntax::attributes::{AttributeBytes, OPTIONS};
use crate::syntax::grammar::{Argument, Grammar, Options, option};
use crate::syntax::quantity::value_and_mask;
use crate::syntax::{Device, Wrong};
use dumbbell_net::queue::Config;
use dumbbell_net::queue::config::FqCodelConfig;
use dumbbell_net::queue::rounds::{MAX_QUANTUM, MIN_QUANTUM};

const LIMIT: u32 = 10_240;
const FLOWS: u32 = 1_024;
const MAX_FLOWS: u32 = 65_536;
const MEMORY: u32 = 32 << 20;
const MAX_MEMORY: u32 = 1 << 31;
const DROP_BATCH: u32 = 64;

/// `TCA_FQ_CODEL_*`.
mod sent {
    pub const FLOWS: u16 = 5;
    pub const QUANTUM: u16 = 6;
    pub const CE_THRESHOLD: u16 = 7;
    pub const DROP_BATCH: u16 = 8;
    pub const MEMORY_LIMIT: u16 = 9;
    pub const CE_SELECTOR: u16 = 10;
    pub const CE_MASK: u16 = 11;
}

/// What tc sends.
#[derive(Clone, Debug)]
pub struct FqCodel {
    codel: Codel,
    flows: Option<u32>,
    quantum: Option<u32>,
    memory_limit: Option<u32>,
    drop_batch: Option<u32>,
    ce_selector: Option<(u8, u8)>,
}

impl Attributes for FqCodel {
    const GRAMMAR: Grammar = &[
        KEYWORDS,
        &[
            option("flows", &[Argument::Count]),
            option("quantum", &[Argument::Count]),
            option("memory_limit", &[Argument::Size]),
            option("drop_batch", &[Argument::Count]),
            option("ce_threshold_selector", &[Argument::ValueAndMask]),
        ],
    ];

    fn parse(options: &Options<'_>) -> Result<Self, Wrong> {
        Ok(Self {
            codel: Codel::parse(options)?,
            flows: options.count_above_zero("flows")?,
            quantum: options.count_above_zero("quantum")?,
            memory_limit: options.size(&["memory_limit"])?,
            drop_batch: options.count("drop_batch")?,
            ce_selector: options.first("ce_threshold_selector").map(value_and_mask).transpose()?,
        })
    }

    fn change(&mut self, new: Self) -> Result<(), Wrong> {
        if new.flows.is_some() {
            return Err(Wrong::new("fq_codel's 'flows' can't be changed", ""));
        }
        self.codel.change(new.codel)?;
        take_over!(self, new, quantum, memory_limit, drop_batch, ce_selector);
        Ok(())
    }

    fn config(&self, device: &Device) -> Result<Config, Wrong> {
        let flows = self.flows.unwrap_or(FLOWS);
        let quantum = self.quantum.map_or(device.mtu, |quantum| quantum.max(MIN_QUANTUM));
        if quantum > MAX_QUANTUM || !(1..=MAX_FLOWS).contains(&flows) {
            return Err(Wrong::new("fq_codel takes 1 to 65536 flows and a quantum up to 1048576", ""));
        }
        let mut codel = self.codel.control(device, LIMIT, true);
        codel.ce_selector = self.ce_selector.filter(|(_, mask)| *mask > 0);
        Ok(Config::FqCodel(FqCodelConfig {
            limit: codel.limit,
            flows,
            quantum,
            memory_limit: u64::from(self.memory_limit.unwrap_or(MEMORY).min(MAX_MEMORY)),
            drop_batch: self.drop_batch.unwrap_or(DROP_BATCH).max(1),
            codel,
        }))
    }

    fn send(&self, to: &mut AttributeBytes) -> Result<(), Wrong> {
        to.nested(OPTIONS, |to| {
            self.codel.send_shared(to);
            to.above_zero(sent::FLOWS, self.flows);
            to.some_u32(sent::QUANTUM, self.quantum);
            to.some_u32(sent::CE_THRESHOLD, self.codel.ce_threshold);
            if let Some((value, mask)) = self.ce_selector {
                to.u8(sent::CE_MASK, mask);
                to.u8(sent::CE_SELECTOR, value);
            }
            to.some_u32(sent::MEMORY_LIMIT, self.memory_limit);
            to.above_zero(sent::DROP_BATCH, self.drop_batch);
        });
        Ok(())
    }
}
