//! Slots: packets whose time has come wait for the next slot and leave in it together, as from a wireless link that
//! sends several at once (`get_slot_next` and `netem_dequeue`; tc-netem(8), slot).

use crate::dice::Dice;
use crate::queue::config::SlotConfig;
use core::cmp::max;

/// The slots of one wire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Slots {
    config: SlotConfig,
    /// When the next one begins.
    next_ns: i64,
    packets_left: u32,
    bytes_left: u32,
}

impl Slots {
    /// The first began long ago, when the path was set up: whoever comes first waits for the next.
    pub(super) fn new(config: SlotConfig) -> Self {
        Self { config, next_ns: i64::MIN, packets_left: config.packets, bytes_left: config.bytes }
    }

    pub(super) fn config(&self) -> SlotConfig {
        self.config
    }

    /// When a packet that is due at `due_ns` may leave, asked at `now_ns`. A slot that passes while nothing is due is lost:
    /// Linux puts the next one off whenever it finds that.
    pub(super) fn opens_at(&mut self, due_ns: i64, now_ns: i64, dice: &mut Dice) -> i64 {
        if self.next_ns < due_ns {
            self.begin_next(now_ns, dice);
        }
        max(due_ns, self.next_ns)
    }

    /// A packet leaves; a slot that is used up is followed by the next.
    pub(super) fn left(&mut self, bytes: u32, now_ns: i64, dice: &mut Dice) {
        self.packets_left = self.packets_left.saturating_sub(1);
        self.bytes_left = self.bytes_left.saturating_sub(bytes);
        if self.packets_left == 0 || self.bytes_left == 0 {
            self.begin_next(now_ns, dice);
        }
    }

    /// When the next slot begins, as far as is known.
    pub(super) const fn next_ns(&self) -> i64 {
        self.next_ns
    }

    fn begin_next(&mut self, now_ns: i64, dice: &mut Dice) {
        let [least, most] =
            [self.config.least, self.config.most].map(|span| i64::try_from(span.as_nanos()).unwrap_or(i64::MAX));
        let room = u64::try_from(most.saturating_sub(least)).unwrap_or(0);
        let more = if room == 0 { 0 } else { (u128::from(room) * u128::from(dice.word())) >> 32 };
        self.next_ns = now_ns.saturating_add(least).saturating_add(i64::try_from(more).unwrap_or(i64::MAX));
        self.packets_left = self.config.packets;
        self.bytes_left = self.config.bytes;
    }
}
