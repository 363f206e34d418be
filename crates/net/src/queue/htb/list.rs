//! Round robin among classes of one priority: those on one level, or those that borrow from one parent.
//!
//! Classes are ordered by number, and a pointer marks the current one. Linux uses a tree; with few classes a list
//! suffices.

use alloc::vec::Vec;

/// Index of a class, in order of minor numbers.
pub(super) type Id = usize;

/// Classes served in turn.
#[derive(Clone, Debug, Default)]
pub(super) struct ClassList {
    members: Vec<Id>,
    /// The current class; None is past the last, or unset.
    current_id: Option<Id>,
    /// Where to continue after the current class was removed.
    resume: Option<Id>,
}

impl ClassList {
    /// Whether it has no classes.
    pub const fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Adds a class.
    pub fn insert(&mut self, id: Id) {
        // Usually it is the only one.
        if self.members.last().is_none_or(|last| *last < id) {
            self.members.push(id);
        } else {
            self.members.insert(self.first_from(id), id);
        }
    }

    /// Removes a class from a level's list; the next class becomes current.
    pub fn remove_and_advance(&mut self, id: Id) {
        if self.current_id == Some(id) {
            self.advance();
        }
        self.remove(id);
    }

    /// Removes a class from its parent's list. The next class is looked up on demand, because this one may return
    /// first.
    pub fn remove_and_resume(&mut self, id: Id) {
        if self.current_id == Some(id) {
            self.current_id = None;
            self.resume = Some(id);
        }
        self.remove(id);
    }

    /// The current class; None at the end of a round.
    pub fn current(&mut self) -> Option<Id> {
        if let (None, Some(id)) = (self.current_id, self.resume) {
            self.current_id = self.members.get(self.first_from(id)).copied();
        }
        self.resume = None;
        self.current_id
    }

    /// The current class, wrapping around to the first.
    pub fn current_or_first(&mut self) -> Option<Id> {
        if self.current().is_none() {
            self.rewind();
        }
        self.current_id
    }

    /// Moves on to the next class.
    pub fn advance(&mut self) {
        let Some(id) = self.current_id else { return };
        let index = self.first_from(id);
        let next = if self.members.get(index) == Some(&id) { index + 1 } else { index };
        self.current_id = self.members.get(next).copied();
    }

    /// Starts a new round.
    pub fn rewind(&mut self) {
        self.current_id = self.members.first().copied();
    }

    fn first_from(&self, id: Id) -> usize {
        self.members.partition_point(|member| *member < id)
    }

    fn remove(&mut self, id: Id) {
        if self.members.pop_if(|last| *last == id).is_none() {
            let index = self.first_from(id);
            assert!(self.members.get(index) == Some(&id), "class {id} is removed from a list that does not contain it");
            self.members.remove(index);
        }
    }
}
