//! Which qdiscs a qdisc holds: the only list of them, for the reader of tc's commands, checks and devices.

use super::{Config, Node};
use alloc::boxed::Box;
use alloc::vec::Vec;

/// Where a qdisc may hold others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Holds {
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

impl Config {
    /// Where it may hold others.
    pub(crate) const fn holds(&self) -> Holds {
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

    /// Sets the only child of a qdisc that holds one.
    pub(crate) fn set_inner(&mut self, node: Option<Node>) {
        match self {
            Self::Tbf(tbf) => tbf.inner = node,
            Self::Netem(netem) => netem.inner = node.map(Box::new),
            Self::Red(red) => red.inner = node,
            _ => {}
        }
    }
}
