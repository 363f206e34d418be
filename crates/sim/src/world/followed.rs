//! Tells the recorder of journeys what happens to packets, where a run has one.
//!
//! What it makes of that is `journeys`' affair. Nothing here changes the world.

use super::{MOST_EVENTS, World};
use crate::error::Error;
use crate::journeys::{Journeys, Spots, Stop, Window};
use crate::net::{DeviceId, Net};
use crate::plan::Plan;
use crate::report::Progress;
use dumbbell_core::packet::Packet;
use dumbbell_core::queue::Queue;
use dumbbell_core::time::Time;

impl World {
    /// Where packets are in this window of time is recorded from now on; [`crate::Outcome::journeys`] has it. `plan` is
    /// the one that this world was made of.
    ///
    /// # Panics
    ///
    /// When the world has moved already.
    pub fn record(&mut self, plan: &Plan, window: Window) {
        assert_eq!(self.events, 0, "packets that are under way were not seen");
        let mut talkers: Vec<_> = self.flows.iter().map(|flow| flow.report.name.clone()).collect();
        talkers.resize(talkers.len() + self.probes.len(), String::new());
        for (name, place) in &self.probe_names {
            talkers[self.flows.len() + place].clone_from(name);
        }
        for device in &mut self.net.devices {
            device.is_observed |= device.queue.is_some();
            device.duplicates |= device.queue.is_some();
            device.queue.iter_mut().for_each(|queue| queue.keep_copies());
        }
        self.journeys = Some(Box::new(Journeys::new(window, talkers, self.spots(plan))));
        self.is_shown = true;
    }

    /// As [`World::run_on`], but only until it is known what became of every packet that is recorded.
    ///
    /// # Errors
    ///
    /// As [`World::run`]'s.
    pub fn run_recorded(&mut self, until: Time) -> Result<Progress, Error> {
        let mut is_reached = true;
        let last = self.events + MOST_EVENTS;
        while self.ended.is_none() && !self.is_told() {
            let Some(due) = self.agenda.take_by(until) else { break };
            self.advance(due.at)?;
            self.act(due)?;
            self.settle()?;
            if self.events >= last {
                is_reached = false;
                break;
            }
        }
        Ok(Progress { is_reached, is_over: self.ended.is_some() || self.is_told(), ..self.progress() })
    }

    fn is_told(&mut self) -> bool {
        self.journeys.as_mut().is_none_or(|journeys| journeys.is_told(self.now))
    }

    fn spots(&self, plan: &Plan) -> Spots {
        let name = |host: u32| self.net.hosts[host as usize].as_str();
        let devices = self.net.devices.iter().map(|device| format!("{}-{}", name(device.host), name(device.peer)));
        let mut spots = Spots::new(self.sampler.queue_names(), devices);
        for ((number, watched), queue) in (0..).zip(self.sampler.watched()).zip(&plan.queues) {
            let look = self.queue_of(watched.device).look(&watched.place);
            spots.add(number, watched.device, watched.place.clone(), queue.under_test, look);
        }
        spots
    }

    fn queue_of(&self, device: DeviceId) -> &Queue {
        self.net.devices[device as usize].queue.as_ref().expect("only disciplines are followed")
    }

    /// A host sends a packet. Says whether it had sent its first byte before.
    #[cold]
    #[inline(never)]
    pub(super) fn note_sent(&mut self, packet: &Packet) -> bool {
        self.journeys.as_mut().is_some_and(|journeys| journeys.born(self.now, packet))
    }

    /// A host sends a packet by a device without a discipline.
    #[cold]
    #[inline(never)]
    pub(super) fn note_set_out(&mut self, packet: &Packet) {
        match self.segments(packet) {
            None => _ = self.note_sent(packet),
            Some(segments) => segments.for_each(|segment| _ = self.note_sent(&segment)),
        }
    }

    /// A host's own discipline has refused a packet; if that `is_old`, it counts as sent all the same.
    #[cold]
    #[inline(never)]
    pub(super) fn note_refused(&mut self, packet: &Packet, is_old: bool) {
        if let (Some(journeys), false) = (&mut self.journeys, is_old) {
            journeys.refused(packet);
        }
    }

    /// Called where packets may be copied, which [`World::record`] says of all disciplines.
    #[cold]
    #[inline(never)]
    pub(super) fn note_entered(&mut self, device: DeviceId, packet: &Packet) {
        let (Some(journeys), Some(queue)) = (&mut self.journeys, &self.net.devices[device as usize].queue) else {
            return;
        };
        journeys.entered(self.now, stop(&self.net, device, packet), packet, queue);
        self.note_copies(device);
    }

    /// Copies come before whatever the call that made them let go.
    #[cold]
    #[inline(never)]
    pub(super) fn note_copies(&mut self, device: DeviceId) {
        let (Some(journeys), Some(queue)) = (&mut self.journeys, &mut self.net.devices[device as usize].queue) else {
            return;
        };
        let copies = queue.take_copies();
        if !copies.is_empty() {
            let placed = |packet| (packet, stop(&self.net, device, &packet));
            journeys.copied(self.now, &copies.into_iter().map(placed).collect::<Vec<_>>());
        }
    }

    #[cold]
    #[inline(never)]
    pub(super) fn note_left(&mut self, device: DeviceId, packet: &Packet) {
        self.note_copies(device);
        let Some(journeys) = &mut self.journeys else { return };
        journeys.left(self.now, stop(&self.net, device, packet), packet);
    }

    #[cold]
    #[inline(never)]
    pub(super) fn note_died(&mut self, device: DeviceId, packet: &Packet) {
        let (Some(journeys), Some(queue)) = (&mut self.journeys, &self.net.devices[device as usize].queue) else {
            return;
        };
        journeys.died(self.now, stop(&self.net, device, packet), packet, queue);
    }

    #[cold]
    #[inline(never)]
    pub(super) fn note_settled(&mut self, device: DeviceId) {
        self.note_copies(device);
        let (Some(journeys), Some(queue)) = (&mut self.journeys, &self.net.devices[device as usize].queue) else {
            return;
        };
        journeys.settled(device, queue);
    }

    #[cold]
    #[inline(never)]
    pub(super) fn note_delivered(&mut self, packet: &Packet) {
        let Some(journeys) = &mut self.journeys else { return };
        journeys.delivered(self.now, self.net.disciplines(packet, None), packet);
    }
}

fn stop(net: &Net, device: DeviceId, packet: &Packet) -> Stop {
    Stop { device, earlier: net.disciplines(packet, Some(device)) }
}
