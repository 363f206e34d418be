//! tbf's options (iproute2 `tc/q_tbf.c`, `net/sched/sch_tbf.c`).

use crate::attributes::Attributes;
use crate::syntax::attributes::{AttributeBytes, OPTIONS, Structure};
use crate::syntax::grammar::{Argument, Grammar, Options, option};
use crate::syntax::quantity::{float, truncated};
use crate::syntax::rate_table::{LinkRate, wrapped_ticks};
use crate::syntax::repeated::refuse_repeated;
use crate::syntax::{Device, Wrong};
use dumbbell_net::queue::Config;
use dumbbell_net::queue::config::TbfConfig;
use dumbbell_net::rate::Rate;

/// tc always sends all of them.
#[derive(Clone, Debug)]
pub struct Tbf {
    rate: Rate,
    /// Bucket in bytes; tc sends it as time, too.
    burst: u32,
    limit: u32,
    /// Peak rate and its bucket.
    peak: Option<(Rate, u32)>,
    /// 0: not written.
    mtu: u32,
    mpu: u16,
    overhead: u16,
}

/// `TCA_TBF_*`.
mod attribute {
    pub const PARAMETERS: u16 = 1;
    pub const RATE_TABLE: u16 = 2;
    pub const PEAK_TABLE: u16 = 3;
    pub const RATE64: u16 = 4;
    pub const PEAK64: u16 = 5;
    pub const BURST: u16 = 6;
    pub const PEAK_BURST: u16 = 7;
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
        refuse_repeated("tbf", options, ONCE)?;
        let rate = options.rate("rate")?.unwrap_or(Rate::ZERO);
        let burst = options.size(&["burst", "buffer", "maxburst"])?.unwrap_or(0);
        let (mpu, overhead) = (sixteen_bits(options, "mpu")?, sixteen_bits(options, "overhead")?);
        if rate == Rate::ZERO || burst == 0 {
            return Err(Wrong::new("tbf needs 'rate' and 'burst'", "such as tbf rate 80mbit burst 1514 limit 225000"));
        }
        let peak = peak(options, rate)?;
        let (limit, mtu) = (limit(options, rate, burst, peak)?, options.size(&["mtu", "minburst"])?.unwrap_or(0));
        Ok(Self { rate, burst, limit, peak, mtu, mpu, overhead })
    }

    fn config(&self, _: &Device) -> Result<Config, Wrong> {
        let link_layer = [("mpu", self.mpu), ("overhead", self.overhead)];
        if let Some((option, _)) = link_layer.into_iter().find(|(_, bytes)| *bytes > 0) {
            return Err(Wrong::lacking(format!("the simulator's tbf has no '{option}'"), ""));
        }
        Ok(Config::Tbf(Box::new(TbfConfig {
            rate: self.rate,
            burst: u64::from(self.burst),
            limit: u64::from(self.limit),
            peak: self.peak.map(|(rate, bucket)| (rate, u64::from(bucket))),
            inner: None,
        })))
    }

    fn send(&self, to: &mut AttributeBytes) -> Result<(), Wrong> {
        let link = |rate| LinkRate { rate, mtu: self.mtu, mpu: self.mpu, overhead: self.overhead };
        let (rate, peak) = (link(self.rate), self.peak.map(|(rate, bucket)| (link(rate), bucket)));
        // The kernel takes the buckets in bytes, which are sent, too; of these times tc keeps the low 32 bits.
        let ticks = |link: LinkRate, bytes| wrapped_ticks(u64::from(bytes), Rate::from_bytes(link.narrow().into()));
        let peak_bytes = peak.map_or_else(|| [0; 12].to_vec(), |(peak, _)| peak.specification());
        let parameters = Structure::default().bytes(&rate.specification()).bytes(&peak_bytes);
        let parameters = parameters.u32(self.limit).u32(ticks(rate, self.burst));
        let parameters = parameters.u32(peak.map_or(0, |(peak, bucket)| ticks(peak, bucket)));
        to.nested(OPTIONS, |to| {
            to.bytes(attribute::PARAMETERS, &parameters.finish());
            to.u32(attribute::BURST, self.burst);
            rate.wide().into_iter().for_each(|rate| to.u64(attribute::RATE64, rate));
            to.bytes(attribute::RATE_TABLE, &rate.table());
            if let Some((peak, bucket)) = peak {
                peak.wide().into_iter().for_each(|rate| to.u64(attribute::PEAK64, rate));
                to.u32(attribute::PEAK_BURST, bucket);
                to.bytes(attribute::PEAK_TABLE, &peak.table());
            }
        });
        Ok(())
    }
}

fn sixteen_bits(options: &Options<'_>, name: &str) -> Result<u16, Wrong> {
    let bytes = options.size(&[name])?.unwrap_or(0);
    u16::try_from(bytes).map_err(|_| Wrong::new(format!("tbf's {name} does not fit 16 bits"), "at most 65535"))
}

fn peak(options: &Options<'_>, rate: Rate) -> Result<Option<(Rate, u32)>, Wrong> {
    let bucket = options.size(&["mtu", "minburst"])?.unwrap_or(0);
    let Some(peak) = options.rate("peakrate")?.filter(|peak| *peak != Rate::ZERO) else { return Ok(None) };
    if bucket == 0 {
        return Err(Wrong::new("tbf's 'peakrate' needs 'mtu'", "such as mtu 1540"));
    }
    if peak <= rate {
        return Err(Wrong::new("tbf's peakrate is not above its rate", ""));
    }
    Ok(Some((peak, bucket)))
}

/// Options that may be written once; of those in a row one.
const ONCE: &[&[&str]] = &[
    &["burst", "buffer", "maxburst"],
    &["mtu", "minburst"],
    &["rate"],
    &["peakrate"],
    &["limit"],
    &["latency"],
    &["mpu"],
    &["overhead"],
];

/// `latency` becomes a limit as tc computes it; of both zeros count as not written.
#[expect(clippy::float_arithmetic, reason = "tc computes with doubles")]
fn limit(options: &Options<'_>, rate: Rate, burst: u32, peak: Option<(Rate, u32)>) -> Result<u32, Wrong> {
    let limit = options.size(&["limit"])?.filter(|limit| *limit > 0);
    let latency = options.micros_above_zero("latency")?;
    match (limit, latency) {
        (Some(limit), None) if options.last_of(&["limit", "latency"]) == Some("limit") => Ok(limit),
        (None, Some(latency)) => {
            let seconds = f64::from(latency) / 1e6;
            let held = |(rate, bucket): (Rate, u32)| float(rate.as_bytes()) * seconds + f64::from(bucket);
            let sustained = held((rate, burst));
            let limit = truncated(peak.map_or(sustained, |peak| held(peak).min(sustained)));
            let problem = |_| {
                Wrong::new(
                    format!("tbf's limit of {limit} bytes by its latency does not fit 32 bits"),
                    "a shorter latency",
                )
            };
            u32::try_from(limit).map_err(problem)
        }
        (None, None) => {
            Err(Wrong::new("tbf needs a 'limit' or a 'latency' above 0", "such as limit 225000 or latency 50ms"))
        }
        _ => Err(Wrong::new("tbf takes either 'limit' or 'latency'", "give one of them")),
    }
}
