//! One qdisc in a tree: its kind, and how it is called, found and changed.
//!
//! The kinds are a closed set with one module each.

use super::cake::Cake;
use super::call::{CallContext, Peeked, QdiscContext};
use super::child::Child;
use super::choke::Choke;
use super::codel::Codel;
use super::drr::Drr;
use super::dualpi2::DualPi2;
use super::ets::Ets;
use super::fifo::Fifo;
use super::fq::Fq;
use super::fq_codel::FqCodel;
use super::fq_pie::FqPie;
use super::gred::Gred;
use super::head_drop::HeadDrop;
use super::hhf::Hhf;
use super::htb::Htb;
use super::netem::Netem;
use super::pfifo_fast::PfifoFast;
use super::pie::Pie;
use super::prio::Prio;
use super::red::Red;
use super::sfb::Sfb;
use super::sfq::Sfq;
use super::stats::QdiscStats;
use super::tbf::Tbf;
use super::{ChangeError, Config, HtbClass, Next, Node, Verdict};
use crate::packet::Packet;
use crate::time::Time;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

/// A qdisc with its handle and statistics.
#[derive(Debug)]
pub(super) struct Qdisc {
    handle: String,
    /// Backlog and counters, children included.
    pub stats: QdiscStats,
    kind: Kind,
}

macro_rules! kinds {
    (|$packet:ident, $stats:ident, $ctx:ident| $(
        $name:literal => $variant:ident($type:ty) $this:ident: $enqueue:expr, $dequeue:expr;
    )+) => {
        /// The kind of qdisc. An explicit tag is read in one step, unlike a niche in a fifo's fields.
        #[derive(Debug)]
        #[repr(u8)]
        enum Kind {
            $($variant($type),)+
        }

        impl Kind {
            fn enqueue(&mut self, $packet: &Packet, $stats: &mut QdiscStats, $ctx: &mut CallContext) -> Verdict {
                match self { $(Self::$variant($this) => $enqueue,)+ }
            }

            fn dequeue(&mut self, $stats: &mut QdiscStats, $ctx: &mut CallContext) -> Next {
                match self { $(Self::$variant($this) => $dequeue,)+ }
            }

            const fn name(&self) -> &'static str {
                match self { $(Self::$variant(_) => $name,)+ }
            }
        }
    };
}

// Each kind: its name in tc, its type, and how it takes and gives packets.
kinds! { |packet, stats, ctx|
    "cake" => Cake(Box<Cake>) cake: cake.enqueue(packet, stats, ctx), cake.dequeue(stats, ctx);
    "choke" => Choke(Box<Choke>) choke: choke.enqueue(*packet, stats, ctx), choke.dequeue(stats, ctx);
    "codel" => Codel(Box<Codel>) codel: codel.enqueue(*packet, stats, ctx), codel.dequeue(stats, ctx);
    "drr" => Drr(Box<Drr<Qdisc>>) drr: drr.enqueue(packet, stats, ctx), drr.dequeue(stats, ctx);
    "dualpi2" => DualPi2(Box<DualPi2>) dualpi2: dualpi2.enqueue(*packet, stats, ctx), dualpi2.dequeue(stats, ctx);
    "ets" => Ets(Box<Ets<Qdisc>>) ets: ets.enqueue(packet, stats, ctx), ets.dequeue(stats, ctx);
    "fifo" => Fifo(Fifo) fifo: fifo.enqueue(packet, stats, ctx), fifo.dequeue(stats);
    "fq" => Fq(Box<Fq>) fq: fq.enqueue(*packet, stats, ctx), fq.dequeue(stats, ctx);
    "fq_codel" => FqCodel(Box<FqCodel>) fq_codel: fq_codel.enqueue(*packet, stats, ctx), fq_codel.dequeue(stats, ctx);
    "fq_pie" => FqPie(Box<FqPie>) fq_pie: fq_pie.enqueue(*packet, stats, ctx), fq_pie.dequeue(stats, ctx);
    "gred" => Gred(Box<Gred>) gred: gred.enqueue(*packet, stats, ctx), gred.dequeue(stats, ctx);
    "hhf" => Hhf(Box<Hhf>) hhf: hhf.enqueue(*packet, stats, ctx), hhf.dequeue(stats);
    "htb" => Htb(Box<Htb<Qdisc>>) htb: htb.enqueue(packet, stats, ctx), htb.dequeue(stats, ctx);
    "netem" => Netem(Box<Netem<Qdisc>>) netem: netem.enqueue(packet, stats, ctx), netem.dequeue(stats, ctx);
    "pfifo_fast" => PfifoFast(PfifoFast) fifo: fifo.enqueue(packet, stats, ctx), fifo.dequeue(stats);
    "pfifo_head_drop" => HeadDrop(HeadDrop) fifo: fifo.enqueue(packet, stats, ctx), fifo.dequeue(stats);
    "pie" => Pie(Box<Pie>) pie: pie.enqueue(*packet, stats, ctx), pie.dequeue(stats, ctx);
    "prio" => Prio(Box<Prio<Qdisc>>) prio: prio.enqueue(packet, stats, ctx), prio.dequeue(stats, ctx);
    "red" => Red(Box<Red<Qdisc>>) red: red.enqueue(*packet, stats, ctx), red.dequeue(stats, ctx);
    "sfb" => Sfb(Box<Sfb>) sfb: sfb.enqueue(*packet, stats, ctx), sfb.dequeue(stats);
    "sfq" => Sfq(Box<Sfq>) sfq: sfq.enqueue(*packet, stats, ctx), sfq.dequeue(stats, ctx);
    "tbf" => Tbf(Box<Tbf<Qdisc>>) tbf: tbf.enqueue(packet, stats, ctx), tbf.dequeue(stats, ctx);
}

impl Qdisc {
    /// The earliest time at which [`Self::dequeue`] can return a packet, if known without changing state. Most kinds
    /// count each call or change state while they are empty.
    #[inline]
    pub fn next_departure(&self, now: Time) -> Option<Time> {
        match &self.kind {
            Kind::Htb(_) if self.is_empty() => Some(Time::NEVER),
            Kind::Htb(htb) => htb.next_departure(now),
            Kind::Netem(netem) => netem.next_departure(now),
            _ => None,
        }
    }

    /// Name in tc.
    pub const fn kind(&self) -> &'static str {
        match &self.kind {
            Kind::Fifo(fifo) => fifo.kind(),
            kind => kind.name(),
        }
    }

    /// Whether this kind can mark packets.
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
                | Kind::Sfb(_)
                | Kind::Sfq(_)
                | Kind::Gred(_)
                | Kind::Fq(_)
                | Kind::Cake(_)
        )
    }

    /// Applies new settings; children keep theirs.
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
            (Kind::Ets(ets), Config::Ets(config)) => ets.change(config),
            (Kind::FqPie(fq_pie), Config::FqPie(config)) => fq_pie.change(config),
            (Kind::HeadDrop(fifo), Config::PfifoHeadDrop { limit }) => fifo.change(*limit),
            (Kind::Pie(pie), Config::Pie(config)) => pie.change(config),
            (Kind::Prio(prio), Config::Prio(config)) => prio.change(config),
            (Kind::Gred(gred), Config::Gred(config)) => gred.change(config),
            (Kind::Hhf(hhf), Config::Hhf(config)) => hhf.change(config),
            (Kind::Sfb(sfb), Config::Sfb(config)) => sfb.change(config),
            (Kind::DualPi2(dualpi2), Config::DualPi2(config)) => dualpi2.change(config),
            (Kind::Fq(fq), Config::Fq(config)) => fq.change(config),
            (Kind::Cake(cake), Config::Cake(config)) => cake.change(config),
            _ => return Err(ChangeError::OtherKind),
        }
        Ok(())
    }

    /// Applies new settings to a class of an htb.
    pub fn change_class(&mut self, class: &HtbClass) -> Result<(), ChangeError> {
        match &mut self.kind {
            Kind::Htb(htb) => htb.change_class(class),
            _ => Err(ChangeError::OtherKind),
        }
    }

    /// Path from here to the qdisc with this handle.
    pub fn path_to(&self, handle: &str) -> Option<Vec<usize>> {
        if self.handle == handle && !handle.is_empty() {
            return Some(Vec::new());
        }
        (0..self.children()).find_map(|index| {
            let mut path = self.child(index)?.path_to(handle)?;
            path.insert(0, index);
            Some(path)
        })
    }

    /// The qdisc at the end of a path.
    pub fn at(&self, path: &[usize]) -> Option<&Self> {
        path.iter().try_fold(self, |here, index| here.child(*index))
    }

    /// The qdisc at the end of a path.
    pub fn at_mut(&mut self, path: &[usize]) -> Option<&mut Self> {
        path.iter().try_fold(self, |here, index| here.child_mut(*index))
    }

    /// Number of child slots; some may be empty.
    fn children(&self) -> usize {
        match &self.kind {
            Kind::Tbf(_) | Kind::Netem(_) | Kind::Red(_) => 1,
            Kind::Htb(htb) => htb.classes(),
            Kind::Drr(drr) => drr.classes(),
            Kind::Prio(prio) => prio.bands(),
            Kind::Ets(ets) => ets.bands(),
            _ => 0,
        }
    }

    fn child(&self, index: usize) -> Option<&Self> {
        match &self.kind {
            Kind::Tbf(tbf) => Some(tbf.inner()),
            Kind::Red(red) => Some(red.inner()),
            Kind::Netem(netem) => netem.inner(),
            Kind::Htb(htb) => htb.leaf(index),
            Kind::Drr(drr) => drr.leaf(index),
            Kind::Prio(prio) => prio.band(index),
            Kind::Ets(ets) => ets.band(index),
            _ => None,
        }
    }

    fn child_mut(&mut self, index: usize) -> Option<&mut Self> {
        match &mut self.kind {
            Kind::Tbf(tbf) => Some(tbf.inner_mut()),
            Kind::Red(red) => Some(red.inner_mut()),
            Kind::Netem(netem) => netem.inner_mut(),
            Kind::Htb(htb) => htb.leaf_mut(index),
            Kind::Drr(drr) => drr.leaf_mut(index),
            Kind::Prio(prio) => prio.band_mut(index),
            Kind::Ets(ets) => ets.band_mut(index),
            _ => None,
        }
    }
}

impl Child for Qdisc {
    fn new(node: &Node, context: &QdiscContext) -> Self {
        let handle = node.handle.as_str();
        let kind = match &node.config {
            Config::Pfifo { limit } => Kind::Fifo(Fifo::of_packets(*limit)),
            Config::Bfifo { limit } => Kind::Fifo(Fifo::of_bytes(*limit)),
            Config::Tbf(config) => Kind::Tbf(Box::new(Tbf::new(config, context))),
            Config::Htb(config) => Kind::Htb(Box::new(Htb::new(config, context))),
            Config::Netem(config) => Kind::Netem(Box::new(Netem::new(config, context, handle))),
            Config::Red(config) => Kind::Red(Box::new(Red::new(config, context, handle))),
            Config::Codel(config) => Kind::Codel(Box::new(Codel::new(config))),
            Config::FqCodel(config) => Kind::FqCodel(Box::new(FqCodel::new(config, context, handle))),
            Config::Choke(config) => Kind::Choke(Box::new(Choke::new(config, context, handle))),
            Config::Drr(config) => Kind::Drr(Box::new(Drr::new(config, context))),
            Config::Ets(config) => Kind::Ets(Box::new(Ets::new(config, context))),
            Config::FqPie(config) => Kind::FqPie(Box::new(FqPie::new(config, context, handle))),
            Config::PfifoFast { limit } => Kind::PfifoFast(PfifoFast::new(*limit)),
            Config::PfifoHeadDrop { limit } => Kind::HeadDrop(HeadDrop::new(*limit)),
            Config::Pie(config) => Kind::Pie(Box::new(Pie::new(config, context, handle))),
            Config::Prio(config) => Kind::Prio(Box::new(Prio::new(config, context))),
            Config::Gred(config) => Kind::Gred(Box::new(Gred::new(config, context, handle))),
            Config::Hhf(config) => Kind::Hhf(Box::new(Hhf::new(config, context, handle))),
            Config::Sfb(config) => Kind::Sfb(Box::new(Sfb::new(config, context, handle))),
            Config::Sfq(config) => Kind::Sfq(Box::new(Sfq::new(config, context, handle))),
            Config::DualPi2(config) => Kind::DualPi2(Box::new(DualPi2::new(config, context, handle))),
            Config::Fq(config) => Kind::Fq(Box::new(Fq::new(config, context, handle))),
            Config::Cake(config) => Kind::Cake(Box::new(Cake::new(config, context, handle))),
        };
        Self { handle: node.handle.clone(), stats: QdiscStats::default(), kind }
    }

    fn built_in(fifo: Fifo) -> Self {
        Self { handle: String::new(), stats: QdiscStats::default(), kind: Kind::Fifo(fifo) }
    }

    #[inline]
    fn stats(&self) -> &QdiscStats {
        &self.stats
    }

    #[inline]
    fn stats_mut(&mut self) -> &mut QdiscStats {
        &mut self.stats
    }

    /// A fifo, the leaf of most trees, is inlined into the caller.
    #[inline]
    fn enqueue(&mut self, packet: &Packet, ctx: &mut CallContext) -> Verdict {
        match &mut self.kind {
            Kind::Fifo(fifo) => fifo.enqueue(packet, &mut self.stats, ctx),
            kind => kind.enqueue(packet, &mut self.stats, ctx),
        }
    }

    #[inline]
    fn dequeue(&mut self, ctx: &mut CallContext) -> Next {
        let next = match &mut self.kind {
            Kind::Fifo(fifo) => fifo.dequeue(&mut self.stats),
            kind => kind.dequeue(&mut self.stats, ctx),
        };
        if let Next::Packet(packet) = &next {
            self.stats.sent(packet);
        }
        next
    }

    fn peek(&mut self, ctx: &mut CallContext) -> Option<Peeked> {
        match &mut self.kind {
            Kind::Fifo(fifo) => Some(fifo.peek()),
            Kind::Red(red) => Some(red.peek(&mut self.stats, ctx)),
            Kind::Choke(choke) => Some(choke.peek()),
            Kind::Gred(gred) => Some(gred.peek()),
            Kind::Sfb(sfb) => Some(sfb.peek()),
            Kind::PfifoFast(fifo) => Some(fifo.peek()),
            Kind::HeadDrop(fifo) => Some(fifo.peek()),
            _ => None,
        }
    }

    fn set_fifo_limit(&mut self, limit: u64) {
        if let Kind::Fifo(fifo) = &mut self.kind {
            fifo.set_limit(limit);
        }
    }
}
