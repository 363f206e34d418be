//! Options that are each one netlink attribute: words, reading, number and sending, declared once.
//!
//! [`options!`] makes of a list of them the struct, its grammar, and how it is read, changed and sent.

use crate::syntax::Wrong;
use crate::syntax::attributes::AttributeBytes;
use crate::syntax::grammar::{Argument, Keyword, Options, flag, option};
use dumbbell_net::rate::Rate;

/// An option: its words, how it is read, and how its value is sent.
pub struct Declared<T: 'static> {
    words: [Keyword; 2],
    /// A switch has two words.
    count: usize,
    read: fn(&Options<'_>, &[Keyword; 2]) -> Result<Option<T>, Wrong>,
    send: fn(&mut AttributeBytes, u16, T),
    /// What tc does not send.
    zero: Option<T>,
}

impl<T: Copy + PartialEq> Declared<T> {
    /// Its words.
    pub const fn keywords(&'static self) -> &'static [Keyword] {
        self.words.split_at(self.count).0
    }

    /// Its value, if it was written.
    pub fn read(&self, options: &Options<'_>) -> Result<Option<T>, Wrong> {
        Ok((self.read)(options, &self.words)?.filter(|value| self.zero != Some(*value)))
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

/// An option of a kind's own: how it is read, and how a value is sent.
pub const fn own<T>(
    word: Keyword,
    read: fn(&Options<'_>, &[Keyword; 2]) -> Result<Option<T>, Wrong>,
    send: fn(&mut AttributeBytes, u16, T),
) -> Declared<T> {
    Declared { words: [word; 2], count: 1, read, send, zero: None }
}

/// A rate that `read` bounds to 32 bits of bytes per second.
pub const fn rate(
    name: &'static str,
    read: fn(&Options<'_>, &[Keyword; 2]) -> Result<Option<Rate>, Wrong>,
) -> Declared<Rate> {
    own(option(name, &[Argument::Rate]), read, |to, kind, rate| {
        to.u32(kind, u32::try_from(rate.as_bytes()).expect("it was read from 32 bits"));
    })
}

const fn number(name: &'static str, argument: &'static [Argument], read: Read) -> Declared<u32> {
    let words = [option(name, argument); 2];
    Declared { words, count: 1, read, send: AttributeBytes::u32, zero: None }
}

type Read = fn(&Options<'_>, &[Keyword; 2]) -> Result<Option<u32>, Wrong>;

/// A number of packets.
pub const fn packets(name: &'static str) -> Declared<u32> {
    number(name, &[Argument::Packets], |options, [word, _]| options.count(word.name))
}

/// A number.
pub const fn count(name: &'static str) -> Declared<u32> {
    number(name, &[Argument::Count], |options, [word, _]| options.count(word.name))
}

/// A time in microseconds.
pub const fn time(name: &'static str) -> Declared<u32> {
    number(name, &[Argument::Time], |options, [word, _]| options.micros(word.name))
}

/// A number of bytes.
pub const fn size(name: &'static str) -> Declared<u32> {
    number(name, &[Argument::Size], |options, [word, _]| options.size(&[word.name]))
}

/// A word for true and one for false, sent as a number of 32 bits.
pub const fn switch(on: &'static str, off: &'static str) -> Declared<bool> {
    Declared {
        words: [flag(on), flag(off)],
        count: 2,
        read: |options, [on, off]| Ok(options.switch(on.name, off.name)),
        send: |to, kind, value| to.u32(kind, value.into()),
        zero: None,
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
            pub(crate) const WORDS: &'static [&'static [crate::syntax::grammar::Keyword]] =
                &[$((&Self::$field).keywords()),+];

            pub(crate) fn read(options: &crate::syntax::grammar::Options<'_>) -> Result<Self, crate::syntax::Wrong> {
                Ok(Self { $($field: Self::$field.read(options)?,)+ })
            }

            /// Takes over what is sent; the kernel keeps the rest.
            pub(crate) fn take_over(&mut self, new: &Self) {
                $(if new.$field.is_some() { self.$field = new.$field; })+
            }

            pub(crate) fn send_to(&self, to: &mut crate::syntax::attributes::AttributeBytes) {
                $(Self::$field.send(to, $kind, self.$field);)+
            }
        }
    };
}
pub(crate) use options;
