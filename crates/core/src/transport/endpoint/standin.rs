//! A stand-in for the sending half until `transport::sender` lands: enough to shake hands, answer, and repeat what is lost.

use crate::cc::Controller;
use crate::packet::Segment;
use crate::time::{Span, Time};
use crate::transport::wheel::fires;
use crate::transport::{Info, Settings};

/// What leaves next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "these are a header's bits")]
pub struct Transmission {
    pub seq: u64,
    pub len: u32,
    pub segments: u16,
    pub fin: bool,
    pub psh: bool,
    pub cwr: bool,
    pub ect: bool,
    pub retransmission: bool,
}

/// A sender with a window that grows by what is acknowledged.
#[derive(Debug)]
pub struct Sender {
    mss: u32,
    window: u64,
    peer_window: u64,
    una: u64,
    nxt: u64,
    end: u64,
    again: bool,
    closed: bool,
    ecn: bool,
    timer: Time,
    rtt: Span,
    pub departed: u64,
    pub reductions: u32,
    pub repeats: u32,
}

impl Sender {
    pub fn new(settings: &Settings, _controller: Controller) -> Self {
        Self::alone(settings)
    }

    /// Without a controller, as there is none to be had yet.
    pub fn alone(settings: &Settings) -> Self {
        Self {
            mss: settings.mss,
            window: u64::from(settings.initial_window * settings.mss),
            peer_window: 0,
            una: 1,
            nxt: 1,
            end: 1,
            again: false,
            closed: false,
            ecn: false,
            timer: Time::NEVER,
            rtt: Span::ZERO,
            departed: 0,
            reductions: 0,
            repeats: 0,
        }
    }

    pub fn established(&mut self, _now: Time, rtt: Option<Span>, peer_window: u32) {
        self.rtt = rtt.unwrap_or_default();
        self.peer_window = u64::from(peer_window);
    }

    pub fn set_ecn(&mut self, on: bool) {
        self.ecn = on;
    }

    pub fn write(&mut self, _now: Time, bytes: u64) {
        self.end = self.end.saturating_add(bytes);
    }

    pub fn close(&mut self, _now: Time) {
        self.closed = true;
    }

    pub fn is_done(&self) -> bool {
        self.closed && self.una > self.end
    }

    pub fn on_ack(&mut self, now: Time, segment: &Segment, _carries_data: bool) {
        self.peer_window = u64::from(segment.window);
        if segment.ack > self.una {
            self.window += segment.ack - self.una;
            self.una = segment.ack;
            self.timer = if self.una == self.nxt { Time::NEVER } else { fires(now, 250) };
        }
    }

    pub fn on_timer(&mut self, now: Time) {
        if now >= self.timer {
            self.again = true;
            self.timer = fires(now, 250);
        }
    }

    pub fn next_timer(&self) -> Time {
        self.timer
    }

    pub fn poll(&mut self, now: Time) -> Option<Transmission> {
        let again = core::mem::take(&mut self.again);
        let seq = if again { self.una } else { self.nxt };
        let limit = self.una + self.window.min(self.peer_window);
        let len = u64::from(self.mss).min(self.end.saturating_sub(seq)).min(limit.saturating_sub(seq));
        let fin = self.closed && seq + len == self.end;
        if len == 0 && !fin {
            return None;
        }
        self.nxt = self.nxt.max(seq + len + u64::from(fin));
        if !self.timer.is_set() {
            self.timer = fires(now, 250);
        }
        Some(Transmission {
            seq,
            len: u32::try_from(len).unwrap_or(u32::MAX),
            segments: 1,
            fin,
            psh: seq + len == self.end,
            cwr: false,
            ect: self.ecn && !again,
            retransmission: again,
        })
    }

    pub fn on_departed(&mut self, _now: Time, bytes: u32) {
        self.departed += u64::from(bytes);
    }

    pub fn on_refused(&mut self, now: Time, _bytes: u32) {
        self.on_congested(now);
        self.again = true;
    }

    pub fn on_congested(&mut self, _now: Time) {
        self.reductions += 1;
    }

    pub fn handshake_retransmissions(&mut self, times: u32) {
        self.repeats = times;
    }

    pub fn fill(&self, _now: Time, info: &mut Info) {
        info.rtt = self.rtt;
        info.mss = self.mss;
    }

    pub fn next_seq(&self) -> u64 {
        self.nxt
    }
}

/// An endpoint whose sender this is. With the real sender: [`super::Endpoint::new`] with a controller.
#[cfg(test)]
pub fn endpoint_of(identity: super::Identity, settings: &Settings) -> super::Endpoint {
    super::Endpoint::with_sender(identity, settings, Some(alloc::boxed::Box::new(Sender::alone(settings))))
}

#[cfg(test)]
mod tests {
    use crate::time::{Span, Time};
    use crate::transport::endpoint::tests::{Pair, settings};

    /// What an endpoint tells its sender; goes when the stand-in goes.
    #[test]
    fn a_sender_is_told_of_syns_departures_and_refusals() {
        let mut pair = Pair::new(&settings(), &settings(), &[0, 1]);
        pair.client.connect(Time::ZERO);
        pair.run(Time::ZERO + Span::from_secs(3));
        let told = |end: &super::super::Endpoint| {
            end.sender.as_ref().map(|sender| (sender.repeats, sender.departed, sender.reductions))
        };
        assert_eq!((told(&pair.client), told(&pair.server)), (Some((2, 0, 0)), Some((0, 0, 0))));
        pair.client.write(pair.now, 1_000);
        pair.run_for(Span::from_millis(50));
        assert_eq!((told(&pair.client), told(&pair.server)), (Some((2, 1_066, 0)), Some((0, 0, 0))));
        pair.client.receiver.hurry();
        let ack = pair.client.poll(pair.now).expect("an ACK");
        pair.client.on_refused(pair.now, &ack);
        assert_eq!(told(&pair.client), Some((2, 1_066, 1)));
    }
}
