//! Dialogues: segments that arrive, and what is said to them. Numbers are segments of 1448 bytes; times microseconds.

use super::replay::{MSS, settings};
use crate::packet::{Ecn, Segment};
use crate::time::{Span, Time};
use crate::transport::Settings;
use crate::transport::receiver::Receiver;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Write;

/// A receiver, and the clock.
struct Talk {
    receiver: Receiver,
    now: Time,
    /// TSval of the last answer.
    told_at: Time,
}

impl Talk {
    fn new(settings: &Settings) -> Self {
        let mut receiver = Receiver::new(settings, true, settings.prompt_reads);
        let now = Time::ZERO + ROUND_TRIP;
        receiver.establish(now, Time::ZERO, settings.ecn);
        receiver.set_rtt(ROUND_TRIP, Span::from_millis(220));
        Self { receiver, now, told_at: now }
    }

    /// After `segments` that used up the quick ACKs and all growth of a fixed window.
    fn settled(segments: u64) -> Self {
        let mut talk = Self::new(&fixed());
        for index in 0..segments {
            talk.wait(200);
            talk.hear(index, index + 1);
        }
        talk
    }

    fn wait(&mut self, micros: u64) {
        self.now += Span::from_micros(micros);
    }

    /// Segments `[from, to)` arrive as one.
    fn hear(&mut self, from: u64, to: u64) -> Vec<String> {
        self.hear_segment(&self.segment(from, to), Ecn::NotEct)
    }

    fn segment(&self, from: u64, to: u64) -> Segment {
        let mss = u64::from(MSS);
        Segment {
            seq: 1 + from * mss,
            len: u32::try_from((to - from) * mss).expect("a segment's size"),
            sent_at: self.now,
            echo: self.now - ROUND_TRIP,
            ..Segment::default()
        }
    }

    fn hear_segment(&mut self, segment: &Segment, ecn: Ecn) -> Vec<String> {
        if self.receiver.accepts(self.now, segment, 1) {
            self.receiver.on_segment(self.now, segment, ecn, 1);
        }
        self.answers()
    }

    /// Time passes up to the next timer.
    fn expire(&mut self) -> (u64, Vec<String>) {
        let before = self.now;
        self.now = self.receiver.next_timer();
        assert!(self.now.is_set(), "no timer is set");
        self.receiver.on_timer(self.now);
        (self.now.since(before).as_micros(), self.answers())
    }

    fn answers(&mut self) -> Vec<String> {
        core::iter::from_fn(|| self.receiver.ack_due(self.now).then(|| self.answer())).collect()
    }

    fn answer(&mut self) -> String {
        let mut ack = Segment::default();
        self.receiver.fill(self.now, &mut ack);
        self.told_at = ack.sent_at;
        let segments = |seq: u64| (seq - 1) / u64::from(MSS);
        let mut said = format!("{}", segments(ack.ack));
        for &(start, end) in ack.sack.blocks().iter() {
            write!(said, " {}-{}", segments(start), segments(end)).expect("a string takes it");
        }
        if ack.flags.ece {
            said += " ECE";
        }
        said
    }
}

/// No autotuning: after seven segments the window stays.
fn fixed() -> Settings {
    Settings { rcvbuf: Some(131_072), ..settings() }
}

const ROUND_TRIP: Span = Span::from_millis(20);
const NOTHING: [&str; 0] = [];

#[test]
fn the_first_segments_are_acknowledged_one_by_one() {
    let mut talk = Talk::new(&fixed());
    let mut said = Vec::new();
    for index in 0..29 {
        talk.wait(200);
        said.extend(talk.hear(index, index + 1));
    }
    let mut expected: Vec<String> = (1..=23).map(|ack| format!("{ack}")).collect();
    expected.extend(["25", "27", "29"].map(String::from));
    assert_eq!(said, expected);
}

#[test]
fn quickack_on_the_route_never_ends() {
    let mut talk = Talk::new(&Settings { quickack: true, ..fixed() });
    for index in 0..100 {
        talk.wait(200);
        assert_eq!(talk.hear(index, index + 1), [format!("{}", index + 1)]);
    }
}

/// 40 ms are ten jiffies, and the timer fires at the end of the slot after: here after 42.6 ms.
#[test]
fn a_lone_segment_is_acknowledged_by_the_timer() {
    let mut talk = Talk::settled(29);
    talk.wait(15_600);
    assert_eq!(talk.now.as_micros(), 41_400);
    assert_eq!(talk.hear(29, 30), NOTHING);
    assert_eq!(talk.expire(), (42_600, alloc::vec!["30".into()]));
    assert_eq!(talk.receiver.next_timer(), Time::NEVER);
}

#[test]
fn an_idle_sender_gets_quick_acks_again() {
    let mut talk = Talk::settled(29);
    talk.wait(300_000);
    assert_eq!(talk.hear(29, 30), ["30"]);
    assert_eq!(talk.hear(30, 31), ["31"]);
}

/// RFC 7323 section 4.3: a delayed ACK echoes the oldest segment that it acknowledges.
#[test]
fn a_delayed_ack_echoes_the_older_time() {
    let mut talk = Talk::settled(23);
    talk.wait(5_000);
    let older = talk.now;
    talk.hear(23, 24);
    talk.wait(5_000);
    let segment = talk.segment(24, 25);
    assert!(talk.receiver.accepts(talk.now, &segment, 1));
    talk.receiver.on_segment(talk.now, &segment, Ecn::NotEct, 1);
    assert!(talk.receiver.ack_due(talk.now));
    let mut ack = Segment::default();
    talk.receiver.fill(talk.now, &mut ack);
    assert_eq!((ack.ack, ack.echo), (1 + 25 * u64::from(MSS), older));
}

/// Three duplicate ACKs at once; then one each 1.1 ms (a twentieth of the round trip, 1 ms at most, and the slack);
/// the segment that fills the hole is acknowledged at once.
#[test]
fn duplicate_acks_are_compressed_after_three() {
    let mut talk = Talk::settled(29);
    for index in 30..33 {
        talk.wait(242);
        assert_eq!(talk.hear(index, index + 1), [format!("29 30-{}", index + 1)]);
    }
    for index in 33..38 {
        talk.wait(242);
        assert_eq!(talk.hear(index, index + 1), NOTHING);
    }
    let heard_at = talk.now;
    assert_eq!(talk.expire(), (1_100 - 4 * 242, alloc::vec!["29 30-38".into()]));
    assert_eq!(talk.told_at, heard_at, "nobody looks at the clock");
    talk.wait(100);
    assert_eq!(talk.hear(38, 39), NOTHING);
    talk.wait(100);
    assert_eq!(talk.hear(29, 30), ["39"]);
    assert_eq!(talk.receiver.next_timer(), Time::NEVER);
}

/// The second segment is acknowledged, and the timer of the first one's ACK stands: when it rings, what is kept back goes.
#[test]
fn a_timer_whose_ack_was_sent_flushes_compressed_acks() {
    let mut talk = Talk::settled(29);
    assert_eq!(talk.hear(29, 30), NOTHING);
    let rings = talk.receiver.next_timer();
    assert_eq!(talk.hear(30, 31), ["31"]);
    assert_eq!(talk.receiver.next_timer(), Time::NEVER);
    talk.now = rings - Span::from_micros(400);
    for index in 32..35 {
        assert_eq!(talk.hear(index, index + 1), [format!("31 32-{}", index + 1)]);
    }
    assert_eq!(talk.hear(35, 36), NOTHING);
    assert_eq!(talk.expire(), (400, alloc::vec!["31 32-36".into()]));
    // It has rung: the next ones wait their full time.
    assert_eq!(talk.hear(36, 37), NOTHING);
    assert_eq!(talk.expire().0, 1_100);
}

/// A third hole: blocks that were kept back are told before a new one displaces them.
#[test]
fn a_new_hole_flushes_what_was_kept_back() {
    let mut talk = Talk::settled(29);
    assert_eq!(talk.hear(30, 31), ["29 30-31"]);
    assert_eq!(talk.hear(32, 33), ["29 32-33 30-31"]);
    assert_eq!(talk.hear(33, 34), ["29 32-34 30-31"]);
    assert_eq!(talk.hear(34, 35), NOTHING);
    assert_eq!(talk.hear(36, 37), ["29 32-35 30-31"]);
    assert_eq!(talk.hear(37, 38), NOTHING);
    assert_eq!(talk.expire().1, ["29 36-38 32-35 30-31"]);
}

#[test]
fn what_came_twice_is_told_once() {
    let mut talk = Talk::settled(29);
    // All of it, before and behind a hole; then the half of it.
    assert_eq!(talk.hear(27, 28), ["29 27-28"]);
    assert_eq!(talk.hear(31, 33), ["29 31-33"]);
    assert_eq!(talk.hear(31, 32), ["29 31-32 31-33"]);
    assert_eq!(talk.hear(32, 34), ["29 32-33 31-34"]);
    assert_eq!(talk.hear(28, 30), ["30 28-29 31-34"]);
    assert_eq!(talk.hear(30, 32), ["34 31-32"]);
    assert_eq!(talk.hear(34, 35), ["35"]);
}

#[test]
fn marks_are_echoed_until_the_sender_answers() {
    let mut talk = Talk::new(&Settings { ecn: true, ..fixed() });
    for index in 0..29 {
        talk.wait(200);
        let segment = talk.segment(index, index + 1);
        talk.hear_segment(&segment, Ecn::Ect0);
    }
    let mut hear = |index: u64, ecn, cwr| {
        talk.wait(200);
        let mut segment = talk.segment(index, index + 1);
        segment.flags.cwr = cwr;
        talk.hear_segment(&segment, ecn)
    };
    // A mark is acknowledged at once, and the next segment too; then every second.
    assert_eq!(hear(29, Ecn::Ce, false), ["30 ECE"]);
    assert_eq!(hear(30, Ecn::Ect0, false), ["31 ECE"]);
    assert_eq!(hear(31, Ecn::Ce, false), NOTHING);
    assert_eq!(hear(32, Ecn::Ect0, false), ["33 ECE"]);
    assert_eq!(hear(33, Ecn::Ect0, true), ["34"]);
    assert_eq!(hear(34, Ecn::Ect0, false), NOTHING);
    // What is not capable is a retransmission.
    assert_eq!(hear(35, Ecn::NotEct, false), ["36"]);
    assert_eq!(hear(36, Ecn::Ect0, false), ["37"]);
    assert_eq!(hear(37, Ecn::Ect0, false), NOTHING);
}

/// The reader wakes for a quarter of the first window, 3620 bytes, so with each third segment.
#[test]
fn a_rare_reader_reads_three_segments_at_a_time() {
    let mut talk = Talk::new(&fixed());
    let mut read = Vec::new();
    for index in 0..9 {
        talk.hear(index, index + 1);
        read.push(talk.receiver.bytes_read() / u64::from(MSS));
    }
    assert_eq!(read, [0, 0, 3, 3, 3, 6, 6, 6, 9]);
}

#[test]
fn a_rare_reader_waits_for_no_more_than_is_left() {
    let mut talk = Talk::new(&fixed());
    talk.receiver.expect(4 * u64::from(MSS));
    talk.hear(0, 3);
    assert_eq!(talk.receiver.bytes_read(), 3 * u64::from(MSS));
    talk.hear(3, 4);
    assert_eq!(talk.receiver.bytes_read(), 4 * u64::from(MSS));
}

/// With offloads: packets of two segments weigh less for their payload, so half of the buffer is offered as 198/256.
/// The numbers are the kernel engine's (`offloads = true`, `rcvbuf = "64kb"`).
#[test]
fn super_packets_open_a_larger_window() {
    let mut talk = Talk::new(&Settings { prompt_reads: true, ..fixed() });
    let mut windows = Vec::new();
    for index in 0..8 {
        talk.wait(484);
        let segment = talk.segment(2 * index, 2 * index + 2);
        talk.receiver.on_segment(talk.now, &segment, Ecn::NotEct, 2);
        while talk.receiver.ack_due(talk.now) {
            let mut ack = Segment::default();
            talk.receiver.fill(talk.now, &mut ack);
            windows.push(ack.window);
        }
    }
    assert_eq!(windows, [69_880, 75_672, 81_464, 87_256, 93_048, 98_492, 98_492, 98_492]);
}

/// A pushed segment that is read leaves nothing behind: it is acknowledged then (`tcp_cleanup_rbuf`).
#[test]
fn a_push_is_acknowledged_when_it_is_read() {
    for (prompt_reads, expected) in [(true, alloc::vec!["30"]), (false, Vec::new())] {
        let mut talk = Talk::settled(29);
        talk.receiver.reader = crate::transport::receiver::reader::Reader::new(prompt_reads);
        talk.receiver.reader.take_all(talk.receiver.rcv_nxt);
        if !prompt_reads {
            talk.receiver.reader.reconsider(&talk.receiver.space, 65_160, 0);
        }
        let mut segment = talk.segment(29, 30);
        segment.flags.psh = true;
        assert_eq!(talk.hear_segment(&segment, Ecn::NotEct), expected);
    }
}

/// A window that a hole has used up is one segment when the hole is filled, and open again as soon as the data are read.
#[test]
fn a_full_window_opens_when_it_is_read() {
    let mut talk = Talk::new(&Settings { rcvbuf: Some(16 * 2_280), prompt_reads: true, ..settings() });
    let window = |talk: &mut Talk| {
        let mut ack = Segment::default();
        talk.receiver.fill(talk.now, &mut ack);
        ack.window / MSS
    };
    (0..30).for_each(|index| drop(talk.hear(index, index + 1)));
    // The far end first: so no packet can join the one before, and each takes its own memory.
    let last = 29 + u64::from(talk.receiver.space.open(talk.receiver.rcv_nxt) / MSS);
    (31..=last).rev().for_each(|index| drop(talk.hear(index, index + 1)));
    let segment = talk.segment(30, 31);
    talk.receiver.on_segment(talk.now, &segment, Ecn::NotEct, 1);
    assert!(talk.receiver.ack_due(talk.now));
    assert_eq!(window(&mut talk), 1);
    assert!(talk.receiver.ack_due(talk.now), "the read opens the window");
    assert!(window(&mut talk) >= 10);
}

#[test]
fn a_fin_ends_the_stream_in_its_place() {
    let mut talk = Talk::settled(29);
    let mut last = talk.segment(30, 31);
    last.flags.fin = true;
    assert_eq!(talk.hear_segment(&last, Ecn::NotEct), ["29 30-31"]);
    assert!(!talk.receiver.is_closed());
    talk.hear(29, 30);
    assert!(talk.receiver.is_finished());
    assert_eq!(talk.receiver.bytes(), 31 * u64::from(MSS));
    assert_eq!(talk.receiver.bytes_read(), 31 * u64::from(MSS));
    // The FIN once more: its ACK was lost.
    let again = Segment { seq: last.end() - 1, len: 0, ..last };
    assert_eq!(talk.hear_segment(&again, Ecn::NotEct), ["31 31-31"]);
}

/// Segments that can't be right are answered twice a second, data each time.
#[test]
fn what_is_out_of_the_window_is_answered() {
    let mut talk = Talk::settled(29);
    let stray = Segment { seq: 1, ack: 1, sent_at: talk.now, ..Segment::default() };
    assert_eq!(talk.hear_segment(&stray, Ecn::NotEct), ["29"]);
    assert_eq!(talk.hear_segment(&stray, Ecn::NotEct), NOTHING);
    talk.wait(504_000);
    let stray = Segment { sent_at: talk.now, ..stray };
    assert_eq!(talk.hear_segment(&stray, Ecn::NotEct), ["29"]);
    assert_eq!(talk.hear(3, 4), ["29 3-4"]);
    assert_eq!(talk.hear(200, 201), ["29"]);
}

/// Requests come one by one; after the first answer ACKs wait for the next one.
#[test]
fn answers_carry_the_acks_of_questions() {
    let mut talk = Talk::settled(0);
    assert_eq!(talk.hear(0, 1), ["1"]);
    talk.receiver.on_data_sent(talk.now);
    talk.wait(1_000);
    assert_eq!(talk.hear(1, 2), NOTHING);
    assert_eq!(talk.answer(), "2");
    talk.wait(1_000);
    assert_eq!(talk.hear(2, 3), NOTHING);
    // No answer: the timer sends the ACK, and the session is no dialogue any more.
    assert_eq!(talk.expire().1, ["3"]);
    talk.wait(1_000);
    assert_eq!(talk.hear(3, 4), ["4"]);
}
