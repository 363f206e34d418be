//! Options that are each one netlink attribute: words, reading, number and sending, declared once.
//!
//! [`options!`] makes of a list of them the struct, its grammar, and how it is read, changed and sent.

use crate::attributes::Attributes;
use crate::syntax::attributes::{AttributeBytes, OPTIONS};
use crate::syntax::grammar::{Argument, Grammar, Keyword, Options, flag, flags, option};
use crate::syntax::{Device, Wrong};
use dumbbell_net::queue::Config;
use dumbbell_net::rate::Rate;

/// As many words as an option has at most.
const WORDS: usize = 8;

/// An option: its words, how it is read, and how its value is sent.
pub struct Declared<T: 'static> {
    words: [Keyword; WORDS],
    count: usize,
    read: Read<T>,
    send: fn(&mut AttributeBytes, u16, T),
    /// What tc does not send.
    zero: Option<T>,
}

impl<T: Copy + PartialEq> Declared<T> {
    /// Its words.
    pub const fn keywords(&self) -> &[Keyword] {
        self.words.split_at(self.count).0
    }

    /// Its value, if it was written.
    pub fn read(&self, options: &Options<'_>) -> Result<Option<T>, Wrong> {
        Ok((self.read)(options, self.keywords())?.filter(|value| self.zero != Some(*value)))
    }

    /// Appends its value, if there is one.
    pub fn send(&self, to: &mut AttributeBytes, kind: u16, value: Option<T>) {
        if let Some(value) = value {
            (self.send)(to, kind, value);
        }
    }

    /// The same, sent in another way.
    pub const fn sent_by(self, send: fn(&mut AttributeBytes, u16, T)) -> Self {
        Self { send, ..self }
    }
}

impl Declared<u32> {
    /// The same, where tc does not send 0.
    pub const fn above_zero(self) -> Self {
        Self { zero: Some(0), ..self }
    }
}

/// An option of a kind's own: its words, how it is read, and how a value is sent.
pub const fn own<T, const N: usize>(
    words: [Keyword; N],
    read: Read<T>,
    send: fn(&mut AttributeBytes, u16, T),
) -> Declared<T> {
    let mut all = [flag(""); WORDS];
    all.split_at_mut(N).0.copy_from_slice(&words);
    Declared { words: all, count: N, read, send, zero: None }
}

/// A rate that `read` bounds to 32 bits of bytes per second.
pub const fn rate(name: &'static str, read: Read<Rate>) -> Declared<Rate> {
    own([option(name, &[Argument::Rate])], read, |to, kind, rate| {
        to.u32(kind, u32::try_from(rate.as_bytes()).expect("it was read from 32 bits"));
    })
}

/// A number of 32 bits.
pub const fn number(name: &'static str, argument: &'static [Argument], read: Read<u32>) -> Declared<u32> {
    own([option(name, argument)], read, AttributeBytes::u32)
}

type Read<T> = fn(&Options<'_>, &[Keyword]) -> Result<Option<T>, Wrong>;

/// A number of packets.
pub const fn packets(name: &'static str) -> Declared<u32> {
    number(name, &[Argument::Packets], |options, words| options.count(words[0].name))
}

/// A number.
pub const fn count(name: &'static str) -> Declared<u32> {
    number(name, &[Argument::Count], |options, words| options.count(words[0].name))
}

/// A time in microseconds.
pub const fn time(name: &'static str) -> Declared<u32> {
    number(name, &[Argument::Time], |options, words| options.micros(words[0].name))
}

/// A number of bytes.
pub const fn size(name: &'static str) -> Declared<u32> {
    number(name, &[Argument::Size], |options, words| options.size(&[words[0].name]))
}

/// A word for true and one for false, sent as a number of 32 bits.
pub const fn switch(on: &'static str, off: &'static str) -> Declared<bool> {
    own(
        [flag(on), flag(off)],
        |options, words| Ok(options.switch(words[0].name, words[1].name)),
        |to, kind, value| to.u32(kind, value.into()),
    )
}

/// One of several flags, sent as its number in this order; the last that was written counts.
pub const fn choice<const N: usize>(names: &[&'static str; N]) -> Declared<u32> {
    own(
        flags(names),
        |options, words| {
            let number = |written: &str| words.iter().position(|word| word.name == written);
            let found = options.iter().rev().find_map(|(written, _)| number(written));
            Ok(found.map(|number| u32::try_from(number).expect("a few flags")))
        },
        AttributeBytes::u32,
    )
}

/// Whether a flag was written.
pub const fn written(name: &'static str) -> Declared<u32> {
    own([flag(name)], |options, words| Ok(options.has(words[0].name).then_some(1)), AttributeBytes::u32)
}

/// Parts of a grammar, one list behind the other.
pub const fn joined<const N: usize>(one: Grammar, other: Grammar) -> [&'static [Keyword]; N] {
    let mut all: [&[Keyword]; N] = [&[]; N];
    all.split_at_mut(one.len()).0.copy_from_slice(one);
    all.split_at_mut(one.len()).1.copy_from_slice(other);
    all
}

/// A list of [`options!`].
pub trait Listed: Clone + Sized {
    /// The words of all options.
    const WORDS: Grammar;

    /// Reads each option.
    fn read(options: &Options<'_>) -> Result<Self, Wrong>;

    /// Takes over what is sent; the kernel keeps the rest.
    fn take_over(&mut self, new: &Self);

    /// Appends what was written.
    fn send_to(&self, to: &mut AttributeBytes);
}

/// A kind of qdisc of which tc sends nothing but the options of a list.
pub trait Settings: Listed {
    /// The attribute around them, if there is one.
    const AROUND: Option<u16> = Some(OPTIONS);

    /// Refuses what tc refuses.
    fn check(&self) -> Result<(), Wrong> {
        Ok(())
    }

    /// As [`Attributes::change`].
    fn change_to(&mut self, new: &Self) -> Result<(), Wrong> {
        self.take_over(new);
        Ok(())
    }

    /// As [`Attributes::config`].
    fn settings(&self, device: &Device) -> Result<Config, Wrong>;
}

impl<T: Settings> Attributes for T {
    const GRAMMAR: Grammar = T::WORDS;

    fn parse(options: &Options<'_>) -> Result<Self, Wrong> {
        let new = Self::read(options)?;
        new.check()?;
        Ok(new)
    }

    fn change(&mut self, new: Self) -> Result<(), Wrong> {
        self.change_to(&new)
    }

    fn config(&self, device: &Device) -> Result<Config, Wrong> {
        self.settings(device)
    }

    fn send(&self, to: &mut AttributeBytes) -> Result<(), Wrong> {
        match T::AROUND {
            Some(kind) => to.nested(kind, |to| self.send_to(to)),
            None => self.send_to(to),
        }
        Ok(())
    }
}

/// Declares what tc sends for a kind of qdisc: each line has a field, its attribute's number (`TCA_KIND_*`), and the
/// option; in the order in which tc sends them.
macro_rules! options {
    ($(#[$about:meta])* $name:ident { $($field:ident: $type:ty = $kind:literal, $option:expr;)+ }) => {
        $(#[$about])*
        #[derive(Clone, Debug)]
        pub struct $name {
            $(pub(crate) $field: Option<$type>,)+
        }

        #[expect(non_upper_case_globals, reason = "named like their fields")]
        impl $name {
            $(pub(crate) const $field: crate::options::Declared<$type> = $option;)+
        }

        impl crate::options::Listed for $name {
            const WORDS: crate::syntax::grammar::Grammar = &[$((&Self::$field).keywords()),+];

            fn read(options: &crate::syntax::grammar::Options<'_>) -> Result<Self, crate::syntax::Wrong> {
                Ok(Self { $($field: Self::$field.read(options)?,)+ })
            }

            fn take_over(&mut self, new: &Self) {
                $(if new.$field.is_some() { self.$field = new.$field; })+
            }

            fn send_to(&self, to: &mut crate::syntax::attributes::AttributeBytes) {
                $(Self::$field.send(to, $kind, self.$field);)+
            }
        }
    };
}
pub(crate) use options;

/// Declares the numbers of 32 bits that tc sends in one structure, written or not: each line has a field, its option, and
/// the number without it; in the order of the structure.
macro_rules! structure {
    ($(#[$about:meta])* $name:ident { $($field:ident: $option:expr, $default:expr;)+ }) => {
        $(#[$about])*
        #[derive(Clone, Debug)]
        pub struct $name {
            $(pub(crate) $field: u32,)+
        }

        impl $name {
            pub(crate) const WORDS: crate::syntax::grammar::Grammar =
                &[$(const { &$option }.keywords()),+];

            pub(crate) fn read(options: &crate::syntax::grammar::Options<'_>) -> Result<Self, crate::syntax::Wrong> {
                Ok(Self { $($field: $option.read(options)?.unwrap_or($default),)+ })
            }

            pub(crate) fn structure(&self) -> crate::syntax::attributes::Structure {
                crate::syntax::attributes::Structure::default()$(.u32(self.$field))+
            }
        }
    };
}
pub(crate) use structure;
