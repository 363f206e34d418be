//! The options of pfifo, bfifo, `pfifo_head_drop` and `pfifo_fast` (iproute2 `tc/q_fifo.c`; `net/sched/sch_fifo.c`,
//! `sch_generic.c`).

use crate::attributes::Attributes;
use crate::options::{Settings, options, packets, size};
use crate::syntax::grammar::{Grammar, Options};
use crate::syntax::{Device, Wrong};
use dumbbell_net::queue::Config;

options! {
    /// pfifo. The attribute of all options is the limit.
    Packets { limit: u32 = 2, packets("limit"); }
}

options! {
    /// `pfifo_head_drop`.
    HeadDrop { limit: u32 = 2, packets("limit"); }
}

options! {
    /// bfifo.
    Bytes { limit: u32 = 2, size("limit"); }
}

impl Settings for Packets {
    const AROUND: Option<u16> = None;

    fn settings(&self, device: &Device) -> Result<Config, Wrong> {
        Ok(Config::Pfifo { limit: self.limit.unwrap_or(device.queue_length) })
    }
}

impl Settings for HeadDrop {
    const AROUND: Option<u16> = None;

    fn settings(&self, device: &Device) -> Result<Config, Wrong> {
        Ok(Config::PfifoHeadDrop { limit: self.limit.unwrap_or(device.queue_length) })
    }
}

impl Settings for Bytes {
    const AROUND: Option<u16> = None;

    fn settings(&self, device: &Device) -> Result<Config, Wrong> {
        let default = u64::from(device.queue_length) * u64::from(device.mtu);
        Ok(Config::Bfifo { limit: self.limit.map_or(default, u64::from) })
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
}
