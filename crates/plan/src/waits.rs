//! Flows that wait for others: a group starts when another has completed, or all flows of a group ask again together.
//!
//! Both engines ask this, so that they agree on who goes on. It knows no time: the caller does what it returns.

use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Flows that follow each other in a plan: those of a group.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Members {
    /// Position of the first.
    pub first: usize,
    /// How many.
    pub count: usize,
}

impl Members {
    /// Their positions.
    #[must_use]
    pub fn positions(self) -> Range<usize> {
        self.first..self.first + self.count
    }
}

/// What one flow waits for.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Wait {
    /// The flows that must have completed before it starts.
    pub after: Option<Members>,
    /// The flows, itself among them, that must have their responses before it asks again.
    pub barrier: Option<Members>,
}

/// Who waits for whom; flows are named by their positions in the plan.
#[derive(Clone, Debug, Default)]
pub struct Waits {
    groups: Vec<Awaited>,
    barriers: Vec<Barrier>,
}

/// A group that others wait for.
#[derive(Clone, Debug)]
struct Awaited {
    members: Members,
    /// Members that have not completed.
    missing: usize,
    followers: Vec<usize>,
}

/// A group whose flows ask together.
#[derive(Clone, Debug)]
struct Barrier {
    members: Members,
    at: Vec<Place>,
}

/// Where a flow is in its round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// It has no response yet.
    Behind,
    /// It waits for the others.
    Arrived,
    /// It failed: nobody waits for it.
    Gone,
}

impl Waits {
    /// Of all flows, in the order of the plan.
    #[must_use]
    pub fn of(flows: impl Iterator<Item = Wait>) -> Self {
        let mut waits = Self::default();
        for (position, Wait { after, barrier }) in flows.enumerate() {
            if let Some(members) = after {
                waits.follow(members, position);
            }
            if let Some(members) = barrier
                && !waits.barriers.iter().any(|known| known.members == members)
            {
                waits.barriers.push(Barrier { members, at: vec![Place::Behind; members.count] });
            }
        }
        waits
    }

    fn follow(&mut self, members: Members, position: usize) {
        match self.groups.iter_mut().find(|known| known.members == members) {
            Some(known) => known.followers.push(position),
            None => self.groups.push(Awaited { members, missing: members.count, followers: vec![position] }),
        }
    }

    /// A flow's last byte has arrived: the flows whose time starts to count now.
    pub fn completed(&mut self, flow: usize) -> Vec<usize> {
        let mut released = Vec::new();
        for group in self.groups.iter_mut().filter(|group| group.members.positions().contains(&flow)) {
            group.missing = group.missing.saturating_sub(1);
            if group.missing == 0 {
                released.append(&mut group.followers);
            }
        }
        released
    }

    /// A flow's response has arrived: the flows that ask again now, all of its group or none.
    pub fn responded(&mut self, flow: usize) -> Vec<usize> {
        self.moved(flow, Place::Arrived)
    }

    /// A flow has failed: the flows that ask again now, because they waited for nobody else.
    pub fn failed(&mut self, flow: usize) -> Vec<usize> {
        self.moved(flow, Place::Gone)
    }

    fn moved(&mut self, flow: usize, to: Place) -> Vec<usize> {
        let Some(barrier) = self.barriers.iter_mut().find(|each| each.members.positions().contains(&flow)) else {
            return Vec::new();
        };
        barrier.at[flow - barrier.members.first] = to;
        if barrier.at.contains(&Place::Behind) {
            return Vec::new();
        }
        let mut released = Vec::new();
        for (position, place) in barrier.members.positions().zip(&mut barrier.at) {
            if *place == Place::Arrived {
                *place = Place::Behind;
                released.push(position);
            }
        }
        released
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAIR: Members = Members { first: 1, count: 2 };

    #[test]
    fn followers_start_when_the_last_member_has_completed() {
        let mut waits = Waits::default();
        waits.follow(PAIR, 3);
        waits.follow(PAIR, 0);
        assert!(waits.completed(0).is_empty());
        assert!(waits.completed(2).is_empty());
        assert_eq!(waits.completed(1), [3, 0]);
    }

    #[test]
    fn a_barrier_opens_for_all_again_and_again() {
        let mut waits =
            Waits { groups: Vec::new(), barriers: vec![Barrier { members: PAIR, at: vec![Place::Behind; 2] }] };
        for _ in 0..2 {
            assert!(waits.responded(0).is_empty(), "a flow without a barrier");
            assert!(waits.responded(2).is_empty());
            assert_eq!(waits.responded(1), [1, 2]);
        }
    }

    #[test]
    fn nobody_waits_for_a_flow_that_failed() {
        let mut waits =
            Waits { groups: Vec::new(), barriers: vec![Barrier { members: PAIR, at: vec![Place::Behind; 2] }] };
        assert!(waits.responded(1).is_empty());
        assert_eq!(waits.failed(2), [1]);
        assert_eq!(waits.responded(1), [1]);
        assert!(waits.failed(1).is_empty());
    }
}
