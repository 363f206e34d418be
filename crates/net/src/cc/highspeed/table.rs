//! The table of RFC 3649 appendix B.
//!
//! Row *n* (from 0) applies up to its window in packets: a round trip adds *n* + 1 packets, and a loss removes the
//! second number, in 1/256 of the window.

/// Window and decrease, computed as the program in the RFC's appendix does: a row begins where a round trip adds at least
/// one packet more than in the row before. The decrease is rounded down.
pub(super) const ROWS: [(u32, u8); 72] = rows();

#[expect(clippy::cast_possible_truncation, reason = "windows are below 2¹⁷, decreases at most 128")]
const fn rows() -> [(u32, u8); 72] {
    let mut rows = [(38, 128); 72];
    let (mut row, mut added) = (1, ONE);
    while row < rows.len() {
        let (mut low, mut high) = (rows[row - 1].0 as u64, 100_000);
        while high - low > 1 {
            let middle = u64::midpoint(low, high);
            if increase(middle) > added + ONE {
                high = middle;
            } else {
                low = middle;
            }
        }
        added = increase(high);
        rows[row] = (high as u32, (decrease(high) * 256 / ONE) as u8);
        row += 1;
    }
    rows
}

/// b(w) of section 5, in 1/[`ONE`]: from 1/2 at 38 packets to 1/10 at 83000, linear in log w.
#[expect(clippy::cast_possible_truncation, reason = "at most 1/2")]
const fn decrease(window: u64) -> u64 {
    let below = 2 * ONE as u128 * (log2(window) - log2(38)) as u128 / (5 * (log2(83_000) - log2(38))) as u128;
    ONE / 2 - below as u64
}

/// a(w) of section 5, in 1/[`ONE`]: w² p(w) 2 b(w) / (2 − b(w)) with p(w) = 0.078 / w^1.2, as 1 / (12.8 w^1.2).
#[expect(clippy::cast_possible_truncation, reason = "below 73")]
const fn increase(window: u64) -> u64 {
    let decrease = decrease(window) as u128;
    let power = fifth_root((window as u128).pow(4) << (5 * ROOT_BITS)) as u128;
    let scaled = (power << (32 - ROOT_BITS)) * 2 * decrease / (2 * ONE as u128 - decrease);
    (scaled * 10 / 128) as u64
}

/// The logarithm to base 2, in 1/[`ONE`]: a bit by each squaring of the mantissa.
const fn log2(number: u64) -> u64 {
    let mut result = number.ilog2() as u64;
    let mut mantissa = (number as u128) << (62 - result);
    let mut bits = 32;
    while bits > 0 {
        mantissa = (mantissa * mantissa) >> 62;
        result <<= 1;
        if mantissa >> 63 == 1 {
            mantissa >>= 1;
            result |= 1;
        }
        bits -= 1;
    }
    result
}

/// The largest integer whose fifth power is at most `number`.
const fn fifth_root(number: u128) -> u64 {
    let (mut root, mut bit) = (0_u64, 1_u64 << 25);
    while bit > 0 {
        if ((root | bit) as u128).pow(5) <= number {
            root |= bit;
        }
        bit >>= 1;
    }
    root
}

const ONE: u64 = 1 << 32;
const ROOT_BITS: u32 = 12;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table_checksum::table_checksum;

    #[test]
    fn the_table_is_the_rfc_s() {
        let entries = ROWS.into_iter().flat_map(|(window, decrease)| [window, decrease.into()]);
        assert_eq!(table_checksum(entries), 0x83ac_cf01_3d19_2b46);
    }

    /// RFC 3649 section 5: b(w) falls with log w from 0.5 at 38 packets to 0.1 at 83000.
    #[test]
    fn decreases_follow_the_rfcs_line() {
        for (window, decrease) in ROWS {
            let position = (f64::from(window).ln() - 38_f64.ln()) / (83_000_f64.ln() - 38_f64.ln());
            let exact = 0.5 + (0.1 - 0.5) * position;
            assert!((f64::from(decrease) / 256.0 - exact).abs() < 0.01, "{window}: {decrease}/256, {exact}");
        }
    }

    #[test]
    fn windows_rise_and_decreases_fall() {
        assert!(ROWS.is_sorted_by(|one, next| one.0 < next.0 && one.1 >= next.1));
    }
}
