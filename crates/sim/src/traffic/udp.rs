//! Datagrams at a constant rate, and the receiver's byte count.

use crate::plan::Udp;
use dumbbell_net::datagrams::{Arrivals, DEFAULT_BUFFER, Schedule, true_size};
use dumbbell_net::packet::{Body, Damage, Ecn, Fragment, Packet, UDP_HEADERS_BYTES};
use dumbbell_net::time::Time;
use dumbbell_net::transport::Identity;

/// One UDP flow, both ends.
#[derive(Clone, Debug)]
pub struct Datagrams {
    identity: Identity,
    plan: Udp,
    schedule: Schedule,
    /// When the last datagram was due: flows that start together send together.
    due: Time,
    /// Memory of the datagrams in the sender's own queues (`sk_wmem_alloc`).
    queued: u64,
    /// Memory of the datagrams that arrived at this time, before the program reads them (`sk_rmem_alloc`).
    unread: (Time, u64),
    next: u64,
    /// What the receiver counts.
    pub arrivals: Arrivals,
    /// Payload bytes sent so far.
    pub sent_bytes: u64,
    /// Payload bytes received so far.
    pub received_bytes: u64,
}

impl Datagrams {
    /// A flow that has not started.
    pub fn new(identity: Identity, plan: Udp) -> Self {
        Self {
            identity,
            plan,
            schedule: Schedule::new(0, 1, None),
            due: Time::ZERO,
            queued: 0,
            unread: (Time::ZERO, 0),
            next: 0,
            arrivals: Arrivals::default(),
            sent_bytes: 0,
            received_bytes: 0,
        }
    }

    /// The flow starts; the time is that of the plan.
    pub fn start(&mut self, at: Time) {
        let on_off = self.plan.on_off.map(|(on, off)| (on.as_nanos(), off.as_nanos()));
        self.schedule = Schedule::new(at.as_nanos(), self.plan.interval.as_nanos(), on_off);
        self.due = at;
    }

    /// Time of the next datagram.
    pub fn next_time(&mut self, now: Time) -> Time {
        self.due = Time::from_nanos(self.schedule.next(self.due.as_nanos()));
        self.due.max(now)
    }

    /// The next datagram; None if the socket's buffer has no room for it (`EAGAIN` of `sock_alloc_send_pskb`). A drop by
    /// the sender's own queue counts as loss, as in Linux.
    pub fn send(&mut self, now: Time) -> Option<Packet> {
        if self.queued >= self.plan.sndbuf.unwrap_or(DEFAULT_BUFFER) {
            return None;
        }
        let seq = self.next;
        self.next += 1;
        self.sent_bytes += u64::from(self.plan.payload);
        let Identity { flow, direction, port, mark } = self.identity;
        Some(Packet {
            flow,
            direction,
            ecn: if self.plan.ecn { Ecn::Ect0 } else { Ecn::NotEct },
            segments: 1,
            bytes: self.plan.payload + UDP_HEADERS_BYTES,
            port,
            mark,
            rehashes: 0,
            damage: Damage::None,
            queued_at: now,
            body: Body::Udp { sent_at: now, seq, payload: self.plan.payload, fragment: Fragment::WHOLE },
        })
    }

    /// Largest IP packet; a larger datagram leaves in fragments.
    pub fn mtu(&self) -> u32 {
        self.plan.mtu
    }

    /// A datagram, or a fragment of one, waits in the sender's own queue.
    pub fn queued(&mut self, packet: &Packet) {
        self.queued += memory(packet);
    }

    /// It left that queue, or was dropped there.
    pub fn departed(&mut self, packet: &Packet) {
        self.queued = self.queued.saturating_sub(memory(packet));
    }

    /// A datagram arrived; a duplicate takes memory and does not count. The program reads after the interrupt, so only
    /// those of one time share the buffer, which takes one more than it has room for (`__udp_enqueue_schedule_skb`).
    pub fn receive(&mut self, now: Time, (sent_at, seq): (Time, u64), payload: u32) {
        if self.unread.0 != now {
            self.unread = (now, 0);
        }
        if self.unread.1 > self.plan.rcvbuf.unwrap_or(DEFAULT_BUFFER) {
            return;
        }
        self.unread.1 += true_size(payload);
        if self.arrivals.add(seq, sent_at.as_nanos(), now.as_nanos()) {
            self.received_bytes += u64::from(payload);
        }
    }
}

/// Memory of a packet of the sender; every fragment is an skb of its own (`ip_append_data`).
fn memory(packet: &Packet) -> u64 {
    true_size(packet.bytes.saturating_sub(UDP_HEADERS_BYTES))
}
