//! The options of ets and its classes (iproute2 `tc/q_ets.c`, `net/sched/sch_ets.c`).

use crate::attributes::Attributes;
use crate::syntax::attributes::{AttributeBytes, NESTED, OPTIONS};
use crate::syntax::grammar::{Argument, Grammar, Keyword, Options, option};
use crate::syntax::quantity::{count, fit};
use crate::syntax::{Device, Wrong};
use dumbbell_net::queue::Config;
use dumbbell_net::queue::config::EtsConfig;
use dumbbell_net::queue::drr::quantum as bounded;

const MAX_BANDS: usize = 16;

/// `TCA_ETS_*`.
mod attribute {
    pub const BANDS: u16 = 1;
    pub const STRICT: u16 = 2;
    pub const QUANTA: u16 = 3;
    pub const QUANTUM: u16 = 4;
    pub const PRIORITY_MAP: u16 = 5;
    pub const BAND: u16 = 6;
}

/// What tc sends; the kernel sets what is missing to its default, also in a change.
#[derive(Clone, Debug)]
pub struct Ets {
    bands: usize,
    strict: usize,
    /// Of the bands after the strict ones, as many as were given.
    quanta: Vec<u32>,
    /// Band by priority, as many as were given.
    priority_map: Vec<u32>,
}

impl Attributes for Ets {
    const GRAMMAR: Grammar = &[&[
        option("bands", &[Argument::Count]),
        option("strict", &[Argument::Count]),
        option("quanta", &[Argument::Count]).and(&[Argument::Count; MAX_BANDS - 1]),
        option("priomap", &[Argument::Count]).and(&[Argument::Count; MAX_BANDS - 1]),
    ]];

    fn parse(options: &Options<'_>) -> Result<Self, Wrong> {
        let number = |name| Ok(options.count(name)?.map_or(0, |number| usize::try_from(number).unwrap_or(usize::MAX)));
        let list = |name| {
            let written = options.arguments(name).unwrap_or_default();
            written.iter().map(|word| fit(count(word)?, word)).collect::<Result<Vec<_>, Wrong>>()
        };
        if let Some(name) = options.repeated() {
            return Err(Wrong::new(format!("ets has '{name}' twice"), ""));
        }
        let (bands, strict) = (number("bands")?, number("strict")?);
        let (quanta, priority_map) = (list("quanta")?, list("priomap")?);
        if quanta.contains(&0) {
            return Err(Wrong::new("an ets band has a quantum of 0", "such as quanta 3028 1514"));
        }
        let shared = strict.saturating_add(quanta.len());
        let bands = if bands > 0 { bands } else { shared };
        if !(1..=MAX_BANDS).contains(&bands) || shared > bands {
            let hint = "bands, or strict and quanta, such as ets strict 1 quanta 3028 1514";
            return Err(Wrong::new(format!("ets has 1 to {MAX_BANDS} bands, strict ones and quanta among them"), hint));
        }
        if let Some(band) = priority_map.iter().max().filter(|band| usize::try_from(**band).is_ok_and(|b| b >= bands)) {
            return Err(Wrong::new(format!("ets' priomap names band {band} of {bands}"), "bands are numbered from 0"));
        }
        Ok(Self { bands, strict, quanta, priority_map })
    }

    fn change(&mut self, new: Self) -> Result<(), Wrong> {
        if new.bands != self.bands {
            let problem = "the simulator can't change the number of an ets' bands";
            return Err(Wrong::lacking(problem, "the same number of bands"));
        }
        *self = new;
        Ok(())
    }

    fn config(&self, device: &Device) -> Result<Config, Wrong> {
        let mut quanta = vec![bounded(device.mtu); self.bands];
        for (quantum, given) in quanta[self.strict..].iter_mut().zip(&self.quanta) {
            *quantum = bounded(*given);
        }
        Ok(Config::Ets(Box::new(EtsConfig {
            strict: in_range(self.strict),
            quanta,
            bands: vec![None; self.bands],
            default: self.priority_map.first().copied().unwrap_or(in_range(self.bands - 1)),
            rules: Vec::new(),
            band_limit: device.queue_length,
        })))
    }

    fn send(&self, to: &mut AttributeBytes) -> Result<(), Wrong> {
        let count = |bands: usize| u8::try_from(bands).expect("at most 16 bands");
        to.nested(OPTIONS | NESTED, |to| {
            to.u8(attribute::BANDS, count(self.bands));
            if self.strict > 0 {
                to.u8(attribute::STRICT, count(self.strict));
            }
            if !self.quanta.is_empty() {
                to.nested(attribute::QUANTA | NESTED, |to| {
                    self.quanta.iter().for_each(|quantum| to.u32(attribute::QUANTUM, *quantum));
                });
            }
            if !self.priority_map.is_empty() {
                to.nested(attribute::PRIORITY_MAP | NESTED, |to| {
                    let bands = self.priority_map.iter().map(|band| u8::try_from(*band).expect("below 16"));
                    bands.for_each(|band| to.u8(attribute::BAND, band));
                });
            }
        });
        Ok(())
    }
}

/// The keywords of a class.
pub(crate) const CLASS: &[Keyword] = &[option("quantum", &[Argument::Count])];

/// Appends the options of a class as tc sends them.
pub(crate) fn send_class(options: &Options<'_>, to: &mut AttributeBytes) -> Result<(), Wrong> {
    let quantum = options.count_above_zero("quantum")?;
    to.nested(OPTIONS | NESTED, |to| to.some_u32(attribute::QUANTUM, quantum));
    Ok(())
}

impl Ets {
    /// Changes a class, which is a band; the only change is that of its quantum.
    pub(crate) fn change_class(&mut self, minor: u32, options: &Options<'_>, device: &Device) -> Result<(), Wrong> {
        let band = usize::try_from(minor).unwrap_or(usize::MAX).wrapping_sub(1);
        if band >= self.bands {
            return Err(Wrong::new(format!("an ets has no class {minor:x}: its bands are its classes"), "bands"));
        }
        match options.count("quantum")? {
            None => Ok(()),
            Some(0) => Err(Wrong::new("an ets class has a quantum of 0", "such as quantum 1514")),
            Some(_) if band < self.strict => Err(Wrong::new("a strict band of ets has no quantum", "")),
            Some(quantum) => {
                let missing = (band - self.strict + 1).saturating_sub(self.quanta.len());
                self.quanta.extend(core::iter::repeat_n(device.mtu, missing));
                self.quanta[band - self.strict] = quantum;
                Ok(())
            }
        }
    }
}

/// A number of bands.
fn in_range(bands: usize) -> u32 {
    u32::try_from(bands).expect("at most 16 bands")
}
