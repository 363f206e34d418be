//! Helpers for dialogues: packets have numbers, times are milliseconds.

use super::super::record::Marks;
use super::super::{Sender, Transmission};
use super::reno::Reno;
use crate::cc::{CaState, CongestionControl};
use crate::packet::{Flags, Sack, Segment, TCP_HEADERS_BYTES};
use crate::time::{Span, Time};
use crate::transport::testing;
use crate::transport::{Info, Settings};
use alloc::vec::Vec;

/// Payload of a full segment.
pub(super) const MSS: u32 = 1_000;

/// Default sysctls, no offloads.
pub(in super::super) fn settings() -> Settings {
    testing::settings(MSS)
}

/// A sender and the clock.
pub(super) struct Dialogue<C = Reno> {
    pub sender: Sender<C>,
    pub now: Time,
    /// Timestamp that the next ACKs echo; None for none.
    pub echo: Option<Time>,
}

impl Dialogue {
    /// Established at 1 s after a handshake of `rtt_ms`, with `bytes` written.
    pub fn with(rtt_ms: u64, bytes: u64) -> Self {
        Self::of(&settings(), Reno, rtt_ms, bytes)
    }
}

impl<C: CongestionControl> Dialogue<C> {
    /// The same with these settings and this controller.
    pub fn of(settings: &Settings, controller: C, rtt_ms: u64, bytes: u64) -> Self {
        let now = Time::ZERO + Span::from_secs(1);
        let mut sender = Sender::new(settings, controller);
        sender.set_ecn(settings.ecn, crate::cc::EcnUse::Classic);
        sender.established(now, Some(Span::from_millis(rtt_ms)), 1 << 30, true);
        if bytes > 0 {
            sender.write(now, bytes);
        }
        Self { sender, now, echo: None }
    }

    /// Advances the clock without events.
    pub fn wait_ms(&mut self, millis: u64) {
        self.now += Span::from_millis(millis);
    }

    /// Sends what may be sent now; packets leave the host at once. Returns the segments' numbers.
    pub fn sends(&mut self) -> Vec<u64> {
        self.transmissions().iter().flat_map(numbers).collect()
    }

    /// The same, as packets.
    pub fn transmissions(&mut self) -> Vec<Transmission> {
        let mut sent = Vec::new();
        while let Some(packet) = testing::poll(&mut self.sender, self.now) {
            sent.push(packet);
            self.check();
        }
        for packet in &sent {
            if self.sender.on_departed(packet.len + u32::from(packet.segments) * TCP_HEADERS_BYTES, 1) {
                self.sender.on_resumed(self.now);
            }
        }
        if sent.is_empty() { sent } else { [sent, self.transmissions()].concat() }
    }

    /// Acknowledges packets below `next` and SACKs `sacked` ranges; then sends what may be sent.
    pub fn acks(&mut self, next: u64, sacked: &[(u64, u64)]) -> Vec<u64> {
        self.ack(next, sacked, Flags::default());
        self.sends()
    }

    /// Only the ACK.
    pub fn ack(&mut self, next: u64, sacked: &[(u64, u64)], flags: Flags) {
        let mut sack = Sack::default();
        for (start, end) in sacked {
            sack.push(byte(*start), byte(*end));
        }
        let segment = Segment {
            seq: 1,
            ack: byte(next),
            window: 1 << 30,
            flags: Flags { ack: true, ..flags },
            echo: self.echo.unwrap_or_default(),
            sack,
            ..Segment::default()
        };
        self.sender.on_ack(self.now, &segment, false);
        self.check();
    }

    /// Advances to the next timer and sends; returns the milliseconds that passed, and the numbers.
    pub fn fire_timer(&mut self) -> (u64, Vec<u64>) {
        let at = self.sender.next_timer();
        assert!(at.is_set(), "a timer is set");
        let waited = at.since(self.now).as_micros() / 1_000;
        self.now = self.now.max(at);
        self.sender.on_timer(self.now);
        (waited, self.sends())
    }

    /// State, window, threshold.
    pub fn state(&self) -> (CaState, u32, u32) {
        let (tp, cc) = (self.sender.tp(), self.sender.cc());
        (tp.state, cc.cwnd, cc.ssthresh)
    }

    /// Packets out, SACKed, lost, retransmitted.
    pub fn counts(&self) -> [u32; 4] {
        let tp = self.sender.tp();
        [tp.packets_out, tp.sacked_out, tp.lost_out, tp.retrans_out]
    }

    /// `tcp_info`.
    pub fn info(&self) -> Info {
        let mut info = Info::default();
        self.sender.fill(self.now, &mut info);
        info
    }

    /// Checks that the counts match the scoreboard, and that the window is open.
    pub fn check(&self) {
        check(&self.sender);
    }
}

/// Checks that the counts match the scoreboard, and that the window is open.
pub(super) fn check<C>(sender: &Sender<C>) {
    let board = &sender.board;
    let count = |marks: Marks| {
        let numbers = board.first()..board.next();
        u32::try_from(numbers.filter(|number| board.get(*number).marks.has(marks)).count()).unwrap()
    };
    let tp = &sender.tp;
    assert_eq!(u64::from(tp.packets_out), board.next() - board.first(), "packets out");
    assert_eq!(tp.sacked_out, count(Marks::SACKED), "SACKed");
    assert_eq!(tp.lost_out, count(Marks::LOST), "lost");
    assert_eq!(tp.retrans_out, count(Marks::RETRANS), "retransmitted");
    let is_cut = board.front().is_some_and(|front| !front.marks.has(Marks::FIRST));
    assert_eq!(board.packets(), u64::from(count(Marks::FIRST)) + u64::from(is_cut), "packets");
    assert!(sender.cc.cwnd >= 1, "the window is zero");
    check_order(sender);
}

/// Checks that the list has all listed records, in order of transmission.
fn check_order<C>(sender: &Sender<C>) {
    let board = &sender.board;
    let mut listed = 0;
    let mut next = board.oldest();
    let mut last = 0;
    while let Some(number) = next {
        let record = board.get(number);
        assert!(record.marks.has(Marks::LISTED) && record.sent_us >= last, "{number} after {last}");
        last = record.sent_us;
        listed += 1;
        next = board.newer(number);
    }
    let marked = (board.first()..board.next()).filter(|number| board.get(*number).marks.has(Marks::LISTED)).count();
    assert_eq!(listed, marked, "all listed records are in the list");
}

/// First byte of a packet.
pub(super) fn byte(number: u64) -> u64 {
    1 + number * u64::from(MSS)
}

fn numbers(packet: &Transmission) -> impl Iterator<Item = u64> + use<> {
    let first = (packet.seq - 1) / u64::from(MSS);
    first..first + u64::from(packet.segments)
}
