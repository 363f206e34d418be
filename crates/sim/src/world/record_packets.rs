//! Reports packet events to the packet recorder, if a run has one.
//!
//! [`crate::packet_trace`] evaluates them. Nothing here changes the world.

use super::{MAX_EVENTS, World};
use crate::error::Error;
use crate::net::{DeviceId, HostId, Net};
use crate::packet_trace::{Hop, Locations, PacketTrace, Window};
use crate::plan::Plan;
use crate::report::Progress;
use dumbbell_net::packet::Packet;
use dumbbell_net::queue::Queue;
use dumbbell_net::time::Time;

impl World {
    /// Records packets in this time window from now on; [`crate::RunResult::packet_trace`] holds them. `plan` is the
    /// plan of this world.
    ///
    /// # Panics
    ///
    /// If the world has processed events already.
    pub fn record(&mut self, plan: &Plan, window: Window) {
        assert_eq!(self.events, 0, "recording must start before the first event");
        let mut senders: Vec<_> = self.flows.iter().map(|flow| flow.report.name.clone()).collect();
        senders.resize(senders.len() + self.probes.len(), String::new());
        for (name, index) in &self.probe_names {
            senders[self.flows.len() + index].clone_from(name);
        }
        for device in &mut self.net.devices {
            device.is_observed |= device.queue.is_some();
            device.duplicates |= device.queue.is_some();
            device.queue.iter_mut().for_each(|queue| queue.keep_copies());
        }
        self.packet_trace = Some(Box::new(PacketTrace::new(window, senders, self.locations(plan))));
        self.samples_changes = true;
    }

    /// As [`World::run_on`], but only until the outcome of every recorded packet is known.
    ///
    /// # Errors
    ///
    /// As [`World::run`].
    pub fn run_recorded(&mut self, until: Time) -> Result<Progress, Error> {
        let mut is_reached = true;
        let last = self.events + MAX_EVENTS;
        while self.ended.is_none() && !self.is_complete() {
            let Some(event) = self.event_queue.take_by(until) else { break };
            self.process(event)?;
            if self.events >= last {
                is_reached = false;
                break;
            }
        }
        Ok(Progress { is_reached, is_over: self.ended.is_some() || self.is_complete(), ..self.progress() })
    }

    fn is_complete(&mut self) -> bool {
        self.packet_trace.as_mut().is_none_or(|packet_trace| packet_trace.is_complete(self.now))
    }

    fn locations(&self, plan: &Plan) -> Locations {
        let name = |host: u32| self.net.hosts[host as usize].as_str();
        let devices = self.net.devices.iter().map(|device| format!("{}-{}", name(device.host), name(device.peer)));
        let mut locations = Locations::new(self.sampler.queue_names(), devices);
        for ((number, watched), queue) in (0..).zip(self.sampler.watched()).zip(&plan.queues) {
            let snapshot = self.queue_of(watched.device).snapshot(&watched.path);
            locations.add(number, watched.device, watched.path.clone(), queue.under_test, snapshot);
        }
        locations
    }

    fn queue_of(&self, device: DeviceId) -> &Queue {
        self.net.devices[device as usize].queue.as_ref().expect("only devices with a queue are traced")
    }

    /// A host sends a packet. Returns whether its first byte was sent before.
    #[cold]
    #[inline(never)]
    pub(super) fn note_sent(&mut self, packet: &Packet) -> bool {
        self.packet_trace.as_mut().is_some_and(|packet_trace| packet_trace.sent(self.now, packet))
    }

    /// A host sends a packet through a device without a queue.
    #[cold]
    #[inline(never)]
    pub(super) fn note_transmitted(&mut self, packet: &Packet) {
        match self.segments(packet) {
            None => _ = self.note_sent(packet),
            Some(segments) => segments.for_each(|segment| _ = self.note_sent(&segment)),
        }
    }

    /// A host's own queue refused a packet; if it `is_old`, it still counts as sent.
    #[cold]
    #[inline(never)]
    pub(super) fn note_refused(&mut self, packet: &Packet, is_old: bool) {
        if let (Some(packet_trace), false) = (&mut self.packet_trace, is_old) {
            packet_trace.refused(packet);
        }
    }

    /// Called where packets may be duplicated, which [`World::record`] enables for all queues.
    #[cold]
    #[inline(never)]
    pub(super) fn note_entered(&mut self, device: DeviceId, packet: &Packet) {
        let (Some(packet_trace), Some(queue)) = (&mut self.packet_trace, &self.net.devices[device as usize].queue)
        else {
            return;
        };
        packet_trace.entered(self.now, stop(&self.net, device, packet), packet, queue);
        self.note_copies(device);
    }

    /// Copies precede all departures of the call that made them.
    #[cold]
    #[inline(never)]
    pub(super) fn note_copies(&mut self, device: DeviceId) {
        let (Some(packet_trace), Some(queue)) = (&mut self.packet_trace, &mut self.net.devices[device as usize].queue)
        else {
            return;
        };
        let copies = queue.take_copies();
        if !copies.is_empty() {
            let placed = |packet| (packet, stop(&self.net, device, &packet));
            packet_trace.copied(self.now, &copies.into_iter().map(placed).collect::<Vec<_>>());
        }
    }

    #[cold]
    #[inline(never)]
    pub(super) fn note_left(&mut self, device: DeviceId, packet: &Packet) {
        self.note_copies(device);
        let Some(packet_trace) = &mut self.packet_trace else { return };
        packet_trace.left(self.now, stop(&self.net, device, packet), packet);
    }

    #[cold]
    #[inline(never)]
    pub(super) fn note_dropped(&mut self, device: DeviceId, packet: &Packet) {
        let (Some(packet_trace), Some(queue)) = (&mut self.packet_trace, &self.net.devices[device as usize].queue)
        else {
            return;
        };
        packet_trace.dropped(self.now, stop(&self.net, device, packet), packet, queue);
    }

    /// A host dropped a packet.
    pub(super) fn note_damaged(&mut self, host: HostId, packet: &Packet) {
        let Some(packet_trace) = &mut self.packet_trace else { return };
        let earlier = self.net.queues_before(packet, self.net.next(host, packet));
        let device = self.net.arrived_by(host, packet);
        packet_trace.damaged(self.now, Hop { device, earlier }, packet);
    }

    #[cold]
    #[inline(never)]
    pub(super) fn note_settled(&mut self, device: DeviceId) {
        self.note_copies(device);
        let (Some(packet_trace), Some(queue)) = (&mut self.packet_trace, &self.net.devices[device as usize].queue)
        else {
            return;
        };
        packet_trace.settled(device, queue);
    }

    #[cold]
    #[inline(never)]
    pub(super) fn note_delivered(&mut self, packet: &Packet) {
        let Some(packet_trace) = &mut self.packet_trace else { return };
        packet_trace.delivered(self.now, self.net.queues_before(packet, None), packet);
    }
}

fn stop(net: &Net, device: DeviceId, packet: &Packet) -> Hop {
    Hop { device, earlier: net.queues_before(packet, Some(device)) }
}
