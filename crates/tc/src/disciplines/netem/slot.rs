//! netem's slots: times, and limits right behind them.

use crate::options::{Declared, own};
use crate::syntax::Wrong;
use crate::syntax::attributes::Structure;
use crate::syntax::grammar::{Argument, Options, option};
use crate::syntax::quantity::time_ns;
use dumbbell_net::queue::config::SlotConfig;
use dumbbell_net::time::Span;

const MAX_IN_SLOT: u32 = i32::MAX as u32;

/// A slot, and limits right behind it.
pub const SLOT: Declared<SlotConfig> = own(
    [
        option("slot", &[Argument::Time]).and(&[Argument::Time]),
        option("packets", &[Argument::Count]),
        option("bytes", &[Argument::Count]),
    ],
    |options, _| read(options),
    |to, kind, slot| to.bytes(kind, &bytes(slot)),
);

/// Slots (`get_slot`).
fn read(options: &Options<'_>) -> Result<Option<SlotConfig>, Wrong> {
    refuse_loose_limits(options)?;
    let Some(words) = options.arguments("slot") else { return Ok(None) };
    let least = time_ns(words[0])?;
    let most = words.get(1).map_or(Ok(least), |word| time_ns(word))?;
    if most < least {
        return Err(Wrong::new("netem's slots whose most is below their least", "such as slot 2ms 6ms"));
    }
    let limit = |name: &str| match options.count_above_zero(name)?.unwrap_or(MAX_IN_SLOT) {
        number @ ..=MAX_IN_SLOT => Ok(number),
        number => {
            let hint = format!("at most {MAX_IN_SLOT}, or 0 for no limit");
            Err(Wrong::new(format!("netem's slot takes at most {MAX_IN_SLOT} {name}, got {number}"), hint))
        }
    };
    let slot = SlotConfig {
        least: Span::from_nanos(least),
        most: Span::from_nanos(most),
        packets: limit("packets")?,
        bytes: limit("bytes")?,
    };
    Ok(Some(slot))
}

/// `packets` and `bytes` belong to a slot, in this order and right behind it.
fn refuse_loose_limits(options: &Options<'_>) -> Result<(), Wrong> {
    let mut before = "";
    for (name, _) in options.iter() {
        if (name == "packets" && before != "slot") || (name == "bytes" && !matches!(before, "slot" | "packets")) {
            let problem = format!("netem's {name} must be right behind a slot's times, packets before bytes");
            return Err(Wrong::new(problem, "such as slot 5ms packets 16 bytes 20000"));
        }
        before = name;
    }
    Ok(())
}

/// `struct tc_netem_slot`; a limit of 0 is none.
fn bytes(slot: SlotConfig) -> Vec<u8> {
    let limit = |number: u32| if number == MAX_IN_SLOT { 0 } else { number };
    let times = Structure::default().u64(slot.least.as_nanos()).u64(slot.most.as_nanos());
    times.u32(limit(slot.packets)).u32(limit(slot.bytes)).u64(0).u64(0).finish()
}
