//! Whose turn it is among many queues: deficit round robin in which new queues go before old ones (RFC 8290 section 4.2).
//!
//! `fq_codel` and `fq_pie` share it; what stands in the queues is theirs. cake's and fq's rounds are others.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

/// The two lists, and what each queue may still send.
#[derive(Debug)]
pub(super) struct Rounds {
    new: VecDeque<usize>,
    old: VecDeque<usize>,
    quantum: i64,
    shares: Vec<Share>,
}

/// One queue's.
#[derive(Clone, Copy, Debug, Default)]
struct Share {
    deficit: i64,
    /// Does it stand in one of the two lists?
    listed: bool,
}

impl Rounds {
    /// So many queues, all empty.
    pub fn new(queues: usize) -> Self {
        Self { new: VecDeque::new(), old: VecDeque::new(), quantum: 0, shares: alloc::vec![Share::default(); queues] }
    }

    /// What a queue may send at a time from now on.
    pub fn set_quantum(&mut self, quantum: u32) {
        self.quantum = i64::from(quantum.max(SMALLEST_QUANTUM));
    }

    /// A packet has come to a queue.
    #[inline]
    pub fn join(&mut self, number: usize) {
        let share = &mut self.shares[number];
        if !share.listed {
            *share = Share { deficit: self.quantum, listed: true };
            self.new.push_back(number);
        }
    }

    /// The queue that may send now; it may turn out to be empty.
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
            share.deficit += self.quantum;
            self.old.push_back(number);
        }
    }

    /// The queue whose turn it is sent so much.
    #[inline]
    pub fn sent(&mut self, number: usize, bytes: u32) {
        self.shares[number].deficit -= i64::from(bytes);
    }

    /// The queue whose turn it is was empty: it leaves its list. A new one passes through the old ones first, so that it
    /// can't starve them.
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

/// The least that both take (`fq_codel_change`, `fq_pie_change`).
const SMALLEST_QUANTUM: u32 = 256;

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
    fn each_sends_its_quantum_in_turn() {
        let mut rounds = rounds(2);
        let order: [usize; 6] = core::array::from_fn(|_| {
            let number = rounds.next().unwrap();
            rounds.sent(number, 500);
            number
        });
        assert_eq!(order, [0, 0, 1, 1, 0, 0]);
    }

    #[test]
    fn an_empty_new_queue_waits_behind_the_old_ones_before_it_leaves() {
        let mut rounds = rounds(2);
        rounds.sent(0, 1_000); // 0 becomes old when it is asked again
        assert_eq!(rounds.next(), Some(1));
        rounds.retire(1);
        rounds.join(1); // it stands among the old ones: no new start
        assert_eq!(rounds.next(), Some(0));
        rounds.retire(0);
        assert_eq!(rounds.next(), Some(1));
        rounds.retire(1);
        assert_eq!(rounds.next(), None);
    }
}
