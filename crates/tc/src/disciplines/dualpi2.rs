//! dualpi2's options (iproute2 6.17 `tc/q_dualpi2.c`, `net/sched/sch_dualpi2.c` of Linux 6.17). tc sends no zeros.
#![expect(clippy::float_arithmetic, reason = "tc computes with doubles")]

use crate::options::{Declared, Listed, Settings, count, number, options, own, packets, switch};
use crate::syntax::attributes::{AttributeBytes, NESTED, OPTIONS};
use crate::syntax::grammar::{Argument, Keyword, Options, option, span_us};
use crate::syntax::quantity::{self, fit, per_cent, truncated};
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

/// ECT(1) alone, and both codepoints, for the L4S queue.
const ECN_MASKS: [u8; 2] = [1, 3];

options! {
    /// Times in microseconds, gains in 1/256 Hz.
    DualPi2 {
        limit: u32 = 1, packets("limit").above_zero();
        memory_limit: u32 = 2, count("memlimit").above_zero();
        tupdate: u32 = 4, number("tupdate", &[Argument::Time], |options, _| Ok(control(options)?.1));
        target: u32 = 3, TARGET;
        alpha: u32 = 5, number("alpha", &[Argument::Fraction], |options, _| Ok(control(options)?.2));
        beta: u32 = 6, number("beta", &[Argument::Fraction], |options, _| Ok(control(options)?.3));
        any_ect: bool = 14, switch("any_ect", "l4s_ect").sent_by(|to, kind, any| to.u8(kind, ECN_MASKS[usize::from(any)]));
        drop_on_overload: bool = 11, switch("drop_on_overload", "overflow").sent_by(byte);
        coupling: u8 = 10, own([option("coupling_factor", &[Argument::Count])], coupling, AttributeBytes::u8);
        split_gso: bool = 15, switch("split_gso", "no_split_gso").sent_by(byte);
        step: StepThreshold = 7, own([option("step_thresh", &[Argument::TimeOrPackets])], step, send_step);
        min_qlen_step: u32 = 9, count("min_qlen_step");
        drop_enqueue: bool = 12, switch("drop_enqueue", "drop_dequeue").sent_by(byte);
        classic_protection: u8 = 13,
            own([option("classic_protection", &[Argument::Share])], protection, AttributeBytes::u8);
    }
}

/// As written, or by the round-trip times from which tc computes it and the gains.
const TARGET: Declared<u32> = own(
    [option("target", TIME), option("max_rtt", TIME), option("typical_rtt", TIME)],
    |options, _| Ok(control(options)?.0),
    AttributeBytes::u32,
);
const TIME: &[Argument] = &[Argument::Time];
/// `TCA_DUALPI2_STEP_THRESH_US`, of a threshold in time.
const STEP_MICROS: u16 = 8;

fn byte(to: &mut AttributeBytes, kind: u16, value: bool) {
    to.u8(kind, value.into());
}

fn send_step(to: &mut AttributeBytes, kind: u16, step: StepThreshold) {
    match step {
        StepThreshold::Packets(packets) => to.u32(kind, packets),
        StepThreshold::Time(time) => {
            to.u32(STEP_MICROS, u32::try_from(time.as_micros()).expect("it was read from 32 bits"));
        }
    }
}

impl Settings for DualPi2 {
    const AROUND: Option<u16> = Some(OPTIONS | NESTED);

    fn change_to(&mut self, new: &Self) -> Result<(), Wrong> {
        if new.limit.is_some() {
            // The kernel then computes the memory limit from the new limit.
            self.memory_limit = None;
        }
        self.take_over(new);
        Ok(())
    }

    fn settings(&self, device: &Device) -> Result<Config, Wrong> {
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

fn step(options: &Options<'_>, _: &[Keyword]) -> Result<Option<StepThreshold>, Wrong> {
    let Some(word) = options.first("step_thresh") else { return Ok(None) };
    match quantity::packets(word)? {
        Some(0) => Ok(None),
        Some(packets) => Ok(Some(StepThreshold::Packets(fit(packets, word)?))),
        // Less than a microsecond becomes one; 0 is not sent.
        None if quantity::time_ns(word)? == 0 => Ok(None),
        None => Ok(options.micros("step_thresh")?.map(|micros| StepThreshold::Time(span_us(micros.max(1))))),
    }
}

fn coupling(options: &Options<'_>, _: &[Keyword]) -> Result<Option<u8>, Wrong> {
    let factor = options.count("coupling_factor")?;
    let fits = factor.map(|factor| u8::try_from(factor).ok().filter(|factor| *factor > 0));
    match fits {
        Some(None) => Err(Wrong::new("dualpi2's coupling_factor is from 1 to 255", "")),
        Some(factor) => Ok(factor),
        None => Ok(None),
    }
}

fn protection(options: &Options<'_>, _: &[Keyword]) -> Result<Option<u8>, Wrong> {
    let Some(word) = options.first("classic_protection") else { return Ok(None) };
    Ok(Some(u8::try_from(truncated(libm::rint(per_cent(word)?))).expect("at most 100")))
}
