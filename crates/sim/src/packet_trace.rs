//! Packet traces: records the path of every packet in a time window, without affecting the run.
//!
//! ```text
//!   sent -> entered a device's queue -> left it, or dropped there -> ... -> delivered
//! ```
//!
//! The recorder is called for every packet event from the start of the run, because packets in flight when the window
//! opens were sent earlier. Packets are plain values without identity: [`records`] matches them.
//! `world::record_packets` calls the recorder; [`rows`] defines the columns.

mod locations;
mod records;
mod rows;

use crate::net::DeviceId;
use dumbbell_net::packet::{Direction, Ecn, Packet};
use dumbbell_net::queue::Queue;
use dumbbell_net::time::Time;
use dumbbell_table::Table;
pub(crate) use locations::Locations;
use records::{TraceRecord, TraceRecords};

/// What to record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Record packets that are in flight at this time or later,
    pub from: Time,
    /// and at this time or earlier.
    pub to: Time,
    /// Maximum packets to record; the first ones are kept.
    pub max_rows: usize,
}

/// Result of recording.
#[derive(Debug)]
pub struct TraceResult {
    /// One row per packet.
    pub packets: Table,
    /// Packets that did not fit.
    pub left_out: u64,
}

/// A device with a qdisc on a packet's path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hop {
    /// The device.
    pub device: DeviceId,
    /// Number of such devices before it on the path.
    pub earlier: u32,
}

impl Hop {
    /// A packet's step on arrival,
    const fn before(self) -> u32 {
        self.earlier * 2
    }

    /// while it is queued,
    const fn inside(self) -> u32 {
        self.before() + 1
    }

    /// and after it has left.
    const fn after(self) -> u32 {
        self.before() + 2
    }
}

/// The recorder.
#[derive(Debug)]
pub(crate) struct PacketTrace {
    window: Window,
    records: TraceRecords,
    locations: Locations,
    /// Names of flows, then of probe series, by id.
    senders: Vec<String>,
    /// End of the sequence space sent so far, per stream (flow and direction).
    sent_to: Vec<u64>,
}

impl PacketTrace {
    /// A recorder without packets. `senders`: names of all flows and probe series by id.
    pub fn new(window: Window, senders: Vec<String>, locations: Locations) -> Self {
        let sent_to = vec![0; senders.len() * 2];
        Self { window, records: TraceRecords::default(), locations, senders, sent_to }
    }

    /// A host sends a packet. Returns whether its first byte was sent before.
    pub fn sent(&mut self, now: Time, packet: &Packet) -> bool {
        self.check_window(now);
        let mut record = TraceRecord::new(now, packet);
        if let Some((first, end)) = records::occupied(packet) {
            let sent_to = &mut self.sent_to[records::stream(packet)];
            record.retransmit = first < *sent_to;
            *sent_to = end.max(*sent_to);
        }
        let retransmit = record.retransmit;
        if now <= self.window.to {
            self.records.add(record);
        }
        retransmit
    }

    /// The sending host's own queue refused a new packet: it was never sent and will be transmitted later as new data.
    pub fn refused(&mut self, packet: &Packet) {
        if let Some((first, _)) = records::occupied(packet) {
            self.sent_to[records::stream(packet)] = first;
        }
    }

    /// A packet was enqueued in a device's `queue`. Drops that this caused are reported next.
    pub fn entered(&mut self, now: Time, hop: Hop, packet: &Packet, queue: &Queue) {
        self.check_window(now);
        let entered_at = self.locations.entered_at(hop.device, queue);
        let Some(record) = self.records.find(packet, hop.before()) else { return };
        record.step = hop.inside();
        if record.queue.is_none() && entered_at.is_some() {
            (record.queue, record.queued) = (entered_at.map(|number| (number, hop.device)), Some(now));
        }
    }

    /// netems in a device's queue made copies of these queued packets.
    pub fn copied(&mut self, now: Time, copies: &[(Packet, Hop)]) {
        self.check_window(now);
        for (copy, hop) in copies {
            if let (Some(record), true) = (self.records.find(copy, hop.inside()), now <= self.window.to) {
                let twin = record.clone();
                self.records.add(twin);
            }
        }
    }

    /// A packet left a device's queue.
    pub fn left(&mut self, now: Time, hop: Hop, packet: &Packet) {
        self.check_window(now);
        let Some(record) = self.records.find(packet, hop.inside()) else { return };
        record.step = hop.after();
        record.marked |= packet.ecn == Ecn::Ce;
        if record.queue.is_some_and(|(_, its)| its == hop.device) {
            record.dequeued = Some(now);
        }
    }

    /// A packet was dropped by a device's queue.
    pub fn dropped(&mut self, now: Time, hop: Hop, packet: &Packet, queue: &Queue) {
        self.check_window(now);
        let Some(record) = self.records.find(packet, hop.inside()) else { return };
        let queued_in = record.queue.filter(|&(_, its)| its == hop.device).map(|(number, _)| number);
        record.marked |= packet.ecn == Ecn::Ce;
        record.dropped = Some((now, self.locations.dropped_by(hop.device, queue, queued_in)));
        self.records.end(packet, hop.inside());
    }

    /// The host of this device dropped a packet that arrived there.
    pub fn damaged(&mut self, now: Time, hop: Hop, packet: &Packet) {
        self.check_window(now);
        let Some(record) = self.records.find(packet, hop.before()) else { return };
        record.dropped = Some((now, self.locations.name_of(hop.device)));
        self.records.end(packet, hop.before());
    }

    /// All effects of a call into a device's queue have been reported.
    pub fn settled(&mut self, device: DeviceId, queue: &Queue) {
        self.locations.settled(device, queue);
    }

    /// A packet arrived at the other host; `queues` is the number of queues on its path.
    pub fn delivered(&mut self, now: Time, queues: u32, packet: &Packet) {
        self.check_window(now);
        let Some(record) = self.records.find(packet, queues * 2) else { return };
        record.marked |= packet.ecn == Ecn::Ce;
        record.received = Some(now);
        self.records.end(packet, queues * 2);
    }

    /// Whether the outcome of every packet in the window is known.
    pub fn is_complete(&mut self, now: Time) -> bool {
        self.check_window(now);
        now > self.window.to && self.records.in_flight() == 0
    }

    /// The recorded packets in order of send time.
    pub fn finish(mut self) -> TraceResult {
        let (left_out, names) = (self.records.left_out(), self.locations.into_names());
        let mut rows = rows::TraceRows::of(self.senders, names);
        for record in self.records.take() {
            rows.push(&record);
        }
        TraceResult { packets: rows.into(), left_out }
    }

    fn check_window(&mut self, now: Time) {
        if !self.records.is_open() && now >= self.window.from {
            self.records.open(self.window.max_rows);
        }
    }
}

/// Whether the packet goes from the flow's receiver to its sender.
const fn is_backward(packet: &Packet) -> bool {
    matches!(packet.direction, Direction::Backward)
}
