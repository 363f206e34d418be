//! A device's meter: it stamps departing packets with the device's load, for in-network telemetry.

use dumbbell_net::packet::Packet;
use dumbbell_net::queue::{Config, HtbClass, Node};
use dumbbell_net::rate::Rate;
use dumbbell_net::telemetry::Hop;
use dumbbell_net::time::Time;

/// State of a device that stamps.
#[derive(Clone, Copy, Debug)]
pub struct Meter {
    /// Its rate.
    rate: Rate,
    /// Bytes sent.
    sent_bytes: u64,
}

impl Meter {
    /// For a device with this qdisc; None if the qdisc has no rate.
    pub fn of(root: &Node) -> Option<Self> {
        rate(root).map(|rate| Self { rate, sent_bytes: 0 })
    }

    /// Updates the rate after a change of the qdisc.
    pub fn change(&mut self, node: &Node) {
        self.rate = rate(node).unwrap_or(self.rate);
    }

    /// Updates the rate after a change of an htb class.
    pub fn change_class(&mut self, class: &HtbClass) {
        self.rate = class.ceil;
    }

    /// Stamps a departing packet that leaves this backlog.
    pub fn stamp(&mut self, now: Time, packet: &Packet, queue_bytes: u64) -> Hop {
        self.sent_bytes += u64::from(packet.bytes);
        Hop { at: now, queue_bytes, sent_bytes: self.sent_bytes, rate: self.rate }
    }
}

/// The rate of a tree, if it has one: a shaper's own, or that of an htb's first class.
fn rate(node: &Node) -> Option<Rate> {
    match &node.config {
        Config::Tbf(tbf) => Some(tbf.rate),
        Config::Htb(htb) => htb.classes.first().map(|class| class.ceil),
        Config::Netem(netem) => netem.rate.as_ref().map(|shaper| shaper.rate),
        _ => None,
    }
}
