//! Keywords with the kinds of their arguments, and the options of a command.
//!
//! Source: the man pages tc-*(8) of iproute2 6.1 and the parsers in its `tc/q_*.c`.

use super::Wrong;
use super::quantity;
use dumbbell_net::probability::Probability;
use dumbbell_net::rate::Rate;
use dumbbell_net::time::Span;

/// What an argument may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Argument {
    /// A time (`5ms`).
    Time,
    /// A rate (`80mbit`).
    Rate,
    /// Bytes, or bandwidth-delay products (`64kb`, `1.5bdp`).
    Size,
    /// Packets, or bandwidth-delay products.
    Packets,
    /// A whole number.
    Count,
    /// Per cent (`1%`).
    Share,
    /// A number from 0.
    Fraction,
    /// Value and mask in hexadecimal.
    ValueAndMask,
    /// A time, or packets (`5p`).
    TimeOrPackets,
    /// The minor number of a class, in hexadecimal.
    Minor,
    /// One of these.
    OneOf(&'static [&'static str]),
}

impl Argument {
    /// The name in messages and in the reference.
    #[must_use]
    pub fn name(self) -> String {
        match self {
            Self::Time => "time".into(),
            Self::Rate => "rate".into(),
            Self::Size => "size".into(),
            Self::Packets => "packets".into(),
            Self::Count => "count".into(),
            Self::Share => "share".into(),
            Self::Fraction => "fraction".into(),
            Self::ValueAndMask => "value/mask".into(),
            Self::TimeOrPackets => "time or number of packets".into(),
            Self::Minor => "class number".into(),
            Self::OneOf(choices) => choices.join("|"),
        }
    }

    /// What to write; empty for a choice, which the message lists.
    const fn example(self) -> &'static str {
        match self {
            Self::Time => "such as 5ms",
            Self::Rate => "such as 80mbit",
            Self::Size => "such as 225000, 64kb or 1.5bdp",
            Self::Packets => "such as 1000 or 1.5bdp",
            Self::Count => "such as 10",
            Self::Share => "such as 1%",
            Self::Fraction => "such as 0.02",
            Self::ValueAndMask => "such as 0x01/0x03",
            Self::TimeOrPackets => "such as 1ms or 5p",
            Self::Minor => "in hexadecimal, such as 10",
            Self::OneOf(_) => "",
        }
    }

    fn fits(self, word: &str) -> bool {
        match self {
            Self::Time => quantity::time_ns(word).is_ok(),
            Self::Rate => quantity::rate_bps(word).is_ok(),
            Self::Size => matches!(quantity::bdp(word), Ok(Some(_))) || quantity::bytes(word).is_ok(),
            Self::Packets => {
                matches!(quantity::bdp(word), Ok(Some(_))) || quantity::count(word).is_ok_and(|count| count > 0)
            }
            Self::Count => quantity::count(word).is_ok(),
            Self::Share => quantity::per_cent(word).is_ok(),
            Self::Fraction => quantity::fraction(word).is_ok(),
            Self::ValueAndMask => quantity::value_and_mask(word).is_ok(),
            Self::TimeOrPackets => {
                quantity::packets(word).is_ok_and(|packets| packets.is_some() || quantity::time_ns(word).is_ok())
            }
            Self::Minor => minor_number(word).is_some(),
            Self::OneOf(choices) => choices.contains(&word),
        }
    }
}

/// The minor number of a class as tc reads it where no handle may stand.
pub(crate) fn minor_number(word: &str) -> Option<u16> {
    let digits = word.strip_prefix("0x").unwrap_or(word);
    u16::from_str_radix(digits, 16).ok().filter(|_| digits.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// A keyword: a flag, or an option with arguments.
#[derive(Clone, Copy, Debug)]
pub struct Keyword {
    /// As written.
    pub name: &'static str,
    /// Arguments that must follow.
    pub required: &'static [Argument],
    /// Arguments that may follow those.
    pub optional: &'static [Argument],
}

/// A keyword with these arguments.
#[must_use]
pub const fn option(name: &'static str, required: &'static [Argument]) -> Keyword {
    Keyword { name, required, optional: &[] }
}

/// A keyword without arguments.
#[must_use]
pub const fn flag(name: &'static str) -> Keyword {
    option(name, &[])
}

/// The names of a table of values.
#[must_use]
pub const fn names<T, const N: usize>(table: &[(&'static str, T); N]) -> [&'static str; N] {
    let mut names = [""; N];
    let mut index = 0;
    while index < N {
        names[index] = table[index].0;
        index += 1;
    }
    names
}

/// A flag for each name.
#[must_use]
pub const fn flags<const N: usize>(names: &[&'static str; N]) -> [Keyword; N] {
    let mut keywords = [flag(""); N];
    let mut index = 0;
    while index < N {
        keywords[index] = flag(names[index]);
        index += 1;
    }
    keywords
}

impl Keyword {
    /// The same with arguments that may be left out.
    #[must_use]
    pub const fn and(self, optional: &'static [Argument]) -> Self {
        Self { optional, ..self }
    }
}

/// The keywords of a command, in parts that kinds may share.
pub type Grammar = &'static [&'static [Keyword]];

/// The keywords of a grammar.
pub fn keywords(grammar: Grammar) -> impl Iterator<Item = &'static Keyword> + Clone {
    grammar.iter().flat_map(|part| part.iter())
}

/// Why words are no options of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Misfit<'a> {
    /// No option has this name.
    Unknown(&'a str),
    /// This word is not the argument that the option wants; None: the words end.
    Argument(&'static str, Argument, Option<&'a str>),
}

impl Misfit<'_> {
    /// As an error of this kind of command; `known` says which options there are.
    pub fn explained(self, kind: &str, known: impl FnOnce() -> String) -> Wrong {
        match self {
            Self::Unknown(name) => Wrong::new(format!("{kind} has no option '{name}'"), known()),
            Self::Argument(option, wanted, got) => {
                let got = got.map_or_else(String::new, |word| format!(", got '{word}'"));
                let name = wanted.name().replace('|', " or ");
                Wrong::new(format!("{kind}: '{option}' takes a {name}{got}"), wanted.example())
            }
        }
    }
}

/// The options of a command in the order in which they were written; an option may be written several times.
#[derive(Clone, Debug)]
pub struct Options<'a> {
    written: Vec<(&'static str, Vec<&'a str>)>,
}

impl<'a> Options<'a> {
    /// Reads the words after `kind`.
    ///
    /// # Errors
    ///
    /// At the first word that is no option, or no argument of its option.
    pub fn read(kind: &str, words: &[&'a str], grammar: Grammar) -> Result<Self, Wrong> {
        let written = Self::scan(words, &keywords(grammar), |_, _| ())
            .map_err(|misfit| misfit.explained(kind, || known(grammar)))?;
        Ok(Self { written })
    }

    /// Checks words against some keywords; `visit` gets the position of every argument and what it is.
    ///
    /// # Errors
    ///
    /// As [`Options::read`].
    pub fn check(
        words: &[&'a str],
        known: &(impl Iterator<Item = &'static Keyword> + Clone),
        visit: impl FnMut(usize, Argument),
    ) -> Result<(), Misfit<'a>> {
        Self::scan(words, known, visit).map(|_| ())
    }

    fn scan(
        words: &[&'a str],
        known: &(impl Iterator<Item = &'static Keyword> + Clone),
        mut visit: impl FnMut(usize, Argument),
    ) -> Result<Vec<(&'static str, Vec<&'a str>)>, Misfit<'a>> {
        let mut written = Vec::new();
        let mut position = 0;
        while let Some(name) = words.get(position) {
            let keyword = known.clone().find(|keyword| keyword.name == *name).ok_or(Misfit::Unknown(name))?;
            position += 1;
            let mut arguments = Vec::new();
            for wanted in keyword.required {
                let word = words.get(position).copied();
                let misfit = Misfit::Argument(keyword.name, *wanted, word);
                arguments.push(word.filter(|word| wanted.fits(word)).ok_or(misfit)?);
                visit(position, *wanted);
                position += 1;
            }
            for wanted in keyword.optional {
                let word = words.get(position).copied();
                let is_option = |word: &str| known.clone().any(|keyword| keyword.name == word);
                if let Some(word) = word.filter(|word| !is_option(word) && wanted.fits(word)) {
                    arguments.push(word);
                    visit(position, *wanted);
                    position += 1;
                }
            }
            written.push((keyword.name, arguments));
        }
        Ok(written)
    }

    /// Names and arguments in the order in which they were written.
    #[must_use]
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&'static str, &[&'a str])> {
        self.written.iter().map(|(name, arguments)| (*name, &arguments[..]))
    }

    /// Whether an option was written.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.arguments(name).is_some()
    }

    /// The first option that was written again.
    #[must_use]
    pub fn repeated(&self) -> Option<&'static str> {
        let is_again = |index: usize, name: &str| self.written[..index].iter().any(|(earlier, _)| *earlier == name);
        self.iter().enumerate().find(|(index, (name, _))| is_again(*index, name)).map(|(_, (name, _))| name)
    }

    /// Arguments of an option; of several the last counts.
    #[must_use]
    pub fn arguments(&self, name: &str) -> Option<&[&'a str]> {
        self.iter().rev().find(|(written, _)| *written == name).map(|(_, arguments)| arguments)
    }

    /// First argument of an option.
    #[must_use]
    pub fn first(&self, name: &str) -> Option<&'a str> {
        self.arguments(name)?.first().copied()
    }

    /// Of options that exclude each other the one that was written last.
    #[must_use]
    pub fn last_of(&self, names: &[&str]) -> Option<&'static str> {
        self.iter().rev().map(|(name, _)| name).find(|name| names.contains(name))
    }

    /// A setting with a word for each value.
    #[must_use]
    pub fn switch(&self, on: &str, off: &str) -> Option<bool> {
        self.last_of(&[on, off]).map(|name| name == on)
    }

    /// A size in bytes; of synonyms the one that was written last.
    ///
    /// # Errors
    ///
    /// It does not fit 32 bits.
    pub fn size(&self, names: &[&str]) -> Result<Option<u32>, Wrong> {
        self.number(names, quantity::bytes)
    }

    /// A whole number.
    ///
    /// # Errors
    ///
    /// It does not fit 32 bits.
    pub fn count(&self, name: &str) -> Result<Option<u32>, Wrong> {
        self.number(&[name], quantity::count)
    }

    /// A whole number, where tc does not send 0.
    ///
    /// # Errors
    ///
    /// It does not fit 32 bits.
    pub fn count_above_zero(&self, name: &str) -> Result<Option<u32>, Wrong> {
        Ok(self.count(name)?.filter(|count| *count > 0))
    }

    /// A time in whole microseconds.
    ///
    /// # Errors
    ///
    /// A time in nanoseconds, or one that does not fit 32 bits.
    pub fn micros(&self, name: &str) -> Result<Option<u32>, Wrong> {
        self.number(&[name], quantity::micros)
    }

    /// A time in whole microseconds, where tc does not send 0.
    ///
    /// # Errors
    ///
    /// As [`Options::micros`].
    pub fn micros_above_zero(&self, name: &str) -> Result<Option<u32>, Wrong> {
        Ok(self.micros(name)?.filter(|micros| *micros > 0))
    }

    /// A rate.
    ///
    /// # Errors
    ///
    /// No rate.
    pub fn rate(&self, name: &str) -> Result<Option<Rate>, Wrong> {
        self.first(name).map(quantity::rate).transpose()
    }

    /// A rate of 32 bits, where tc has no wider attribute.
    ///
    /// # Errors
    ///
    /// No rate, or one of 2³² bytes per second or more.
    pub fn narrow_rate(&self, kind: &str, name: &str) -> Result<Option<Rate>, Wrong> {
        let rate = self.rate(name)?;
        if rate.is_some_and(|rate| rate.as_bytes() > u64::from(u32::MAX)) {
            let word = self.first(name).unwrap_or_default();
            let problem = format!("{kind}'s {name} of {word} does not fit 32 bits");
            return Err(Wrong::new(problem, "at most 34.359738360gbit"));
        }
        Ok(rate)
    }

    /// A number from 0.
    ///
    /// # Errors
    ///
    /// No number.
    pub fn fraction(&self, name: &str) -> Result<Option<f64>, Wrong> {
        self.first(name).map(quantity::fraction).transpose()
    }

    fn number(&self, names: &[&str], read: fn(&str) -> Result<u64, Wrong>) -> Result<Option<u32>, Wrong> {
        let word = self.iter().rev().find(|(name, _)| names.contains(name)).and_then(|(_, words)| words.first());
        word.map(|word| quantity::fit(read(word)?, word)).transpose()
    }
}

/// Whole microseconds as a time.
#[must_use]
pub fn span_us(micros: u32) -> Span {
    Span::from_micros(u64::from(micros))
}

/// A probability of one, in netem's units.
pub const ALWAYS: Probability = Probability(u32::MAX);

fn known(grammar: Grammar) -> String {
    let mut names: Vec<_> = keywords(grammar).map(|keyword| keyword.name).collect();
    names.sort_unstable();
    if names.is_empty() { "it takes no options".into() } else { format!("there is: {}", names.join(", ")) }
}
