//! In-network telemetry: stamps that travel beside the packets of those flows that live on them.
//!
//! ```text
//!   link with a meter      receiver             sender
//!     stamp(packet) ...... arrived(data)
//!                          answered(ack) ...... returned(ack) -> Stack
//! ```
//!
//! Packets are copied at every hop, so stacks don't lie in them: each flow has its own here, found by what no other of
//! its packets shares, the time of departure and the sequence number. A flow without telemetry has none, and its
//! packets are never looked for. What a stack says is `dumbbell_core::telemetry`'s, what to make of it the controller's.

use crate::error::Error;
use crate::net::Net;
use crate::plan::{Plan, Traffic};
use dumbbell_core::cc::{Control, Controller};
use dumbbell_core::dice::Dice;
use dumbbell_core::packet::{Body, Direction, FlowId, Packet};
use dumbbell_core::queue::{Config, HtbClass, Node};
use dumbbell_core::rate::Rate;
use dumbbell_core::telemetry::{Hop, MOST_HOPS, Stack};
use dumbbell_core::time::Time;
use std::collections::BTreeMap;

/// What a device that stamps knows beside its queue.
#[derive(Clone, Copy, Debug)]
pub struct Meter {
    /// The rate that it sends at.
    rate: Rate,
    /// Bytes that have left it.
    sent_bytes: u64,
}

impl Meter {
    /// Of a device with this discipline; None when that has no rate.
    pub fn of(root: &Node) -> Option<Self> {
        rate(root).map(|rate| Self { rate, sent_bytes: 0 })
    }

    /// The discipline has changed.
    pub fn change(&mut self, node: &Node) {
        self.rate = rate(node).unwrap_or(self.rate);
    }

    /// A class of the htb has changed.
    pub fn change_class(&mut self, class: &HtbClass) {
        self.rate = class.ceil;
    }

    /// A packet leaves, behind which so many bytes stand.
    pub fn stamp(&mut self, now: Time, packet: &Packet, queue_bytes: u64) -> Hop {
        self.sent_bytes += u64::from(packet.bytes);
        Hop { at: now, queue_bytes, sent_bytes: self.sent_bytes, rate: self.rate }
    }
}

/// The rate that a tree sends at, if it limits it: a shaper's own, or that of a htb's first class.
fn rate(node: &Node) -> Option<Rate> {
    match &node.config {
        Config::Tbf(tbf) => Some(tbf.rate),
        Config::Htb(htb) => htb.classes.first().map(|class| class.ceil),
        Config::Netem(netem) => netem.rate.as_ref().map(|shaper| shaper.rate),
        _ => None,
    }
}

/// All stacks that are under way.
#[derive(Debug, Default)]
pub struct Telemetry {
    /// By the flow's number; empty when no flow wants any.
    flows: Vec<Option<Box<Route>>>,
}

/// What no other packet of a flow and direction shares: when it left, and its number.
type Key = (Time, u64);

/// One flow's.
#[derive(Debug, Default)]
struct Route {
    data: BTreeMap<Key, Stack>,
    /// Came with the last data, and goes out with the next acknowledgement.
    arrived: Option<Stack>,
    answers: BTreeMap<Key, Stack>,
}

impl Telemetry {
    /// For the flows of this plan, in the order of their numbers.
    ///
    /// # Errors
    ///
    /// When a flow wants telemetry and no link on its way stamps, or more do than a stack holds.
    pub fn of(plan: &Plan, order: &[usize], net: &Net) -> Result<Self, Error> {
        let mut flows = Vec::new();
        for (id, &place) in (0..).zip(order) {
            let flow = &plan.flows[place];
            let wants = matches!(&flow.traffic, Traffic::Tcp(tcp) if wants(&tcp.cc));
            if wants {
                check(&flow.name, net.way(FlowId(id)).filter(|&device| net.devices[device as usize].meter.is_some()))?;
            }
            flows.push(wants.then(Box::default));
        }
        let is_wanted = flows.iter().any(Option::is_some);
        Ok(Self { flows: if is_wanted { flows } else { Vec::new() } })
    }

    /// Does this flow want it?
    pub fn wants(&self, flow: usize) -> bool {
        self.flows.get(flow).is_some_and(Option::is_some)
    }

    /// A link has stamped a packet that goes to the receiver.
    pub fn stamp(&mut self, packet: &Packet, hop: Hop) {
        if let (Some(key), Some(route)) = (data(packet), self.route(packet)) {
            route.data.entry(key).or_default().push(hop);
        }
    }

    /// Data have come to their receiver.
    pub fn arrived(&mut self, packet: &Packet) {
        if let (Some(key), Some(route)) = (data(packet), self.route(packet)) {
            route.arrived = route.data.remove(&key).or(route.arrived);
        }
    }

    /// The receiver sends something: it takes along what came last.
    pub fn answered(&mut self, packet: &Packet) {
        if let (Some(key), Some(route)) = (answer(packet), self.route(packet))
            && let Some(stack) = route.arrived.take()
        {
            route.answers.insert(key, stack);
        }
    }

    /// An acknowledgement has come to the sender: what it brings.
    pub fn returned(&mut self, packet: &Packet) -> Option<Stack> {
        let key = answer(packet)?;
        self.route(packet)?.answers.remove(&key)
    }

    /// A packet has died.
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
    Controller::named(cc, &mut dumbbell_core::cc::Parameters::default(), Dice::named(0, ""))
        .is_some_and(|controller| controller.wants_telemetry())
}

fn check(flow: &str, stamping: impl Iterator<Item = u32>) -> Result<(), Error> {
    let problem = match stamping.count() {
        0 => "no link on its way stamps its packets: 'telemetry = true' in [path] asks all links with a rate to",
        1..=MOST_HOPS => return Ok(()),
        _ => "more than 8 links on its way stamp its packets",
    };
    Err(Error::Nonsense { whose: format!("flow '{flow}'"), problem: problem.into() })
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
