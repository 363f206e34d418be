//! A round of classes of one priority: a row of a level, or those that borrow from one parent.
//!
//! Classes stand in order of their numbers, and a pointer says whose turn it is. Linux keeps them in a tree; there are
//! few enough for a list.

use super::class::Id;
use alloc::vec::Vec;

/// Classes that take turns.
#[derive(Clone, Debug, Default)]
pub(super) struct Feed {
    members: Vec<Id>,
    /// Whose turn it is; None is past the last, or lost.
    turn: Option<Id>,
    /// Where to go on when the class left whose turn it was.
    resume: Option<Id>,
}

impl Feed {
    /// Does nobody stand in it?
    pub const fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// A class joins.
    pub fn insert(&mut self, id: Id) {
        // Mostly it is the only one.
        if self.members.last().is_none_or(|last| *last < id) {
            self.members.push(id);
        } else {
            self.members.insert(self.first_from(id), id);
        }
    }

    /// A class leaves a row: it is the next one's turn.
    pub fn remove_and_go_on(&mut self, id: Id) {
        if self.turn == Some(id) {
            self.advance();
        }
        self.take_out(id);
    }

    /// A class leaves its parent's feed: who comes next is looked up when it is asked, for it may be back by then.
    pub fn remove_and_remember(&mut self, id: Id) {
        if self.turn == Some(id) {
            self.turn = None;
            self.resume = Some(id);
        }
        self.take_out(id);
    }

    /// Whose turn it is; None at the end of a round.
    pub fn current(&mut self) -> Option<Id> {
        if let (None, Some(id)) = (self.turn, self.resume) {
            self.turn = self.members.get(self.first_from(id)).copied();
        }
        self.resume = None;
        self.turn
    }

    /// Whose turn it is; after the last the first again.
    pub fn current_or_first(&mut self) -> Option<Id> {
        if self.current().is_none() {
            self.rewind();
        }
        self.turn
    }

    /// The next one's turn.
    pub fn advance(&mut self) {
        let Some(id) = self.turn else { return };
        let place = self.first_from(id);
        let next = if self.members.get(place) == Some(&id) { place + 1 } else { place };
        self.turn = self.members.get(next).copied();
    }

    /// A new round.
    pub fn rewind(&mut self) {
        self.turn = self.members.first().copied();
    }

    fn first_from(&self, id: Id) -> usize {
        self.members.partition_point(|member| *member < id)
    }

    fn take_out(&mut self, id: Id) {
        if self.members.pop_if(|last| *last == id).is_none() {
            let place = self.first_from(id);
            assert!(self.members.get(place) == Some(&id), "class {id} leaves a round in which it does not stand");
            self.members.remove(place);
        }
    }
}
