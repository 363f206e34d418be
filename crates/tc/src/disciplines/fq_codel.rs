//! `fq_codel`'s options (iproute2 `tc/q_fq_codel.c`, `net/sched/sch_fq_codel.c`).

use crate::disciplines::codel::Codel;
use crate::options::{Declared, Listed, Settings, count, options, own, size};
use crate::syntax::grammar::{Argument, option};
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

options! {
    /// What tc sends.
    FqCodel {
        limit: u32 = 2, Codel::limit;
        interval: u32 = 3, Codel::interval;
        target: u32 = 1, Codel::target;
        ecn: bool = 4, Codel::ecn;
        flows: u32 = 5, count("flows").above_zero();
        quantum: u32 = 6, count("quantum").above_zero();
        ce_threshold: u32 = 7, Codel::ce_threshold;
        ce_selector: (u8, u8) = 11, SELECTOR;
        memory_limit: u32 = 9, size("memory_limit");
        drop_batch: u32 = 8, count("drop_batch").above_zero();
    }
}

/// `TCA_FQ_CODEL_CE_THRESHOLD_SELECTOR`; the mask is sent first.
const CE_SELECTOR: u16 = 10;
const SELECTOR: Declared<(u8, u8)> = own(
    [option("ce_threshold_selector", &[Argument::ValueAndMask])],
    |options, words| options.first(words[0].name).map(value_and_mask).transpose(),
    |to, kind, (value, mask)| {
        to.u8(kind, mask);
        to.u8(CE_SELECTOR, value);
    },
);

impl Settings for FqCodel {
    fn change_to(&mut self, new: &Self) -> Result<(), Wrong> {
        if new.flows.is_some() {
            return Err(Wrong::new("fq_codel's 'flows' can't be changed", ""));
        }
        self.take_over(new);
        Ok(())
    }

    fn settings(&self, device: &Device) -> Result<Config, Wrong> {
        let flows = self.flows.unwrap_or(FLOWS);
        let quantum = self.quantum.map_or(device.mtu, |quantum| quantum.max(MIN_QUANTUM));
        if quantum > MAX_QUANTUM || !(1..=MAX_FLOWS).contains(&flows) {
            return Err(Wrong::new("fq_codel takes 1 to 65536 flows and a quantum up to 1048576", ""));
        }
        let Self { limit, interval, target, ecn, ce_threshold, .. } = *self;
        let mut codel = Codel { limit, interval, target, ecn, ce_threshold }.control(device, LIMIT, true);
        codel.ce_selector = self.ce_selector.filter(|(_, mask)| *mask > 0);
        Ok(Config::FqCodel(FqCodelConfig {
            limit: codel.limit,
            flows,
            quantum,
            memory_limit: u64::from(self.memory_limit.unwrap_or(MEMORY).min(MAX_MEMORY)),
            drop_batch: self.drop_batch.unwrap_or(DROP_BATCH),
            codel,
        }))
    }
}
