//! Records of packets in flight, and how to find the record of a packet.
//!
//! Packets are copied at every hop and have no identity. A packet's headers and its progress identify it, except among
//! netem's copies, which are interchangeable. A super-packet split on its path becomes one record per segment as soon
//! as its first segment is seen.

use super::is_backward;
use crate::net::DeviceId;
use dumbbell_net::packet::{Body, Packet, Sack, cut};
use dumbbell_net::time::Time;
use std::collections::BTreeMap;

/// Record of one packet.
#[derive(Clone, Debug)]
pub struct TraceRecord {
    /// The packet as sent.
    pub packet: Packet,
    /// Send time.
    pub sent: Time,
    /// Whether its first byte was sent before.
    pub retransmit: bool,
    /// Whether a queue marked it.
    pub marked: bool,
    /// The first queue under test on its path, and the device.
    pub queue: Option<(u32, DeviceId)>,
    /// Time of arrival there.
    pub queued: Option<Time>,
    /// Time of departure from there.
    pub dequeued: Option<Time>,
    /// Time of arrival at the other host.
    pub received: Option<Time>,
    /// Time of the drop, and index of the name of the location.
    pub dropped: Option<(Time, u32)>,
    /// Number of times it entered or left a queue; odd while it is in one.
    pub step: u32,
}

impl TraceRecord {
    /// A packet sent now.
    pub const fn new(now: Time, packet: &Packet) -> Self {
        Self {
            packet: *packet,
            sent: now,
            retransmit: false,
            marked: false,
            queue: None,
            queued: None,
            dequeued: None,
            received: None,
            dropped: None,
            step: 0,
        }
    }
}

/// Key that identifies a packet; equal packets are ordered by record number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    stream: usize,
    sent_at: Time,
    seq: u64,
    ack: u64,
    number: u64,
}

/// All records.
#[derive(Debug, Default)]
pub struct TraceRecords {
    all: Vec<(u64, TraceRecord)>,
    /// Free indices of `all`.
    free: Vec<usize>,
    /// Records of packets in flight.
    live: BTreeMap<Key, usize>,
    next_number: u64,
    /// Whether all records are kept. Before the window opens, only those of packets in flight are.
    is_open: bool,
    /// Remaining capacity; None after a packet did not fit.
    capacity: Option<usize>,
    left_out: u64,
}

impl TraceRecords {
    /// Adds a packet in flight.
    pub fn add(&mut self, record: TraceRecord) {
        if !self.is_open() || self.fits(&record.packet) {
            self.put(record);
        }
    }

    /// The record of a packet at this step.
    pub fn find(&mut self, packet: &Packet, step: u32) -> Option<&mut TraceRecord> {
        let key = self.find_key(packet, step).or_else(|| {
            self.split(packet, step)?;
            self.find_key(packet, step)
        })?;
        let index = self.live[&key];
        Some(&mut self.all[index].1)
    }

    /// Ends the record of this packet; before the window it is deleted.
    pub fn end(&mut self, packet: &Packet, step: u32) {
        let Some(key) = self.find_key(packet, step) else { return };
        let index = self.live.remove(&key).expect("the key was found above");
        if !self.is_open {
            self.free.push(index);
        }
    }

    /// Opens the window: keeps up to `max` records.
    pub fn open(&mut self, max: usize) {
        let mut live: Vec<_> = self.live.keys().copied().collect();
        live.sort_unstable_by_key(|key| key.number);
        (self.is_open, self.capacity) = (true, Some(max));
        for key in live {
            let packet = self.all[self.live[&key]].1.packet;
            if !self.fits(&packet) {
                self.free.extend(self.live.remove(&key));
            }
        }
    }

    /// Whether the window is open.
    pub const fn is_open(&self) -> bool {
        self.is_open
    }

    /// Packets in flight.
    pub fn in_flight(&self) -> usize {
        self.live.len()
    }

    /// Packets not kept.
    pub const fn left_out(&self) -> u64 {
        self.left_out
    }

    /// All kept records in order of send time.
    pub fn take(&mut self) -> impl Iterator<Item = TraceRecord> {
        let mut is_free = vec![!self.is_open; self.all.len()];
        for &index in &self.free {
            is_free[index] = true;
        }
        let all = std::mem::take(&mut self.all).into_iter().zip(is_free);
        let mut kept: Vec<_> = all.filter(|(_, is_free)| !is_free).map(|(record, _)| record).collect();
        kept.sort_by_key(|(number, record)| (record.sent, *number));
        kept.into_iter().map(|(_, record)| record)
    }

    /// A super-packet needs capacity for all its segments. After the first packet that does not fit, none is kept.
    fn fits(&mut self, packet: &Packet) -> bool {
        let (segments, capacity) = (usize::from(packet.segments), self.capacity);
        self.capacity =
            if self.left_out > 0 { None } else { capacity.and_then(|capacity| capacity.checked_sub(segments)) };
        self.left_out += if self.capacity.is_none() { segments as u64 } else { 0 };
        self.capacity.is_some()
    }

    fn put(&mut self, record: TraceRecord) {
        self.next_number += 1;
        let key = Key { number: self.next_number, ..key(&record.packet) };
        let index = self.free.pop().unwrap_or(self.all.len());
        if index == self.all.len() {
            self.all.push((self.next_number, record));
        } else {
            self.all[index] = (self.next_number, record);
        }
        self.live.insert(key, index);
    }

    fn find_key(&self, packet: &Packet, step: u32) -> Option<Key> {
        let first = key(packet);
        let equal_keys = self.live.range(first..=Key { number: u64::MAX, ..first });
        let matches = |record: &TraceRecord| {
            record.step == step && record.packet.bytes == packet.bytes && sack(&record.packet) == sack(packet)
        };
        equal_keys.into_iter().find(|(_, index)| matches(&self.all[**index].1)).map(|(key, _)| *key)
    }

    /// Splits the record of the super-packet that contains this segment.
    fn split(&mut self, packet: &Packet, step: u32) -> Option<()> {
        let Body::Tcp(segment) = &packet.body else { return None };
        let last = Key { number: u64::MAX, ..key(packet) };
        let holds = |record: &TraceRecord| match &record.packet.body {
            Body::Tcp(super_packet) => {
                record.step == step && record.packet.segments > packet.segments && segment.end() <= super_packet.end()
            }
            _ => false,
        };
        let earlier = self.live.range(Key { seq: 0, ack: 0, number: 0, ..last }..=last).rev();
        let key = earlier.into_iter().find(|(_, index)| holds(&self.all[**index].1)).map(|(key, _)| *key)?;
        let index = self.live.remove(&key)?;
        let super_packet = self.all[index].1.clone();
        self.free.push(index);
        for segment in cut(super_packet.packet)? {
            self.put(TraceRecord { packet: segment, ..super_packet.clone() });
        }
        Some(())
    }
}

/// Index of the stream (flow and direction).
pub const fn stream(packet: &Packet) -> usize {
    packet.flow.0 as usize * 2 + is_backward(packet) as usize
}

/// The sequence numbers of a segment, first and end; None if it has none.
pub fn occupied(packet: &Packet) -> Option<(u64, u64)> {
    match &packet.body {
        Body::Tcp(segment) if segment.end() > segment.seq && !packet.is_reset() => Some((segment.seq, segment.end())),
        _ => None,
    }
}

fn key(packet: &Packet) -> Key {
    let (sent_at, seq, ack) = match &packet.body {
        Body::Tcp(segment) => (segment.sent_at, segment.seq, segment.ack),
        Body::Udp { sent_at, seq, fragment, .. } => (*sent_at, *seq, fragment.number.into()),
        Body::Probe { sent_at, seq, .. } => (*sent_at, *seq, 0),
    };
    Key { stream: stream(packet), sent_at, seq, ack, number: 0 }
}

const fn sack(packet: &Packet) -> Option<&Sack> {
    match &packet.body {
        Body::Tcp(segment) => Some(&segment.sack),
        _ => None,
    }
}
