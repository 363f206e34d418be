//! Classification: filters in order, each with an optional policer (Linux `tcf_classify`).

use super::call::CallContext;
use super::config::{Filter, Rule};
use super::police::Policer;
use super::stats::QdiscStats;
use crate::packet::Packet;
use crate::time::Time;
use alloc::vec::Vec;

/// Filters with their policers.
#[derive(Debug)]
pub(super) struct Classifier {
    rules: Vec<(Filter, Option<Policer>)>,
}

/// Result of classification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// The class with this minor number.
    Minor(u32),
    /// No filter matched.
    None,
    /// A policer dropped the packet.
    Policed,
}

impl Classifier {
    /// Policers start with full buckets.
    pub fn new(rules: &[Rule]) -> Self {
        let rules = rules.iter().map(|rule| (rule.filter, rule.police.as_ref().map(Policer::new)));
        Self { rules: rules.collect() }
    }

    /// The first filter that matches decides.
    pub fn class_of(&mut self, packet: &Packet, now: Time) -> Class {
        let Some((filter, policer)) = self.rules.iter_mut().find(|(filter, _)| filter.catches(packet)) else {
            return Class::None;
        };
        let passes = policer.as_mut().is_none_or(|policer| policer.passes(packet, now));
        if passes { Class::Minor(filter.minor()) } else { Class::Policed }
    }
}

/// Drops a packet without a class; the sender is not notified (`__NET_XMIT_BYPASS`).
pub(super) fn drop_unmatched(packet: &Packet, stats: &mut QdiscStats, ctx: &mut CallContext) {
    stats.counters.drops += 1;
    ctx.dropped.push(*packet);
}
