//! Completion times of sized flows, and response times of requests, by group. The engines measure the times.

use crate::facts::Flow;
use crate::run::Run;
use crate::spread::Spread;
use serde::Serialize;

/// Completion times of a group's sized flows.
///
/// Flow completion time is the time from a flow's start until the receiver has its last byte (Dukkipati & McKeown 2006).
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CompletionTimes {
    /// Sized flows.
    pub asked: usize,
    /// Those that completed.
    pub done: usize,
    /// In seconds, over the completed ones only: where `done` < `asked`, each number is a lower bound.
    pub times_s: Option<Spread>,
}

/// Times from a request to its response's last byte.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct AnswerTimes {
    /// Responses.
    pub answers: usize,
    /// In seconds, over all exchanges of the group's flows.
    pub times_s: Option<Spread>,
}

impl<'a> Run<'a> {
    /// Completion times by group; groups without sized flows are omitted.
    #[must_use]
    pub fn completion_times(&self) -> Vec<(&'a str, CompletionTimes)> {
        let times = |flows: &[usize]| {
            let sized = || self.flows_of(flows).filter(|flow| flow.bytes_asked.is_some());
            let times: Vec<_> = sized().filter_map(|flow| flow.fct_s).collect();
            let asked = sized().count();
            (asked > 0).then(|| CompletionTimes { asked, done: times.len(), times_s: Spread::of(times) })
        };
        self.groups().iter().filter_map(|(group, flows)| Some((*group, times(flows)?))).collect()
    }

    /// Response times by group; groups without requests are omitted.
    #[must_use]
    pub fn answer_times(&self) -> Vec<(&'a str, AnswerTimes)> {
        let times = |flows: &[usize]| {
            let asking: Vec<_> = self.flows_of(flows).filter_map(|flow| flow.exchanges_s.as_ref()).collect();
            let times: Vec<_> = asking.iter().copied().flatten().copied().collect();
            (!asking.is_empty()).then(|| AnswerTimes { answers: times.len(), times_s: Spread::of(times) })
        };
        self.groups().iter().filter_map(|(group, flows)| Some((*group, times(flows)?))).collect()
    }

    fn flows_of(&self, flows: &[usize]) -> impl Iterator<Item = &'a Flow> {
        flows.iter().map(|flow| &self.facts.flows[*flow])
    }
}
