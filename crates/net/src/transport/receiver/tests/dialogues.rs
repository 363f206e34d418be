//! Dialogues: arriving segments and the ACKs that they cause. Numbers are segments of 1448 bytes; times are
//! microseconds.

use super::replay::{MSS, settings, take_ack};
use crate::packet::{Ecn, Segment};
use crate::time::{Span, Time};
use crate::transport::Settings;
use crate::transport::receiver::Receiver;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Write;

/// A receiver and the clock.
struct Harness {
    receiver: Receiver,
    now: Time,
    /// TSval of the last ACK.
    last_tsval: Time,
}

impl Harness {
    fn new(settings: &Settings) -> Self {
        let mut receiver = Receiver::new(settings, true, settings.prompt_reads);
        let now = Time::ZERO + ROUND_TRIP;
        receiver.establish(now, Time::ZERO, settings.ecn);
        receiver.set_rtt(ROUND_TRIP, Span::from_millis(220));
        Self { receiver, now, last_tsval: now }
    }

    /// State after `segments` that used up the quick ACKs and all growth of a fixed window.
    fn settled(segments: u64) -> Self {
        let mut harness = Self::new(&fixed());
        for index in 0..segments {
            harness.wait(200);
            harness.receive(index, index + 1);
        }
        harness
    }

    fn wait(&mut self, micros: u64) {
        self.now += Span::from_micros(micros);
    }

    /// Segments `[from, to)` arrive as one.
    fn receive(&mut self, from: u64, to: u64) -> Vec<String> {
        self.receive_segment(&self.segment(from, to), Ecn::NotEct)
    }

    fn segment(&self, from: u64, to: u64) -> Segment {
        let mss = u64::from(MSS);
        Segment {
            seq: 1 + from * mss,
            len: u32::try_from((to - from) * mss).expect("the size of a segment"),
            sent_at: self.now,
            echo: self.now - ROUND_TRIP,
            ..Segment::default()
        }
    }

    fn receive_segment(&mut self, segment: &Segment, ecn: Ecn) -> Vec<String> {
        if self.receiver.accepts(self.now, segment, 1) {
            self.receiver.on_segment(self.now, segment, ecn, 1);
        }
        self.answers()
    }

    /// Advances to the next timer.
    fn expire(&mut self) -> (u64, Vec<String>) {
        let before = self.now;
        self.now = self.receiver.next_timer();
        assert!(self.now.is_set(), "no timer is set");
        self.receiver.on_timer(self.now);
        (self.now.since(before).as_micros(), self.answers())
    }

    fn answers(&mut self) -> Vec<String> {
        core::iter::from_fn(|| take_ack(&mut self.receiver, self.now).then(|| self.answer())).collect()
    }

    fn answer(&mut self) -> String {
        let mut ack = Segment::default();
        self.receiver.fill(self.now, &mut ack);
        self.last_tsval = ack.sent_at;
        let segments = |seq: u64| (seq - 1) / u64::from(MSS);
        let mut reply = format!("{}", segments(ack.ack));
        for &(start, end) in ack.sack.blocks().iter() {
            write!(reply, " {}-{}", segments(start), segments(end)).expect("writing to a string succeeds");
        }
        if ack.flags.ece {
            reply += " ECE";
        }
        reply
    }
}

/// No autotuning: after seven segments the window is constant.
fn fixed() -> Settings {
    Settings { rcvbuf: Some(131_072), ..settings() }
}

const ROUND_TRIP: Span = Span::from_millis(20);
const NOTHING: [&str; 0] = [];

#[test]
fn the_first_segments_are_acknowledged_one_by_one() {
    let mut harness = Harness::new(&fixed());
    let mut reply = Vec::new();
    for index in 0..29 {
        harness.wait(200);
        reply.extend(harness.receive(index, index + 1));
    }
    let mut expected: Vec<String> = (1..=23).map(|ack| format!("{ack}")).collect();
    expected.extend(["25", "27", "29"].map(String::from));
    assert_eq!(reply, expected);
}

#[test]
fn quickack_on_the_route_never_ends() {
    let mut harness = Harness::new(&Settings { quickack: true, ..fixed() });
    for index in 0..100 {
        harness.wait(200);
        assert_eq!(harness.receive(index, index + 1), [format!("{}", index + 1)]);
    }
}

/// 40 ms are ten jiffies, and the timer fires at the end of the slot after: here after 42.6 ms.
#[test]
fn a_lone_segment_is_acknowledged_by_the_timer() {
    let mut harness = Harness::settled(29);
    harness.wait(15_600);
    assert_eq!(harness.now.as_micros(), 41_400);
    assert_eq!(harness.receive(29, 30), NOTHING);
    assert_eq!(harness.expire(), (42_600, alloc::vec!["30".into()]));
    assert_eq!(harness.receiver.next_timer(), Time::NEVER);
}

#[test]
fn an_idle_sender_gets_quick_acks_again() {
    let mut harness = Harness::settled(29);
    harness.wait(300_000);
    assert_eq!(harness.receive(29, 30), ["30"]);
    assert_eq!(harness.receive(30, 31), ["31"]);
}

/// RFC 7323 section 4.3: a delayed ACK echoes the oldest segment that it acknowledges.
#[test]
fn a_delayed_ack_echoes_the_older_time() {
    let mut harness = Harness::settled(23);
    harness.wait(5_000);
    let older = harness.now;
    harness.receive(23, 24);
    harness.wait(5_000);
    let segment = harness.segment(24, 25);
    assert!(harness.receiver.accepts(harness.now, &segment, 1));
    harness.receiver.on_segment(harness.now, &segment, Ecn::NotEct, 1);
    assert!(take_ack(&mut harness.receiver, harness.now));
    let mut ack = Segment::default();
    harness.receiver.fill(harness.now, &mut ack);
    assert_eq!((ack.ack, ack.echo), (1 + 25 * u64::from(MSS), older));
}

/// Three duplicate ACKs at once; then one each 1.1 ms (a twentieth of the round-trip time, at most 1 ms, and the
/// slack); the segment that fills the hole is acknowledged at once.
#[test]
fn duplicate_acks_are_compressed_after_three() {
    let mut harness = Harness::settled(29);
    for index in 30..33 {
        harness.wait(242);
        assert_eq!(harness.receive(index, index + 1), [format!("29 30-{}", index + 1)]);
    }
    for index in 33..38 {
        harness.wait(242);
        assert_eq!(harness.receive(index, index + 1), NOTHING);
    }
    let last_event_at = harness.now;
    assert_eq!(harness.expire(), (1_100 - 4 * 242, alloc::vec!["29 30-38".into()]));
    assert_eq!(harness.last_tsval, last_event_at, "the clock is not updated");
    harness.wait(100);
    assert_eq!(harness.receive(38, 39), NOTHING);
    harness.wait(100);
    assert_eq!(harness.receive(29, 30), ["39"]);
    assert_eq!(harness.receiver.next_timer(), Time::NEVER);
}

/// The second segment is acknowledged, and the timer of the first one's ACK keeps running: when it fires, compressed
/// ACKs are sent.
#[test]
fn a_timer_whose_ack_was_sent_flushes_compressed_acks() {
    let mut harness = Harness::settled(29);
    assert_eq!(harness.receive(29, 30), NOTHING);
    let rings = harness.receiver.next_timer();
    assert_eq!(harness.receive(30, 31), ["31"]);
    assert_eq!(harness.receiver.next_timer(), Time::NEVER);
    harness.now = rings - Span::from_micros(400);
    for index in 32..35 {
        assert_eq!(harness.receive(index, index + 1), [format!("31 32-{}", index + 1)]);
    }
    assert_eq!(harness.receive(35, 36), NOTHING);
    assert_eq!(harness.expire(), (400, alloc::vec!["31 32-36".into()]));
    // It has fired: the next ones wait their full time.
    assert_eq!(harness.receive(36, 37), NOTHING);
    assert_eq!(harness.expire().0, 1_100);
}

/// A third hole: held back blocks are reported before a new one displaces them.
#[test]
fn a_new_hole_flushes_held_back_blocks() {
    let mut harness = Harness::settled(29);
    assert_eq!(harness.receive(30, 31), ["29 30-31"]);
    assert_eq!(harness.receive(32, 33), ["29 32-33 30-31"]);
    assert_eq!(harness.receive(33, 34), ["29 32-34 30-31"]);
    assert_eq!(harness.receive(34, 35), NOTHING);
    assert_eq!(harness.receive(36, 37), ["29 32-35 30-31"]);
    assert_eq!(harness.receive(37, 38), NOTHING);
    assert_eq!(harness.expire().1, ["29 36-38 32-35 30-31"]);
}

/// The third block grows: the ACK that held back blocks need has it grown, in its old place.
#[test]
fn a_third_block_that_grows_flushes_held_back_blocks() {
    let mut harness = Harness::settled(29);
    assert_eq!(harness.receive(30, 31), ["29 30-31"]);
    assert_eq!(harness.receive(33, 34), ["29 33-34 30-31"]);
    assert_eq!(harness.receive(36, 37), ["29 36-37 33-34 30-31"]);
    assert_eq!(harness.receive(37, 38), NOTHING);
    assert_eq!(harness.receive(31, 32), ["29 36-38 33-34 30-32"]);
    assert_eq!(harness.receive(32, 33), NOTHING);
    assert_eq!(harness.expire().1, ["29 30-34 36-38"]);
}

#[test]
fn duplicates_are_reported_once() {
    let mut harness = Harness::settled(29);
    // All of it, before and behind a hole; then half of it.
    assert_eq!(harness.receive(27, 28), ["29 27-28"]);
    assert_eq!(harness.receive(31, 33), ["29 31-33"]);
    assert_eq!(harness.receive(31, 32), ["29 31-32 31-33"]);
    assert_eq!(harness.receive(32, 34), ["29 32-33 31-34"]);
    assert_eq!(harness.receive(28, 30), ["30 28-29 31-34"]);
    assert_eq!(harness.receive(30, 32), ["34 31-32"]);
    assert_eq!(harness.receive(34, 35), ["35"]);
}

#[test]
fn marks_are_echoed_until_the_sender_answers() {
    let mut harness = Harness::new(&Settings { ecn: true, ..fixed() });
    for index in 0..29 {
        harness.wait(200);
        let segment = harness.segment(index, index + 1);
        harness.receive_segment(&segment, Ecn::Ect0);
    }
    let mut receive = |index: u64, ecn, cwr| {
        harness.wait(200);
        let mut segment = harness.segment(index, index + 1);
        segment.flags.cwr = cwr;
        harness.receive_segment(&segment, ecn)
    };
    // A mark is acknowledged at once, and the next segment too; then every second.
    assert_eq!(receive(29, Ecn::Ce, false), ["30 ECE"]);
    assert_eq!(receive(30, Ecn::Ect0, false), ["31 ECE"]);
    assert_eq!(receive(31, Ecn::Ce, false), NOTHING);
    assert_eq!(receive(32, Ecn::Ect0, false), ["33 ECE"]);
    assert_eq!(receive(33, Ecn::Ect0, true), ["34"]);
    assert_eq!(receive(34, Ecn::Ect0, false), NOTHING);
    // A packet that is not ECN-capable is a retransmission.
    assert_eq!(receive(35, Ecn::NotEct, false), ["36"]);
    assert_eq!(receive(36, Ecn::Ect0, false), ["37"]);
    assert_eq!(receive(37, Ecn::Ect0, false), NOTHING);
}

/// The reader wakes for a quarter of the first window, 3620 bytes, so with each third segment.
#[test]
fn an_infrequent_reader_reads_three_segments_at_a_time() {
    let mut harness = Harness::new(&fixed());
    let mut read = Vec::new();
    for index in 0..9 {
        harness.receive(index, index + 1);
        read.push(harness.receiver.bytes_read() / u64::from(MSS));
    }
    assert_eq!(read, [0, 0, 3, 3, 3, 6, 6, 6, 9]);
}

#[test]
fn an_infrequent_reader_waits_for_no_more_than_is_left() {
    let mut harness = Harness::new(&fixed());
    harness.receiver.expect(4 * u64::from(MSS));
    harness.receive(0, 3);
    assert_eq!(harness.receiver.bytes_read(), 3 * u64::from(MSS));
    harness.receive(3, 4);
    assert_eq!(harness.receiver.bytes_read(), 4 * u64::from(MSS));
}

/// With offloads: packets of two segments take less memory per payload, so half of the buffer is offered as 198/256.
/// The numbers are the kernel engine's (`offloads = true`, `rcvbuf = "64KiB"`).
#[test]
fn super_packets_open_a_larger_window() {
    let mut harness = Harness::new(&Settings { prompt_reads: true, ..fixed() });
    let mut windows = Vec::new();
    for index in 0..8 {
        harness.wait(484);
        let segment = harness.segment(2 * index, 2 * index + 2);
        harness.receiver.on_segment(harness.now, &segment, Ecn::NotEct, 2);
        while take_ack(&mut harness.receiver, harness.now) {
            let mut ack = Segment::default();
            harness.receiver.fill(harness.now, &mut ack);
            windows.push(ack.window);
        }
    }
    assert_eq!(windows, [69_880, 75_672, 81_464, 87_256, 93_048, 98_492, 98_492, 98_492]);
}

/// A pushed segment that is read and leaves the buffer empty is acknowledged then (`tcp_cleanup_rbuf`).
#[test]
fn a_push_is_acknowledged_when_it_is_read() {
    for (prompt_reads, expected) in [(true, alloc::vec!["30"]), (false, Vec::new())] {
        let mut harness = Harness::settled(29);
        harness.receiver.reader = crate::transport::receiver::reader::Reader::new(prompt_reads);
        harness.receiver.reader.take_all(harness.receiver.rcv_nxt);
        if !prompt_reads {
            harness.receiver.reader.reconsider(&harness.receiver.space, 65_160, 0);
        }
        let mut segment = harness.segment(29, 30);
        segment.flags.psh = true;
        assert_eq!(harness.receive_segment(&segment, Ecn::NotEct), expected);
    }
}

/// A window used up behind a hole opens a little when the hole is filled, since the packets are merged then, and wholly
/// as soon as the data are read.
#[test]
fn a_full_window_opens_when_it_is_read() {
    let mut harness = Harness::new(&Settings { rcvbuf: Some(16 * 2_280), prompt_reads: true, ..settings() });
    let window = |harness: &mut Harness| {
        let mut ack = Segment::default();
        harness.receiver.fill(harness.now, &mut ack);
        ack.window / MSS
    };
    (0..30).for_each(|index| drop(harness.receive(index, index + 1)));
    // The far end first, so that no packet can be merged with the one before, and each takes its own memory.
    let last = 29 + u64::from(harness.receiver.space.open(harness.receiver.rcv_nxt) / MSS);
    (31..=last).rev().for_each(|index| drop(harness.receive(index, index + 1)));
    let segment = harness.segment(30, 31);
    harness.receiver.on_segment(harness.now, &segment, Ecn::NotEct, 1);
    assert!(take_ack(&mut harness.receiver, harness.now));
    assert_eq!(window(&mut harness), 6);
    assert!(take_ack(&mut harness.receiver, harness.now), "the read opens the window");
    assert!(window(&mut harness) >= 10);
}

#[test]
fn a_fin_ends_the_stream_at_its_sequence_number() {
    let mut harness = Harness::settled(29);
    let mut last = harness.segment(30, 31);
    last.flags.fin = true;
    assert_eq!(harness.receive_segment(&last, Ecn::NotEct), ["29 30-31"]);
    assert!(!harness.receiver.is_closed());
    harness.receive(29, 30);
    assert!(harness.receiver.is_finished());
    assert_eq!(harness.receiver.bytes(), 31 * u64::from(MSS));
    assert_eq!(harness.receiver.bytes_read(), 31 * u64::from(MSS));
    // The FIN again: its ACK was lost.
    let repeated = Segment { seq: last.end() - 1, len: 0, ..last };
    assert_eq!(harness.receive_segment(&repeated, Ecn::NotEct), ["31 31-31"]);
}

/// Invalid segments are answered twice a second, those with data each time.
#[test]
fn segments_outside_the_window_are_answered() {
    let mut harness = Harness::settled(29);
    let stray = Segment { seq: 1, ack: 1, sent_at: harness.now, ..Segment::default() };
    assert_eq!(harness.receive_segment(&stray, Ecn::NotEct), ["29"]);
    assert_eq!(harness.receive_segment(&stray, Ecn::NotEct), NOTHING);
    harness.wait(504_000);
    let stray = Segment { sent_at: harness.now, ..stray };
    assert_eq!(harness.receive_segment(&stray, Ecn::NotEct), ["29"]);
    assert_eq!(harness.receive(3, 4), ["29 3-4"]);
    assert_eq!(harness.receive(200, 201), ["29"]);
}

/// Requests arrive one by one; after the first reply ACKs wait for the next one.
#[test]
fn replies_carry_the_acks_of_requests() {
    let mut harness = Harness::settled(0);
    assert_eq!(harness.receive(0, 1), ["1"]);
    harness.receiver.on_data_sent(harness.now);
    harness.wait(1_000);
    assert_eq!(harness.receive(1, 2), NOTHING);
    assert_eq!(harness.answer(), "2");
    harness.wait(1_000);
    assert_eq!(harness.receive(2, 3), NOTHING);
    // No reply: the timer sends the ACK, and the connection leaves pingpong mode.
    assert_eq!(harness.expire().1, ["3"]);
    harness.wait(1_000);
    assert_eq!(harness.receive(3, 4), ["4"]);
}
