//! red: drops, or marks, at random, and the more often the longer the queue has been on average.
//!
//! The average is a fixed-point number of bytes, shifted left by `wlog`, that moves with every packet that comes (Linux
//! `include/net/red.h`, `net/sched/sch_red.c`; Floyd and Jacobson 1993). Between two hits the next one is chosen by one
//! random number, which makes the gaps even. Packets wait in the discipline below.
//!
//! ```text
//!    average  0 ......... min ................ max ...........
//!               pass            by chance            hit all
//! ```

use super::discipline::{Discipline, Lot, Turn};
use super::lookahead::{Ahead, Lookahead};
use super::tally::Tally;
use super::{Next, RedConfig, Verdict};
use crate::dice::Dice;
use crate::packet::{Ecn, Packet};
use crate::time::{Span, Time};
use early::Early;
use slope::Slope;

pub(super) mod early;
pub(super) mod slope;
#[cfg(test)]
mod tests;

/// Random early detection.
#[derive(Debug)]
pub(super) struct Red {
    slope: Slope,
    marking: Marking,
    /// The average queue in bytes, shifted left by `wlog` (`qavg`).
    average: u64,
    early: Early,
    idle_since: Option<Time>,
    /// When `max_p` is next adapted.
    adapts_at: Time,
    dice: Dice,
    queue: Lookahead,
}

/// What happens to a packet that is hit.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag that tc has")]
struct Marking {
    ecn: bool,
    harddrop: bool,
    nodrop: bool,
    adaptive: bool,
}

/// What the average says about a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
    Pass,
    /// By chance.
    Hit,
    /// Because the average is too long.
    HitHard,
}

impl Red {
    /// Idle, with an average of zero.
    pub fn new(config: &RedConfig, lot: &Lot, handle: &str) -> Self {
        let queue = match &config.inner {
            Some(node) => Lookahead::new(Discipline::new(node, lot)),
            None => Lookahead::bfifo(config.limit),
        };
        Self {
            slope: Slope::new(config),
            marking: Marking::new(config),
            average: 0,
            early: Early::default(),
            idle_since: Some(Time::ZERO),
            adapts_at: Time::ZERO + ADAPT_EVERY,
            dice: lot.dice(handle),
            queue,
        }
    }

    /// Hands a packet down unless it is hit and can't be marked.
    pub fn enqueue(&mut self, mut packet: Packet, tally: &mut Tally, turn: &mut Turn) -> Verdict {
        self.adapt(turn.now);
        self.average = match self.idle_since.take() {
            Some(since) => self.slope.after_idling(self.average, turn.now.since(since)),
            None => self.slope.moved(self.average, self.queue.inner.tally.backlog.bytes),
        };
        let action = self.action();
        if action != Action::Pass {
            tally.counters.overlimits += 1;
            if self.marking.may_mark(action) && packet.ecn.is_capable() {
                packet.ecn = Ecn::Ce;
                tally.counters.marks += 1;
            } else if !self.marking.passes_unmarked(action) {
                tally.counters.drops += 1;
                turn.dropped.push(packet);
                return Verdict::Congested;
            }
        }
        self.queue.enqueue(&packet, tally, turn)
    }

    /// The next packet; an answer that is none begins an idle time.
    pub fn dequeue(&mut self, tally: &mut Tally, turn: &mut Turn) -> Next {
        let next = self.queue.take(tally, turn);
        if !matches!(next, Next::Packet(_)) && self.idle_since.is_none() {
            self.idle_since = Some(turn.now);
        }
        next
    }

    /// What the next packet is.
    pub fn peek(&mut self, tally: &mut Tally, turn: &mut Turn) -> Ahead {
        self.queue.peek(tally, turn)
    }

    /// New settings; the average begins anew (`red_set_vars`). Linux throws away what stands: here it stays.
    pub fn change(&mut self, config: &RedConfig) {
        self.slope = Slope::new(config);
        self.marking = Marking::new(config);
        self.average = 0;
        self.early.forget();
        self.queue.inner.set_fifo_limit(config.limit);
    }

    /// Where packets wait.
    pub const fn inner(&self) -> &Discipline {
        &self.queue.inner
    }

    /// Where packets wait.
    pub const fn inner_mut(&mut self) -> &mut Discipline {
        &mut self.queue.inner
    }

    fn action(&mut self) -> Action {
        let outside = match (self.slope.is_below(self.average), self.slope.is_above(self.average)) {
            (true, _) => Action::Pass,
            (_, true) => Action::HitHard,
            _ if self.early.hits(&self.slope, self.average, &mut self.dice) => return Action::Hit,
            _ => return Action::Pass,
        };
        self.early.forget();
        outside
    }

    /// Makes up for the times at which the kernel's timer would have gone off; what it looks at has not changed since.
    fn adapt(&mut self, now: Time) {
        if !self.marking.adaptive {
            return;
        }
        let mut turns = 0;
        while self.adapts_at <= now {
            let average = match self.idle_since {
                Some(since) if since <= self.adapts_at => {
                    self.slope.after_idling(self.average, self.adapts_at.since(since))
                }
                _ => self.average,
            };
            self.slope.adapt(average);
            self.adapts_at += ADAPT_EVERY;
            turns += 1;
            if turns == MOST_TURNS {
                let missed = now.since(self.adapts_at).as_nanos() / ADAPT_EVERY.as_nanos();
                self.adapts_at += ADAPT_EVERY * missed;
            }
        }
    }
}

impl Marking {
    const fn new(config: &RedConfig) -> Self {
        Self { ecn: config.ecn, harddrop: config.harddrop, nodrop: config.nodrop, adaptive: config.adaptive }
    }

    fn may_mark(self, action: Action) -> bool {
        self.ecn && !(action == Action::HitHard && self.harddrop)
    }

    fn passes_unmarked(self, action: Action) -> bool {
        self.may_mark(action) && self.nodrop
    }
}

/// The timer of adaptive red: half a second (`red_adaptative_timer`).
const ADAPT_EVERY: Span = Span::from_millis(500);
/// Turns of the timer after which `max_p` has long come to rest.
const MOST_TURNS: u32 = 4_096;
