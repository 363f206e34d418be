//! `fq_pie`'s options (iproute2 `tc/q_fq_pie.c`, `net/sched/sch_fq_pie.c`). tc sends no zeros.

use crate::queue::Config;
use crate::queue::config::FqPieConfig;
use crate::queue::pie::tc::{KEYWORDS, Pie};
use crate::queue::rounds::{MAX_QUANTUM, MIN_QUANTUM};
use crate::tc::disciplines::{Attributes, take_over};
use crate::tc::grammar::{Argument, Grammar, Options, option};
use crate::tc::{Device, Wrong};

const LIMIT: u32 = 10_240;
const FLOWS: u32 = 1_024;
const MAX_FLOWS: u32 = 65_536;
const ECN_PROBABILITY: u32 = 10;
const MAX_PER_CENT: u32 = 99;

/// What tc sends.
#[derive(Clone, Debug)]
pub struct FqPie {
    pie: Pie,
    flows: Option<u32>,
    quantum: Option<u32>,
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
            ecn_prob: options.count_above_zero("ecn_prob")?,
        })
    }

    fn change(&mut self, new: Self) -> Result<(), Wrong> {
        if new.flows.is_some() {
            return Err(Wrong::new("fq_pie's 'flows' can't be changed", ""));
        }
        self.pie.change(new.pie)?;
        take_over!(self, new, quantum, ecn_prob);
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
}
