//! red's average and probability, in integers as in Linux `include/net/red.h`.

use crate::queue::RedConfig;
use crate::rng::Rng;
use crate::time::Span;
use alloc::boxed::Box;

/// Thresholds, weight and probability.
#[derive(Debug)]
pub(in crate::queue) struct Slope {
    /// Thresholds, shifted left by `wlog` as the average is.
    min: u64,
    max: u64,
    wlog: u8,
    /// Probability at `max`, in units of 2⁻³², per byte of `qth_max` − `qth_min`: the divisor of a random number.
    max_p_per_byte: u32,
    scell_log: u8,
    idle_damping: Box<[u8; CELLS]>,
}

impl Slope {
    /// From the values that tc passes to the kernel (`red_set_parms`).
    pub fn new(config: &RedConfig) -> Self {
        let width = config.max.saturating_sub(config.min).max(1);
        let max_p = match config.max_p.0 {
            0 => u32::MAX.checked_shr(config.plog.into()).unwrap_or(u32::MAX).wrapping_mul(width),
            given => given,
        };
        Self {
            min: u64::from(config.min) << config.wlog,
            max: u64::from(config.max) << config.wlog,
            wlog: config.wlog,
            max_p_per_byte: (max_p / width).max(1),
            scell_log: config.scell_log,
            idle_damping: table(&config.idle_damping),
        }
    }

    /// average ← average × (1 − 2⁻ʷˡᵒᵍ) + backlog × 2⁻ʷˡᵒᵍ, all shifted left by `wlog`; in bytes, for choke in packets.
    pub const fn moved(&self, average: u64, backlog: u64) -> u64 {
        average + backlog - (average >> self.wlog)
    }

    /// The average after an idle period, decayed by the small packets that could have been sent in it.
    pub fn after_idling(&self, average: u64, idle: Span) -> u64 {
        let idle_us = idle.as_micros().min(LAST_CELL << self.scell_log);
        let cell = usize::try_from(idle_us >> self.scell_log).unwrap_or(CELLS - 1);
        let bits = self.idle_damping[cell & (CELLS - 1)];
        if bits > 0 {
            return average >> bits;
        }
        // Below the table's resolution: linear, down to a half.
        let lost = average.saturating_mul(idle_us) >> self.scell_log;
        if lost < average / 2 { average - lost } else { average / 2 }
    }

    /// Whether it is below `min`.
    pub const fn is_below(&self, average: u64) -> bool {
        average < self.min
    }

    /// Whether it is at most `min` (used by `choke`).
    pub const fn is_up_to_min(&self, average: u64) -> bool {
        average <= self.min
    }

    /// Whether it is above `max` (used by `choke`).
    pub const fn is_beyond_max(&self, average: u64) -> bool {
        average > self.max
    }

    /// Whether it is at least `max`.
    pub const fn is_above(&self, average: u64) -> bool {
        average >= self.max
    }

    /// Bytes above `min`.
    pub const fn excess(&self, average: u64) -> u64 {
        (average - self.min) >> self.wlog
    }

    /// Excess × packets at which the next hit occurs: uniform between 0 and width ÷ `max_p`.
    pub fn throw(&self, rng: &mut Rng) -> u64 {
        u64::from(rng.next_u32() / self.max_p_per_byte)
    }
}

fn table(bits: &[u8]) -> Box<[u8; CELLS]> {
    assert!(bits.len() == CELLS, "red: the idle damping table has {} entries, expected 256", bits.len());
    assert!(bits.iter().all(|bits| *bits < 32), "red: idle damping shifts must be below 32");
    let mut table = Box::new([0; CELLS]);
    table.copy_from_slice(bits);
    table
}

/// Entries of the idle damping table (`RED_STAB_SIZE`).
const CELLS: usize = 256;
/// Idle times saturate at this cell (`Scell_max`).
const LAST_CELL: u64 = 255;
