//! From hop to hop: packets leave hosts by devices, and come to the next.

use super::{Arrival, World, end_id};
use crate::agenda::Kind;
use crate::error::Error;
use crate::net::{DeviceId, HostId};
use crate::traffic::Traffic;
use dumbbell_core::packet::{Body, Direction, FlowId, Packet, cut};
use dumbbell_core::queue::{Next, Verdict};
use dumbbell_core::time::Time;

impl World {
    /// Until nothing is left to do at this instant: packets, then senders that were held back, then programs.
    pub(super) fn settle(&mut self) -> Result<(), Error> {
        loop {
            if !self.instant.backlog.is_empty() {
                self.work_off()?;
            } else if let Some(id) = self.instant.released.pop_front() {
                let [flow, side] = super::parts(id);
                self.flush(flow, side);
            } else if let Some(id) = self.instant.writers.pop_front() {
                self.write_on(id);
            } else if let Some(flow) = self.instant.reactions.pop_front() {
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

    /// Handles what stands in the backlog; what that causes makes up the next backlog, so the order is first in,
    /// first out, and no packet moves to be looked at.
    fn work_off(&mut self) -> Result<(), Error> {
        if self.instant.backlog.len() == 1
            && let Some(Arrival { host, leaves, packet }) = self.instant.backlog.pop()
        {
            self.leave_home(leaves, &packet);
            self.arrive(host, &packet, true);
            return Ok(());
        }
        let empty = std::mem::take(&mut self.instant.spare);
        let mut batch = std::mem::replace(&mut self.instant.backlog, empty);
        let last = batch.len() - 1;
        for (number, Arrival { host, leaves, packet }) in batch.iter().enumerate() {
            self.step()?;
            self.leave_home(*leaves, packet);
            self.arrive(*host, packet, number == last);
        }
        batch.clear();
        self.instant.spare = batch;
        Ok(())
    }

    /// A host sends a packet of its own by `device`.
    #[inline]
    pub(super) fn launch(&mut self, device: DeviceId, packet: &Packet) -> Verdict {
        self.census.born(packet);
        if self.net.devices[device as usize].queue.is_some() {
            let is_old = self.journeys.is_some() && self.note_sent(packet);
            let verdict = self.enqueue(device, packet);
            if verdict == Verdict::Dropped {
                self.note_refused(packet, is_old);
            }
            return verdict;
        }
        self.set_out(device, packet, true);
        Verdict::Queued
    }

    /// A packet leaves its own host by a device without a discipline; unless it has left `at_once`, its socket hears of
    /// that later.
    #[inline]
    pub(super) fn set_out(&mut self, device: DeviceId, packet: &Packet, at_once: bool) {
        if self.journeys.is_some() {
            self.note_set_out(packet);
        }
        let Some(segments) = self.segments(packet) else {
            return self.step_out(device, packet, u16::from(!at_once));
        };
        if !at_once && let Some(endpoint) = &mut self.ends[packet.flow.0 as usize][sending_side(packet)].endpoint {
            endpoint.on_cut(packet.segments);
        }
        let last = packet.segments - 1;
        for (number, segment) in (0..).zip(segments) {
            self.step_out(device, &segment, if number == last && !at_once { packet.segments } else { 0 });
        }
    }

    fn step_out(&mut self, device: DeviceId, packet: &Packet, leaves: u16) {
        let host = self.pass(device, packet);
        self.instant.backlog.push(Arrival { host, leaves, packet: *packet });
    }

    #[inline]
    fn leave_home(&mut self, leaves: u16, packet: &Packet) {
        if leaves > 0 {
            self.departed(packet, leaves);
        }
    }

    /// What a device without offloads makes of a super-packet when it leaves its own host, behind the discipline if
    /// there is one (`validate_xmit_skb`); None when the packet leaves as it is.
    #[inline]
    pub(super) fn segments(&self, packet: &Packet) -> Option<impl Iterator<Item = Packet> + use<>> {
        let is_cut = packet.segments > 1 && self.ends[packet.flow.0 as usize][sending_side(packet)].cuts;
        if is_cut { cut(*packet) } else { None }
    }

    /// A packet has come to a host: it is delivered there or goes on. One after which nobody waits goes on directly,
    /// which is what the backlog would do with it.
    fn arrive(&mut self, mut host: HostId, packet: &Packet, is_last: bool) {
        while let Some(device) = self.net.next(host, packet) {
            if self.net.devices[device as usize].queue.is_some() {
                self.enqueue(device, packet);
                return;
            }
            host = self.pass(device, packet);
            if !is_last || !self.instant.backlog.is_empty() {
                self.instant.backlog.push(Arrival { host, leaves: 0, packet: *packet });
                return;
            }
        }
        self.deliver(packet);
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

    fn enqueue(&mut self, device: DeviceId, packet: &Packet) -> Verdict {
        let target = &mut self.net.devices[device as usize];
        let verdict = target.enqueue(packet, self.now, &mut self.instant.dropped);
        if target.duplicates {
            self.census.copied(packet.flow, target.new_copies());
            self.note_entered(device, packet);
        }
        self.bury(device, (verdict == Verdict::Dropped).then_some(packet.flow));
        self.show(device);
        self.pump(device);
        verdict
    }

    /// A discipline's time has come. A packet that leaves alone is carried to the next host in place: nobody is before it
    /// at the beginning of an event.
    pub(super) fn release(&mut self, device: DeviceId) {
        let next = self.ask(device);
        let Next::Packet(packet) = &next else { return self.rest(device, next) };
        let host = self.net.devices[device as usize].peer;
        if packet.segments == 1 && self.rests(device) {
            self.arrive(host, packet, true);
        } else {
            self.emit(host, packet);
            self.pump(device);
        }
    }

    /// Asks a discipline for packets until it has none to give now.
    #[inline]
    fn pump(&mut self, device: DeviceId) {
        while !self.rests(device) {
            let next = self.ask(device);
            let Next::Packet(packet) = next else { return self.rest(device, next) };
            let host = self.net.devices[device as usize].peer;
            self.emit(host, &packet);
        }
    }

    /// A packet that a discipline has given is on its way to `host`.
    fn emit(&mut self, host: HostId, packet: &Packet) {
        match self.segments(packet) {
            None => self.instant.backlog.push(Arrival { host, leaves: 0, packet: *packet }),
            Some(segments) => {
                let arrival = |packet| Arrival { host, leaves: 0, packet };
                self.instant.backlog.extend(segments.map(arrival));
            }
        }
    }

    /// Is it known without asking that a discipline has nothing to give now? So it is with most that have just given a
    /// packet, or taken one that joins others.
    #[inline]
    fn rests(&mut self, device: DeviceId) -> bool {
        let target = &mut self.net.devices[device as usize];
        let waits = target.queue.as_ref().and_then(|queue| queue.waits(self.now));
        let Some(at) = waits else { return false };
        target.alarm.set(at, self.now, &mut self.agenda, Kind::Device, device);
        true
    }

    /// A discipline has said that it has nothing to give, and until when.
    fn rest(&mut self, device: DeviceId, next: Next) {
        let at = if let Next::At(at) = next { at } else { Time::NEVER };
        self.net.devices[device as usize].alarm.set(at, self.now, &mut self.agenda, Kind::Device, device);
    }

    /// Asks a discipline once, and counts what leaves and what dies.
    fn ask(&mut self, device: DeviceId) -> Next {
        let target = &mut self.net.devices[device as usize];
        let queue = target.queue.as_mut().expect("only a device with a discipline is asked");
        let next = queue.dequeue(self.now, &mut self.instant.dropped);
        if target.duplicates {
            self.census.copied_somewhere(target.new_copies());
        }
        if let Next::Packet(packet) = &next {
            target.tally.left += u64::from(packet.segments);
            if target.is_observed {
                self.left(device, packet);
            }
        }
        self.bury(device, None);
        self.show(device);
        next
    }

    /// A packet leaves the device of a host that may be its own, or one that is captured, or that stamps.
    fn left(&mut self, device: DeviceId, packet: &Packet) {
        if self.journeys.is_some() {
            self.note_left(device, packet);
        }
        let target = &mut self.net.devices[device as usize];
        if let (Some(meter), Some(queue)) = (&mut target.meter, &target.queue) {
            let hop = meter.stamp(self.now, packet, queue.backlog().bytes);
            self.telemetry.stamp(packet, hop);
        }
        let target = &self.net.devices[device as usize];
        let is_departure = target.is_home && !target.orphans && self.net.source(packet) == target.host;
        if target.is_tapped {
            self.capture(packet);
        }
        if is_departure {
            self.departed(packet, 1);
        }
    }

    /// Shows the capture what leaves, in segments if the device cuts it.
    #[cold]
    fn capture(&mut self, packet: &Packet) {
        let segments = self.segments(packet);
        let Some(tap) = &mut self.tap else { return };
        match segments {
            None => tap.write(self.now, packet),
            Some(segments) => segments.for_each(|segment| tap.write(self.now, &segment)),
        }
    }

    /// Counts what died in the last call. A sender whose own packet was `refused` hears of it in another way.
    #[inline]
    fn bury(&mut self, device: DeviceId, refused: Option<FlowId>) {
        if !self.instant.dropped.is_empty() {
            self.bury_all(device, refused);
        }
    }

    #[cold]
    fn bury_all(&mut self, device: DeviceId, refused: Option<FlowId>) {
        self.note_copies(device);
        let mut dead = std::mem::take(&mut self.instant.dropped);
        for packet in dead.drain(..) {
            let target = &mut self.net.devices[device as usize];
            target.tally.dropped += u64::from(packet.segments);
            self.census.died(&packet);
            self.telemetry.lost(&packet);
            self.note_died(device, &packet);
            let target = &self.net.devices[device as usize];
            let is_felt = target.is_home && !target.orphans && refused != Some(packet.flow);
            let host = target.host;
            if is_felt && self.net.source(&packet) == host {
                self.departed(&packet, 1);
            }
        }
        self.instant.dropped = dead;
    }

    /// A packet has left its own host, or died there: its sender may go on. It is the last of so many pieces.
    fn departed(&mut self, packet: &Packet, pieces: u16) {
        let Body::Tcp(segment) = &packet.body else { return };
        if segment.len == 0 && !segment.flags.fin {
            return; // TSQ counts no bare ACKs.
        }
        let (flow, side) = (packet.flow.0 as usize, sending_side(packet));
        let Some(ends) = self.ends.get_mut(flow) else { return };
        let Some(endpoint) = &mut ends[side].endpoint else { return };
        if endpoint.on_departed(self.now, packet, pieces) {
            self.instant.released.push_back(end_id(flow, side));
        }
    }

    /// Records what the sampled disciplines of a device show, where every change is recorded.
    #[inline]
    fn show(&mut self, device: DeviceId) {
        if self.is_shown && !self.net.devices[device as usize].watched.is_empty() {
            self.show_all(device);
        }
    }

    fn show_all(&mut self, device: DeviceId) {
        if self.every_change {
            self.sampler.queues_changed(self.now, device, &self.net);
        }
        self.note_settled(device);
    }

    fn deliver(&mut self, packet: &Packet) {
        if self.journeys.is_some() {
            self.note_delivered(packet);
        }
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
        self.launch(device, &answer);
    }
}

/// Which end of its flow has sent this packet.
pub(super) const fn sending_side(packet: &Packet) -> usize {
    match packet.direction {
        Direction::Forward => super::SENDER,
        Direction::Backward => super::RECEIVER,
    }
}
