//! Rates with their tables, as tc sends them for tbf, htb and police (`tc_calc_rtable` in iproute2 `tc/tc_core.c`).
//!
//! Linux has not looked up times in the tables since 3.8, but wants them.

use super::Wrong;
use super::attributes::Structure;
use super::quantity::{ticks, transmit_micros};
use dumbbell_net::rate::Rate;

const ENTRIES: u32 = 256;
const DEFAULT_MTU: u32 = 2_047;
const ETHERNET: u8 = 1;
/// 2³² ticks of 64 ns.
const LONGEST_BUCKET_US: u128 = 274_877_906;
/// Rates from here on have an attribute of 64 bits.
const WIDE: u64 = 1 << 32;

/// A rate and how packets count.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LinkRate {
    pub rate: Rate,
    /// Largest packet; 0: tc's default.
    pub mtu: u32,
    /// Smaller packets count as much.
    pub mpu: u16,
    pub overhead: u16,
}

impl LinkRate {
    /// The rate in the 32 bits of `struct tc_ratespec`.
    pub fn narrow(self) -> u32 {
        u32::try_from(self.rate.as_bytes()).unwrap_or(u32::MAX)
    }

    /// The rate, if it needs an attribute of 64 bits.
    pub fn wide(self) -> Option<u64> {
        Some(self.rate.as_bytes()).filter(|rate| *rate >= WIDE)
    }

    /// `struct tc_ratespec`.
    pub fn specification(self) -> Vec<u8> {
        let align = -1_i16;
        let cells = Structure::default().u8(self.cell_log()).u8(ETHERNET).u16(self.overhead);
        cells.u16(align.cast_unsigned()).u16(self.mpu).u32(self.narrow()).finish()
    }

    /// Ticks by packet size.
    pub fn table(self) -> Vec<u8> {
        let rate = Rate::from_bytes(u64::from(self.narrow()));
        let time = |cell: u32| {
            let size = (u64::from(cell + 1) << self.cell_log()).max(u64::from(self.mpu));
            u32::try_from(ticks(transmit_micros(size, rate))).unwrap_or(u32::MAX)
        };
        (0..ENTRIES).flat_map(|cell| time(cell).to_ne_bytes()).collect()
    }

    fn cell_log(self) -> u8 {
        let mtu = if self.mtu == 0 { DEFAULT_MTU } else { self.mtu };
        u8::try_from(u32::BITS - (mtu >> u8::BITS).leading_zeros()).expect("at most 24")
    }
}

/// A bucket of bytes as time in ticks; `kind` and `name` are its command and option.
///
/// # Errors
///
/// The bucket holds more than 2³² ticks, of which tc would keep the low 32 bits.
pub(crate) fn bucket_ticks(kind: &str, name: &str, bytes: u64, rate: Rate) -> Result<u32, Wrong> {
    u32::try_from(ticks(transmit_micros(bytes, rate))).map_err(|_| {
        let rate = rate.as_bytes();
        let problem = format!("{kind}'s {name} of {bytes} bytes at {rate} bytes per second does not fit tc's clock");
        Wrong::new(
            problem,
            format!("at most {} bytes, which last 274 s", u128::from(rate) * LONGEST_BUCKET_US / 1_000_000),
        )
    })
}

/// The same where the kernel does not use the time: as tc, the low 32 bits.
pub(crate) fn wrapped_ticks(bytes: u64, rate: Rate) -> u32 {
    u32::try_from(ticks(transmit_micros(bytes, rate)) & u64::from(u32::MAX)).expect("32 bits")
}
