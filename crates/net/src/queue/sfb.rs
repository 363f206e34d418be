//! sfb: stochastic fair blue, which finds the flows that fill the queue by several hashes at once (Feng, Kandlur, Saha
//! and Shin 2001; Linux `net/sched/sch_sfb.c`).
//!
//! Each packet counts in one bin of each of eight levels. A bin's probability grows with each packet that arrives while
//! it holds `target` packets, and decreases with each that finds it empty. The smallest probability of a packet's bins
//! is that of a mark or drop: only a flow all of whose bins are full has a high one. At a probability of 1 the flow is
//! inelastic and gets `penalty_rate` packets per second. A second set of bins with another hash takes over after each
//! `rehash`, so that no two flows share their bins for long.

use super::call::{CallContext, Peeked, QdiscContext};
use super::classify::{Class, Classifier, drop_unmatched};
use super::flow_hash::FlowHash;
use super::stats::QdiscStats;
use super::{Next, SfbConfig, Verdict};
use crate::packet::{Ecn, Packet};
use crate::rng::Rng;
use crate::time::{HZ, Time};
use alloc::boxed::Box;
use alloc::collections::VecDeque;

#[cfg(test)]
mod tests;

/// Stochastic fair blue.
#[derive(Debug)]
pub(super) struct Sfb {
    config: SfbConfig,
    /// Packets with their hash in each set of bins; 0: not counted there.
    packets: VecDeque<(Packet, [u32; 2])>,
    sets: [Bins; 2],
    /// The set in use.
    current: usize,
    /// Whether the other set counts inelastic flows.
    is_warming_up: bool,
    tokens: u32,
    /// None after a change, until the next packet arrives.
    clocks: Option<Clocks>,
    classifier: Classifier,
    rng: Rng,
}

/// Eight levels of sixteen bins.
#[derive(Debug)]
struct Bins {
    hash: FlowHash,
    levels: Box<[[Bin; BINS]; LEVELS]>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Bin {
    packets: u16,
    /// Probability in units of 1/65535.
    probability: u32,
}

/// When something last happened, in jiffies.
#[derive(Clone, Copy, Debug)]
struct Clocks {
    rehashed: u64,
    earned_tokens: u64,
}

/// The least of a packet's bins.
#[derive(Clone, Copy, Debug)]
struct Least {
    packets: u32,
    probability: u32,
}

impl Sfb {
    /// An empty queue.
    pub fn new(config: &SfbConfig, context: &QdiscContext, handle: &str) -> Self {
        let mut rng = context.rng(handle);
        Self {
            packets: VecDeque::new(),
            sets: [Bins::new(&mut rng), Bins::new(&mut rng)],
            current: 0,
            is_warming_up: false,
            tokens: config.penalty_burst,
            clocks: Some(Clocks { rehashed: 0, earned_tokens: 0 }),
            classifier: Classifier::new(&config.rules),
            rng,
            config: config.clone(),
        }
    }

    /// Enqueues a packet unless its bins are full or it is selected and cannot be marked.
    pub fn enqueue(&mut self, mut packet: Packet, stats: &mut QdiscStats, ctx: &mut CallContext) -> Verdict {
        if stats.backlog.packets >= self.config.limit {
            return refuse_over_limit(packet, stats, ctx);
        }
        let now = ctx.age_jiffies();
        self.rehash(now);
        let Some(hash) = self.hash(&packet, ctx.now) else {
            drop_unmatched(&packet, stats, ctx);
            return Verdict::Queued;
        };
        let mut hashes = [0; 2];
        hashes[self.current] = hash.max(1);
        let least = self.sets[self.current].update(hashes[self.current], &self.config);
        if least.packets >= self.config.max {
            return refuse_over_limit(packet, stats, ctx);
        }
        if least.probability >= ALWAYS {
            if self.is_warming_up {
                let next = &mut self.sets[1 - self.current];
                hashes[1 - self.current] = next.hash.hash_of(&packet).max(1);
                next.update(hashes[1 - self.current], &self.config);
            }
            if !self.take_token(now) {
                return refuse_over_limit(packet, stats, ctx);
            }
        } else if self.hits(least.probability, &mut packet, stats) {
            return refuse(packet, stats, ctx);
        }
        stats.add_packet(packet.bytes);
        self.count(hashes, |packets| packets.saturating_add(1));
        self.packets.push_back((packet, hashes));
        Verdict::Queued
    }

    /// Dequeues the oldest packet.
    pub fn dequeue(&mut self, stats: &mut QdiscStats) -> Next {
        let Some((packet, hashes)) = self.packets.pop_front() else { return Next::Empty };
        stats.leave(packet.bytes);
        self.count(hashes, |packets| packets.saturating_sub(1));
        Next::Packet(packet)
    }

    /// Peeks at the oldest packet.
    pub fn peek(&self) -> Peeked {
        self.packets.front().map_or(Peeked::Empty, |(packet, _)| Peeked::Packet { bytes: packet.bytes })
    }

    /// Applies new settings; the bins restart. Linux drops queued packets; here they stay and count in no bin.
    pub fn change(&mut self, config: &SfbConfig) {
        self.sets = [Bins::new(&mut self.rng), Bins::new(&mut self.rng)];
        (self.current, self.is_warming_up) = (0, false);
        (self.clocks, self.tokens) = (None, config.penalty_burst);
        self.classifier = Classifier::new(&config.rules);
        self.packets.iter_mut().for_each(|(_, hashes)| *hashes = [0; 2]);
        self.config = config.clone();
    }

    /// The hash of a packet's flow, or of its class; None: it has no class.
    fn hash(&mut self, packet: &Packet, now: Time) -> Option<u32> {
        let hash = self.sets[self.current].hash;
        if self.config.rules.is_empty() {
            return Some(hash.hash_of(packet));
        }
        match self.classifier.class_of(packet, now) {
            Class::Minor(minor) => Some(hash.hash_of_number(minor.into())),
            Class::None | Class::Policed => None,
        }
    }

    /// Swaps the sets of bins if it is time for it.
    fn rehash(&mut self, now: u64) {
        let clocks = self.clocks.get_or_insert(Clocks { rehashed: now, earned_tokens: now });
        if self.config.rehash == 0 {
            return;
        }
        let due = clocks.rehashed + self.config.rehash;
        if now > due {
            // The old bins keep their packets and probabilities.
            self.sets[self.current].hash = FlowHash::new(&mut self.rng);
            self.current = 1 - self.current;
            self.is_warming_up = false;
            clocks.rehashed = now;
        } else if self.config.warmup > 0 && now + self.config.warmup > due {
            self.is_warming_up = true;
        }
    }

    /// Whether a packet must be dropped at this probability; else it may be marked.
    fn hits(&mut self, probability: u32, packet: &mut Packet, stats: &mut QdiscStats) -> bool {
        let drawn = self.rng.next_u32() >> 16;
        if drawn >= probability {
            return false;
        }
        // Above a half some are dropped even if they could be marked.
        if drawn < 2 * probability.saturating_sub(ALWAYS / 2) || !packet.ecn.is_capable() {
            return true;
        }
        packet.ecn = Ecn::Ce;
        stats.counters.marks += 1;
        false
    }

    /// Whether an inelastic flow may send a packet (`sfb_rate_limit`).
    fn take_token(&mut self, now: u64) -> bool {
        let SfbConfig { penalty_rate: rate, penalty_burst: burst, .. } = self.config;
        if rate == 0 || burst == 0 {
            return false;
        }
        if self.tokens == 0 {
            let clocks = self.clocks.get_or_insert(Clocks { rehashed: now, earned_tokens: now });
            let earned = (now - clocks.earned_tokens).min(MAX_SECONDS * HZ) * u64::from(rate) / HZ;
            self.tokens = u32::try_from(earned).unwrap_or(u32::MAX).min(burst);
            clocks.earned_tokens = now;
        }
        let has_token = self.tokens > 0;
        self.tokens = self.tokens.saturating_sub(1);
        has_token
    }

    /// Changes the number of packets of the bins of these hashes.
    fn count(&mut self, hashes: [u32; 2], change: impl Fn(u16) -> u16) {
        for (bins, hash) in self.sets.iter_mut().zip(hashes).filter(|(_, hash)| *hash != 0) {
            bins.each(hash, |bin| bin.packets = change(bin.packets));
        }
    }
}

impl Bins {
    fn new(rng: &mut Rng) -> Self {
        Self { hash: FlowHash::new(rng), levels: Box::default() }
    }

    /// Adapts the probabilities of the bins of this hash to an arriving packet.
    fn update(&mut self, hash: u32, config: &SfbConfig) -> Least {
        let mut least = Least { packets: u32::MAX, probability: u32::MAX };
        self.each(hash, |bin| {
            let packets = u32::from(bin.packets);
            if packets == 0 {
                bin.probability = bin.probability.saturating_sub(config.decrement);
            } else if packets >= config.target {
                bin.probability = bin.probability.saturating_add(config.increment).min(ALWAYS);
            }
            least.packets = least.packets.min(packets);
            least.probability = least.probability.min(bin.probability);
        });
        least
    }

    /// The bin of each level: each four bits of the hash select one.
    fn each(&mut self, hash: u32, mut visit: impl FnMut(&mut Bin)) {
        for (level, bins) in self.levels.iter_mut().enumerate() {
            let number = (hash >> (BIN_BITS * level)) as usize & (BINS - 1);
            visit(&mut bins[number]);
        }
    }
}

fn refuse_over_limit(packet: Packet, stats: &mut QdiscStats, ctx: &mut CallContext) -> Verdict {
    stats.counters.overlimits += 1;
    refuse(packet, stats, ctx)
}

fn refuse(packet: Packet, stats: &mut QdiscStats, ctx: &mut CallContext) -> Verdict {
    stats.counters.drops += 1;
    ctx.dropped.push(packet);
    Verdict::Congested
}

/// Bits of the hash per level, bins per level and levels (`SFB_BUCKET_SHIFT`).
const BIN_BITS: usize = 4;
const BINS: usize = 1 << BIN_BITS;
const LEVELS: usize = 32 / BIN_BITS;
/// A probability of 1 (`SFB_MAX_PROB`).
const ALWAYS: u32 = 0xFFFF;
/// Seconds for which inelastic flows earn tokens at most.
const MAX_SECONDS: u64 = 10;
