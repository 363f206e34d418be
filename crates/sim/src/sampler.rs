//! Takes a picture of flows and queues at one instant and appends it to the tables.
//!
//! Units and nulls are those of `docs/result.md`. What a plan does not know is left to Python: a flow's `group`, a
//! queue's `under_test`, `rate_bps` and `delay_ns`, a probe's `kind`, and the columns of controllers that the
//! simulator has not (`vegas_*`, `dctcp_*`).

mod rows;

pub use rows::{FlowRows, QueueRows};

use crate::ends::End;
use crate::net::{DeviceId, Net};
use crate::plan::Plan;
use crate::table::Table;
use crate::traffic::{Flow, Traffic};
use dumbbell_core::queue::{Look, Place};
use dumbbell_core::time::Time;
use dumbbell_core::transport::Info;
use std::collections::BTreeSet;

/// Who is sampled, and the tables that grow.
#[derive(Debug)]
pub struct Sampler {
    flows: FlowRows,
    queues: QueueRows,
    watched: Vec<Watched>,
    queue_names: Vec<String>,
    /// Number of the flow at each place in the plan.
    numbers: Vec<u32>,
    /// Places of flows that are connected and not over.
    flowing: BTreeSet<u32>,
    /// What each flow's sender showed last, where every change is recorded.
    last: Vec<Option<Info>>,
    /// Time of the last picture.
    taken: Option<Time>,
}

/// A discipline that is sampled.
#[derive(Debug)]
pub struct Watched {
    /// On this device.
    pub device: DeviceId,
    /// There.
    pub place: Place,
    /// What it showed last.
    pub last: Look,
}

impl Sampler {
    /// Knows the flows and queues of a plan; `numbers`: of the flow at each place.
    pub fn new(plan: &Plan, numbers: Vec<u32>, watched: Vec<Watched>) -> Self {
        let names = plan.flows.iter().map(|flow| flow.name.clone());
        let queue_names: Vec<_> = plan.queues.iter().map(|queue| queue.name.clone()).collect();
        Self {
            flows: FlowRows::of(names),
            queues: QueueRows::of(queue_names.iter().cloned()),
            watched,
            queue_names,
            last: if plan.every_change { vec![None; numbers.len()] } else { Vec::new() },
            numbers,
            flowing: BTreeSet::new(),
            taken: None,
        }
    }

    /// From now on this flow is sampled.
    pub fn begin(&mut self, flow: &Flow) {
        self.flowing.insert(flow.position);
    }

    /// This flow is over.
    pub fn end(&mut self, flow: &Flow) {
        self.flowing.remove(&flow.position);
    }

    /// Samples everything; once an instant.
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
            self.look(now, number, net);
        }
    }

    /// Something happened to a flow's sender: a row if it shows.
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

    /// Something happened at a device: a row for each of its queues where it shows.
    pub fn queues_changed(&mut self, now: Time, device: DeviceId, net: &Net) {
        for &number in &net.devices[device as usize].watched {
            let watched = &self.watched[number as usize];
            if see(watched, net) != watched.last {
                self.look(now, number as usize, net);
            }
        }
    }

    /// Names of the watched queues.
    pub fn queue_names(&self) -> &[String] {
        &self.queue_names
    }

    /// The watched queues, in the order of their names.
    pub fn watched(&self) -> &[Watched] {
        &self.watched
    }

    /// What every watched queue shows now.
    pub fn looks<'a>(&'a self, net: &'a Net) -> impl Iterator<Item = Look> + 'a {
        self.watched.iter().map(|watched| see(watched, net))
    }

    /// Both tables.
    pub fn into_tables(self) -> (Table, Table) {
        (self.flows.into(), self.queues.into())
    }

    /// Bytes that it holds.
    pub fn capacity_bytes(&self) -> usize {
        self.flows.capacity_bytes() + self.queues.capacity_bytes() + self.last.capacity() * size_of::<Option<Info>>()
    }

    /// Bytes of its tables that are written.
    pub fn used_bytes(&self) -> usize {
        self.flows.used_bytes() + self.queues.used_bytes()
    }

    fn look(&mut self, now: Time, number: usize, net: &Net) {
        let look = see(&self.watched[number], net);
        self.watched[number].last = look;
        self.queues.push(now, number, &look);
    }
}

fn see(watched: &Watched, net: &Net) -> Look {
    let queue = net.devices[watched.device as usize].queue.as_ref();
    queue.expect("a watched device has a discipline").look(&watched.place)
}
