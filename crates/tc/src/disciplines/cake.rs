//! cake's options (iproute2 `tc/q_cake.c`, `net/sched/sch_cake.c`).
//!
//! All packets here have DSCP 0, so of the tins that a word such as `diffserv8` makes the simulator has one: the one
//! that these packets go to.

use crate::attributes::{Attributes, take_over};
use crate::syntax::attributes::{AttributeBytes, OPTIONS};
use crate::syntax::grammar::{Argument, Grammar, Options, flag, flags, names, option, span_us};
use crate::syntax::quantity::count;
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
    ("ack-filter", AckFilter::Filter),
    ("ack-filter-aggressive", AckFilter::Aggressive),
    ("no-ack-filter", AckFilter::None),
];
/// In the order of the kernel's numbers (`CAKE_DIFFSERV_*`).
const TINS: [&str; 5] = ["diffserv3", "diffserv4", "diffserv8", "besteffort", "precedence"];
const AUTORATE: &str = "autorate-ingress";
const MIN_OVERHEAD: i64 = -64;
const MAX_OVERHEAD: i64 = 256;

/// `TCA_CAKE_*`.
mod sent {
    pub const RATE64: u16 = 2;
    pub const TINS: u16 = 3;
    pub const FRAMING: u16 = 4;
    pub const ISOLATION: u16 = 5;
    pub const OVERHEAD: u16 = 6;
    pub const INTERVAL: u16 = 7;
    pub const TARGET: u16 = 8;
    pub const AUTORATE: u16 = 9;
    pub const MEMORY: u16 = 10;
    pub const NAT: u16 = 11;
    pub const RAW: u16 = 12;
    pub const WASH: u16 = 13;
    pub const LEAST: u16 = 14;
    pub const INGRESS: u16 = 15;
    pub const ACK_FILTER: u16 = 16;
    pub const SPLIT_GSO: u16 = 17;
    pub const FWMARK: u16 = 18;
}

/// What tc sends.
#[derive(Clone, Debug)]
pub struct Cake {
    /// Zero is unlimited.
    rate: Option<Rate>,
    tins: Option<&'static str>,
    times: Option<Times>,
    isolation: Option<Isolation>,
    ack_filter: Option<AckFilter>,
    /// Bytes, and whether they apply to the frame as the device counts it.
    overhead: Option<(i32, bool)>,
    least: Option<u32>,
    framing: Option<Framing>,
    memory_limit: Option<u32>,
    split_gso: Option<bool>,
    ingress: Option<bool>,
    autorate: Option<bool>,
    nat: Option<bool>,
    wash: Option<bool>,
    fwmark: Option<u32>,
}

impl Attributes for Cake {
    const GRAMMAR: Grammar = &[
        &[
            option("bandwidth", &[Argument::Rate]),
            flag("unlimited"),
            option("rtt", &[Argument::Time]),
            option("memlimit", &[Argument::Size]),
            option("overhead", &[Argument::Count]),
            option("mpu", &[Argument::Count]),
            option("fwmark", &[Argument::Count]),
        ],
        &flags(&TINS),
        &flags(&names(&ISOLATIONS)),
        &flags(&["nat", "nonat", "wash", "nowash"]),
        &flags(&names(&FILTERS)),
        &flags(&["split-gso", "no-split-gso", "raw", "conservative", "noatm", "atm", "ptm", "ethernet"]),
        &flags(&["ingress", "egress", "autorate-ingress"]),
        &flags(&names(&PRESETS)),
    ];

    fn parse(options: &Options<'_>) -> Result<Self, Wrong> {
        let mut cake = Self {
            rate: rate(options)?,
            tins: options.last_of(&TINS),
            times: times(options)?,
            isolation: chosen(options, &ISOLATIONS),
            ack_filter: chosen(options, &FILTERS),
            overhead: None,
            least: None,
            framing: None,
            memory_limit: options.size(&["memlimit"])?.filter(|bytes| *bytes > 0),
            split_gso: options.switch("split-gso", "no-split-gso"),
            ingress: options.switch("ingress", "egress"),
            autorate: options.last_of(&[AUTORATE, "bandwidth", "unlimited"]).map(|name| name == AUTORATE),
            nat: options.switch("nat", "nonat"),
            wash: options.switch("wash", "nowash"),
            fwmark: options.count_above_zero("fwmark")?,
        };
        cake.link(options)?;
        Ok(cake)
    }

    fn change(&mut self, new: Self) -> Result<(), Wrong> {
        take_over!(self, new, rate, tins, times, isolation, ack_filter, overhead, least, framing);
        take_over!(self, new, memory_limit, split_gso, ingress, autorate, nat, wash, fwmark);
        Ok(())
    }

    fn config(&self, device: &Device) -> Result<Config, Wrong> {
        self.refuse_lacking()?;
        let rate = self.rate.filter(|rate| *rate != Rate::ZERO);
        let (interval, target) = self.times.unwrap_or(INTERNET);
        let interval = if interval > 0 { interval } else { INTERNET.0 };
        let (overhead, raw) = self.overhead.unwrap_or((0, true));
        let (least, framing) = (self.least.unwrap_or(0), self.framing.unwrap_or(Framing::Plain));
        Ok(Config::Cake(Box::new(CakeConfig {
            rate,
            tin_rate: rate.map(|rate| tin_rate(rate, self.tins)),
            target: span_us(target),
            interval: span_us(interval),
            isolation: self.isolation.unwrap_or(Isolation::TripleIsolate),
            ack_filter: self.ack_filter.unwrap_or(AckFilter::None),
            link: Link { overhead, raw, least, framing },
            memory_limit: self.memory_limit.map(u64::from),
            split_gso: self.split_gso.unwrap_or(true),
            ingress: self.ingress.unwrap_or(false),
            mtu: device.mtu,
        })))
    }

    fn send(&self, to: &mut AttributeBytes) -> Result<(), Wrong> {
        to.nested(OPTIONS, |to| {
            self.rate.into_iter().for_each(|rate| to.u64(sent::RATE64, rate.as_bytes()));
            let tins = |name| TINS.iter().position(|tins| *tins == name).and_then(|at| u32::try_from(at).ok());
            to.some_u32(sent::TINS, self.tins.and_then(tins));
            to.some_u32(sent::FRAMING, self.framing.map(|framing| framing as u32));
            to.some_u32(sent::ISOLATION, self.isolation.map(|isolation| isolation as u32));
            if let Some((bytes, raw)) = self.overhead {
                to.u32(sent::OVERHEAD, bytes.cast_unsigned());
                to.some_u32(sent::RAW, raw.then_some(0));
            }
            to.above_zero(sent::LEAST, self.least);
            to.above_zero(sent::INTERVAL, self.times.map(|(interval, _)| interval));
            to.some_u32(sent::TARGET, self.times.map(|(_, target)| target));
            to.switch(sent::AUTORATE, self.autorate);
            to.some_u32(sent::MEMORY, self.memory_limit);
            to.some_u32(sent::FWMARK, self.fwmark);
            to.switch(sent::NAT, self.nat);
            to.switch(sent::WASH, self.wash);
            to.switch(sent::SPLIT_GSO, self.split_gso);
            to.switch(sent::INGRESS, self.ingress);
            to.some_u32(sent::ACK_FILTER, self.ack_filter.map(|filter| filter as u32));
        });
        Ok(())
    }
}

impl Cake {
    /// Refuses what the simulator or a guest's kernel does not have.
    fn refuse_lacking(&self) -> Result<(), Wrong> {
        if let Some(is_on) = self.nat {
            let word = if is_on { "nat" } else { "nonat" };
            let right = "leave it out: there is no NAT here";
            return Err(Wrong::new(format!("cake's '{word}' needs a kernel that tracks connections"), right));
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

    /// Overhead, least size and framing: words add up in the order in which they were written.
    fn link(&mut self, options: &Options<'_>) -> Result<(), Wrong> {
        let raw = options.has("raw");
        let mut overhead = None;
        for (name, arguments) in options.iter() {
            match name {
                "overhead" => overhead = Some(bounded(arguments[0], name, MIN_OVERHEAD)?),
                "mpu" => self.least = u32::try_from(bounded(arguments[0], name, 0)?).ok(),
                "ethernet" => {
                    overhead = Some(overhead.unwrap_or(0) + 38);
                    self.least = Some(84);
                }
                "conservative" => (overhead, self.framing) = (Some(48), Some(Framing::Atm)),
                "raw" => (overhead, self.framing) = (Some(0), Some(Framing::Plain)),
                "atm" => self.framing = Some(Framing::Atm),
                "ptm" => self.framing = Some(Framing::Ptm),
                "noatm" => self.framing = Some(Framing::Plain),
                _ => {}
            }
        }
        self.overhead = overhead.map(|bytes| (bytes, raw));
        Ok(())
    }
}

fn chosen<T: Copy>(options: &Options<'_>, values: &[(&str, T)]) -> Option<T> {
    options
        .iter()
        .rev()
        .find_map(|(written, _)| values.iter().find(|(name, _)| *name == written).map(|(_, value)| *value))
}

fn rate(options: &Options<'_>) -> Result<Option<Rate>, Wrong> {
    match options.last_of(&["bandwidth", "unlimited"]) {
        Some("bandwidth") => options.rate("bandwidth"),
        unlimited => Ok(unlimited.map(|_| Rate::ZERO)),
    }
}

/// DSCP 0 goes to the tin with the whole rate, but of eight tins by `DiffServ` to the third.
fn tin_rate(rate: Rate, tins: Option<&str>) -> Rate {
    let next = |rate: u64| (rate * 7) >> 3;
    if tins == Some("diffserv8") { Rate::from_bytes(next(next(rate.as_bytes()))) } else { rate }
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
    let number = i64::from(i32::try_from(count(word)?).map_err(problem)?);
    i32::try_from(number).ok().filter(|_| (min..=MAX_OVERHEAD).contains(&number)).ok_or_else(|| {
        Wrong::new(format!("cake's {name} of {number} is out of range"), format!("{min} to {MAX_OVERHEAD}"))
    })
}
