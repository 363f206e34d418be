//! One end of a connection: handshake, sender and receiver.
//!
//! An endpoint turns the output of its parts into packets. The packets caused by an arrival leave in Linux's order: an
//! ACK that must leave at once, then data (which carry the ACK), then an ACK alone if one is still pending. `program` has
//! what applications do.

mod handshake;
mod marks;
mod packing;
mod program;
#[cfg(test)]
mod tests;

use super::receiver::Receiver;
use super::sender::{Sender, Transmission};
use super::{Info, Received, Settings};
use crate::cc::{CongestionControl, Controller, EcnUse, INFINITE_SSTHRESH};
use crate::packet::{Body, Direction, ETHERNET_BYTES, FlowId, IPV4_BYTES, Packet, Segment};
use crate::telemetry::Stack;
use crate::time::{Span, Time};
use alloc::boxed::Box;
use handshake::{Handshake, State};
use marks::Marks;

/// Fields common to all packets of an endpoint.
#[derive(Clone, Copy, Debug)]
pub struct Identity {
    /// The flow's number.
    pub flow: FlowId,
    /// Direction of its packets: a client's are forward, a server's backward.
    pub direction: Direction,
    /// Server's port.
    pub port: u16,
    /// `SO_MARK`, 0 for none.
    pub mark: u16,
}

/// One end of a TCP connection.
#[derive(Debug)]
pub struct Endpoint {
    receiver: Receiver,
    /// Created when there is something to send; the server of a bulk flow has none.
    sender: Option<Box<Sender>>,
    /// Configuration of a sender that has not been created.
    dormant: Option<Box<Dormant>>,
    handshake: Handshake,
    identity: Identity,
    /// What the peer has acknowledged (`snd_una`).
    acked: u64,
    /// Its window, while there is no sender to track it.
    peer_window: u32,
    segs_out: u32,
    /// Payload of a full segment.
    mss: u16,
    /// ECN fields of outgoing packets.
    marks: Marks,
    /// The application has closed.
    closed: bool,
}

/// A sender that has had nothing to send.
#[derive(Debug)]
struct Dormant {
    settings: Settings,
    controller: Controller,
    rtt: Option<Span>,
}

impl Dormant {
    fn fill(&self, info: &mut Info) {
        info.mss = self.settings.mss;
        info.cwnd = self.settings.initial_window;
        info.ssthresh = INFINITE_SSTHRESH;
        info.rtt = self.rtt.unwrap_or_default();
        info.min_rtt = self.rtt;
        info.rto = self.rtt.map_or(Span::from_secs(1), first_rto);
    }
}

impl Endpoint {
    /// An endpoint with this identity; [`Direction::Forward`] connects, [`Direction::Backward`] listens.
    #[must_use]
    pub fn new(identity: Identity, settings: Settings, controller: Controller) -> Self {
        let mut endpoint = Self::with_sender(identity, &settings, None);
        endpoint.marks = Marks::new(settings.ecn, controller.ecn_use());
        endpoint.dormant = Some(Box::new(Dormant { settings, controller, rtt: None }));
        endpoint
    }

    fn with_sender(identity: Identity, settings: &Settings, sender: Option<Box<Sender>>) -> Self {
        let passive = identity.direction == Direction::Backward;
        Self {
            // The agent's senders read requests as they arrive; only receivers wait for more.
            receiver: Receiver::new(settings, passive, settings.prompt_reads || !passive),
            sender,
            dormant: None,
            handshake: Handshake::new(passive),
            identity,
            acked: 1,
            peer_window: 0,
            segs_out: 0,
            mss: u16::try_from(settings.mss).unwrap_or(u16::MAX),
            marks: Marks::new(settings.ecn, EcnUse::Classic),
            closed: false,
        }
    }

    /// Starts the handshake.
    pub fn connect(&mut self, now: Time) {
        self.wake(now);
        self.handshake.connect(now, self.marks.requests_ecn, self.marks.ecn_use);
    }

    /// Processes a packet that arrived at this end.
    #[inline]
    pub fn on_packet(&mut self, now: Time, packet: &Packet) {
        let Body::Tcp(segment) = &packet.body else { return };
        if self.is_established() {
            self.on_segment(now, packet, segment);
        } else {
            self.shake_hands(now, packet, segment);
        }
    }

    /// The telemetry that the next ACK carries.
    pub fn on_telemetry(&mut self, stack: &Stack) {
        if let Some(sender) = &mut self.sender {
            sender.on_telemetry(stack);
        }
    }

    /// Handles the timer of [`Endpoint::next_timer`]. Does nothing if called early.
    pub fn on_timer(&mut self, now: Time) {
        if !self.is_established() {
            self.handshake.on_timer(now);
            return;
        }
        self.receiver.on_timer(now);
        if let Some(sender) = &mut self.sender {
            sender.on_timer(now);
        }
    }

    /// A packet of this end left its host (or was dropped there silently): TSQ no longer counts it. One that was
    /// segmented leaves with the last of its `pieces`. Returns whether the sender was waiting for that: then call
    /// [`Endpoint::on_resumed`] when all packets of this time are processed, as TSQ's tasklet runs.
    #[inline]
    #[must_use]
    pub fn on_departed(&mut self, packet: &Packet, pieces: u16) -> bool {
        let sender = self.sender.as_mut().filter(|_| is_data(packet));
        sender.is_some_and(|sender| sender.on_departed(packet.bytes, pieces))
    }

    /// The sender continues after a departure. Poll it then.
    #[inline]
    pub fn on_resumed(&mut self, now: Time) {
        if let Some(sender) = &mut self.sender {
            sender.on_resumed(now);
        }
    }

    /// Does the packet that was just polled leave its host before the next one is polled? True for a program's packets
    /// and for packets that TSQ does not count; data sent in reply to a packet leave later.
    #[must_use]
    pub fn departs_at_once(&self, packet: &Packet) -> bool {
        !is_data(packet) || self.sender.as_ref().is_none_or(|sender| sender.departs_at_once())
    }

    /// The device segments the packet that was just polled into `segments` pieces.
    pub fn on_cut(&mut self, segments: u16) {
        if let Some(sender) = &mut self.sender {
            sender.on_cut(segments);
        }
    }

    /// This host's own queue split the packet that was just polled into `pieces`, which depart one by one.
    pub fn on_split(&mut self, pieces: u16) {
        if let Some(sender) = &mut self.sender {
            sender.on_split(pieces);
        }
    }

    /// This host's own queue refused the packet that was just polled (`NET_XMIT_DROP`).
    ///
    /// Data are retransmitted later, and the sender slows down. It slows down for an ACK too, but the ACK is lost.
    /// Returns whether the sender was waiting for a departure, as [`Endpoint::on_departed`] does.
    #[must_use]
    pub fn on_refused(&mut self, now: Time, packet: &Packet) -> bool {
        if !is_data(packet) {
            self.on_congested(now);
            return false;
        }
        self.sender.as_mut().is_some_and(|sender| sender.on_refused(now))
    }

    /// This host's own queue accepted the packet that was just polled, but dropped another for it (`NET_XMIT_CN`).
    pub fn on_congested(&mut self, now: Time) {
        if let Some(sender) = self.sender.as_mut().filter(|_| self.handshake.state == State::Established) {
            sender.on_congested(now);
        }
    }

    /// The next packet to send now, if any. Call until it returns None.
    #[inline]
    pub fn poll(&mut self, now: Time) -> Option<Packet> {
        if !self.is_established() {
            return self.poll_handshake(now);
        }
        if let Some(sent) = self.next_data(now) {
            return Some(self.pack(now, sent));
        }
        self.receiver.take_ack(now).then(|| self.bare_ack(now))
    }

    /// When to call [`Endpoint::on_timer`]; [`Time::NEVER`] if not at all. May be in the past for pending work.
    #[must_use]
    pub fn next_timer(&self) -> Time {
        if !self.is_established() {
            return self.handshake.next_timer();
        }
        let sender = self.sender.as_ref().map_or(Time::NEVER, |sender| sender.next_timer());
        self.receiver.next_timer().min(sender)
    }

    /// Is the handshake complete?
    #[must_use]
    #[inline]
    pub fn is_established(&self) -> bool {
        self.handshake.state == State::Established
    }

    /// Bytes that the application has read so far.
    #[must_use]
    pub fn bytes_read(&self) -> u64 {
        self.receiver.bytes_read()
    }

    /// Has the peer closed, and has all its data been read?
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.receiver.is_finished()
    }

    /// The sender's state as `tcp_info` reports it.
    #[must_use]
    pub fn info(&self, now: Time) -> Info {
        let mut info = Info::default();
        if let Some(sender) = &self.sender {
            sender.fill(now, &mut info);
        } else if let Some(dormant) = &self.dormant {
            dormant.fill(&mut info);
            info.snd_wnd = self.peer_window;
        }
        info.state = self.state();
        info.segs_out = self.segs_out;
        info.ecn = self.is_established() && self.handshake.ecn;
        info
    }

    /// The name of the controller as the socket reports it; a fallback has its own name.
    #[must_use]
    pub fn controller(&self) -> &'static str {
        let dormant = || self.dormant.as_ref().map_or("", |dormant| dormant.controller.name());
        self.sender.as_ref().map_or_else(dormant, |sender| sender.controller())
    }

    /// The receiver's counters.
    #[must_use]
    pub fn received(&self) -> Received {
        Received { bytes: self.receiver.bytes(), rcv_space: self.receiver.rcv_space() }
    }

    /// The sender; creates it if there is none.
    fn wake(&mut self, now: Time) -> &mut Sender {
        if let Some(dormant) = self.dormant.take() {
            let mut sender = Box::new(Sender::new(&dormant.settings, dormant.controller));
            if self.is_established() {
                sender.after_handshake(self.handshake.retransmissions(), self.handshake.is_lossy());
                sender.set_ecn(self.handshake.ecn, self.marks.ecn_use);
                sender.established(now, dormant.rtt, self.peer_window, false);
            }
            self.sender = Some(sender);
        }
        self.sender.as_mut().expect("an endpoint has a sender or its configuration")
    }

    fn establish(&mut self, now: Time, segment: &Segment, rtt: Span) {
        let ecn = self.handshake.ecn;
        self.peer_window = segment.window;
        self.receiver.establish(now, segment.sent_at, ecn);
        if ecn {
            self.receiver.send_feedback(self.marks.ecn_use);
        } else {
            self.marks.refused();
        }
        self.receiver.set_rtt(rtt, first_rto(rtt));
        if let Some(sender) = &mut self.sender {
            sender.after_handshake(self.handshake.retransmissions(), self.handshake.is_lossy());
            sender.set_ecn(ecn, self.marks.ecn_use);
            sender.established(now, Some(rtt), segment.window, segment.flags.syn);
        } else if let Some(dormant) = &mut self.dormant {
            dormant.rtt = Some(rtt);
        }
        if segment.flags.syn {
            self.receiver.request_ack_now();
        }
    }

    #[cold]
    fn shake_hands(&mut self, now: Time, packet: &Packet, segment: &Segment) {
        if let Some(rtt) = self.handshake.on_segment(now, segment, packet.ecn, self.marks.ecn_use) {
            self.establish(now, segment, rtt);
            if segment.len > 0 || (segment.flags.fin && !segment.flags.syn) {
                self.on_segment(now, packet, segment);
            }
        }
    }

    fn on_segment(&mut self, now: Time, packet: &Packet, segment: &Segment) {
        if !self.receiver.accepts(now, segment, self.acked) || segment.ack > self.next_seq() {
            return; // `tcp_ack` discards a segment that acknowledges what was not sent.
        }
        let carries = segment.len > 0;
        if let Some(sender) = &mut self.sender {
            sender.on_ack(now, segment, carries);
            if carries {
                let (rtt, rto) = sender.round_trip();
                self.receiver.set_rtt(rtt, rto);
            }
        } else {
            self.peer_window = segment.window;
        }
        self.acked = self.acked.max(segment.ack);
        self.receiver.on_segment(now, segment, packet.ecn, packet.segments);
    }

    #[cold]
    fn poll_handshake(&mut self, now: Time) -> Option<Packet> {
        let syn = self.handshake.poll(now, self.receiver.first_window())?;
        Some(self.address(syn, self.marks.other, 1, SYN_BYTES))
    }

    /// The next sequence number to send.
    #[inline]
    fn next_seq(&self) -> u64 {
        self.sender.as_ref().map_or(FIRST_SEQ, |sender| sender.next_seq())
    }

    /// An ACK that must leave at once goes first.
    #[inline]
    fn next_data(&mut self, now: Time) -> Option<Transmission> {
        let sender = self.sender.as_mut()?;
        if self.receiver.must_ack_now() { None } else { sender.poll(now) }
    }

    /// The state's number in Linux (`include/net/tcp_states.h`).
    fn state(&self) -> u8 {
        let sent_all = self.sender.as_ref().is_some_and(|sender| sender.is_done());
        // A program closes when it has written everything.
        let is_closed = self.closed && self.sender.as_ref().is_none_or(|sender| sender.has_fin());
        match (self.handshake.state, is_closed, self.receiver.is_closed()) {
            (State::Established, false, false) => 1,
            (State::SynSent, ..) => 2,
            (State::SynReceived, ..) => 3,
            (State::Established, true, false) => 4 + u8::from(sent_all),
            (State::Established, true, true) => {
                if sent_all {
                    6
                } else {
                    9
                }
            }
            (State::Closed, ..) => 7,
            (State::Established, false, true) => 8,
            (State::Listen, ..) => 10,
        }
    }
}

/// RFC 6298 section 2.2 with Linux's minimum deviation of 200 ms, in whole jiffies.
fn first_rto(rtt: Span) -> Span {
    let rto = rtt + (rtt * 2).max(Span::from_millis(200));
    Span::from_jiffies(rto.as_nanos().div_ceil(Span::from_jiffies(1).as_nanos()))
}

/// Does this packet have data or a FIN, so that TSQ counts it?
fn is_data(packet: &Packet) -> bool {
    matches!(&packet.body, Body::Tcp(segment) if segment.len > 0 || segment.flags.fin)
}

/// What is sent first after the SYN.
const FIRST_SEQ: u64 = 1;
/// Size of a SYN's headers: Ethernet, IPv4, TCP and 20 bytes of options (MSS, SACK permitted, timestamps, window
/// scale).
const SYN_BYTES: u32 = ETHERNET_BYTES + IPV4_BYTES + 20 + 20;
