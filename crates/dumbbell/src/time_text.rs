//! Times as texts.

/// Seconds with six significant digits.
pub fn seconds_text(ns: u64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "for display only")]
    significant(ns as f64 / 1e9)
}

fn significant(number: f64) -> String {
    let exponent = if number == 0.0 { 0.0 } else { number.abs().log10().floor() };
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a number of digits")]
    let decimals = (5.0 - exponent).clamp(0.0, 17.0) as usize;
    let text = format!("{number:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').into() } else { text }
}

#[cfg(test)]
mod tests {
    use super::significant;

    #[test]
    fn a_time_has_six_digits() {
        let cases = [
            (0.0, "0"),
            (1.0, "1"),
            (0.25, "0.25"),
            (0.000_123_456_7, "0.000123457"),
            (12.345_678_9, "12.3457"),
            (123_456.7, "123457"),
        ];
        for (number, text) in cases {
            assert_eq!(significant(number), text);
        }
    }
}
