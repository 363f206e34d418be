//! Which class a packet belongs to: filters in order, each with a policer when it has one (Linux `tcf_classify`).

use super::config::{Filter, Rule};
use super::discipline::Turn;
use super::police::Policer;
use super::tally::Tally;
use crate::packet::Packet;
use crate::time::Time;
use alloc::vec::Vec;

/// Filters at work.
#[derive(Debug)]
pub(super) struct Classifier {
    rules: Vec<(Filter, Option<Policer>)>,
}

/// What the filters say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// It belongs to the class of this minor number.
    Minor(u32),
    /// No filter caught it.
    None,
    /// A policer shot it.
    Shot,
}

impl Classifier {
    /// With full buckets.
    pub fn new(rules: &[Rule]) -> Self {
        let rules = rules.iter().map(|rule| (rule.filter, rule.police.as_ref().map(Policer::new)));
        Self { rules: rules.collect() }
    }

    /// The first filter that catches a packet decides.
    pub fn class_of(&mut self, packet: &Packet, now: Time) -> Class {
        let Some((filter, policer)) = self.rules.iter_mut().find(|(filter, _)| filter.catches(packet)) else {
            return Class::None;
        };
        let passes = policer.as_mut().is_none_or(|policer| policer.passes(packet, now));
        if passes { Class::Minor(filter.minor()) } else { Class::Shot }
    }
}

/// A packet without a class dies; its sender is not told (`__NET_XMIT_BYPASS`).
pub(super) fn shoot(packet: &Packet, tally: &mut Tally, turn: &mut Turn) {
    tally.counters.drops += 1;
    turn.dropped.push(*packet);
}
