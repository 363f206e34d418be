//! A standard receiver without delays: an ACK for each packet, SACKs, DSACKs.

use crate::packet::{Flags, Sack, Segment};
use crate::time::Time;
use crate::transport::sender::Transmission;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// Acknowledges every packet at once, with the latest SACK first, and DSACKs.
#[derive(Default)]
pub(crate) struct Receiver {
    pub next: u64,
    /// Ranges above `next`: start to end.
    above: BTreeMap<u64, u64>,
    recent: Vec<u64>,
    pub fin_at: Option<u64>,
}

impl Receiver {
    pub fn new() -> Self {
        Self { next: 1, ..Self::default() }
    }

    pub fn take(&mut self, packet: &Transmission, sent_at: Time) -> Segment {
        let (start, end) = (packet.seq, packet.seq + u64::from(packet.len) + u64::from(packet.fin));
        if packet.fin {
            self.fin_at = Some(end);
        }
        let covered = end <= self.next || self.above.range(..=start).next_back().is_some_and(|above| *above.1 >= end);
        let mut sack = Sack::default();
        if covered && end > start {
            sack.push(start, end);
        }
        self.merge(start, end);
        for recent in self.recent.iter().rev() {
            let Some((start, end)) = self.above.range(..=recent).next_back() else { continue };
            if end > recent && !sack.blocks().contains(&(*start, *end)) {
                sack.push(*start, *end);
            }
        }
        let flags = Flags { ack: true, ..Flags::default() };
        Segment { seq: 1, ack: self.next, window: 1 << 24, flags, echo: sent_at, sack, ..Segment::default() }
    }

    fn merge(&mut self, start: u64, end: u64) {
        let (mut start, mut end) = (start, end);
        self.recent.retain(|recent| *recent != start);
        self.recent.push(start);
        let touching: Vec<u64> =
            self.above.range(..=end).filter(|above| *above.1 >= start).map(|above| *above.0).collect();
        for key in touching {
            start = start.min(key);
            end = end.max(self.above.remove(&key).unwrap());
        }
        if start <= self.next {
            self.next = self.next.max(end);
        } else {
            self.above.insert(start, end);
        }
        let next = self.next;
        self.recent.retain(|recent| *recent >= next);
    }
}
