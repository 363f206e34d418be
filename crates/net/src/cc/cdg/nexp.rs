//! e⁻ˣ in integers: the probability that CDG does not back off.

/// exp(−x · 10⁻⁶) · 2³², x in millionths (`nexp_u32`): linear for the lowest 8 bits, then a factor for each bit.
pub(super) fn exponential(millionths: u32) -> u32 {
    let high = millionths >> 8;
    if high >> 16 > 0 {
        return 0; // 2²⁴ and more: the result is below 2⁻²⁴.
    }
    let low = u32::MAX - (millionths & 0xff) * (u32::MAX / 1_000_000);
    (0..16).filter(|bit| high >> bit & 1 == 1).map(|bit| FACTORS[bit]).fold(low, |product, factor| {
        let scaled = (u64::from(product) * (u64::from(factor) + 1)) >> 16;
        u32::try_from(scaled).unwrap_or(u32::MAX)
    })
}

/// exp(−256 · 2ⁿ · 10⁻⁶) · 65536 − 1, rounded to nearest; Linux's table has one more at n = 5 and n = 10.
const FACTORS: [u16; 16] = factors();

/// The first by its power series, each other as the square of the one before, in 2⁻⁶⁰.
#[expect(clippy::cast_possible_truncation, reason = "below 2¹⁶")]
const fn factors() -> [u16; 16] {
    const ONE: u128 = 1 << 60;
    let x = 256 * ONE / 1_000_000;
    // 1 - x + x²/2 - x³/6 + x⁴/24 - x⁵/120 + x⁶/720, by Horner's rule; the next term is below 2⁻⁹⁵.
    let (mut value, mut term) = (ONE, 6);
    while term > 0 {
        value = ONE - x * value / ONE / term;
        term -= 1;
    }
    let mut factors = [0; 16];
    let mut n = 0;
    while n < 16 {
        let nearest = (value * 65_536 + ONE / 2) / ONE - 1;
        factors[n] = nearest as u16 + (n == 5 || n == 10) as u16;
        value = value * value / ONE;
        n += 1;
    }
    factors
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;
    use crate::table_checksum::table_checksum;

    #[test]
    fn the_table_of_factors_is_linux_s() {
        assert_eq!(table_checksum(FACTORS), 0x2824_1065_7e14_b215);
    }

    #[test]
    fn it_equals_the_exponential_within_a_few_thousandths() {
        assert_eq!((exponential(0), exponential(1 << 24)), (u32::MAX, 0));
        for millionths in [1, 255, 256, 1_000, 42 * 500, 123_456, 693_147, 1_000_000, 5_000_000, 16_000_000] {
            let exact = (-f64::from(millionths) / 1e6).exp();
            let shown = f64::from(exponential(millionths)) / f64::from(u32::MAX);
            assert!((shown - exact).abs() < 2e-3 * exact + 1e-7, "{millionths}: {shown}, {exact}");
        }
    }
}
