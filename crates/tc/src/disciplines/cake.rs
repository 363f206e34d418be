//! cake's options (iproute2 `tc/q_cake.c`, `net/sched/sch_cake.c`).
//!
//! All packets here have DSCP 0, so of the tins that a word such as `diffserv8` makes the simulator has one: the one
//! that these packets go to.

use crate::options::{Declared, Settings, choice, count, number, options, own, size, switch};
use crate::syntax::attributes::AttributeBytes;
use crate::syntax::grammar::{Argument, Options, flag, flags, names, option, span_us};
use crate::syntax::quantity;
use crate::syntax::{Device, Wrong};
use dumbbell_net::queue::Config;
use dumbbell_net::queue::config::{AckFilter, CakeConfig, Framing, Isolation, Link};
use dumbbell_net::rate::Rate;

/// Interval and target in microseconds.
type Times = (u32, u32);

const PRESETS: [(&str, Times); 8] = [
    ("datacentre", (100, 5)),
    ("lan", (1_000, 50)),
    ("metro", (10_000, 500)),
    ("regional", (30_000, 1_500)),
    ("internet", (100_000, 5_000)),
    ("oceanic", (300_000, 15_000)),
    ("satellite", (1_000_000, 50_000)),
    ("interplanetary", (1_000_000_000, 50_000_000)),
];
const INTERNET: Times = (100_000, 5_000);
/// In the order of the kernel's numbers (`CAKE_FLOW_*`), as [`FILTERS`] (`CAKE_ACK_*`) and [`TINS`] (`CAKE_DIFFSERV_*`).
const ISOLATIONS: [(&str, Isolation); 8] = [
    ("flowblind", Isolation::Flowblind),
    ("srchost", Isolation::Srchost),
    ("dsthost", Isolation::Dsthost),
    ("hosts", Isolation::Hosts),
    ("flows", Isolation::Flows),
    ("dual-srchost", Isolation::DualSrchost),
    ("dual-dsthost", Isolation::DualDsthost),
    ("triple-isolate", Isolation::TripleIsolate),
];
const FILTERS: [(&str, AckFilter); 3] = [
    ("no-ack-filter", AckFilter::None),
    ("ack-filter", AckFilter::Filter),
    ("ack-filter-aggressive", AckFilter::Aggressive),
];
const TINS: [&str; 5] = ["diffserv3", "diffserv4", "diffserv8", "besteffort", "precedence"];
const AUTORATE: &str = "autorate-ingress";
const MIN_OVERHEAD: i64 = -64;
const MAX_OVERHEAD: i64 = 256;

options! {
    /// Times in microseconds; a rate of 0 is unlimited. Choices are the kernel's numbers.
    Cake {
        rate: Rate = 2, RATE;
        tins: u32 = 3, choice(&TINS);
        framing: Framing = 4, FRAMING;
        isolation: u32 = 5, choice(&names(&ISOLATIONS));
        overhead: (i32, bool) = 6, OVERHEAD;
        least: u32 = 14, number("mpu", &[Argument::Count], |options, _| Ok(link(options)?.least)).above_zero();
        interval: u32 = 7, number("rtt", &[Argument::Time], |options, _| Ok(times(options)?.map(|times| times.0))).above_zero();
        target: u32 = 8, own(flags(&names(&PRESETS)), |options, _| Ok(times(options)?.map(|times| times.1)), AttributeBytes::u32);
        autorate: bool = 9, AUTORATES;
        memory_limit: u32 = 10, size("memlimit").above_zero();
        fwmark: u32 = 18, count("fwmark").above_zero();
        nat: bool = 11, switch("nat", "nonat");
        wash: bool = 13, switch("wash", "nowash");
        split_gso: bool = 17, switch("split-gso", "no-split-gso");
        ingress: bool = 15, switch("ingress", "egress");
        ack_filter: u32 = 16, choice(&names(&FILTERS));
    }
}

/// `TCA_CAKE_RAW`: the overhead applies to the frame as the device counts it.
const RAW: u16 = 12;
const RATE: Declared<Rate> = own(
    [option("bandwidth", &[Argument::Rate]), flag("unlimited")],
    |options, _| match options.last_of(&["bandwidth", "unlimited"]) {
        Some("bandwidth") => options.rate("bandwidth"),
        unlimited => Ok(unlimited.map(|_| Rate::ZERO)),
    },
    |to, kind, rate| to.u64(kind, rate.as_bytes()),
);
const FRAMING: Declared<Framing> = own(
    flags(&["raw", "conservative", "noatm", "atm", "ptm"]),
    |options, _| Ok(link(options)?.framing),
    |to, kind, framing| to.u32(kind, framing as u32),
);
/// Bytes, and whether they apply to the frame as the device counts it.
const OVERHEAD: Declared<(i32, bool)> = own(
    [option("overhead", &[Argument::Count]), flag("ethernet")],
    |options, _| Ok(link(options)?.overhead.map(|bytes| (bytes, options.has("raw")))),
    |to, kind, (bytes, raw)| {
        to.u32(kind, bytes.cast_unsigned());
        to.some_u32(RAW, raw.then_some(0));
    },
);
/// A rate turns it off.
const AUTORATES: Declared<bool> = own(
    [flag(AUTORATE)],
    |options, _| Ok(options.last_of(&[AUTORATE, "bandwidth", "unlimited"]).map(|name| name == AUTORATE)),
    |to, kind, value| to.u32(kind, value.into()),
);

impl Settings for Cake {
    fn settings(&self, device: &Device) -> Result<Config, Wrong> {
        self.refuse_lacking()?;
        let rate = self.rate.filter(|rate| *rate != Rate::ZERO);
        let (overhead, raw) = self.overhead.unwrap_or((0, true));
        let (least, framing) = (self.least.unwrap_or(0), self.framing.unwrap_or(Framing::Plain));
        Ok(Config::Cake(Box::new(CakeConfig {
            rate,
            tin_rate: rate.map(|rate| tin_rate(rate, self.tins)),
            target: span_us(self.target.unwrap_or(INTERNET.1)),
            interval: span_us(self.interval.unwrap_or(INTERNET.0)),
            isolation: self.isolation.map_or(Isolation::TripleIsolate, |chosen| ISOLATIONS[chosen as usize].1),
            ack_filter: self.ack_filter.map_or(AckFilter::None, |chosen| FILTERS[chosen as usize].1),
            link: Link { overhead, raw, least, framing },
            memory_limit: self.memory_limit.map(u64::from),
            split_gso: self.split_gso.unwrap_or(true),
            ingress: self.ingress.unwrap_or(false),
            mtu: device.mtu,
        })))
    }
}

impl Cake {
    /// Refuses what the simulator or a guest's kernel does not have.
    fn refuse_lacking(&self) -> Result<(), Wrong> {
        if let Some(is_on) = self.nat {
            let word = if is_on { "nat" } else { "nonat" };
            let hint = "leave it out: there is no NAT here";
            return Err(Wrong::new(format!("cake's '{word}' needs a kernel that tracks connections"), hint));
        }
        let lacking = [
            (self.autorate == Some(true), AUTORATE, "its shaper would follow an estimate"),
            (self.fwmark.is_some(), "fwmark", "its tins would follow marks"),
        ];
        if let Some((_, option, why)) = lacking.into_iter().find(|(is_set, ..)| *is_set) {
            return Err(Wrong::lacking(format!("the simulator's cake has no '{option}': {why}"), "leave it out"));
        }
        Ok(())
    }
}

/// What changes how packets count.
#[derive(Default)]
struct Written {
    overhead: Option<i32>,
    least: Option<u32>,
    framing: Option<Framing>,
}

/// Words add up in the order in which they were written.
fn link(options: &Options<'_>) -> Result<Written, Wrong> {
    let Written { mut overhead, mut least, mut framing } = Written::default();
    for (name, arguments) in options.iter() {
        match name {
            "overhead" => overhead = Some(bounded(arguments[0], name, MIN_OVERHEAD)?),
            "mpu" => least = u32::try_from(bounded(arguments[0], name, 0)?).ok(),
            "ethernet" => (overhead, least) = (Some(overhead.unwrap_or(0) + 38), Some(84)),
            "conservative" => (overhead, framing) = (Some(48), Some(Framing::Atm)),
            "raw" => (overhead, framing) = (Some(0), Some(Framing::Plain)),
            "atm" => framing = Some(Framing::Atm),
            "ptm" => framing = Some(Framing::Ptm),
            "noatm" => framing = Some(Framing::Plain),
            _ => {}
        }
    }
    Ok(Written { overhead, least, framing })
}

/// DSCP 0 goes to the tin with the whole rate, but of eight tins by `DiffServ` to the third.
fn tin_rate(rate: Rate, tins: Option<u32>) -> Rate {
    let next = |rate: u64| (rate * 7) >> 3;
    if tins.is_some_and(|chosen| TINS[chosen as usize] == "diffserv8") {
        Rate::from_bytes(next(next(rate.as_bytes())))
    } else {
        rate
    }
}

/// Interval and target; a round trip that is written has a target of a twentieth.
fn times(options: &Options<'_>) -> Result<Option<Times>, Wrong> {
    let mut presets = PRESETS.iter().filter(|(name, _)| options.has(name));
    let preset = presets.next();
    if let (Some((one, _)), Some((other, _))) = (preset, presets.next()) {
        return Err(Wrong::new(format!("cake takes one of {one} and {other}"), "give one of them"));
    }
    let rtt = options.iter().rev().find(|(name, _)| *name == "rtt" || preset.is_some_and(|(preset, _)| preset == name));
    match rtt {
        Some(("rtt", _)) => Ok(options.micros("rtt")?.map(|interval| (interval, (interval / 20).max(1)))),
        _ => Ok(preset.map(|(_, times)| *times)),
    }
}

fn bounded(word: &str, name: &str, min: i64) -> Result<i32, Wrong> {
    let problem =
        |_| Wrong::new(format!("cake's {name} of {word} does not fit 31 bits"), format!("at most {MAX_OVERHEAD}"));
    let number = i64::from(i32::try_from(quantity::count(word)?).map_err(problem)?);
    i32::try_from(number).ok().filter(|_| (min..=MAX_OVERHEAD).contains(&number)).ok_or_else(|| {
        Wrong::new(format!("cake's {name} of {number} is out of range"), format!("{min} to {MAX_OVERHEAD}"))
    })
}
