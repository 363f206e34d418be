//! One end of a link with its queue and counters.

use super::meter::Meter;
use super::{DeviceId, HostId};
use crate::event_queue::{EventQueue, Kind, Timer};
use dumbbell_net::packet::Packet;
use dumbbell_net::queue::{Config, DeviceContext, Node, Queue, Verdict};
use dumbbell_net::time::Time;

/// A device: its host sends through it, the peer's host receives.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is tested separately for every packet")]
pub struct Device {
    /// The host.
    pub host: HostId,
    /// The host at the other end.
    pub peer: HostId,
    /// Whether a flow or probe series starts or ends at this host.
    pub is_home: bool,
    /// Whether it is captured.
    pub is_tapped: bool,
    /// Telemetry stamps, if enabled.
    pub meter: Option<Box<Meter>>,
    /// Whether departures are observed: a flow's host, captured, or stamping.
    pub is_observed: bool,
    /// Indices of its sampled qdiscs.
    pub watched: Vec<u32>,
    /// The queue; without one a packet leaves immediately.
    pub queue: Option<Box<Queue>>,
    /// Whether its queue may duplicate packets.
    pub duplicates: bool,
    /// Whether its queue releases packets from their sockets' accounting at once, as a delaying netem does.
    pub orphans: bool,
    /// Whether a qdisc paces on behalf of the host's sockets.
    pub paces: bool,
    /// Timer for the next dequeue.
    pub timer: Timer,
    /// Counters.
    pub counters: DeviceCounters,
    /// Whether a super-packet has passed.
    pub has_seen_super: bool,
}

/// Segments at a device. A super-packet counts each of its segments, because a qdisc may split it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeviceCounters {
    /// Enqueued.
    pub entered: u64,
    /// Duplicated by netem.
    pub duplicated: u64,
    /// Forwarded to the peer.
    pub left: u64,
    /// Dropped.
    pub dropped: u64,
}

impl DeviceCounters {
    /// Segments that must be queued.
    pub const fn queued(&self) -> u64 {
        (self.entered + self.duplicated).wrapping_sub(self.left + self.dropped)
    }
}

impl Device {
    /// A device without a queue.
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
            timer: Timer::default(),
            counters: DeviceCounters::default(),
            has_seen_super: false,
        }
    }

    /// Attaches a queue. `ends`: hosts of every flow.
    pub fn attach_queue(&mut self, root: &Node, seed: u64, name: &str, ends: &[[HostId; 2]]) {
        let context = DeviceContext { seed, name, is_home: self.is_home, ends };
        self.queue = Some(Box::new(Queue::with_device(root, &context)));
        self.expect(root);
    }

    /// Derives the flags above from a qdisc tree, at creation or after a change.
    pub fn expect(&mut self, node: &Node) {
        if let Some(meter) = &mut self.meter {
            meter.change(node);
        }
        self.duplicates |= may_duplicate(node);
        self.orphans = delays(node);
        self.paces |= self.is_home && paces(node);
    }

    /// Sets the timer for the next dequeue; `number` is the device's.
    #[inline]
    pub fn set_timer(&mut self, at: Time, now: Time, event_queue: &mut EventQueue, number: DeviceId) {
        self.timer.set(at, now, event_queue, self.kind(), number);
    }

    /// Handles an event of the timer; returns whether it fires.
    #[inline]
    pub fn timer_fires(&mut self, now: Time, event_queue: &mut EventQueue, number: DeviceId) -> bool {
        self.timer.fires(now, event_queue, self.kind(), number)
    }

    const fn kind(&self) -> Kind {
        if self.orphans { Kind::Delay } else { Kind::Device }
    }

    /// Queued packets.
    pub fn queued(&self) -> u64 {
        self.queue.as_ref().map_or(0, |queue| u64::from(queue.backlog().packets))
    }

    /// Enqueues a packet; returns the verdict.
    #[inline]
    pub fn enqueue(&mut self, packet: &Packet, now: Time, dropped: &mut Vec<Packet>) -> Verdict {
        let segments = u64::from(packet.segments);
        self.counters.entered += segments;
        self.has_seen_super |= segments > 1;
        let queue = self.queue.as_mut().expect("packets are enqueued only at devices with a queue");
        queue.enqueue(packet, now, dropped)
    }

    /// Segments that netem duplicated since the last call; for a device with `duplicates`.
    pub fn new_copies(&mut self) -> u64 {
        let copies = self.queue.as_ref().map_or(0, |queue| queue.duplicated().0);
        let new = copies - self.counters.duplicated;
        self.counters.duplicated = copies;
        new
    }

    /// Whether the counters agree with the backlog.
    pub fn balances(&self) -> bool {
        let (counted, found) = (self.counters.queued(), self.queued());
        if self.has_seen_super { found <= counted } else { found == counted }
    }
}

/// Whether any netem in this tree duplicates packets.
fn may_duplicate(node: &Node) -> bool {
    let here = matches!(&node.config, Config::Netem(netem) if netem.duplicate.chance.0 > 0);
    here || node.config.children().iter().any(|child| may_duplicate(child))
}

/// Whether any fq in this tree paces.
fn paces(node: &Node) -> bool {
    matches!(&node.config, Config::Fq(fq) if fq.pacing) || node.config.children().iter().any(|child| paces(child))
}

/// Whether every path through this tree ends in a netem with delay, which orphans packets (`skb_orphan_partial`).
fn delays(node: &Node) -> bool {
    if let Config::Netem(netem) = &node.config
        && (netem.delay.as_nanos() > 0 || netem.jitter.as_nanos() > 0 || netem.rate.is_some())
    {
        return true;
    }
    let children = node.config.children();
    !children.is_empty() && children.iter().all(|child| delays(child))
}
