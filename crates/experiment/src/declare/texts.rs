//! What words look like.

/// Whether a text is a word of these bytes, of `most` at most.
pub fn is_word(text: &str, first: impl Fn(u8) -> bool, rest: impl Fn(u8) -> bool, most: usize) -> bool {
    let (head, tail) = text.as_bytes().split_first().unwrap_or((&0, &[]));
    text.len() <= most && first(*head) && tail.iter().all(|byte| rest(*byte))
}
