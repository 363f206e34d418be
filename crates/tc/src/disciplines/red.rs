//! red's options: tc derives the kernel's numbers from a few words (iproute2 `tc/q_red.c`, `tc/tc_red.c`), by Sally
//! Floyd's recommendations (`REDparameters.txt`).
#![expect(clippy::float_arithmetic, reason = "tc computes with doubles")]

use crate::attributes::Attributes;
use crate::syntax::attributes::{AttributeBytes, OPTIONS, Structure};
use crate::syntax::grammar::{Argument, Grammar, Keyword, Options, flag, option};
use crate::syntax::quantity::{fit, float, ticks, transmit_micros, truncated};
use crate::syntax::{Device, Wrong};
use dumbbell_net::queue::config::RedConfig;
use dumbbell_net::queue::{Config, Probability};
use dumbbell_net::rate::Rate;

const PROBABILITY: f64 = 0.02;
/// What tc assumes without `bandwidth`: 10 Mbit/s.
const BANDWIDTH: Rate = Rate::from_bits(10_000_000);
/// Entries of the damping table.
pub(crate) const CELLS: u8 = 255;
const MAX_SHIFT: u8 = 31;
const BITS: u8 = 32;

/// `TCA_RED_*`; the first three are `TCA_CHOKE_*`, too.
pub(crate) mod attribute {
    pub const PARAMETERS: u16 = 1;
    pub const IDLE_DAMPING: u16 = 2;
    pub const MAX_P: u16 = 3;
    pub const FLAGS: u16 = 4;
}

/// `TC_RED_*`.
pub(crate) mod flags {
    pub const ECN: u8 = 1;
    pub const HARDDROP: u8 = 2;
    pub const ADAPTIVE: u8 = 4;
    pub const NODROP: u8 = 8;
    pub const ALL: u8 = 15;
}

/// tc always sends all of them.
#[derive(Clone, Debug)]
pub struct Red(RedConfig);

impl Attributes for Red {
    const GRAMMAR: Grammar = &[&[
        option("limit", &[Argument::Size]),
        option("min", &[Argument::Size]),
        option("max", &[Argument::Size]),
        option("avpkt", &[Argument::Size]),
        option("burst", &[Argument::Count]),
        option("bandwidth", &[Argument::Rate]),
        option("probability", &[Argument::Fraction]),
        flag("ecn"),
        flag("harddrop"),
        flag("nodrop"),
        flag("adaptive"),
    ]];

    fn parse(options: &Options<'_>) -> Result<Self, Wrong> {
        let (limit, average) = (size(options, "limit")?, size(options, "avpkt")?);
        if limit == 0 || average == 0 {
            return Err(Wrong::new("red needs 'limit' and 'avpkt'", "such as red limit 400000 avpkt 1000"));
        }
        let min = size(options, "min")?;
        let max = [size(options, "max")?, min.saturating_mul(3)].into_iter().find(|max| *max > 0).unwrap_or(limit / 4);
        let min = if min > 0 { min } else { max / 3 };
        if options.has("nodrop") && !options.has("ecn") {
            return Err(Wrong::new("red's nodrop needs ecn", ""));
        }
        Ok(Self(RedConfig {
            nodrop: options.has("nodrop"),
            adaptive: options.has("adaptive"),
            ..estimated("red", options, limit, (min, max), average)?
        }))
    }

    fn config(&self, _: &Device) -> Result<Config, Wrong> {
        Ok(Config::Red(Box::new(self.0.clone())))
    }

    fn send(&self, to: &mut AttributeBytes) -> Result<(), Wrong> {
        let red = &self.0;
        let parameters = parameters(red, fit(red.limit, "limit")?, 0);
        let set = Structure::default().u32(u32::from(written_flags(red))).u32(u32::from(flags::ALL)).finish();
        to.nested(OPTIONS, |to| {
            send_shared(red, &parameters, to);
            to.bytes(attribute::FLAGS, &set);
        });
        Ok(())
    }
}

/// `struct tc_red_qopt`.
pub(crate) fn parameters(red: &RedConfig, limit: u32, flags: u8) -> Vec<u8> {
    let thresholds = Structure::default().u32(limit).u32(red.min).u32(red.max);
    thresholds.u8(red.wlog).u8(red.plog).u8(red.scell_log).u8(flags).finish()
}

/// The flags of `struct tc_red_qopt`.
pub(crate) fn written_flags(red: &RedConfig) -> u8 {
    flag_bits([red.ecn, red.harddrop, red.adaptive, red.nodrop])
}

/// `TC_RED_*` of `ecn`, `harddrop`, `adaptive` and `nodrop`.
pub(crate) fn flag_bits(set: [bool; 4]) -> u8 {
    let all = [flags::ECN, flags::HARDDROP, flags::ADAPTIVE, flags::NODROP];
    all.into_iter().zip(set).filter(|(_, is_set)| *is_set).map(|(flag, _)| flag).sum()
}

/// Appends what choke has, too.
pub(crate) fn send_shared(red: &RedConfig, parameters: &[u8], to: &mut AttributeBytes) {
    to.bytes(attribute::PARAMETERS, parameters);
    to.bytes(attribute::IDLE_DAMPING, &red.idle_damping);
    to.u32(attribute::MAX_P, red.max_p.0);
}

/// The options that choke and sfq share with red.
pub(crate) const SHARED: &[Keyword] = &[
    option("avpkt", &[Argument::Size]),
    option("burst", &[Argument::Count]),
    option("probability", &[Argument::Fraction]),
    flag("ecn"),
];

/// The settings of red and gred for packets of `average` bytes, without `nodrop` and `adaptive`.
pub(crate) fn estimated(
    kind: &'static str,
    options: &Options<'_>,
    limit: u32,
    (min, max): (u32, u32),
    average: u32,
) -> Result<RedConfig, Wrong> {
    let burst = options.count_above_zero("burst")?.map_or_else(|| default_burst(min, max, average), u64::from);
    let estimator = Estimator { kind, average };
    let wlog = estimator.weight(min, burst)?;
    check_weight(kind, max.max(min), wlog)?;
    let (scell_log, idle_damping) = estimator.damping(wlog, bandwidth(kind, options)?.unwrap_or(BANDWIDTH))?;
    let plog = estimator.slope(min, max, probability(options)?)?;
    Ok(RedConfig { plog, scell_log, idle_damping, ..basic(options, u64::from(limit), min, max, wlog)? })
}

/// The kernel keeps an average of the threshold times 2^`wlog` in 32 bits (`red_check_params`).
pub(crate) fn check_weight(kind: &str, threshold: u32, wlog: u8) -> Result<(), Wrong> {
    let bits = u32::BITS - threshold.leading_zeros();
    if bits + u32::from(wlog) >= u32::BITS {
        return Err(Wrong::new(format!("{kind}'s thresholds are too large for its weight"), "a smaller burst"));
    }
    Ok(())
}

/// The bandwidth by which an idle time counts as packets; one below a byte per second counts as not written.
pub(crate) fn bandwidth(kind: &str, options: &Options<'_>) -> Result<Option<Rate>, Wrong> {
    Ok(options.narrow_rate(kind, "bandwidth")?.filter(|rate| *rate != Rate::ZERO))
}

fn size(options: &Options<'_>, name: &str) -> Result<u32, Wrong> {
    Ok(options.size(&[name])?.unwrap_or(0))
}

/// Packets that pass at once, if none are given.
pub(crate) fn default_burst(min: u32, max: u32, average: u32) -> u64 {
    (2 * u64::from(min) + u64::from(max)) / (3 * u64::from(average))
}

/// Probability at the upper threshold.
pub(crate) fn probability(options: &Options<'_>) -> Result<f64, Wrong> {
    Ok(options.fraction("probability")?.unwrap_or(PROBABILITY))
}

/// Settings without the slope and the damping.
pub(crate) fn basic(options: &Options<'_>, limit: u64, min: u32, max: u32, wlog: u8) -> Result<RedConfig, Wrong> {
    // 32 bits of the product: a probability of 1 gives 0, and then the kernel takes the slope.
    let max_p = truncated(probability(options)? * 4_294_967_296.0) & u64::from(u32::MAX);
    Ok(RedConfig {
        limit,
        min,
        max,
        wlog,
        plog: 0,
        scell_log: 0,
        idle_damping: vec![0; usize::from(CELLS) + 1],
        max_p: Probability(u32::try_from(max_p).expect("32 bits")),
        ecn: options.has("ecn"),
        harddrop: options.has("harddrop"),
        nodrop: false,
        adaptive: false,
        inner: None,
    })
}

/// tc's computations for packets of `average` bytes.
pub(crate) struct Estimator {
    pub kind: &'static str,
    pub average: u32,
}

impl Estimator {
    /// The logarithm of the average's weight, by which `burst` packets pass (`tc_red_eval_ewma`).
    pub fn weight(&self, min: u32, burst: u64) -> Result<u8, Wrong> {
        let kind = self.kind;
        let packets = f64::from(min) / f64::from(self.average);
        let wanted = float(burst) + 1.0 - packets;
        if wanted < 1.0 {
            let least = truncated(packets) + 1;
            let problem = format!("{kind}'s burst of {burst} packets is too small");
            return Err(Wrong::new(problem, format!("at least {least}")));
        }
        let mut share = 1.0;
        for wlog in 1..BITS {
            share /= 2.0;
            if wanted <= (1.0 - libm::pow(1.0 - share, float(burst))) / share {
                return Ok(wlog);
            }
        }
        Err(Wrong::new(format!("{kind}'s weight can't be computed"), "another burst"))
    }

    /// The logarithm of the probability's slope between the thresholds (`tc_red_eval_P`).
    pub fn slope(&self, min: u32, max: u32, probability: f64) -> Result<u8, Wrong> {
        let kind = self.kind;
        let Some(width) = max.checked_sub(min) else {
            return Err(Wrong::new(format!("{kind}'s min is above its max"), "min below max"));
        };
        if width == 0 {
            return Ok(0);
        }
        let mut rise = probability / f64::from(width);
        for log in 0..BITS {
            if rise > 1.0 {
                return Ok(log);
            }
            rise *= 2.0;
        }
        Err(Wrong::new(format!("{kind}'s probability can't be computed"), "a larger one"))
    }

    /// How far the average is shifted after an idle time, by cells of 2^log (`tc_red_eval_idle_damping`).
    ///
    /// tc computes in ticks of 64 ns, the kernel looks up in microseconds; so does this.
    pub fn damping(&self, wlog: u8, rate: Rate) -> Result<(u8, Vec<u8>), Wrong> {
        let time = if rate == Rate::ZERO { 0 } else { ticks(transmit_micros(u64::from(self.average), rate)) };
        let decay = -libm::log(1.0 - 1.0 / float(1 << wlog)) / float(time);
        let longest = f64::from(MAX_SHIFT) / decay;
        let fits = |log: &u8| longest / float(1 << log) < f64::from(CELLS) * 2.0 + 2.0;
        let log = (0..BITS).find(fits).ok_or_else(|| {
            Wrong::new(format!("{}'s idle damping can't be computed", self.kind), "another bandwidth")
        })?;
        let shift = |cell: u8| match time {
            0 => 0,
            _ => u8::try_from(truncated(float(u64::from(cell) << log) * decay)).unwrap_or(MAX_SHIFT).min(MAX_SHIFT),
        };
        Ok((log, (0..CELLS).map(shift).chain([MAX_SHIFT]).collect()))
    }
}
