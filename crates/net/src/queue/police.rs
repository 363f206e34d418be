//! Policer: drops packets that exceed its bucket and never queues (Linux `net/sched/act_police.c`).

use super::bucket::{Bucket, nanos, span_nanos};
use super::config::PoliceConfig;
use crate::packet::{Packet, cut};
use crate::time::Time;

/// One or two buckets.
#[derive(Clone, Debug)]
pub(super) struct Policer {
    bucket: Bucket,
    peak: Option<Bucket>,
    /// Maximum time that a bucket accumulates at once.
    max_ns: i64,
    /// Time of the last conforming packet.
    paid_ns: i64,
    largest: u32,
}

impl Policer {
    /// A policer with full buckets.
    pub fn new(config: &PoliceConfig) -> Self {
        let peak = config.peak.map(|rate| Bucket::for_bytes(rate, config.mtu.into()));
        Self {
            bucket: Bucket::full(config.rate, config.burst),
            peak,
            max_ns: span_nanos(config.burst),
            paid_ns: 0,
            largest: config.mtu,
        }
    }

    /// Whether a packet conforms; only then it is charged.
    pub fn passes(&mut self, packet: &Packet, now: Time) -> bool {
        if !self.fits(packet) {
            return false;
        }
        let now_ns = nanos(now);
        let elapsed_ns = (now_ns - self.paid_ns).min(self.max_ns);
        let tokens_ns = self.bucket.after(elapsed_ns, packet.bytes);
        let peak_ns = self.peak.as_ref().map_or(0, |peak| peak.after(elapsed_ns, packet.bytes));
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

    /// Whether the size is allowed; of a super-packet, its segments' size (`tcf_police_mtu_check`).
    fn fits(&self, packet: &Packet) -> bool {
        packet.bytes <= self.largest
            || cut(*packet).is_some_and(|mut parts| parts.all(|part| part.bytes <= self.largest))
    }
}
