//! Flows and probes: what the experiment puts on the path.
//!
//! ```text
//! tcp     one TCP flow: bulk, sized, on/off or request/response
//! udp     one UDP flow at a constant rate
//! probe   pings and UDP probes
//! info    fields of tcp_info that are needed here
//! payload what all senders send
//! report  what is told of a flow at the end
//! ```
//!
//! A flow is a small machine: `lab` tells it that its time has come or that its socket is
//! ready, it does what it can without waiting, and says when it is done.

pub mod info;
pub mod payload;
pub mod probe;
pub mod report;
pub mod tcp;
pub mod udp;

/// What a flow's turn led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// Nothing that others must know.
    Same,
    /// Its sockets changed: who is sampled must be looked up anew.
    Changed,
    /// Its last byte was received.
    Done,
    /// It wants to be called at this time, since the experiment's start.
    WakeAt(u64),
}
