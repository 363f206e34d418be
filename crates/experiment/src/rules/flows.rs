//! Rules of a group of flows beyond those of its kind ([`crate::keys::flow_kinds`]): what goes together.

use crate::declare::location::Report;
use crate::keys::flow_kinds;
use crate::model::{Flows, Transport};

const SHORTEST_UDP_INTERVAL: u64 = 1_000;
/// A request must fit one socket buffer.
const LONGEST_REQUEST: u64 = 16_384;

/// All of them.
pub fn check(made: &Flows, report: &mut Report<'_>) {
    flow_kinds::check(made, report);
    let is_tcp = made.kind == Transport::Tcp;
    let starts_last = made.start + made.start_jitter;
    // Whether it is sound; the key at fault; the problem; what would be right.
    let rules = [
        (!is_tcp || made.cc.is_some(), "cc", "'cc' goes with TCP flows, and each needs one", "such as cc = \"bbr\""),
        (is_tcp || made.rate.is_some(), "rate", "a UDP flow without a rate", "such as rate = \"1mbit\""),
        (
            is_tcp || made.rate.is_none() || made.udp_interval() >= SHORTEST_UDP_INTERVAL,
            "rate",
            "UDP packets closer than 1us",
            "larger packets",
        ),
        (
            made.stop.is_none_or(|stop| stop > starts_last),
            "stop",
            "a flow that stops before it starts",
            "stop must be after start",
        ),
        (
            made.on.is_some() == made.off.is_some(),
            if made.on.is_some() { "on" } else { "off" },
            "'on' and 'off' go together",
            "give both or none",
        ),
        (
            made.request.is_some() == made.response.is_some(),
            if made.request.is_some() { "request" } else { "response" },
            "'request' and 'response' go together",
            "give both",
        ),
        (
            made.request.unwrap_or(0) <= LONGEST_REQUEST,
            "request",
            "a request longer than 16384 bytes",
            "requests fit one socket buffer",
        ),
        (
            !is_tcp || made.arrivals.is_none() || made.bytes.is_some(),
            "arrivals",
            "'arrivals' without 'bytes'",
            "Poisson flows have a size",
        ),
    ];
    for (_, key, problem, right) in rules.into_iter().filter(|(is_sound, ..)| !is_sound) {
        report.fault(key, problem, right);
    }
}

impl Flows {
    /// Time between two packets of a UDP flow; 0 for TCP.
    #[must_use]
    pub fn udp_interval(&self) -> u64 {
        self.rate.map_or(0, |rate| u64::from(self.packet) * 8 * 1_000_000_000 / rate)
    }
}
