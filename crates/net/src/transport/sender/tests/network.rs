//! A small network that loses, duplicates and reorders packets, with a standard receiver.

use super::dialogue::{check, settings};
use super::receiver::Receiver;
use super::reno::{Reno, Steady};
use crate::cc::CongestionControl;
use crate::packet::{Segment, TCP_HEADERS_BYTES};
use crate::rate::Rate;
use crate::rng::Rng;
use crate::time::{Span, Time};
use crate::transport::sender::{Sender, Transmission};
use crate::transport::{Info, Settings, testing};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use proptest::prelude::*;

/// The network's impairments, in 1/256, and delays in microseconds.
#[derive(Clone, Copy, Debug)]
struct Impairments {
    loss: u32,
    ack_loss: u32,
    duplication: u32,
    reordering: u32,
    rtt_us: u64,
    late_us: u64,
    gap_us: u64,
}

enum Event {
    Data(Transmission, Time),
    Ack(Segment),
}

struct Network<C> {
    sender: Sender<C>,
    receiver: Receiver,
    impairments: Impairments,
    rng: Rng,
    now: Time,
    link_free_at: Time,
    /// By time, then by order of creation.
    events: BTreeMap<(Time, u64), Event>,
    count: u64,
}

impl<C: CongestionControl> Network<C> {
    fn new(settings: &Settings, controller: C, impairments: Impairments, seed: u64) -> Self {
        let mut sender = Sender::new(settings, controller);
        let now = Time::ZERO + Span::from_millis(1);
        sender.established(now, Some(Span::from_micros(impairments.rtt_us)), 1 << 24, true);
        let rng = Rng::from_name(seed, "weather");
        let (events, receiver) = (BTreeMap::new(), Receiver::new());
        Self { sender, receiver, impairments, rng, now, link_free_at: now, events, count: 0 }
    }

    /// Runs until everything is acknowledged; panics when no event is left.
    fn run(&mut self) {
        let (mut steps, mut stuck) = (0, 0);
        while !self.sender.is_done() {
            self.send();
            let timer = self.sender.next_timer();
            let event = self.events.first_key_value().map(|first| first.0.0);
            let next = event.map_or(timer, |event| event.min(timer));
            assert!(next.is_set(), "nothing in flight and no timer: {:?}", self.sender.tp());
            stuck = if next > self.now || event == Some(next) { 0 } else { stuck + 1 };
            assert!(stuck < 3, "a timer that does not advance: {:?}", self.sender.timer);
            self.now = self.now.max(next);
            if event == Some(next) {
                let event = self.events.pop_first().unwrap().1;
                self.handle(&event);
            } else {
                self.sender.on_timer(self.now);
            }
            check(&self.sender);
            steps += 1;
            assert!(steps < 200_000, "no end: {:?}", self.sender.tp());
        }
    }

    fn send(&mut self) {
        while let Some(packet) = testing::poll(&mut self.sender, self.now) {
            check(&self.sender);
            if self.sender.on_departed(packet.len + u32::from(packet.segments) * TCP_HEADERS_BYTES, 1) {
                self.sender.on_resumed(self.now);
            }
            self.link_free_at = self.link_free_at.max(self.now) + Span::from_micros(self.impairments.gap_us);
            for _ in 0..self.copies(self.impairments.loss) {
                let mut at = self.link_free_at + Span::from_micros(self.impairments.rtt_us / 2);
                if self.rng.below(256) < self.impairments.reordering {
                    at += Span::from_micros(self.impairments.late_us);
                }
                self.schedule(at, Event::Data(packet, self.now));
            }
        }
    }

    fn handle(&mut self, event: &Event) {
        match event {
            Event::Data(packet, sent_at) => {
                let ack = self.receiver.take(packet, *sent_at);
                for _ in 0..self.copies(self.impairments.ack_loss) {
                    self.schedule(self.now + Span::from_micros(self.impairments.rtt_us / 2), Event::Ack(ack));
                }
            }
            Event::Ack(segment) => self.sender.on_ack(self.now, segment, false),
        }
    }

    fn copies(&mut self, loss: u32) -> u32 {
        if self.rng.below(256) < loss {
            return 0;
        }
        1 + u32::from(self.rng.below(256) < self.impairments.duplication)
    }

    fn schedule(&mut self, at: Time, event: Event) {
        self.count += 1;
        self.events.insert((at, self.count), event);
    }
}

fn impairments() -> impl Strategy<Value = Impairments> {
    let parts = (0_u32..80, 0_u32..80, 0_u32..40, 0_u32..80);
    (parts, 100_u64..80_000, 0_u64..60_000, 1_u64..2_000).prop_map(
        |((loss, ack_loss, duplication, reordering), rtt_us, late_us, gap_us)| Impairments {
            loss,
            ack_loss,
            duplication,
            reordering,
            rtt_us,
            late_us,
            gap_us,
        },
    )
}

fn deliver<C: CongestionControl>(
    settings: &Settings,
    controller: C,
    impairments: Impairments,
    seed: u64,
    pieces: &[u64],
) {
    let mut network = Network::new(settings, controller, impairments, seed);
    for bytes in pieces {
        network.sender.write(network.now, *bytes);
    }
    network.sender.close(network.now);
    network.run();
    let bytes: u64 = pieces.iter().sum();
    assert_eq!(network.receiver.next, 2 + bytes, "every byte, and FIN");
    assert_eq!(network.receiver.fin_at, Some(2 + bytes));
    let mut info = Info::default();
    network.sender.fill(network.now, &mut info);
    assert_eq!(info.bytes_sent - info.bytes_retrans, bytes, "each new byte once");
    assert_eq!(network.sender.tp().in_flight(), 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn every_byte_arrives(impairments in impairments(), seed in any::<u64>(), pieces in prop::collection::vec(1_u64..200_000, 1..4)) {
        deliver(&settings(), Reno, impairments, seed, &pieces);
    }

    #[test]
    fn every_byte_arrives_in_super_packets(impairments in impairments(), seed in any::<u64>(), bytes in 1_u64..400_000) {
        let settings = Settings { gso_max_bytes: Some(65_536), ..settings() };
        deliver(&settings, Reno, impairments, seed, &[bytes]);
    }

    #[test]
    fn every_byte_arrives_paced(impairments in impairments(), seed in any::<u64>(), bytes in 1_u64..200_000) {
        let steady = Steady { cwnd: 40, rate: Rate::from_bytes(3_000_000), samples: Vec::new() };
        deliver(&settings(), steady, impairments, seed, &[bytes]);
    }
}
