//! packetdrill's scripts of CUBIC with fq (google/packetdrill, gtests/net/tcp), run on a real sender.
//!
//! All connections have 100 ms. The scripts assert the windows and times. In the bulk scripts segments have 1000 bytes
//! and an ACK for two arrives every 100 ms, so that a queue grows on the path. Their Linux counted rounds only from 16
//! packets on; 6.12 does not, so HyStart is turned on there.

use super::Cubic;
use crate::cc::testing::ms;
use crate::packet::{Flags, Segment, TCP_HEADERS_BYTES};
use crate::time::{Span, Time};
use crate::transport::{Sender, Settings, Transmission, testing};
use alloc::collections::VecDeque;
use alloc::vec::Vec;

struct Script {
    sender: Sender<Cubic>,
    now: Time,
    acked: u64,
    /// In fq.
    queued: VecDeque<Transmission>,
    /// First and last byte of each departed packet, and the millisecond.
    departed: Vec<(u64, u64, u64)>,
}

impl Script {
    /// An established connection; the application has written `bytes`.
    fn new(mss: u32, min_tso_segments: u32, bytes: u64) -> Self {
        let fq =
            Settings { queue_paces: true, min_tso_segments, slow_start_after_idle: false, ..testing::settings(mss) };
        let sender = Sender::new(&fq, Cubic::default());
        let mut script = Self { sender, now: START, acked: 0, queued: VecDeque::new(), departed: Vec::new() };
        script.sender.established(START, Some(Span::from_millis(100)), WINDOW, true);
        script.write(bytes);
        script
    }

    fn bulk(bytes: u64) -> Self {
        Self::new(1_000, 4, bytes)
    }

    fn write(&mut self, bytes: u64) {
        self.sender.write(self.now, bytes);
        self.send();
    }

    /// fq releases a packet at the departure time that the sender set.
    fn send(&mut self) {
        while let Some(packet) = testing::poll(&mut self.sender, self.now) {
            self.queued.push_back(packet);
        }
    }

    /// Advances time by `millis`.
    fn wait(&mut self, millis: u64) {
        let until = self.now + Span::from_millis(millis);
        loop {
            let departure = self.queued.front().map_or(Time::NEVER, |packet| packet.departs_at);
            let next = departure.min(self.sender.next_timer());
            if next > until {
                break;
            }
            self.now = self.now.max(next);
            if departure <= self.now {
                let packet = self.queued.pop_front().expect("a packet departs");
                let headers = u32::from(packet.segments) * TCP_HEADERS_BYTES;
                if self.sender.on_departed(packet.len + headers, 1) {
                    self.sender.on_resumed(self.now);
                }
                let end = packet.seq + u64::from(packet.len);
                self.departed.push((packet.seq, end, self.now.since(START).as_micros() / 1_000));
            } else {
                self.sender.on_timer(self.now);
            }
            self.send();
        }
        self.now = until;
    }

    /// Acknowledges everything before `byte`; returns the window.
    fn ack(&mut self, byte: u64) -> u32 {
        let flags = Flags { ack: true, ..Flags::default() };
        let ack = Segment { seq: 1, ack: byte, window: WINDOW, flags, ..Segment::default() };
        self.sender.on_ack(self.now, &ack, false);
        self.send();
        self.sender.cc().cwnd
    }

    /// Acknowledges two segments at a time up to `kilobytes`; returns the window.
    fn ack_to(&mut self, kilobytes: u64) -> u32 {
        while self.acked < kilobytes * 1_000 {
            self.wait(100);
            self.acked += 2_000;
            self.sender.controller_mut().tuning.hystart = self.sender.cc().cwnd >= 16;
            self.ack(1 + self.acked);
        }
        self.sender.cc().cwnd
    }
}

/// cubic-bulk-166k.
#[test]
fn a_bulk_flow_leaves_slow_start_at_48_and_grows_by_the_curve() {
    let mut bulk = Script::bulk(400_000);
    assert_eq!([10, 20, 30, 38].map(|kilobytes| bulk.ack_to(kilobytes)), [20, 30, 40, 48]);
    assert_eq!([60, 80, 100, 120].map(|kilobytes| bulk.ack_to(kilobytes)), [49, 50, 52, 58]);
    assert_eq!(bulk.sender.cc().ssthresh, 48);
    for kilobytes in (122..=400).step_by(2) {
        let window = u32::try_from(kilobytes).unwrap() / 2 - 2;
        assert_eq!(bulk.ack_to(kilobytes), window, "a packet for two acknowledged, {kilobytes} kB");
    }
}

/// cubic-bulk-166k-idle-restart.
#[test]
fn idle_time_gives_no_credit() {
    let mut bulk = Script::bulk(40_000);
    assert_eq!([10, 20, 30, 38].map(|kilobytes| bulk.ack_to(kilobytes)), [20, 30, 40, 48]);
    bulk.ack_to(40);
    bulk.wait(4_000);
    bulk.write(160_000);
    assert_eq!([60, 80, 100, 120].map(|kilobytes| bulk.ack_to(kilobytes)), [48, 49, 52, 58]);
}

/// slow-start-fq-ack-per-2pkt: TCP Small Queues do not keep the window from growing, and fq spaces the packets.
#[test]
fn slow_start_is_spaced() {
    let mut script = Script::new(1_460, 2, 40_000);
    script.wait(105);
    let mut windows = Vec::new();
    for (byte, pause) in [(2_921, 3), (5_841, 2), (8_761, 9), (11_681, 1), (14_601, 13)] {
        windows.push(script.ack(byte));
        script.wait(pause);
    }
    assert_eq!(windows, [12, 14, 16, 18, 20]);
    let linux = [0, 0, 0, 0, 0, 105, 109, 117, 124, 131];
    assert_eq!(script.departed.len(), linux.len(), "{:?}", script.departed);
    for ((start, end, at), (number, expected)) in script.departed.into_iter().zip((0..).zip(linux)) {
        assert_eq!((start, end), (1 + number * 2_920, 2_921 + number * 2_920));
        assert!(at.abs_diff(expected) <= 4, "bytes from {start} on departed after {at} ms, expected {expected}");
    }
}

const START: Time = ms(1_000);
const WINDOW: u32 = 514 << 10;
