//! Flows and probes: the traffic of the experiment.
//!
//! ```text
//! tcp     one TCP flow: bulk, sized, on/off or request/response
//! udp     one UDP flow at a constant rate
//! probe   pings and UDP probes
//! info    the tcp_info fields that flows use
//! payload data that all senders send
//! ```
//!
//! A flow is a state machine. The event loop calls it when a timer fires or a socket is ready; it runs
//! without blocking and returns a [`FlowStep`].

pub mod info;
pub mod payload;
pub mod probe;
pub mod tcp;
pub mod udp;

/// Result of a call to a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowStep {
    /// Nothing changed for the caller.
    Same,
    /// Its sockets changed: the sampler must update its list.
    Changed,
    /// Its last byte was received.
    Done,
    /// It has its response, and waits for other flows before it asks again.
    Responded,
    /// Call `wake` at this time since the experiment's start.
    WakeAt(u64),
}
