//! One end of a connection: sender and receiver under one handshake.

use super::{Info, Received, Settings};
use crate::cc::Controller;
use crate::packet::{Direction, FlowId, Packet};
use crate::time::Time;

/// What all packets of an endpoint carry.
#[derive(Clone, Copy, Debug)]
pub struct Identity {
    /// The flow's number.
    pub flow: FlowId,
    /// Which way its packets go: a client's forward, a server's backward.
    pub direction: Direction,
    /// Server's port.
    pub port: u16,
    /// `SO_MARK`, 0 for none.
    pub mark: u16,
}

/// One end of a TCP connection.
#[derive(Debug)]
pub struct Endpoint {}

impl Endpoint {
    /// An end with this identity; [`Direction::Forward`] connects, [`Direction::Backward`] listens.
    #[must_use]
    pub fn new(_identity: Identity, _settings: Settings, _controller: Controller) -> Self {
        todo!()
    }

    /// Begins the handshake.
    pub fn connect(&mut self, _now: Time) {
        todo!()
    }

    /// The application writes so many bytes more; `u64::MAX` is an endless supply, 0 ends an endless one.
    pub fn write(&mut self, _now: Time, _bytes: u64) {
        todo!()
    }

    /// The application has written everything: FIN follows the last byte.
    pub fn close(&mut self, _now: Time) {
        todo!()
    }

    /// A packet for this end arrived.
    pub fn on_packet(&mut self, _now: Time, _packet: &Packet) {
        todo!()
    }

    /// The time of [`Endpoint::next_timer`] has come. Calling it early does nothing.
    pub fn on_timer(&mut self, _now: Time) {
        todo!()
    }

    /// A packet of this end left its host (or died there without a word): it counts no longer towards TSQ.
    pub fn on_departed(&mut self, _now: Time, _packet: &Packet) {
        todo!()
    }

    /// This host's own queue refused a packet of this end, or dropped another for it (`NET_XMIT_DROP`, `NET_XMIT_CN`).
    pub fn on_refused(&mut self, _now: Time, _packet: &Packet) {
        todo!()
    }

    /// The next packet to send now, if any. Call again until there is none.
    pub fn poll(&mut self, _now: Time) -> Option<Packet> {
        todo!()
    }

    /// When [`Endpoint::on_timer`] wants to be called; [`Time::NEVER`] when it doesn't. May lie in the past for work that is due.
    #[must_use]
    pub fn next_timer(&self) -> Time {
        todo!()
    }

    /// Is the handshake done?
    #[must_use]
    pub fn is_established(&self) -> bool {
        todo!()
    }

    /// Bytes that the application has read so far.
    #[must_use]
    pub fn bytes_read(&self) -> u64 {
        todo!()
    }

    /// Has the peer closed, and has everything before that been read?
    #[must_use]
    pub fn is_finished(&self) -> bool {
        todo!()
    }

    /// The sender's state, as its socket would show it.
    #[must_use]
    pub fn info(&self, _now: Time) -> Info {
        todo!()
    }

    /// The receiver's counters.
    #[must_use]
    pub fn received(&self) -> Received {
        todo!()
    }
}
