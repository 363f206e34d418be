//! One end of a wire, with its discipline and what it has counted.

use super::HostId;
use crate::agenda::Alarm;
use crate::telemetry::Meter;
use dumbbell_core::packet::Packet;
use dumbbell_core::queue::{Config, Node, Queue, Site, Verdict};
use dumbbell_core::time::Time;

/// A device: its host sends by it, and the peer's host receives.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is asked for by itself on the path of every packet")]
pub struct Device {
    /// Whose it is.
    pub host: HostId,
    /// Who is at the other end.
    pub peer: HostId,
    /// Does a flow or a series of probes begin or end at its host?
    pub is_home: bool,
    /// Is it captured?
    pub is_tapped: bool,
    /// What it stamps packets with, if it does.
    pub meter: Option<Box<Meter>>,
    /// Does anybody look at what leaves it: is it a home, captured, or does it stamp?
    pub is_observed: bool,
    /// Is one of its disciplines sampled? Then their numbers are `watched`.
    pub watched: Vec<u32>,
    /// Its discipline; without one a packet leaves at once.
    pub queue: Option<Box<Queue>>,
    /// May its discipline send a packet twice?
    pub duplicates: bool,
    /// Does its discipline take packets out of their sockets' count at once, as a netem that delays does?
    pub orphans: bool,
    /// Does a discipline pace for the sockets of its host?
    pub paces: bool,
    /// When the discipline wants to be asked.
    pub alarm: Alarm,
    /// What has passed.
    pub tally: Tally,
    /// Has a super-packet passed?
    pub has_seen_super: bool,
}

/// Segments at a device: a super-packet counts each of its own, because a discipline may cut it up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Handed in.
    pub entered: u64,
    /// Copies that netem made.
    pub duplicated: u64,
    /// Passed on to the peer.
    pub left: u64,
    /// Died.
    pub dropped: u64,
}

impl Tally {
    /// Packets that must be standing there.
    pub const fn standing(&self) -> u64 {
        (self.entered + self.duplicated).wrapping_sub(self.left + self.dropped)
    }
}

impl Device {
    /// A device without a discipline.
    pub fn new(host: HostId, peer: HostId) -> Self {
        Self {
            host,
            peer,
            is_home: false,
            is_tapped: false,
            meter: None,
            is_observed: false,
            watched: Vec::new(),
            queue: None,
            duplicates: false,
            orphans: false,
            paces: false,
            alarm: Alarm::default(),
            tally: Tally::default(),
            has_seen_super: false,
        }
    }

    /// Puts a discipline on it. `ends`: the hosts of every flow.
    pub fn furnish(&mut self, root: &Node, seed: u64, name: &str, ends: &[[HostId; 2]]) {
        let site = Site { seed, name, is_home: self.is_home, ends };
        self.queue = Some(Box::new(Queue::standing(root, &site)));
        self.expect(root);
    }

    /// Remembers what a discipline does that the world has to know: of a new device, or of one that changes.
    pub fn expect(&mut self, node: &Node) {
        if let Some(meter) = &mut self.meter {
            meter.change(node);
        }
        self.duplicates |= may_duplicate(node);
        self.orphans = delays(node);
        self.paces |= self.is_home && paces(node);
    }

    /// Packets that stand there.
    pub fn standing(&self) -> u64 {
        self.queue.as_ref().map_or(0, |queue| u64::from(queue.backlog().packets))
    }

    /// Hands a packet in; says what became of it.
    #[inline]
    pub fn enqueue(&mut self, packet: &Packet, now: Time, dropped: &mut Vec<Packet>) -> Verdict {
        let segments = u64::from(packet.segments);
        self.tally.entered += segments;
        self.has_seen_super |= segments > 1;
        let queue = self.queue.as_mut().expect("only a device with a discipline is handed packets");
        queue.enqueue(packet, now, dropped)
    }

    /// Segments that netem has copied since this was asked last; for a device that duplicates.
    pub fn new_copies(&mut self) -> u64 {
        let copies = self.queue.as_ref().map_or(0, |queue| queue.duplicated().0);
        let new = copies - self.tally.duplicated;
        self.tally.duplicated = copies;
        new
    }

    /// Does what has passed agree with what stands there?
    pub fn balances(&self) -> bool {
        let (told, found) = (self.tally.standing(), self.standing());
        if self.has_seen_super { found <= told } else { found == told }
    }
}

/// Does any netem in this tree send packets twice?
fn may_duplicate(node: &Node) -> bool {
    let here = matches!(&node.config, Config::Netem(netem) if netem.duplicate.chance.0 > 0);
    here || children(node).iter().any(|child| may_duplicate(child))
}

/// Does any fq in this tree pace?
fn paces(node: &Node) -> bool {
    matches!(&node.config, Config::Fq(fq) if fq.pacing) || children(node).iter().any(|child| paces(child))
}

/// Does every way through this tree end in a netem that delays? It orphans the packet (`skb_orphan_partial`).
fn delays(node: &Node) -> bool {
    if let Config::Netem(netem) = &node.config
        && (netem.delay.as_nanos() > 0 || netem.jitter.as_nanos() > 0 || netem.rate.is_some())
    {
        return true;
    }
    let children = children(node);
    !children.is_empty() && children.iter().all(|child| delays(child))
}

fn children(node: &Node) -> Vec<&Node> {
    match &node.config {
        Config::Tbf(tbf) => tbf.inner.iter().collect(),
        Config::Htb(htb) => htb.classes.iter().filter_map(|class| class.leaf.as_ref()).collect(),
        Config::Netem(netem) => netem.inner.iter().map(AsRef::as_ref).collect(),
        Config::Red(red) => red.inner.iter().collect(),
        Config::Drr(drr) => drr.classes.iter().filter_map(|class| class.leaf.as_ref()).collect(),
        Config::Prio(prio) => prio.bands.iter().flatten().collect(),
        _ => Vec::new(),
    }
}
