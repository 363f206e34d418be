//! An ideal path for testing controllers: fixed rate and delay, unlimited queue, an ACK for every packet, unlimited
//! data.
//!
//! Includes a minimal sender: window, pacing, delivery rate samples. An optional token bucket in front of the
//! bottleneck drops excess packets; a drop is detected as soon as a later packet is acknowledged.

use crate::cc::{AckSample, CaState, CcInfo, CcState, CongestionControl, Controller, RateSample, SenderState};
use crate::rate::Rate;
use crate::time::{Span, Time};
use alloc::collections::VecDeque;

/// A packet in flight and what its delivery rate sample needs.
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
    pub(in crate::cc) tp: SenderState,
    pub(in crate::cc) cc: CcState,
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
    /// A flow established at 1 s with one round-trip time sample.
    pub(in crate::cc) fn new(controller: Controller, bits_per_second: u64, rtt_ms: u64) -> Self {
        let (mut tp, cc) = (super::tp(), super::cc());
        let delay = Span::from_millis(rtt_ms);
        tp.srtt_us8 = u32::try_from(delay.as_micros() * 8).unwrap();
        tp.min_rtt_us = u32::try_from(delay.as_micros()).unwrap();
        let mut path = Self {
            controller,
            rate: Rate::from_bits(bits_per_second),
            delay,
            policer: None,
            link_free_at: Time::ZERO,
            first_sent_at: tp.now,
            sent: VecDeque::new(),
            packets_sent: 0,
            recovery_end: 0,
            min_rtt: delay,
            tp,
            cc,
        };
        path.controller.init(&path.tp, &mut path.cc);
        path
    }

    /// Adds a token bucket in front of the bottleneck.
    pub(in crate::cc) fn police(&mut self, bits_per_second: u64, burst: u64) {
        self.policer = Some(Policer { rate: Rate::from_bits(bits_per_second), burst, tokens: burst, at: self.tp.now });
    }

    pub(in crate::cc) fn cc_info(&self) -> CcInfo {
        self.controller.cc_info(&self.tp, &self.cc)
    }

    pub(in crate::cc) fn run_until(&mut self, end: Time) {
        while self.tp.now < end {
            self.step();
        }
    }

    /// Sends a packet or processes an ACK, whichever comes first.
    pub(in crate::cc) fn step(&mut self) {
        let ack_at = self.sent.iter().find_map(|sent| sent.ack_at);
        let send_at = if self.cc.paced { self.tp.next_send_at.max(self.tp.now) } else { self.tp.now };
        let may_send = self.tp.in_flight() < self.cc.cwnd;
        match ack_at {
            Some(at) if !may_send || at <= send_at => self.take_ack(at),
            _ => {
                assert!(may_send, "nothing is in flight and nothing may be sent");
                self.send(send_at);
            }
        }
    }

    fn send(&mut self, at: Time) {
        let (tp, cc) = (&mut self.tp, &mut self.cc);
        tp.now = at;
        if self.sent.is_empty() {
            self.first_sent_at = at;
            tp.delivered_at = at;
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
            delivered: tp.delivered,
            delivered_at: tp.delivered_at,
            ack_at,
        });
        tp.packets_out += 1;
        tp.snd_nxt += u64::from(tp.mss);
        tp.next_send_at = at;
        if cc.paced && self.packets_sent >= 10 {
            tp.next_send_at += cc.pacing_rate.time_for(u64::from(tp.mss));
        }
        self.packets_sent += 1;
        tp.cwnd_limited = tp.in_flight() >= cc.cwnd;
        tp.max_packets_out = tp.max_packets_out.max(tp.packets_out);
    }

    fn take_ack(&mut self, at: Time) {
        let prior_in_flight = self.tp.in_flight();
        let mut losses = 0;
        let sent = loop {
            let sent = self.sent.pop_front().expect("every ACK belongs to a packet");
            self.tp.packets_out -= 1;
            self.tp.snd_una += u64::from(self.tp.mss);
            if sent.ack_at.is_some() {
                break sent;
            }
            losses += 1;
        };
        let rtt = at.since(sent.at);
        self.note(at, rtt, losses);
        let sample = self.sample(&sent, rtt, losses, prior_in_flight);
        self.first_sent_at = sent.at;
        self.report(&sample, losses);
    }

    /// Updates the sender's own state from the ACK.
    fn note(&mut self, at: Time, rtt: Span, losses: u32) {
        let (tp, cc) = (&mut self.tp, &mut self.cc);
        tp.now = at;
        tp.delivered += 1;
        tp.delivered_at = at;
        tp.lost += u64::from(losses);
        self.min_rtt = if rtt < self.min_rtt { rtt } else { self.min_rtt };
        tp.min_rtt_us = u32::try_from(self.min_rtt.as_micros()).unwrap();
        let sample = i64::try_from(rtt.as_micros()).unwrap();
        let smoothed = i64::from(tp.srtt_us8);
        tp.srtt_us8 = u32::try_from(smoothed + sample - smoothed / 8).unwrap();
        if cc.app_limited != 0 && tp.delivered > cc.app_limited {
            cc.app_limited = 0;
        }
    }

    fn sample(&self, sent: &Sent, rtt: Span, losses: u32, prior_in_flight: u32) -> RateSample {
        let send_phase = sent.at.since(sent.first_sent_at);
        let ack_phase = self.tp.now.since(sent.delivered_at);
        let delivered = u32::try_from(self.tp.delivered - sent.delivered).unwrap();
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

    fn report(&mut self, sample: &RateSample, losses: u32) {
        let acked = AckSample { acked: 1, rtt: sample.rtt, in_flight: self.tp.packets_out };
        self.controller.pkts_acked(&self.tp, &mut self.cc, &acked);
        if losses > 0 && self.tp.state == CaState::Open {
            self.tp.prior_cwnd = self.cc.cwnd;
            self.cc.ssthresh = self.controller.ssthresh(&self.tp, &mut self.cc);
            self.recovery_end = self.tp.snd_nxt;
            self.enter(CaState::Recovery);
        } else if self.tp.state == CaState::Recovery && self.tp.snd_una >= self.recovery_end {
            self.enter(CaState::Open);
        }
        if self.controller.has_cong_control() {
            self.controller.cong_control(&self.tp, &mut self.cc, sample);
        } else {
            self.controller.cong_avoid(&self.tp, &mut self.cc, 1);
        }
    }

    fn enter(&mut self, state: CaState) {
        self.controller.set_state(&self.tp, &mut self.cc, state);
        self.tp.state = state;
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

/// A full packet's size on the link, as a shaper counts it.
const WIRE_BYTES: u64 = 1_514;
