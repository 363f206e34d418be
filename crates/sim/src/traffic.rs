//! Flows and probes: the traffic of an experiment.
//!
//! ```text
//! tcp     one TCP connection's application: bulk, sized, on/off or request/response
//! udp     datagrams at a constant rate
//! probe   a series of pings
//! ```
//!
//! They are called when time has passed or packets have arrived, and return what to send; [`crate::world`] sends it.

pub mod probe;
pub mod tcp;
pub mod udp;

use crate::report::FlowReport;
use dumbbell_net::time::Time;
use dumbbell_net::transport::{Endpoint, Identity};

/// The application of one flow, and its report.
#[derive(Debug)]
pub struct Flow {
    /// Index in the plan.
    pub position: u32,
    /// Identity carried in its packets.
    pub identity: Identity,
    /// The application.
    pub traffic: Traffic,
    /// Start time; since the completion of others if it `follows`.
    pub start: Time,
    /// Whether it starts when others have completed.
    pub follows: bool,
    /// Whether its next request waits for other flows.
    pub has_barrier: bool,
    /// Stop time.
    pub stop: Option<Time>,
    /// The report.
    pub report: FlowReport,
}

/// TCP or UDP.
#[derive(Debug)]
pub enum Traffic {
    /// A TCP connection.
    Tcp(Box<tcp::Application>),
    /// UDP datagrams.
    Udp(Box<udp::Datagrams>),
}

impl Flow {
    /// Whether it has ended.
    pub const fn is_over(&self) -> bool {
        self.report.stopped_ns.is_some()
    }

    /// In-order bytes at its receiver, at most the flow's size.
    pub fn received(&self, receiver: &Endpoint) -> u64 {
        let most = if let Traffic::Tcp(application) = &self.traffic { application.max_bytes() } else { u64::MAX };
        receiver.received().bytes.min(most)
    }
}
