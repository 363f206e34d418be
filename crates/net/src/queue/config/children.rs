//! Which qdiscs a qdisc holds, and which have filters: the only lists of them, for the reader of tc's commands, checks
//! and devices.

use super::{Config, Node, Rule};
use alloc::boxed::Box;
use alloc::vec::Vec;

/// Where a qdisc may hold others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holds {
    /// It holds no others.
    None,
    /// Linux can replace its fifo, the simulator can't.
    OwnFifo,
    /// One, at any class.
    One,
    /// One in each band; class 1 is the first band.
    Bands(usize),
    /// One in each class that was added.
    Classes,
}

impl Holds {
    /// Of a kind whose settings are not known: bands as many as Linux has at most.
    #[must_use]
    pub fn of_kind(kind: &str) -> Self {
        match kind {
            "tbf" | "netem" | "red" => Self::One,
            "prio" | "ets" => Self::Bands(16),
            "htb" | "drr" | "hfsc" => Self::Classes,
            "sfb" => Self::OwnFifo,
            _ => Self::None,
        }
    }
}

impl Config {
    /// Where it may hold others.
    #[must_use]
    pub const fn holds(&self) -> Holds {
        match self {
            Self::Tbf(_) | Self::Netem(_) | Self::Red(_) => Holds::One,
            Self::Prio(prio) => Holds::Bands(prio.bands.len()),
            Self::Ets(ets) => Holds::Bands(ets.bands.len()),
            Self::Htb(_) | Self::Drr(_) => Holds::Classes,
            Self::Sfb(_) => Holds::OwnFifo,
            _ => Holds::None,
        }
    }

    /// The qdiscs below it that are not its defaults.
    #[must_use]
    pub fn children(&self) -> Vec<&Node> {
        match self {
            Self::Tbf(tbf) => tbf.inner.iter().collect(),
            Self::Netem(netem) => netem.inner.iter().map(AsRef::as_ref).collect(),
            Self::Red(red) => red.inner.iter().collect(),
            Self::Htb(htb) => htb.classes.iter().filter_map(|class| class.leaf.as_ref()).collect(),
            Self::Drr(drr) => drr.classes.iter().filter_map(|class| class.leaf.as_ref()).collect(),
            Self::Prio(prio) => prio.bands.iter().flatten().collect(),
            Self::Ets(ets) => ets.bands.iter().flatten().collect(),
            _ => Vec::new(),
        }
    }

    /// Its bands, if it has any.
    pub fn bands_mut(&mut self) -> Option<&mut Vec<Option<Node>>> {
        match self {
            Self::Prio(prio) => Some(&mut prio.bands),
            Self::Ets(ets) => Some(&mut ets.bands),
            _ => None,
        }
    }

    /// Its filters with their policers, if it can have any. Those of htb have no policers.
    #[must_use]
    pub fn rules(&self) -> Option<&Vec<Rule>> {
        match self {
            Self::Prio(prio) => Some(&prio.rules),
            Self::Drr(drr) => Some(&drr.rules),
            Self::Ets(ets) => Some(&ets.rules),
            Self::Sfb(sfb) => Some(&sfb.rules),
            _ => None,
        }
    }

    /// As [`Self::rules`].
    pub fn rules_mut(&mut self) -> Option<&mut Vec<Rule>> {
        match self {
            Self::Prio(prio) => Some(&mut prio.rules),
            Self::Drr(drr) => Some(&mut drr.rules),
            Self::Ets(ets) => Some(&mut ets.rules),
            Self::Sfb(sfb) => Some(&mut sfb.rules),
            _ => None,
        }
    }

    /// Sets the only child of a qdisc that holds one.
    pub fn set_inner(&mut self, node: Option<Node>) {
        match self {
            Self::Tbf(tbf) => tbf.inner = node,
            Self::Netem(netem) => netem.inner = node.map(Box::new),
            Self::Red(red) => red.inner = node,
            _ => {}
        }
    }
}
