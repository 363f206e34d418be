//! Diagnostics as text, with the lines of the file and the place underlined.

use crate::diagnostic::Diagnostic;
use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use dumbbell_plan::hidden::visible_line;

/// Every mistake with an excerpt of `text`, which was read from `file`; plain ASCII, or with colours.
#[must_use]
pub fn render(faults: &[Diagnostic], text: &str, file: &str, is_coloured: bool) -> String {
    let renderer = if is_coloured { Renderer::styled() } else { Renderer::plain() };
    let renderer = renderer.decor_style(DecorStyle::Ascii);
    let text = &visible(text);
    let reports: Vec<_> = faults.iter().map(|fault| renderer.render(&[group(fault, text, file)])).collect();
    reports.join("\n\n")
}

fn group<'a>(fault: &'a Diagnostic, text: &'a str, file: &'a str) -> Group<'a> {
    let title = visible_line(&Diagnostic { hint: String::new(), ..fault.clone() }.to_string());
    let where_ = if fault.case.is_empty() { file.to_owned() } else { format!("{file} (case '{}')", fault.case) };
    let span = fault.span.clone().filter(|span| text.get(span.clone()).is_some());
    let title = if span.is_some() { title } else { format!("{}: {title}", visible_line(&where_)) };
    let mut group = Group::with_title(Level::ERROR.primary_title(title));
    if let Some(span) = span {
        let snippet = Snippet::source(text)
            .path(visible_line(&where_))
            .annotation(AnnotationKind::Primary.span(one_line(span, text)));
        group = group.element(snippet);
    }
    if !fault.hint.is_empty() {
        group = group.element(Level::HELP.message(visible_line(&fault.hint)));
    }
    group
}

/// The span up to the end of its first line: a table over many lines is underlined where it begins.
fn one_line(span: core::ops::Range<usize>, text: &str) -> core::ops::Range<usize> {
    let end = text[span.clone()].find('\n').map_or(span.end, |length| span.start + length);
    span.start..end
}

/// The text with the same length and no control characters, so that a terminal obeys nothing of it.
fn visible(text: &str) -> String {
    let is_shown = |character: char| {
        character == '\n'
            || character == '\t'
            || dumbbell_plan::hidden::find(character.encode_utf8(&mut [0; 4])).is_none()
    };
    text.chars()
        .map(|character| if is_shown(character) { character.to_string() } else { "?".repeat(character.len_utf8()) })
        .collect()
}
