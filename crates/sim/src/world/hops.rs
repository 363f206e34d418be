//! From hop to hop: packets leave hosts by devices, and come to the next.

use super::{Arrival, World, end_id};
use crate::agenda::Kind;
use crate::error::Error;
use crate::net::{DeviceId, HostId};
use crate::traffic::Traffic;
use dumbbell_core::packet::{Body, Direction, Packet};
use dumbbell_core::queue::{Next, Verdict};
use dumbbell_core::time::Time;

impl World {
    /// Until nothing is left to do at this instant: packets, then senders that were held back, then programs.
    pub(super) fn settle(&mut self) -> Result<(), Error> {
        loop {
            while let Some(Arrival { host, packet }) = self.backlog.pop_front() {
                self.step()?;
                self.arrive(host, packet);
            }
            if let Some(id) = self.released.pop_front() {
                let [flow, side] = super::parts(id);
                self.flush(flow, side);
            } else if let Some(flow) = self.reactions.pop_front() {
                self.react(flow as usize);
            } else {
                break;
            }
            self.step()?;
        }
        if let Some(tap) = &mut self.tap {
            tap.check()?;
        }
        Ok(())
    }

    /// A host sends a packet of its own by `device`.
    pub(super) fn launch(&mut self, device: DeviceId, packet: Packet) -> Verdict {
        self.census.born(&packet);
        if self.net.devices[device as usize].queue.is_some() {
            return self.enqueue(device, packet);
        }
        let host = self.pass(device, &packet);
        self.backlog.push_back(Arrival { host, packet });
        Verdict::Queued
    }

    /// A packet has come to a host: it is delivered there or goes on. One that nothing waits for goes on directly,
    /// which is what the backlog would do with it.
    fn arrive(&mut self, mut host: HostId, packet: Packet) {
        while let Some(device) = self.net.next(host, &packet) {
            if self.net.devices[device as usize].queue.is_some() {
                self.enqueue(device, packet);
                return;
            }
            host = self.pass(device, &packet);
            if !self.backlog.is_empty() {
                self.backlog.push_back(Arrival { host, packet });
                return;
            }
        }
        self.deliver(&packet);
    }

    /// A packet leaves by a device without a discipline; says where it comes to.
    #[inline]
    fn pass(&mut self, device: DeviceId, packet: &Packet) -> HostId {
        let device = &mut self.net.devices[device as usize];
        device.tally.entered += u64::from(packet.segments);
        device.tally.left += u64::from(packet.segments);
        if let (true, Some(tap)) = (device.is_tapped, &mut self.tap) {
            tap.write(self.now, packet);
        }
        device.peer
    }

    fn enqueue(&mut self, device: DeviceId, packet: Packet) -> Verdict {
        let flow = packet.flow;
        let (verdict, copies) = self.net.devices[device as usize].enqueue(packet, self.now, &mut self.dropped);
        if copies > 0 {
            self.census.copied(flow, copies);
        }
        self.bury(device);
        self.show(device);
        self.pump(device);
        verdict
    }

    /// Asks a discipline for packets until it has none to give now.
    pub(super) fn pump(&mut self, device: DeviceId) {
        loop {
            let target = &mut self.net.devices[device as usize];
            let queue = target.queue.as_mut().expect("only a device with a discipline is asked");
            let next = queue.dequeue(self.now, &mut self.dropped);
            let again = match next {
                Next::Packet(packet) => {
                    target.tally.left += u64::from(packet.segments);
                    let host = target.peer;
                    self.left(device, &packet);
                    self.backlog.push_back(Arrival { host, packet });
                    None
                }
                Next::At(at) => Some(at),
                Next::Empty => Some(Time::NEVER),
            };
            self.bury(device);
            self.show(device);
            if let Some(at) = again {
                let alarm = &mut self.net.devices[device as usize].alarm;
                alarm.set(at, self.now, &mut self.agenda, Kind::Device, device);
                return;
            }
        }
    }

    /// A packet leaves a discipline's device.
    #[inline]
    fn left(&mut self, device: DeviceId, packet: &Packet) {
        let target = &self.net.devices[device as usize];
        let is_departure = target.is_home && !target.orphans && self.net.source(packet) == target.host;
        if let (true, Some(tap)) = (target.is_tapped, &mut self.tap) {
            tap.write(self.now, packet);
        }
        if is_departure {
            self.departed(packet);
        }
    }

    /// Counts what died in the last call.
    #[inline]
    fn bury(&mut self, device: DeviceId) {
        if !self.dropped.is_empty() {
            self.bury_all(device);
        }
    }

    #[cold]
    fn bury_all(&mut self, device: DeviceId) {
        let mut dead = std::mem::take(&mut self.dropped);
        for packet in dead.drain(..) {
            let target = &mut self.net.devices[device as usize];
            target.tally.dropped += u64::from(packet.segments);
            self.census.died(&packet);
            let (host, is_felt) = (target.host, target.is_home && !target.orphans);
            if is_felt && self.net.source(&packet) == host {
                self.departed(&packet);
            }
        }
        self.dropped = dead;
    }

    /// A packet has left its own host, or died there: its sender may go on.
    fn departed(&mut self, packet: &Packet) {
        let (flow, side) = (packet.flow.0 as usize, sending_side(packet));
        let Some(ends) = self.ends.get_mut(flow) else { return }; // A probe's.
        let Some(endpoint) = &mut ends[side].endpoint else { return };
        endpoint.on_departed(self.now, packet);
        let id = end_id(flow, side);
        if self.released.back() != Some(&id) {
            self.released.push_back(id);
        }
    }

    /// Records what the sampled disciplines of a device show, where every change is recorded.
    #[inline]
    fn show(&mut self, device: DeviceId) {
        if self.every_change && !self.net.devices[device as usize].watched.is_empty() {
            self.sampler.queues_changed(self.now, device, &self.net);
        }
    }

    fn deliver(&mut self, packet: &Packet) {
        self.census.arrived(packet);
        let flow = packet.flow.0 as usize;
        match packet.body {
            Body::Tcp(_) => self.deliver_segment(packet),
            Body::Udp { payload, .. } => {
                if let Traffic::Udp(udp) = &mut self.flows[flow].traffic {
                    udp.receive(payload);
                }
            }
            Body::Probe { seq, .. } => self.deliver_probe(flow - self.flows.len(), seq, packet),
        }
    }

    fn deliver_probe(&mut self, number: usize, seq: u64, packet: &Packet) {
        let series = &mut self.probes[number];
        if packet.direction == Direction::Backward {
            series.answered(seq, self.now);
            return;
        }
        let answer = series.turn(packet, self.now);
        let device = self.net.first_device(answer.flow, Direction::Backward);
        self.launch(device, answer);
    }
}

/// Which end of its flow has sent this packet.
pub(super) const fn sending_side(packet: &Packet) -> usize {
    match packet.direction {
        Direction::Forward => super::SENDER,
        Direction::Backward => super::RECEIVER,
    }
}
