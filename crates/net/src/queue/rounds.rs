//! Deficit round robin in which new queues are served before old ones (RFC 8290 section 4.2).
//!
//! Shared by `fq_codel`, `fq_pie` and `hhf`, which hold the packets. cake and fq have their own rounds.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

/// The two lists, and the deficit of each queue.
#[derive(Debug)]
pub(super) struct Rounds {
    new: VecDeque<usize>,
    old: VecDeque<usize>,
    shares: Vec<Share>,
}

/// State of one queue.
#[derive(Clone, Copy, Debug, Default)]
struct Share {
    quantum: i64,
    deficit: i64,
    /// Whether the queue is in one of the lists.
    listed: bool,
}

impl Rounds {
    /// This many queues, all empty.
    pub fn new(queues: usize) -> Self {
        Self { new: VecDeque::new(), old: VecDeque::new(), shares: alloc::vec![Share::default(); queues] }
    }

    /// Sets the quantum of all queues.
    pub fn set_quantum(&mut self, quantum: u32) {
        (0..self.shares.len()).for_each(|number| self.set_quantum_of(number, quantum));
    }

    /// Sets the quantum of one queue.
    pub fn set_quantum_of(&mut self, number: usize, quantum: u32) {
        self.shares[number].quantum = i64::from(quantum.max(MIN_QUANTUM));
    }

    /// Adds a queue that received a packet.
    #[inline]
    pub fn join(&mut self, number: usize) {
        if self.shares[number].join() {
            self.new.push_back(number);
        }
    }

    /// Adds a queue that received a packet behind the old ones.
    pub fn join_old(&mut self, number: usize) {
        if self.shares[number].join() {
            self.old.push_back(number);
        }
    }

    /// The queue that may send now; it may be empty.
    #[inline]
    pub fn next(&mut self) -> Option<usize> {
        loop {
            let list = if self.new.is_empty() { &mut self.old } else { &mut self.new };
            let number = *list.front()?;
            let share = &mut self.shares[number];
            if share.deficit > 0 {
                return Some(number);
            }
            list.pop_front();
            share.deficit += share.quantum;
            self.old.push_back(number);
        }
    }

    /// Charges bytes to the current queue.
    #[inline]
    pub fn sent(&mut self, number: usize, bytes: u32) {
        self.shares[number].deficit -= i64::from(bytes);
    }

    /// Removes the current queue, which was found empty. A new queue passes through the old list first, so that it
    /// cannot starve the old ones.
    pub fn retire(&mut self, number: usize) {
        let was_new = self.new.pop_front().is_some();
        if was_new && !self.old.is_empty() {
            self.old.push_back(number);
            return;
        }
        if !was_new {
            self.old.pop_front();
        }
        self.shares[number].listed = false;
    }
}

impl Share {
    /// Gives a queue that is in no list its first quantum; whether it was in none.
    #[inline]
    const fn join(&mut self) -> bool {
        let joins = !self.listed;
        if joins {
            self.deficit = self.quantum;
            self.listed = true;
        }
        joins
    }
}

/// Bounds of a quantum (`fq_codel_change`, `fq_pie_change`).
pub const MIN_QUANTUM: u32 = 256;
/// As [`MIN_QUANTUM`].
pub const MAX_QUANTUM: u32 = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    fn rounds(queues: usize) -> Rounds {
        let mut rounds = Rounds::new(queues);
        rounds.set_quantum(1_000);
        (0..queues).for_each(|number| rounds.join(number));
        rounds
    }

    #[test]
    fn queues_alternate_by_quantum() {
        let mut rounds = rounds(2);
        let order: [usize; 6] = core::array::from_fn(|_| {
            let number = rounds.next().unwrap();
            rounds.sent(number, 500);
            number
        });
        assert_eq!(order, [0, 0, 1, 1, 0, 0]);
    }

    #[test]
    fn an_empty_new_queue_passes_through_the_old_list() {
        let mut rounds = rounds(2);
        rounds.sent(0, 1_000); // 0 moves to the old list at the next call
        assert_eq!(rounds.next(), Some(1));
        rounds.retire(1);
        rounds.join(1); // still in the old list: it does not become new
        assert_eq!(rounds.next(), Some(0));
        rounds.retire(0);
        assert_eq!(rounds.next(), Some(1));
        rounds.retire(1);
        assert_eq!(rounds.next(), None);
    }
}
