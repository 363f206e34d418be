//! Sweep files: an experiment, the axes along which it changes, how often, and what to keep.
//!
//! The keys are declared in `keys::sweep`; `keys::sweep::rules` has the rules between them.

use crate::axes;
use crate::declare::location::{Faults, Location, Report};
use crate::declare::sweeps::{Settings, flat};
use crate::declare::{Declared, Kind, Simple};
use crate::diagnostic::{Diagnostic, fail};
use crate::format;
use crate::keypath::apply;
use crate::keys;
use crate::keys::sweep::Sweep;
use crate::limits::{Limits, MAX_DEPTH};
use crate::overrides::setting;
use crate::reference::keys_named;
use crate::texts::check_texts;
use crate::toml;
use crate::value::{Node, Table, Value};

/// Keys of the file that no setting changes as such.
const NOT_SET: [&str; 4] = ["set", "axes", "maps", "source"];

/// Reads a document; the second engine of `[validate]` is one of the last axis, `engine`.
///
/// # Errors
///
/// Every mistake that was found, with its place where the document has one.
pub fn read(document: &Table, limits: &Limits) -> Result<Sweep, Vec<Diagnostic>> {
    let mut document = document.clone();
    format::take(&mut document).map_err(|fault| vec![*fault])?;
    let root = Value::from(document.clone());
    if !root.is_within(MAX_DEPTH + 1) {
        return Err(vec![toml::too_deep()]);
    }
    let mut found = Vec::new();
    check_texts(&document, "", &mut found);
    if !found.is_empty() {
        return Err(found);
    }
    let mut faults = Faults::in_language(keys_named);
    let mut made = Sweep::read(&root, &Location::ROOT, &mut faults);
    if let Some(sweep) = &mut made {
        if let Err(fault) = limits.check_seeds(sweep.seeds.as_deref().unwrap_or_default()) {
            faults.push(*fault);
        }
        let mut report = Report { value: &root, location: &Location::ROOT, faults: &mut faults };
        keys::sweep::rules::add_second_engine(sweep, &mut report);
        keys::sweep::rules::check(sweep, &mut report);
    }
    made.filter(|_| faults.is_empty()).ok_or_else(|| faults.into_list())
}

/// The document that gives a sweep; the axis that `[validate]` adds is not in it.
#[must_use]
pub fn written(made: &Sweep) -> Table {
    let mut made = made.clone();
    if made.validate.is_some() {
        made.axes.pop();
    }
    match Sweep::write(&made).node {
        Node::Table(table) => table,
        _ => Table::default(),
    }
}

/// A document with settings: of an axis where it is one's key, of the file where it is the file's, else of `[set]`.
///
/// # Errors
///
/// Something that is no setting, or a key without a place in the document.
pub fn with_settings(mut document: Table, settings: &[String], limits: &Limits) -> Result<Table, Box<Diagnostic>> {
    if settings.is_empty() {
        return Ok(document);
    }
    if let Some(Node::List(tables)) = document.get_mut("axes").map(|axes| &mut axes.node) {
        for table in tables {
            if let Node::Table(below) = &mut table.node {
                *below = flat(below, &axes::is_range);
            }
        }
    }
    for text in settings {
        let (key, value) = setting(text, limits)?;
        set(&mut document, &key, value)?;
    }
    Ok(document)
}

fn set(document: &mut Table, key: &str, value: Value) -> Result<(), Box<Diagnostic>> {
    let top = key.split('.').next().unwrap_or_default();
    let known = Sweep::SPEC.names();
    if let Some(held) = axis_values(document, key) {
        let is_axis = value.list().is_some() || value.table().is_some_and(axes::is_range);
        *held = if is_axis { value } else { vec![value].into() };
        let values = held.clone();
        restrict_validation(document, key, &values);
    } else if known.contains(&top) && !NOT_SET.contains(&top) {
        apply(document, key, &value)?;
        let second = document.get("validate").and_then(Value::table).and_then(|table| table.get("engine"));
        if key == "engine" && second == Some(&value) {
            // All points run on that engine now.
            remove_validation(document);
        }
    } else if known.contains(&top) {
        let hint = "an axis is set by its own key, such as path.rtt='[\"5ms\", \"20ms\"]', a setting by its own too";
        return fail(Diagnostic::new("not a setting", hint).key(key).value(&value));
    } else {
        let mut fixed = document.get("set").and_then(Value::table).cloned().unwrap_or_default();
        fixed.set(key, value);
        document.set("set", fixed.into());
    }
    Ok(())
}

/// The values of the axis with this key.
fn axis_values<'a>(document: &'a mut Table, key: &str) -> Option<&'a mut Value> {
    let Node::List(tables) = &mut document.get_mut("axes")?.node else { return None };
    tables.iter_mut().find_map(|table| match &mut table.node {
        Node::Table(table) => table.get_mut(key),
        _ => None,
    })
}

/// Leaves the new values of an axis in `[validate]`, or removes it if none are left.
fn restrict_validation(document: &mut Table, key: &str, values: &Value) {
    let Some(validate) = document.get("validate").and_then(Value::table) else { return };
    let Some(mut at) = validate.get("at").and_then(|at| Settings::parse(at).ok()) else { return };
    let (Some(values), Some(listed)) = (values.list(), at.get(key).and_then(Value::list)) else { return };
    let left: Vec<_> = listed.iter().filter(|value| axes::has(values, value)).cloned().collect();
    if left.is_empty() {
        return remove_validation(document);
    }
    at.set(key, left.into());
    let mut validate = validate.clone();
    validate.set("at", at.into());
    document.set("validate", validate.into());
}

/// Removes `[validate]`, and maps of the difference between engines.
fn remove_validation(document: &mut Table) {
    _ = document.take("validate");
    if let Some(Node::List(maps)) = document.get_mut("maps").map(|maps| &mut maps.node) {
        let is_of_engines =
            |map: &Value| map.table().and_then(|table| table.get("difference")).and_then(Value::text) == Some("engine");
        maps.retain(|map| !is_of_engines(map));
    }
}
