//! Cases of a document: every combination of their lists, each with its name.

use crate::diagnostic::{Diagnostic, fail};
use crate::keypath::apply;
use crate::limits::{Limits, MAX_NAME, grouped};
use crate::value::{Node, Table, Value};
use std::collections::HashSet;

const EXPECT: &str = "such as expect = [\"groups.bbr.share > 0.6\"]";

/// One case, before its settings are applied.
#[derive(Clone, Debug, Default)]
pub struct Variant {
    /// The case's name; empty in a document without cases.
    pub name: String,
    /// What the case sets.
    pub settings: Table,
    /// What the file and the case expect, if the case adds to it.
    expected: Option<Value>,
}

impl Variant {
    /// The document of this case.
    ///
    /// # Errors
    ///
    /// A setting has no place in the document.
    pub fn document(&self, document: &Table) -> Result<Table, Box<Diagnostic>> {
        let mut changed = document.clone();
        if let Some(expected) = &self.expected {
            changed.set("expect", expected.clone());
        }
        for (key, value) in &self.settings.0 {
            apply(&mut changed, &key.text, value).map_err(|fault| fault.at(key.span.clone()))?;
        }
        Ok(changed)
    }
}

/// Every case of a document.
///
/// # Errors
///
/// The cases are wrong, or too many.
pub fn variants(document: &Table, cases: &Value, limits: &Limits) -> Result<Vec<Variant>, Box<Diagnostic>> {
    let tables: Option<Vec<_>> = cases.list().and_then(|list| list.iter().map(Value::table).collect());
    let Some(tables) = tables else {
        let fault = Diagnostic::new("not a list of cases", "write [[cases]] with name and set");
        return fail(fault.key("cases").at(cases.span.clone()));
    };
    if tables.is_empty() {
        return Ok(vec![Variant::default()]);
    }
    refuse_too_many(document, &tables, limits)?;
    let mut made: Vec<Variant> = Vec::new();
    let mut names = HashSet::new();
    for (number, case) in tables.into_iter().enumerate() {
        let key = format!("cases.{number}");
        let expected = expected(document, case, &key)?;
        for (name, settings) in crossed(case, &key)? {
            if !names.insert(name.clone()) {
                let fault = Diagnostic::new("two cases have the same name", "").key(format!("{key}.name"));
                let at = case.get("name").and_then(|name| name.span.clone());
                return fail(fault.value(&name.into()).at(at));
            }
            made.push(Variant { name, settings, expected: expected.clone() });
        }
    }
    Ok(made)
}

/// Are the cases few and small enough to be made?
fn refuse_too_many(document: &Table, cases: &[&Table], limits: &Limits) -> Result<(), Box<Diagnostic>> {
    let size = document.count();
    let (mut made, mut keys) = (0_usize, 0_usize);
    for settings in cases.iter().filter_map(|case| case.get("set").and_then(Value::table)) {
        let lengths = settings.0.iter().filter_map(|(_, value)| value.list()).map(<[Value]>::len);
        let of_this = lengths.fold(1, usize::saturating_mul);
        let each = settings.0.iter().map(|(key, _)| if key.text.contains('*') { size } else { 1 });
        made = made.saturating_add(of_this);
        keys = keys.saturating_add(of_this.saturating_mul(each.fold(size, usize::saturating_add)));
    }
    if made > limits.cases {
        let hint = format!("fewer values, or a sweep, {}", limits.raised("cases", made));
        let problem = format!("{} cases, more than {}", grouped(made), grouped(limits.cases));
        return fail(Diagnostic::new(problem, hint).key("cases"));
    }
    if keys > limits.expanded {
        let allowed = grouped(limits.expanded);
        let problem = format!("{} cases with {} keys in all, more than {allowed}", grouped(made), grouped(keys));
        let hint = format!("fewer cases or groups, {}", limits.raised("expanded", keys));
        return fail(Diagnostic::new(problem, hint).key("cases"));
    }
    Ok(())
}

/// What the file expects, then what the case does; None if the case adds nothing.
fn expected(document: &Table, case: &Table, key: &str) -> Result<Option<Value>, Box<Diagnostic>> {
    let Some(own) = case.get("expect") else { return Ok(None) };
    let list = |value: &Value, key: String| match value.list() {
        Some(list) => Ok(list.to_vec()),
        None => fail(Diagnostic::new("not a list of expectations", EXPECT).key(key).value(value)),
    };
    let mut all = document.get("expect").map_or_else(|| Ok(Vec::new()), |value| list(value, "expect".into()))?;
    all.extend(list(own, format!("{key}.expect"))?);
    Ok(Some(all.into()))
}

/// Every combination of a case's lists, each with its name.
fn crossed(case: &Table, key: &str) -> Result<Vec<(String, Table)>, Box<Diagnostic>> {
    let hint = "a case has 'name' and 'set', a table of dotted keys, and may have 'expect'";
    if let Some((unknown, _)) = case.0.iter().find(|(key, _)| !["name", "set", "expect"].contains(&&key.text[..])) {
        let problem = format!("unknown key '{}'", unknown.text);
        return fail(Diagnostic::new(problem, hint).key(key).at(unknown.span.clone()));
    }
    let Some(settings) = case.get("set").and_then(Value::table) else {
        return fail(Diagnostic::new("a case without 'set'", hint).key(key));
    };
    let template = match case.get("name") {
        None => "",
        Some(name) => name
            .text()
            .ok_or_else(|| Diagnostic::new("the name is not text", "").key(format!("{key}.name")).value(name))?,
    };
    let mut choices: Vec<Vec<&Value>> = Vec::new();
    for (name, value) in &settings.0 {
        let choice: Vec<_> = value.list().map_or_else(|| vec![value], |list| list.iter().collect());
        if choice.is_empty() {
            let fault = Diagnostic::new("a list without values", "give one value or more");
            return fail(fault.key(format!("{key}.set.{}", name.text)).at(name.span.clone()));
        }
        choices.push(choice);
    }
    let template = template_of(template, settings, choices.iter().any(|choice| choice.len() > 1));
    let mut made = Vec::new();
    let mut position = vec![0; choices.len()];
    loop {
        let pairs = settings.0.iter().zip(&choices).zip(&position);
        let chosen = Table(pairs.map(|(((key, _), choice), at)| (key.clone(), choice[*at].clone())).collect());
        made.push((name(&template, &chosen, key)?, chosen));
        // The last list turns fastest.
        let Some(turn) = (0..choices.len()).rev().find(|at| position[*at] + 1 < choices[*at].len()) else {
            return Ok(made);
        };
        position[turn] += 1;
        position[turn + 1..].fill(0);
    }
}

/// The name with keys in braces: the file's, with what it lacks to tell the combinations apart.
fn template_of(written: &str, settings: &Table, are_several: bool) -> String {
    let holes = |lists_only: bool| {
        let keys = settings.0.iter().filter(|(_, value)| !lists_only || value.list().is_some());
        keys.map(|(key, _)| format!("{{{}}}", key.text)).collect::<Vec<_>>().join(", ")
    };
    match written {
        "" => holes(false),
        _ if are_several && !written.contains('{') => format!("{written} {}", holes(true)),
        _ => written.to_owned(),
    }
}

/// A case's name, with values in the place of their keys in braces.
fn name(template: &str, settings: &Table, key: &str) -> Result<String, Box<Diagnostic>> {
    let too_long = || {
        Diagnostic::new(format!("a name of more than {MAX_NAME} characters"), "a shorter one")
            .key(format!("{key}.name"))
    };
    let mut made = String::new();
    let mut rest = template;
    while let Some(open) = rest.find('{') {
        made.push_str(&rest[..open]);
        rest = &rest[open..];
        // A hole begins at the last of several braces.
        let end = rest[1..].find(['{', '}']).map(|at| at + 1);
        let end = end.filter(|end| rest.as_bytes()[*end] == b'}' && *end > 1);
        let hole = end.map(|end| &rest[1..end]);
        let value = hole.and_then(|hole| settings.get(hole)).map(shown);
        // What is no hole stays as it is.
        let length = end.map_or(1, |end| end + 1);
        made.push_str(value.as_deref().unwrap_or(&rest[..length]));
        rest = &rest[length..];
        if made.len() > 4 * MAX_NAME {
            return fail(too_long());
        }
    }
    made.push_str(rest);
    if made.chars().count() > MAX_NAME { fail(too_long()) } else { Ok(made) }
}

/// A value in a name: a text without quotes.
fn shown(value: &Value) -> String {
    match &value.node {
        Node::Text(text) => text.clone(),
        Node::Boolean(true) => "True".into(),
        Node::Boolean(false) => "False".into(),
        _ => value.to_string(),
    }
}
