//! What the application of one TCP connection does, as the agent's does it.
//!
//! ```text
//!            start            established          accepted by the receiver
//!   Waiting ------> Connecting ----------> Writing -----------------------> Flowing
//!                                                                             |
//!                                                    Over <-- all bytes, stop +
//! ```
//!
//! Programs act after all packets of an instant have been handled, as processes run after interrupts. What TCP does
//! with the bytes is the endpoints' affair.

use crate::plan::{self, Work};
use crate::report::FlowReport;
use dumbbell_core::time::{Span, Time};
use dumbbell_core::transport::Endpoint;

/// A connection's application: both ends.
#[derive(Clone, Debug)]
pub struct Application {
    /// What was asked for.
    pub plan: plan::Tcp,
    connected: bool,
    accepted: bool,
    resting: bool,
    /// Bytes asked for and answered so far, in request/response.
    requested: u64,
    answered: u64,
    question: Question,
}

/// A request/response flow's question. Who thinks has none.
///
/// ```text
///   None --ask--> Asked --sender has read it--> Answering --receiver has read the answer--> None
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Question {
    None,
    Asked(Time),
    Answering(Time),
}

/// What makes an application look at its socket again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Attention {
    /// Nothing that happens to it.
    #[default]
    Nothing,
    /// The connection stands.
    Established,
    /// So many bytes have arrived in order.
    Received(u64),
    /// So many bytes have been read.
    Read(u64),
}

/// What an application's turn led to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Turn {
    /// The receiver has just accepted: from now on the flow is sampled.
    pub accepted: bool,
    /// It wants to be called at this time.
    pub wake_at: Option<Time>,
    /// Its last byte was received.
    pub done: bool,
}

impl Attention {
    /// Is this what it has waited for?
    #[inline]
    pub fn is_due(self, endpoint: &Endpoint) -> bool {
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
        let (connected, accepted, resting) = (false, false, false);
        Self { plan, connected, accepted, resting, requested: 0, answered: 0, question: Question::None }
    }

    /// Does the connection stand, as the sender sees it?
    pub const fn is_connected(&self) -> bool {
        self.connected
    }

    /// Has the receiver accepted it?
    pub const fn is_accepted(&self) -> bool {
        self.accepted
    }

    /// Bytes that the flow has in all.
    pub const fn most_bytes(&self) -> u64 {
        match self.plan.work {
            Work::Sized { bytes } | Work::OnOff { bytes: Some(bytes), .. } => bytes,
            Work::Bulk | Work::OnOff { bytes: None, .. } | Work::Exchange { .. } => u64::MAX,
        }
    }

    /// When an on/off flow that starts now turns first.
    pub fn first_turn(&self, now: Time) -> Option<Time> {
        if let Work::OnOff { on, .. } = self.plan.work { Some(now + on) } else { None }
    }

    /// What the sender's and the receiver's program wait for.
    pub fn attention(&self) -> [Attention; 2] {
        let sender = match (self.plan.work, self.question) {
            _ if !self.connected => Attention::Established,
            (_, Question::Asked(_)) => Attention::Read(self.requested),
            _ => Attention::Nothing,
        };
        let receiver = match (self.plan.work, self.question) {
            _ if !self.accepted => Attention::Established,
            (Work::Sized { bytes } | Work::OnOff { bytes: Some(bytes), .. }, _) => Attention::Received(bytes),
            (_, Question::Answering(_)) => Attention::Read(self.answered),
            _ => Attention::Nothing,
        };
        [sender, receiver]
    }

    /// One of its sockets has what it waited for.
    pub fn react(&mut self, now: Time, ends: [&mut Endpoint; 2], report: &mut FlowReport) -> Turn {
        let [sender, receiver] = ends;
        let mut turn = Turn::default();
        if !self.connected && sender.is_established() {
            self.connected = true;
            report.connected_ns = Some(now.as_nanos());
            self.write_first(now, sender);
        }
        if !self.accepted && receiver.is_established() {
            self.accepted = true;
            turn.accepted = true;
            self.ask(now, receiver);
        }
        match self.plan.work {
            Work::Sized { bytes } | Work::OnOff { bytes: Some(bytes), .. } => {
                turn.done = self.accepted && receiver.received().bytes >= bytes;
            }
            Work::Exchange { .. } => turn.wake_at = self.exchange(now, sender, receiver, report),
            Work::Bulk | Work::OnOff { bytes: None, .. } => {}
        }
        if turn.done {
            report.completed_ns = Some(now.as_nanos());
        }
        turn
    }

    /// The time that it asked for has come; says when it wants to be called again.
    pub fn wake(&mut self, now: Time, ends: [&mut Endpoint; 2]) -> Option<Time> {
        let [sender, receiver] = ends;
        match self.plan.work {
            Work::OnOff { on, off, .. } => Some(now + self.toggle(now, sender, [on, off])),
            Work::Exchange { .. } if self.question == Question::None => {
                self.ask(now, receiver);
                None
            }
            _ => None,
        }
    }

    /// It writes no more.
    pub fn close(&self, now: Time, sender: &mut Endpoint) {
        if self.is_endless() {
            sender.write(now, 0);
        }
        sender.close(now);
    }

    fn is_endless(&self) -> bool {
        matches!(self.plan.work, Work::Bulk | Work::OnOff { .. }) && !self.resting
    }

    fn write_first(&self, now: Time, sender: &mut Endpoint) {
        match self.plan.work {
            Work::Bulk => sender.write(now, u64::MAX),
            Work::Sized { bytes } => {
                sender.write(now, bytes);
                sender.close(now);
            }
            Work::OnOff { .. } if !self.resting => sender.write(now, u64::MAX),
            Work::OnOff { .. } | Work::Exchange { .. } => {}
        }
    }

    /// From writing to resting or back; says for how long. A flow of so many bytes is over when its receiver has them:
    /// until then its supply is endless, because what an endpoint was given can't be taken back for a rest.
    fn toggle(&mut self, now: Time, sender: &mut Endpoint, [on, off]: [Span; 2]) -> Span {
        self.resting = !self.resting;
        if self.connected {
            sender.write(now, if self.resting { 0 } else { u64::MAX });
        }
        if self.resting { off } else { on }
    }

    fn ask(&mut self, now: Time, receiver: &mut Endpoint) {
        let Work::Exchange { request, response, .. } = self.plan.work else { return };
        self.requested += request;
        self.answered += response;
        self.question = Question::Asked(now);
        receiver.write(now, request);
    }

    /// The sender has read the whole question: it answers. The receiver has read the whole answer: it thinks.
    fn exchange(
        &mut self,
        now: Time,
        sender: &mut Endpoint,
        receiver: &mut Endpoint,
        report: &mut FlowReport,
    ) -> Option<Time> {
        let Work::Exchange { response, think, .. } = self.plan.work else { return None };
        if let Question::Asked(asked_at) = self.question
            && sender.bytes_read() >= self.requested
        {
            self.question = Question::Answering(asked_at);
            sender.write(now, response);
        }
        let Question::Answering(asked_at) = self.question else { return None };
        if receiver.bytes_read() < self.answered {
            return None;
        }
        report.exchanges_ns.push(now.since(asked_at).as_nanos());
        self.question = Question::None;
        if think == Span::ZERO {
            self.ask(now, receiver);
            return None;
        }
        Some(now + think)
    }
}
