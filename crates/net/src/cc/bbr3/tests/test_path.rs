//! A single-bottleneck path with a real sender and a standard receiver.
//!
//! Rate, delay, buffer and policer can change at any time; a rule decides what happens to each packet; ACKs may be
//! batched; the application may write small amounts.

use super::super::phase::Phase;
use super::super::{Bbr3, Draft};
use crate::cc::{CcState, Parameters, SenderState};
use crate::packet::{Segment, TCP_HEADERS_BYTES};
use crate::rate::Rate;
use crate::rng::Rng;
use crate::time::{Span, Time};
use crate::transport::testing;
use crate::transport::{Sender, Settings, StandardReceiver, Transmission};
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// What happens to a packet besides queueing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Delivery {
    Arrives,
    Dies,
    /// It arrives this much later; others pass it.
    Late(Span),
}

/// Decides by the number of the segment, counted over all sent segments.
type Rule = Box<dyn FnMut(u64) -> Delivery>;

enum Event {
    Data(Transmission, Time),
    Ack(Segment),
    Write,
}

/// A policer's tokens, in bytes.
struct Bucket {
    rate: Rate,
    burst: u64,
    tokens: u64,
    at: Time,
}

/// An application that writes small amounts at intervals.
#[derive(Clone, Copy)]
struct Trickle {
    bytes: u64,
    every: Span,
}

pub(super) struct TestPath {
    pub(super) sender: Sender<Bbr3<Draft>>,
    receiver: StandardReceiver,
    pub(super) now: Time,
    rate: Rate,
    one_way: Span,
    buffer: Span,
    policer: Option<Bucket>,
    rule: Rule,
    /// The receiver sends ACKs in batches this far apart.
    batch: Option<Span>,
    trickle: Option<Trickle>,
    /// The application always has more data and writes it just in time.
    is_greedy: bool,
    link_free_at: Time,
    events: BTreeMap<(Time, u64), Event>,
    count: u64,
    segments: u64,
    pub(super) dropped: u64,
}

/// The draft's version.
pub(super) fn draft() -> Bbr3<Draft> {
    Bbr3::new(&mut Parameters::default(), Rng::from_name(1, "bbr3"))
}

impl TestPath {
    /// A path with unlimited data, `kbit` kbit/s, `rtt_ms`, and a buffer of `buffer_ms` milliseconds.
    pub(super) fn new(controller: Bbr3<Draft>, kbit: u64, rtt_ms: u64, buffer_ms: u64) -> Self {
        let mut test_path = Self::idle(controller, kbit, rtt_ms, buffer_ms);
        test_path.is_greedy = true;
        test_path
    }

    /// The same path with nothing to send yet.
    pub(super) fn idle(controller: Bbr3<Draft>, kbit: u64, rtt_ms: u64, buffer_ms: u64) -> Self {
        let mut sender = Sender::new(&settings(), controller);
        let now = Time::ZERO + Span::from_secs(1);
        sender.established(now, Some(Span::from_millis(rtt_ms)), 1 << 30, true);
        Self {
            sender,
            receiver: StandardReceiver::new(),
            now,
            rate: Rate::from_bits(kbit * 1_000),
            one_way: Span::from_millis(rtt_ms) / 2,
            buffer: Span::from_millis(buffer_ms),
            policer: None,
            rule: Box::new(|_| Delivery::Arrives),
            batch: None,
            trickle: None,
            is_greedy: false,
            link_free_at: now,
            events: BTreeMap::new(),
            count: 0,
            segments: 0,
            dropped: 0,
        }
    }

    pub(super) fn bbr(&self) -> &Bbr3<Draft> {
        self.sender.controller_ref()
    }

    pub(super) fn tp(&self) -> &SenderState {
        self.sender.tp()
    }

    pub(super) fn cc(&self) -> &CcState {
        self.sender.cc()
    }

    pub(super) fn phase(&self) -> Phase {
        self.bbr().phase
    }

    pub(super) fn ms(&self) -> u64 {
        self.now.as_micros() / 1_000 - 1_000
    }

    pub(super) fn set_rate(&mut self, kbit: u64) {
        self.rate = Rate::from_bits(kbit * 1_000);
    }

    pub(super) fn police(&mut self, kbit: u64, burst: u64) {
        self.policer = Some(Bucket { rate: Rate::from_bits(kbit * 1_000), burst, tokens: burst, at: self.now });
    }

    pub(super) fn judge(&mut self, rule: impl FnMut(u64) -> Delivery + 'static) {
        self.rule = Box::new(rule);
    }

    pub(super) fn batch_acks(&mut self, millis: u64) {
        self.batch = Some(Span::from_millis(millis));
    }

    /// From now on the application writes only `bytes` every `millis` milliseconds.
    pub(super) fn trickle(&mut self, bytes: u64, millis: u64) {
        self.pause();
        self.trickle = Some(Trickle { bytes, every: Span::from_millis(millis) });
        self.schedule(self.now, Event::Write);
    }

    /// The application stops writing.
    pub(super) fn pause(&mut self) {
        (self.trickle, self.is_greedy) = (None, false);
    }

    /// The application has unlimited data again.
    pub(super) fn resume(&mut self) {
        (self.trickle, self.is_greedy) = (None, true);
    }

    /// The application stops until everything is delivered, and then idles for `millis`.
    pub(super) fn sleep(&mut self, millis: u64) {
        self.pause();
        self.run_until(|test_path| test_path.tp().in_flight() == 0 && test_path.events.is_empty());
        self.now += Span::from_millis(millis);
    }

    pub(super) fn run_for(&mut self, millis: u64) {
        let end = self.now + Span::from_millis(millis);
        self.run_until(|test_path| test_path.now >= end);
    }

    /// Runs until this phase, which must begin within 30 s.
    pub(super) fn run_to(&mut self, phase: Phase) {
        let end = self.now + Span::from_secs(30);
        self.run_until(|test_path| {
            assert!(test_path.now < end, "{} did not begin; phase {}", phase.name(), test_path.phase().name());
            test_path.phase() == phase
        });
    }

    /// Runs until `is_over` holds after an event.
    pub(super) fn run_until(&mut self, mut is_over: impl FnMut(&Self) -> bool) {
        while !is_over(self) {
            self.step();
        }
    }

    /// The phases of the next `millis`, each with its start and length in milliseconds.
    pub(super) fn phase_log(&mut self, millis: u64) -> Vec<(Phase, u64, u64)> {
        let end = self.now + Span::from_millis(millis);
        let mut pages = Vec::new();
        let mut page = (self.phase(), self.ms());
        while self.now < end {
            self.step();
            if self.phase() != page.0 {
                pages.push((page.0, page.1, self.ms() - page.1));
                page = (self.phase(), self.ms());
            }
        }
        pages.push((page.0, page.1, self.ms() - page.1));
        pages
    }

    /// One event.
    pub(super) fn step(&mut self) {
        self.send();
        let timer = self.sender.next_timer();
        let event = self.events.first_key_value().map(|first| first.0.0);
        let next = event.map_or(timer, |event| event.min(timer));
        assert!(next.is_set(), "no event is scheduled");
        self.now = self.now.max(next);
        if event == Some(next) {
            let event = self.events.pop_first().expect("there is an event").1;
            self.handle(&event);
        } else {
            self.sender.on_timer(self.now);
        }
    }

    fn send(&mut self) {
        loop {
            while self.is_greedy && self.sender.unsent_bytes() < MIN_UNSENT {
                self.sender.write(self.now, MIN_UNSENT);
            }
            let Some(packet) = testing::poll(&mut self.sender, self.now) else { break };
            if self.sender.on_departed(packet.len + u32::from(packet.segments) * TCP_HEADERS_BYTES, 1) {
                self.sender.on_resumed(self.now);
            }
            let mut piece = Transmission { segments: 1, ..packet };
            let end = packet.seq + u64::from(packet.len);
            while piece.seq < end {
                piece.len = u32::try_from((end - piece.seq).min(u64::from(MSS))).expect("there is a segment");
                self.forward(piece);
                piece.seq += u64::from(piece.len);
            }
        }
    }

    fn forward(&mut self, piece: Transmission) {
        self.segments += 1;
        let fate = (self.rule)(self.segments);
        let wait = self.link_free_at.since(self.now);
        if fate == Delivery::Dies || !self.admits() || wait > self.buffer {
            self.dropped += 1;
            return;
        }
        self.link_free_at = self.link_free_at.max(self.now) + self.rate.time_for(WIRE_BYTES);
        let late = if let Delivery::Late(span) = fate { span } else { Span::ZERO };
        self.schedule(self.link_free_at + self.one_way + late, Event::Data(piece, self.now));
    }

    fn admits(&mut self) -> bool {
        let Some(bucket) = &mut self.policer else { return true };
        bucket.tokens = bucket.burst.min(bucket.tokens + bucket.rate.bytes_in(self.now.since(bucket.at)));
        bucket.at = self.now;
        let admitted = bucket.tokens >= WIRE_BYTES;
        bucket.tokens -= if admitted { WIRE_BYTES } else { 0 };
        admitted
    }

    fn handle(&mut self, event: &Event) {
        match event {
            Event::Data(packet, sent_at) => {
                let ack = self.receiver.take(packet, *sent_at);
                self.schedule(self.next_batch() + self.one_way, Event::Ack(ack));
            }
            Event::Ack(segment) => self.sender.on_ack(self.now, segment, false),
            Event::Write => {
                if let Some(trickle) = self.trickle {
                    self.sender.write(self.now, trickle.bytes);
                    self.schedule(self.now + trickle.every, Event::Write);
                }
            }
        }
    }

    fn next_batch(&self) -> Time {
        let Some(batch) = self.batch else { return self.now };
        Time::from_nanos(self.now.as_nanos().next_multiple_of(batch.as_nanos()))
    }

    fn schedule(&mut self, at: Time, event: Event) {
        self.count += 1;
        self.events.insert((at, self.count), event);
    }
}

fn settings() -> Settings {
    testing::settings(MSS)
}

const MSS: u32 = 1_448;
/// Twenty segments, enough to fill any super-packet here.
const MIN_UNSENT: u64 = 20 * MSS as u64;
/// A full packet's size on the link, as a shaper counts it.
const WIRE_BYTES: u64 = 1_514;
