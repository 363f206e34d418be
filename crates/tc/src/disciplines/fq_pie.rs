//! `fq_pie`'s options (iproute2 `tc/q_fq_pie.c`, `net/sched/sch_fq_pie.c`). tc sends no zeros.

use crate::attributes::{Attributes, take_over};
use crate::disciplines::pie::{KEYWORDS, Pie};
use crate::syntax::attributes::{AttributeBytes, NESTED, OPTIONS};
use crate::syntax::grammar::{Argument, Grammar, Options, option};
use crate::syntax::{Device, Wrong};
use dumbbell_net::queue::Config;
use dumbbell_net::queue::config::FqPieConfig;
use dumbbell_net::queue::rounds::{MAX_QUANTUM, MIN_QUANTUM};

const LIMIT: u32 = 10_240;
const FLOWS: u32 = 1_024;
const MAX_FLOWS: u32 = 65_536;
const ECN_PROBABILITY: u32 = 10;
const MAX_PER_CENT: u32 = 99;

/// `TCA_FQ_PIE_*`.
mod sent {
    pub const LIMIT: u16 = 1;
    pub const FLOWS: u16 = 2;
    pub const TARGET: u16 = 3;
    pub const TUPDATE: u16 = 4;
    pub const ALPHA: u16 = 5;
    pub const BETA: u16 = 6;
    pub const QUANTUM: u16 = 7;
    pub const MEMORY_LIMIT: u16 = 8;
    pub const ECN_PROB: u16 = 9;
    pub const ECN: u16 = 10;
    pub const BYTEMODE: u16 = 11;
    pub const DQ_RATE_ESTIMATOR: u16 = 12;
}

/// What tc sends.
#[derive(Clone, Debug)]
pub struct FqPie {
    pie: Pie,
    flows: Option<u32>,
    quantum: Option<u32>,
    memory_limit: Option<u32>,
    ecn_prob: Option<u32>,
}

impl Attributes for FqPie {
    const GRAMMAR: Grammar = &[
        KEYWORDS,
        &[
            option("flows", &[Argument::Count]),
            option("quantum", &[Argument::Size]),
            // Read and checked by Linux, without effect (`fq_pie_change`).
            option("memory_limit", &[Argument::Size]),
            option("ecn_prob", &[Argument::Count]),
        ],
    ];

    fn parse(options: &Options<'_>) -> Result<Self, Wrong> {
        Ok(Self {
            pie: Pie::parse(options)?,
            flows: options.count_above_zero("flows")?,
            quantum: options.size(&["quantum"])?.filter(|quantum| *quantum > 0),
            memory_limit: options.size(&["memory_limit"])?.filter(|bytes| *bytes > 0),
            ecn_prob: options.count_above_zero("ecn_prob")?,
        })
    }

    fn change(&mut self, new: Self) -> Result<(), Wrong> {
        if new.flows.is_some() {
            return Err(Wrong::new("fq_pie's 'flows' can't be changed", ""));
        }
        self.pie.change(new.pie)?;
        take_over!(self, new, quantum, memory_limit, ecn_prob);
        Ok(())
    }

    fn config(&self, device: &Device) -> Result<Config, Wrong> {
        let flows = self.flows.unwrap_or(FLOWS);
        let quantum = self.quantum.unwrap_or(device.mtu.min(MAX_QUANTUM)).max(MIN_QUANTUM);
        if quantum > MAX_QUANTUM || flows > MAX_FLOWS {
            return Err(Wrong::new("fq_pie takes 1 to 65536 flows and a quantum up to 1048576", ""));
        }
        let ecn_prob = self.ecn_prob.unwrap_or(ECN_PROBABILITY);
        if ecn_prob > MAX_PER_CENT {
            return Err(Wrong::new("fq_pie's ecn_prob is a share below 100 %", "such as ecn_prob 10"));
        }
        let pie = self.pie.control(device, LIMIT);
        Ok(Config::FqPie(FqPieConfig { limit: pie.limit, flows, quantum, ecn_prob, pie }))
    }

    fn send(&self, to: &mut AttributeBytes) -> Result<(), Wrong> {
        to.nested(OPTIONS | NESTED, |to| {
            to.some_u32(sent::LIMIT, self.pie.limit);
            to.some_u32(sent::FLOWS, self.flows);
            to.some_u32(sent::TARGET, self.pie.target);
            to.some_u32(sent::TUPDATE, self.pie.tupdate);
            to.some_u32(sent::ALPHA, self.pie.alpha);
            to.some_u32(sent::BETA, self.pie.beta);
            to.some_u32(sent::QUANTUM, self.quantum);
            to.some_u32(sent::MEMORY_LIMIT, self.memory_limit);
            to.some_u32(sent::ECN_PROB, self.ecn_prob);
            to.switch(sent::ECN, self.pie.ecn);
            to.switch(sent::BYTEMODE, self.pie.bytemode);
            to.switch(sent::DQ_RATE_ESTIMATOR, self.pie.dq_rate_estimator);
        });
        Ok(())
    }
}
