//! Classes of htb and drr; those of ets are its bands.

use crate::queue::config::{DrrClass, HtbClass};
use crate::queue::{Node, drr, ets, htb};
use crate::tc_syntax::Wrong;
use crate::tc_syntax::attributes::{AttributeBytes, unsent};
use crate::tc_syntax::grammar::{Grammar, Options};

/// The kinds of classes that tc has options for here.
pub const KINDS: &[(&str, Grammar)] =
    &[("htb", &[htb::tc::CLASS]), ("drr", &[drr::tc::CLASS]), ("ets", &[ets::tc::CLASS])];

/// Appends the options of a class as tc sends them.
pub(crate) fn send(kind: &str, words: &[&str], to: &mut AttributeBytes) -> Result<(), Wrong> {
    match kind {
        "htb" => {
            htb::tc::Class::parse(&Options::read(kind, words, &[htb::tc::CLASS])?)?.send(to);
            Ok(())
        }
        "drr" => drr::tc::send_class(&Options::read(kind, words, &[drr::tc::CLASS])?, to),
        "ets" => ets::tc::send_class(&Options::read(kind, words, &[ets::tc::CLASS])?, to),
        _ => Err(unsent(kind)),
    }
}

/// A class of either kind.
#[derive(Clone, Debug)]
pub(crate) enum Class {
    /// Of an htb.
    Htb(HtbClass),
    /// Of a drr.
    Drr(DrrClass),
}

impl Class {
    pub const fn minor(&self) -> u32 {
        match self {
            Self::Htb(class) => class.minor,
            Self::Drr(class) => class.minor,
        }
    }

    /// A class of an htb.
    pub fn htb(self) -> Option<HtbClass> {
        if let Self::Htb(class) = self { Some(class) } else { None }
    }

    /// A class of a drr.
    pub fn drr(self) -> Option<DrrClass> {
        if let Self::Drr(class) = self { Some(class) } else { None }
    }

    /// The same with a qdisc.
    pub fn with_leaf(&self, leaf: Option<Node>) -> Self {
        match self {
            Self::Htb(class) => Self::Htb(HtbClass { leaf, ..class.clone() }),
            Self::Drr(class) => Self::Drr(DrrClass { leaf, ..class.clone() }),
        }
    }
}
