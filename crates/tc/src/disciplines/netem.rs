//! netem's options (iproute2 `tc/q_netem.c`, `net/sched/sch_netem.c`).
//!
//! tc always sends delay, jitter, limit, gap, loss and duplication; the three correlations together, if one of them
//! was written; the rest if it was written.

mod slot;

use crate::attributes::{Attributes, take_over};
use crate::syntax::attributes::{AttributeBytes, NESTED, OPTIONS, Structure, unsent};
use crate::syntax::grammar::{ALWAYS, Argument, Grammar, Options, flag, names, option};
use crate::syntax::quantity::{count, fit, micros, per_cent, probability, probability_of, rate, tick_span};
use crate::syntax::{Device, Wrong};
use dumbbell_net::queue::config::{Correlated, Distribution, Loss, NetemConfig, NetemRate, SlotConfig};
use dumbbell_net::queue::netem::distribution::table;
use dumbbell_net::queue::{Config, Probability};
use dumbbell_net::time::{PSCHED_TICK_NS, Span};

const LIMIT: u32 = 1_000;
const NEVER: Probability = Probability(0);
const MODELS: Argument = Argument::OneOf(&["random", "state", "gemodel"]);
const SHARES: [Argument; 6] =
    [MODELS, Argument::Share, Argument::Share, Argument::Share, Argument::Share, Argument::Share];
const DISTRIBUTIONS: [(&str, Distribution); 4] = [
    ("uniform", Distribution::Uniform),
    ("normal", Distribution::Normal),
    ("pareto", Distribution::Pareto),
    ("paretonormal", Distribution::Paretonormal),
];

/// Rates from here on have an attribute of 64 bits.
const WIDE: u64 = 1 << 32;

/// `TCA_NETEM_*`.
mod sent {
    pub const CORRELATIONS: u16 = 1;
    pub const DISTRIBUTION: u16 = 2;
    pub const REORDER: u16 = 3;
    pub const CORRUPT: u16 = 4;
    pub const LOSS: u16 = 5;
    pub const RATE: u16 = 6;
    pub const ECN: u16 = 7;
    pub const RATE64: u16 = 8;
    pub const SLOT: u16 = 12;
    pub const SEED: u16 = 14;
    /// `NETEM_LOSS_GI`, `NETEM_LOSS_GE`: the models within `LOSS`.
    pub const LOSS_STATE: u16 = 1;
    pub const LOSS_GEMODEL: u16 = 2;
}

/// Correlations of delay, loss and duplication.
#[derive(Clone, Copy, Debug, Default)]
struct Correlations {
    delay: Probability,
    loss: Probability,
    duplicate: Probability,
}

/// What tc sends.
#[derive(Clone, Debug)]
pub struct Netem {
    limit: u32,
    delay: Span,
    jitter: Span,
    gap: u32,
    loss: Loss,
    duplicate: Probability,
    correlations: Option<Correlations>,
    distribution: Option<Distribution>,
    reorder: Option<Correlated>,
    corrupt: Option<Correlated>,
    rate: Option<NetemRate>,
    /// One of no length turns slots off.
    slot: Option<SlotConfig>,
    seed: Option<u64>,
    ecn: bool,
}

impl Attributes for Netem {
    const GRAMMAR: Grammar = &[&[
        option("limit", &[Argument::Packets]),
        option("delay", &[Argument::Time]).and(&[Argument::Time, Argument::Share]),
        option("latency", &[Argument::Time]).and(&[Argument::Time, Argument::Share]),
        option("distribution", &[Argument::OneOf(&names(&DISTRIBUTIONS))]),
        option("loss", &[]).and(&SHARES),
        option("drop", &[]).and(&SHARES),
        // Not tc's: one packet in so many is lost, as theory assumes; only the simulator has it.
        option("every", &[Argument::Count]),
        flag("ecn"),
        option("corrupt", &[Argument::Share]).and(&[Argument::Share]),
        option("duplicate", &[Argument::Share]).and(&[Argument::Share]),
        option("reorder", &[Argument::Share]).and(&[Argument::Share]),
        option("gap", &[Argument::Count]),
        option("rate", &[Argument::Rate]).and(&[Argument::Count, Argument::Count, Argument::Count]),
        option("slot", &[Argument::Time]).and(&[Argument::Time]),
        option("packets", &[Argument::Count]),
        option("bytes", &[Argument::Count]),
        option("seed", &[Argument::Count]),
    ]];

    fn parse(options: &Options<'_>) -> Result<Self, Wrong> {
        let time = |index: usize| delay_word(options, index).map_or(Ok(Span::ZERO), clock_time);
        let duplicate = options.arguments("duplicate").unwrap_or_default();
        let netem = Self {
            limit: options.count("limit")?.unwrap_or(LIMIT),
            delay: time(0)?,
            jitter: time(1)?,
            gap: gap(options, time(0)? > Span::ZERO)?,
            loss: loss(options)?,
            duplicate: duplicate.first().map_or(Ok(NEVER), |share| probability(share))?,
            correlations: correlations(options)?,
            distribution: options.first("distribution").and_then(distribution),
            reorder: correlated(options, "reorder")?,
            corrupt: correlated(options, "corrupt")?,
            rate: options.arguments("rate").map(link_rate).transpose()?,
            slot: slot::read(options)?,
            seed: options.first("seed").map(count).transpose()?,
            ecn: options.has("ecn"),
        };
        if netem.ecn && matches!(netem.loss, Loss::None | Loss::Random(Correlated { chance: NEVER, .. })) {
            return Err(Wrong::new("netem's ecn needs a loss above 0%", "such as loss 1% ecn"));
        }
        if netem.distribution.is_some() && (netem.delay == Span::ZERO || netem.jitter == Span::ZERO) {
            let right = "such as delay 10ms 2ms distribution normal";
            return Err(Wrong::new("netem's distribution needs a delay and a jitter", right));
        }
        Ok(netem)
    }

    fn change(&mut self, new: Self) -> Result<(), Wrong> {
        let old = core::mem::replace(self, new.clone());
        take_over!(self, old, correlations, distribution, reorder, corrupt, rate, slot);
        take_over!(self, new, correlations, distribution, reorder, corrupt, rate, slot);
        Ok(())
    }

    fn config(&self, _: &Device) -> Result<Config, Wrong> {
        if self.ecn {
            return Err(Wrong::lacking("the simulator's netem has no 'ecn'", ""));
        }
        let correlations = self.correlations.unwrap_or_default();
        let loss = match self.loss {
            Loss::Random(Correlated { chance, .. }) => {
                Loss::Random(Correlated { chance, correlation: correlations.loss })
            }
            model => model,
        };
        Ok(Config::Netem(Box::new(NetemConfig {
            limit: self.limit,
            delay: self.delay,
            jitter: self.jitter,
            delay_correlation: correlations.delay,
            distribution: self.distribution.unwrap_or_default(),
            loss,
            reorder: self.reorder.unwrap_or_default(),
            gap: self.gap,
            duplicate: Correlated { chance: self.duplicate, correlation: correlations.duplicate },
            corrupt: self.corrupt.unwrap_or_default(),
            rate: self.rate,
            slot: self.slot.filter(|slot| slot.most > Span::ZERO),
            seed: self.seed,
            inner: None,
        })))
    }

    fn send_change(&self, to: &mut AttributeBytes) -> Result<(), Wrong> {
        if self.distribution == Some(Distribution::Uniform) {
            return Err(unsent("a change to a uniform distribution: the kernel keeps the table that it has"));
        }
        self.send(to)
    }

    fn send(&self, to: &mut AttributeBytes) -> Result<(), Wrong> {
        let settings = self.settings()?;
        // The uniform one is that of a netem without a table; tc has no file for it.
        let distribution = self.distribution.and_then(table).map(|table| {
            let numbers = table.iter().flat_map(|deviation| deviation.to_ne_bytes());
            numbers.collect::<Vec<_>>()
        });
        to.structure(OPTIONS, &settings, |to| {
            if let Some(Correlations { delay, loss, duplicate }) = self.correlations {
                to.bytes(sent::CORRELATIONS, &shares(&[delay, loss, duplicate]));
            }
            let pair = |Correlated { chance, correlation }| shares(&[chance, correlation]);
            self.reorder.into_iter().for_each(|reorder| to.bytes(sent::REORDER, &pair(reorder)));
            if self.ecn {
                to.u32(sent::ECN, 1);
            }
            self.corrupt.into_iter().for_each(|corrupt| to.bytes(sent::CORRUPT, &pair(corrupt)));
            self.slot.into_iter().for_each(|slot| to.bytes(sent::SLOT, &slot::bytes(slot)));
            send_loss_model(self.loss, to);
            self.rate.into_iter().for_each(|rate| send_rate(rate, to));
            self.seed.into_iter().for_each(|seed| to.u64(sent::SEED, seed));
            if let Some(table) = &distribution {
                to.bytes(sent::DISTRIBUTION, table);
            }
        });
        Ok(())
    }
}

impl Netem {
    /// `struct tc_netem_qopt`.
    fn settings(&self) -> Result<Vec<u8>, Wrong> {
        let ticks = |time: Span| fit(time.as_nanos() / PSCHED_TICK_NS, "delay");
        let loss = match self.loss {
            Loss::Every { .. } => return Err(unsent("netem's 'every'")),
            Loss::Random(Correlated { chance, .. }) => chance,
            _ => NEVER,
        };
        let queue = Structure::default().u32(ticks(self.delay)?).u32(self.limit).u32(loss.0);
        Ok(queue.u32(self.gap).u32(self.duplicate.0).u32(ticks(self.jitter)?).finish())
    }
}

/// A time in the 32 bits of tc's clock (`get_ticks`).
fn clock_time(word: &str) -> Result<Span, Wrong> {
    let time = tick_span(micros(word)?);
    if u32::try_from(time.as_nanos() / PSCHED_TICK_NS).is_err() {
        return Err(Wrong::new(format!("netem's delay of {word} does not fit tc's clock"), "at most 274877906us"));
    }
    Ok(time)
}

fn shares(all: &[Probability]) -> Vec<u8> {
    all.iter().flat_map(|share| share.0.to_ne_bytes()).collect()
}

fn send_loss_model(loss: Loss, to: &mut AttributeBytes) {
    let (model, numbers) = match loss {
        Loss::State { p13, p31, p32, p23, p14 } => (sent::LOSS_STATE, shares(&[p13, p31, p32, p14, p23])),
        Loss::Gemodel { p, r, h, k1 } => (sent::LOSS_GEMODEL, shares(&[p, r, h, k1])),
        _ => return,
    };
    to.nested(sent::LOSS | NESTED, |to| to.bytes(model, &numbers));
}

fn send_rate(link: NetemRate, to: &mut AttributeBytes) {
    let rate = link.rate.as_bytes();
    if rate >= WIDE {
        to.u64(sent::RATE64, rate);
    }
    let numbers = Structure::default().u32(u32::try_from(rate).unwrap_or(u32::MAX)).i32(link.packet_overhead);
    to.bytes(sent::RATE, &numbers.u32(link.cell_size).i32(link.cell_overhead).finish());
}

/// An argument of the last `delay` or `latency` that has so many: of an earlier one tc keeps the rest.
fn delay_word<'a>(options: &Options<'a>, index: usize) -> Option<&'a str> {
    let mut delays = options.iter().rev().filter(|(name, _)| ["delay", "latency"].contains(name));
    delays.find_map(|(_, arguments)| arguments.get(index).copied())
}

/// Arguments of two synonyms.
fn either<'a, 'b>(options: &'b Options<'a>, one: &str, other: &str) -> &'b [&'a str] {
    options.last_of(&[one, other]).and_then(|name| options.arguments(name)).unwrap_or_default()
}

fn distribution(word: &str) -> Option<Distribution> {
    DISTRIBUTIONS.iter().find(|(name, _)| *name == word).map(|(_, distribution)| *distribution)
}

fn correlated(options: &Options<'_>, name: &str) -> Result<Option<Correlated>, Wrong> {
    let Some(words) = options.arguments(name) else { return Ok(None) };
    let share = |index: usize| words.get(index).map_or(Ok(NEVER), |word| probability(word));
    Ok(Some(Correlated { chance: share(0)?, correlation: share(1)? }))
}

/// A loss model and its shares.
fn loss_words<'a, 'b>(options: &'b Options<'a>) -> (&'a str, &'b [&'a str]) {
    let words = either(options, "loss", "drop");
    match words.first() {
        Some(model @ (&"random" | &"state" | &"gemodel")) => (model, &words[1..]),
        _ => ("random", words),
    }
}

/// tc sends them if any correlation but that of duplication was written, and then that, too.
fn correlations(options: &Options<'_>) -> Result<Option<Correlations>, Wrong> {
    let (model, losses) = loss_words(options);
    let loss = if model == "random" { losses.get(1) } else { None };
    let delay = delay_word(options, 2);
    let duplicate = options.arguments("duplicate").unwrap_or_default().get(1);
    let has_second = |name| options.arguments(name).is_some_and(|words| words.len() > 1);
    if loss.is_none() && delay.is_none() && !has_second("reorder") && !has_second("corrupt") {
        return Ok(None);
    }
    let share = |word: Option<&str>| word.map_or(Ok(NEVER), probability);
    Ok(Some(Correlations { delay: share(delay)?, loss: share(loss.copied())?, duplicate: share(duplicate.copied())? }))
}

fn loss(options: &Options<'_>) -> Result<Loss, Wrong> {
    if let Some(every) = options.count_above_zero("every")? {
        return Ok(Loss::Every { every: u64::from(every) });
    }
    if options.last_of(&["loss", "drop"]).is_none() {
        return Ok(Loss::None);
    }
    if options.iter().filter(|(name, _)| ["loss", "drop"].contains(name)).count() > 1 {
        return Err(Wrong::new("netem has two losses", "give one 'loss'"));
    }
    let (model, words) = loss_words(options);
    let Some(first) = words.first() else {
        return Err(Wrong::new("netem's loss without a share", "such as loss 1%"));
    };
    let most = match model {
        "state" => 5,
        "gemodel" => 4,
        _ => 2,
    };
    if words.len() > most {
        return Err(Wrong::new(format!("too many shares for netem's loss {model}"), "see tc-netem(8)"));
    }
    let shares: Vec<_> = words.iter().map(|word| probability(word)).collect::<Result<_, _>>()?;
    let share = |index: usize, default: Probability| shares.get(index).copied().unwrap_or(default);
    let rest = remainder(per_cent(first)?);
    Ok(match model {
        "state" => Loss::State {
            p13: shares[0],
            p31: share(1, rest),
            p32: share(2, NEVER),
            p23: share(3, ALWAYS),
            p14: share(4, NEVER),
        },
        // tc takes 1-h, and sends h.
        "gemodel" => Loss::Gemodel {
            p: shares[0],
            r: share(1, rest),
            h: shares.get(2).map_or(NEVER, |share| Probability(u32::MAX - share.0)),
            k1: share(3, NEVER),
        },
        _ => Loss::Random(Correlated { chance: shares[0], correlation: NEVER }),
    })
}

/// The rest of a first share, which tc takes for the second.
#[expect(clippy::float_arithmetic, reason = "tc computes with doubles")]
fn remainder(per_cent: f64) -> Probability {
    probability_of(1.0 - per_cent / 100.0)
}

/// Without a gap of its own a reorder has one of 1; a gap needs a reorder, and that a delay.
fn gap(options: &Options<'_>, has_delay: bool) -> Result<u32, Wrong> {
    let gap = options.count("gap")?.unwrap_or(0);
    let reorders = correlated(options, "reorder")?.is_some_and(|reorder| reorder.chance > NEVER);
    if gap > 0 && !reorders {
        return Err(Wrong::new("netem's gap needs a reorder", "such as reorder 25% gap 5"));
    }
    if reorders && !has_delay {
        return Err(Wrong::new("netem's reorder needs a delay", "such as delay 5ms reorder 25%"));
    }
    Ok(if gap > 0 { gap } else { u32::from(reorders) })
}

fn link_rate(words: &[&str]) -> Result<NetemRate, Wrong> {
    let number = |index: usize| words.get(index).map_or(Ok(0), |word| fit(count(word)?, word));
    let overhead = |index: usize| {
        let number = number(index)?;
        let problem = || Wrong::new(format!("netem's overhead of {number} does not fit 31 bits"), "at most 2147483647");
        i32::try_from(number).map_err(|_| problem())
    };
    Ok(NetemRate {
        rate: rate(words[0])?,
        packet_overhead: overhead(1)?,
        cell_size: number(2)?,
        cell_overhead: overhead(3)?,
    })
}
