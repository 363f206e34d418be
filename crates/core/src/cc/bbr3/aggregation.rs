//! What bunched ACKs add to the window (`extra_acked`).

use super::Bbr3;
use super::profile::Words;
use crate::cc::model::aggregation::{Aggregation, Epoch, LONGEST_US, ROUNDS};
use crate::cc::model::max_filter::MaxFilter;
use crate::cc::{RateSample, Vitals};

/// The largest excess of late, as the version remembers it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Bunching {
    /// Of ten rounds, one in Startup (`ExtraAckedFilterLen`).
    Draft { epoch: Epoch, filter: MaxFilter<u32> },
    /// Of five to ten, one to two in Startup.
    Linux(Aggregation),
}

impl Bunching {
    pub(super) fn new(words: Words, vitals: &Vitals) -> Self {
        match words {
            Words::Draft => Self::Draft { epoch: Epoch::new(vitals), filter: MaxFilter::default() },
            Words::Linux => Self::Linux(Aggregation::new(vitals)),
        }
    }

    /// Sending begins again after an idle time, which must not count. (The draft moves the interval's start only; the
    /// packets acknowledged before would then all be excess, so they are forgotten here, as in Linux.)
    pub(super) fn restart(&mut self, vitals: &Vitals) {
        match self {
            Self::Draft { epoch, .. } => *epoch = Epoch::new(vitals),
            Self::Linux(aggregation) => aggregation.restart(vitals),
        }
    }
}

impl Bbr3 {
    /// `UpdateACKAggregation`.
    pub(super) fn update_aggregation(&mut self, vitals: &Vitals, sample: &RateSample) {
        let (bw, is_full) = (self.bw(), self.full_bw.full_bw_reached);
        match &mut self.bunching {
            Bunching::Draft { epoch, filter } => {
                let Some(excess) = epoch.excess(vitals, sample, bw) else { return };
                filter.update(self.rounds.count, excess, if is_full { FILTER_ROUNDS } else { 1 });
            }
            Bunching::Linux(aggregation) => {
                let rounds = if is_full { ROUNDS } else { 1 };
                aggregation.update(vitals, sample, bw, self.rounds.started, rounds);
            }
        }
    }

    /// Packets to add to the window.
    pub(super) fn extra_acked(&self) -> u32 {
        match &self.bunching {
            Bunching::Draft { filter, .. } => filter.best(),
            Bunching::Linux(aggregation) => aggregation.most_excess().min(self.bw().packets_in(LONGEST_US)),
        }
    }
}

const FILTER_ROUNDS: u32 = 10;
