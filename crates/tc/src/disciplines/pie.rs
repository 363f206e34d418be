//! pie's options (iproute2 `tc/q_pie.c`, `net/sched/sch_pie.c`). tc sends no zeros.

use crate::options::{Settings, count, options, packets, switch, time};
use crate::syntax::grammar::span_us;
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

options! {
    /// Times in microseconds, gains in sixteenths.
    Pie {
        limit: u32 = 2, packets("limit").above_zero();
        tupdate: u32 = 3, time("tupdate").above_zero();
        target: u32 = 1, time("target").above_zero();
        alpha: u32 = 4, count("alpha").above_zero();
        beta: u32 = 5, count("beta").above_zero();
        ecn: bool = 6, switch("ecn", "noecn");
        bytemode: bool = 7, switch("bytemode", "nobytemode");
        dq_rate_estimator: bool = 8, switch("dq_rate_estimator", "no_dq_rate_estimator");
    }
}

impl Settings for Pie {
    fn check(&self) -> Result<(), Wrong> {
        check_gains(self.alpha, self.beta)
    }

    fn settings(&self, device: &Device) -> Result<Config, Wrong> {
        Ok(Config::Pie(self.control(device, LIMIT)))
    }
}

/// Refuses gains that the kernel refuses.
pub(crate) fn check_gains(alpha: Option<u32>, beta: Option<u32>) -> Result<(), Wrong> {
    for (name, gain) in [("alpha", alpha), ("beta", beta)] {
        if gain.is_some_and(|gain| gain > MAX_GAIN) {
            let problem = format!("pie's {name} is above {MAX_GAIN}");
            return Err(Wrong::new(problem, "the kernel's unit is a sixteenth"));
        }
    }
    Ok(())
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
