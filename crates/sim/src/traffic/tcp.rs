//! The application of one TCP connection; it behaves like the agent's.
//!
//! ```text
//!            start            established          accepted by the receiver
//!   Waiting ------> Connecting ----------> Writing -----------------------> Flowing
//!                                                                             |
//!                                                    Over <-- all bytes, stop +
//! ```
//!
//! Applications run after all packets of an instant, as processes run after interrupts. Endpoints do the TCP
//! processing.

use crate::plan::{self, Work};
use crate::report::FlowReport;
use dumbbell_net::time::{Span, Time};
use dumbbell_net::transport::Endpoint;

/// The application of a connection, both ends.
#[derive(Clone, Debug)]
pub struct Application {
    /// Its plan.
    pub plan: plan::Tcp,
    connected: bool,
    accepted: bool,
    paused: bool,
    /// Request/response: bytes requested and received so far.
    requested: u64,
    responded: u64,
    exchange_state: RequestState,
}

/// State of a request/response exchange; None while the application pauses.
///
/// ```text
///   None --request--> Requested --sender has read it--> Responding --receiver has read the response--> None
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RequestState {
    None,
    Requested(Time),
    Responding(Time),
}

/// The socket event that an application waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SocketInterest {
    /// None.
    #[default]
    Nothing,
    /// The connection is established.
    Established,
    /// This many bytes have arrived in order.
    Received(u64),
    /// This many bytes have been read.
    Read(u64),
}

/// Result of running an application.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AppStep {
    /// The receiver just accepted: sampling of the flow starts.
    pub accepted: bool,
    /// Time at which it is to be called again.
    pub wake_at: Option<Time>,
    /// Its last byte was received.
    pub done: bool,
    /// It has its response, and waits for other flows.
    pub waits: bool,
}

impl SocketInterest {
    /// Whether the endpoint's state satisfies this.
    #[inline]
    pub fn is_satisfied(self, endpoint: &Endpoint) -> bool {
        match self {
            Self::Nothing => false,
            Self::Established => endpoint.is_established(),
            Self::Received(bytes) => endpoint.received().bytes >= bytes,
            Self::Read(bytes) => endpoint.bytes_read() >= bytes,
        }
    }
}

impl Application {
    /// An application that has not started.
    pub fn new(plan: plan::Tcp) -> Self {
        let (connected, accepted, paused, exchange_state) = (false, false, false, RequestState::None);
        Self { plan, connected, accepted, paused, requested: 0, responded: 0, exchange_state }
    }

    /// Time between a response and the next request.
    pub const fn think(&self) -> Span {
        if let Work::Exchange { think, .. } = self.plan.work { think } else { Span::ZERO }
    }

    /// Whether the connection is established for the sender.
    pub const fn is_connected(&self) -> bool {
        self.connected
    }

    /// Whether the receiver has accepted it.
    pub const fn is_accepted(&self) -> bool {
        self.accepted
    }

    /// Size of the flow in bytes.
    pub const fn max_bytes(&self) -> u64 {
        match self.plan.work {
            Work::Sized { bytes } | Work::OnOff { bytes: Some(bytes), .. } => bytes,
            Work::Bulk | Work::OnOff { bytes: None, .. } | Work::Exchange { .. } => u64::MAX,
        }
    }

    /// First switching time of an on/off flow that starts now.
    pub fn first_step(&self, now: Time) -> Option<Time> {
        if let Work::OnOff { on, .. } = self.plan.work { Some(now + on) } else { None }
    }

    /// What the sender's and the receiver's application wait for.
    pub fn interest(&self) -> [SocketInterest; 2] {
        let sender = match (self.plan.work, self.exchange_state) {
            _ if !self.connected => SocketInterest::Established,
            (_, RequestState::Requested(_)) => SocketInterest::Read(self.requested),
            _ => SocketInterest::Nothing,
        };
        let receiver = match (self.plan.work, self.exchange_state) {
            _ if !self.accepted => SocketInterest::Established,
            (Work::Sized { bytes } | Work::OnOff { bytes: Some(bytes), .. }, _) => SocketInterest::Received(bytes),
            (_, RequestState::Responding(_)) => SocketInterest::Read(self.responded),
            _ => SocketInterest::Nothing,
        };
        [sender, receiver]
    }

    /// Runs the application after a socket event. If it `has_barrier`, the next request waits for other flows.
    pub fn react(
        &mut self,
        now: Time,
        ends: [&mut Endpoint; 2],
        report: &mut FlowReport,
        has_barrier: bool,
    ) -> AppStep {
        let [sender, receiver] = ends;
        let mut step = AppStep::default();
        if !self.connected && sender.is_established() {
            self.connected = true;
            report.connected_ns = Some(now.as_nanos());
            self.write_first(now, sender);
        }
        if !self.accepted && receiver.is_established() {
            self.accepted = true;
            step.accepted = true;
            self.request_next(now, receiver);
        }
        match self.plan.work {
            Work::Sized { bytes } | Work::OnOff { bytes: Some(bytes), .. } => {
                step.done = self.accepted && receiver.received().bytes >= bytes;
            }
            Work::Exchange { .. } => {
                (step.wake_at, step.waits) = self.exchange(now, [sender, receiver], report, has_barrier);
            }
            Work::Bulk | Work::OnOff { bytes: None, .. } => {}
        }
        if step.done {
            report.completed_ns = Some(now.as_nanos());
        }
        step
    }

    /// Runs the application at a time that it requested; returns the next time.
    pub fn wake(&mut self, now: Time, ends: [&mut Endpoint; 2]) -> Option<Time> {
        let [sender, receiver] = ends;
        match self.plan.work {
            Work::OnOff { on, off, .. } => Some(now + self.toggle(now, sender, [on, off])),
            Work::Exchange { .. } if self.exchange_state == RequestState::None => {
                self.request_next(now, receiver);
                None
            }
            _ => None,
        }
    }

    /// Stops writing.
    pub fn close(&self, now: Time, sender: &mut Endpoint) {
        if self.is_endless() {
            sender.write(now, 0);
        }
        sender.close(now);
    }

    fn is_endless(&self) -> bool {
        matches!(self.plan.work, Work::Bulk | Work::OnOff { .. }) && !self.paused
    }

    fn write_first(&self, now: Time, sender: &mut Endpoint) {
        match self.plan.work {
            Work::Bulk => sender.write(now, u64::MAX),
            Work::Sized { bytes } => {
                sender.write(now, bytes);
                sender.close(now);
            }
            Work::OnOff { .. } if !self.paused => sender.write(now, u64::MAX),
            Work::OnOff { .. } | Work::Exchange { .. } => {}
        }
    }

    /// Switches between sending and pausing; returns the length of the new period. A flow of limited size is over when
    /// its receiver has all bytes; until then its source is endless, because data passed to an endpoint cannot be
    /// withdrawn for a pause.
    fn toggle(&mut self, now: Time, sender: &mut Endpoint, [on, off]: [Span; 2]) -> Span {
        self.paused = !self.paused;
        if self.connected {
            sender.write(now, if self.paused { 0 } else { u64::MAX });
        }
        if self.paused { off } else { on }
    }

    fn request_next(&mut self, now: Time, receiver: &mut Endpoint) {
        let Work::Exchange { request, response, .. } = self.plan.work else { return };
        self.requested += request;
        self.responded += response;
        self.exchange_state = RequestState::Requested(now);
        receiver.write(now, request);
    }

    /// After reading the whole request, the sender responds; after reading the whole response, the receiver pauses, or
    /// waits for others. Returns when to call again, and whether it waits.
    fn exchange(
        &mut self,
        now: Time,
        [sender, receiver]: [&mut Endpoint; 2],
        report: &mut FlowReport,
        has_barrier: bool,
    ) -> (Option<Time>, bool) {
        let Work::Exchange { response, think, .. } = self.plan.work else { return (None, false) };
        if let RequestState::Requested(requested_at) = self.exchange_state
            && sender.bytes_read() >= self.requested
        {
            self.exchange_state = RequestState::Responding(requested_at);
            sender.write(now, response);
        }
        let RequestState::Responding(requested_at) = self.exchange_state else { return (None, false) };
        if receiver.bytes_read() < self.responded {
            return (None, false);
        }
        report.exchanges_ns.push(now.since(requested_at).as_nanos());
        self.exchange_state = RequestState::None;
        if has_barrier {
            return (None, true);
        }
        if think == Span::ZERO {
            self.request_next(now, receiver);
            return (None, false);
        }
        (Some(now + think), false)
    }
}
