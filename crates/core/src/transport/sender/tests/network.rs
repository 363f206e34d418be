//! A small network that loses, duplicates and reorders, with an honest receiver behind it.

use super::dialogue::{check, settings};
use super::receiver::Receiver;
use super::reno::{Reno, Steady};
use crate::cc::Control;
use crate::dice::Dice;
use crate::packet::{Segment, TCP_HEADERS_BYTES};
use crate::rate::Rate;
use crate::time::{Span, Time};
use crate::transport::sender::{Sender, Transmission};
use crate::transport::{Settings, testing};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use proptest::prelude::*;

/// What the network does, in parts of 256, and in microseconds.
#[derive(Clone, Copy, Debug)]
struct Weather {
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
    weather: Weather,
    dice: Dice,
    now: Time,
    link_free_at: Time,
    /// By time, then by order of becoming.
    events: BTreeMap<(Time, u64), Event>,
    count: u64,
}

impl<C: Control> Network<C> {
    fn new(settings: &Settings, controller: C, weather: Weather, seed: u64) -> Self {
        let mut sender = Sender::new(settings, controller);
        let now = Time::ZERO + Span::from_millis(1);
        sender.established(now, Some(Span::from_micros(weather.rtt_us)), 1 << 24);
        let dice = Dice::named(seed, "weather");
        let (events, receiver) = (BTreeMap::new(), Receiver::new());
        Self { sender, receiver, weather, dice, now, link_free_at: now, events, count: 0 }
    }

    /// Runs until all is acknowledged; panics when nothing could ever happen again.
    fn run(&mut self) {
        let (mut steps, mut stuck) = (0, 0);
        while !self.sender.is_done() {
            self.send();
            let timer = self.sender.next_timer();
            let event = self.events.first_key_value().map(|first| first.0.0);
            let next = event.map_or(timer, |event| event.min(timer));
            assert!(next.is_set(), "nothing in flight and no timer: {:?}", self.sender.vitals());
            stuck = if next > self.now || event == Some(next) { 0 } else { stuck + 1 };
            assert!(stuck < 3, "a timer that does not move: {:?}", self.sender.timer);
            self.now = self.now.max(next);
            if event == Some(next) {
                let event = self.events.pop_first().unwrap().1;
                self.handle(&event);
            } else {
                self.sender.on_timer(self.now);
            }
            check(&self.sender);
            steps += 1;
            assert!(steps < 200_000, "no end: {:?}", self.sender.vitals());
        }
    }

    fn send(&mut self) {
        while let Some(packet) = testing::poll(&mut self.sender, self.now) {
            check(&self.sender);
            self.sender.on_departed(self.now, packet.len + u32::from(packet.segments) * TCP_HEADERS_BYTES, 1);
            self.link_free_at = self.link_free_at.max(self.now) + Span::from_micros(self.weather.gap_us);
            for _ in 0..self.copies(self.weather.loss) {
                let mut at = self.link_free_at + Span::from_micros(self.weather.rtt_us / 2);
                if self.dice.below(256) < self.weather.reordering {
                    at += Span::from_micros(self.weather.late_us);
                }
                self.schedule(at, Event::Data(packet, self.now));
            }
        }
    }

    fn handle(&mut self, event: &Event) {
        match event {
            Event::Data(packet, sent_at) => {
                let ack = self.receiver.take(packet, *sent_at);
                for _ in 0..self.copies(self.weather.ack_loss) {
                    self.schedule(self.now + Span::from_micros(self.weather.rtt_us / 2), Event::Ack(ack));
                }
            }
            Event::Ack(segment) => self.sender.on_ack(self.now, segment, false),
        }
    }

    fn copies(&mut self, loss: u32) -> u32 {
        if self.dice.below(256) < loss {
            return 0;
        }
        1 + u32::from(self.dice.below(256) < self.weather.duplication)
    }

    fn schedule(&mut self, at: Time, event: Event) {
        self.count += 1;
        self.events.insert((at, self.count), event);
    }
}

fn weather() -> impl Strategy<Value = Weather> {
    let parts = (0_u32..80, 0_u32..80, 0_u32..40, 0_u32..80);
    (parts, 100_u64..80_000, 0_u64..60_000, 1_u64..2_000).prop_map(
        |((loss, ack_loss, duplication, reordering), rtt_us, late_us, gap_us)| Weather {
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

fn deliver<C: Control>(settings: &Settings, controller: C, weather: Weather, seed: u64, pieces: &[u64]) {
    let mut network = Network::new(settings, controller, weather, seed);
    for bytes in pieces {
        network.sender.write(network.now, *bytes);
    }
    network.sender.close(network.now);
    network.run();
    let bytes: u64 = pieces.iter().sum();
    assert_eq!(network.receiver.next, 2 + bytes, "every byte, and FIN");
    assert_eq!(network.receiver.fin_at, Some(2 + bytes));
    let info = network.sender.counters;
    assert_eq!(info.bytes_sent - info.bytes_retrans, bytes, "each new byte once");
    assert_eq!(network.sender.vitals().in_flight(), 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn every_byte_arrives(weather in weather(), seed in any::<u64>(), pieces in prop::collection::vec(1_u64..200_000, 1..4)) {
        deliver(&settings(), Reno, weather, seed, &pieces);
    }

    #[test]
    fn every_byte_arrives_in_super_packets(weather in weather(), seed in any::<u64>(), bytes in 1_u64..400_000) {
        let settings = Settings { gso_max_bytes: Some(65_536), ..settings() };
        deliver(&settings, Reno, weather, seed, &[bytes]);
    }

    #[test]
    fn every_byte_arrives_paced(weather in weather(), seed in any::<u64>(), bytes in 1_u64..200_000) {
        let steady = Steady { cwnd: 40, rate: Rate::from_bytes(3_000_000), samples: Vec::new() };
        deliver(&settings(), steady, weather, seed, &[bytes]);
    }
}
