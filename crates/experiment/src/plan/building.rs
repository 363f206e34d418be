//! A plan under construction.

use super::attachments::Attachments;
use super::crossings::Crossings;
use super::error::Error;
use super::later;
use super::layout::Layout;
use super::rtt::shortest_base_rtt_ns;
use super::shaping::{self, Netem, Requested, Sizes, queue};
use crate::model::{Change, Experiment, Impairment, Qdisc};
use dumbbell_plan::{Device, Queue, Step};
use std::collections::BTreeMap;

/// A plan under construction.
pub(super) struct Building<'a> {
    pub experiment: &'a Experiment,
    pub attachments: &'a Attachments,
    /// Changes in the order of time, each with its key.
    pub changes: Vec<(String, Change)>,
    pub group_names: Vec<String>,
    pub layout: Layout,
    pub disciplines: Vec<Step>,
    pub queues: Vec<Queue>,
    /// Devices and settings by queue name, for later changes.
    pub netems: BTreeMap<String, (Vec<Device>, Netem)>,
    /// Devices of shapers by queue name.
    pub shapers: BTreeMap<String, Device>,
    /// Sending host by group number.
    pub senders: Vec<String>,
    /// Receiving host by group number.
    pub receivers: Vec<String>,
    /// Groups whose route changes.
    pub crossings: Crossings,
}

impl<'a> Building<'a> {
    pub fn new(experiment: &'a Experiment, attachments: &'a Attachments) -> Self {
        Self {
            experiment,
            attachments,
            changes: later::listed(experiment, attachments),
            group_names: experiment.group_names(),
            layout: Layout::default(),
            disciplines: Vec::new(),
            queues: Vec::new(),
            netems: BTreeMap::new(),
            shapers: BTreeMap::new(),
            senders: Vec::new(),
            receivers: Vec::new(),
            crossings: Crossings::default(),
        }
    }

    /// The host's device towards the receivers.
    pub fn right_of(&self, host: &str) -> Device {
        Device { host: host.into(), name: self.layout.right_of(host).left_device.clone() }
    }

    /// The host's devices towards the senders.
    pub fn lefts_of(&self, host: &str) -> Vec<Device> {
        let device = |name: &String| Device { host: host.into(), name: name.clone() };
        self.layout.lefts_of(host).map(|wire| device(&wire.right_device)).collect()
    }

    /// Every sender once, in order.
    pub fn sender_hosts(&self) -> Vec<String> {
        let mut hosts = Vec::new();
        for sender in &self.senders {
            if !hosts.contains(sender) {
                hosts.push(sender.clone());
            }
        }
        hosts
    }

    /// Every receiver once: the one at the end of the path, then those before it.
    pub fn receiver_hosts(&self) -> impl Iterator<Item = &str> {
        self.layout.hosts.iter().filter(|host| host.rights.is_empty()).map(|host| &host.name[..])
    }

    pub fn sizes(&self) -> Sizes {
        Sizes { rtt_ns: shortest_base_rtt_ns(self.experiment), mtu: self.experiment.path.mtu }
    }

    /// A discipline's text for tc behind a link of this rate; 0 is unknown.
    pub fn resolved(&self, qdisc: &Qdisc, rate_bps: u64, key: &str) -> Result<String, Error> {
        shaping::resolved_text(qdisc, (rate_bps > 0).then_some(rate_bps), self.sizes(), key)
    }

    /// A queue behind its rate.
    pub fn put_queue(&mut self, device: Device, requested: Requested<'_>) -> Result<(), Error> {
        let (steps, queues) = queue(&device, requested, self.sizes())?;
        self.disciplines.extend(steps);
        self.queues.extend(queues);
        if requested.rate_bps.is_some() {
            self.shapers.insert(requested.name.into(), device);
        }
        Ok(())
    }

    /// A netem on each of these devices.
    pub fn put_netem(&mut self, devices: Vec<Device>, name: &str, mut settings: Netem, key: &str) {
        settings.impairment.delay = settings.impairment.mean_delay();
        let loses = settings.impairment.loss.as_ref().is_some_and(|loss| !loss.is_empty());
        let loses = loses || later::brings_loss(&self.changes, name);
        for (index, device) in devices.iter().enumerate() {
            let own = if index == 0 { name.into() } else { format!("{name}-{}", index + 1) };
            let (step, queue) = shaping::netem(device, own, &settings, loses, key);
            self.disciplines.push(step);
            self.queues.push(queue);
        }
        self.netems.insert(name.into(), (devices, settings));
    }

    /// Delay of the forward path.
    pub fn forward_delay(&self) -> u64 {
        self.experiment.path.forward()
    }

    /// Impairments of the forward path.
    pub fn forward_path(&self) -> Impairment {
        Impairment { delay: self.forward_delay(), ..self.experiment.path.impairment.clone() }
    }

    /// Impairments of the reverse path.
    pub fn reverse_path(&self) -> Impairment {
        let path = &self.experiment.path;
        let reverse = path.reverse.as_ref().map(|reverse| reverse.impairment.clone()).unwrap_or_default();
        Impairment { delay: path.rtt.saturating_sub(self.forward_delay()), ..reverse }
    }

    /// The highest rate at which data can arrive; None without a limit.
    pub fn highest_rate(&self) -> Option<u64> {
        let bottleneck = self.experiment.path.bottleneck.as_ref()?;
        let own = bottleneck.rate.into_iter().chain(shaping::rate_of(&bottleneck.qdisc));
        let later = self.changes.iter().filter_map(|(_, change)| change.rate);
        own.chain(later).chain(self.trace("bottleneck").iter().map(|(_, rate)| *rate)).max()
    }

    /// Rate of the bottleneck at time 0: its own, or that of its trace.
    pub fn bottleneck_rate(&self) -> Option<u64> {
        let own = self.experiment.path.bottleneck.as_ref()?.rate;
        own.or_else(|| self.first_rate("bottleneck"))
    }

    /// The rates over time of a link with a trace; empty without one.
    pub fn trace(&self, link: &str) -> &[(u64, u64)] {
        self.attachments.traces.get(link).map_or(&[], Vec::as_slice)
    }

    /// The rate at time 0 of a link with a trace.
    pub fn first_rate(&self, link: &str) -> Option<u64> {
        self.trace(link).first().map(|(_, rate)| *rate)
    }
}
