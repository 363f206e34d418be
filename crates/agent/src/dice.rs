//! Gives each netem the seed of its random numbers that the plan says, so that the same seed loses the same packets
//! wherever it is run.
//!
//! By rtnetlink, since tc knows netem's `seed` from iproute2 6.6 on only: what the kernel says of a netem is sent back as a
//! change, with the seed behind it (of an attribute that comes twice the last one counts). A kernel before 6.6 has no such
//! attribute, ignores it and draws its own.

use crate::error::{Attempt, Result};
use crate::plan::Dice;
use crate::sample::netlink::{Netlink, attributes};
use crate::sample::qdisc::{self, Found};
use netlink_packet_core::{NLM_F_ACK, NLM_F_REQUEST};
use nix::errno::Errno;
use nix::sys::socket::SockProtocol;

const TCA_KIND: u16 = 1;
const TCA_OPTIONS: u16 = 2;
const TCA_NETEM_PRNG_SEED: u16 = 14;
/// Of `struct tcmsg`, the last of its five numbers.
const INFO_BYTES: usize = 4;

/// Seeds all of them.
pub fn seed(dice: &[Dice]) -> Result<()> {
    for of_host in dice.chunk_by(|a, b| a.host == b.host) {
        let netlink = Netlink::open(&of_host[0].host, SockProtocol::NetlinkRoute)?;
        let there = qdisc::all(&of_host[0].host, &netlink)?;
        for dice in of_host {
            let is_it = |found: &&(Found, Vec<u8>)| found.0.device == dice.device && found.0.handle == dice.handle;
            let (_, told) = there.iter().find(is_it).ok_or(Errno::ENOENT).attempt(|| whose(dice))?;
            netlink.order(&change(told, dice.seed))?;
        }
    }
    Ok(())
}

fn whose(dice: &Dice) -> String {
    format!("seeding netem {} on device '{}' of host '{}'", dice.handle, dice.device, dice.host)
}

/// The request: what was told of a netem, from `struct tcmsg` on, with another seed.
fn change(told: &[u8], seed: u64) -> Vec<u8> {
    let (header, told) = told.split_at(qdisc::MESSAGE_BYTES);
    let mut body = header[..qdisc::MESSAGE_BYTES - INFO_BYTES].to_vec();
    body.extend([0; INFO_BYTES]);
    for (kind, value) in attributes(told) {
        match kind {
            TCA_KIND => append(&mut body, kind, value),
            TCA_OPTIONS => {
                let mut options = value.to_vec();
                append(&mut options, TCA_NETEM_PRNG_SEED, &seed.to_ne_bytes());
                append(&mut body, kind, &options);
            }
            _ => {}
        }
    }
    let mut request = u32::try_from(16 + body.len()).expect("a request is short").to_ne_bytes().to_vec();
    request.extend(qdisc::RTM_NEWQDISC.to_ne_bytes());
    request.extend((NLM_F_REQUEST | NLM_F_ACK).to_ne_bytes());
    request.extend([0; 8]);
    request.extend(body);
    request
}

/// An attribute: its length, its kind, the value, and room to the next multiple of four.
fn append(bytes: &mut Vec<u8>, kind: u16, value: &[u8]) {
    bytes.extend(u16::try_from(4 + value.len()).expect("a value is short").to_ne_bytes());
    bytes.extend(kind.to_ne_bytes());
    bytes.extend(value);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_repeats_what_was_told_and_ends_with_the_seed() {
        let mut told = vec![0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 1, 0, 0xff, 0xff, 0xff, 0xff, 2, 0, 0, 0];
        append(&mut told, TCA_KIND, b"netem\0");
        let mut options = vec![9; 24];
        append(&mut options, TCA_NETEM_PRNG_SEED, &1_u64.to_ne_bytes());
        append(&mut told, TCA_OPTIONS, &options);
        append(&mut told, 7, &[1; 20]);

        let request = change(&told, 0x0102_0304_0506_0708);
        assert_eq!(usize::from(request[0]), request.len(), "the length stands first");
        assert_eq!(request[16..32], told[..16], "device, handle, parent");
        assert_eq!(request[32..36], [0; 4]);
        let found: Vec<_> = attributes(&request[36..]).collect();
        assert_eq!(found[0], (TCA_KIND, &b"netem\0"[..]));
        assert_eq!(found.len(), 2, "statistics are not sent back");
        let seeds: Vec<_> = attributes(&found[1].1[24..]).collect();
        assert_eq!(seeds[0], (TCA_NETEM_PRNG_SEED, &1_u64.to_ne_bytes()[..]));
        assert_eq!(seeds[1], (TCA_NETEM_PRNG_SEED, &0x0102_0304_0506_0708_u64.to_ne_bytes()[..]));
    }
}
