//! hhf's options (iproute2 `tc/q_hhf.c`, `net/sched/sch_hhf.c`).

use crate::options::{Settings, count, options, packets, time};
use crate::syntax::grammar::span_us;
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

options! {
    /// What tc sends: no zeros.
    Hhf {
        limit: u32 = 1, packets("limit").above_zero();
        quantum: u32 = 2, count("quantum").above_zero();
        hh_limit: u32 = 3, count("hh_limit").above_zero();
        reset_us: u32 = 4, time("reset_timeout").above_zero();
        admit_bytes: u32 = 5, count("admit_bytes").above_zero();
        evict_us: u32 = 6, time("evict_timeout").above_zero();
        non_hh_weight: u32 = 7, count("non_hh_weight").above_zero();
    }
}

impl Settings for Hhf {
    fn settings(&self, device: &Device) -> Result<Config, Wrong> {
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
}
