//! tbf's options (iproute2 `tc/q_tbf.c`, `net/sched/sch_tbf.c`).

use crate::queue::Config;
use crate::queue::config::TbfConfig;
use crate::rate::Rate;
use crate::tc::disciplines::Attributes;
use crate::tc::grammar::{Argument, Grammar, Options, option};
use crate::tc::quantity::{float, truncated};
use crate::tc::{Device, Wrong};
use alloc::boxed::Box;
use alloc::format;

/// tc always sends all of them.
#[derive(Clone, Debug)]
pub struct Tbf {
    rate: Rate,
    /// Bucket in bytes; tc sends it as time, too.
    burst: u32,
    limit: u64,
    /// Peak rate and its bucket.
    peak: Option<(Rate, u32)>,
    /// The first of `mpu` and `overhead` that is not 0.
    link_layer: Option<&'static str>,
}

impl Attributes for Tbf {
    const GRAMMAR: Grammar = &[&[
        option("rate", &[Argument::Rate]),
        option("burst", &[Argument::Size]),
        option("buffer", &[Argument::Size]),
        option("maxburst", &[Argument::Size]),
        option("limit", &[Argument::Size]),
        option("latency", &[Argument::Time]),
        option("peakrate", &[Argument::Rate]),
        option("mtu", &[Argument::Size]),
        option("minburst", &[Argument::Size]),
        option("mpu", &[Argument::Size]),
        option("overhead", &[Argument::Count]),
    ]];

    fn parse(options: &Options<'_>) -> Result<Self, Wrong> {
        let rate = options.rate("rate")?.unwrap_or(Rate::ZERO);
        let burst = options.size(&["burst", "buffer", "maxburst"])?.unwrap_or(0);
        let mpu = options.size(&["mpu"])?.filter(|mpu| *mpu > 0).map(|_| "mpu");
        let overhead = options.size(&["overhead"])?.filter(|overhead| *overhead > 0).map(|_| "overhead");
        if rate == Rate::ZERO || burst == 0 {
            return Err(Wrong::new("tbf needs 'rate' and 'burst'", "such as tbf rate 80mbit burst 1514 limit 225000"));
        }
        let peak = peak(options, rate)?;
        Ok(Self { rate, burst, limit: limit(options, rate, burst, peak)?, peak, link_layer: mpu.or(overhead) })
    }

    fn config(&self, _: &Device) -> Result<Config, Wrong> {
        if let Some(option) = self.link_layer {
            return Err(Wrong::lacking(format!("the simulator's tbf has no '{option}'"), ""));
        }
        Ok(Config::Tbf(Box::new(TbfConfig {
            rate: self.rate,
            burst: u64::from(self.burst),
            limit: self.limit,
            peak: self.peak.map(|(rate, bucket)| (rate, u64::from(bucket))),
            inner: None,
        })))
    }
}

fn peak(options: &Options<'_>, rate: Rate) -> Result<Option<(Rate, u32)>, Wrong> {
    let bucket = options.size(&["mtu", "minburst"])?.unwrap_or(0);
    let Some(peak) = options.rate("peakrate")? else { return Ok(None) };
    if bucket == 0 {
        return Err(Wrong::new("tbf's 'peakrate' needs 'mtu'", "such as mtu 1540"));
    }
    if peak <= rate {
        return Err(Wrong::new("tbf's peakrate is not above its rate", ""));
    }
    Ok(Some((peak, bucket)))
}

/// `latency` becomes a limit as tc computes it.
#[expect(clippy::float_arithmetic, reason = "tc computes with doubles")]
fn limit(options: &Options<'_>, rate: Rate, burst: u32, peak: Option<(Rate, u32)>) -> Result<u64, Wrong> {
    let latency = options.micros("latency")?;
    match (options.size(&["limit"])?, latency) {
        (Some(limit), None) => Ok(u64::from(limit)),
        (None, Some(latency)) => {
            let seconds = f64::from(latency) / 1e6;
            let held = |(rate, bucket): (Rate, u32)| float(rate.as_bytes()) * seconds + f64::from(bucket);
            let sustained = held((rate, burst));
            Ok(truncated(peak.map_or(sustained, |peak| held(peak).min(sustained))))
        }
        _ => Err(Wrong::new("tbf takes either 'limit' or 'latency'", "give one of them")),
    }
}
