//! netem's options (iproute2 `tc/q_netem.c`, `net/sched/sch_netem.c`).
//!
//! tc always sends delay, jitter, limit, gap, loss and duplication; the three correlations together, if one of them
//! was written; the rest if it was written.

mod slot;

use crate::attributes::Attributes;
use crate::options::{Declared, Listed, joined, options, own, written};
use crate::syntax::attributes::{AttributeBytes, NESTED, OPTIONS, Structure, unsent};
use crate::syntax::grammar::{ALWAYS, Argument, Grammar, Keyword, Options, names, option};
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

/// `TCA_NETEM_RATE64`.
const RATE64: u16 = 8;
/// `NETEM_LOSS_GI`, `NETEM_LOSS_GE`.
const LOSS_STATE: u16 = 1;
const LOSS_GEMODEL: u16 = 2;

/// Correlations of delay, loss and duplication.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Correlations {
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
    duplicate: Probability,
    optional: Optional,
}

/// Options of [`Netem`] that are always sent, and words of others.
const ALWAYS_SENT: Grammar = &[&[
    option("limit", &[Argument::Packets]),
    option("delay", &[Argument::Time]).and(&[Argument::Time, Argument::Share]),
    option("latency", &[Argument::Time]).and(&[Argument::Time, Argument::Share]),
    option("duplicate", &[Argument::Share]).and(&[Argument::Share]),
    option("gap", &[Argument::Count]),
]];

options! {
    /// What tc sends if it was written, behind the structure; a slot of no length turns slots off.
    Optional {
        correlations: Correlations = 1, own([], correlations, |to, kind, Correlations { delay, loss, duplicate }| {
            to.bytes(kind, &shares(&[delay, loss, duplicate]));
        });
        reorder: Correlated = 3, pair("reorder");
        ecn: u32 = 7, written("ecn");
        corrupt: Correlated = 4, pair("corrupt");
        slot: SlotConfig = 12, slot::SLOT;
        loss: Loss = 5, LOSS;
        rate: NetemRate = 6, RATE;
        seed: u64 = 14, SEED;
        distribution: Distribution = 2, DISTRIBUTION;
    }
}

const fn pair(name: &'static str) -> Declared<Correlated> {
    own(
        [option(name, &[Argument::Share]).and(&[Argument::Share])],
        |options, words| correlated(options, words[0].name),
        |to, kind, Correlated { chance, correlation }| to.bytes(kind, &shares(&[chance, correlation])),
    )
}

/// Read also if it was not written: a change that has no model ends the one before.
const LOSS: Declared<Loss> = own(
    [
        option("loss", &[]).and(&SHARES),
        option("drop", &[]).and(&SHARES),
        // Not tc's: one packet in so many is lost, as theory assumes; only the simulator has it.
        option("every", &[Argument::Count]),
    ],
    |options, _| loss(options).map(Some),
    send_loss_model,
);
const RATE: Declared<NetemRate> = own(
    [option("rate", &[Argument::Rate]).and(&[Argument::Count, Argument::Count, Argument::Count])],
    |options, _| options.arguments("rate").map(link_rate).transpose(),
    send_rate,
);
const SEED: Declared<u64> = own(
    [option("seed", &[Argument::Count])],
    |options, _| options.first("seed").map(count).transpose(),
    AttributeBytes::u64,
);
/// The uniform one is that of a netem without a table; tc has no file for it.
const DISTRIBUTION: Declared<Distribution> = own(
    [option("distribution", &[Argument::OneOf(&names(&DISTRIBUTIONS))])],
    |options, _| Ok(options.first("distribution").and_then(distribution)),
    |to, kind, distribution| {
        if let Some(table) = table(distribution) {
            to.bytes(kind, &table.iter().flat_map(|deviation| deviation.to_ne_bytes()).collect::<Vec<_>>());
        }
    },
);

impl Attributes for Netem {
    const GRAMMAR: Grammar = &joined::<{ ALWAYS_SENT.len() + Optional::WORDS.len() }>(ALWAYS_SENT, Optional::WORDS);

    fn parse(options: &Options<'_>) -> Result<Self, Wrong> {
        let time = |index: usize| delay_word(options, index).map_or(Ok(Span::ZERO), clock_time);
        let duplicate = options.arguments("duplicate").unwrap_or_default();
        let netem = Self {
            limit: options.count("limit")?.unwrap_or(LIMIT),
            delay: time(0)?,
            jitter: time(1)?,
            gap: gap(options, time(0)? > Span::ZERO)?,
            duplicate: duplicate.first().map_or(Ok(NEVER), |share| probability(share))?,
            optional: Optional::read(options)?,
        };
        let Optional { ecn, loss, distribution, .. } = &netem.optional;
        let has_loss = !matches!(loss, Some(Loss::None | Loss::Random(Correlated { chance: NEVER, .. })));
        if ecn.is_some() && !has_loss {
            return Err(Wrong::new("netem's ecn needs a loss above 0%", "such as loss 1% ecn"));
        }
        if distribution.is_some() && (netem.delay == Span::ZERO || netem.jitter == Span::ZERO) {
            let hint = "such as delay 10ms 2ms distribution normal";
            return Err(Wrong::new("netem's distribution needs a delay and a jitter", hint));
        }
        Ok(netem)
    }

    fn change(&mut self, new: Self) -> Result<(), Wrong> {
        let mut optional = self.optional.clone();
        optional.take_over(&new.optional);
        *self = Self { optional, ..new };
        Ok(())
    }

    fn config(&self, _: &Device) -> Result<Config, Wrong> {
        let optional = &self.optional;
        if optional.ecn.is_some() {
            return Err(Wrong::lacking("the simulator's netem has no 'ecn'", ""));
        }
        let correlations = optional.correlations.unwrap_or_default();
        let loss = match self.loss() {
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
            distribution: optional.distribution.unwrap_or_default(),
            loss,
            reorder: optional.reorder.unwrap_or_default(),
            gap: self.gap,
            duplicate: Correlated { chance: self.duplicate, correlation: correlations.duplicate },
            corrupt: optional.corrupt.unwrap_or_default(),
            rate: optional.rate,
            slot: optional.slot.filter(|slot| slot.most > Span::ZERO),
            seed: optional.seed,
            inner: None,
        })))
    }

    fn send_change(&self, to: &mut AttributeBytes) -> Result<(), Wrong> {
        if self.optional.distribution == Some(Distribution::Uniform) {
            return Err(unsent("a change to a uniform distribution: the kernel keeps the table that it has"));
        }
        self.send(to)
    }

    fn send(&self, to: &mut AttributeBytes) -> Result<(), Wrong> {
        to.structure(OPTIONS, &self.settings()?, |to| self.optional.send_to(to));
        Ok(())
    }
}

impl Netem {
    fn loss(&self) -> Loss {
        self.optional.loss.unwrap_or(Loss::None)
    }

    /// `struct tc_netem_qopt`.
    fn settings(&self) -> Result<Vec<u8>, Wrong> {
        let ticks = |time: Span| fit(time.as_nanos() / PSCHED_TICK_NS, "delay");
        let loss = match self.loss() {
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

fn send_loss_model(to: &mut AttributeBytes, kind: u16, loss: Loss) {
    let (model, numbers) = match loss {
        Loss::State { p13, p31, p32, p23, p14 } => (LOSS_STATE, shares(&[p13, p31, p32, p14, p23])),
        Loss::Gemodel { p, r, h, k1 } => (LOSS_GEMODEL, shares(&[p, r, h, k1])),
        _ => return,
    };
    to.nested(kind | NESTED, |to| to.bytes(model, &numbers));
}

fn send_rate(to: &mut AttributeBytes, kind: u16, link: NetemRate) {
    let rate = link.rate.as_bytes();
    if rate >= WIDE {
        to.u64(RATE64, rate);
    }
    let numbers = Structure::default().u32(u32::try_from(rate).unwrap_or(u32::MAX)).i32(link.packet_overhead);
    to.bytes(kind, &numbers.u32(link.cell_size).i32(link.cell_overhead).finish());
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
fn correlations(options: &Options<'_>, _: &[Keyword]) -> Result<Option<Correlations>, Wrong> {
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
