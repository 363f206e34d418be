//! Random valid experiments and sweeps, made of the declarations.
//!
//! A document is drawn key by key; then what breaks a rule between keys is taken out, or what is missing is drawn, until
//! nothing is wrong. The bytes decide everything, so that changing or cutting them searches and shrinks.

use crate::declare::spec::{KeySpec, TableSpec};
use crate::declare::{Declared, Kind};
use crate::diagnostic::Diagnostic;
use crate::document::experiment;
use crate::draw::{Draw, bytes_of_seed};
use crate::keys::sweep::Sweep;
use crate::limits::Limits;
use crate::model::Experiment;
use crate::sweep;
use crate::value::{Node, Table, Value};

/// Repairs of one document.
const MAX_REPAIRS: usize = 200;
/// Bytes of a seed: more than any experiment uses.
const SEED_BYTES: usize = 4_096;

/// The document of a random valid experiment, and its values.
///
/// `omitted` are keys that it must not have, such as `programs` and `hosts` for the simulator.
#[must_use]
pub fn document(bytes: &[u8], omitted: &[&str]) -> (Table, Experiment) {
    let draw = Draw::new(bytes).without(omitted);
    repaired(draw, |document| experiment(document.clone(), &Limits::default())).unwrap_or_else(plainest)
}

/// The document of a random valid sweep, and its values; None if repairs go in circles.
#[must_use]
pub fn sweep(bytes: &[u8]) -> Option<(Table, Sweep)> {
    repaired(Draw::new(bytes), |document| sweep::read(document, &Limits::default()))
}

fn repaired<T: Declared + Kind>(
    mut draw: Draw<'_>,
    read: impl Fn(&Table) -> Result<T, Vec<Diagnostic>>,
) -> Option<(Table, T)> {
    let Node::Table(mut document) = T::draw(&mut draw).node else { return None };
    for _ in 0..MAX_REPAIRS {
        match read(&document) {
            Ok(made) => return Some((document, made)),
            Err(mut faults) => {
                // A key that two rules are about is taken out once, not drawn again.
                faults.dedup_by(|one, other| one.key == other.key);
                for fault in &faults {
                    repair(&mut document, T::SPEC, fault, &mut draw);
                }
            }
        }
    }
    None
}

/// As [`document`], of a seed.
#[must_use]
pub fn of_seed(seed: u64, omitted: &[&str]) -> (Table, Experiment) {
    document(&bytes_of_seed(seed, SEED_BYTES), omitted)
}

/// The simplest experiment; reached only if repairs go in circles.
fn plainest() -> (Table, Experiment) {
    let bottleneck = Table::from_iter([("rate", "10mbit")]);
    let path = Table::from_iter([("rtt", Value::from("10ms")), ("bottleneck", bottleneck.into())]);
    let flows = vec![Value::from(Table::from_iter([("cc", "cubic")]))];
    let document = Table::from_iter([("duration", Value::from("10s")), ("path", path.into()), ("flows", flows.into())]);
    let made = experiment(document.clone(), &Limits::default());
    (document, made.expect("the simplest experiment is valid"))
}

/// Takes the key at fault out, or draws it if it is missing.
fn repair(document: &mut Table, spec: &'static TableSpec, fault: &Diagnostic, draw: &mut Draw<'_>) {
    let parts: Vec<_> = fault.key.split('.').collect();
    let Some((last, above)) = parts.split_last() else { return };
    let mut held = Value::from(core::mem::take(document));
    let mut spec = Some(spec);
    let mut at = Some(&mut held);
    for part in above {
        let key = spec.and_then(|spec| spec.key(part));
        spec = key.and_then(|key| key.table).or(spec.filter(|_| part.parse::<usize>().is_ok()));
        at = at.and_then(|value| below(value, part));
    }
    if let Some(at) = at {
        change(at, last, spec.and_then(|spec| spec.key(last)), draw);
    }
    if let Node::Table(table) = held.node {
        *document = table;
    }
}

fn below<'a>(value: &'a mut Value, part: &str) -> Option<&'a mut Value> {
    match &mut value.node {
        Node::Table(table) => table.get_mut(part),
        Node::List(items) => part.parse().ok().and_then(|number: usize| items.get_mut(number)),
        _ => None,
    }
}

fn change(held: &mut Value, last: &str, key: Option<&KeySpec>, draw: &mut Draw<'_>) {
    match &mut held.node {
        Node::Table(table) if table.has(last) => _ = table.take(last),
        Node::Table(table) => {
            if let Some(key) = key {
                table.set(last, (key.draw)(draw));
            }
        }
        Node::List(items) => {
            if let Some(number) = last.parse().ok().filter(|number: &usize| *number < items.len()) {
                items.remove(number);
            }
        }
        _ => {}
    }
}
