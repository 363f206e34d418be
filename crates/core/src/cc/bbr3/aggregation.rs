//! Window increase for aggregated ACKs (`extra_acked`).

use super::Bbr3;
use super::profile::Rules;
use crate::cc::model::aggregation::{Aggregation, Epoch, MAX_US, ROUNDS};
use crate::cc::model::max_filter::MaxFilter;
use crate::cc::{CcState, RateSample, SenderState};

/// The recent maximum excess, as each version keeps it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum AggregationFilter {
    /// Over ten rounds, one in Startup (`ExtraAckedFilterLen`).
    Draft { epoch: Epoch, filter: MaxFilter<u32> },
    /// Over five to ten rounds, one to two in Startup.
    Linux(Aggregation),
}

impl AggregationFilter {
    pub(super) fn new(rules: Rules, tp: &SenderState) -> Self {
        match rules {
            Rules::Draft => Self::Draft { epoch: Epoch::new(tp), filter: MaxFilter::default() },
            Rules::Linux => Self::Linux(Aggregation::new(tp)),
        }
    }

    /// Sending restarts after idle time, which must not count. (The draft moves only the start of the interval; the
    /// packets acknowledged before would then all be excess, so they are forgotten here, as in Linux.)
    pub(super) fn restart(&mut self, tp: &SenderState) {
        match self {
            Self::Draft { epoch, .. } => *epoch = Epoch::new(tp),
            Self::Linux(aggregation) => aggregation.restart(tp),
        }
    }
}

impl Bbr3 {
    /// `UpdateACKAggregation`.
    pub(super) fn update_aggregation(&mut self, tp: &SenderState, cc: &CcState, sample: &RateSample) {
        let (bw, is_full) = (self.bw(), self.full_bw.full_bw_reached);
        match &mut self.aggregation_filter {
            AggregationFilter::Draft { epoch, filter } => {
                let Some(excess) = epoch.excess(tp, cc, sample, bw) else { return };
                filter.update(self.rounds.count, excess, if is_full { FILTER_ROUNDS } else { 1 });
            }
            AggregationFilter::Linux(aggregation) => {
                let rounds = if is_full { ROUNDS } else { 1 };
                aggregation.update(tp, cc, sample, bw, self.rounds.started, rounds);
            }
        }
    }

    /// Packets to add to the window.
    pub(super) fn extra_acked(&self) -> u32 {
        match &self.aggregation_filter {
            AggregationFilter::Draft { filter, .. } => filter.best(),
            AggregationFilter::Linux(aggregation) => aggregation.max_excess().min(self.bw().packets_in(MAX_US)),
        }
    }
}

const FILTER_ROUNDS: u32 = 10;
