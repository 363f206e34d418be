//! `fq_pie`'s options (iproute2 `tc/q_fq_pie.c`, `net/sched/sch_fq_pie.c`). tc sends no zeros.

use crate::disciplines::pie::{Pie, check_gains};
use crate::options::{Listed, Settings, count, options, size};
use crate::syntax::attributes::{NESTED, OPTIONS};
use crate::syntax::{Device, Wrong};
use dumbbell_net::queue::Config;
use dumbbell_net::queue::config::FqPieConfig;
use dumbbell_net::queue::rounds::{MAX_QUANTUM, MIN_QUANTUM};

const LIMIT: u32 = 10_240;
const FLOWS: u32 = 1_024;
const MAX_FLOWS: u32 = 65_536;
const ECN_PROBABILITY: u32 = 10;
const MAX_PER_CENT: u32 = 99;

options! {
    /// What tc sends. Linux reads and checks the memory limit, without effect (`fq_pie_change`).
    FqPie {
        limit: u32 = 1, Pie::limit;
        flows: u32 = 2, count("flows").above_zero();
        target: u32 = 3, Pie::target;
        tupdate: u32 = 4, Pie::tupdate;
        alpha: u32 = 5, Pie::alpha;
        beta: u32 = 6, Pie::beta;
        quantum: u32 = 7, size("quantum").above_zero();
        memory_limit: u32 = 8, size("memory_limit").above_zero();
        ecn_prob: u32 = 9, count("ecn_prob").above_zero();
        ecn: bool = 10, Pie::ecn;
        bytemode: bool = 11, Pie::bytemode;
        dq_rate_estimator: bool = 12, Pie::dq_rate_estimator;
    }
}

impl Settings for FqPie {
    const AROUND: Option<u16> = Some(OPTIONS | NESTED);

    fn check(&self) -> Result<(), Wrong> {
        check_gains(self.alpha, self.beta)
    }

    fn change_to(&mut self, new: &Self) -> Result<(), Wrong> {
        if new.flows.is_some() {
            return Err(Wrong::new("fq_pie's 'flows' can't be changed", ""));
        }
        self.take_over(new);
        Ok(())
    }

    fn settings(&self, device: &Device) -> Result<Config, Wrong> {
        let flows = self.flows.unwrap_or(FLOWS);
        let quantum = self.quantum.unwrap_or(device.mtu.min(MAX_QUANTUM)).max(MIN_QUANTUM);
        if quantum > MAX_QUANTUM || flows > MAX_FLOWS {
            return Err(Wrong::new("fq_pie takes 1 to 65536 flows and a quantum up to 1048576", ""));
        }
        let ecn_prob = self.ecn_prob.unwrap_or(ECN_PROBABILITY);
        if ecn_prob > MAX_PER_CENT {
            return Err(Wrong::new("fq_pie's ecn_prob is a share below 100 %", "such as ecn_prob 10"));
        }
        let Self { limit, target, tupdate, alpha, beta, ecn, bytemode, dq_rate_estimator, .. } = *self;
        let pie = Pie { limit, tupdate, target, alpha, beta, ecn, bytemode, dq_rate_estimator };
        let pie = pie.control(device, LIMIT);
        Ok(Config::FqPie(FqPieConfig { limit: pie.limit, flows, quantum, ecn_prob, pie }))
    }
}
