//! Packets under way, and how each is found again.
//!
//! Packets are copied at every hop and have no names. What a packet says of itself, and how far it has come, tell it from
//! all others, but for copies that netem made: of those any is as good as the other. A super-packet that
//! is cut on its way becomes as many trips as it has segments when the first of them is seen.

use super::is_backward;
use crate::net::DeviceId;
use dumbbell_core::packet::{Body, Packet, Sack, cut};
use dumbbell_core::time::Time;
use std::collections::BTreeMap;

/// One packet's way.
#[derive(Clone, Debug)]
pub struct Trip {
    /// As it was sent.
    pub packet: Packet,
    /// When that was.
    pub sent: Time,
    /// Had its stream sent its first byte before?
    pub retransmit: bool,
    /// Has a queue marked it?
    pub marked: bool,
    /// The first queue under test that it came to, and its device.
    pub queue: Option<(u32, DeviceId)>,
    /// When it came there.
    pub queued: Option<Time>,
    /// When it left there.
    pub dequeued: Option<Time>,
    /// When it came to the other host.
    pub received: Option<Time>,
    /// When it died, and the number of the name of where.
    pub dropped: Option<(Time, u32)>,
    /// How often it has come to a discipline or left one: odd while it stands in one.
    pub step: u32,
}

impl Trip {
    /// It is sent now.
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

/// What tells packets apart; of equal ones, the order of birth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    stream: usize,
    sent_at: Time,
    seq: u64,
    ack: u64,
    birth: u64,
}

/// All trips that may have to be told of.
#[derive(Debug, Default)]
pub struct Trips {
    all: Vec<(u64, Trip)>,
    /// Places in `all` that are free.
    free: Vec<usize>,
    /// Those under way.
    live: BTreeMap<Key, usize>,
    births: u64,
    /// Is every trip kept? Before the window opens only those under way are.
    is_open: bool,
    /// For how many more there is room; None once somebody found none.
    room: Option<usize>,
    left_out: u64,
}

impl Trips {
    /// A packet is under way.
    pub fn add(&mut self, trip: Trip) {
        if !self.is_open() || self.has_room(&trip.packet) {
            self.put(trip);
        }
    }

    /// The trip of a packet that is so far.
    pub fn find(&mut self, packet: &Packet, step: u32) -> Option<&mut Trip> {
        let key = self.locate(packet, step).or_else(|| {
            self.part(packet, step)?;
            self.locate(packet, step)
        })?;
        let place = self.live[&key];
        Some(&mut self.all[place].1)
    }

    /// The trip of this packet has ended; before the window it is forgotten.
    pub fn end(&mut self, packet: &Packet, step: u32) {
        let Some(key) = self.locate(packet, step) else { return };
        let place = self.live.remove(&key).expect("it was found there");
        if !self.is_open {
            self.free.push(place);
        }
    }

    /// From now on trips are kept, so many at most.
    pub fn open(&mut self, most: usize) {
        let mut live: Vec<_> = self.live.keys().copied().collect();
        live.sort_unstable_by_key(|key| key.birth);
        (self.is_open, self.room) = (true, Some(most));
        for key in live {
            let packet = self.all[self.live[&key]].1.packet;
            if !self.has_room(&packet) {
                self.free.extend(self.live.remove(&key));
            }
        }
    }

    /// Has the window opened?
    pub const fn is_open(&self) -> bool {
        self.is_open
    }

    /// How many are under way.
    pub fn under_way(&self) -> usize {
        self.live.len()
    }

    /// How many were not kept.
    pub const fn left_out(&self) -> u64 {
        self.left_out
    }

    /// All that were kept, in order of sending.
    pub fn take(&mut self) -> impl Iterator<Item = Trip> {
        let mut is_free = vec![!self.is_open; self.all.len()];
        for &place in &self.free {
            is_free[place] = true;
        }
        let all = std::mem::take(&mut self.all).into_iter().zip(is_free);
        let mut kept: Vec<_> = all.filter(|(_, is_free)| !is_free).map(|(trip, _)| trip).collect();
        kept.sort_by_key(|(birth, trip)| (trip.sent, *birth));
        kept.into_iter().map(|(_, trip)| trip)
    }

    /// A super-packet takes the room of all its segments. Once there was none, nobody gets any: the first are kept.
    fn has_room(&mut self, packet: &Packet) -> bool {
        let (segments, room) = (usize::from(packet.segments), self.room);
        self.room = if self.left_out > 0 { None } else { room.and_then(|room| room.checked_sub(segments)) };
        self.left_out += if self.room.is_none() { segments as u64 } else { 0 };
        self.room.is_some()
    }

    fn put(&mut self, trip: Trip) {
        self.births += 1;
        let key = Key { birth: self.births, ..key(&trip.packet) };
        let place = self.free.pop().unwrap_or(self.all.len());
        if place == self.all.len() {
            self.all.push((self.births, trip));
        } else {
            self.all[place] = (self.births, trip);
        }
        self.live.insert(key, place);
    }

    fn locate(&self, packet: &Packet, step: u32) -> Option<Key> {
        let first = key(packet);
        let alike = self.live.range(first..=Key { birth: u64::MAX, ..first });
        let is_it =
            |trip: &Trip| trip.step == step && trip.packet.bytes == packet.bytes && sack(&trip.packet) == sack(packet);
        alike.into_iter().find(|(_, place)| is_it(&self.all[**place].1)).map(|(key, _)| *key)
    }

    /// Parts the super-packet that this packet is a segment of.
    fn part(&mut self, packet: &Packet, step: u32) -> Option<()> {
        let Body::Tcp(segment) = &packet.body else { return None };
        let last = Key { birth: u64::MAX, ..key(packet) };
        let holds = |trip: &Trip| match &trip.packet.body {
            Body::Tcp(whole) => {
                trip.step == step && trip.packet.segments > packet.segments && segment.end() <= whole.end()
            }
            _ => false,
        };
        let earlier = self.live.range(Key { seq: 0, ack: 0, birth: 0, ..last }..=last).rev();
        let key = earlier.into_iter().find(|(_, place)| holds(&self.all[**place].1)).map(|(key, _)| *key)?;
        let place = self.live.remove(&key)?;
        let whole = self.all[place].1.clone();
        self.free.push(place);
        for segment in cut(whole.packet)? {
            self.put(Trip { packet: segment, ..whole.clone() });
        }
        Some(())
    }
}

/// Number of a flow's direction.
pub const fn stream(packet: &Packet) -> usize {
    packet.flow.0 as usize * 2 + is_backward(packet) as usize
}

/// The sequence numbers that a segment takes, from the first to the one behind the last; None when it takes none.
pub fn occupied(packet: &Packet) -> Option<(u64, u64)> {
    match &packet.body {
        Body::Tcp(segment) if segment.end() > segment.seq && !packet.is_reset() => Some((segment.seq, segment.end())),
        _ => None,
    }
}

fn key(packet: &Packet) -> Key {
    let (sent_at, seq, ack) = match &packet.body {
        Body::Tcp(segment) => (segment.sent_at, segment.seq, segment.ack),
        Body::Udp { sent_at, seq, .. } | Body::Probe { sent_at, seq, .. } => (*sent_at, *seq, 0),
    };
    Key { stream: stream(packet), sent_at, seq, ack, birth: 0 }
}

const fn sack(packet: &Packet) -> Option<&Sack> {
    match &packet.body {
        Body::Tcp(segment) => Some(&segment.sack),
        _ => None,
    }
}
