//! One discipline somewhere in a tree: which kind it is, and how it is called, found and changed.
//!
//! The kinds are a closed set, each with a file of its own; whatever all of them do alike is here.

use super::cake::Cake;
use super::choke::Choke;
use super::codel::Codel;
use super::drr::Drr;
use super::dualpi2::DualPi2;
use super::fifo::Fifo;
use super::fq::Fq;
use super::fq_codel::FqCodel;
use super::fq_pie::FqPie;
use super::head_drop::HeadDrop;
use super::htb::Htb;
use super::lookahead::Ahead;
use super::netem::Netem;
use super::pfifo_fast::PfifoFast;
use super::pie::Pie;
use super::prio::Prio;
use super::red::Red;
use super::sfq::Sfq;
use super::tally::Tally;
use super::tbf::Tbf;
use super::{ChangeError, Config, HtbClass, Next, Node, Site, Verdict};
use crate::dice::Dice;
use crate::packet::Packet;
use crate::time::Time;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// A discipline with its handle and its counts.
#[derive(Debug)]
pub(super) struct Discipline {
    handle: String,
    /// What stands in it and below it, and what it has done.
    pub tally: Tally,
    kind: Kind,
}

/// Which discipline it is; a tag of its own is read in one step, as a hole in a fifo's fields is not.
#[derive(Debug)]
#[repr(u8)]
enum Kind {
    Fifo(Fifo),
    Tbf(Box<Tbf>),
    Htb(Box<Htb>),
    Netem(Box<Netem>),
    Red(Box<Red>),
    Codel(Box<Codel>),
    FqCodel(Box<FqCodel>),
    Choke(Box<Choke>),
    Drr(Box<Drr>),
    FqPie(Box<FqPie>),
    PfifoFast(PfifoFast),
    HeadDrop(HeadDrop),
    Pie(Box<Pie>),
    Prio(Box<Prio>),
    Sfq(Box<Sfq>),
    DualPi2(Box<DualPi2>),
    Fq(Box<Fq>),
    Cake(Box<Cake>),
}

/// One call into a tree: the time, and where packets go that go neither up nor down.
#[derive(Debug)]
pub(super) struct Turn<'a> {
    pub now: Time,
    /// The dead.
    pub dropped: &'a mut Vec<Packet>,
    /// Packets that a netem made; the owner of the tree hands them in at the root.
    pub copies: &'a mut Vec<Packet>,
    /// Is the packet at hand such a copy? It is not copied again (Linux's `tc_depth`).
    pub is_copy: bool,
}

/// What dice are drawn from, among what is known of a device.
pub(super) type Lot<'a> = Site<'a>;

impl Site<'_> {
    /// The stream of the discipline with this handle.
    pub(super) fn dice(&self, handle: &str) -> Dice {
        Dice::named(self.seed, &format!("{}.{handle}", self.name))
    }
}

impl Discipline {
    /// With everything that stands below it.
    pub fn new(node: &Node, lot: &Lot) -> Self {
        let handle = node.handle.as_str();
        let kind = match &node.config {
            Config::Pfifo { limit } => Kind::Fifo(Fifo::of_packets(*limit)),
            Config::Bfifo { limit } => Kind::Fifo(Fifo::of_bytes(*limit)),
            Config::Tbf(config) => Kind::Tbf(Box::new(Tbf::new(config, lot))),
            Config::Htb(config) => Kind::Htb(Box::new(Htb::new(config, lot))),
            Config::Netem(config) => Kind::Netem(Box::new(Netem::new(config, lot, handle))),
            Config::Red(config) => Kind::Red(Box::new(Red::new(config, lot, handle))),
            Config::Codel(config) => Kind::Codel(Box::new(Codel::new(config))),
            Config::FqCodel(config) => Kind::FqCodel(Box::new(FqCodel::new(config, lot, handle))),
            Config::Choke(config) => Kind::Choke(Box::new(Choke::new(config, lot, handle))),
            Config::Drr(config) => Kind::Drr(Box::new(Drr::new(config, lot))),
            Config::FqPie(config) => Kind::FqPie(Box::new(FqPie::new(config, lot, handle))),
            Config::PfifoFast { limit } => Kind::PfifoFast(PfifoFast::new(*limit)),
            Config::PfifoHeadDrop { limit } => Kind::HeadDrop(HeadDrop::new(*limit)),
            Config::Pie(config) => Kind::Pie(Box::new(Pie::new(config, lot, handle))),
            Config::Prio(config) => Kind::Prio(Box::new(Prio::new(config, lot))),
            Config::Sfq(config) => Kind::Sfq(Box::new(Sfq::new(config, lot, handle))),
            Config::DualPi2(config) => Kind::DualPi2(Box::new(DualPi2::new(config, lot, handle))),
            Config::Fq(config) => Kind::Fq(Box::new(Fq::new(config, lot, handle))),
            Config::Cake(config) => Kind::Cake(Box::new(Cake::new(config, lot, handle))),
        };
        Self { handle: node.handle.clone(), tally: Tally::default(), kind }
    }

    /// A fifo that a parent brings along; it has no handle of its own.
    pub fn built_in(fifo: Fifo) -> Self {
        Self { handle: String::new(), tally: Tally::default(), kind: Kind::Fifo(fifo) }
    }

    /// Hands a packet in. A fifo, on which most trees end, takes it in its caller's code.
    #[inline]
    pub fn enqueue(&mut self, packet: &Packet, turn: &mut Turn) -> Verdict {
        match &mut self.kind {
            Kind::Fifo(fifo) => fifo.enqueue(packet, &mut self.tally, turn),
            _ => self.enqueue_below(packet, turn),
        }
    }

    /// Asks for the next packet, and counts it.
    #[inline]
    pub fn dequeue(&mut self, turn: &mut Turn) -> Next {
        let next = match &mut self.kind {
            Kind::Fifo(fifo) => fifo.dequeue(&mut self.tally),
            _ => self.dequeue_below(turn),
        };
        if let Next::Packet(packet) = &next {
            self.tally.sent(packet);
        }
        next
    }

    fn enqueue_below(&mut self, packet: &Packet, turn: &mut Turn) -> Verdict {
        match &mut self.kind {
            Kind::Fifo(fifo) => fifo.enqueue(packet, &mut self.tally, turn),
            Kind::Tbf(tbf) => tbf.enqueue(packet, &mut self.tally, turn),
            Kind::Htb(htb) => htb.enqueue(packet, &mut self.tally, turn),
            Kind::Netem(netem) => netem.enqueue(packet, &mut self.tally, turn),
            Kind::Red(red) => red.enqueue(*packet, &mut self.tally, turn),
            Kind::Codel(codel) => codel.enqueue(*packet, &mut self.tally, turn),
            Kind::FqCodel(fq_codel) => fq_codel.enqueue(*packet, &mut self.tally, turn),
            Kind::Choke(choke) => choke.enqueue(*packet, &mut self.tally, turn),
            Kind::Drr(drr) => drr.enqueue(packet, &mut self.tally, turn),
            Kind::FqPie(fq_pie) => fq_pie.enqueue(*packet, &mut self.tally, turn),
            Kind::PfifoFast(fifo) => fifo.enqueue(packet, &mut self.tally, turn),
            Kind::HeadDrop(fifo) => fifo.enqueue(packet, &mut self.tally, turn),
            Kind::Pie(pie) => pie.enqueue(*packet, &mut self.tally, turn),
            Kind::Prio(prio) => prio.enqueue(packet, &mut self.tally, turn),
            Kind::Sfq(sfq) => sfq.enqueue(*packet, &mut self.tally, turn),
            Kind::DualPi2(dualpi2) => dualpi2.enqueue(*packet, &mut self.tally, turn),
            Kind::Fq(fq) => fq.enqueue(*packet, &mut self.tally, turn),
            Kind::Cake(cake) => cake.enqueue(packet, &mut self.tally, turn),
        }
    }

    fn dequeue_below(&mut self, turn: &mut Turn) -> Next {
        match &mut self.kind {
            Kind::Fifo(fifo) => fifo.dequeue(&mut self.tally),
            Kind::Tbf(tbf) => tbf.dequeue(&mut self.tally, turn),
            Kind::Htb(htb) => htb.dequeue(&mut self.tally, turn),
            Kind::Netem(netem) => netem.dequeue(&mut self.tally, turn),
            Kind::Red(red) => red.dequeue(&mut self.tally, turn),
            Kind::Codel(codel) => codel.dequeue(&mut self.tally, turn),
            Kind::FqCodel(fq_codel) => fq_codel.dequeue(&mut self.tally, turn),
            Kind::Choke(choke) => choke.dequeue(&mut self.tally, turn),
            Kind::Drr(drr) => drr.dequeue(&mut self.tally, turn),
            Kind::FqPie(fq_pie) => fq_pie.dequeue(&mut self.tally, turn),
            Kind::PfifoFast(fifo) => fifo.dequeue(&mut self.tally),
            Kind::HeadDrop(fifo) => fifo.dequeue(&mut self.tally),
            Kind::Pie(pie) => pie.dequeue(&mut self.tally, turn),
            Kind::Prio(prio) => prio.dequeue(&mut self.tally, turn),
            Kind::Sfq(sfq) => sfq.dequeue(&mut self.tally, turn),
            Kind::DualPi2(dualpi2) => dualpi2.dequeue(&mut self.tally, turn),
            Kind::Fq(fq) => fq.dequeue(&mut self.tally, turn),
            Kind::Cake(cake) => cake.dequeue(&mut self.tally, turn),
        }
    }

    /// What [`Self::dequeue`] would answer, where that is known and asking would change nothing: no packet before this
    /// time. Most kinds count each question, or forget something while they are empty.
    #[inline]
    pub fn waits(&self, now: Time) -> Option<Time> {
        match &self.kind {
            Kind::Htb(_) if self.is_empty() => Some(Time::NEVER),
            Kind::Htb(htb) => htb.waits(now),
            Kind::Netem(netem) => netem.waits(now),
            _ => None,
        }
    }

    /// What the next packet is, for the kinds that can say so without giving it away.
    pub fn peek(&mut self, turn: &mut Turn) -> Option<Ahead> {
        match &mut self.kind {
            Kind::Fifo(fifo) => Some(fifo.peek()),
            Kind::Red(red) => Some(red.peek(&mut self.tally, turn)),
            Kind::Choke(choke) => Some(choke.peek()),
            Kind::PfifoFast(fifo) => Some(fifo.peek()),
            Kind::HeadDrop(fifo) => Some(fifo.peek()),
            _ => None,
        }
    }

    /// Calls this discipline, and carries what changes in it up to its parent's tally.
    #[inline]
    pub fn under<T>(&mut self, parent: &mut Tally, call: impl FnOnce(&mut Self) -> T) -> T {
        let before = self.tally.read();
        let answer = call(self);
        parent.follow(before, self.tally.read());
        answer
    }

    /// Does nothing stand in it?
    pub const fn is_empty(&self) -> bool {
        self.tally.backlog.packets == 0
    }

    /// tc's name for it.
    pub const fn kind(&self) -> &'static str {
        match &self.kind {
            Kind::Fifo(fifo) => fifo.kind(),
            Kind::Tbf(_) => "tbf",
            Kind::Htb(_) => "htb",
            Kind::Netem(_) => "netem",
            Kind::Red(_) => "red",
            Kind::Codel(_) => "codel",
            Kind::FqCodel(_) => "fq_codel",
            Kind::Choke(_) => "choke",
            Kind::Drr(_) => "drr",
            Kind::FqPie(_) => "fq_pie",
            Kind::PfifoFast(_) => "pfifo_fast",
            Kind::HeadDrop(_) => "pfifo_head_drop",
            Kind::Pie(_) => "pie",
            Kind::Prio(_) => "prio",
            Kind::Sfq(_) => "sfq",
            Kind::DualPi2(_) => "dualpi2",
            Kind::Fq(_) => "fq",
            Kind::Cake(_) => "cake",
        }
    }

    /// Does its kind mark packets?
    pub const fn marks(&self) -> bool {
        matches!(
            self.kind,
            Kind::Red(_)
                | Kind::Codel(_)
                | Kind::FqCodel(_)
                | Kind::Choke(_)
                | Kind::DualPi2(_)
                | Kind::FqPie(_)
                | Kind::Pie(_)
                | Kind::Fq(_)
                | Kind::Cake(_)
        )
    }

    /// New settings; those of the disciplines below stay as they are.
    pub fn change(&mut self, config: &Config) -> Result<(), ChangeError> {
        match (&mut self.kind, config) {
            (Kind::Fifo(fifo), Config::Pfifo { .. } | Config::Bfifo { .. }) => return fifo.change(config),
            (Kind::Tbf(tbf), Config::Tbf(config)) => tbf.change(config),
            (Kind::Htb(htb), Config::Htb(config)) => return htb.change(config),
            (Kind::Netem(netem), Config::Netem(config)) => netem.change(config),
            (Kind::Red(red), Config::Red(config)) => red.change(config),
            (Kind::Codel(codel), Config::Codel(config)) => codel.change(config),
            (Kind::FqCodel(fq_codel), Config::FqCodel(config)) => fq_codel.change(config),
            (Kind::Choke(choke), Config::Choke(config)) => choke.change(config),
            (Kind::Drr(drr), Config::Drr(config)) => drr.change(config),
            (Kind::FqPie(fq_pie), Config::FqPie(config)) => fq_pie.change(config),
            (Kind::HeadDrop(fifo), Config::PfifoHeadDrop { limit }) => fifo.change(*limit),
            (Kind::Pie(pie), Config::Pie(config)) => pie.change(config),
            (Kind::Prio(prio), Config::Prio(config)) => prio.change(config),
            (Kind::DualPi2(dualpi2), Config::DualPi2(config)) => dualpi2.change(config),
            (Kind::Fq(fq), Config::Fq(config)) => fq.change(config),
            (Kind::Cake(cake), Config::Cake(config)) => cake.change(config),
            _ => return Err(ChangeError::OtherKind),
        }
        Ok(())
    }

    /// New settings for a class of an htb.
    pub fn change_class(&mut self, class: &HtbClass) -> Result<(), ChangeError> {
        match &mut self.kind {
            Kind::Htb(htb) => htb.change_class(class),
            _ => Err(ChangeError::OtherKind),
        }
    }

    /// The built-in limit of a fifo, as its parent sets it (`fifo_set_limit`).
    pub fn set_fifo_limit(&mut self, limit: u64) {
        if let Kind::Fifo(fifo) = &mut self.kind {
            fifo.set_limit(limit);
        }
    }

    /// Which children to take from here to the discipline of this handle.
    pub fn path_to(&self, handle: &str) -> Option<Vec<usize>> {
        if self.handle == handle && !handle.is_empty() {
            return Some(Vec::new());
        }
        (0..self.places()).find_map(|place| {
            let mut path = self.child(place)?.path_to(handle)?;
            path.insert(0, place);
            Some(path)
        })
    }

    /// The discipline at the end of a path.
    pub fn at(&self, path: &[usize]) -> Option<&Self> {
        path.iter().try_fold(self, |here, place| here.child(*place))
    }

    /// The discipline at the end of a path.
    pub fn at_mut(&mut self, path: &[usize]) -> Option<&mut Self> {
        path.iter().try_fold(self, |here, place| here.child_mut(*place))
    }

    /// How many places for children there are; some may be empty.
    fn places(&self) -> usize {
        match &self.kind {
            Kind::Tbf(_) | Kind::Netem(_) | Kind::Red(_) => 1,
            Kind::Htb(htb) => htb.classes(),
            Kind::Drr(drr) => drr.classes(),
            Kind::Prio(prio) => prio.bands(),
            _ => 0,
        }
    }

    fn child(&self, place: usize) -> Option<&Self> {
        match &self.kind {
            Kind::Tbf(tbf) => Some(tbf.inner()),
            Kind::Red(red) => Some(red.inner()),
            Kind::Netem(netem) => netem.inner(),
            Kind::Htb(htb) => htb.leaf(place),
            Kind::Drr(drr) => drr.leaf(place),
            Kind::Prio(prio) => prio.band(place),
            _ => None,
        }
    }

    fn child_mut(&mut self, place: usize) -> Option<&mut Self> {
        match &mut self.kind {
            Kind::Tbf(tbf) => Some(tbf.inner_mut()),
            Kind::Red(red) => Some(red.inner_mut()),
            Kind::Netem(netem) => netem.inner_mut(),
            Kind::Htb(htb) => htb.leaf_mut(place),
            Kind::Drr(drr) => drr.leaf_mut(place),
            Kind::Prio(prio) => prio.band_mut(place),
            _ => None,
        }
    }
}
