//! Seeds each netem as the plan states, so that the same seed loses the same packets on every kernel.
//!
//! Uses rtnetlink, since tc supports netem's `seed` only from iproute2 6.6 on: the dump of a netem is sent back as a
//! change, with the seed appended (of duplicate attributes the last one counts). Kernels before 6.6 lack the
//! attribute, ignore it and use a random seed.

use crate::error::{Attempt, Result};
use crate::sample::netlink::{Netlink, attributes};
use crate::sample::qdisc;
use dumbbell_plan::NetemSeed;
use dumbbell_records::end::FoundQueue;
use netlink_packet_core::{NLM_F_ACK, NLM_F_REQUEST};
use nix::errno::Errno;
use nix::sys::socket::SockProtocol;

const TCA_KIND: u16 = 1;
const TCA_OPTIONS: u16 = 2;
const TCA_NETEM_PRNG_SEED: u16 = 14;
/// Length of `tcm_info`, the last field of `struct tcmsg`.
const INFO_BYTES: usize = 4;

/// Seeds all netems.
pub fn seed(netem_seed: &[NetemSeed]) -> Result<()> {
    for of_host in netem_seed.chunk_by(|a, b| a.host == b.host) {
        let netlink = Netlink::open(&of_host[0].host, SockProtocol::NetlinkRoute)?;
        let netems = qdisc::all(&of_host[0].host, &netlink)?;
        for netem_seed in of_host {
            let matches_netem = |found: &&(FoundQueue, Vec<u8>)| {
                found.0.device == netem_seed.device && found.0.handle == netem_seed.handle
            };
            let (_, dump) =
                netems.iter().find(matches_netem).ok_or(Errno::ENOENT).attempt(|| describe_netem(netem_seed))?;
            netlink.order(&change(dump, netem_seed.seed))?;
        }
    }
    Ok(())
}

fn describe_netem(netem_seed: &NetemSeed) -> String {
    format!("seeding netem {} on device '{}' of host '{}'", netem_seed.handle, netem_seed.device, netem_seed.host)
}

/// The request: a netem's dump from `struct tcmsg` on, with another seed.
fn change(dump: &[u8], seed: u64) -> Vec<u8> {
    let (header, dump) = dump.split_at(qdisc::MESSAGE_BYTES);
    let mut body = header[..qdisc::MESSAGE_BYTES - INFO_BYTES].to_vec();
    body.extend([0; INFO_BYTES]);
    for (kind, value) in attributes(dump) {
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

/// An attribute: length, kind, value, padding to a multiple of four.
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
    fn a_change_repeats_the_options_and_appends_the_seed() {
        let mut dump = vec![0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 1, 0, 0xff, 0xff, 0xff, 0xff, 2, 0, 0, 0];
        append(&mut dump, TCA_KIND, b"netem\0");
        let mut options = vec![9; 24];
        append(&mut options, TCA_NETEM_PRNG_SEED, &1_u64.to_ne_bytes());
        append(&mut dump, TCA_OPTIONS, &options);
        append(&mut dump, 7, &[1; 20]);

        let request = change(&dump, 0x0102_0304_0506_0708);
        assert_eq!(usize::from(request[0]), request.len(), "the length comes first");
        assert_eq!(request[16..32], dump[..16], "device, handle, parent");
        assert_eq!(request[32..36], [0; 4]);
        let found: Vec<_> = attributes(&request[36..]).collect();
        assert_eq!(found[0], (TCA_KIND, &b"netem\0"[..]));
        assert_eq!(found.len(), 2, "statistics are not sent back");
        let seeds: Vec<_> = attributes(&found[1].1[24..]).collect();
        assert_eq!(seeds[0], (TCA_NETEM_PRNG_SEED, &1_u64.to_ne_bytes()[..]));
        assert_eq!(seeds[1], (TCA_NETEM_PRNG_SEED, &0x0102_0304_0506_0708_u64.to_ne_bytes()[..]));
    }
}
