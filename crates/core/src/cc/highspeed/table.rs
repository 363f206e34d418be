//! The table of RFC 3649 appendix B.
//!
//! Row *n* (from 0) holds up to its window, in packets: there a round trip adds *n* + 1 packets, and a loss takes away
//! the second number, in 1/256 of the window.

/// Window and decrease.
#[rustfmt::skip]
pub(super) const ROWS: [(u32, u8); 72] = [
    (38, 128), (118, 112), (221, 104), (347, 98), (495, 93), (663, 89), (851, 86), (1_058, 83), (1_284, 81),
    (1_529, 78), (1_793, 76), (2_076, 74), (2_378, 72), (2_699, 71), (3_039, 69), (3_399, 68), (3_778, 66),
    (4_177, 65), (4_596, 64), (5_036, 62), (5_497, 61), (5_979, 60), (6_483, 59), (7_009, 58), (7_558, 57),
    (8_130, 56), (8_726, 55), (9_346, 54), (9_991, 53), (10_661, 52), (11_358, 52), (12_082, 51),
    (12_834, 50), (13_614, 49), (14_424, 48), (15_265, 48), (16_137, 47), (17_042, 46), (17_981, 45),
    (18_955, 45), (19_965, 44), (21_013, 43), (22_101, 43), (23_230, 42), (24_402, 41), (25_618, 41),
    (26_881, 40), (28_193, 39), (29_557, 39), (30_975, 38), (32_450, 38), (33_986, 37), (35_586, 36),
    (37_253, 36), (38_992, 35), (40_808, 35), (42_707, 34), (44_694, 33), (46_776, 33), (48_961, 32),
    (51_258, 32), (53_677, 31), (56_230, 30), (58_932, 30), (61_799, 29), (64_851, 28), (68_113, 28),
    (71_617, 27), (75_401, 26), (79_517, 26), (84_035, 25), (89_053, 24),
];

#[cfg(test)]
mod tests {
    use super::*;

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
