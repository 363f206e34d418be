//! `CoDel`'s control law: no drop for an interval, then drops spaced interval / sqrt(n).

use super::*;
use crate::packet::Ecn;
use crate::queue::tests::{Bench, ms, packet, tcp};
use crate::queue::{Config, Verdict};
use alloc::vec::Vec;

fn config() -> CodelConfig {
    CodelConfig {
        limit: 100_000,
        target: Span::from_millis(5),
        interval: Span::from_millis(100),
        ecn: false,
        ce_threshold: None,
        ce_selector: None,
        mtu: 1_514,
    }
}

/// A queue that stays long, dequeued every 100 µs for `millis`: times of drops in units of 100 µs.
fn drop_times(bench: &mut Bench, millis: u64) -> Vec<u64> {
    bench.offer_many(packet(1_514), 50_000);
    let mut times = Vec::new();
    for step in 0..millis * 10 {
        bench.now = Time::ZERO + Span::from_micros(step * 100);
        bench.take();
        times.resize(bench.dropped.len(), step);
    }
    times
}

#[test]
fn drops_follow_the_control_law_after_one_interval() {
    let mut bench = Bench::new(Config::Codel(config()));
    let times = drop_times(&mut bench, 1_000);
    // One Newton step per drop: 1/sqrt(2) is a half in Linux, 1/sqrt(3) 0.5625; later values are close.
    let (mut expected, mut inverse_sqrt) = (1_051.0, 1.0f64);
    for (n, time) in (1u32..).zip(&times).take(15) {
        #[expect(clippy::cast_precision_loss, reason = "a few thousand")]
        let seen = *time as f64;
        assert!((seen - expected).abs() <= 4.0, "drop {n} at {seen}, expected {expected}");
        expected += 1_000.0 * inverse_sqrt;
        inverse_sqrt *= (3.0 - f64::from(n + 1) * inverse_sqrt.powi(2)) / 2.0;
        assert!(n < 4 || (inverse_sqrt * f64::from(n + 1).sqrt() - 1.0).abs() < 0.02);
    }
}

#[test]
fn a_queue_of_one_packet_is_never_dropped_from() {
    let mut bench = Bench::new(Config::Codel(config()));
    for round in 0..100 {
        bench.offer(packet(1_514));
        bench.now = ms((round + 1) * 50);
        assert!(bench.take().is_some());
    }
    assert!(bench.dropped.is_empty());
}

#[test]
fn a_short_sojourn_ends_dropping_and_the_next_resumes_the_rate() {
    let mut control = Control { count: 20, last_count: 10, drop_next: clock(ms(500)), ..Control::default() };
    let mut source = Packets::standing(10, ms(0));
    control.above_until = clock(ms(500));
    control.inverse_sqrt = 0x4000;
    assert!(control.next(&Params::new(&config()), ms(600), &mut source).is_some());
    // Ten new drops in the last dropping state, less than sixteen intervals ago.
    assert_eq!((control.count, control.dropping, source.killed), (10, true, 1));
    let mut later = Control { dropping: false, above_until: clock(ms(500)), drop_next: clock(ms(500)), ..control };
    later.count = 20;
    later.next(&Params::new(&config()), ms(2_200), &mut Packets::standing(10, ms(0)));
    assert_eq!(later.count, 1, "after seventeen intervals the count restarts");
}

#[test]
fn a_capable_packet_is_marked_instead_of_dropped() {
    let mut bench = Bench::new(Config::Codel(CodelConfig { ecn: true, ..config() }));
    bench.offer_many(Packet { ecn: Ecn::Ect0, ..packet(1_514) }, 5_000);
    for step in 0..4_000 {
        bench.now = Time::ZERO + Span::from_micros(step * 100);
        let now = bench.now;
        let left = bench.take().expect("there are enough");
        bench.sent.push((now, left));
    }
    let marked = bench.sent.iter().filter(|(_, packet)| packet.ecn == Ecn::Ce).count();
    assert!(bench.dropped.is_empty() && marked >= 4, "{marked}");
    assert_eq!(u64::try_from(marked), Ok(bench.counters().marks));
}

#[test]
fn above_the_ce_threshold_every_capable_packet_is_marked() {
    let threshold = Some(Span::from_millis(1));
    let mut bench = Bench::new(Config::Codel(CodelConfig { ce_threshold: threshold, ..config() }));
    bench.offer(Packet { ecn: Ecn::Ect1, ..packet(1_514) });
    bench.offer(packet(1_514));
    bench.offer(Packet { ecn: Ecn::Ect0, ..packet(1_514) });
    assert_eq!(bench.take().map(|packet| packet.ecn), Some(Ecn::Ect1));
    bench.now = ms(2);
    assert_eq!(bench.take().map(|packet| packet.ecn), Some(Ecn::NotEct));
    assert_eq!(bench.take().map(|packet| packet.ecn), Some(Ecn::Ce));
    assert_eq!(bench.counters().marks, 1);
}

#[test]
fn the_limit_is_packets() {
    let mut bench = Bench::new(Config::Codel(CodelConfig { limit: 1, ..config() }));
    assert_eq!((bench.offer(packet(100)), bench.offer(packet(100))), (Verdict::Queued, Verdict::Dropped));
}

#[test]
fn newton_steps_converge_to_one_over_the_root() {
    let mut control = Control { inverse_sqrt: u16::MAX, ..Control::default() };
    for count in 1..=100u32 {
        control.count = count;
        control.improve_inverse_sqrt();
        let seen = f64::from(control.inverse_sqrt) / 65_536.0;
        let expected = 1.0 / f64::from(count).sqrt();
        assert!(count < 5 || (seen / expected - 1.0).abs() < 0.02, "{count}: {seen} {expected}");
    }
}

/// A source whose packets all arrived at once.
struct Packets {
    packets: Vec<Packet>,
    killed: u32,
}

impl Packets {
    fn standing(count: u64, since: Time) -> Self {
        let packets = (0..count).map(|seq| Packet { queued_at: since, ..tcp(0, 1_514, 1, seq) }).collect();
        Self { packets, killed: 0 }
    }
}

impl PacketSource for Packets {
    fn pop(&mut self) -> Option<Packet> {
        self.packets.pop()
    }

    fn backlog_bytes(&self) -> u64 {
        1_514 * self.packets.len() as u64
    }

    fn drop_packet(&mut self, _packet: Packet) {
        self.killed += 1;
    }

    fn marked(&mut self) {}
}
