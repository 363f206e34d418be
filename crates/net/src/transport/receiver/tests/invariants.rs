//! Invariants for any arrival: any order, any overlap, any size, any reader.

use super::replay::{settings, take_ack};
use crate::packet::{Ecn, Segment};
use crate::time::{Span, Time};
use crate::transport::Settings;
use crate::transport::receiver::Receiver;
use alloc::vec;
use alloc::vec::Vec;
use proptest::prelude::*;

/// Bytes of the stream in these tests.
const STREAM: u64 = 60_000;

/// One arrival: start, length, time since the previous one (µs), and ECN field.
type Arrival = (u64, u32, u64, Ecn);

fn arrivals() -> impl Strategy<Value = Vec<Arrival>> {
    let ecn = prop_oneof![4 => Just(Ecn::Ect0), 1 => Just(Ecn::Ce), 1 => Just(Ecn::NotEct)];
    let aligned = (0..42u64).prop_map(|index| (index * 1_448, 1_448));
    let crooked = (0..STREAM, 1..3_000u32);
    let small = (0..STREAM, 1..60u32);
    let position = prop_oneof![4 => aligned, 2 => crooked, 1 => small];
    let entry = (position, 0..3_000u64, ecn).prop_map(|((start, len), gap, ecn)| (start, len, gap, ecn));
    proptest::collection::vec(entry, 1..150)
}

/// Which bytes were delivered to the receiver and not refused for lack of window.
struct Delivered {
    receiver: Receiver,
    now: Time,
    here: Vec<bool>,
    contiguous: u64,
    acked: u64,
    edge: u64,
}

impl Delivered {
    fn new(settings: &Settings) -> Self {
        let mut receiver = Receiver::new(settings, true, settings.prompt_reads);
        let now = Time::ZERO + Span::from_millis(20);
        let edge = 1 + u64::from(receiver.first_window());
        receiver.establish(now, Time::ZERO, true);
        Self {
            receiver,
            now,
            here: vec![false; usize::try_from(STREAM).unwrap() + 3_000],
            contiguous: 1,
            acked: 1,
            edge,
        }
    }

    /// The end of what arrived without a hole.
    fn extend(&mut self) {
        while self.here[usize::try_from(self.contiguous - 1).unwrap()] {
            self.contiguous += 1;
        }
    }

    fn arrive(&mut self, (start, len, gap, ecn): Arrival) {
        let until = self.now + Span::from_micros(gap);
        self.expire_before(until);
        self.now = until;
        let segment = Segment { seq: 1 + start, len, sent_at: self.now, echo: self.now, ..Segment::default() };
        for byte in start..start + u64::from(len) {
            self.here[usize::try_from(byte).unwrap()] = true;
        }
        self.extend();
        if self.receiver.accepts(self.now, &segment, 1) {
            self.receiver.on_segment(self.now, &segment, ecn, 1);
        }
        self.answer();
    }

    fn expire_before(&mut self, until: Time) {
        while self.receiver.next_timer() < until {
            self.now = self.receiver.next_timer();
            self.receiver.on_timer(self.now);
            self.answer();
        }
    }

    fn answer(&mut self) {
        let mut count = 0;
        while take_ack(&mut self.receiver, self.now) {
            let mut ack = Segment::default();
            self.receiver.fill(self.now, &mut ack);
            self.check(&ack);
            count += 1;
            assert!(count <= 3, "an arrival is answered forever");
        }
        assert_eq!(self.receiver.rcv_nxt, self.contiguous, "all contiguous data is in order");
        assert!(self.receiver.bytes_read() < self.receiver.rcv_nxt);
        let waiting = self.receiver.rcv_nxt > self.acked;
        assert!(!waiting || self.receiver.next_timer().is_set(), "unacknowledged data has a timer");
    }

    fn check(&mut self, ack: &Segment) {
        assert!(ack.ack >= self.acked, "ACKs move forward");
        assert_eq!(ack.ack, self.contiguous);
        self.acked = ack.ack;
        let edge = ack.ack + u64::from(ack.window);
        assert!(edge >= self.edge, "the window's right edge moved back from {} to {edge}", self.edge);
        self.edge = edge;
        self.check_blocks(ack);
    }

    fn check_blocks(&self, ack: &Segment) {
        let blocks = ack.sack.blocks();
        let is_duplicate = |&(start, end): &(u64, u64)| {
            start < ack.ack || blocks[1..].iter().any(|&(from, to)| from <= start && end <= to)
        };
        let reported = if blocks.first().is_some_and(is_duplicate) { &blocks[1..] } else { &blocks };
        for (index, &(start, end)) in reported.iter().enumerate() {
            assert!(ack.ack < start && start < end, "{blocks:?} above {}", ack.ack);
            let held = &self.here[usize::try_from(start - 1).unwrap()..usize::try_from(end - 1).unwrap()];
            assert!(held.iter().all(|byte| *byte), "{start}-{end} is not held");
            let apart = reported[index + 1..].iter().all(|&(from, to)| end < from || to < start);
            assert!(apart, "{blocks:?} overlap");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever arrives within the window: contiguous data is in order and read once, ACKs and windows only move
    /// forward, SACK reports what is held, and nothing waits without a timer.
    #[test]
    fn any_arrival_is_put_in_order(arrivals in arrivals(), prompt_reads: bool, quickack: bool) {
        let mut delivered = Delivered::new(&Settings { quickack, prompt_reads, ..settings() });
        for arrival in arrivals {
            delivered.arrive(arrival);
        }
        // The missing data finally arrives.
        for start in (0..STREAM).step_by(1_448) {
            delivered.arrive((start, 1_448, 500, Ecn::NotEct));
        }
        let silence = delivered.now + Span::from_secs(1);
        delivered.expire_before(silence);
        prop_assert_eq!(delivered.acked, delivered.contiguous);
        prop_assert!(delivered.receiver.bytes() >= STREAM);
    }

    /// A small fixed buffer may refuse data; a sender that respects the window and retransmits still delivers
    /// everything.
    #[test]
    fn a_small_buffer_delivers_everything(kib in 8..64u64, prompt_reads: bool, sizes in proptest::collection::vec(1..1_448u32, 1..40)) {
        let settings = Settings { rcvbuf: Some(kib << 10), prompt_reads, ..settings() };
        let mut receiver = Receiver::new(&settings, true, prompt_reads);
        let mut now = Time::ZERO + Span::from_millis(20);
        let mut edge = 1 + u64::from(receiver.first_window());
        receiver.establish(now, Time::ZERO, false);
        let (mut next, mut acked, mut rounds) = (1, 1, 0);
        let mut sizes = sizes.iter().copied().cycle();
        while acked <= STREAM {
            now += Span::from_millis(1);
            rounds += 1;
            prop_assert!(rounds < 100_000, "stalled at {} with window to {}", acked, edge);
            let room = edge.saturating_sub(next);
            let len = u64::from(sizes.next().unwrap()).min(room);
            if len == 0 {
                next = acked;
            }
            // A closed window is probed with one byte.
            let len = if acked == edge { 1 } else { len };
            let segment = Segment { seq: next, len: u32::try_from(len).unwrap(), sent_at: now, ..Segment::default() };
            next += len;
            receiver.on_timer(now);
            if receiver.accepts(now, &segment, 1) {
                receiver.on_segment(now, &segment, Ecn::NotEct, 1);
            }
            while take_ack(&mut receiver, now) {
                let mut ack = Segment::default();
                receiver.fill(now, &mut ack);
                acked = ack.ack;
                edge = edge.max(ack.ack + u64::from(ack.window));
            }
        }
        prop_assert!(receiver.bytes() >= STREAM);
    }
}
