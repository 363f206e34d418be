//! How many packets a qdisc has marked: each kind counts elsewhere (Linux `include/uapi/linux/pkt_sched.h`).

use super::netlink::{attributes, number};

/// `TCA_CAKE_STATS_TIN_STATS`.
const CAKE_TINS: u16 = 10;
/// `TCA_CAKE_TIN_STATS_ECN_MARKED_PACKETS`.
const CAKE_TIN_MARKS: u16 = 8;
/// `TCA_GRED_VQ_LIST`.
const GRED_QUEUES: u16 = 6;
/// `TCA_GRED_VQ_STAT_PROB_MARK` and `TCA_GRED_VQ_STAT_FORCED_MARK`.
const GRED_MARKS: [u16; 2] = [7, 9];

/// What a qdisc says in the format of its kind.
#[derive(Debug, Default)]
pub struct Own<'a> {
    /// `fq_codel`, `cake`, …, ending with a zero.
    pub kind: &'a [u8],
    /// `TCA_OPTIONS`: gred and sfq count there.
    pub options: &'a [u8],
    /// `TCA_STATS_APP`.
    pub statistics: &'a [u8],
}

impl Own<'_> {
    /// Packets marked so far; None if this kind marks nothing, or on a kernel that does not count marks.
    pub fn marks(&self) -> Option<u64> {
        match self.kind.strip_suffix(b"\0").unwrap_or(self.kind) {
            b"cake" => Some(nested(self.statistics, CAKE_TINS).map(|tin| sum_of(tin, &[CAKE_TIN_MARKS])).sum()),
            // CoDel counts marks of `ce_threshold` separately.
            b"codel" => sum_at(self.statistics, &[24, 32]),
            b"fq_codel" => sum_at(self.statistics, &[12, 28]),
            b"choke" | b"red" => sum_at(self.statistics, &[12]),
            b"dualpi2" => sum_at(self.statistics, &[24]),
            b"fq" => {
                self.statistics.get(80..88).map(|bytes| u64::from_ne_bytes(bytes.try_into().expect("eight bytes")))
            }
            b"fq_pie" => sum_at(self.statistics, &[16]),
            b"gred" => Some(nested(self.options, GRED_QUEUES).map(|queue| sum_of(queue, &GRED_MARKS)).sum()),
            b"pie" => sum_at(self.statistics, &[36]),
            b"sfb" => sum_at(self.statistics, &[20]),
            // By chance and forced; each for the arriving packet and, with `headdrop`, for the oldest.
            b"sfq" => sum_at(self.options, &[56, 60, 64, 68]),
            _ => None,
        }
    }
}

/// The attributes inside an attribute of this number.
fn nested(bytes: &[u8], number: u16) -> impl Iterator<Item = &[u8]> {
    attributes(bytes)
        .filter(move |(kind, _)| *kind == number)
        .flat_map(|(_, list)| attributes(list))
        .map(|(_, one)| one)
}

/// The sum of the 32-bit attributes with these numbers.
fn sum_of(bytes: &[u8], numbers: &[u16]) -> u64 {
    attributes(bytes).filter(|(kind, _)| numbers.contains(kind)).filter_map(|(_, value)| sum_at(value, &[0])).sum()
}

/// The sum of the 32-bit numbers at these offsets; None if the kernel's structure is shorter.
fn sum_at(bytes: &[u8], offsets: &[usize]) -> Option<u64> {
    offsets.iter().map(|at| (bytes.len() >= at + 4).then(|| u64::from(number(bytes, *at)))).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marks(kind: &str, options: &[u8], statistics: &[u8]) -> Option<u64> {
        Own { kind: format!("{kind}\0").as_bytes(), options, statistics }.marks()
    }

    /// An attribute whose length is a multiple of four.
    fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
        let length = u16::try_from(4 + value.len()).expect("short");
        [&length.to_ne_bytes()[..], &kind.to_ne_bytes(), value].concat()
    }

    #[test]
    fn counters_have_the_offsets_of_pkt_sched_h() {
        for (kind, offsets) in [
            ("codel", &[24, 32][..]),
            ("fq_codel", &[12, 28]),
            ("red", &[12]),
            ("pie", &[36]),
            ("fq_pie", &[16]),
            ("choke", &[12]),
            ("sfb", &[20]),
            ("dualpi2", &[24]),
            ("sfq", &[56, 60, 64, 68]),
        ] {
            let mut bytes = [0xee; 72];
            for offset in offsets {
                bytes[*offset..offset + 4].copy_from_slice(&3_u32.to_ne_bytes());
            }
            let (options, statistics): (&[u8], &[u8]) = if kind == "sfq" { (&bytes, &[]) } else { (&[], &bytes) };
            assert_eq!(marks(kind, options, statistics), Some(3 * offsets.len() as u64), "{kind}");
            assert_eq!(marks(kind, &options[..options.len() / 8], &statistics[..statistics.len() / 8]), None, "{kind}");
        }
    }

    #[test]
    fn fq_counts_with_64_bits_and_older_kernels_do_not_count() {
        let bytes = [&[0xee; 80][..], &(1_u64 << 40).to_ne_bytes(), &[0xee; 16]].concat();
        assert_eq!(marks("fq", &[], &bytes), Some(1 << 40));
        assert_eq!(marks("fq", &[], &bytes[..80]), None);
    }

    #[test]
    fn tins_and_virtual_queues_are_added() {
        let counter = |kind: u16, count: u32| attribute(kind, &count.to_ne_bytes());
        let tin = |count: u32| [counter(2, 900), counter(8, count), counter(10, 900)].concat();
        let tins = [attribute(1, &tin(5)), attribute(2, &tin(7))].concat();
        let cake = [counter(3, 900), attribute(10, &tins), counter(14, 900)].concat();
        assert_eq!(marks("cake", &[], &cake), Some(12));
        let queue = |by_chance: u32, forced: u32| {
            attribute(1, &[counter(6, 900), counter(7, by_chance), counter(8, 900), counter(9, forced)].concat())
        };
        let gred = [counter(5, 900), attribute(6, &[queue(1, 2), queue(3, 4)].concat())].concat();
        assert_eq!(marks("gred", &gred, &[]), Some(10));
    }

    #[test]
    fn other_kinds_mark_nothing() {
        assert_eq!(marks("pfifo", &[0; 80], &[0; 80]), None);
    }
}
