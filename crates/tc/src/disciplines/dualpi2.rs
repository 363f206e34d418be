//! dualpi2's options (iproute2 6.17 `tc/q_dualpi2.c`, `net/sched/sch_dualpi2.c` of Linux 6.17). tc sends no zeros.
#![expect(clippy::float_arithmetic, reason = "tc computes with doubles")]

use crate::attributes::{Attributes, take_over};
use crate::syntax::attributes::{AttributeBytes, NESTED, OPTIONS};
use crate::syntax::grammar::{Argument, Grammar, Options, flag, option, span_us};
use crate::syntax::quantity::{fit, packets, per_cent, truncated};
use crate::syntax::{Device, Wrong};
use dumbbell_net::queue::Config;
use dumbbell_net::queue::config::{DualPi2Config, StepThreshold};

const LIMIT: u32 = 10_000;
const TARGET_US: u32 = 15_000;
const UPDATE_US: u32 = 16_000;
const STEP_US: u32 = 1_000;
/// Gains are in 1/256 Hz.
const GAIN_UNIT: f64 = 256.0;
/// 0.16 Hz.
const ALPHA: u32 = 41;
/// 3.2 Hz.
const BETA: u32 = 819;
const MAX_GAIN_HZ: f64 = 16_777_215.0;
const COUPLING: u8 = 2;
const PROTECTION_PER_CENT: u8 = 10;
/// `max_rtt` ÷ `typical_rtt`, if only one of them is given.
const RTT_RATIO: u32 = 6;

/// `TCA_DUALPI2_*`.
mod sent {
    pub const LIMIT: u16 = 1;
    pub const MEMORY_LIMIT: u16 = 2;
    pub const TARGET: u16 = 3;
    pub const TUPDATE: u16 = 4;
    pub const ALPHA: u16 = 5;
    pub const BETA: u16 = 6;
    pub const STEP_PACKETS: u16 = 7;
    pub const STEP_MICROS: u16 = 8;
    pub const MIN_QLEN_STEP: u16 = 9;
    pub const COUPLING: u16 = 10;
    pub const DROP_OVERLOAD: u16 = 11;
    pub const DROP_EARLY: u16 = 12;
    pub const C_PROTECTION: u16 = 13;
    pub const ECN_MASK: u16 = 14;
    pub const SPLIT_GSO: u16 = 15;
}

/// ECT(1) alone, and both codepoints, for the L4S queue.
const ECN_MASKS: [u8; 2] = [1, 3];

/// Times in microseconds, gains in 1/256 Hz.
#[derive(Clone, Debug)]
pub struct DualPi2 {
    limit: Option<u32>,
    memory_limit: Option<u32>,
    target: Option<u32>,
    tupdate: Option<u32>,
    alpha: Option<u32>,
    beta: Option<u32>,
    step: Option<StepThreshold>,
    min_qlen_step: Option<u32>,
    coupling: Option<u8>,
    classic_protection: Option<u8>,
    drop_on_overload: Option<bool>,
    drop_enqueue: Option<bool>,
    any_ect: Option<bool>,
    split_gso: Option<bool>,
}

impl Attributes for DualPi2 {
    const GRAMMAR: Grammar = &[&[
        option("limit", &[Argument::Packets]),
        option("memlimit", &[Argument::Count]),
        option("target", &[Argument::Time]),
        option("tupdate", &[Argument::Time]),
        option("alpha", &[Argument::Fraction]),
        option("beta", &[Argument::Fraction]),
        option("max_rtt", &[Argument::Time]),
        option("typical_rtt", &[Argument::Time]),
        option("step_thresh", &[Argument::TimeOrPackets]),
        option("min_qlen_step", &[Argument::Count]),
        option("coupling_factor", &[Argument::Count]),
        option("classic_protection", &[Argument::Share]),
        flag("drop_on_overload"),
        flag("overflow"),
        flag("drop_enqueue"),
        flag("drop_dequeue"),
        flag("l4s_ect"),
        flag("any_ect"),
        flag("split_gso"),
        flag("no_split_gso"),
    ]];

    fn parse(options: &Options<'_>) -> Result<Self, Wrong> {
        let (target, tupdate, alpha, beta) = control(options)?;
        Ok(Self {
            limit: options.count_above_zero("limit")?,
            memory_limit: options.count_above_zero("memlimit")?,
            target,
            tupdate,
            alpha,
            beta,
            step: step(options)?,
            min_qlen_step: options.count("min_qlen_step")?,
            coupling: coupling(options)?,
            classic_protection: options.first("classic_protection").map(protection).transpose()?,
            drop_on_overload: options.switch("drop_on_overload", "overflow"),
            drop_enqueue: options.switch("drop_enqueue", "drop_dequeue"),
            any_ect: options.switch("any_ect", "l4s_ect"),
            split_gso: options.switch("split_gso", "no_split_gso"),
        })
    }

    fn change(&mut self, new: Self) -> Result<(), Wrong> {
        if new.limit.is_some() {
            // The kernel then computes the memory limit from the new limit.
            self.memory_limit = None;
        }
        take_over!(self, new, limit, memory_limit, target, tupdate, alpha, beta, step, min_qlen_step, coupling);
        take_over!(self, new, classic_protection, drop_on_overload, drop_enqueue, any_ect, split_gso);
        Ok(())
    }

    fn config(&self, device: &Device) -> Result<Config, Wrong> {
        let limit = self.limit.unwrap_or(LIMIT);
        // A packet counts with twice its length (`get_memory_limit`).
        let memory = (u64::from(limit) * 2 * u64::from(device.mtu)).min(u64::from(u32::MAX));
        Ok(Config::DualPi2(DualPi2Config {
            limit,
            memory_limit: self.memory_limit.map_or(memory, u64::from),
            target: span_us(self.target.unwrap_or(TARGET_US)),
            tupdate: span_us(self.tupdate.unwrap_or(UPDATE_US)),
            alpha: self.alpha.unwrap_or(ALPHA),
            beta: self.beta.unwrap_or(BETA),
            step: self.step.unwrap_or(StepThreshold::Time(span_us(STEP_US))),
            min_qlen_step: self.min_qlen_step.unwrap_or(0),
            coupling: self.coupling.unwrap_or(COUPLING),
            classic_protection: self.classic_protection.unwrap_or(PROTECTION_PER_CENT),
            drop_on_overload: self.drop_on_overload.unwrap_or(true),
            drop_enqueue: self.drop_enqueue.unwrap_or(false),
            any_ect: self.any_ect.unwrap_or(false),
            split_gso: self.split_gso.unwrap_or(true),
            mtu: device.mtu,
        }))
    }

    fn send(&self, to: &mut AttributeBytes) -> Result<(), Wrong> {
        to.nested(OPTIONS | NESTED, |to| {
            to.some_u32(sent::LIMIT, self.limit);
            to.some_u32(sent::MEMORY_LIMIT, self.memory_limit);
            to.some_u32(sent::TUPDATE, self.tupdate);
            to.some_u32(sent::TARGET, self.target);
            to.some_u32(sent::ALPHA, self.alpha);
            to.some_u32(sent::BETA, self.beta);
            let some_u8 = |to: &mut AttributeBytes, kind, value: Option<u8>| value.map(|value| to.u8(kind, value));
            some_u8(to, sent::ECN_MASK, self.any_ect.map(|any| ECN_MASKS[usize::from(any)]));
            some_u8(to, sent::DROP_OVERLOAD, self.drop_on_overload.map(u8::from));
            some_u8(to, sent::COUPLING, self.coupling);
            some_u8(to, sent::SPLIT_GSO, self.split_gso.map(u8::from));
            match self.step {
                Some(StepThreshold::Packets(packets)) => to.u32(sent::STEP_PACKETS, packets),
                Some(StepThreshold::Time(time)) => {
                    to.u32(sent::STEP_MICROS, u32::try_from(time.as_micros()).expect("it was read from 32 bits"));
                }
                None => {}
            }
            to.some_u32(sent::MIN_QLEN_STEP, self.min_qlen_step);
            some_u8(to, sent::DROP_EARLY, self.drop_enqueue.map(u8::from));
            some_u8(to, sent::C_PROTECTION, self.classic_protection);
        });
        Ok(())
    }
}

/// Target, period, alpha and beta.
type Control = (Option<u32>, Option<u32>, Option<u32>, Option<u32>);

/// As written, or from round-trip times.
fn control(options: &Options<'_>) -> Result<Control, Wrong> {
    if let Some(by_rtt) = options.last_of(&["max_rtt", "typical_rtt"]) {
        if let Some((other, _)) = options.iter().find(|(name, _)| ["target", "tupdate", "alpha", "beta"].contains(name))
        {
            let problem = format!("dualpi2 with both {by_rtt} and {other}");
            return Err(Wrong::new(problem, format!("tc computes {other} from {by_rtt}: leave one out")));
        }
        return from_round_trips(options.micros("max_rtt")?.unwrap_or(0), options.micros("typical_rtt")?.unwrap_or(0));
    }
    let gain = |name| match options.fraction(name)? {
        None => Ok(None),
        Some(hertz) if hertz > MAX_GAIN_HZ || hertz * GAIN_UNIT < 1.0 => {
            Err(Wrong::new(format!("dualpi2's {name} is out of range"), "the kernel takes 1/256 Hz and more"))
        }
        Some(hertz) => integer(hertz * GAIN_UNIT).map(Some),
    };
    let time = |name| options.micros_above_zero(name);
    Ok((time("target")?, time("tupdate")?, gain("alpha")?, gain("beta")?))
}

fn from_round_trips(longest: u32, typical: u32) -> Result<Control, Wrong> {
    let typical = if typical > 0 { typical } else { (longest / RTT_RATIO).max(1) };
    let longest = if longest > 0 { longest } else { typical.saturating_mul(RTT_RATIO) };
    if typical > longest {
        return Err(Wrong::new("dualpi2's typical_rtt is longer than its max_rtt", ""));
    }
    let update = if f64::from(typical) < f64::from(longest) / 3.0 { typical } else { longest / 3 }.max(1);
    let longest = f64::from(longest);
    let alpha = integer(f64::from(update) / longest / longest * 1e6 * 0.1 * GAIN_UNIT)?;
    let beta = integer(0.3 / longest * 1e6 * GAIN_UNIT)?;
    if alpha < 1 || beta < 1 {
        return Err(Wrong::new("a max_rtt so long that dualpi2's gains become 0", ""));
    }
    Ok((Some(typical), Some(update), Some(alpha), Some(beta)))
}

fn integer(number: f64) -> Result<u32, Wrong> {
    fit(truncated(number), "gain")
}

fn step(options: &Options<'_>) -> Result<Option<StepThreshold>, Wrong> {
    let Some(word) = options.first("step_thresh") else { return Ok(None) };
    match packets(word)? {
        Some(0) => Ok(None),
        Some(packets) => Ok(Some(StepThreshold::Packets(fit(packets, word)?))),
        // Less than a microsecond becomes one; 0 is not sent.
        None if crate::syntax::quantity::time_ns(word)? == 0 => Ok(None),
        None => Ok(options.micros("step_thresh")?.map(|micros| StepThreshold::Time(span_us(micros.max(1))))),
    }
}

fn coupling(options: &Options<'_>) -> Result<Option<u8>, Wrong> {
    let factor = options.count("coupling_factor")?;
    let fits = factor.map(|factor| u8::try_from(factor).ok().filter(|factor| *factor > 0));
    match fits {
        Some(None) => Err(Wrong::new("dualpi2's coupling_factor is from 1 to 255", "")),
        Some(factor) => Ok(factor),
        None => Ok(None),
    }
}

fn protection(word: &str) -> Result<u8, Wrong> {
    Ok(u8::try_from(truncated(libm::rint(per_cent(word)?))).expect("at most 100"))
}
