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
    let mut text =
        format!("@dataclass(frozen=True, slots=True)\nclass {}:\n    \"\"\"{}\"\"\"\n\n", spec.name, spec.doc.trim());
    for key in spec.all() {
        let none = if matches!(key.presence, Presence::Optional) { " | None" } else { "" };
        _ = writeln!(text, "    {}: {}{none}\n    \"\"\"{}\"\"\"", key.name, (key.shape)().python, documented(key));
    }
    text
}

fn documented(key: &KeySpec) -> String {
    key.doc.trim().replace('\\', "\\\\").replace('"', "'")
}
