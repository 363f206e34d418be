//! In-network telemetry: stamps attached to packets of flows whose controller uses them.
//!
//! ```text
//!   link with a meter      receiver             sender
//!     stamp(packet) ...... arrived(data)
//!                          answered(ack) ...... returned(ack) -> Stack
//! ```
//!
//! Packets are copied at every hop, so stamps are stored here per flow, keyed by send time and sequence number, which
//! are unique within a flow. A flow without telemetry has no entries, and its packets are never looked up.
//! `dumbbell_net::telemetry` defines the stamps; controllers interpret them.

use crate::error::Error;
use crate::net::Net;
use crate::plan::{Plan, Traffic};
use dumbbell_net::cc::{CongestionControl, Controller};
use dumbbell_net::packet::{Body, Direction, FlowId, Packet};
use dumbbell_net::rng::Rng;
use dumbbell_net::telemetry::{Hop, MAX_HOPS, Stack};
use dumbbell_net::time::Time;
use std::collections::BTreeMap;

/// All stamps in flight.
#[derive(Debug, Default)]
pub struct Telemetry {
    /// By flow id; empty if no flow uses telemetry.
    flows: Vec<Option<Box<Route>>>,
}

/// Key of a packet within a flow and direction: send time and sequence number.
type Key = (Time, u64);

/// Stamps of one flow.
#[derive(Debug, Default)]
struct Route {
    data: BTreeMap<Key, Stack>,
    /// Received with the last data, to be returned with the next ACK.
    arrived: Option<Stack>,
    answers: BTreeMap<Key, Stack>,
}

impl Telemetry {
    /// For the flows of this plan, in order of flow ids.
    ///
    /// # Errors
    ///
    /// If a flow uses telemetry and no link on its path stamps, or more links stamp than a stack holds.
    pub fn of(plan: &Plan, order: &[usize], net: &Net) -> Result<Self, Error> {
        let mut flows = Vec::new();
        for (id, &index) in (0..).zip(order) {
            let flow = &plan.flows[index];
            let wants = matches!(&flow.traffic, Traffic::Tcp(tcp) if wants(&tcp.cc));
            if wants {
                check(&flow.name, net.way(FlowId(id)).filter(|&device| net.devices[device as usize].meter.is_some()))?;
            }
            flows.push(wants.then(Box::default));
        }
        let is_wanted = flows.iter().any(Option::is_some);
        Ok(Self { flows: if is_wanted { flows } else { Vec::new() } })
    }

    /// Whether this flow uses telemetry.
    pub fn wants(&self, flow: usize) -> bool {
        self.flows.get(flow).is_some_and(Option::is_some)
    }

    /// A link stamped a packet on the forward path.
    pub fn stamp(&mut self, packet: &Packet, hop: Hop) {
        if let (Some(key), Some(route)) = (data(packet), self.route(packet)) {
            route.data.entry(key).or_default().push(hop);
        }
    }

    /// Data arrived at the receiver.
    pub fn arrived(&mut self, packet: &Packet) {
        if let (Some(key), Some(route)) = (data(packet), self.route(packet)) {
            route.arrived = route.data.remove(&key).or(route.arrived);
        }
    }

    /// The receiver sends a packet: it returns the last stamps.
    pub fn answered(&mut self, packet: &Packet) {
        if let (Some(key), Some(route)) = (answer(packet), self.route(packet))
            && let Some(stack) = route.arrived.take()
        {
            route.answers.insert(key, stack);
        }
    }

    /// An ACK arrived at the sender: the stamps that it returns.
    pub fn returned(&mut self, packet: &Packet) -> Option<Stack> {
        let key = answer(packet)?;
        self.route(packet)?.answers.remove(&key)
    }

    /// A packet was dropped.
    pub fn lost(&mut self, packet: &Packet) {
        let (data, answer) = (data(packet), answer(packet));
        let Some(route) = self.route(packet) else { return };
        data.and_then(|key| route.data.remove(&key));
        answer.and_then(|key| route.answers.remove(&key));
    }

    fn route(&mut self, packet: &Packet) -> Option<&mut Route> {
        self.flows.get_mut(packet.flow.0 as usize)?.as_deref_mut()
    }
}

fn wants(cc: &str) -> bool {
    Controller::from_name(cc, &mut dumbbell_net::cc::Parameters::default(), Rng::from_name(0, ""))
        .is_some_and(|controller| controller.uses_telemetry())
}

fn check(flow: &str, stamping: impl Iterator<Item = u32>) -> Result<(), Error> {
    let problem = match stamping.count() {
        0 => "no link on its path stamps packets: set 'telemetry = true' in [path] to stamp on all links with a rate",
        1..=MAX_HOPS => return Ok(()),
        _ => "more than 8 links on its path stamp packets; at most 8 are supported",
    };
    Err(Error::Invalid { object: format!("flow '{flow}'"), problem: problem.into() })
}

fn data(packet: &Packet) -> Option<Key> {
    match &packet.body {
        Body::Tcp(segment) if packet.direction == Direction::Forward && segment.len > 0 => {
            Some((segment.sent_at, segment.seq))
        }
        _ => None,
    }
}

fn answer(packet: &Packet) -> Option<Key> {
    match &packet.body {
        Body::Tcp(segment) if packet.direction == Direction::Backward => Some((segment.sent_at, segment.ack)),
        _ => None,
    }
}
