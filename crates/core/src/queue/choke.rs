//! choke: red that compares each packet that comes with one that stands, drawn at random, and drops both when they are
//! of one flow: who fills the queue is met most often (Pan, Prabhakar and Psounis 2000; Linux `net/sched/sch_choke.c`).
//!
//! The average counts packets, not bytes. Packets that die in the middle leave holes until the head has passed them; a
//! draw that meets a hole is repeated twice, then it takes the head.

use super::discipline::{Lot, Turn};
use super::lookahead::Ahead;
use super::red::early::Early;
use super::red::slope::Slope;
use super::tally::Tally;
use super::{ChokeConfig, Next, Verdict};
use crate::dice::Dice;
use crate::packet::{Ecn, Packet};
use crate::time::Time;
use alloc::collections::VecDeque;

#[cfg(test)]
mod tests;

/// Choose and keep for responsive flows, choose and kill for unresponsive ones.
#[derive(Debug)]
pub(super) struct Choke {
    /// The first, when there is one, is no hole.
    packets: VecDeque<Option<Packet>>,
    limit: u32,
    slope: Slope,
    ecn: bool,
    harddrop: bool,
    /// The average queue in packets, shifted left by `wlog`.
    average: u64,
    early: Early,
    idle_since: Option<Time>,
    dice: Dice,
}

/// What the average says about a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
    Pass,
    Hit {
        markable: bool,
    },
    /// It is of the flow of the packet in this place, and both die.
    Matched(usize),
}

impl Choke {
    /// Empty, with an average of zero.
    pub fn new(config: &ChokeConfig, lot: &Lot, handle: &str) -> Self {
        Self {
            packets: VecDeque::new(),
            limit: config.limit,
            slope: Slope::new(&config.red),
            ecn: config.red.ecn,
            harddrop: config.red.harddrop,
            average: 0,
            early: Early::default(),
            idle_since: None,
            dice: lot.dice(handle),
        }
    }

    /// Lets a packet in unless it, or it and another one, have to die.
    pub fn enqueue(&mut self, mut packet: Packet, tally: &mut Tally, turn: &mut Turn) -> Verdict {
        self.average = match self.idle_since.take() {
            Some(since) => self.slope.after_idling(self.average, turn.now.since(since)),
            None => self.slope.moved(self.average, tally.backlog.packets.into()),
        };
        match self.action(&packet) {
            Action::Pass => {}
            Action::Matched(place) => {
                self.kill(place, tally, turn);
                return refuse(packet, Verdict::Congested, tally, turn);
            }
            Action::Hit { markable } => {
                tally.counters.overlimits += 1;
                if !(markable && packet.ecn.is_capable()) {
                    return refuse(packet, Verdict::Congested, tally, turn);
                }
                packet.ecn = Ecn::Ce;
                tally.counters.marks += 1;
            }
        }
        if tally.backlog.packets >= self.limit {
            return refuse(packet, Verdict::Dropped, tally, turn);
        }
        tally.stand(packet.bytes);
        self.packets.push_back(Some(packet));
        Verdict::Queued
    }

    /// The oldest packet; a question that finds none begins an idle time.
    pub fn dequeue(&mut self, tally: &mut Tally, turn: &mut Turn) -> Next {
        let Some(packet) = self.packets.pop_front().flatten() else {
            self.idle_since.get_or_insert(turn.now);
            return Next::Empty;
        };
        self.skip_holes();
        tally.leave(packet.bytes);
        Next::Packet(packet)
    }

    /// What the oldest packet is.
    pub fn peek(&self) -> Ahead {
        let head = self.packets.front().and_then(Option::as_ref);
        head.map_or(Ahead::Empty, |packet| Ahead::Packet { bytes: packet.bytes })
    }

    /// New settings; the average begins anew. Linux drops what stands beyond a smaller limit: here it stays.
    pub fn change(&mut self, config: &ChokeConfig) {
        self.limit = config.limit;
        self.slope = Slope::new(&config.red);
        (self.ecn, self.harddrop) = (config.red.ecn, config.red.harddrop);
        self.average = 0;
        self.early.forget();
        if self.packets.is_empty() {
            self.idle_since = None;
        }
    }

    fn action(&mut self, packet: &Packet) -> Action {
        if self.slope.is_up_to_min(self.average) {
            self.early.forget();
            return Action::Pass;
        }
        if let Some(place) = self.place_of_same_flow(packet) {
            return Action::Matched(place);
        }
        if self.slope.is_beyond_max(self.average) {
            self.early.forget();
            return Action::Hit { markable: self.ecn && !self.harddrop };
        }
        let hit = self.early.hits(&self.slope, self.average, &mut self.dice);
        if hit { Action::Hit { markable: self.ecn } } else { Action::Pass }
    }

    /// Where a packet drawn at random stands, if it is of the same flow (`choke_match_random`).
    fn place_of_same_flow(&mut self, packet: &Packet) -> Option<usize> {
        let length = u32::try_from(self.packets.len()).unwrap_or(u32::MAX);
        if length == 0 {
            return None;
        }
        let mut draw = || usize::try_from(self.dice.below(length)).unwrap_or(0);
        let drawn = (0..DRAWS).map(|_| draw()).find(|place| self.packets[*place].is_some());
        let place = drawn.unwrap_or(0);
        let standing = self.packets[place].as_ref()?;
        (standing.flow == packet.flow && standing.direction == packet.direction).then_some(place)
    }

    fn kill(&mut self, place: usize, tally: &mut Tally, turn: &mut Turn) {
        let Some(packet) = self.packets[place].take() else { return };
        self.skip_holes();
        tally.leave(packet.bytes);
        tally.counters.drops += 1;
        turn.dropped.push(packet);
    }

    fn skip_holes(&mut self) {
        while let Some(None) = self.packets.front() {
            self.packets.pop_front();
        }
    }
}

fn refuse(packet: Packet, verdict: Verdict, tally: &mut Tally, turn: &mut Turn) -> Verdict {
    tally.counters.drops += 1;
    turn.dropped.push(packet);
    verdict
}

/// Draws before it takes the head (`choke_peek_random`).
const DRAWS: usize = 3;
