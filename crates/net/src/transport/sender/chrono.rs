//! The times that a sender was busy or limited (`tcp_chrono_start`).

use crate::time::{Span, Time};

/// What limits the sender; a later value replaces an earlier one (`enum tcp_chrono`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ChronoKind {
    #[default]
    /// There is nothing to send.
    Nothing,
    /// The network.
    Busy,
    /// The peer's window.
    PeerLimited,
    /// The send buffer.
    SndbufLimited,
}

/// Time spent in each, in jiffies.
#[derive(Clone, Debug, Default)]
pub(super) struct Chrono {
    current: ChronoKind,
    since: u64,
    spent: [u64; 4],
}

impl Chrono {
    /// Something else limits the sender from now on.
    pub fn change(&mut self, to: ChronoKind, now: u64) {
        self.spent[self.current as usize] += now - self.since;
        (self.current, self.since) = (to, now);
    }

    /// This limits the sender, unless something stronger does.
    pub fn start(&mut self, what: ChronoKind, now: u64) {
        if what > self.current {
            self.change(what, now);
        }
    }

    /// This no longer limits the sender, which is busy.
    pub fn stop(&mut self, what: ChronoKind, now: u64) {
        if what == self.current {
            self.change(ChronoKind::Busy, now);
        }
    }

    /// Time that this limited the sender.
    pub fn spent(&self, what: ChronoKind, now: Time) -> Span {
        let running = if what == self.current { now.jiffies() - self.since } else { 0 };
        Span::from_jiffies(self.spent[what as usize] + running)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    const KINDS: [ChronoKind; 4] =
        [ChronoKind::Nothing, ChronoKind::Busy, ChronoKind::PeerLimited, ChronoKind::SndbufLimited];

    proptest! {
        /// Every jiffy belongs to exactly one kind; a weaker limit does not replace a stronger one.
        #[test]
        fn the_times_add_up(steps in prop::collection::vec((0_u64..50, 0_usize..4, 0_u8..3), 1..40)) {
            let mut chrono = Chrono::default();
            let (mut now, mut current) = (0, 0);
            let mut spent = [0; 4];
            for (waited, kind, what) in steps {
                now += waited;
                spent[current] += waited;
                match what {
                    0 => {
                        chrono.start(KINDS[kind], now);
                        current = current.max(kind);
                    }
                    1 => {
                        chrono.stop(KINDS[kind], now);
                        current = if kind == current { 1 } else { current };
                    }
                    _ => {
                        chrono.change(KINDS[kind], now);
                        current = kind;
                    }
                }
                let at = Time::ZERO + Span::from_jiffies(now);
                let times: Vec<Span> = KINDS.iter().map(|kind| chrono.spent(*kind, at)).collect();
                prop_assert_eq!(times, spent.map(Span::from_jiffies));
            }
        }
    }
}
