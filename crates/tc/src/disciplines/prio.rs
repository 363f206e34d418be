//! prio's options (iproute2 `tc/q_prio.c`, `net/sched/sch_prio.c`).

use crate::attributes::Attributes;
use crate::syntax::attributes::{AttributeBytes, OPTIONS, Structure};
use crate::syntax::grammar::{Argument, Grammar, Options, option};
use crate::syntax::quantity::{count, fit};
use crate::syntax::{Device, Wrong};
use dumbbell_net::queue::Config;
use dumbbell_net::queue::config::PrioConfig;

const BANDS: u32 = 3;
const MIN_BANDS: u32 = 2;
const MAX_BANDS: u32 = 16;
/// Band by priority.
const PRIORITY_MAP: [u32; 16] = [1, 2, 2, 2, 1, 2, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1];

/// tc always sends both.
#[derive(Clone, Debug)]
pub struct Prio {
    bands: u32,
    priority_map: [u32; 16],
}

impl Attributes for Prio {
    const GRAMMAR: Grammar =
        &[&[option("bands", &[Argument::Count]), option("priomap", &[Argument::Count]).and(&[Argument::Count; 15])]];

    fn parse(options: &Options<'_>) -> Result<Self, Wrong> {
        refuse_bands_too_late(options)?;
        let bands = options.count("bands")?.unwrap_or(BANDS);
        if !(MIN_BANDS..=MAX_BANDS).contains(&bands) {
            return Err(Wrong::new(format!("prio has {MIN_BANDS} to {MAX_BANDS} bands"), ""));
        }
        let mut priority_map = PRIORITY_MAP;
        let written = options.arguments("priomap").unwrap_or_default();
        let written: Vec<_> = written.iter().map(|word| fit(count(word)?, word)).collect::<Result<_, Wrong>>()?;
        priority_map[..written.len()].copy_from_slice(&written);
        if let Some(band) = priority_map.iter().max().filter(|band| **band >= bands) {
            let hint = "bands are numbered from 0: give a priomap";
            return Err(Wrong::new(format!("prio's priomap names band {band} of {bands}"), hint));
        }
        Ok(Self { bands, priority_map })
    }

    fn change(&mut self, new: Self) -> Result<(), Wrong> {
        if new.bands != self.bands {
            let problem = "the simulator can't change the number of a prio's bands";
            return Err(Wrong::lacking(problem, "the same number of bands"));
        }
        *self = new;
        Ok(())
    }

    /// All packets have priority 0 (`net/ipv4/route.c`, `ip_tos2prio`, ignores ECN's bits).
    fn config(&self, device: &Device) -> Result<Config, Wrong> {
        Ok(Config::Prio(Box::new(PrioConfig {
            bands: vec![None; self.bands as usize],
            default: self.priority_map[0],
            rules: Vec::new(),
            band_limit: device.queue_length,
        })))
    }

    fn send(&self, to: &mut AttributeBytes) -> Result<(), Wrong> {
        let bands = Structure::default().u32(self.bands);
        let map = self.priority_map.map(|band| u8::try_from(band).expect("fewer than 16 bands"));
        to.structure(OPTIONS, &bands.bytes(&map).finish(), |to| to.nested(OPTIONS, |_| {}));
        Ok(())
    }
}

/// tc compares a priomap with the number of bands before it, or with its default.
fn refuse_bands_too_late(options: &Options<'_>) -> Result<(), Wrong> {
    let mut bands = u64::from(BANDS);
    for (name, arguments) in options.iter() {
        let numbers: Vec<_> = arguments.iter().map(|word| count(word)).collect::<Result<_, Wrong>>()?;
        match (name, numbers.iter().find(|band| **band >= bands)) {
            ("bands", _) => bands = numbers[0],
            (_, Some(band)) => {
                let hint = "bands are numbered from 0: write 'bands' before 'priomap'";
                return Err(Wrong::new(format!("prio's priomap names band {band} of {bands}"), hint));
            }
            _ => {}
        }
    }
    Ok(())
}
