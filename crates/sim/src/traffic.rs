//! Flows and probes: what the experiment puts on the path.
//!
//! ```text
//! tcp     one TCP connection's application: bulk, sized, on/off or request/response
//! udp     datagrams at a constant rate
//! probe   a series of pings
//! ```
//!
//! They are told that time has come or that something arrived, and say what they want; sending is `world`'s affair.

pub mod probe;
pub mod tcp;
pub mod udp;

use crate::report::FlowReport;
use dumbbell_core::time::Time;
use dumbbell_core::transport::{Endpoint, Identity};

/// One flow's application and what will be told of it.
#[derive(Debug)]
pub struct Flow {
    /// Its place in the plan.
    pub position: u32,
    /// What its packets carry, as its sender's.
    pub identity: Identity,
    /// What it does.
    pub traffic: Traffic,
    /// When it is broken off.
    pub stop: Option<Time>,
    /// What will be reported.
    pub report: FlowReport,
}

/// TCP or UDP.
#[derive(Debug)]
pub enum Traffic {
    /// A connection.
    Tcp(Box<tcp::Application>),
    /// Datagrams.
    Udp(udp::Datagrams),
}

impl Flow {
    /// Has it ended?
    pub const fn is_over(&self) -> bool {
        self.report.stopped_ns.is_some()
    }

    /// In-order bytes at its receiver, of which there are never more than the flow has.
    pub fn received(&self, receiver: &Endpoint) -> u64 {
        let most = if let Traffic::Tcp(application) = &self.traffic { application.most_bytes() } else { u64::MAX };
        receiver.received().bytes.min(most)
    }
}
