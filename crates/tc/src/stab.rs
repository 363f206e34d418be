//! `stab`: a qdisc counts packets as large as the link layer below makes them (tc-stab(8); iproute2 `tc/tc_stab.c`,
//! `tc/tc_core.c`; Linux `net/sched/sch_api.c`, `__qdisc_calculate_pkt_len`).

use crate::syntax::attributes::{AttributeBytes, Structure};
use crate::syntax::grammar::names;
use crate::syntax::{Wrong, quantity};

/// `TCA_STAB`, `TCA_STAB_BASE`, `TCA_STAB_DATA`.
const STAB: u16 = 8;
const BASE: u16 = 1;
const DATA: u16 = 2;
/// `LINKLAYER_UNSPEC`, `LINKLAYER_ETHERNET`, `LINKLAYER_ATM`.
const UNSPECIFIED: u32 = 0;
const ETHERNET: u32 = 1;
const ATM: u32 = 2;
const LINK_LAYERS: [(&str, u32); 3] = [("ethernet", ETHERNET), ("atm", ATM), ("adsl", ATM)];
const OPTIONS: [&str; 5] = ["mtu", "mpu", "overhead", "tsize", "linklayer"];
const DEFAULT_MTU: u32 = 2_047;
const DEFAULT_ENTRIES: u32 = 512;
/// As many sizes as one attribute holds.
const MOST_ENTRIES: u32 = 32_000;
/// Payload and size of an ATM cell.
const CELL: (u32, u32) = (48, 53);
/// Largest packet whose size can be looked up here.
const MOST_BYTES: u32 = 1 << 20;

/// Whether `stab` has such an option.
pub(crate) fn is_option(word: &str) -> bool {
    OPTIONS.contains(&word)
}

/// Sizes of packets on a link layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SizeTable {
    /// Bytes added to each packet; may be negative.
    overhead: i32,
    link_layer: u32,
    /// Smaller packets count as much.
    least: u32,
    mtu: u32,
    /// Sizes by the packet's, for every `1 << cell_log` bytes, in units of `1 << size_log`; empty: the overhead alone counts.
    sizes: Vec<u16>,
    cell_log: u8,
    size_log: u8,
}

impl SizeTable {
    /// Reads the words behind `stab`; None: they change no size, and tc sends nothing.
    ///
    /// # Errors
    ///
    /// tc refuses them.
    pub fn read(words: &[String]) -> Result<Option<Self>, Wrong> {
        let (mut overhead, mut link_layer, mut least, mut mtu, mut entries) = (0, UNSPECIFIED, 0, 0, 0);
        for pair in words.chunks_exact(2) {
            let (option, word) = (&pair[0][..], &pair[1][..]);
            let number = || quantity::fit(quantity::count(word)?, word);
            match option {
                "overhead" => {
                    let hint = "such as overhead 44";
                    let wrong = || Wrong::new(format!("stab: 'overhead' takes bytes, got '{word}'"), hint);
                    overhead = word.parse().ok().filter(|bytes| (-256..=65_536).contains(bytes)).ok_or_else(wrong)?;
                }
                "linklayer" => {
                    let found = LINK_LAYERS.iter().find(|(name, _)| *name == word);
                    let hint = names(&LINK_LAYERS).join(", ");
                    let wrong = || Wrong::new(format!("stab: no link layer is called '{word}'"), hint);
                    link_layer = found.ok_or_else(wrong)?.1;
                }
                "mpu" => least = number()?,
                "mtu" => mtu = number()?,
                _ => entries = number()?,
            }
        }
        if entries > MOST_ENTRIES || mtu > MOST_BYTES || least > MOST_BYTES {
            let hint = format!("tsize at most {MOST_ENTRIES}, mtu and mpu at most {MOST_BYTES}");
            return Err(Wrong::new("stab: a table of more than Linux takes", hint));
        }
        if link_layer == UNSPECIFIED && least == 0 && overhead == 0 {
            return Ok(None);
        }
        let mut table = Self { overhead, link_layer, least, mtu, sizes: Vec::new(), cell_log: 0, size_log: 0 };
        if link_layer == ATM || least > 0 {
            table.fill(if entries == 0 { DEFAULT_ENTRIES } else { entries });
        } else {
            table.mtu = 0;
        }
        Ok(Some(table))
    }

    /// As `tc_calc_size_table`.
    fn fill(&mut self, entries: u32) {
        if self.mtu == 0 {
            self.mtu = DEFAULT_MTU;
        }
        while self.mtu >> self.cell_log > entries - 1 && self.cell_log < 31 {
            self.cell_log += 1;
        }
        let adjusted = |entry: u32| {
            let bytes = ((u64::from(entry) + 1) << self.cell_log).max(u64::from(self.least));
            let (payload, cell) = (u64::from(CELL.0), u64::from(CELL.1));
            if self.link_layer == ATM { bytes.div_ceil(payload) * cell } else { bytes }
        };
        let all: Vec<_> = (0..entries).map(adjusted).collect();
        let largest = all.iter().copied().max().unwrap_or(0);
        while largest >> self.size_log > u64::from(u16::MAX) {
            self.size_log += 1;
        }
        self.sizes = all.iter().map(|bytes| u16::try_from(bytes >> self.size_log).unwrap_or(u16::MAX)).collect();
    }

    /// How large a qdisc counts a packet (`__qdisc_calculate_pkt_len`).
    #[must_use]
    pub fn counted(&self, bytes: u32) -> u32 {
        let bytes = i64::from(bytes) + i64::from(self.overhead);
        let counted = if self.sizes.is_empty() {
            bytes
        } else {
            let slot = usize::try_from((bytes - 1).max(0) >> self.cell_log).unwrap_or(0);
            let (last, entries) = (self.sizes.len() - 1, self.sizes.len());
            let size = |slot: usize| i64::from(self.sizes[slot]);
            let units = match slot {
                slot if slot <= last => size(slot),
                slot => size(last) * i64::try_from(slot / entries).unwrap_or(0) + size(slot % entries),
            };
            units << self.size_log
        };
        u32::try_from(counted.max(1)).unwrap_or(u32::MAX)
    }

    /// Appends it as tc sends it.
    pub(crate) fn send(&self, to: &mut AttributeBytes) {
        let Self { overhead, link_layer, least, mtu, sizes, cell_log, size_log } = self;
        let align: i16 = if sizes.is_empty() { 0 } else { -1 };
        let entries = u32::try_from(sizes.len()).unwrap_or(0);
        let base = Structure::default().u8(*cell_log).u8(*size_log).u16(align.cast_unsigned()).i32(*overhead);
        let base = base.u32(*link_layer).u32(*least).u32(*mtu).u32(entries).finish();
        let data: Vec<u8> = sizes.iter().flat_map(|size| size.to_ne_bytes()).collect();
        to.nested(STAB, |to| {
            to.bytes(BASE, &base);
            if !data.is_empty() {
                to.bytes(DATA, &data);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(words: &str) -> SizeTable {
        let words: Vec<_> = words.split(' ').map(String::from).collect();
        SizeTable::read(&words).expect("tc has it").expect("it changes sizes")
    }

    #[test]
    fn an_overhead_alone_is_added() {
        let sizes = table("overhead 24");
        assert_eq!((sizes.counted(1_514), sizes.counted(66)), (1_538, 90));
        assert_eq!(table("overhead -14 linklayer ethernet").counted(1_514), 1_500);
    }

    #[test]
    fn atm_counts_whole_cells() {
        // tsize 512 has a size for every 4 bytes: 1514 + 10 fall into the entry of 1524, 32 cells of 48.
        let sizes = table("linklayer atm overhead 10");
        assert_eq!(sizes.counted(1_514), 32 * 53);
        assert_eq!(sizes.counted(66), 2 * 53);
        assert_eq!(table("mpu 64 overhead 4").counted(40), 64);
    }

    #[test]
    fn what_changes_nothing_is_not_sent_and_what_tc_refuses_is_refused() {
        let read = |words: &str| SizeTable::read(&words.split(' ').map(String::from).collect::<Vec<_>>());
        assert_eq!(read("mtu 2000"), Ok(None));
        assert!(read("linklayer wifi").unwrap_err().hint.contains("adsl"));
        assert!(read("overhead lots").is_err());
        assert!(read("linklayer atm tsize 99999").is_err());
    }
}
