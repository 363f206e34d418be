//! Characters that a terminal would obey or a reader not see.

/// The first such character of a text, with its position in characters.
///
/// Newline and tab are none. Joiners between letters beyond ASCII stay: Persian and emoji need them.
#[must_use]
pub fn find(text: &str) -> Option<(usize, char)> {
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\n' | b'\t')) {
        return None;
    }
    let mut before = None;
    let mut characters = text.chars().enumerate().peekable();
    while let Some((position, character)) = characters.next() {
        let after = characters.peek().map(|(_, next)| *next);
        if is_hidden_between(before, character, after) {
            return Some((position, character));
        }
        before = Some(character);
    }
    None
}

/// Whether a reader would not see a character between these.
#[must_use]
pub fn is_hidden_between(before: Option<char>, character: char, after: Option<char>) -> bool {
    let joins_letters = || before.is_some_and(is_printed) && after.is_some_and(is_printed);
    is_hidden(character) || (is_joiner(character) && !joins_letters())
}

const fn is_joiner(character: char) -> bool {
    matches!(character, '\u{200c}' | '\u{200d}')
}

fn is_printed(character: char) -> bool {
    !character.is_ascii() && !is_joiner(character) && !is_hidden(character)
}

/// Control characters but newline and tab, those that change the direction of text or have no width, and those that XML
/// forbids: the first and the last of each range.
pub const HIDDEN: [(char, char); 19] = [
    ('\0', '\x08'),
    ('\x0b', '\x1f'),
    ('\x7f', '\u{9f}'),
    ('\u{ad}', '\u{ad}'),
    ('\u{34f}', '\u{34f}'),
    ('\u{61c}', '\u{61c}'),
    ('\u{115f}', '\u{1160}'),
    ('\u{17b4}', '\u{17b5}'),
    ('\u{180b}', '\u{180f}'),
    ('\u{200b}', '\u{200b}'),
    ('\u{200e}', '\u{200f}'),
    ('\u{2028}', '\u{202e}'),
    ('\u{2060}', '\u{206f}'),
    ('\u{3164}', '\u{3164}'),
    ('\u{feff}', '\u{feff}'),
    ('\u{ffa0}', '\u{ffa0}'),
    ('\u{fff0}', '\u{fffb}'),
    ('\u{fffe}', '\u{ffff}'),
    ('\u{e0000}', '\u{e0fff}'),
];

fn is_hidden(character: char) -> bool {
    HIDDEN.iter().any(|(first, last)| (*first..=*last).contains(&character))
}

/// The text with hidden characters as escapes, on one line.
#[must_use]
pub fn visible_line(text: &str) -> String {
    let mut out = String::new();
    for character in text.chars() {
        match character {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push('\t'),
            _ if is_hidden(character) || is_joiner(character) => out.push_str(&escape(character)),
            _ => out.push(character),
        }
    }
    out
}

fn escape(character: char) -> String {
    match u32::from(character) {
        code @ ..=0xff => format!("\\x{code:02x}"),
        code @ ..=0xffff => format!("\\u{code:04x}"),
        code => format!("\\U{code:08x}"),
    }
}
