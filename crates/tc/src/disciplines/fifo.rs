//! The options of pfifo, bfifo, `pfifo_head_drop` and `pfifo_fast` (iproute2 `tc/q_fifo.c`; `net/sched/sch_fifo.c`,
//! `sch_generic.c`).

use crate::attributes::{Attributes, take_over};
use crate::syntax::attributes::{AttributeBytes, OPTIONS};
use crate::syntax::grammar::{Argument, Grammar, Options, option};
use crate::syntax::{Device, Wrong};
use dumbbell_net::queue::Config;

/// pfifo.
#[derive(Clone, Debug)]
pub struct Packets {
    limit: Option<u32>,
}

impl Attributes for Packets {
    const GRAMMAR: Grammar = &[&[option("limit", &[Argument::Packets])]];

    fn parse(options: &Options<'_>) -> Result<Self, Wrong> {
        Ok(Self { limit: options.count("limit")? })
    }

    fn change(&mut self, new: Self) -> Result<(), Wrong> {
        take_over!(self, new, limit);
        Ok(())
    }

    fn config(&self, device: &Device) -> Result<Config, Wrong> {
        Ok(Config::Pfifo { limit: self.limit.unwrap_or(device.queue_length) })
    }

    fn send(&self, to: &mut AttributeBytes) -> Result<(), Wrong> {
        to.some_u32(OPTIONS, self.limit);
        Ok(())
    }
}

/// `pfifo_head_drop`.
#[derive(Clone, Debug)]
pub struct HeadDrop(Packets);

impl Attributes for HeadDrop {
    const GRAMMAR: Grammar = Packets::GRAMMAR;

    fn parse(options: &Options<'_>) -> Result<Self, Wrong> {
        Packets::parse(options).map(Self)
    }

    fn change(&mut self, new: Self) -> Result<(), Wrong> {
        self.0.change(new.0)
    }

    fn config(&self, device: &Device) -> Result<Config, Wrong> {
        Ok(Config::PfifoHeadDrop { limit: self.0.limit.unwrap_or(device.queue_length) })
    }

    fn send(&self, to: &mut AttributeBytes) -> Result<(), Wrong> {
        self.0.send(to)
    }
}

/// bfifo.
#[derive(Clone, Debug)]
pub struct Bytes {
    limit: Option<u32>,
}

impl Attributes for Bytes {
    const GRAMMAR: Grammar = &[&[option("limit", &[Argument::Size])]];

    fn parse(options: &Options<'_>) -> Result<Self, Wrong> {
        Ok(Self { limit: options.size(&["limit"])? })
    }

    fn change(&mut self, new: Self) -> Result<(), Wrong> {
        take_over!(self, new, limit);
        Ok(())
    }

    fn config(&self, device: &Device) -> Result<Config, Wrong> {
        let default = u64::from(device.queue_length) * u64::from(device.mtu);
        Ok(Config::Bfifo { limit: self.limit.map_or(default, u64::from) })
    }

    fn send(&self, to: &mut AttributeBytes) -> Result<(), Wrong> {
        to.some_u32(OPTIONS, self.limit);
        Ok(())
    }
}

/// `pfifo_fast`: three bands, each as long as the device's queue.
#[derive(Clone, Debug)]
pub struct Fast;

impl Attributes for Fast {
    const GRAMMAR: Grammar = &[];

    fn parse(_: &Options<'_>) -> Result<Self, Wrong> {
        Ok(Self)
    }

    fn config(&self, device: &Device) -> Result<Config, Wrong> {
        Ok(Config::PfifoFast { limit: device.queue_length })
    }

    fn send(&self, _: &mut AttributeBytes) -> Result<(), Wrong> {
        Ok(())
    }
}
