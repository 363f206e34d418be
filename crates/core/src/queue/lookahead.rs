//! A child whose next packet its parent must see before it takes it: tbf asks whether it can pay for it.
//!
//! A fifo shows its head. Anything else has to give the packet away to show it, so it is held here; it still counts as
//! the child's (`qdisc_peek_dequeued`, Linux `include/net/sch_generic.h`).

use super::discipline::{Discipline, Turn};
use super::fifo::Fifo;
use super::tally::Tally;
use super::{Next, Verdict};
use crate::packet::Packet;
use crate::time::Time;

/// What comes next, without taking it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ahead {
    /// A packet of this size.
    Packet { bytes: u32 },
    /// Nothing before this time.
    At(Time),
    /// Nothing.
    Empty,
}

/// A child, and the packet that it showed.
#[derive(Debug)]
pub(super) struct Lookahead {
    pub inner: Discipline,
    held: Option<Packet>,
}

impl Lookahead {
    /// Nothing is held yet.
    pub const fn new(inner: Discipline) -> Self {
        Self { inner, held: None }
    }

    /// The bfifo that a discipline has when nothing else was put into it.
    pub fn bfifo(limit: u64) -> Self {
        Self::new(Discipline::built_in(Fifo::of_bytes(limit)))
    }

    /// Hands a packet down.
    pub fn enqueue(&mut self, packet: &Packet, tally: &mut Tally, turn: &mut Turn) -> Verdict {
        self.inner.under(tally, |inner| inner.enqueue(packet, turn))
    }

    /// What [`Self::take`] will give.
    pub fn peek(&mut self, tally: &mut Tally, turn: &mut Turn) -> Ahead {
        if let Some(packet) = &self.held {
            return Ahead::Packet { bytes: packet.bytes };
        }
        let held = &mut self.held;
        self.inner.under(tally, |inner| inner.peek(turn).unwrap_or_else(|| hold(inner, held, turn)))
    }

    /// Takes the next packet.
    pub fn take(&mut self, tally: &mut Tally, turn: &mut Turn) -> Next {
        let held = self.held.take();
        self.inner.under(tally, |inner| match held {
            Some(packet) => {
                inner.tally.leave(packet.bytes);
                Next::Packet(packet)
            }
            None => inner.dequeue(turn),
        })
    }
}

fn hold(inner: &mut Discipline, held: &mut Option<Packet>, turn: &mut Turn) -> Ahead {
    match inner.dequeue(turn) {
        Next::Packet(packet) => {
            inner.tally.stand(packet.bytes);
            *held = Some(packet);
            Ahead::Packet { bytes: packet.bytes }
        }
        Next::At(time) => Ahead::At(time),
        Next::Empty => Ahead::Empty,
    }
}
