//! Replays of the kernel engine's runs: a sender in slow start behind a link, and every ACK that it received.
//!
//! The tables were sampled each 100 µs from Linux 6.12 in virtual time (`--engine kernel`): a path of 50 Mbit/s and 20
//! ms, one Reno flow, no losses in the part shown. A row has the segments acknowledged, and the window of the ACK.

use crate::packet::{Ecn, Segment};
use crate::rate::Rate;
use crate::time::{Span, Time};
use crate::transport::Settings;
use crate::transport::receiver::Receiver;
use crate::transport::testing;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

pub const MSS: u32 = 1_448;

pub fn settings() -> Settings {
    testing::settings(MSS)
}

/// Whether an ACK is to be sent now; the application reads as soon as it is woken.
pub fn take_ack(receiver: &mut Receiver, now: Time) -> bool {
    receiver.take_ack(now) || {
        receiver.read(now);
        receiver.take_ack(now)
    }
}

/// Runs slow start against a receiver; returns each ACK as segments and window.
fn play(settings: &Settings, until: Time) -> Vec<(u64, u32)> {
    let rate = Rate::from_bits(50_000_000);
    let round_trip = Span::from_millis(20);
    let mut receiver = Receiver::new(settings, true, settings.prompt_reads);
    let start = Time::ZERO + round_trip;
    receiver.establish(start, Time::ZERO, false);
    receiver.set_rtt(round_trip, Span::from_millis(220));
    let mss = u64::from(MSS);
    let (mut cwnd, mut sent, mut acked, mut echo) = (10, 0, 0, Time::ZERO);
    let (mut srtt_us, mut sent_at) = (20_000, Vec::new());
    let mut free = start;
    let mut data: VecDeque<(Time, Segment)> = VecDeque::new();
    let mut acks: VecDeque<(Time, Segment)> = VecDeque::new();
    let mut seen = Vec::new();
    let mut now = start;
    while now < until {
        // tcp_tso_autosize: a millisecond of twice the rate, at least two; the last of a burst is pushed.
        let burst = ((cwnd * mss * 2 * 1_000_000 / srtt_us) >> 10) / mss;
        let burst = burst.max(2);
        while acked + cwnd >= sent + burst || sent == acked {
            for index in 1..=burst {
                free = free.max(now) + rate.time_for(1_514);
                let mut segment = Segment { seq: 1 + sent * mss, len: MSS, sent_at: now, echo, ..Segment::default() };
                segment.flags.psh = index == burst;
                data.push_back((free, segment));
                sent_at.push(now);
                sent += 1;
            }
        }
        let next = |queue: &VecDeque<(Time, Segment)>| queue.front().map_or(Time::NEVER, |entry| entry.0);
        now = next(&data).min(next(&acks)).min(receiver.next_timer());
        if next(&acks) == now {
            let (_, ack) = acks.pop_front().expect("there is an event");
            let newly = (ack.ack - 1) / mss - acked;
            let rtt_us = now.since(sent_at[usize::try_from(acked + newly - 1).unwrap()]).as_micros();
            srtt_us = (srtt_us * 7 + rtt_us) / 8;
            (cwnd, acked, echo) = (cwnd + newly, acked + newly, ack.sent_at);
            seen.push((acked, ack.window));
            continue;
        }
        if next(&data) == now {
            let (_, segment) = data.pop_front().expect("there is an event");
            assert!(receiver.accepts(now, &segment, 1));
            receiver.on_segment(now, &segment, Ecn::NotEct, 1);
        }
        receiver.on_timer(now);
        while take_ack(&mut receiver, now) {
            let mut ack = Segment::default();
            receiver.fill(now, &mut ack);
            acks.push_back((now + round_trip, ack));
        }
    }
    seen
}

/// Runs of acknowledgements: from, to, step.
type Runs = &'static [(u64, u64, usize)];

fn positions(runs: Runs) -> Vec<u64> {
    runs.iter().flat_map(|&(from, to, step)| (from..=to).step_by(step)).collect()
}

fn check(settings: &Settings, runs: Runs, windows: &[(u64, u32)]) {
    let seen = play(settings, Time::ZERO + Span::from_millis(165));
    let expected = positions(runs);
    let acked: Vec<u64> = seen.iter().map(|entry| entry.0).take(expected.len()).collect();
    assert_eq!(acked, expected);
    for row in windows {
        assert!(
            seen.contains(row),
            "Linux offered {row:?}; the receiver offered {:?}",
            seen.iter().find(|entry| entry.0 == row.0)
        );
    }
}

/// 23 quick ACKs: sixteen, one for each of the seven segments that grew the window, and one more for a push that was
/// read. Then every second, until autotuning grows the window.
#[test]
fn an_infrequent_reader_acknowledges_as_linux_does() {
    let windows = [
        (2, 71_680),
        (5, 79_872),
        (7, 81_920),
        (34, 86_016),
        (40, 102_400),
        (60, 159_744),
        (76, 206_848),
        (100, 270_336),
        (140, 387_072),
        (200, 559_104),
        (250, 704_512),
        (300, 843_776),
    ];
    check(&settings(), &[(1, 24, 1), (26, 34, 2), (35, 76, 1), (78, 298, 1), (300, 303, 1), (305, 309, 2)], &windows);
}

#[test]
fn a_prompt_reader_acknowledges_as_linux_does() {
    let windows =
        [(2, 71_680), (6, 81_920), (34, 92_160), (60, 165_888), (76, 212_992), (100, 282_624), (140, 397_312)];
    let settings = Settings { prompt_reads: true, ..settings() };
    check(&settings, &[(1, 24, 1), (26, 32, 2), (33, 146, 1)], &windows);
}

/// `rcvbuf = "64KiB"`, doubled by the kernel: the window moves with unread data, at most three segments.
#[test]
fn a_fixed_buffer_is_offered_as_linux_does() {
    let windows = [(2, 69_880), (5, 78_568), (6, 79_668), (7, 81_502), (8, 80_584), (9, 79_668), (13, 81_502)];
    let settings = Settings { rcvbuf: Some(131_072), ..settings() };
    check(&settings, &[(1, 24, 1), (26, 122, 2)], &windows);
}

/// The same with other buffers: windows start at half of them and end at 162/256, less the segment being read.
#[test]
fn other_fixed_buffers_are_offered_as_linux_does() {
    let small = Settings { rcvbuf: Some(81_920), ..settings() };
    check(&small, &[(1, 18, 1), (20, 60, 2)], &[(2, 44_888), (3, 47_784), (4, 49_232), (6, 47_784)]);
    let larger = Settings { rcvbuf: Some(196_608), ..settings() };
    check(&larger, &[(1, 26, 1), (28, 60, 2)], &[(2, 102_648), (8, 120_024), (9, 121_140), (10, 122_974)]);
    let large = Settings { rcvbuf: Some(524_288), ..settings() };
    check(&large, &[(1, 42, 1), (44, 60, 2)], &[(2, 266_488), (10, 289_656), (17, 309_928)]);
}
