//! A line as words, split as a shell splits them; nothing is expanded.

/// Splits a line; `has_comments`: `#` begins a comment.
///
/// # Errors
///
/// A quote or an escape without its end.
pub fn split(line: &str, has_comments: bool) -> Result<Vec<String>, &'static str> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        match character {
            ' ' | '\t' | '\r' | '\n' => words.extend(word.take()),
            '#' if has_comments => {
                words.extend(word.take());
                characters.by_ref().find(|next| *next == '\n');
            }
            '\\' => {
                let next = characters.next().ok_or("No escaped character")?;
                word.get_or_insert_default().push(next);
            }
            '\'' => {
                let word = word.get_or_insert_default();
                loop {
                    match characters.next().ok_or("No closing quotation")? {
                        '\'' => break,
                        inner => word.push(inner),
                    }
                }
            }
            '"' => double_quoted(&mut characters, word.get_or_insert_default())?,
            _ => word.get_or_insert_default().push(character),
        }
    }
    words.extend(word);
    Ok(words)
}

/// The rest of a text in double quotes, in which a backslash escapes itself and the quote.
fn double_quoted(characters: &mut std::str::Chars<'_>, word: &mut String) -> Result<(), &'static str> {
    loop {
        match characters.next().ok_or("No closing quotation")? {
            '"' => return Ok(()),
            '\\' => match characters.next().ok_or("No closing quotation")? {
                next @ ('"' | '\\') => word.push(next),
                next => word.extend(['\\', next]),
            },
            inner => word.push(inner),
        }
    }
}
