//! The options of drr and its classes (iproute2 `tc/q_drr.c`, `net/sched/sch_drr.c`).

use crate::attributes::Attributes;
use crate::syntax::attributes::{AttributeBytes, OPTIONS};
use crate::syntax::grammar::{Argument, Grammar, Keyword, Options, option};
use crate::syntax::{Device, Wrong};
use dumbbell_net::queue::Config;
use dumbbell_net::queue::config::{DrrClass, DrrConfig};
use dumbbell_net::queue::drr::quantum as bounded;

/// drr itself has no options.
#[derive(Clone, Debug)]
pub struct Drr;

impl Attributes for Drr {
    const GRAMMAR: Grammar = &[];

    fn parse(_: &Options<'_>) -> Result<Self, Wrong> {
        Ok(Self)
    }

    fn config(&self, device: &Device) -> Result<Config, Wrong> {
        Ok(Config::Drr(Box::new(DrrConfig {
            classes: Vec::new(),
            rules: Vec::new(),
            class_limit: device.queue_length,
        })))
    }
}

/// The keywords of a class.
pub(crate) const CLASS: &[Keyword] = &[option("quantum", &[Argument::Size])];

/// `TCA_DRR_QUANTUM`.
const QUANTUM: u16 = 1;

/// Appends the options of a class as tc sends them.
pub(crate) fn send_class(options: &Options<'_>, to: &mut AttributeBytes) -> Result<(), Wrong> {
    let quantum = options.size(&["quantum"])?;
    to.nested(OPTIONS, |to| to.some_u32(QUANTUM, quantum));
    Ok(())
}

/// A class on this device.
pub(crate) fn class(minor: u32, options: &Options<'_>, device: &Device) -> Result<DrrClass, Wrong> {
    match options.size(&["quantum"])? {
        Some(0) => Err(Wrong::new("a drr class has a quantum of 0", "such as quantum 1514")),
        quantum => Ok(DrrClass { minor, quantum: bounded(quantum.unwrap_or(device.mtu)), leaf: None }),
    }
}
