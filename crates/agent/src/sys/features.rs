//! Features of a device: sets one like `ethtool -K`; reads all (`ethtool -k`) and restores them bit by bit.
//!
//! `ETHTOOL_GFEATURES` and `ETHTOOL_SFEATURES` (include/uapi/linux/ethtool.h): the older calls set groups of bits,
//! so their changes can't always be undone.

use nix::errno::Errno;
use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};
use serde::{Deserialize, Serialize};
use std::mem::zeroed;
use std::os::fd::AsRawFd;

const GET_FEATURES: u32 = 0x3a;
const SET_FEATURES: u32 = 0x3b;
const GET_STRING_COUNT: u32 = 0x37;
const GET_STRINGS: u32 = 0x1b;
/// Names of features (`ETH_SS_FEATURES`), each of 32 bytes (`ETH_GSTRING_LEN`).
const FEATURE_NAMES: u32 = 4;
const NAME_WORDS: usize = 8;
/// Words of 32 bits; Linux 6.18 has two.
const MAX_FEATURE_WORDS: usize = 8;

/// The features of a device, 32 per word.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
pub struct Features {
    /// Changeable features.
    changeable: Vec<u32>,
    /// Requested features.
    wanted: Vec<u32>,
    /// Active features.
    active: Vec<u32>,
}

/// Reads the features.
pub fn get(device: &str) -> nix::Result<Features> {
    let mut words = [0_u32; 2 + 4 * MAX_FEATURE_WORDS];
    words[0] = GET_FEATURES;
    words[1] = u32::try_from(MAX_FEATURE_WORDS).expect("a small number");
    call(device, &mut words)?;
    let count = usize::try_from(words[1]).expect("32 bits fit").min(MAX_FEATURE_WORDS);
    let blocks = || words[2..].chunks_exact(4).take(count);
    Ok(Features {
        // Available, without those that never change.
        changeable: blocks().map(|block| block[0] & !block[3]).collect(),
        wanted: blocks().map(|block| block[1]).collect(),
        active: blocks().map(|block| block[2]).collect(),
    })
}

/// Restores the requested features.
pub fn restore(device: &str, before: &Features) -> nix::Result<()> {
    let mut words = vec![SET_FEATURES, u32::try_from(before.wanted.len()).expect("a small number")];
    for (changeable, wanted) in before.changeable.iter().zip(&before.wanted) {
        words.extend([*changeable, wanted & changeable]);
    }
    call(device, &mut words)
}

/// Turns off every feature that makes packets of several, or passes such packets on; the names of those that stay.
pub fn without_super_packets(device: &str) -> nix::Result<Vec<String>> {
    let names = names(device)?;
    let meant = |word: usize| {
        let bits = names.iter().skip(32 * word).take(32).enumerate();
        bits.filter(|(_, name)| makes_super_packets(name)).fold(0, |bits, (bit, _)| bits | 1 << bit)
    };
    let before = get(device)?;
    let mut words = vec![SET_FEATURES, u32::try_from(before.changeable.len()).expect("a small number")];
    words.extend(before.changeable.iter().enumerate().flat_map(|(word, changeable)| [changeable & meant(word), 0]));
    call(device, &mut words)?;
    let after = get(device)?;
    let is_active = |number: usize| after.active.get(number / 32).is_some_and(|word| word & 1 << (number % 32) > 0);
    let stays = names.iter().enumerate().filter(|(number, name)| is_active(*number) && makes_super_packets(name));
    Ok(stays.map(|(_, name)| name.clone()).collect())
}

/// The features that experiments switch, as words for `ethtool -K` that give the device this state again.
pub fn restoring_words(device: &str, before: &Features) -> nix::Result<Vec<String>> {
    let bit = |words: &[u32], number: usize| words.get(number / 32).is_some_and(|word| word & 1 << (number % 32) > 0);
    let names = names(device)?;
    let switched =
        names.iter().enumerate().filter(|(number, name)| makes_super_packets(name) && bit(&before.changeable, *number));
    let word =
        |(number, name): (usize, &String)| format!("{name} {}", if bit(&before.wanted, number) { "on" } else { "off" });
    Ok(switched.map(word).collect())
}

/// By its name as `ethtool -k` prints it (net/ethtool/common.c). `tx-gso-robust` makes none.
fn makes_super_packets(name: &str) -> bool {
    let prefixes = ["tx-gso-partial", "tx-gso-list", "rx-gro", "rx-lro", "rx-udp-gro"];
    name.ends_with("segmentation") || prefixes.iter().any(|prefix| name.starts_with(prefix))
}

/// The names of all features, by number.
fn names(device: &str) -> nix::Result<Vec<String>> {
    // Command, reserved, a mask of 64 bits for the sets, a count for each.
    let mut count = [GET_STRING_COUNT, 0, 1 << FEATURE_NAMES, 0, 0];
    call(device, &mut count)?;
    let length = usize::try_from(count[4]).expect("32 bits fit").min(32 * MAX_FEATURE_WORDS);
    let mut words = vec![0_u32; 3 + length * NAME_WORDS];
    words[..3].copy_from_slice(&[GET_STRINGS, FEATURE_NAMES, u32::try_from(length).expect("a small number")]);
    call(device, &mut words)?;
    let text = |words: &[u32]| {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).take_while(|byte| *byte > 0).collect();
        String::from_utf8_lossy(&bytes).into_owned()
    };
    Ok(words[3..].chunks_exact(NAME_WORDS).map(text).collect())
}

/// Sets one feature with an ioctl that exists since Linux 2.6; `command` is its number.
pub fn set(device: &str, command: u32, on: bool) -> nix::Result<()> {
    call(device, &mut [command, u32::from(on)])
}

fn call(device: &str, words: &mut [u32]) -> nix::Result<()> {
    let socket = socket(AddressFamily::Inet, SockType::Datagram, SockFlag::SOCK_CLOEXEC, None)?;
    // SAFETY: an all-zero ifreq is valid: it is plain bytes and integers.
    let mut request: libc::ifreq = unsafe { zeroed() };
    for (to, from) in request.ifr_name.iter_mut().take(libc::IFNAMSIZ - 1).zip(device.bytes()) {
        *to = from.cast_signed();
    }
    request.ifr_ifru.ifru_data = words.as_mut_ptr().cast();
    // SAFETY: SIOCETHTOOL reads a zero-terminated name and the two words that `ifru_data` points to; of the calls for
    // all features it reads and writes as many following blocks as the second word states, of those for names as many
    // as the third word and the mask state; `words` is long enough.
    // Both live until the call returns.
    let answer = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCETHTOOL, &raw mut request) };
    Errno::result(answer).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_makes_packets_of_several_is_known_by_its_name() {
        let all = names("lo").expect("features have names");
        let made: Vec<_> = all.iter().map(String::as_str).filter(|name| makes_super_packets(name)).collect();
        for name in ["tx-generic-segmentation", "tx-tcp-segmentation", "tx-udp-segmentation", "tx-gso-list", "rx-gro"] {
            assert!(made.contains(&name), "{name} of {all:?}");
        }
        assert!(!made.iter().any(|name| name.contains("checksum") || name.contains("vlan")), "{made:?}");
    }
}
