//! A policer: packets that its bucket can't pay for die at once, nothing ever waits (Linux `net/sched/act_police.c`).

use super::bucket::{Bucket, nanos, signed};
use super::config::PoliceConfig;
use crate::packet::{Packet, cut};
use crate::time::Time;

/// One or two buckets.
#[derive(Clone, Debug)]
pub(super) struct Policer {
    bucket: Bucket,
    peak: Option<Bucket>,
    /// Longest time for which a bucket is filled at once.
    most_ns: i64,
    /// When a packet was last paid for.
    paid_ns: i64,
    largest: u32,
}

impl Policer {
    /// With full buckets.
    pub fn new(config: &PoliceConfig) -> Self {
        let peak = config.peak.map(|rate| Bucket::full(rate, rate.time_for(config.mtu.into())));
        Self {
            bucket: Bucket::full(config.rate, config.burst),
            peak,
            most_ns: signed(config.burst),
            paid_ns: 0,
            largest: config.mtu,
        }
    }

    /// May it pass? Only then it costs anything.
    pub fn passes(&mut self, packet: &Packet, now: Time) -> bool {
        if !self.fits(packet) {
            return false;
        }
        let now_ns = nanos(now);
        let elapsed_ns = (now_ns - self.paid_ns).min(self.most_ns);
        let tokens_ns = self.bucket.after(elapsed_ns, packet.bytes);
        let peak_ns = self.peak.as_mut().map_or(0, |peak| peak.after(elapsed_ns, packet.bytes));
        if tokens_ns < 0 || peak_ns < 0 {
            return false;
        }
        self.paid_ns = now_ns;
        self.bucket.set(tokens_ns);
        if let Some(peak) = &mut self.peak {
            peak.set(peak_ns);
        }
        true
    }

    /// Is it small enough? Of a super-packet its segments have to be (`tcf_police_mtu_check`).
    fn fits(&self, packet: &Packet) -> bool {
        packet.bytes <= self.largest
            || cut(*packet).is_some_and(|mut parts| parts.all(|part| part.bytes <= self.largest))
    }
}
