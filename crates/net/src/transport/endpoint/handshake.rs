//! The three-way handshake (RFC 9293 section 3.5), with Linux's timers and ECN negotiation (RFC 3168 section 6.1.1, RFC
//! 9768 section 3.1).
//!
//! ```text
//!   client   Closed --connect--> SynSent ------ SYN-ACK ------> Established
//!                                 |  ^ timer: retransmits the SYN, without requesting ECN
//!                                 +--+
//!   server   Listen ----SYN----> SynReceived -- ACK or data --> Established
//!                                 |  ^ timer, or a retransmitted SYN: retransmits the SYN-ACK
//!                                 +--+
//! ```
//!
//! The endpoint handles data, windows and everything afterwards.

use crate::cc::EcnUse;
use crate::packet::{Ace, Ecn, Flags, Segment};
use crate::time::{Span, Time};
use crate::wheel::fires;

/// State of the handshake; see the diagram above.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Closed,
    Listen,
    SynSent,
    SynReceived,
    Established,
}

/// One end's handshake.
#[derive(Debug)]
pub(super) struct Handshake {
    pub state: State,
    /// Is ECN requested (client), and after the handshake: negotiated?
    pub ecn: bool,
    /// AccECN's field of its SYN or SYN-ACK.
    ace: Option<Ace>,
    /// A SYN or SYN-ACK has to be sent.
    is_pending: bool,
    /// Number of its retransmissions.
    retransmits: u8,
    timeouts: u8,
    timer: Time,
    /// Time of its first transmission.
    sent_at: Time,
    /// The peer's answer echoes that transmission.
    is_first_answered: bool,
    /// TSval of the received SYN.
    peer_tsval: Time,
    /// Jiffy of the last reply to a retransmitted SYN.
    answered_at: u64,
}

impl Handshake {
    /// A client before `connect`, or a listening server.
    pub const fn new(listens: bool) -> Self {
        Self {
            state: if listens { State::Listen } else { State::Closed },
            ecn: false,
            ace: None,
            is_pending: false,
            retransmits: 0,
            timeouts: 0,
            timer: Time::NEVER,
            sent_at: Time::NEVER,
            is_first_answered: false,
            peer_tsval: Time::ZERO,
            answered_at: u64::MAX,
        }
    }

    /// The client starts the handshake.
    pub fn connect(&mut self, now: Time, ecn: bool, ecn_use: EcnUse) {
        self.state = State::SynSent;
        self.ecn = ecn;
        self.ace = (ecn_use == EcnUse::Counted).then_some(Ace::ASKS);
        self.start_transmission(now);
    }

    /// Processes a segment that arrives before the connection is established; returns the round-trip time if it
    /// establishes it.
    pub fn on_segment(&mut self, now: Time, segment: &Segment, ecn: Ecn, ecn_use: EcnUse) -> Option<Span> {
        match (self.state, segment.flags.syn, segment.flags.ack) {
            (State::Listen, true, false) => self.answer(now, segment, ecn, ecn_use),
            (State::SynReceived, true, false) => self.answer_retransmitted_syn(now),
            (State::SynSent, true, true) if segment.ack == 1 => {
                self.ecn &= match self.ace {
                    // A controller that needs counts does not accept less.
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

    /// Handles an expired timer; does nothing if none has.
    pub fn on_timer(&mut self, now: Time) {
        if now < self.timer {
            return;
        }
        self.timeouts += 1;
        let (maximum, given_up) = match self.state {
            State::SynSent => (SYN_RETRIES, State::Closed),
            _ => (SYN_ACK_RETRIES, State::Listen),
        };
        if self.timeouts > maximum {
            *self = Self { state: given_up, ..Self::new(false) };
            return;
        }
        self.retransmits += 1;
        self.start_transmission(now);
    }

    /// Retransmissions of the SYN or SYN-ACK.
    pub fn retransmissions(&self) -> u32 {
        self.retransmits.into()
    }

    /// Whether the first SYN or SYN-ACK timed out and was not answered after all (`undo_marker`; RFC 3522 section 3.2,
    /// `tcp_try_undo_spurious_syn`).
    pub const fn is_lossy(&self) -> bool {
        self.timeouts > 0 && !self.is_first_answered
    }

    /// Timeouts of the SYN or SYN-ACK; each draws another hash.
    pub fn rehashes(&self) -> u16 {
        self.timeouts.into()
    }

    /// When to call [`Handshake::on_timer`].
    pub fn next_timer(&self) -> Time {
        self.timer
    }

    /// The SYN or SYN-ACK to send now, if any.
    pub fn poll(&mut self, now: Time, window: u32) -> Option<Segment> {
        if !core::mem::take(&mut self.is_pending) {
            return None;
        }
        let answers = self.state == State::SynReceived;
        // The SYN may have been dropped because it requested ECN (`tcp_ecn_fallback`).
        let requests_ecn = self.ecn && !answers && self.retransmits == 0;
        let ace = self.ace.filter(|_| requests_ecn || answers);
        let ece = requests_ecn || (answers && self.ecn && ace.is_none());
        let flags = Flags { syn: true, ack: answers, ece, cwr: requests_ecn, ace, ..Flags::default() };
        Some(Segment {
            ack: u64::from(answers),
            window,
            flags,
            sent_at: now,
            echo: self.peer_tsval,
            ..Segment::default()
        })
    }

    fn answer(&mut self, now: Time, syn: &Segment, ecn: Ecn, ecn_use: EcnUse) {
        self.state = State::SynReceived;
        // `tcp_ecn` = 2, the default: accept ECN, but do not request it.
        self.ecn = syn.flags.ece && syn.flags.cwr;
        if ecn_use == EcnUse::Counted {
            self.ace = syn.flags.ace.map(|_| Ace::received(ecn));
            self.ecn &= self.ace.is_some();
        }
        self.peer_tsval = syn.sent_at;
        self.start_transmission(now);
    }

    /// Answers a retransmitted SYN at once, at most twice a second (`tcp_check_req`).
    fn answer_retransmitted_syn(&mut self, now: Time) {
        if self.answered_at != u64::MAX && now.jiffies() - self.answered_at < ANSWER_PAUSE {
            return;
        }
        self.answered_at = now.jiffies();
        self.retransmits += 1;
        self.start_transmission(now);
    }

    /// Sends a SYN or SYN-ACK and sets the timer.
    fn start_transmission(&mut self, now: Time) {
        self.is_pending = true;
        if !self.sent_at.is_set() {
            self.sent_at = now;
        }
        // A client retransmits its SYN four times at the same interval before the backoff starts
        // (`tcp_syn_linear_timeouts`).
        let doublings =
            if self.state == State::SynSent { self.timeouts.saturating_sub(LINEAR_TIMEOUTS) } else { self.timeouts };
        self.timer = fires(now, INITIAL_RTO << doublings);
    }

    fn establish(&mut self, now: Time, segment: &Segment) -> Span {
        self.state = State::Established;
        self.timer = Time::NEVER;
        self.is_pending = false;
        if self.retransmits > 0 {
            // Karn's algorithm: the timestamp shows which transmission was answered, in milliseconds.
            let millis = |time: Time| time.as_micros() / 1_000;
            self.is_first_answered = millis(segment.echo) == millis(self.sent_at);
            return Span::from_millis(millis(now).saturating_sub(millis(segment.echo)).max(1));
        }
        Span::from_micros(now.as_micros() - self.sent_at.as_micros())
    }
}

/// RFC 6298 section 2.1: one second, in jiffies.
const INITIAL_RTO: u64 = 250;
/// `tcp_syn_linear_timeouts`.
const LINEAR_TIMEOUTS: u8 = 4;
/// `tcp_syn_retries` plus the linear ones.
const SYN_RETRIES: u8 = 6 + LINEAR_TIMEOUTS;
/// `tcp_synack_retries`.
const SYN_ACK_RETRIES: u8 = 5;
/// `tcp_invalid_ratelimit`: half a second, in jiffies.
const ANSWER_PAUSE: u64 = 125;
