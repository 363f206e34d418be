//! Queue disciplines as written for tc: every word is checked, sizes may be in bandwidth-delay products.

use crate::draw::Draw;
use crate::model::{BdpSize, Qdisc};
use crate::suggest::suggest;
use dumbbell_tc::grammar::{Argument, Grammar, Misfit, Options, keywords};
use dumbbell_tc::{Wrong, disciplines, quantity};
use std::collections::BTreeMap;

/// An experiment's own kind: a policer on the link.
pub const POLICE: &str = "police";

/// Every kind with its options: those of the simulator, those that only a kernel has, and `police`.
pub fn kinds() -> impl Iterator<Item = (&'static str, Grammar)> {
    const POLICE_GRAMMAR: Grammar = &[disciplines::POLICE];
    disciplines::SIMULATED.iter().chain(disciplines::KERNEL_ONLY).copied().chain([(POLICE, POLICE_GRAMMAR)])
}

/// The options of a kind.
#[must_use]
pub fn grammar(kind: &str) -> Option<Grammar> {
    kinds().find(|(name, _)| *name == kind).map(|(_, grammar)| grammar)
}

/// Reads a discipline.
///
/// # Errors
///
/// An unknown kind or option, or an argument that does not fit.
pub fn parse(text: &str) -> Result<Qdisc, Wrong> {
    let mut words = text.split_whitespace();
    let hint = "write it as to tc, such as 'fq_codel limit 1000 target 5ms'";
    let kind = words.next().ok_or_else(|| Wrong::new("not a queueing discipline", hint))?;
    if !text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return Err(Wrong::new("a queueing discipline must be plain text", "one line of printable ASCII"));
    }
    let words: Vec<_> = words.collect();
    let Some(grammar) = grammar(kind) else {
        let known: Vec<_> = kinds().map(|(name, _)| name).collect();
        return Err(Wrong::new(format!("no queueing discipline is called '{kind}'"), suggest(kind, &known)));
    };
    let bdp_words = check(kind, &words, grammar)?;
    Ok(Qdisc { kind: kind.to_owned(), words: words.into_iter().map(String::from).collect(), bdp_words })
}

/// Checks every word after the kind; the sizes in bandwidth-delay products by their position.
///
/// # Errors
///
/// At the first word that does not fit.
pub fn check(kind: &str, words: &[&str], grammar: Grammar) -> Result<BTreeMap<usize, BdpSize>, Wrong> {
    let mut sizes = BTreeMap::new();
    let checked = Options::check(words, &keywords(grammar), |position, argument| {
        if let Ok(Some(products)) = quantity::bdp(words[position]) {
            sizes.insert(position, BdpSize { products, in_packets: argument == Argument::Packets });
        }
    });
    match checked {
        Ok(()) => Ok(sizes),
        Err(misfit) => Err(explained(misfit, kind, grammar)),
    }
}

fn explained(misfit: Misfit<'_>, kind: &str, grammar: Grammar) -> Wrong {
    misfit.explained(kind, || {
        let known: Vec<_> = keywords(grammar).map(|keyword| keyword.name).collect();
        let Misfit::Unknown(word) = misfit else { return String::new() };
        suggest(word, &known)
    })
}

impl Qdisc {
    /// As written.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = self.kind.clone();
        for word in &self.words {
            text.push(' ');
            text.push_str(word);
        }
        text
    }

    /// First argument of an option.
    #[must_use]
    pub fn option(&self, name: &str) -> Option<&str> {
        let position = self.words.iter().position(|word| word == name)?;
        self.words.get(position + 1).map(String::as_str)
    }

    /// The rate that it limits to, in bits per second.
    #[must_use]
    pub fn shaped_rate(&self) -> Option<u64> {
        let option = match &self.kind[..] {
            "tbf" | "netem" | POLICE => "rate",
            "cake" => "bandwidth",
            _ => return None,
        };
        quantity::rate_bps(self.option(option)?).ok()
    }
}

/// A random discipline with a few options.
pub fn draw(draw: &mut Draw<'_>) -> String {
    let kinds: Vec<_> = kinds().collect();
    // The simplest is the default, pfifo.
    let first = kinds.iter().position(|(kind, _)| *kind == "pfifo").unwrap_or(0);
    let index = usize::try_from(draw.below(kinds.len() as u64)).unwrap_or(0);
    let (kind, grammar) = kinds[(first + index) % kinds.len()];
    let options: Vec<_> = keywords(grammar).collect();
    let mut text = kind.to_owned();
    for _ in 0..if options.is_empty() { 0 } else { draw.below(4) } {
        let keyword = draw.pick(&options);
        text.push(' ');
        text.push_str(keyword.name);
        for argument in keyword.required {
            text.push(' ');
            text.push_str(&draw_argument(*argument, draw));
        }
    }
    if kind == POLICE && !text.contains(" rate ") {
        text.push_str(" rate 10mbit burst 20kb");
    }
    text
}

fn draw_argument(argument: Argument, draw: &mut Draw<'_>) -> String {
    let words: &[&str] = match argument {
        Argument::Time => &["5ms", "0", "100us", "1s"],
        Argument::Rate => &["10mbit", "1gbit", "64kbps"],
        Argument::Size => &["15000", "64kb", "1.5bdp", "0"],
        Argument::Packets => &["100", "1bdp", "1"],
        Argument::Count => &["1", "0", "1000"],
        Argument::Share => &["1%", "0", "100%"],
        Argument::Fraction => &["0.02", "1", "0"],
        Argument::ValueAndMask => &["0x01/0x03"],
        Argument::TimeOrPackets => &["1ms", "5p"],
        Argument::Minor => &["10", "0", "1a"],
        Argument::OneOf(choices) => choices,
    };
    draw.pick(words).to_owned()
}
