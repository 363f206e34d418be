//! Classes of htb, drr and hfsc; those of ets are its bands.

use crate::disciplines::{drr, ets, hfsc, htb};
use crate::syntax::Wrong;
use crate::syntax::attributes::{AttributeBytes, unsent};
use crate::syntax::grammar::{Grammar, Options};
use dumbbell_net::queue::Node;
use dumbbell_net::queue::config::{DrrClass, HtbClass};

/// The kinds of classes that tc has options for here.
pub const KINDS: &[(&str, Grammar)] =
    &[("htb", &[htb::CLASS]), ("drr", &[drr::CLASS]), ("ets", &[ets::CLASS]), ("hfsc", &[hfsc::CLASS])];

/// Appends the options of a class as tc sends them.
pub(crate) fn send(kind: &str, words: &[&str], to: &mut AttributeBytes) -> Result<(), Wrong> {
    match kind {
        "htb" => {
            htb::Class::parse(&Options::read(kind, words, &[htb::CLASS])?)?.send(to);
            Ok(())
        }
        "drr" => drr::send_class(&Options::read(kind, words, &[drr::CLASS])?, to),
        "ets" => ets::send_class(&Options::read(kind, words, &[ets::CLASS])?, to),
        "hfsc" => hfsc::send_class(&Options::read(kind, words, &[hfsc::CLASS])?, to),
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
