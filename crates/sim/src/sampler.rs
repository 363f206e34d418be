//! Samples flows and queues and appends the samples to the tables.
//!
//! `docs/result.md` defines units and nulls. Columns of controllers that the simulator lacks (`vegas_*`, `dctcp_*`) are
//! left out.

mod derived;
mod rows;

pub use derived::Facts;
pub use rows::{FlowRows, QueueRows};

use crate::ends::End;
use crate::net::{DeviceId, Net};
use crate::plan::Plan;
use crate::traffic::{Flow, Traffic};
use dumbbell_net::queue::{QdiscPath, QdiscSnapshot};
use dumbbell_net::time::Time;
use dumbbell_net::transport::Info;
use dumbbell_table::Table;
use std::collections::BTreeSet;

/// Sampled flows and queues, and the tables.
#[derive(Debug)]
pub struct Sampler {
    flows: FlowRows,
    queues: QueueRows,
    watched: Vec<Watched>,
    queue_names: Vec<String>,
    facts: Facts,
    /// Flow id of each flow in the order of the plan.
    numbers: Vec<u32>,
    /// Plan indices of flows that are connected and not over.
    flowing: BTreeSet<u32>,
    /// Last state of each flow's sender, if every change is recorded.
    last: Vec<Option<Info>>,
    /// Time of the last sample.
    taken: Option<Time>,
}

/// A sampled qdisc.
#[derive(Debug)]
pub struct Watched {
    /// Its device.
    pub device: DeviceId,
    /// Its path.
    pub path: QdiscPath,
    /// Its last snapshot.
    pub last: QdiscSnapshot,
}

impl Sampler {
    /// A sampler for a plan; `numbers`: flow ids in the order of the plan.
    pub fn new(plan: &Plan, numbers: Vec<u32>, watched: Vec<Watched>) -> Self {
        let names = plan.flows.iter().map(|flow| flow.name.clone());
        let queue_names: Vec<_> = plan.queues.iter().map(|queue| queue.name.clone()).collect();
        Self {
            flows: FlowRows::of(names),
            queues: QueueRows::of(queue_names.iter().cloned()),
            watched,
            queue_names,
            facts: Facts::of(plan),
            last: if plan.every_change { vec![None; numbers.len()] } else { Vec::new() },
            numbers,
            flowing: BTreeSet::new(),
            taken: None,
        }
    }

    /// Starts sampling this flow.
    pub fn begin(&mut self, flow: &Flow) {
        self.flowing.insert(flow.position);
    }

    /// Stops sampling this flow.
    pub fn end(&mut self, flow: &Flow) {
        self.flowing.remove(&flow.position);
    }

    /// Samples everything; at most once at any time.
    pub fn sample(&mut self, now: Time, flows: &[Flow], ends: &[[End; 2]], net: &Net) {
        if self.taken.replace(now) == Some(now) {
            return;
        }
        for &position in &self.flowing {
            let number = self.numbers[position as usize] as usize;
            match &flows[number].traffic {
                Traffic::Udp(udp) => self.flows.push_udp(now, position, udp),
                Traffic::Tcp(_) => {
                    let [Some(sender), Some(receiver)] = ends[number].each_ref().map(|end| end.endpoint.as_deref())
                    else {
                        continue;
                    };
                    let bytes = flows[number].received(receiver);
                    self.flows.push_tcp(now, position, &sender.info(now), bytes, receiver.received().rcv_space);
                }
            }
        }
        for number in 0..self.watched.len() {
            self.snapshot(now, number, net);
        }
    }

    /// Records a flow's sender after an event, if its state changed.
    pub fn flow_changed(&mut self, now: Time, number: usize, flow: &Flow, [sender, receiver]: &[End; 2]) {
        if !self.flowing.contains(&flow.position) {
            return;
        }
        let (Some(sender), Some(receiver)) = (&sender.endpoint, &receiver.endpoint) else { return };
        let info = sender.info(now);
        if self.last[number].replace(info) != Some(info) {
            let bytes = flow.received(receiver);
            self.flows.push_tcp(now, flow.position, &info, bytes, receiver.received().rcv_space);
        }
    }

    /// Records the queues of a device after an event, if they changed.
    pub fn queues_changed(&mut self, now: Time, device: DeviceId, net: &Net) {
        for &number in &net.devices[device as usize].watched {
            let watched = &self.watched[number as usize];
            if snapshot_of(watched, net) != watched.last {
                self.snapshot(now, number as usize, net);
            }
        }
    }

    /// Names of the watched queues.
    pub fn queue_names(&self) -> &[String] {
        &self.queue_names
    }

    /// Watched queues in order of their names.
    pub fn watched(&self) -> &[Watched] {
        &self.watched
    }

    /// Current snapshots of all watched queues.
    pub fn snapshots<'a>(&'a self, net: &'a Net) -> impl Iterator<Item = QdiscSnapshot> + 'a {
        self.watched.iter().map(|watched| snapshot_of(watched, net))
    }

    /// Both tables and the given probes, with derived columns.
    pub fn into_tables(self, probes: Table) -> [Table; 3] {
        let Self { facts, flows, queues, .. } = self;
        [facts.complete_flows(flows.into()), facts.complete_queues(queues.into()), facts.complete_probes(probes)]
    }

    /// Allocated bytes.
    pub fn capacity_bytes(&self) -> usize {
        self.flows.capacity_bytes() + self.queues.capacity_bytes() + self.last.capacity() * size_of::<Option<Info>>()
    }

    /// Used bytes of the tables.
    pub fn used_bytes(&self) -> usize {
        self.flows.used_bytes() + self.queues.used_bytes()
    }

    fn snapshot(&mut self, now: Time, number: usize, net: &Net) {
        let snapshot = snapshot_of(&self.watched[number], net);
        self.watched[number].last = snapshot;
        self.queues.push(now, number, &snapshot);
    }
}

fn snapshot_of(watched: &Watched, net: &Net) -> QdiscSnapshot {
    let queue = net.devices[watched.device as usize].queue.as_ref();
    queue.expect("a watched device has a queue").snapshot(&watched.path)
}
