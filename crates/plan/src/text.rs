//! Numbers as messages, tc and scripts write them, and words as a shell reads them.

use dumbbell_tc::quantity::{float, truncated};

const BILLION: u64 = 1_000_000_000;

/// A rate in the shortest exact spelling of tc.
#[must_use]
pub fn rate_text(rate: u64) -> String {
    shortest(rate, &[("gbit", BILLION), ("mbit", 1_000_000), ("kbit", 1_000), ("bit", 1)])
}

/// A time in the shortest exact spelling of tc.
#[must_use]
pub fn time_text(time_ns: u64) -> String {
    shortest(time_ns, &[("s", BILLION), ("ms", 1_000_000), ("us", 1_000), ("ns", 1)])
}

fn shortest(number: u64, units: &[(&str, u64)]) -> String {
    let exact = units.iter().find(|(_, scale)| number.is_multiple_of(*scale));
    exact.map_or_else(String::new, |(unit, scale)| format!("{}{unit}", number / scale))
}

/// Seconds for a person and for `sleep`.
#[must_use]
pub fn seconds(time_ns: u64) -> String {
    general(float(time_ns) / 1e9, 6)
}

/// Milliseconds for a person.
#[must_use]
pub fn millis(time_ns: u64) -> String {
    general(float(time_ns) / 1e6, 6)
}

/// A number with this many significant digits, without trailing zeros (C's `%g`).
#[must_use]
pub fn general(number: f64, digits: usize) -> String {
    let scientific = format!("{number:.*e}", digits.saturating_sub(1));
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let least = i32::try_from(digits).unwrap_or(i32::MAX);
    if !(-4..least).contains(&exponent) {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{}e{sign}{:02}", stripped(mantissa), exponent.unsigned_abs());
    }
    let decimals = usize::try_from(least - 1 - exponent).unwrap_or(0);
    stripped(&format!("{number:.decimals$}")).into()
}

fn stripped(number: &str) -> &str {
    if number.contains('.') { number.trim_end_matches('0').trim_end_matches('.') } else { number }
}

/// An integer of any size as a float.
#[expect(clippy::cast_precision_loss, reason = "for estimates and messages")]
#[must_use]
pub const fn large(number: u128) -> f64 {
    number as f64
}

/// A float rounded to an integer, half to even.
#[must_use]
pub fn rounded(number: f64) -> u64 {
    truncated(number.round_ties_even())
}

/// A word as a shell needs it: in quotes, if a character could mean anything else.
#[must_use]
pub fn quoted(word: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_@%+=:,./-".contains(&byte);
    if !word.is_empty() && word.bytes().all(is_plain) {
        return word.into();
    }
    format!("'{}'", word.replace('\'', "'\"'\"'"))
}

/// Words as a line for a shell.
#[must_use]
pub fn joined<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    words.into_iter().map(quoted).collect::<Vec<_>>().join(" ")
}

/// A text as one line of comment.
#[must_use]
pub fn comment(text: &str) -> String {
    let ends = |character: char| character.is_whitespace() || ('\x1c'..='\x1f').contains(&character);
    let words: Vec<_> = text.split(ends).filter(|word| !word.is_empty()).collect();
    format!("# {}", words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_as_short_as_in_c() {
        for (number, text) in [
            (0.0, "0"),
            (20.0, "20"),
            (0.1, "0.1"),
            (1.234_567_89, "1.23457"),
            (1e11, "1e+11"),
            (123_456.7, "123457"),
            (999_999.5, "1e+06"),
            (0.000_012_5, "1.25e-05"),
            (0.000_125, "0.000125"),
        ] {
            assert_eq!(general(number, 6), text);
        }
        assert_eq!(general(12.34, 3), "12.3");
    }

    #[test]
    fn quantities_have_the_largest_unit_that_is_exact() {
        assert_eq!(
            (rate_text(80_000_000), rate_text(1_001), rate_text(0)),
            ("80mbit".into(), "1001bit".into(), "0gbit".into())
        );
        assert_eq!(
            (time_text(13_000_000), time_text(1_500), time_text(7)),
            ("13ms".into(), "1500ns".into(), "7ns".into())
        );
    }

    #[test]
    fn a_shell_reads_a_quoted_word_as_it_was() {
        assert_eq!((quoted("a-b/c"), quoted(""), quoted("it's")), ("a-b/c".into(), "''".into(), "'it'\"'\"'s'".into()));
        assert_eq!(joined(["a", "b c"]), "a 'b c'");
        assert_eq!(comment(" a\nb\u{2028}c\x1cd "), "# a b c d");
    }
}
