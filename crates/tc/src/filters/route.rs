//! Filters by a route's realms, as tc sends them (iproute2 `tc/f_route.c`); the simulator has no realms.

use super::thirty_two_bits;
use crate::syntax::Wrong;
use crate::syntax::attributes::{AttributeBytes, unsent};

/// `TCA_ROUTE4_*`.
pub(super) const CLASS: u16 = 1;
const TO: u16 = 2;
const FROM: u16 = 3;
pub(super) const ACTION: u16 = 6;
/// The handle of any realm: the source's in the upper half, the destination's in the lower one.
const ANY: u32 = 0xFFFF_8000;
const LOWER: u32 = 0xFFFF;
const MAX_REALM: u32 = 255;

/// Appends the realms; the handle that tc makes of them.
pub(super) fn send_realms(words: &[&str], to: &mut AttributeBytes) -> Result<u32, Wrong> {
    let (mut handle, mut rest) = (ANY, words);
    while let [name, value, after @ ..] = rest {
        let realm = realm(value)?;
        match *name {
            "to" => {
                to.u32(TO, realm);
                handle = handle & !LOWER | realm;
            }
            "from" => {
                to.u32(FROM, realm);
                handle = handle & LOWER | realm << 16;
            }
            _ => return Err(unsent("these words of a route filter")),
        }
        rest = after;
    }
    if !rest.is_empty() || words.is_empty() {
        return Err(unsent("these words of a route filter"));
    }
    Ok(handle)
}

/// A number; names of realms are in a file of the host.
fn realm(word: &str) -> Result<u32, Wrong> {
    thirty_two_bits(word).ok().filter(|realm| *realm <= MAX_REALM).ok_or_else(|| unsent(&format!("the realm '{word}'")))
}
