//! The tables of `docs/experiment.md`: each key with its meaning and default.

use crate::declare::Declared;
use crate::declare::spec::{KeySpec, Presence, TableSpec};
use crate::keys::flows::kinds;
use crate::keys::sweep::Sweep;
use crate::model::Experiment;

/// The table of keys and kinds of flows.
const FLOW_KINDS: &str = "FlowKinds";

/// The first version; keys that it has need no note.
const FIRST: &str = "0.1";

/// The reference of a table's own keys in Markdown; None: no table has this name.
#[must_use]
pub fn reference(table: &str) -> Option<String> {
    if table == FLOW_KINDS {
        return Some(kinds::reference());
    }
    let spec = all_tables().into_iter().find(|spec| spec.name == table)?;
    let mut text = String::from("| key | meaning | default |\n| --- | --- | --- |\n");
    for key in spec.keys {
        text.push_str(&row(key));
    }
    Some(text)
}

/// The names of all tables.
#[must_use]
pub fn tables() -> Vec<&'static str> {
    all_tables().into_iter().map(|spec| spec.name).chain([FLOW_KINDS]).collect()
}

/// Every table of experiment and sweep files, each once, before those that have it.
#[must_use]
pub fn all_tables() -> Vec<&'static TableSpec> {
    [Experiment::SPEC, Sweep::SPEC].into_iter().flat_map(tables_of).collect()
}

/// Every table below this one and itself, each once, before those that have it.
#[must_use]
pub fn tables_of(root: &'static TableSpec) -> Vec<&'static TableSpec> {
    fn add(spec: &'static TableSpec, found: &mut Vec<&'static TableSpec>) {
        for table in spec.flat.iter().copied().chain(spec.keys.iter().filter_map(|key| key.table)) {
            add(table, found);
        }
        if !found.iter().any(|each| each.name == spec.name) {
            found.push(spec);
        }
    }
    let mut found = Vec::new();
    add(root, &mut found);
    found
}

/// The keys of an experiment that have this name, as a person would write them in any table.
#[must_use]
pub fn keys_named(name: &str) -> Vec<String> {
    fn add(spec: &'static TableSpec, above: &str, name: &str, found: &mut Vec<String>) {
        for key in spec.all() {
            let dotted = if above.is_empty() { key.name.to_owned() } else { format!("{above}.{}", key.name) };
            if let Some(table) = key.table {
                add(table, &dotted, name, found);
            }
            if key.name == name {
                found.push(format!("'{dotted}'"));
            }
        }
    }
    let mut found = Vec::new();
    add(Experiment::SPEC, "", name, &mut found);
    found
}

fn row(key: &KeySpec) -> String {
    let shape = (key.shape)();
    let name = match (key.table.is_some(), shape.schema.has("items")) {
        (true, true) => format!("[[{}]]", key.name),
        (true, false) => format!("[{}]", key.name),
        _ => key.name.to_owned(),
    };
    let default = match key.presence {
        Presence::Required => "required".to_owned(),
        Presence::Optional => "none".to_owned(),
        Presence::Default(default) => {
            let text = default().to_string();
            if matches!(&text[..], "[]" | "{  }") { "none".into() } else { format!("`{text}`") }
        }
    };
    let default = match &default[..] {
        "`[{  }]`" => "one with these defaults",
        other => other,
    };
    let since = if key.since == FIRST { String::new() } else { format!(" Since {}.", key.since) };
    format!("| `{name}` | {}{since} | {default} |\n", key.doc.trim().replace('|', "\\|"))
}
