//! The three-way handshake (RFC 9293 section 3.5), with Linux's timers and ECN's question (RFC 3168 section 6.1.1, RFC
//! 9768 section 3.1).
//!
//! ```text
//!   client   Closed --connect--> SynSent ------ SYN-ACK ------> Established
//!                                 |  ^ timer: SYN again, without ECN's question
//!                                 +--+
//!   server   Listen ----SYN----> SynReceived -- ACK or data --> Established
//!                                 |  ^ timer, or the SYN again: SYN-ACK again
//!                                 +--+
//! ```
//!
//! Data, windows and everything afterwards are the endpoint's affair.

use crate::cc::EcnUse;
use crate::packet::{Ace, Ecn, Flags, Segment};
use crate::time::{Span, Time};
use crate::transport::wheel::fires;

/// Where the handshake stands; the diagram above, as a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Closed,
    Listen,
    SynSent,
    SynReceived,
    Established,
}

/// A handshake.
#[derive(Debug)]
pub(super) struct Handshake {
    pub state: State,
    /// Was ECN asked for, and then granted?
    pub ecn: bool,
    /// What its SYN or SYN-ACK says in AccECN's field.
    ace: Option<Ace>,
    /// A SYN or SYN-ACK is to be sent.
    owed: bool,
    /// How often it was sent again.
    repeats: u8,
    timeouts: u8,
    timer: Time,
    /// When it was sent first.
    sent_at: Time,
    /// TSval of the SYN that was heard.
    heard: Time,
    /// Jiffy of the last answer to a repeated SYN.
    answered_at: u64,
}

impl Handshake {
    /// A client that has not called, or a server that listens.
    pub const fn new(listens: bool) -> Self {
        Self {
            state: if listens { State::Listen } else { State::Closed },
            ecn: false,
            ace: None,
            owed: false,
            repeats: 0,
            timeouts: 0,
            timer: Time::NEVER,
            sent_at: Time::NEVER,
            heard: Time::ZERO,
            answered_at: u64::MAX,
        }
    }

    /// The client calls.
    pub fn connect(&mut self, now: Time, ecn: bool, ecn_use: EcnUse) {
        self.state = State::SynSent;
        self.ecn = ecn;
        self.ace = (ecn_use == EcnUse::Counted).then_some(Ace::ASKS);
        self.call(now);
    }

    /// A segment came before the connection was established; is it now? The answer is the round trip.
    pub fn on_segment(&mut self, now: Time, segment: &Segment, ecn: Ecn, ecn_use: EcnUse) -> Option<Span> {
        match (self.state, segment.flags.syn, segment.flags.ack) {
            (State::Listen, true, false) => self.answer(now, segment, ecn, ecn_use),
            (State::SynReceived, true, false) => self.answer_again(now),
            (State::SynSent, true, true) if segment.ack == 1 => {
                self.ecn &= match self.ace {
                    // Who needs counts does not take less.
                    Some(_) => segment.flags.ace.is_some(),
                    None => segment.flags.ece && !segment.flags.cwr,
                };
                return Some(self.establish(now, segment));
            }
            (State::SynReceived, false, true) if segment.ack == 1 => return Some(self.establish(now, segment)),
            _ => {}
        }
        None
    }

    /// A timer's time has come, perhaps.
    pub fn on_timer(&mut self, now: Time) {
        if now < self.timer {
            return;
        }
        self.timeouts += 1;
        let (most, given_up) = match self.state {
            State::SynSent => (SYN_RETRIES, State::Closed),
            _ => (SYN_ACK_RETRIES, State::Listen),
        };
        if self.timeouts > most {
            *self = Self { state: given_up, ..Self::new(false) };
            return;
        }
        self.repeats += 1;
        self.call(now);
    }

    /// How often the SYN or SYN-ACK was sent again; none when that was for a repeated SYN only (`tcp_init_transfer`).
    pub fn retransmissions(&self) -> u32 {
        if self.timeouts > 0 { u32::from(self.repeats) } else { 0 }
    }

    /// When [`Handshake::on_timer`] wants to be called.
    pub fn next_timer(&self) -> Time {
        self.timer
    }

    /// The SYN or SYN-ACK to send now, if one is.
    pub fn poll(&mut self, now: Time, window: u32) -> Option<Segment> {
        if !core::mem::take(&mut self.owed) {
            return None;
        }
        let answers = self.state == State::SynReceived;
        // A SYN that died may have died of its question (`tcp_ecn_fallback`).
        let asks = self.ecn && !answers && self.repeats == 0;
        let ace = self.ace.filter(|_| asks || answers);
        let ece = asks || (answers && self.ecn && ace.is_none());
        let flags = Flags { syn: true, ack: answers, ece, cwr: asks, ace, ..Flags::default() };
        Some(Segment { ack: u64::from(answers), window, flags, sent_at: now, echo: self.heard, ..Segment::default() })
    }

    fn answer(&mut self, now: Time, syn: &Segment, ecn: Ecn, ecn_use: EcnUse) {
        self.state = State::SynReceived;
        // `tcp_ecn` = 2, the default: grant ECN, but don't ask for it.
        self.ecn = syn.flags.ece && syn.flags.cwr;
        if ecn_use == EcnUse::Counted {
            self.ace = syn.flags.ace.map(|_| Ace::heard(ecn));
            self.ecn &= self.ace.is_some();
        }
        self.heard = syn.sent_at;
        self.call(now);
    }

    /// A repeated SYN is answered at once, twice a second at most (`tcp_check_req`).
    fn answer_again(&mut self, now: Time) {
        if self.answered_at != u64::MAX && now.jiffies() - self.answered_at < ANSWER_PAUSE {
            return;
        }
        self.answered_at = now.jiffies();
        self.repeats += 1;
        self.call(now);
    }

    /// Sends a SYN or SYN-ACK and waits for an answer.
    fn call(&mut self, now: Time) {
        self.owed = true;
        if !self.sent_at.is_set() {
            self.sent_at = now;
        }
        // A client repeats its SYN at the same pace four times before it slows down (`tcp_syn_linear_timeouts`).
        let doublings =
            if self.state == State::SynSent { self.timeouts.saturating_sub(LINEAR_TIMEOUTS) } else { self.timeouts };
        self.timer = fires(now, INITIAL_RTO << doublings);
    }

    fn establish(&mut self, now: Time, segment: &Segment) -> Span {
        self.state = State::Established;
        self.timer = Time::NEVER;
        self.owed = false;
        if self.repeats > 0 {
            // Karn: which one was answered? The timestamp tells, in milliseconds.
            let millis = |time: Time| time.as_micros() / 1_000;
            return Span::from_millis(millis(now).saturating_sub(millis(segment.echo)).max(1));
        }
        Span::from_micros(now.as_micros() - self.sent_at.as_micros())
    }
}

/// RFC 6298 section 2.1: one second, in jiffies.
const INITIAL_RTO: u64 = 250;
/// `tcp_syn_linear_timeouts`.
const LINEAR_TIMEOUTS: u8 = 4;
/// `tcp_syn_retries` and the linear ones.
const SYN_RETRIES: u8 = 6 + LINEAR_TIMEOUTS;
/// `tcp_synack_retries`.
const SYN_ACK_RETRIES: u8 = 5;
/// `tcp_invalid_ratelimit`: half a second, in jiffies.
const ANSWER_PAUSE: u64 = 125;
