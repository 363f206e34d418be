//! An ideal path for a controller: fixed rate and delay, an endless queue, an ACK for every packet, an endless supply.
//!
//! It is a sender in one page: window, pacing, delivery rate samples. A token bucket may stand in front of the
//! bottleneck and drop what exceeds it; what it drops is known as soon as a later packet is acknowledged.

use crate::cc::{AckSample, CaState, Control, Controller, Insight, RateSample, Vitals};
use crate::rate::Rate;
use crate::time::{Span, Time};
use alloc::collections::VecDeque;

/// A packet on its way, with what a delivery rate sample needs of its departure.
struct Sent {
    at: Time,
    first_sent_at: Time,
    delivered: u64,
    delivered_at: Time,
    /// When its ACK arrives; None when it was dropped.
    ack_at: Option<Time>,
}

/// Tokens in bytes.
struct Policer {
    rate: Rate,
    burst: u64,
    tokens: u64,
    at: Time,
}

pub(in crate::cc) struct Path {
    pub(in crate::cc) controller: Controller,
    pub(in crate::cc) vitals: Vitals,
    rate: Rate,
    delay: Span,
    policer: Option<Policer>,
    link_free_at: Time,
    first_sent_at: Time,
    sent: VecDeque<Sent>,
    packets_sent: u64,
    /// Recovery ends when this byte has been acknowledged.
    recovery_end: u64,
    min_rtt: Span,
}

impl Path {
    /// A flow that is established at 1 s with one sample of the round-trip time.
    pub(in crate::cc) fn new(controller: Controller, bits_per_second: u64, rtt_ms: u64) -> Self {
        let mut vitals = super::vitals();
        let delay = Span::from_millis(rtt_ms);
        vitals.srtt_us8 = u32::try_from(delay.as_micros() * 8).unwrap();
        vitals.min_rtt_us = u32::try_from(delay.as_micros()).unwrap();
        let mut path = Self {
            controller,
            rate: Rate::from_bits(bits_per_second),
            delay,
            policer: None,
            link_free_at: Time::ZERO,
            first_sent_at: vitals.now,
            sent: VecDeque::new(),
            packets_sent: 0,
            recovery_end: 0,
            min_rtt: delay,
            vitals,
        };
        path.controller.start(&mut path.vitals);
        path
    }

    /// Puts a token bucket in front of the bottleneck.
    pub(in crate::cc) fn police(&mut self, bits_per_second: u64, burst: u64) {
        self.policer =
            Some(Policer { rate: Rate::from_bits(bits_per_second), burst, tokens: burst, at: self.vitals.now });
    }

    pub(in crate::cc) fn insight(&self) -> Insight {
        self.controller.insight(&self.vitals)
    }

    pub(in crate::cc) fn run_until(&mut self, end: Time) {
        while self.vitals.now < end {
            self.step();
        }
    }

    /// Sends a packet or takes an ACK, whichever comes first.
    pub(in crate::cc) fn step(&mut self) {
        let ack_at = self.sent.iter().find_map(|sent| sent.ack_at);
        let send_at = if self.vitals.paced { self.vitals.next_send_at.max(self.vitals.now) } else { self.vitals.now };
        let may_send = self.vitals.in_flight() < self.vitals.cwnd;
        match ack_at {
            Some(at) if !may_send || at <= send_at => self.take_ack(at),
            _ => {
                assert!(may_send, "nothing is in flight and nothing may be sent");
                self.send(send_at);
            }
        }
    }

    fn send(&mut self, at: Time) {
        let vitals = &mut self.vitals;
        vitals.now = at;
        if self.sent.is_empty() {
            self.first_sent_at = at;
            vitals.delivered_at = at;
        }
        let ack_at = if admits(&mut self.policer, at) {
            self.link_free_at = self.link_free_at.max(at) + self.rate.time_for(WIRE_BYTES);
            Some(self.link_free_at + self.delay)
        } else {
            None
        };
        self.sent.push_back(Sent {
            at,
            first_sent_at: self.first_sent_at,
            delivered: vitals.delivered,
            delivered_at: vitals.delivered_at,
            ack_at,
        });
        vitals.packets_out += 1;
        vitals.snd_nxt += u64::from(vitals.mss);
        vitals.next_send_at = at;
        if vitals.paced && self.packets_sent >= 10 {
            vitals.next_send_at += vitals.pacing_rate.time_for(u64::from(vitals.mss));
        }
        self.packets_sent += 1;
        vitals.cwnd_limited = vitals.in_flight() >= vitals.cwnd;
        vitals.max_packets_out = vitals.max_packets_out.max(vitals.packets_out);
    }

    fn take_ack(&mut self, at: Time) {
        let prior_in_flight = self.vitals.in_flight();
        let mut losses = 0;
        let sent = loop {
            let sent = self.sent.pop_front().expect("an ACK is of a packet");
            self.vitals.packets_out -= 1;
            self.vitals.snd_una += u64::from(self.vitals.mss);
            if sent.ack_at.is_some() {
                break sent;
            }
            losses += 1;
        };
        let rtt = at.since(sent.at);
        self.note(at, rtt, losses);
        let sample = self.sample(&sent, rtt, losses, prior_in_flight);
        self.first_sent_at = sent.at;
        self.tell(&sample, losses);
    }

    /// What the ACK says to the sender itself.
    fn note(&mut self, at: Time, rtt: Span, losses: u32) {
        let vitals = &mut self.vitals;
        vitals.now = at;
        vitals.delivered += 1;
        vitals.delivered_at = at;
        vitals.lost += u64::from(losses);
        self.min_rtt = if rtt < self.min_rtt { rtt } else { self.min_rtt };
        vitals.min_rtt_us = u32::try_from(self.min_rtt.as_micros()).unwrap();
        let sample = i64::try_from(rtt.as_micros()).unwrap();
        let smoothed = i64::from(vitals.srtt_us8);
        vitals.srtt_us8 = u32::try_from(smoothed + sample - smoothed / 8).unwrap();
        if vitals.app_limited != 0 && vitals.delivered > vitals.app_limited {
            vitals.app_limited = 0;
        }
    }

    fn sample(&self, sent: &Sent, rtt: Span, losses: u32, prior_in_flight: u32) -> RateSample {
        let send_phase = sent.at.since(sent.first_sent_at);
        let ack_phase = self.vitals.now.since(sent.delivered_at);
        let delivered = u32::try_from(self.vitals.delivered - sent.delivered).unwrap();
        RateSample {
            prior_delivered: sent.delivered,
            delivered: Some(delivered),
            interval: send_phase.max(ack_phase),
            rtt: Some(rtt),
            losses,
            acked_sacked: 1,
            prior_in_flight,
            ..RateSample::default()
        }
    }

    fn tell(&mut self, sample: &RateSample, losses: u32) {
        let acked = AckSample { acked: 1, rtt: sample.rtt, in_flight: self.vitals.packets_out };
        self.controller.on_acked(&mut self.vitals, &acked);
        if losses > 0 && self.vitals.state == CaState::Open {
            self.vitals.prior_cwnd = self.vitals.cwnd;
            self.vitals.ssthresh = self.controller.ssthresh(&mut self.vitals);
            self.recovery_end = self.vitals.snd_nxt;
            self.enter(CaState::Recovery);
        } else if self.vitals.state == CaState::Recovery && self.vitals.snd_una >= self.recovery_end {
            self.enter(CaState::Open);
        }
        if self.controller.controls() {
            self.controller.control(&mut self.vitals, sample);
        } else {
            self.controller.avoid(&mut self.vitals, 1);
        }
    }

    fn enter(&mut self, state: CaState) {
        self.controller.on_state(&mut self.vitals, state);
        self.vitals.state = state;
    }
}

/// May a packet pass the token bucket?
fn admits(policer: &mut Option<Policer>, now: Time) -> bool {
    let Some(policer) = policer else { return true };
    policer.tokens = policer.burst.min(policer.tokens + policer.rate.bytes_in(now.since(policer.at)));
    policer.at = now;
    let admitted = policer.tokens >= WIRE_BYTES;
    if admitted {
        policer.tokens -= WIRE_BYTES;
    }
    admitted
}

/// A full packet as a shaper counts it.
const WIRE_BYTES: u64 = 1_514;
