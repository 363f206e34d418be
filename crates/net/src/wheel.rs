//! When a Linux timer fires: its clock is jiffies, and its wheel rounds up, more coarsely the further away the time is.
//!
//! High-resolution timers (pacing, SACK compression) do not use it.

use crate::time::{Span, Time};

/// When a timer fires that is set at `now` for `jiffies` ahead (`calc_wheel_index`, kernel/time/timer.c).
///
/// Each level of the wheel has 64 slots, eight times as wide as those of the level below; a timer fires in the slot
/// after its own, so never early: 10 jiffies are 40 to 44 ms, and 250 are 1000 to 1032 ms. Where the slots begin depends
/// on the kernel's jiffies.
#[must_use]
pub(crate) fn fires(now: Time, jiffies: u64) -> Time {
    fires_from(now.jiffies(), jiffies)
}

/// The same with the current jiffy.
#[must_use]
pub(crate) fn fires_from(jiffy: u64, jiffies: u64) -> Time {
    let mut shift = 0;
    while shift < MAX_SHIFT && jiffies >= FIRST_LEVEL << shift {
        shift += LEVEL_SHIFT;
    }
    at_jiffy(((((jiffy + jiffies + START) >> shift) + 1) << shift) - START)
}

/// Time of the tick with this number.
#[must_use]
pub(crate) fn at_jiffy(jiffy: u64) -> Time {
    Time::ZERO + Span::from_jiffies(jiffy)
}

/// Linux's jiffy when an experiment starts in a guest, as far as the wheel's widest slot: the guest boots at jiffy
/// -75,000 (`INITIAL_JIFFIES`), and the agent starts the experiment 26 jiffies later (`Clock::start_on_jiffy`).
const START: u64 = 290;
/// Jiffies covered by the first level (`LVL_START(1)`).
const FIRST_LEVEL: u64 = 63;
/// Each level is coarser than the one below by this shift (`LVL_CLK_SHIFT`).
const LEVEL_SHIFT: u32 = 3;
/// Shift of the coarsest level that TCP uses (120 s).
const MAX_SHIFT: u32 = 9;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timer_fires_in_the_slot_after_its_own() {
        let after = |now_ms, jiffies| {
            let now = Time::ZERO + Span::from_millis(now_ms);
            fires(now, jiffies).since(now).as_micros() / 1_000
        };
        assert_eq!(after(100, 10), 44);
        assert_eq!(after(103, 10), 41);
        assert_eq!(after(0, 62), 252);
        // Above 62 jiffies the slots are 32 ms wide, and the first begins 24 ms after the experiment does.
        assert_eq!(after(0, 63), 280);
        assert_eq!(after(0, 250), 1_016);
        assert_eq!(after(20, 250), 1_028);
        assert_eq!(after(0, 750), 3_192);
    }
}
