//! IP fragments (Linux `net/ipv4/ip_output.c`, `ip_fragment.c`): a datagram above the MTU leaves as several packets, and
//! arrives when all of them have.
//!
//! Not modelled: `ipfrag_max_dist` (a datagram is given up when 64 fragments of others overtake its own), and the ICMP
//! message about a datagram whose time is over.

use super::{Body, Damage, ETHERNET_BYTES, FlowId, IPV4_BYTES, Packet, UDP_HEADERS_BYTES};
use crate::time::Time;
use crate::wheel::fires;
use alloc::collections::{BTreeMap, VecDeque};

/// Which fragment of its datagram a packet is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fragment {
    /// Its number, from 0.
    pub number: u8,
    /// How many there are; 1 if the datagram is whole.
    pub count: u8,
}

impl Fragment {
    /// A datagram that is not fragmented.
    pub const WHOLE: Self = Self { number: 0, count: 1 };

    /// Whether another one follows.
    #[must_use]
    pub const fn has_more(self) -> bool {
        self.number + 1 < self.count
    }
}

impl Packet {
    /// The fragment that it is; None if it is whole.
    #[must_use]
    pub const fn fragment(&self) -> Option<Fragment> {
        match self.body {
            Body::Udp { fragment, .. } if fragment.count > 1 => Some(fragment),
            _ => None,
        }
    }

    /// Where its payload begins in that of its IP packet.
    #[must_use]
    pub const fn offset_bytes(&self) -> u32 {
        let own = self.bytes - ETHERNET_BYTES - IPV4_BYTES;
        match self.body {
            Body::Udp { fragment, .. } if fragment.has_more() => fragment.number as u32 * own,
            Body::Udp { payload, .. } => payload + UDP_BYTES - own,
            _ => 0,
        }
    }
}

/// Bytes of IP payload in every fragment but the last: a multiple of 8.
const fn fragment_bytes(mtu: u32) -> u32 {
    (mtu - IPV4_BYTES) & !7
}

/// The number of packets in which a datagram of this size, Ethernet header included, leaves a host.
const fn fragment_count(bytes: u32, mtu: u32) -> u32 {
    if bytes <= mtu + ETHERNET_BYTES {
        return 1;
    }
    (bytes - ETHERNET_BYTES - IPV4_BYTES).div_ceil(fragment_bytes(mtu))
}

/// The packets in which a datagram leaves: itself, or its fragments. Only the first has ports.
///
/// # Panics
///
/// If there are more than 255.
pub fn fragments(datagram: Packet, mtu: u32) -> impl Iterator<Item = Packet> {
    let count = u8::try_from(fragment_count(datagram.bytes, mtu)).expect("at most MOST_FRAGMENTS");
    (0..count).map(move |number| {
        if count == 1 {
            return datagram;
        }
        let headers = ETHERNET_BYTES + IPV4_BYTES;
        let left = datagram.bytes - headers - u32::from(number) * fragment_bytes(mtu);
        let mut packet = datagram;
        packet.bytes = headers + left.min(fragment_bytes(mtu));
        packet.port = if number == 0 { datagram.port } else { 0 };
        if let Body::Udp { fragment, .. } = &mut packet.body {
            *fragment = Fragment { number, count };
        }
        packet
    })
}

/// The fragments that one host holds until their datagrams are complete.
#[derive(Debug, Default)]
pub struct Reassembly {
    pending: BTreeMap<(FlowId, u64), Incomplete>,
    /// When the time of each is over, in order of their first fragments.
    deadlines: VecDeque<(Time, (FlowId, u64))>,
    memory: u64,
}

#[derive(Clone, Copy, Debug)]
struct Incomplete {
    deadline: Time,
    /// A bit per fragment.
    arrived: u128,
    /// A fragment is damaged, so that the datagram's checksum is wrong.
    is_damaged: bool,
    memory: u64,
}

impl Reassembly {
    /// A packet arrived; returns whether its datagram is complete and undamaged now.
    pub fn add(&mut self, now: Time, packet: &Packet) -> bool {
        let Body::Udp { seq, fragment, .. } = packet.body else { return true };
        if fragment.count == 1 {
            return true;
        }
        self.expire(now);
        if self.memory > MOST_MEMORY {
            return false;
        }
        let key = (packet.flow, seq);
        let deadlines = &mut self.deadlines;
        let incomplete = self.pending.entry(key).or_insert_with(|| {
            let deadline = fires(now, LIFETIME_JIFFIES);
            deadlines.push_back((deadline, key));
            self.memory += QUEUE_MEMORY;
            Incomplete { deadline, arrived: 0, is_damaged: false, memory: QUEUE_MEMORY }
        });
        let bit = 1 << fragment.number;
        if incomplete.arrived & bit == 0 {
            incomplete.arrived |= bit;
            incomplete.is_damaged |= packet.damage != Damage::None;
            incomplete.memory += skb_memory(packet);
            self.memory += skb_memory(packet);
        }
        let is_damaged = incomplete.is_damaged;
        let is_complete = incomplete.arrived.count_ones() == u32::from(fragment.count);
        if is_complete {
            self.memory -= incomplete.memory;
            self.pending.remove(&key);
        }
        is_complete && !is_damaged
    }

    /// Gives up datagrams whose time is over.
    fn expire(&mut self, now: Time) {
        while let Some(&(deadline, key)) = self.deadlines.front() {
            if deadline > now {
                break;
            }
            self.deadlines.pop_front();
            if self.pending.get(&key).is_some_and(|incomplete| incomplete.deadline == deadline)
                && let Some(incomplete) = self.pending.remove(&key)
            {
                self.memory -= incomplete.memory;
            }
        }
    }
}

/// Memory of a fragment (`truesize`): its head with `skb_shared_info` (320 bytes) in a cache of `kmalloc`, and the
/// `sk_buff` (256). `__ip_append_data` allocates 31 bytes more than the IP packet has.
fn skb_memory(packet: &Packet) -> u64 {
    let data = u64::from(packet.bytes - ETHERNET_BYTES) + 31;
    let head = data.next_multiple_of(64) + 320;
    256 + if head <= SMALL_HEAD { SMALL_HEAD } else { head.next_power_of_two() }
}

/// Fragments of the largest datagram at the smallest MTU (576), and more than a host can count.
pub const MOST_FRAGMENTS: u32 = 128;
/// UDP header.
const UDP_BYTES: u32 = UDP_HEADERS_BYTES - ETHERNET_BYTES - IPV4_BYTES;
/// `ipfrag_high_thresh`: above this many bytes every fragment is dropped.
const MOST_MEMORY: u64 = 4 << 20;
/// `IP_FRAG_TIME`: 30 s.
const LIFETIME_JIFFIES: u64 = 30 * crate::time::HZ;
/// `sizeof(struct ipq)`.
const QUEUE_MEMORY: u64 = 200;
/// `SKB_SMALL_HEAD_CACHE_SIZE`.
const SMALL_HEAD: u64 = 576;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::UDP_HEADERS_BYTES;
    use crate::queue::tests::tcp;
    use crate::time::Span;
    use alloc::vec::Vec;

    fn datagram(seq: u64, payload: u32) -> Packet {
        let body = Body::Udp { sent_at: Time::ZERO, seq, payload, fragment: Fragment::WHOLE };
        Packet { bytes: payload + UDP_HEADERS_BYTES, body, port: 5_201, ..tcp(0, 60, 1, 0) }
    }

    /// What a guest sends of 8,900 bytes at an MTU of 1500: six IP packets of 1,500 bytes and one of 48.
    #[test]
    fn fragments_are_those_of_linux() {
        let parts: Vec<Packet> = fragments(datagram(0, 8_900), 1_500).collect();
        let sizes: Vec<u32> = parts.iter().map(|part| part.bytes - ETHERNET_BYTES).collect();
        assert_eq!(sizes, [1_500, 1_500, 1_500, 1_500, 1_500, 1_500, 48]);
        assert_eq!(parts.iter().map(|part| part.port).collect::<Vec<_>>(), [5_201, 0, 0, 0, 0, 0, 0]);
        assert_eq!(fragments(datagram(0, 1_472), 1_500).count(), 1);
        assert_eq!(fragments(datagram(0, 1_473), 1_500).count(), 2);
    }

    #[test]
    fn a_datagram_arrives_once_with_its_last_fragment() {
        let mut host = Reassembly::default();
        let mut parts: Vec<Packet> = fragments(datagram(7, 4_000), 1_500).collect();
        parts.swap(0, 2);
        parts.insert(1, parts[0]);
        let arrived: Vec<bool> = parts.iter().map(|part| host.add(Time::ZERO, part)).collect();
        assert_eq!(arrived, [false, false, false, true]);
        assert_eq!(host.memory, 0);
        assert!(host.add(Time::ZERO, &datagram(8, 100)), "a whole datagram needs no other");
    }

    /// 2,304 bytes of memory for each full fragment: and 200 for each datagram; the one that exceeds 4 MiB is kept.
    #[test]
    fn incomplete_datagrams_fill_the_memory_for_half_a_minute() {
        let mut host = Reassembly::default();
        for seq in 0..2_000 {
            host.add(Time::ZERO, &fragments(datagram(seq, 4_000), 1_500).next().expect("three"));
        }
        assert_eq!(host.pending.len(), 1_676);
        let arrives =
            |host: &mut Reassembly, at, seq| fragments(datagram(seq, 4_000), 1_500).any(|part| host.add(at, &part));
        assert!(!arrives(&mut host, Time::ZERO + Span::from_secs(29), 2_001));
        assert!(arrives(&mut host, Time::ZERO + Span::from_secs(33), 2_002));
    }
}
