//! Slots: due packets wait for the next slot and leave together, as on a wireless link that aggregates (`get_slot_next`
//! and `netem_dequeue`; tc-netem(8), slot).

use crate::queue::config::SlotConfig;
use crate::rng::Rng;
use core::cmp::max;

/// The slots of one link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Slots {
    config: SlotConfig,
    /// Start of the next slot.
    next_ns: i64,
    packets_left: u32,
    bytes_left: u32,
}

impl Slots {
    /// The first slot started long ago, when the path was set up; the first packet waits for the next.
    pub(super) fn new(config: SlotConfig) -> Self {
        Self { config, next_ns: i64::MIN, packets_left: config.packets, bytes_left: config.bytes }
    }

    pub(super) fn config(&self) -> SlotConfig {
        self.config
    }

    /// The time at which a packet due at `due_ns` may leave, evaluated at `now_ns`. A slot that passes without a due
    /// packet is lost: Linux then postpones the next one.
    pub(super) fn opens_at(&mut self, due_ns: i64, now_ns: i64, rng: &mut Rng) -> i64 {
        if self.next_ns < due_ns {
            self.begin_next(now_ns, rng);
        }
        max(due_ns, self.next_ns)
    }

    /// Counts a sent packet; a used-up slot is followed by the next.
    pub(super) fn left(&mut self, bytes: u32, now_ns: i64, rng: &mut Rng) {
        self.packets_left = self.packets_left.saturating_sub(1);
        self.bytes_left = self.bytes_left.saturating_sub(bytes);
        if self.packets_left == 0 || self.bytes_left == 0 {
            self.begin_next(now_ns, rng);
        }
    }

    /// Start of the next slot, if known.
    pub(super) const fn next_ns(&self) -> i64 {
        self.next_ns
    }

    fn begin_next(&mut self, now_ns: i64, rng: &mut Rng) {
        let [least, most] =
            [self.config.least, self.config.most].map(|span| i64::try_from(span.as_nanos()).unwrap_or(i64::MAX));
        let room = u64::try_from(most.saturating_sub(least)).unwrap_or(0);
        let more = if room == 0 { 0 } else { (u128::from(room) * u128::from(rng.next_u32())) >> 32 };
        self.next_ns = now_ns.saturating_add(least).saturating_add(i64::try_from(more).unwrap_or(i64::MAX));
        self.packets_left = self.config.packets;
        self.bytes_left = self.config.bytes;
    }
}
