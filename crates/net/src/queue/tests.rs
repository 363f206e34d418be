//! Tests that hold for all qdiscs and trees, and the test bench that each qdisc's tests use.

extern crate std;

mod aqm;
mod fair;
mod trees;

use super::config::{HtbClass, HtbConfig, NetemConfig};
use super::{ChangeError, Config, Next, Node, Queue, Verdict};
use crate::packet::{Body, Damage, Direction, Ecn, FlowId, Packet, Segment};
use crate::rate::Rate;
use crate::time::{Span, Time};
use alloc::boxed::Box;
use alloc::string::ToString;
use alloc::vec::Vec;

/// A queue, a clock, and the packets that left.
#[derive(Debug)]
pub(super) struct Bench {
    pub queue: Queue,
    pub now: Time,
    pub sent: Vec<(Time, Packet)>,
    pub dropped: Vec<Packet>,
}

impl Bench {
    pub fn new(config: Config) -> Self {
        Self::of(&node("1:", config))
    }

    pub fn of(node: &Node) -> Self {
        Self { queue: Queue::new(node, 1, "bench"), now: Time::ZERO, sent: Vec::new(), dropped: Vec::new() }
    }

    pub fn offer(&mut self, packet: Packet) -> Verdict {
        self.queue.enqueue(&packet, self.now, &mut self.dropped)
    }

    pub fn offer_all(&mut self, packets: impl IntoIterator<Item = Packet>) {
        for packet in packets {
            self.offer(packet);
        }
    }

    pub fn offer_many(&mut self, packet: Packet, count: usize) {
        self.offer_all(core::iter::repeat_n(packet, count));
    }

    /// Dequeues all packets that leave now; returns the result that ended it.
    pub fn drain(&mut self) -> Next {
        loop {
            match self.queue.dequeue(self.now, &mut self.dropped) {
                Next::Packet(packet) => self.sent.push((self.now, packet)),
                end => return end,
            }
        }
    }

    /// Dequeues all packets until then, each at its time.
    pub fn run_until(&mut self, end: Time) {
        loop {
            match self.drain() {
                Next::At(time) if time <= end => {
                    assert!(time > self.now, "{time:?} is not later than {:?}", self.now);
                    self.now = time;
                }
                _ => break,
            }
        }
        self.now = end;
    }

    /// One packet, if one leaves now.
    pub fn take(&mut self) -> Option<Packet> {
        match self.queue.dequeue(self.now, &mut self.dropped) {
            Next::Packet(packet) => Some(packet),
            _ => None,
        }
    }

    /// Departure times in nanoseconds.
    pub fn times_ns(&self) -> Vec<u64> {
        self.sent.iter().map(|(time, _)| time.as_nanos()).collect()
    }

    /// Bytes of accepted packets that left.
    pub fn bytes_of(&self, fits: impl Fn(&Packet) -> bool) -> u64 {
        self.sent.iter().filter(|(_, packet)| fits(packet)).map(|(_, packet)| u64::from(packet.bytes)).sum()
    }

    pub fn counters(&self) -> super::Counters {
        self.snapshot("1:").counters
    }

    pub fn snapshot(&self, handle: &str) -> super::QdiscSnapshot {
        self.queue.snapshot(&self.queue.find_path(handle).expect("it is in the tree"))
    }
}

pub(super) fn node(handle: &str, config: Config) -> Node {
    Node { handle: handle.to_string(), config }
}

/// A TCP packet.
pub(crate) fn tcp(flow: u32, bytes: u32, segments: u16, seq: u64) -> Packet {
    let len = bytes.saturating_sub(u32::from(segments) * 66);
    let mss = u16::try_from(len.div_ceil(u32::from(segments))).unwrap();
    Packet {
        flow: FlowId(flow),
        direction: Direction::Forward,
        ecn: Ecn::NotEct,
        segments,
        bytes,
        port: 5_201,
        mark: 0,
        rehashes: 0,
        damage: Damage::None,
        queued_at: Time::ZERO,
        body: Body::Tcp(Segment { seq, len, mss, ..Segment::default() }),
    }
}

/// A packet of this size.
pub(super) fn packet(bytes: u32) -> Packet {
    tcp(0, bytes, 1, 0)
}

pub(super) fn ms(millis: u64) -> Time {
    Time::ZERO + Span::from_millis(millis)
}

/// An htb class with buckets of one packet.
pub(super) fn class(minor: u32, parent: u32, rate_mbit: u64, ceil_mbit: u64) -> HtbClass {
    HtbClass {
        minor,
        parent,
        rate: Rate::from_bits(rate_mbit * 1_000_000),
        ceil: Rate::from_bits(ceil_mbit * 1_000_000),
        burst: 1_514,
        cburst: 1_514,
        quantum: 1_514,
        prio: 0,
        leaf: None,
    }
}

/// An htb with one class that holds this qdisc.
pub(super) fn shaper(rate_mbit: u64, leaf: Config) -> Config {
    let class = HtbClass { leaf: Some(node("10:", leaf)), ..class(1, 0, rate_mbit, rate_mbit) };
    Config::Htb(Box::new(HtbConfig {
        default: 1,
        classes: alloc::vec![class],
        filters: Vec::new(),
        direct_limit: 1_000,
    }))
}

/// A netem without effects.
pub(super) fn transparent_netem() -> NetemConfig {
    NetemConfig {
        limit: 100_000,
        delay: Span::ZERO,
        jitter: Span::ZERO,
        delay_correlation: super::Probability(0),
        distribution: super::Distribution::Uniform,
        loss: super::Loss::None,
        reorder: super::Correlated::default(),
        gap: 0,
        duplicate: super::Correlated::default(),
        corrupt: super::Correlated::default(),
        rate: None,
        slot: None,
        seed: None,
        inner: None,
    }
}

/// A share of one in netem's units.
pub(super) fn percent(share: f64) -> super::Probability {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a float saturates when it is cast")]
    super::Probability((share / 100.0 * 4_294_967_296.0) as u32)
}

#[test]
fn a_bfifo_limits_bytes_and_keeps_order() {
    let mut bench = Bench::new(Config::Bfifo { limit: 3_000 });
    let verdicts = [1, 2, 3].map(|seq| bench.offer(tcp(0, 1_000, 1, seq)));
    assert_eq!(verdicts, [Verdict::Queued; 3]);
    assert_eq!(bench.offer(packet(1)), Verdict::Dropped);
    assert!(matches!(bench.drain(), Next::Empty));
    let order: Vec<u64> = bench.sent.iter().map(|(_, packet)| seq_of(packet)).collect();
    assert_eq!(order, [1, 2, 3]);
    assert_eq!((bench.counters().sent_bytes, bench.counters().drops, bench.dropped.len()), (3_000, 1, 1));
}

#[test]
fn a_pfifo_counts_a_super_packet_once_and_its_segments_as_sent() {
    let mut bench = Bench::new(Config::Pfifo { limit: 2 });
    assert_eq!(bench.offer(tcp(0, 44 * 1_514, 44, 0)), Verdict::Queued);
    assert_eq!(bench.offer(packet(100)), Verdict::Queued);
    assert_eq!(bench.offer(packet(100)), Verdict::Dropped);
    assert_eq!(bench.queue.backlog().packets, 2);
    bench.drain();
    assert_eq!(bench.counters().sent_packets, 45);
}

#[test]
fn drops_of_a_child_count_in_its_parent() {
    let mut bench = Bench::new(shaper(8, Config::Pfifo { limit: 1 }));
    bench.offer(packet(1_514));
    assert_eq!(bench.offer(packet(1_514)), Verdict::Dropped);
    let (shaper, leaf) = (bench.snapshot("1:"), bench.snapshot("10:"));
    assert_eq!((shaper.kind, leaf.kind), ("htb", "pfifo"));
    assert_eq!((shaper.counters.drops, leaf.counters.drops), (1, 1));
    assert_eq!((shaper.backlog, leaf.backlog), (leaf.backlog, bench.queue.backlog()));
    assert!(bench.queue.find_path("11:").is_none());
}

#[test]
fn a_change_keeps_packets_and_reports_unknown_handles() {
    let mut bench = Bench::new(shaper(8, Config::Bfifo { limit: 10_000 }));
    (0..6).for_each(|_| assert_eq!(bench.offer(packet(1_514)), Verdict::Queued));
    let standing = bench.queue.backlog();
    assert_eq!(bench.queue.change(&node("10:", Config::Bfifo { limit: 2_000 })), Ok(()));
    assert_eq!(bench.queue.backlog(), standing);
    assert_eq!(bench.offer(packet(1_514)), Verdict::Dropped);
    assert_eq!(bench.queue.change(&node("10:", Config::Pfifo { limit: 1 })), Err(ChangeError::OtherKind));
    assert_eq!(bench.queue.change(&node("9:", Config::Pfifo { limit: 1 })), Err(ChangeError::Unknown));
    assert_eq!(bench.queue.change_class("1:", &class(2, 0, 8, 8)), Err(ChangeError::Unknown));
    assert_eq!(bench.queue.change_class("10:", &class(1, 0, 8, 8)), Err(ChangeError::OtherKind));
}

#[test]
fn the_same_seed_gives_the_same_losses() {
    let lossy = NetemConfig {
        loss: super::Loss::Random(super::Correlated { chance: percent(30.0), correlation: super::Probability(0) }),
        ..transparent_netem()
    };
    let run = |seed| {
        let mut bench = Bench::new(Config::Netem(Box::new(lossy.clone())));
        bench.queue = Queue::new(&node("1:", Config::Netem(Box::new(lossy.clone()))), seed, "bench");
        bench.offer_all((0..100).map(|seq| tcp(0, 100, 1, seq)));
        bench.dropped.iter().map(seq_of).collect::<Vec<u64>>()
    };
    assert_eq!(run(7), run(7));
    assert_ne!(run(7), run(8));
}

pub(super) fn seq_of(packet: &Packet) -> u64 {
    match packet.body {
        Body::Tcp(segment) => segment.seq,
        _ => unreachable!("the bench sends TCP"),
    }
}
