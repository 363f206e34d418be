//! codel's options (iproute2 `tc/q_codel.c`, `net/sched/sch_codel.c`).

use crate::options::{Settings, options, packets, switch, time};
use crate::syntax::grammar::span_us;
use crate::syntax::{Device, Wrong};
use dumbbell_net::queue::Config;
use dumbbell_net::queue::config::CodelConfig;

const LIMIT: u32 = 1_000;
const TARGET_US: u32 = 5_000;
const INTERVAL_US: u32 = 100_000;

options! {
    /// Times in microseconds.
    Codel {
        limit: u32 = 2, packets("limit");
        interval: u32 = 3, time("interval").above_zero();
        target: u32 = 1, time("target").above_zero();
        ecn: bool = 4, switch("ecn", "noecn");
        ce_threshold: u32 = 5, time("ce_threshold");
    }
}

impl Settings for Codel {
    fn settings(&self, device: &Device) -> Result<Config, Wrong> {
        Ok(Config::Codel(self.control(device, LIMIT, false)))
    }
}

impl Codel {
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
