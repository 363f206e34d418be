//! Random sweep files: valid ones, some with axes and settings in which most values fit.

use dumbbell_experiment::draw::Draw;
use dumbbell_experiment::limits::Limits;
use dumbbell_experiment::placeholders::{add_names, fill};
use dumbbell_experiment::value::{Table, Value};
use dumbbell_experiment::{random, sweep, toml, write};
use std::collections::BTreeSet;

const KEYS: &[&str] = &["path.rtt", "path.bottleneck.rate", "flows.*.count", "engine", "buffer", "seed", "a.b.c", "*"];
const ENDS: &[&str] = &["0s", "1ms", "100ms", "1mbit", "1gbit", "1%", "2bdp", "10kB", "x", "-1ms"];
const TEXTS: &[&str] = &["10ms", "sim", "bbr", "bfifo limit {buffer}", "{buffer}{seed}", "{a.b.c", "1..3", "*"];
const COUNTS: &[i64] = &[-1, 0, 1, 2, 50, 10_000, 10_001, i64::MAX];

/// A valid sweep, or one with more axes and settings.
pub fn document(bytes: &[u8], draw: &mut Draw<'_>) -> Table {
    let mut document = random::sweep(bytes).map(|(document, _)| document).unwrap_or_default();
    if draw.below(2) == 0 {
        let axes: Vec<_> = (0..draw.below(4)).map(|_| table(draw, values).into()).collect();
        document.set("axes", axes.into());
    }
    if draw.below(3) == 0 {
        document.set("set", table(draw, |draw| draw.pick(TEXTS).into()).into());
    }
    document
}

fn table(draw: &mut Draw<'_>, value: fn(&mut Draw<'_>) -> Value) -> Table {
    (0..draw.below(3)).map(|_| (draw.pick(KEYS), value(draw))).collect()
}

fn values(draw: &mut Draw<'_>) -> Value {
    if draw.below(2) == 0 {
        return (0..draw.below(5)).map(|_| Value::from(draw.pick(TEXTS))).collect::<Vec<_>>().into();
    }
    let mut range = Table::from_iter([("from", draw.pick(ENDS)), ("to", draw.pick(ENDS))]);
    if draw.below(2) == 0 {
        range.set("points", draw.pick(COUNTS).into());
    }
    if draw.below(2) == 0 {
        range.set("scale", draw.pick(&["log", "linear", "x"]).into());
    }
    range.into()
}

/// Whether the text is a sweep; an error if it is one, but not the same after writing.
pub fn check(text: &str) -> Result<bool, String> {
    let limits = Limits::default();
    let read = |text: &str| sweep::read(&toml::parse(text, &limits)?, &limits);
    let Ok(made) = read(text) else { return Ok(false) };
    let written = write::document(&sweep::written(&made));
    match read(&written) {
        Ok(again) if again == made => {}
        other => return Err(format!("written as\n{written}\nand read as\n{other:#?}\ninstead of\n{made:#?}")),
    }
    // Placeholders end, or are refused.
    let axes = made.axes.iter().flatten().filter_map(|axis| Some((axis.key.as_str(), axis.values.first()?.clone())));
    let values: Table = axes.collect();
    for (_, value) in &made.set.0 {
        let mut names = BTreeSet::new();
        add_names(value, &mut names);
        _ = fill(value, &values);
    }
    Ok(true)
}
