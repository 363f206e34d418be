//! e⁻ˣ in whole numbers: how likely CDG stays where it is.

/// exp(−x · 10⁻⁶) · 2³², x in millionths (`nexp_u32`): the lowest 8 bits in a line, then a factor for each bit.
pub(super) fn exponential(millionths: u32) -> u32 {
    let high = millionths >> 8;
    if high >> 16 > 0 {
        return 0; // 2²⁴ and more: below 2⁻²⁴.
    }
    let low = u32::MAX - (millionths & 0xff) * (u32::MAX / 1_000_000);
    (0..16).filter(|bit| high >> bit & 1 == 1).map(|bit| FACTORS[bit]).fold(low, |product, factor| {
        let scaled = (u64::from(product) * (u64::from(factor) + 1)) >> 16;
        u32::try_from(scaled).unwrap_or(u32::MAX)
    })
}

/// exp(−256 · 2ⁿ · 10⁻⁶) · 65536 − 1.
const FACTORS: [u16; 16] = [
    65_518, 65_501, 65_468, 65_401, 65_267, 65_001, 64_470, 63_422, 61_378, 57_484, 50_423, 38_795, 22_965, 8_047, 987,
    14,
];

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;

    #[test]
    fn it_is_the_exponential_within_a_few_thousandths() {
        assert_eq!((exponential(0), exponential(1 << 24)), (u32::MAX, 0));
        for millionths in [1, 255, 256, 1_000, 42 * 500, 123_456, 693_147, 1_000_000, 5_000_000, 16_000_000] {
            let exact = (-f64::from(millionths) / 1e6).exp();
            let shown = f64::from(exponential(millionths)) / f64::from(u32::MAX);
            assert!((shown - exact).abs() < 2e-3 * exact + 1e-7, "{millionths}: {shown}, {exact}");
        }
    }
}
