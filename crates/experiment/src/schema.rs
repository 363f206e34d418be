//! The JSON schema of an experiment file, in draft 7, which TOML editors support; and the controls of a page.

use crate::declare::Declared;
use crate::declare::spec::{KeySpec, Presence, TableSpec};
use crate::format;
use crate::keys::sweep::Sweep;
use crate::model::{Experiment, Flows};
use crate::value::{Table, Value};
use std::collections::BTreeMap;

/// The schema of an experiment file: keys, types, choices and simple bounds.
#[must_use]
pub fn schema() -> Value {
    let mut schema = of_file(Experiment::SPEC, "Dumbbell experiment");
    if let Some(Value { node: crate::value::Node::Table(properties), .. }) = schema.get_mut("properties") {
        let seed = [("type", Value::from("integer")), ("minimum", 0.into()), ("description", "One seed.".into())];
        properties.set("seed", Table::from_iter(seed).into());
        properties.set("cases", cases());
        properties.set(format::KEY, format::schema());
    }
    // An experiment may have programs and no flows, and a case may set required keys.
    schema.set("required", Value::texts(&["path"]));
    schema.into()
}

/// The schema of a sweep file.
#[must_use]
pub fn of_sweeps() -> Value {
    let mut schema = of_file(Sweep::SPEC, "Dumbbell sweep");
    if let Some(Value { node: crate::value::Node::Table(properties), .. }) = schema.get_mut("properties") {
        properties.set(format::KEY, format::schema());
    }
    schema.into()
}

fn of_file(spec: &'static TableSpec, title: &str) -> Table {
    let mut definitions = BTreeMap::new();
    collect(spec, &mut definitions);
    definitions.remove(spec.name);
    let mut schema = Table::from_iter([("$schema", "http://json-schema.org/draft-07/schema#"), ("title", title)]);
    for (key, value) in of_table(spec).0 {
        schema.set(&key.text, value);
    }
    schema.set("definitions", definitions.into_iter().collect::<Table>().into());
    schema
}

fn cases() -> Value {
    let text = || Value::from(Table::from_iter([("type", "string")]));
    let texts = Table::from_iter([("type", Value::from("array")), ("items", text())]);
    let set = Table::from_iter([("type", "object")]);
    let properties = Table::from_iter([("name", text()), ("set", set.into()), ("expect", texts.into())]);
    let item = Table::from_iter([
        ("type", Value::from("object")),
        ("properties", properties.into()),
        ("required", Value::texts(&["set"])),
        ("additionalProperties", false.into()),
    ]);
    let description = "Named variants; each is a run of its own.";
    let list = [("type", Value::from("array")), ("items", item.into()), ("description", description.into())];
    Table::from_iter(list).into()
}

fn collect(spec: &'static TableSpec, definitions: &mut BTreeMap<&'static str, Value>) {
    if definitions.contains_key(spec.name) {
        return;
    }
    definitions.insert(spec.name, of_table(spec).into());
    for table in spec.all().iter().filter_map(|key| key.table) {
        collect(table, definitions);
    }
}

fn of_table(spec: &'static TableSpec) -> Table {
    let keys = spec.all();
    let required: Vec<_> =
        keys.iter().filter(|key| matches!(key.presence, Presence::Required)).map(|key| key.name).collect();
    let mut table =
        Table::from_iter([("additionalProperties", Value::from(false)), ("description", spec.doc.trim().into())]);
    let mut properties: Table = keys.iter().map(|key| (key.name, of_key(key))).collect();
    if spec.name == Flows::SPEC.name {
        with_tables(&mut properties);
    }
    table.set("properties", properties.into());
    if !required.is_empty() {
        table.set("required", Value::texts(&required));
    }
    table.set("type", "object".into());
    table
}

/// Keys of a group that may be a table, too (`keys::flows::rules::with_distributions`).
fn with_tables(properties: &mut Table) {
    let load = properties.get("load").map(|load| {
        let held = Table::from_iter([("load", load.clone())]);
        let table =
            [("additionalProperties", Value::from(false)), ("properties", held.into()), ("type", "object".into())];
        Value::from(Table::from_iter(table))
    });
    for (key, table) in [("bytes", properties.get("sizes").cloned()), ("arrivals", load)] {
        if let (Some(plain), Some(table)) = (properties.take(key), table) {
            let description = plain.table().and_then(|plain| plain.get("description")).cloned().unwrap_or_default();
            let kinds = Value::from(vec![plain, table]);
            properties.set(key, Table::from_iter([("anyOf", kinds), ("description", description)]).into());
        }
    }
}

fn of_key(key: &KeySpec) -> Value {
    let mut schema = (key.shape)().schema;
    let doc = key.doc.trim();
    if schema.has("$ref") {
        // Draft 7 ignores what is next to a reference.
        let all = Value::from(vec![Value::from(schema)]);
        return Table::from_iter([("description", Value::from(doc)), ("allOf", all)]).into();
    }
    let kind = schema.take("description").and_then(|kind| kind.text().map(String::from));
    let full = kind.map_or_else(|| doc.to_owned(), |kind| format!("{doc} It is {kind}."));
    schema.set("description", full.into());
    schema.into()
}

/// Every key that a page can offer, with its kind, unit, bounds, choices and default.
#[must_use]
pub fn controls() -> Value {
    let mut controls = Vec::new();
    add_controls(Experiment::SPEC, "", &mut controls);
    controls.into()
}

fn add_controls(spec: &'static TableSpec, path: &str, controls: &mut Vec<Value>) {
    for key in spec.all() {
        let shape = (key.shape)();
        let name = if path.is_empty() { key.name.to_owned() } else { format!("{path}.{}", key.name) };
        if let Some(table) = key.table {
            let is_list = shape.schema.has("items");
            add_controls(table, &if is_list { format!("{name}.*") } else { name }, controls);
            continue;
        }
        let mut control = Table::from_iter([("key", Value::from(name)), ("kind", shape.name.into())]);
        if !shape.unit.is_empty() {
            control.set("unit", shape.unit.into());
        }
        if let Some((low, high)) = shape.bounds {
            control.set("low", low.into());
            control.set("high", high.into());
        }
        if !shape.choices.is_empty() {
            control.set("choices", Value::texts(shape.choices));
        }
        match key.presence {
            Presence::Default(default) => control.set("default", default()),
            Presence::Required => control.set("required", true.into()),
            Presence::Optional => {}
        }
        control.set("description", key.doc.trim().into());
        control.set("since", key.since.into());
        controls.push(control.into());
    }
}
