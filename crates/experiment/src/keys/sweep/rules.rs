//! Rules between the keys of a sweep: axes, placeholders, columns. Nothing is expanded for them.

use crate::axes::{self, Axis};
use crate::declare::location::Report;
use crate::keys::sweep::{Search, Sweep, Until};
use crate::placeholders;
use crate::suggest::suggest;
use crate::value::Value;
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// Columns of the table that are no axes'.
const COLUMNS: [&str; 5] = ["run", "point", "seed", "status", "reason"];
/// Axes that are no keys of an experiment.
pub const ABOUT_THE_RUN: [&str; 2] = ["engine", "kernel"];
/// Keys of an experiment that a sweep decides itself.
const ELSEWHERE: [(&str, &str); 4] = [
    ("seed", "write seeds at the top of the file"),
    ("seeds", "write seeds at the top of the file"),
    ("cases", "choose one with case = at the top of the file"),
    ("title", "write title at the top of the file"),
];

/// The least number of runs is not above the largest.
pub fn until(made: &Until, report: &mut Report<'_>) {
    if made.least > made.most {
        let problem = format!("at least {} runs of a point, and at most {}", made.least, made.most);
        report.fault("", problem, "write least below most");
    }
}

/// One value is searched.
pub fn search(made: &Search, report: &mut Report<'_>) {
    if made.minimize.is_some() == made.maximize.is_some() {
        let problem = if made.minimize.is_some() { "minimize and maximize" } else { "neither minimize nor maximize" };
        report.fault("", problem, "one of them, such as minimize = \"groups.bbr.share\"");
    }
}

/// Adds the axis `engine` of `[validate]`.
pub fn add_second_engine(sweep: &mut Sweep, report: &mut Report<'_>) {
    let Some(second) = sweep.validate.as_ref().map(|validate| validate.engine.clone()) else { return };
    let engines = vec![Value::from(sweep.engine.clone()), second.into()];
    let made = axes::parse("engine", &engines.into()).and_then(|axis| {
        axes::check_steps(std::slice::from_ref(&axis))?;
        Ok(axis)
    });
    match made {
        Ok(axis) => sweep.axes.push(vec![axis]),
        Err(wrong) => report.fault("validate.engine", wrong.problem, wrong.hint),
    }
}

/// All rules.
pub fn check(sweep: &Sweep, report: &mut Report<'_>) {
    if sweep.metrics.is_empty() {
        report.fault("metrics", "an empty list", "at least one");
    }
    if sweep.seeds.as_ref().is_some_and(|seeds| seeds.iter().collect::<HashSet<_>>().len() < seeds.len()) {
        report.fault("seeds", "a seed is listed twice", "list each once: the same seed gives the same run");
    }
    let all: Vec<_> = sweep.axes.iter().flatten().collect();
    check_axes(sweep, &all, report);
    check_placeholders(sweep, &all, report);
    check_refine(sweep, &all, report);
    check_search(sweep, &all, report);
    check_validation(sweep, &all, report);
    check_maps(sweep, &all, report);
}

fn elsewhere(key: &str) -> Option<&'static str> {
    ELSEWHERE.iter().find(|(name, _)| *name == key).map(|(_, hint)| *hint)
}

fn check_axes(sweep: &Sweep, all: &[&Axis], report: &mut Report<'_>) {
    let mut columns: HashSet<String> = COLUMNS.map(String::from).into();
    for axis in all {
        let key = &axis.key[..];
        let place = format!("axes.{key}");
        if elsewhere(key).is_some() || COLUMNS.contains(&key) {
            let hint = elsewhere(key).unwrap_or("another name: the table has a column of this one");
            report.fault(&place, "not an axis", hint);
        } else if columns.contains(key) {
            report.fault(&place, "two axes of one key", "one of them");
        }
        columns.extend([key.to_owned(), axis.column()]);
        if sweep.set.has(key) {
            report.fault(&format!("set.{key}"), "an axis and a setting of one key: the axis would win", "one of them");
        }
        if ABOUT_THE_RUN.contains(&key) && !axis.values.iter().all(|value| value.text().is_some()) {
            report.fault(&place, "not names", "texts, such as [\"sim\", \"kernel\"]");
        }
    }
    for (key, _) in &sweep.set.0 {
        if elsewhere(&key.text).is_some() || ABOUT_THE_RUN.contains(&&key.text[..]) {
            let own = || format!("write {} at the top of the file, or as an axis", key.text);
            let hint = elsewhere(&key.text).map_or_else(own, String::from);
            report.fault(&format!("set.{}", key.text), "not a setting of the experiment", hint);
        }
    }
}

/// Every placeholder has an axis, and none fills itself.
fn check_placeholders(sweep: &Sweep, all: &[&Axis], report: &mut Report<'_>) {
    let mut names = BTreeSet::new();
    let settings = sweep.set.0.iter().map(|(_, value)| value);
    settings
        .chain(all.iter().flat_map(|axis| &axis.values))
        .for_each(|value| placeholders::add_names(value, &mut names));
    let keys: Vec<_> = all.iter().map(|axis| &axis.key[..]).collect();
    for name in names.iter().filter(|name| !keys.contains(&&name[..])) {
        let hint = format!("add {name} to an [[axes]]; {}", there(&keys));
        report.fault("set", format!("{{{name}}} is filled by no axis"), hint);
    }
    let mut fills: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for axis in all.iter().filter(|axis| names.contains(&axis.key)) {
        let inner = fills.entry(&axis.key).or_default();
        axis.values.iter().for_each(|value| placeholders::add_names(value, inner));
    }
    if let Some(name) = placeholders::circle(&fills) {
        let problem = format!("{{{name}}} fills itself through other placeholders");
        report.fault(&format!("axes.{name}"), problem, "placeholders without a circle");
    }
    let texts = sweep.set.0.iter().map(|(key, value)| (format!("set.{}", key.text), value));
    let levels = all.iter().flat_map(|axis| axis.values.iter().map(|value| (format!("axes.{}", axis.key), value)));
    for (place, text) in texts.chain(levels).filter_map(|(place, value)| Some((place, value.text()?))) {
        let dotted = keys.iter().filter(|key| !placeholders::is_name(key));
        if let Some(key) = dotted.into_iter().find(|key| text.contains(&format!("{{{key}}}"))) {
            let hint = "name an axis without dots for it, and use that one for the key too";
            report.fault(&place, format!("'{key}' is a key of the experiment, and fills no placeholder"), hint);
        }
    }
}

fn check_refine(sweep: &Sweep, all: &[&Axis], report: &mut Report<'_>) {
    let Some(refine) = &sweep.refine else { return };
    let keys: Vec<_> = all.iter().map(|axis| &axis.key[..]).collect();
    if refine.axes.iter().collect::<HashSet<_>>().len() < refine.axes.len() {
        report.fault("refine.axes", "one axis twice", "each once");
    }
    for key in &refine.axes {
        let table = sweep.axes.iter().find(|table| table.iter().any(|axis| axis.key == *key));
        let axis = all.iter().find(|axis| axis.key == *key);
        let is_repeated = |numbers: &[f64]| {
            let distinct: HashSet<_> = numbers.iter().map(|number| number.to_bits()).collect();
            distinct.len() < numbers.len()
        };
        let (problem, hint) = match axis.map(|axis| axis.numbers.as_deref()) {
            None => ("no axis of this key", suggested(key, &keys)),
            Some(None) => ("an axis without numbers has no middle", "one of numbers or quantities".into()),
            Some(Some(numbers)) if is_repeated(numbers) => {
                ("two values of one number have no middle", "each once".into())
            }
            Some(_) if table.is_some_and(|table| table.len() > 1) => (
                "an axis that varies together with others can't be refined",
                "an axis in an [[axes]] of its own".into(),
            ),
            Some(_) => continue,
        };
        report.fault("refine.axes", format!("{problem}: '{key}'"), hint);
    }
    let points = sweep.axes.iter().filter_map(|table| table.first()).map(|axis| axis.values.len());
    let points = points.fold(1, usize::saturating_mul);
    if points > usize::try_from(refine.most).unwrap_or(usize::MAX) {
        report.fault("refine.most", format!("the first grid has {points} points already"), "more than that");
    }
}

/// A search takes the place of what else adds points, and has something to vary.
fn check_search(sweep: &Sweep, all: &[&Axis], report: &mut Report<'_>) {
    if sweep.search.is_none() {
        return;
    }
    let others =
        [("until", sweep.until.is_some()), ("refine", sweep.refine.is_some()), ("validate", sweep.validate.is_some())];
    for (key, _) in others.into_iter().filter(|(_, is_set)| *is_set) {
        report.fault(key, "can't be combined with search", format!("either search or {key}"));
    }
    if all.is_empty() {
        report.fault(
            "search",
            "no axis to search along",
            "an [[axes]] such as \"path.rtt\" = { from = \"5ms\", to = \"200ms\" }",
        );
    }
}

fn check_validation(sweep: &Sweep, all: &[&Axis], report: &mut Report<'_>) {
    let Some(validate) = &sweep.validate else { return };
    if sweep.refine.is_some() {
        report.fault("validate", "can't be combined with refine", "either refine or validate");
    }
    let varied: Vec<_> = all.iter().filter(|axis| axis.key != "engine").collect();
    let keys: Vec<_> = varied.iter().map(|axis| &axis.key[..]).collect();
    for (key, listed) in &validate.at.0 {
        let place = format!("validate.at.{}", key.text);
        let Some(axis) = varied.iter().find(|axis| axis.key == key.text) else {
            report.fault(&place, "no axis of this key", suggested(&key.text, &keys));
            continue;
        };
        for value in listed.list().unwrap_or_default().iter().filter(|value| !axes::has(&axis.values, value)) {
            let known: Vec<_> = axis.values.iter().map(Value::to_string).collect();
            report.fault(&place, format!("no value of this axis: {value}"), format!("there is: {}", known.join(", ")));
        }
    }
}

fn check_maps(sweep: &Sweep, all: &[&Axis], report: &mut Report<'_>) {
    let keys: Vec<_> = all.iter().map(|axis| &axis.key[..]).collect();
    for (number, map) in sweep.maps.iter().enumerate() {
        // As in `engine=sim,kernel`.
        let difference = map.difference.as_deref().and_then(|text| text.split('=').next());
        let single = [
            ("x", Some(&map.x[..])),
            ("y", map.y.as_deref()),
            ("lines", map.lines.as_deref()),
            ("difference", difference),
        ];
        let named = single.into_iter().filter_map(|(name, key)| Some((name, key?)));
        let panels = map.panels.iter().map(|key| ("panels", &key[..]));
        for (name, key) in named.chain(panels).filter(|(_, key)| !key.is_empty() && !keys.contains(key)) {
            report.fault(&format!("maps.{number}.{name}"), "no axis of this key", suggested(key, &keys));
        }
    }
}

fn suggested(key: &str, keys: &[&str]) -> String {
    if keys.is_empty() { there(keys) } else { suggest(key, keys) }
}

fn there(keys: &[&str]) -> String {
    format!("there is: {}", if keys.is_empty() { "none".into() } else { keys.join(", ") })
}
