//! Python types of the parsed values, made of the declarations.

use crate::declare::spec::{Presence, TableSpec};
use crate::reference::tables_of;
use core::fmt::Write as _;

/// Characters of a line below its indentation.
const WIDTH: usize = 114;

/// A class for each of these tables and those below them, without the module's head: no class of this name exists at run
/// time, its attributes are those of a handle.
#[must_use]
pub fn classes(roots: &[&'static TableSpec]) -> String {
    roots.iter().flat_map(|root| tables_of(root)).map(class).collect::<Vec<_>>().join("\n")
}

fn class(spec: &'static TableSpec) -> String {
    let base = spec.flat.first().map_or_else(String::new, |flat| format!("({})", flat.name));
    let base = if base.is_empty() { "(Keys)".into() } else { base };
    let head = format!("@type_check_only\nclass {}{base}:", spec.name);
    let mut text = format!("{head}\n{}\n", docstring(spec.doc));
    for key in spec.keys {
        let none = if matches!(key.presence, Presence::Optional) { " | None" } else { "" };
        _ = write!(text, "    {}: {}{none}\n{}", key.name, (key.shape)().python, docstring(key.doc));
    }
    text
}

/// A docstring in lines of at most [`WIDTH`] characters.
fn docstring(doc: &str) -> String {
    let doc = doc.trim().replace('\\', "\\\\").replace("\"\"\"", "'''");
    let end = if doc.ends_with('"') { " \"\"\"" } else { "\"\"\"" };
    let mut lines = vec![String::from("\"\"\"")];
    for word in doc.split_whitespace() {
        let last = lines.last().expect("the first line");
        let space = if lines.len() == 1 && last.len() == 3 { "" } else { " " };
        if last.len() + space.len() + word.len() + end.len() > WIDTH {
            lines.push(word.into());
        } else {
            lines.last_mut().expect("the first line").extend([space, word]);
        }
    }
    let text = lines.iter().map(|line| format!("    {line}")).collect::<Vec<_>>().join("\n");
    // A long docstring ends on a line of its own.
    text + if lines.len() > 1 { "\n    \"\"\"\n" } else { end } + if lines.len() > 1 { "" } else { "\n" }
}
