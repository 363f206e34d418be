//! cake's scheduler (DRR++): RFC 8290's deficit round robin with a third list.
//!
//! New flows are served before old ones. An empty flow whose control loop has state stays in the third list until that
//! has decayed; each dequeue examines one of these before the other lists.

use super::flows::{Flow, Flows, List, Set};
use alloc::collections::VecDeque;

/// The lists, and the number of queues in each state.
#[derive(Debug, Default)]
pub(super) struct Rounds {
    new: VecDeque<usize>,
    old: VecDeque<usize>,
    decaying: VecDeque<usize>,
    bulk: u32,
}

impl Rounds {
    /// Queues in the bulk state.
    pub const fn bulk(&self) -> u32 {
        self.bulk
    }

    /// Adds a queue that received a packet. `quantum`: its quantum.
    pub fn join(&mut self, index: usize, flows: &mut Flows, quantum: impl FnOnce(&Flows) -> i64) {
        match flows.all[index].set {
            Set::None | Set::Decaying => {
                self.drop_from_list(index, &mut flows.all[index]);
                self.put(index, &mut flows.all[index], List::New);
                let quantum = quantum(flows);
                let flow = &mut flows.all[index];
                (flow.set, flow.deficit) = (Set::Sparse, quantum);
            }
            Set::SparseWait => self.grow(index, flows),
            Set::Sparse | Set::Bulk => {}
        }
    }

    /// The next queue to serve. `is_first`: a decaying queue may be examined first.
    pub fn next(
        &mut self,
        flows: &mut Flows,
        is_first: &mut bool,
        mut quantum: impl FnMut(&Flows, usize) -> i64,
    ) -> Option<usize> {
        loop {
            let decaying = if core::mem::take(is_first) { self.decaying.front() } else { None };
            let lists = decaying.or(self.new.front()).or(self.old.front()).or(self.decaying.front());
            let index = *lists?;
            let flow = &flows.all[index];
            if flow.deficit > 0 {
                return Some(index);
            }
            if flow.set == Set::Sparse {
                if flow.packets.is_empty() {
                    flows.all[index].set = Set::SparseWait;
                } else {
                    self.grow(index, flows);
                }
            }
            let more = quantum(flows, index);
            let flow = &mut flows.all[index];
            flow.deficit += more;
            self.drop_from_list(index, flow);
            self.put(index, flow, List::Old);
        }
    }

    /// A queue was found empty: removes it, or keeps it until its loop has decayed.
    pub fn leave(&mut self, index: usize, flows: &mut Flows, is_settled: bool) {
        let flow = &mut flows.all[index];
        self.drop_from_list(index, flow);
        let was_bulk = flow.set == Set::Bulk;
        if is_settled {
            flow.set = Set::None;
        } else {
            flow.set = Set::Decaying;
            self.put(index, flow, List::Decaying);
        }
        if was_bulk {
            self.bulk -= 1;
            flows.leaves_bulk(index);
        }
    }

    /// Moves a queue to the bulk state.
    fn grow(&mut self, index: usize, flows: &mut Flows) {
        flows.all[index].set = Set::Bulk;
        self.bulk += 1;
        flows.joins_bulk(index);
    }

    fn put(&mut self, index: usize, flow: &mut Flow, list: List) {
        flow.list = list;
        if let Some(list) = self.list(list) {
            list.push_back(index);
        }
    }

    /// Removes a queue from its list; it is usually at the head.
    fn drop_from_list(&mut self, index: usize, flow: &mut Flow) {
        let Some(list) = self.list(core::mem::take(&mut flow.list)) else { return };
        if let Some(found) = list.iter().position(|other| *other == index) {
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
