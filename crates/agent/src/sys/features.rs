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
    // all features it reads and writes as many following blocks as the second word states; `words` is long enough.
    // Both live until the call returns.
    let answer = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCETHTOOL, &raw mut request) };
    Errno::result(answer).map(drop)
}
