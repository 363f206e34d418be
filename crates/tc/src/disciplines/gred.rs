//! gred's options: `setup` first, then one change per virtual queue (iproute2 `tc/q_gred.c`, `net/sched/sch_gred.c`).

use crate::attributes::Attributes;
use crate::disciplines::red::{SHARED, estimated, flag_bits};
use crate::syntax::attributes::{AttributeBytes, OPTIONS, Structure};
use crate::syntax::grammar::{Argument, Grammar, Options, flag, option};
use crate::syntax::quantity::fit;
use crate::syntax::{Device, Wrong};
use dumbbell_net::queue::Config;
use dumbbell_net::queue::config::RedConfig;
use dumbbell_net::queue::config::{GredConfig, GredQueue};

/// Most virtual queues (`MAX_DPs`).
const MAX_QUEUES: u32 = 16;
/// Priority of a virtual queue without one (`GRED_DEF_PRIO`).
const PRIO: u8 = 8;
/// The options of `setup`, and those of a virtual queue.
const OF_SETUP: &[&str] = &["setup", "DPs", "vqs", "default", "grio", "limit", "ecn", "harddrop"];
const OF_QUEUE: &[&str] =
    &["DP", "vq", "prio", "limit", "min", "max", "bandwidth", "avpkt", "burst", "probability", "ecn", "harddrop"];
const EXAMPLE: &str =
    "such as gred setup DPs 1 default 0, then qdisc change … gred DP 0 limit 400000 min … max … avpkt …";

/// `TCA_GRED_*`.
mod attribute {
    pub const PARAMETERS: u16 = 1;
    pub const IDLE_DAMPING: u16 = 2;
    pub const SETUP: u16 = 3;
    pub const MAX_P: u16 = 4;
    pub const LIMIT: u16 = 5;
    /// Virtual queues with settings of their own, an entry each.
    pub const QUEUES: u16 = 6;
    pub const ENTRY: u16 = 1;
    pub const NUMBER: u16 = 2;
    pub const FLAGS: u16 = 12;
}
/// Counters within `struct tc_gred_qopt` and at its end, which only the kernel sets.
const COUNTERS: [u8; 24] = [0; 24];
const LAST_COUNTERS: [u8; 8] = [0; 8];

/// What `setup` sends, and the virtual queues that later commands sent; a command has one of them.
#[derive(Clone, Debug)]
pub struct Gred {
    setup: Option<Setup>,
    queues: Vec<Given>,
}

/// A virtual queue and the qdisc's limit at that time, which bounds its own.
#[derive(Clone, Debug)]
struct Given {
    queue: GredQueue,
    bound: Option<u32>,
}

#[derive(Clone, Copy, Debug)]
struct Setup {
    count: u32,
    default: u32,
    grio: bool,
    limit: Option<u32>,
    flags: Flags,
}

/// `ecn` and `harddrop`, of the qdisc or of a virtual queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Flags {
    ecn: bool,
    harddrop: bool,
}

impl Attributes for Gred {
    const GRAMMAR: Grammar = &[
        &[
            flag("setup"),
            option("DPs", &[Argument::Count]),
            option("vqs", &[Argument::Count]),
            option("default", &[Argument::Count]),
            flag("grio"),
            option("DP", &[Argument::Count]),
            option("vq", &[Argument::Count]),
            option("prio", &[Argument::Count]),
            option("limit", &[Argument::Size]),
            option("min", &[Argument::Size]),
            option("max", &[Argument::Size]),
            option("bandwidth", &[Argument::Rate]),
            flag("harddrop"),
        ],
        SHARED,
    ];

    fn parse(options: &Options<'_>) -> Result<Self, Wrong> {
        let is_setup = options.iter().next().is_some_and(|(name, _)| name == "setup");
        let known = if is_setup { OF_SETUP } else { OF_QUEUE };
        if let Some((name, _)) = options.iter().find(|(name, _)| !known.contains(name)) {
            let command = if is_setup { "gred's setup" } else { "a virtual queue of gred" };
            return Err(Wrong::new(format!("{command} has no option '{name}'"), EXAMPLE));
        }
        if is_setup {
            return Ok(Self { setup: Some(setup(options)?), queues: Vec::new() });
        }
        Ok(Self { setup: None, queues: [Given { queue: queue(options)?, bound: None }].into() })
    }

    fn change(&mut self, new: Self) -> Result<(), Wrong> {
        let Some(old) = &mut self.setup else { return Err(no_setup()) };
        let Some(setup) = new.setup else {
            let setup = *old;
            return new.queues.into_iter().try_for_each(|given| self.set_queue(&setup, given.queue));
        };
        let have_flags = self.queues.iter().any(|given| Flags::of(&given.queue.red) != Flags::NONE);
        if setup.flags != Flags::NONE && old.flags == Flags::NONE && have_flags {
            return Err(Wrong::new("ecn and harddrop of gred's setup: virtual queues have their own", ""));
        }
        if old.flags != setup.flags {
            for given in &mut self.queues {
                setup.flags.apply(&mut given.queue.red);
            }
        }
        *old = Setup { limit: setup.limit.or(old.limit), ..setup };
        self.queues.retain(|given| given.queue.number < setup.count);
        Ok(())
    }

    fn config(&self, device: &Device) -> Result<Config, Wrong> {
        let Setup { default, limit, .. } = self.setup.ok_or_else(no_setup)?;
        let or_default = |limit: Option<u32>| limit.unwrap_or(device.queue_length.wrapping_mul(device.mtu));
        let queues = self.queues.iter().map(|Given { queue, bound }| {
            let limit = queue.red.limit.min(or_default(*bound).into());
            GredQueue { red: RedConfig { limit, ..queue.red.clone() }, ..queue.clone() }
        });
        let (limit, queues) = (or_default(limit), queues.collect());
        Ok(Config::Gred(Box::new(GredConfig { limit, default, queues })))
    }

    fn send(&self, to: &mut AttributeBytes) -> Result<(), Wrong> {
        if let Some(setup) = &self.setup {
            to.nested(OPTIONS, |to| setup.send(to));
        }
        self.queues.iter().try_for_each(|given| send_queue(&given.queue, to))
    }
}

impl Setup {
    /// `struct tc_gred_sopt` and the limit.
    fn send(&self, to: &mut AttributeBytes) {
        let queues = Structure::default().u32(self.count).u32(self.default);
        let Flags { ecn, harddrop } = self.flags;
        let flags = flag_bits([ecn, harddrop, false, false]);
        to.bytes(attribute::SETUP, &queues.u8(u8::from(self.grio)).u8(flags).u16(0).finish());
        to.some_u32(attribute::LIMIT, self.limit);
    }
}

fn send_queue(queue: &GredQueue, to: &mut AttributeBytes) -> Result<(), Wrong> {
    let GredQueue { number, prio, red } = queue;
    let sizes = Structure::default().u32(fit(red.limit, "limit")?).u32(red.min).u32(red.max);
    let shifts = [red.wlog, red.plog, red.scell_log, *prio];
    let parameters = sizes.u32(*number).bytes(&COUNTERS).bytes(&shifts).bytes(&LAST_COUNTERS).finish();
    let flags = flag_bits([red.ecn, red.harddrop, false, false]);
    to.nested(OPTIONS, |to| {
        to.bytes(attribute::PARAMETERS, &parameters);
        to.bytes(attribute::IDLE_DAMPING, &red.idle_damping);
        to.u32(attribute::MAX_P, red.max_p.0);
        if flags > 0 {
            to.nested(attribute::QUEUES, |to| {
                to.nested(attribute::ENTRY, |to| {
                    to.u32(attribute::NUMBER, *number);
                    to.u32(attribute::FLAGS, flags.into());
                });
            });
        }
    });
    Ok(())
}

impl Gred {
    /// Adds a virtual queue or replaces its settings.
    fn set_queue(&mut self, setup: &Setup, mut queue: GredQueue) -> Result<(), Wrong> {
        if queue.number >= setup.count {
            return Err(Wrong::new(format!("gred has {} virtual queues, from 0", setup.count), "a smaller number"));
        }
        if setup.flags != Flags::NONE && setup.flags != Flags::of(&queue.red) {
            return Err(Wrong::new("ecn and harddrop of a virtual queue of gred: setup has them", "the same as there"));
        }
        let known = |number: u32| self.queues.iter().position(|given| given.queue.number == number);
        queue.prio = match (setup.grio, queue.prio) {
            (false, _) => PRIO,
            (true, 0) => known(setup.default).map_or(PRIO, |index| self.queues[index].queue.prio),
            (true, given) => given,
        };
        let place = known(queue.number);
        let given = Given { queue, bound: setup.limit };
        match place {
            Some(index) => self.queues[index] = given,
            None => self.queues.push(given),
        }
        Ok(())
    }
}

impl Flags {
    const NONE: Self = Self { ecn: false, harddrop: false };

    const fn of(red: &RedConfig) -> Self {
        Self { ecn: red.ecn, harddrop: red.harddrop }
    }

    const fn apply(self, red: &mut RedConfig) {
        (red.ecn, red.harddrop) = (self.ecn, self.harddrop);
    }
}

fn no_setup() -> Wrong {
    Wrong::new("gred needs a setup before its virtual queues", EXAMPLE)
}

fn setup(options: &Options<'_>) -> Result<Setup, Wrong> {
    let position = |names: &[&str]| options.iter().position(|(name, _)| names.contains(&name));
    let (counted, default) = (position(&["DPs", "vqs"]), position(&["default"]));
    let count = numbered(options, ["DPs", "vqs"])?.filter(|count| (1..=MAX_QUEUES).contains(count));
    match (count, options.count("default")?) {
        (Some(count), Some(number)) if number < count && counted < default => Ok(Setup {
            count,
            default: number,
            grio: options.has("grio"),
            limit: options.size(&["limit"])?.filter(|limit| *limit > 0),
            flags: Flags { ecn: options.has("ecn"), harddrop: options.has("harddrop") },
        }),
        _ => {
            let problem =
                format!("gred's setup needs 1 to {MAX_QUEUES} virtual queues and a default below their number");
            Err(Wrong::new(problem, "such as gred setup DPs 3 default 2"))
        }
    }
}

fn queue(options: &Options<'_>) -> Result<GredQueue, Wrong> {
    let size = |name| Ok(options.size(&[name])?.filter(|bytes| *bytes > 0));
    let (limit, min, max, average) = (size("limit")?, size("min")?, size("max")?, size("avpkt")?);
    let number = numbered(options, ["DP", "vq"])?.filter(|number| *number < MAX_QUEUES);
    let (Some(number), Some(limit), Some(min), Some(max), Some(average)) = (number, limit, min, max, average) else {
        let problem = format!("a virtual queue of gred needs DP (below {MAX_QUEUES}), limit, min, max and avpkt");
        return Err(Wrong::new(problem, "such as gred DP 0 limit 400000 min 30000 max 90000 avpkt 1000"));
    };
    let red = estimated("gred", options, limit, (min, max), average)?;
    // tc keeps the last byte.
    let prio = options.count("prio")?.unwrap_or(0).to_le_bytes()[0];
    Ok(GredQueue { number, prio, red })
}

/// The number of a virtual queue, or of all of them; of both spellings the last counts.
fn numbered(options: &Options<'_>, names: [&str; 2]) -> Result<Option<u32>, Wrong> {
    options.last_of(&names).map_or(Ok(None), |name| options.count(name))
}
