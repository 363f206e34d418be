//! Where every packet was, for a window of time: a recorder that a world may have, and that changes nothing in it.
//!
//! ```text
//!   born -> entered a device's discipline -> left it, or died there -> ... -> delivered
//! ```
//!
//! It is told of what happens to packets, from the run's first on, because one that is under way when the window opens
//! was sent before. Packets are plain values without names: [`trips`] finds again which is meant. Who calls this, `world::followed`
//! knows; the columns are [`rows`]'s.

mod rows;
mod spots;
mod trips;

use crate::net::DeviceId;
use crate::table::Table;
use dumbbell_core::packet::{Direction, Ecn, Packet};
use dumbbell_core::queue::Queue;
use dumbbell_core::time::Time;
pub(crate) use spots::Spots;
use trips::{Trip, Trips};

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Packets that are under way at this time or later,
    pub from: Time,
    /// and at this time or earlier.
    pub to: Time,
    /// Most packets of which it is told: the first.
    pub most_rows: usize,
}

/// What came out.
#[derive(Debug)]
pub struct Told {
    /// One packet a row.
    pub packets: Table,
    /// Packets for which there was no room.
    pub left_out: u64,
}

/// A device with a discipline on a packet's way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stop {
    /// Which.
    pub device: DeviceId,
    /// How many others stand before it on this way.
    pub earlier: u32,
}

impl Stop {
    /// A packet's step when it comes there,
    const fn before(self) -> u32 {
        self.earlier * 2
    }

    /// while it stands there,
    const fn inside(self) -> u32 {
        self.before() + 1
    }

    /// and when it has left.
    const fn behind(self) -> u32 {
        self.before() + 2
    }
}

/// The recorder.
#[derive(Debug)]
pub(crate) struct Journeys {
    window: Window,
    trips: Trips,
    spots: Spots,
    /// Names of flows, then of series of probes, by their ids.
    talkers: Vec<String>,
    /// The end of what each stream (flow and direction) has sent so far.
    sent_to: Vec<u64>,
}

impl Journeys {
    /// Nobody is under way yet. `talkers`: the names of all flows and series of probes, by their ids.
    pub fn new(window: Window, talkers: Vec<String>, spots: Spots) -> Self {
        let sent_to = vec![0; talkers.len() * 2];
        Self { window, trips: Trips::default(), spots, talkers, sent_to }
    }

    /// A host sends a packet. Says whether it had sent its first byte before.
    pub fn born(&mut self, now: Time, packet: &Packet) -> bool {
        self.look_at_clock(now);
        let mut trip = Trip::new(now, packet);
        if let Some((first, end)) = trips::occupied(packet) {
            let sent_to = &mut self.sent_to[trips::stream(packet)];
            trip.retransmit = first < *sent_to;
            *sent_to = end.max(*sent_to);
        }
        let retransmit = trip.retransmit;
        if now <= self.window.to {
            self.trips.add(trip);
        }
        retransmit
    }

    /// A new packet was refused by its own host's queue: it was never sent, and comes again as new.
    pub fn refused(&mut self, packet: &Packet) {
        if let Some((first, _)) = trips::occupied(packet) {
            self.sent_to[trips::stream(packet)] = first;
        }
    }

    /// A packet was handed to a device's discipline, `queue`; what died of that follows.
    pub fn entered(&mut self, now: Time, stop: Stop, packet: &Packet, queue: &Queue) {
        self.look_at_clock(now);
        let taker = self.spots.taker(stop.device, queue);
        let Some(trip) = self.trips.find(packet, stop.before()) else { return };
        trip.step = stop.inside();
        if trip.queue.is_none() && taker.is_some() {
            (trip.queue, trip.queued) = (taker.map(|number| (number, stop.device)), Some(now));
        }
    }

    /// Netems in a device's discipline have made these copies of packets that stand there.
    pub fn copied(&mut self, now: Time, copies: &[(Packet, Stop)]) {
        self.look_at_clock(now);
        for (copy, stop) in copies {
            if let (Some(trip), true) = (self.trips.find(copy, stop.inside()), now <= self.window.to) {
                let twin = trip.clone();
                self.trips.add(twin);
            }
        }
    }

    /// A packet has left a device's discipline.
    pub fn left(&mut self, now: Time, stop: Stop, packet: &Packet) {
        self.look_at_clock(now);
        let Some(trip) = self.trips.find(packet, stop.inside()) else { return };
        trip.step = stop.behind();
        trip.marked |= packet.ecn == Ecn::Ce;
        if trip.queue.is_some_and(|(_, its)| its == stop.device) {
            trip.dequeued = Some(now);
        }
    }

    /// A packet has died in a device's discipline.
    pub fn died(&mut self, now: Time, stop: Stop, packet: &Packet, queue: &Queue) {
        self.look_at_clock(now);
        let Some(trip) = self.trips.find(packet, stop.inside()) else { return };
        let stood_in = trip.queue.filter(|&(_, its)| its == stop.device).map(|(number, _)| number);
        trip.marked |= packet.ecn == Ecn::Ce;
        trip.dropped = Some((now, self.spots.dropper(stop.device, queue, stood_in)));
        self.trips.end(packet, stop.inside());
    }

    /// All that a call into a device's discipline caused has been told.
    pub fn settled(&mut self, device: DeviceId, queue: &Queue) {
        self.spots.settled(device, queue);
    }

    /// A packet has come to the other host; so many disciplines stand on its way.
    pub fn delivered(&mut self, now: Time, disciplines: u32, packet: &Packet) {
        self.look_at_clock(now);
        let Some(trip) = self.trips.find(packet, disciplines * 2) else { return };
        trip.marked |= packet.ecn == Ecn::Ce;
        trip.received = Some(now);
        self.trips.end(packet, disciplines * 2);
    }

    /// Is it known of every packet of the window what became of it?
    pub fn is_told(&mut self, now: Time) -> bool {
        self.look_at_clock(now);
        now > self.window.to && self.trips.under_way() == 0
    }

    /// What was recorded, by the time of sending.
    pub fn told(mut self) -> Told {
        let (left_out, names) = (self.trips.left_out(), self.spots.into_names());
        let mut rows = rows::JourneyRows::of(self.talkers, names);
        for trip in self.trips.take() {
            rows.push(&trip);
        }
        Told { packets: rows.into(), left_out }
    }

    fn look_at_clock(&mut self, now: Time) {
        if !self.trips.is_open() && now >= self.window.from {
            self.trips.open(self.window.most_rows);
        }
    }
}

/// Does this packet go from the flow's receiver to its sender?
const fn is_backward(packet: &Packet) -> bool {
    matches!(packet.direction, Direction::Backward)
}
