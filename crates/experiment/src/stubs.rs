//! Python types of the parsed values, made of the declarations.

use crate::declare::spec::{KeySpec, Presence, TableSpec};
use crate::reference::all_tables;
use core::fmt::Write as _;

/// A frozen dataclass for each table, without the module's head.
#[must_use]
pub fn dataclasses() -> String {
    all_tables().into_iter().map(dataclass).collect::<Vec<_>>().join("\n\n")
}

fn dataclass(spec: &'static TableSpec) -> String {
    let base = spec.flat.first().map_or_else(String::new, |flat| format!("({})", flat.name));
    let head = format!("@dataclass(frozen=True, slots=True, kw_only=True)\nclass {}{base}:", spec.name);
    let mut text = format!("{head}\n    \"\"\"{}\"\"\"\n\n", spec.doc.trim());
    for key in spec.keys {
        let none = if matches!(key.presence, Presence::Optional) { " | None" } else { "" };
        _ = writeln!(text, "    {}: {}{none}\n    \"\"\"{}\"\"\"", key.name, (key.shape)().python, documented(key));
    }
    text
}

fn documented(key: &KeySpec) -> String {
    key.doc.trim().replace('\\', "\\\\").replace('"', "'")
}
