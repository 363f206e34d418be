//! Whose turn it is: cake's variant of deficit round robin (DRR++), as RFC 8290's with one list more.
//!
//! New flows go before old ones. An empty flow whose control loop still remembers something stays in a third list
//! until it has calmed down; one of these is looked at with each packet, before all others.

use super::flows::{Flow, Flows, List, Set};
use alloc::collections::VecDeque;

/// The lists, and how many queues are of which kind.
#[derive(Debug, Default)]
pub(super) struct Rounds {
    new: VecDeque<usize>,
    old: VecDeque<usize>,
    decaying: VecDeque<usize>,
    bulk: u32,
}

impl Rounds {
    /// Queues with more to send than their share.
    pub const fn bulk(&self) -> u32 {
        self.bulk
    }

    /// A packet has come to a queue. `quantum`: what it may send at a time.
    pub fn join(&mut self, place: usize, flows: &mut Flows, quantum: impl FnOnce(&Flows) -> i64) {
        match flows.all[place].set {
            Set::None | Set::Decaying => {
                self.drop_from_list(place, &mut flows.all[place]);
                self.put(place, &mut flows.all[place], List::New);
                let quantum = quantum(flows);
                let flow = &mut flows.all[place];
                (flow.set, flow.deficit) = (Set::Sparse, quantum);
            }
            Set::SparseWait => self.grow(place, flows),
            Set::Sparse | Set::Bulk => {}
        }
    }

    /// The queue that may send now, if any list has one. `is_first`: may a decaying one be looked at before all?
    pub fn next(
        &mut self,
        flows: &mut Flows,
        is_first: &mut bool,
        mut quantum: impl FnMut(&Flows, usize) -> i64,
    ) -> Option<usize> {
        loop {
            let decaying = if core::mem::take(is_first) { self.decaying.front() } else { None };
            let lists = decaying.or(self.new.front()).or(self.old.front()).or(self.decaying.front());
            let place = *lists?;
            let flow = &flows.all[place];
            if flow.deficit > 0 {
                return Some(place);
            }
            if flow.set == Set::Sparse {
                if flow.packets.is_empty() {
                    flows.all[place].set = Set::SparseWait;
                } else {
                    self.grow(place, flows);
                }
            }
            let more = quantum(flows, place);
            let flow = &mut flows.all[place];
            flow.deficit += more;
            self.drop_from_list(place, flow);
            self.put(place, flow, List::Old);
        }
    }

    /// A queue was found empty. It leaves, or stays until its loop is calm.
    pub fn leave(&mut self, place: usize, flows: &mut Flows, is_calm: bool) {
        let flow = &mut flows.all[place];
        self.drop_from_list(place, flow);
        let was_bulk = flow.set == Set::Bulk;
        if is_calm {
            flow.set = Set::None;
        } else {
            flow.set = Set::Decaying;
            self.put(place, flow, List::Decaying);
        }
        if was_bulk {
            self.bulk -= 1;
            flows.leaves_bulk(place);
        }
    }

    /// A queue turns out to have more than its share.
    fn grow(&mut self, place: usize, flows: &mut Flows) {
        flows.all[place].set = Set::Bulk;
        self.bulk += 1;
        flows.joins_bulk(place);
    }

    fn put(&mut self, place: usize, flow: &mut Flow, list: List) {
        flow.list = list;
        if let Some(list) = self.list(list) {
            list.push_back(place);
        }
    }

    /// Mostly it stands at its list's head.
    fn drop_from_list(&mut self, place: usize, flow: &mut Flow) {
        let Some(list) = self.list(core::mem::take(&mut flow.list)) else { return };
        if let Some(found) = list.iter().position(|other| *other == place) {
            list.remove(found);
        }
    }

    const fn list(&mut self, list: List) -> Option<&mut VecDeque<usize>> {
        match list {
            List::None => None,
            List::New => Some(&mut self.new),
            List::Old => Some(&mut self.old),
            List::Decaying => Some(&mut self.decaying),
        }
    }
}
