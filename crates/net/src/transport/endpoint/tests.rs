//! Two endpoints and a link between them: handshakes, sizes, replies, and transfers over a lossy link.

mod ecn;

use super::{Endpoint, Identity};
use crate::cc::{Controller, Parameters};
use crate::packet::{Body, Damage, Direction, Ecn, Flags, FlowId, Packet, Segment};
use crate::rng::Rng;
use crate::time::{Span, Time};
use crate::transport::Settings;
use crate::transport::testing;
use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;
use proptest::prelude::*;

pub fn settings() -> Settings {
    Settings { prompt_reads: true, ..testing::settings(1_448) }
}

fn endpoint(direction: Direction, settings: &Settings) -> Endpoint {
    let identity = Identity { flow: FlowId(7), direction, port: 5_201, mark: 3 };
    let reno =
        Controller::from_name("reno", &mut Parameters::default(), Rng::from_name(1, "endpoint")).expect("reno exists");
    Endpoint::new(identity, settings.clone(), reno)
}

/// Both ends and a link of 10 ms each way that drops the packets whose numbers are in `lost`.
pub struct Pair {
    pub client: Endpoint,
    pub server: Endpoint,
    pub now: Time,
    link: VecDeque<(Time, Packet)>,
    sent: usize,
    lost: Vec<usize>,
    log: Vec<(Time, Packet)>,
}

const ONE_WAY: Span = Span::from_millis(10);

impl Pair {
    pub fn new(client: &Settings, server: &Settings, lost: &[usize]) -> Self {
        Self {
            client: endpoint(Direction::Forward, client),
            server: endpoint(Direction::Backward, server),
            now: Time::ZERO,
            link: VecDeque::new(),
            sent: 0,
            lost: lost.to_vec(),
            log: Vec::new(),
        }
    }

    pub fn connected() -> Self {
        let mut pair = Self::new(&settings(), &settings(), &[]);
        pair.client.connect(Time::ZERO);
        pair.run(Time::ZERO + Span::from_millis(100));
        pair.log.clear();
        pair
    }

    fn send(&mut self) {
        for end in [&mut self.client, &mut self.server] {
            while let Some(packet) = poll(end, self.now) {
                self.log.push((self.now, packet));
                if end.on_departed(&packet, 1) {
                    end.on_resumed(self.now);
                }
                if !self.lost.contains(&self.sent) {
                    self.link.push_back((self.now + ONE_WAY, packet));
                }
                self.sent += 1;
            }
        }
    }

    /// Runs until `until`, or until no event is scheduled.
    pub fn run(&mut self, until: Time) {
        self.send();
        loop {
            let arrival = self.link.front().map_or(Time::NEVER, |entry| entry.0);
            let next = arrival.min(self.client.next_timer()).min(self.server.next_timer());
            if next > until {
                self.now = until;
                return;
            }
            self.now = next.max(self.now);
            if arrival <= self.now {
                let (_, packet) = self.link.pop_front().expect("there is an event");
                let forward = packet.direction == Direction::Forward;
                let end = if forward { &mut self.server } else { &mut self.client };
                end.on_packet(self.now, &packet);
                self.send();
            }
            self.client.on_timer(self.now);
            self.server.on_timer(self.now);
            self.send();
        }
    }

    pub fn run_for(&mut self, span: Span) {
        self.run(self.now + span);
    }
}

fn segment(packet: &Packet) -> &Segment {
    match &packet.body {
        Body::Tcp(segment) => segment,
        other => panic!("{other:?} is not a TCP segment"),
    }
}

fn millis(time: Time) -> u64 {
    time.as_micros() / 1_000
}

/// When each packet left, in milliseconds, its direction, and its flags.
fn packet_log(pair: &Pair) -> Vec<(u64, Direction, bool, bool)> {
    let line = |(time, packet): &(Time, Packet)| {
        let flags = segment(packet).flags;
        (millis(*time), packet.direction, flags.syn, flags.ack)
    };
    pair.log.iter().map(line).collect()
}

use Direction::{Backward as B, Forward as F};

/// The next packet of an end whose program reads and continues writing as soon as it is woken.
fn poll(end: &mut Endpoint, now: Time) -> Option<Packet> {
    loop {
        if let Some(packet) = end.poll(now) {
            return Some(packet);
        }
        if end.take_read_request() {
            end.read(now);
        } else if end.is_in_call() {
            end.continue_call(now);
        } else if end.wants_to_write() {
            end.continue_writing(now);
        } else {
            return None;
        }
    }
}

#[test]
fn a_handshake_takes_three_packets() {
    let mut pair = Pair::new(&settings(), &settings(), &[]);
    pair.client.connect(Time::ZERO);
    pair.run(Time::ZERO + Span::from_secs(5));
    assert_eq!(packet_log(&pair), [(0, F, true, false), (10, B, true, true), (20, F, false, true)]);
    assert!(pair.client.is_established() && pair.server.is_established());
    // Linux's windows: 44 and 45 segments of half a buffer of 128 KiB; then in units of 2 KiB.
    let windows: Vec<u32> = pair.log.iter().map(|(_, packet)| segment(packet).window).collect();
    assert_eq!(windows, [64_240, 65_160, 65_536]);
    let sizes: Vec<u32> = pair.log.iter().map(|(_, packet)| packet.bytes).collect();
    assert_eq!(sizes, [74, 74, 66]);
    assert_eq!(pair.client.info(pair.now).rtt, Span::from_millis(20));
    assert_eq!(pair.server.info(pair.now).rtt, Span::from_millis(20));
    assert_eq!((pair.client.info(pair.now).state, pair.client.info(pair.now).segs_out), (1, 2));
    assert_eq!(pair.client.next_timer(), Time::NEVER);
}

/// As the kernel engine sent them: five times a second apart, then two; the timer wheel adds up to 32 ms.
#[test]
fn a_lost_syn_is_retransmitted_as_in_linux() {
    let mut pair = Pair::new(&settings(), &settings(), &[0, 1, 2, 3, 4, 5]);
    pair.client.connect(Time::ZERO);
    pair.run(Time::ZERO + Span::from_millis(7_200));
    let times: Vec<u64> = packet_log(&pair).iter().map(|line| line.0).collect();
    assert_eq!(times, [0, 1_016, 2_040, 3_064, 4_088, 5_112, 7_128, 7_138, 7_148]);
    assert_eq!(pair.client.info(pair.now).rtt, Span::from_millis(20));
}

#[test]
fn a_client_gives_up_after_ten_retransmissions() {
    let mut pair = Pair::new(&settings(), &settings(), &(0..100).collect::<Vec<_>>());
    pair.client.connect(Time::ZERO);
    pair.run(Time::ZERO + Span::from_secs(600));
    assert_eq!(pair.log.len(), 11);
    assert_eq!(pair.client.info(pair.now).state, 7);
}

/// The wheel's slots are so wide here that both timers fire in the same one.
#[test]
fn after_a_lost_syn_ack_both_ends_retransmit() {
    let mut pair = Pair::new(&settings(), &settings(), &[1]);
    pair.client.connect(Time::ZERO);
    pair.run(Time::ZERO + Span::from_millis(1_100));
    let packet_log = packet_log(&pair);
    assert_eq!(packet_log[2..4], [(1_016, F, true, false), (1_016, B, true, true)]);
    assert!(pair.client.is_established() && pair.server.is_established());
}

#[test]
fn data_replace_a_lost_ack() {
    let mut pair = Pair::new(&settings(), &settings(), &[2]);
    pair.client.connect(Time::ZERO);
    pair.run(Time::ZERO + Span::from_millis(25));
    assert!(!pair.server.is_established());
    pair.client.write(pair.now, 1_000);
    pair.run_for(Span::from_millis(12));
    assert!(pair.server.is_established());
    assert_eq!(pair.server.bytes_read(), 1_000);
}

/// The client's settings decide: a Linux server accepts ECN, but does not request it. A retransmitted SYN does not
/// request it.
#[test]
fn ecn_is_on_when_the_client_requests_it_and_its_first_syn_arrives() {
    for (requests_ecn, lost, expected) in [(true, vec![], true), (false, vec![], false), (true, vec![0], false)] {
        let client = Settings { ecn: requests_ecn, ..settings() };
        let mut pair = Pair::new(&client, &settings(), &lost);
        pair.client.connect(Time::ZERO);
        pair.run(Time::ZERO + Span::from_secs(2));
        assert_eq!(pair.client.info(pair.now).ecn, expected);
        assert_eq!(pair.server.info(pair.now).ecn, expected);
        pair.client.write(pair.now, 1_448);
        pair.log.clear();
        pair.run_for(Span::from_millis(50));
        assert_eq!(pair.log[0].1.ecn, if expected { Ecn::Ect0 } else { Ecn::NotEct });
        assert_eq!(pair.log[1].1.ecn, Ecn::NotEct, "ACKs are not ECN-capable");
    }
}

#[test]
fn packets_carry_their_identity_and_size() {
    let mut pair = Pair::connected();
    pair.client.write(pair.now, 2_000);
    pair.run_for(Span::from_millis(1));
    let packet = pair.log[0].1;
    assert_eq!((packet.bytes, packet.segments), (2_000 + 2 * 66, 2), "the device segments it");
    assert_eq!((packet.flow, packet.port, packet.mark), (FlowId(7), 5_201, 3));
    let sizes: Vec<u32> = crate::packet::cut(packet).expect("two segments").map(|part| part.bytes).collect();
    assert_eq!(sizes, [1_514, 552 + 66]);
}

/// Data that the host's own queue refuses are retransmitted later; a refused ACK only slows the sender down.
#[test]
fn a_refused_packet_is_reported_to_its_sender() {
    let mut pair = Pair::connected();
    pair.client.write(pair.now, 1_000);
    let packet = pair.client.poll(pair.now).expect("data");
    assert!(!pair.client.on_refused(pair.now, &packet), "nothing waits for a departure");
    pair.run_for(Span::from_secs(2));
    assert_eq!(pair.server.bytes_read(), 1_000);
    pair.client.receiver.request_ack_now();
    let ack = pair.client.poll(pair.now).expect("an ACK");
    assert!(!pair.client.on_refused(pair.now, &ack), "an ACK holds nothing back");
    assert!(pair.client.poll(pair.now).is_none());
}

/// A reply written when the request is read carries the request's ACK, once the connection is in pingpong mode.
#[test]
fn replies_carry_acks() {
    let mut pair = Pair::connected();
    let mut acks = Vec::new();
    for _ in 0..3 {
        pair.log.clear();
        let before = pair.client.bytes_read();
        pair.server.write(pair.now, 100);
        pair.run_for(ONE_WAY);
        assert_eq!(pair.client.bytes_read(), before + 100);
        pair.client.write(pair.now, 1_000);
        pair.run_for(Span::from_millis(15));
        acks.push(pair.log.iter().filter(|(_, packet)| packet.direction == F && segment(packet).len == 0).count());
    }
    // The first request is acknowledged at once.
    assert_eq!(acks, [1, 0, 0]);
}

#[test]
fn both_ends_close() {
    let mut pair = Pair::connected();
    pair.client.write(pair.now, 30_000);
    pair.client.close(pair.now);
    pair.run_for(Span::from_millis(100));
    assert!(pair.server.is_finished());
    assert_eq!((pair.server.bytes_read(), pair.server.received().bytes), (30_000, 30_000));
    assert_eq!(pair.server.info(pair.now).state, 8);
    pair.server.close(pair.now);
    pair.run_for(Span::from_secs(1));
    assert!(pair.client.is_finished());
    assert_eq!((pair.client.info(pair.now).state, pair.server.info(pair.now).state), (6, 6));
    assert_eq!((pair.client.next_timer(), pair.server.next_timer()), (Time::NEVER, Time::NEVER));
}

/// `on_timer` does nothing when called early or when no timer is set.
#[test]
fn timers_may_be_called_early() {
    let mut pair = Pair::connected();
    pair.client.on_timer(pair.now);
    pair.server.on_timer(pair.now);
    pair.send();
    assert!(pair.log.is_empty());
}

#[test]
fn an_endpoint_is_small() {
    assert!(size_of::<Endpoint>() <= 512, "{} bytes", size_of::<Endpoint>());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever is lost, everything written is read in both directions, and both ends stop sending.
    #[test]
    fn everything_is_read_despite_any_losses(
        forward in 0..100_000u64,
        backward in 0..20_000u64,
        lost in proptest::collection::vec(0..120usize, 0..40),
        prompt_reads: bool,
    ) {
        let server = Settings { prompt_reads, ..settings() };
        let mut pair = Pair::new(&settings(), &server, &lost);
        pair.client.connect(Time::ZERO);
        pair.run(Time::ZERO + Span::from_secs(130));
        // A server gives up when all its SYN-ACKs are lost, as Linux does after five of them.
        prop_assume!(pair.client.is_established() && pair.server.is_established());
        pair.client.write(pair.now, forward);
        pair.client.close(pair.now);
        pair.server.write(pair.now, backward);
        pair.server.close(pair.now);
        // Forty losses may all hit one packet, whose timeouts grow to two minutes.
        pair.run_for(Span::from_secs(6_000));
        prop_assert_eq!(pair.server.bytes_read(), forward);
        prop_assert_eq!(pair.client.bytes_read(), backward);
        prop_assert!(pair.server.is_finished() && pair.client.is_finished());
        prop_assert_eq!(pair.client.next_timer().min(pair.server.next_timer()), Time::NEVER);
    }
}

/// `tcp_ack`: a segment that acknowledges what was not sent is discarded with its data and FIN.
#[test]
fn a_segment_that_acknowledges_the_future_is_discarded() {
    let mut pair = Pair::connected();
    let flags = Flags { ack: true, fin: true, ..Flags::default() };
    let segment = Segment { seq: 1, len: 100, ack: 2, window: 1_000, flags, ..Segment::default() };
    let packet = |segment: Segment| Packet {
        flow: FlowId(7),
        direction: Direction::Forward,
        ecn: Ecn::NotEct,
        segments: 1,
        bytes: 166,
        port: 5_201,
        mark: 0,
        rehashes: 0,
        damage: Damage::None,
        queued_at: Time::ZERO,
        body: Body::Tcp(segment),
    };
    pair.server.on_packet(pair.now, &packet(segment));
    assert_eq!((pair.server.received().bytes, pair.server.info(pair.now).state), (0, 1));
    pair.server.on_packet(pair.now, &packet(Segment { ack: 1, sent_at: pair.now, ..segment }));
    assert_eq!((pair.server.received().bytes, pair.server.info(pair.now).state), (100, 8));
}
