//! Random trees under random traffic: packets are conserved, none is stuck, and times are never too late.

use super::{Bench, aqm, node, packet, seq_of, tcp, transparent_netem};
use crate::packet::{Body, Direction, Ecn, Packet};
use crate::queue::config::{
    CodelConfig, Config, Correlated, Distribution, Filter, FqCodelConfig, HtbClass, HtbConfig, Loss, NetemConfig,
    NetemRate, Probability, RedConfig, SlotConfig, TbfConfig,
};
use crate::queue::{Next, Node};
use crate::rate::Rate;
use crate::time::{Span, Time};
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::vec;
use alloc::vec::Vec;
use proptest::prelude::*;

#[derive(Clone, Debug)]
pub(super) enum Step {
    Offer(Packet),
    Wait(Span),
    Take(u8),
    Drain,
}

/// Sums over packets that are equal for super-packets and their segments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sum {
    bytes: u64,
    segments: u64,
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn packets_are_conserved(tree in tree(false), steps in steps()) {
        let mut world = World::new(&tree);
        for step in steps {
            world.take_step(&step)?;
            world.check()?;
        }
        world.run_dry()?;
        world.check()?;
    }

    #[test]
    fn a_flow_stays_in_order_without_reordering_settings(tree in tree(true), steps in steps()) {
        let mut world = World::new(&tree);
        for step in steps {
            world.take_step(&step)?;
        }
        world.run_dry()?;
        let mut last: BTreeMap<(u32, bool), u64> = BTreeMap::new();
        for (_, packet) in &world.bench.sent {
            let flow = (packet.flow.0, packet.direction == Direction::Forward);
            let seq = seq_of(packet);
            prop_assert!(last.get(&flow).is_none_or(|last| *last < seq), "{seq} of {flow:?} after {last:?}");
            last.insert(flow, seq);
        }
    }

    /// If `next_departure` returns a time, dequeueing earlier returns that time and changes nothing.
    #[test]
    fn next_departure_agrees_with_dequeue(tree in tree(false), steps in steps()) {
        let mut world = World::new(&tree);
        for step in steps {
            world.take_step(&step)?;
            let Some(known) = world.bench.queue.next_departure(world.bench.now) else { continue };
            let before = format!("{:?}", world.bench.queue);
            let answer = match world.bench.queue.dequeue(world.bench.now, &mut world.bench.dropped) {
                Next::Packet(_) => None,
                Next::At(time) => Some(time),
                Next::Empty => Some(Time::NEVER),
            };
            prop_assert_eq!(answer, Some(known));
            prop_assert_eq!(before, format!("{:?}", world.bench.queue));
        }
    }
}

pub(super) struct World {
    pub bench: Bench,
    offered: Sum,
    seq: u64,
}

impl World {
    pub fn new(tree: &Node) -> Self {
        Self { bench: Bench::of(tree), offered: Sum::default(), seq: 0 }
    }

    pub fn take_step(&mut self, step: &Step) -> Result<(), TestCaseError> {
        match *step {
            Step::Offer(mut packet) => {
                let Body::Tcp(segment) = &mut packet.body else { unreachable!() };
                segment.seq = self.seq;
                self.seq += 100_000;
                self.offered = self.offered.with(&packet);
                self.bench.offer(packet);
            }
            Step::Wait(span) => self.bench.now += span,
            Step::Take(count) => (0..count).for_each(|_| {
                let now = self.bench.now;
                if let Some(packet) = self.bench.take() {
                    self.bench.sent.push((now, packet));
                }
            }),
            Step::Drain => {
                self.drain()?;
            }
        }
        Ok(())
    }

    /// Dequeues all packets that leave now. The last result is a later time if packets are queued, and `Empty` if none
    /// are.
    fn drain(&mut self) -> Result<Option<Time>, TestCaseError> {
        if let Next::At(time) = self.bench.drain() {
            prop_assert!(time > self.bench.now);
            prop_assert!(self.bench.queue.backlog().packets > 0);
            Ok(Some(time))
        } else {
            prop_assert_eq!(self.bench.queue.backlog().packets, 0);
            Ok(None)
        }
    }

    fn run_dry(&mut self) -> Result<(), TestCaseError> {
        for _ in 0..100_000 {
            match self.drain()? {
                Some(time) => self.bench.now = time,
                None => return Ok(()),
            }
        }
        Err(TestCaseError::fail("the queue does not drain"))
    }

    /// In + duplicated = out + dropped + queued.
    fn check(&self) -> Result<(), TestCaseError> {
        let bench = &self.bench;
        let mut departed = bench.sent.iter().fold(Sum::default(), |sum, (_, packet)| sum.with(packet));
        departed = bench.dropped.iter().fold(departed, Sum::with);
        let (packets, bytes) = bench.queue.duplicated();
        let standing = bench.queue.backlog();
        prop_assert_eq!(self.offered.bytes + bytes, departed.bytes + standing.bytes);
        let left = (self.offered.segments + packets).checked_sub(departed.segments);
        prop_assert!(left.is_some_and(|left| left >= u64::from(standing.packets)));
        prop_assert!(standing.packets > 0 || left == Some(0));
        Ok(())
    }
}

impl Sum {
    fn with(self, packet: &Packet) -> Self {
        Self { bytes: self.bytes + u64::from(packet.bytes), segments: self.segments + u64::from(packet.segments) }
    }
}

pub(super) fn steps() -> BoxedStrategy<Vec<Step>> {
    let step = prop_oneof![
        6 => a_packet().prop_map(Step::Offer),
        2 => (1u64..3_000_000).prop_map(|nanos| Step::Wait(Span::from_nanos(nanos))),
        1 => (1u64..400).prop_map(|millis| Step::Wait(Span::from_millis(millis))),
        1 => (1u8..4).prop_map(Step::Take),
        3 => Just(Step::Drain),
    ];
    prop::collection::vec(step, 1..120).boxed()
}

fn a_packet() -> BoxedStrategy<Packet> {
    (
        0u32..4,
        prop_oneof![Just((66, 1)), Just((1_514, 1)), Just((3 * 1_514, 3)), Just((44 * 1_514, 44))],
        0u16..3,
        0u16..3,
    )
        .prop_map(|(flow, (bytes, segments), port, ecn)| {
            let ecn = [Ecn::NotEct, Ecn::Ect0, Ecn::Ce][usize::from(ecn)];
            let direction = if port == 2 { Direction::Backward } else { Direction::Forward };
            // A flow has one port, so it has one class.
            let port = u16::try_from(flow).unwrap_or(0) + 5_201;
            Packet { ecn, direction, port, mark: port % 3, ..tcp(flow, bytes, segments, 0) }
        })
        .boxed()
}

/// A tree of up to four levels; an orderly one keeps the packets of a flow in order.
fn tree(orderly: bool) -> impl Strategy<Value = Node> {
    let config = leaf(orderly).prop_recursive(3, 12, 3, move |below| {
        prop_oneof![
            tbf(below.clone()),
            red(below.clone()),
            netem(below.clone(), orderly),
            htb(below.clone()),
            aqm::prio(below.clone()),
            aqm::ets(below.clone()),
            aqm::drr(below)
        ]
    });
    config.prop_map(|config| node("1:", config))
}

/// hhf reorders a flow when it becomes a heavy hitter.
fn leaf(orderly: bool) -> BoxedStrategy<Config> {
    let hhf = if orderly { Just(Config::Pfifo { limit: 9 }).boxed() } else { aqm::hhf() };
    prop_oneof![
        hhf,
        (0u32..40).prop_map(|limit| Config::Pfifo { limit }),
        (0u64..100_000).prop_map(|limit| Config::Bfifo { limit }),
        codel().prop_map(Config::Codel),
        aqm::leaf(),
        super::fair::fq().prop_map(Config::Fq),
        super::fair::cake().prop_map(Config::Cake),
        (codel(), 1u32..50, 1u32..8, 0u32..3_000, 1u64..200_000).prop_map(
            |(codel, limit, flows, quantum, memory_limit)| {
                Config::FqCodel(FqCodelConfig { limit, flows, quantum, memory_limit, drop_batch: limit % 5, codel })
            }
        ),
    ]
    .boxed()
}

fn codel() -> BoxedStrategy<CodelConfig> {
    (1u32..60, 0u64..5_000, 1u64..20_000, any::<bool>(), prop::option::of(0u64..3_000))
        .prop_map(|(limit, target, interval, ecn, threshold)| CodelConfig {
            limit,
            target: Span::from_micros(target),
            interval: Span::from_micros(interval),
            ecn,
            ce_threshold: threshold.map(Span::from_micros),
            ce_selector: limit.is_multiple_of(2).then_some((2, 3)),
            mtu: 1_514,
        })
        .boxed()
}

pub(super) fn rate() -> BoxedStrategy<Rate> {
    (1u64..200_000_000).prop_map(|bits| Rate::from_bits(bits.max(80_000))).boxed()
}

fn tbf(below: BoxedStrategy<Config>) -> BoxedStrategy<Config> {
    (rate(), 60u64..100_000, 0u64..100_000, prop::option::of(60u64..3_000), prop::option::of(below))
        .prop_map(|(rate, burst, limit, peak, below)| {
            let peak = peak.map(|bytes| (Rate::from_bytes(rate.as_bytes() * 2), bytes));
            let inner = below.map(|config| node("20:", config));
            Config::Tbf(Box::new(TbfConfig { rate, burst, limit, peak, inner }))
        })
        .boxed()
}

fn red(below: BoxedStrategy<Config>) -> BoxedStrategy<Config> {
    (0u32..20_000, 1u32..40_000, 0u8..10, any::<u32>(), any::<[bool; 4]>(), prop::option::of(below))
        .prop_map(|(min, width, wlog, max_p, [ecn, harddrop, nodrop, adaptive], below)| {
            let idle_damping = (0..=255).map(|cell: u8| cell / 9).collect();
            let inner = below.map(|config| node("30:", config));
            let (limit, max, max_p) = (60_000, min + width, Probability(max_p));
            let config = RedConfig {
                limit,
                min,
                max,
                wlog,
                plog: 20,
                scell_log: 9,
                idle_damping,
                max_p,
                ecn,
                harddrop,
                nodrop,
                adaptive,
                inner,
            };
            Config::Red(Box::new(config))
        })
        .boxed()
}

fn probability() -> BoxedStrategy<Probability> {
    prop_oneof![3 => Just(Probability(0)), 1 => any::<u32>().prop_map(Probability), 1 => Just(Probability(u32::MAX))]
        .boxed()
}

fn correlated() -> BoxedStrategy<Correlated> {
    (probability(), probability()).prop_map(|(chance, correlation)| Correlated { chance, correlation }).boxed()
}

fn loss() -> BoxedStrategy<Loss> {
    prop_oneof![
        4 => Just(Loss::None),
        1 => correlated().prop_map(Loss::Random),
        1 => [probability(), probability(), probability(), probability(), probability()]
            .prop_map(|[p13, p31, p32, p23, p14]| Loss::State { p13, p31, p32, p23, p14 }),
        1 => [probability(), probability(), probability(), probability()].prop_map(|[p, r, h, k1]| Loss::Gemodel { p, r, h, k1 }),
        1 => (0u64..9).prop_map(|every| Loss::Every { every }),
    ]
    .boxed()
}

fn netem(below: BoxedStrategy<Config>, orderly: bool) -> BoxedStrategy<Config> {
    let words = (0u32..60, 0u64..20_000, 0u64..9_000, 0u32..5, any::<u8>());
    let probabilities = (correlated(), correlated(), correlated(), probability(), loss());
    let wire =
        (rate(), -20i32..40, 0u32..60, -5i32..9).prop_map(|(rate, packet_overhead, cell_size, cell_overhead)| {
            NetemRate { rate, packet_overhead, cell_size, cell_overhead }
        });
    let slot = (0u64..9_000, 0u64..3_000, 1u32..9, 1u32..20_000).prop_map(|(least, more, packets, bytes)| SlotConfig {
        least: Span::from_micros(least),
        most: Span::from_micros(least + more),
        packets,
        bytes,
    });
    (words, probabilities, prop::option::of(wire), (prop::option::of(slot), prop::option::of(below)))
        .prop_map(
            move |(
                (limit, delay, jitter, gap, shape),
                (reorder, duplicate, corrupt, delay_correlation, loss),
                rate,
                (slot, below),
            )| {
                let shapes =
                    [Distribution::Uniform, Distribution::Normal, Distribution::Pareto, Distribution::Paretonormal];
                let calm = NetemConfig {
                    limit,
                    delay: Span::from_micros(delay),
                    loss,
                    rate,
                    slot,
                    inner: below.map(|config| Box::new(node("40:", config))),
                    ..transparent_netem()
                };
                let wild = NetemConfig {
                    jitter: Span::from_micros(jitter),
                    delay_correlation,
                    distribution: shapes[usize::from(shape) % 4],
                    reorder,
                    gap,
                    duplicate,
                    corrupt,
                    ..calm.clone()
                };
                Config::Netem(Box::new(if orderly { calm } else { wild }))
            },
        )
        .boxed()
}

/// Root class 1 with leaves 2 and 3, and leaf 4; filters by port and mark, and an optional default.
fn htb(below: BoxedStrategy<Config>) -> BoxedStrategy<Config> {
    let class = (rate(), 0u64..20_000, 0u32..4_000, 0u8..9);
    let leaves = prop::collection::vec(prop::option::of(below), 3);
    (prop::collection::vec(class, 4), leaves, 0u32..6, 0u32..20)
        .prop_map(|(classes, leaves, default, direct_limit)| {
            let mut leaves = leaves.into_iter();
            let classes = vec![(1, 0), (2, 1), (3, 1), (4, 0)]
                .into_iter()
                .zip(classes)
                .map(|((minor, parent), (rate, burst, quantum, prio))| HtbClass {
                    minor,
                    parent,
                    rate,
                    ceil: Rate::from_bytes(rate.as_bytes() * 3),
                    burst,
                    cburst: burst + u64::from(quantum),
                    quantum,
                    prio,
                    leaf: (minor > 1).then(|| leaves.next().flatten().map(|config| node("50:", config))).flatten(),
                })
                .collect();
            let filters = vec![
                Filter::Port { port: 5_201, minor: 2 },
                Filter::Port { port: 5_202, minor: 3 },
                Filter::Mark { mark: 2, minor: 4 },
            ];
            Config::Htb(Box::new(HtbConfig { default, classes, filters, direct_limit }))
        })
        .boxed()
}

#[test]
fn a_copy_made_by_a_leaf_enters_at_the_root() {
    let doubling = NetemConfig {
        duplicate: Correlated { chance: Probability(u32::MAX), correlation: Probability(0) },
        ..transparent_netem()
    };
    let inner = NetemConfig {
        delay: Span::from_millis(5),
        inner: Some(Box::new(node("2:", Config::Netem(Box::new(doubling))))),
        ..transparent_netem()
    };
    let mut bench = Bench::new(Config::Netem(Box::new(inner)));
    bench.offer(packet(100));
    bench.run_until(super::ms(100));
    assert_eq!(bench.times_ns(), [5_000_000, 10_000_000], "the copy is delayed too and not duplicated again");
    assert_eq!(bench.queue.duplicated(), (1, 100));
}
