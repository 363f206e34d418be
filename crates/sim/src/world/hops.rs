//! Forwarding: packets leave hosts through devices and arrive at the next host.

use super::{Arrival, World, end_id};
use crate::error::Error;
use crate::net::{DeviceId, HostId};
use crate::traffic::Traffic;
use dumbbell_net::packet::{Body, Damage, Direction, FlowId, Packet, cut};
use dumbbell_net::queue::{Next, Verdict};
use dumbbell_net::time::Time;

impl World {
    /// Completes all work at this time: packets, then resumed senders, then applications.
    ///
    /// An interrupt that has woken a reader ends before the resumed senders (`need_resched` in `__do_softirq`): they run
    /// when the program has locked its socket.
    pub(super) fn settle(&mut self) -> Result<(), Error> {
        loop {
            if !self.instant.backlog.is_empty() {
                self.process_backlog()?;
            } else if let Some(id) = self.instant.writing.take() {
                self.unlock(id);
            } else if !self.instant.in_process && !self.instant.readers.is_empty() {
                if self.must_wait_for_program() {
                    break;
                }
            } else if let Some(id) = self.instant.released.pop_front() {
                let [flow, side] = super::parts(id);
                self.resume(flow, side);
            } else if let Some(flow) = self.instant.askers.pop_front() {
                self.wake(flow as usize);
            } else if let Some(id) = self.instant.locked.take().or_else(|| self.instant.readers.pop_front()) {
                self.read(id);
            } else if let Some(id) = self.instant.writers.pop_front() {
                self.write_on(id)?;
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

    /// Processes the backlog. New packets form the next backlog, which keeps FIFO order without moving packets.
    pub(super) fn process_backlog(&mut self) -> Result<(), Error> {
        if self.instant.backlog.len() == 1
            && let Some(Arrival { host, leaves, packet }) = self.instant.backlog.pop()
        {
            self.notify_departure(leaves, &packet);
            self.receive_packet(host, &packet, true);
            return Ok(());
        }
        let empty = std::mem::take(&mut self.instant.spare);
        let mut batch = std::mem::replace(&mut self.instant.backlog, empty);
        let last = batch.len() - 1;
        for (number, Arrival { host, leaves, packet }) in batch.iter().enumerate() {
            self.step()?;
            self.notify_departure(*leaves, packet);
            self.receive_packet(*host, packet, number == last);
        }
        batch.clear();
        self.instant.spare = batch;
        Ok(())
    }

    /// A host sends its own packet through `device`.
    #[inline]
    pub(super) fn send_packet(&mut self, device: DeviceId, packet: &Packet) -> Verdict {
        self.packet_accounting.add_sent(packet);
        if self.net.devices[device as usize].queue.is_some() {
            let is_old = self.packet_trace.is_some() && self.note_sent(packet);
            let verdict = self.enqueue(device, packet);
            if verdict == Verdict::Dropped {
                self.note_refused(packet, is_old);
            }
            return verdict;
        }
        self.start_transmission(device, packet, true);
        Verdict::Queued
    }

    /// A packet leaves its own host through a device without a queue. Unless it left `at_once`, its socket is notified
    /// later.
    #[inline]
    pub(super) fn start_transmission(&mut self, device: DeviceId, packet: &Packet, at_once: bool) {
        if self.packet_trace.is_some() {
            self.note_transmitted(packet);
        }
        let Some(segments) = self.segments(packet) else {
            return self.transmit(device, packet, u16::from(!at_once));
        };
        if !at_once && let Some(endpoint) = &mut self.ends[packet.flow.0 as usize][sending_side(packet)].endpoint {
            endpoint.on_cut(packet.segments);
        }
        let last = packet.segments - 1;
        for (number, segment) in (0..).zip(segments) {
            self.transmit(device, &segment, if number == last && !at_once { packet.segments } else { 0 });
        }
    }

    fn transmit(&mut self, device: DeviceId, packet: &Packet, leaves: u16) {
        let host = self.forward(device, packet);
        self.instant.backlog.push(Arrival { host, leaves, packet: *packet });
    }

    #[inline]
    fn notify_departure(&mut self, leaves: u16, packet: &Packet) {
        if leaves > 0 {
            self.departed(packet, leaves);
        }
    }

    /// Segments of a super-packet that leaves its own host through a device without offloads, after the queue if any
    /// (`validate_xmit_skb`); None if the packet is not split.
    #[inline]
    pub(super) fn segments(&self, packet: &Packet) -> Option<impl Iterator<Item = Packet> + use<>> {
        let is_cut = packet.segments > 1 && self.ends[packet.flow.0 as usize][sending_side(packet)].cuts;
        if is_cut { cut(*packet) } else { None }
    }

    /// A packet arrives at a host: delivers or forwards it. The last packet of the backlog is forwarded directly, with
    /// the same result.
    fn receive_packet(&mut self, mut host: HostId, packet: &Packet, is_last: bool) {
        if packet.damage == Damage::Network {
            return self.drop_damaged(host, packet);
        }
        while let Some(device) = self.net.next(host, packet) {
            if self.net.devices[device as usize].queue.is_some() {
                self.enqueue(device, packet);
                return;
            }
            host = self.forward(device, packet);
            if !is_last || !self.instant.backlog.is_empty() {
                self.instant.backlog.push(Arrival { host, leaves: 0, packet: *packet });
                return;
            }
        }
        self.deliver(packet);
    }

    /// A packet leaves through a device without a queue; returns the next host.
    #[inline]
    fn forward(&mut self, device: DeviceId, packet: &Packet) -> HostId {
        let device = &mut self.net.devices[device as usize];
        device.counters.entered += u64::from(packet.segments);
        device.counters.left += u64::from(packet.segments);
        if let (true, Some(tap)) = (device.is_tapped, &mut self.tap) {
            tap.write(self.now, packet);
        }
        device.peer
    }

    fn enqueue(&mut self, device: DeviceId, packet: &Packet) -> Verdict {
        let target = &mut self.net.devices[device as usize];
        let verdict = target.enqueue(packet, self.now, &mut self.instant.dropped);
        if packet.segments > 1 && verdict != Verdict::Dropped {
            self.note_split(device, packet);
        }
        let target = &mut self.net.devices[device as usize];
        if target.duplicates {
            self.packet_accounting.copied(packet.flow, target.new_copies());
            self.note_entered(device, packet);
        }
        self.count_drops(device, (verdict == Verdict::Dropped).then_some(packet.flow));
        self.sample_queues(device);
        self.dequeue_all(device);
        verdict
    }

    /// If a qdisc of its own host split the packet, each of its pieces counts until it departs (`tcp_gso_segment`).
    fn note_split(&mut self, device: DeviceId, packet: &Packet) {
        let target = &self.net.devices[device as usize];
        let pieces = target.queue.as_ref().map_or(1, |queue| queue.last_pieces());
        if pieces > 1
            && !target.orphans
            && self.net.source(packet) == target.host
            && let Some(endpoint) = &mut self.ends[packet.flow.0 as usize][sending_side(packet)].endpoint
        {
            endpoint.on_split(pieces);
        }
    }

    /// The timer of a queue fired. A packet that leaves alone is forwarded in place, if nothing else happens at this
    /// time.
    pub(super) fn release(&mut self, device: DeviceId) {
        let next = self.dequeue(device);
        let Next::Packet(packet) = &next else { return self.set_timer(device, next) };
        let host = self.net.devices[device as usize].peer;
        let is_alone = self.instant.backlog.is_empty() && self.event_queue.is_quiet_until(self.now);
        if packet.segments == 1 && is_alone && self.is_waiting(device) {
            self.receive_packet(host, packet, true);
        } else {
            self.push_arrivals(host, packet);
            self.dequeue_all(device);
        }
    }

    /// Dequeues packets until none is left to send now.
    #[inline]
    fn dequeue_all(&mut self, device: DeviceId) {
        while !self.is_waiting(device) {
            let next = self.dequeue(device);
            let Next::Packet(packet) = next else { return self.set_timer(device, next) };
            let host = self.net.devices[device as usize].peer;
            self.push_arrivals(host, &packet);
        }
    }

    /// A dequeued packet is sent to `host`.
    fn push_arrivals(&mut self, host: HostId, packet: &Packet) {
        match self.segments(packet) {
            None => self.instant.backlog.push(Arrival { host, leaves: 0, packet: *packet }),
            Some(segments) => {
                let arrival = |packet| Arrival { host, leaves: 0, packet };
                self.instant.backlog.extend(segments.map(arrival));
            }
        }
    }

    /// Whether the queue is known to have no packet to send now. Usually true just after a departure, or after an
    /// arrival at a non-empty queue.
    #[inline]
    fn is_waiting(&mut self, device: DeviceId) -> bool {
        let target = &mut self.net.devices[device as usize];
        let next_departure = target.queue.as_ref().and_then(|queue| queue.next_departure(self.now));
        let Some(at) = next_departure else { return false };
        target.set_timer(at, self.now, &mut self.event_queue, device);
        true
    }

    /// The queue has no packet to send now: sets its timer.
    fn set_timer(&mut self, device: DeviceId, next: Next) {
        let at = if let Next::At(at) = next { at } else { Time::NEVER };
        self.net.devices[device as usize].set_timer(at, self.now, &mut self.event_queue, device);
    }

    /// Dequeues once; counts departures and drops.
    fn dequeue(&mut self, device: DeviceId) -> Next {
        let target = &mut self.net.devices[device as usize];
        let queue = target.queue.as_mut().expect("only a device with a queue is dequeued");
        let next = queue.dequeue(self.now, &mut self.instant.dropped);
        if target.duplicates {
            self.packet_accounting.copied_somewhere(target.new_copies());
        }
        if let Next::Packet(packet) = &next {
            target.counters.left += u64::from(packet.segments);
            if target.is_observed {
                self.left(device, packet);
            }
        }
        self.count_drops(device, None);
        self.sample_queues(device);
        next
    }

    /// A packet leaves an observed device: its own host's, a captured or a stamping one.
    fn left(&mut self, device: DeviceId, packet: &Packet) {
        if self.packet_trace.is_some() {
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

    /// Passes the packet to the capture, as segments if the device splits it.
    #[cold]
    fn capture(&mut self, packet: &Packet) {
        let segments = self.segments(packet);
        let Some(tap) = &mut self.tap else { return };
        match segments {
            None => tap.write(self.now, packet),
            Some(segments) => segments.for_each(|segment| tap.write(self.now, &segment)),
        }
    }

    /// Counts drops of the last call. The sender of a `refused` packet is notified elsewhere.
    #[inline]
    fn count_drops(&mut self, device: DeviceId, refused: Option<FlowId>) {
        if !self.instant.dropped.is_empty() {
            self.count_all_drops(device, refused);
        }
    }

    #[cold]
    fn count_all_drops(&mut self, device: DeviceId, refused: Option<FlowId>) {
        self.note_copies(device);
        let mut dead = std::mem::take(&mut self.instant.dropped);
        for packet in dead.drain(..) {
            let target = &mut self.net.devices[device as usize];
            target.counters.dropped += u64::from(packet.segments);
            self.packet_accounting.add_dropped(&packet);
            self.telemetry.lost(&packet);
            self.note_dropped(device, &packet);
            let target = &self.net.devices[device as usize];
            let is_felt = target.is_home && !target.orphans && refused != Some(packet.flow);
            let host = target.host;
            if is_felt && self.net.source(&packet) == host {
                self.departed(&packet, 1);
            }
        }
        self.instant.dropped = dead;
    }

    /// A packet left its own host or was dropped there: its sender may resume. It is the last of this many segments.
    fn departed(&mut self, packet: &Packet, pieces: u16) {
        if matches!(packet.body, Body::Udp { .. }) {
            return self.change_datagrams(packet.flow.0 as usize, |udp| udp.departed(packet));
        }
        let Body::Tcp(segment) = &packet.body else { return };
        if segment.len == 0 && !segment.flags.fin {
            return; // TSQ does not count pure ACKs.
        }
        let (flow, side) = (packet.flow.0 as usize, sending_side(packet));
        let Some(ends) = self.ends.get_mut(flow) else { return };
        let Some(endpoint) = &mut ends[side].endpoint else { return };
        if endpoint.on_departed(packet, pieces) {
            self.instant.released.push_back(end_id(flow, side));
        }
    }

    /// Records the sampled qdiscs of a device, if every change is recorded.
    #[inline]
    fn sample_queues(&mut self, device: DeviceId) {
        if self.samples_changes && !self.net.devices[device as usize].watched.is_empty() {
            self.sample_all_queues(device);
        }
    }

    fn sample_all_queues(&mut self, device: DeviceId) {
        if self.every_change {
            self.sampler.queues_changed(self.now, device, &self.net);
        }
        self.note_settled(device);
    }

    /// A host drops a packet whose checksum is wrong.
    #[cold]
    fn drop_damaged(&mut self, host: HostId, packet: &Packet) {
        self.packet_accounting.add_dropped(packet);
        self.telemetry.lost(packet);
        self.note_damaged(host, packet);
    }

    fn deliver(&mut self, packet: &Packet) {
        if packet.damage == Damage::Transport && packet.fragment().is_none() {
            return self.drop_damaged(self.net.target(packet), packet);
        }
        if self.packet_trace.is_some() {
            self.note_delivered(packet);
        }
        self.packet_accounting.arrived(packet);
        let flow = packet.flow.0 as usize;
        match packet.body {
            Body::Tcp(_) => self.deliver_segment(packet),
            Body::Udp { seq, sent_at, payload, .. } => {
                let host = self.net.target(packet);
                if self.reassembly[host as usize].add(self.now, packet)
                    && let Traffic::Udp(udp) = &mut self.flows[flow].traffic
                {
                    udp.receive(self.now, (sent_at, seq), payload);
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
        let answer = series.reply(packet, self.now);
        let device = self.net.first_device(answer.flow, Direction::Backward);
        self.send_packet(device, &answer);
    }
}

/// The end of its flow that sent this packet.
pub(super) const fn sending_side(packet: &Packet) -> usize {
    match packet.direction {
        Direction::Forward => super::SENDER,
        Direction::Backward => super::RECEIVER,
    }
}
