//! The experiment language and the simulator for JavaScript. `package/` has the TypeScript around it.
//!
//! Structured values cross the border as JSON, columns as typed arrays.

mod table;

use dumbbell::{
    Diagnostic, Error, Experiment, Files, Phase, Series, Simulation as Inner, Time, Window, model, plan, written_limit,
};
use dumbbell_experiment::declare::Kind as _;
use serde_json::{Value, json};
use std::collections::BTreeMap;
pub use table::Table;
use wasm_bindgen::prelude::*;

/// Reads a text. JSON: `{"cases": [{name, experiment, groups}]}`, or
/// `{"errors": [{message, problem, key, value, hint, case, line, column, from, to}]}` with `from` and `to` in bytes of
/// the text.
#[wasm_bindgen]
#[must_use]
pub fn parse(text: &str) -> String {
    use model::Experiment as Model;
    match Experiment::cases(text) {
        Ok(cases) => {
            let of = |case: &Experiment| {
                let model = case.model();
                json!({"name": case.name(), "experiment": Model::data(model), "groups": model.group_names()})
            };
            json!({"cases": cases.iter().map(of).collect::<Vec<_>>()})
        }
        Err(error) => json!({"errors": errors(&error)}),
    }
    .to_string()
}

/// A run in progress.
#[wasm_bindgen]
#[derive(Debug)]
pub struct Simulation {
    inner: Inner,
    max_bytes: u64,
}

#[wasm_bindgen]
impl Simulation {
    /// Prepares a run. `case` is empty for a text without cases; `files` is a JSON object of the texts of files that the
    /// experiment names. An error is a text in JSON: a list as in [`parse`].
    ///
    /// # Errors
    ///
    /// The text is no experiment, there is no such case, or it can't be run.
    #[wasm_bindgen(constructor)]
    pub fn new(text: &str, case: &str, seed: u64, files: &str, max_bytes: f64) -> Result<Simulation, String> {
        Self::prepared(text, case, files, max_bytes, |experiment, files| experiment.start(seed, files))
    }

    /// As [`Simulation::new`], but records the path of every packet in flight between two times in nanoseconds, the
    /// first `max_rows` of them, and ends when all of these have arrived or were dropped.
    ///
    /// # Errors
    ///
    /// As [`Simulation::new`].
    #[expect(clippy::too_many_arguments, reason = "JavaScript hands over plain values")]
    pub fn recording(
        text: &str,
        case: &str,
        seed: u64,
        files: &str,
        max_bytes: f64,
        from_ns: u64,
        to_ns: u64,
        max_rows: usize,
    ) -> Result<Simulation, String> {
        let window = Window { from: Time::from_nanos(from_ns), to: Time::from_nanos(to_ns), max_rows };
        Self::prepared(text, case, files, max_bytes, |experiment, files| {
            experiment.start_recording(seed, files, window)
        })
    }

    fn prepared(
        text: &str,
        case: &str,
        files: &str,
        max_bytes: f64,
        start: impl FnOnce(&Experiment, &dyn Files) -> Result<Inner, Error>,
    ) -> Result<Self, String> {
        let files: BTreeMap<String, String> =
            serde_json::from_str(files).map_err(|error| thrown_at(&format!("files: {error}"), "texts by name"))?;
        let read = |name: &str| {
            let content = files.get(name).map(|text| text.clone().into_bytes());
            content.ok_or_else(|| format!("the file '{name}' was not handed in; give its text in files"))
        };
        let experiment = one(text, case).map_err(|error| thrown(&error))?;
        let inner = start(&experiment, &read).map_err(|error| thrown(&error))?;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a number of bytes")]
        let max_bytes = max_bytes as u64;
        Ok(Self { inner, max_bytes })
    }

    /// Runs for some hundredths of a second. Returns whether the run is over.
    ///
    /// # Errors
    ///
    /// The simulator fails, or packets and tables need more memory than allowed.
    pub fn advance(&mut self) -> Result<bool, String> {
        let is_over = self.inner.advance().map_err(|error| thrown(&error))?;
        let held = self.inner.held_bytes();
        if held > self.max_bytes {
            let problem = format!("the run needs more memory than allowed: {held} bytes exceed {}", self.max_bytes);
            let hint = "a longer sample, a shorter duration, or a larger mostBytes";
            return Err(thrown_at(&problem, hint));
        }
        Ok(is_over)
    }

    /// Simulated seconds so far.
    #[wasm_bindgen(getter)]
    #[must_use]
    pub fn seconds(&self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "for display only")]
        let ns = self.inner.now_ns() as f64;
        ns / 1e9
    }

    /// The result.
    #[must_use]
    pub fn finish(self) -> Run {
        Run(self.inner.finish())
    }
}

/// The result of a run.
#[wasm_bindgen]
#[derive(Debug)]
pub struct Run(dumbbell::Run);

#[wasm_bindgen]
impl Run {
    /// The metrics in JSON.
    ///
    /// # Panics
    ///
    /// Never: metrics are numbers and names.
    #[must_use]
    pub fn metrics(&self) -> String {
        serde_json::to_string(self.0.metrics()).expect("numbers and names")
    }

    /// What was run, and whether it is valid. JSON: `{flows, queues, bottleneck, invalid, warnings, phases}`;
    /// `phases` has for each flow the names, starts, stops and whether each is inferred.
    #[must_use]
    pub fn description(&self) -> String {
        let plan = self.0.plan();
        let flow = |flow: &plan::Flow| json!({"name": flow.name, "group": flow.group, "cc": flow.cc});
        let queue = |queue: &plan::Queue| json!({"name": queue.name, "qdisc": queue.text, "under_test": queue.under_test, "rates": queue.limits()});
        let phase = |each: &Phase| json!([each.name, each.start_ns, each.stop_ns, each.is_inferred]);
        let phases = |of: &Vec<Phase>| of.iter().map(phase).collect::<Vec<_>>();
        let verdict = self.0.verdict();
        json!({
            "flows": plan.flows.iter().map(flow).collect::<Vec<_>>(),
            "queues": plan.queues.iter().map(queue).collect::<Vec<_>>(),
            "bottleneck": plan.bottleneck,
            "invalid": verdict.invalid,
            "warnings": verdict.warnings,
            "phases": self.0.phases().iter().map(phases).collect::<Vec<_>>(),
        })
        .to_string()
    }

    /// The length in nanoseconds of the bins of a figure with at most so many.
    #[must_use]
    pub fn step_ns(&self, bins: u32) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "nanoseconds of a run")]
        let step = self.0.step_ns(bins) as f64;
        step
    }

    /// Each flow's goodput in bit/s in all complete bins of so many nanoseconds, one flow after the other, then each
    /// flow's retransmitted segments; NaN if they are not counted.
    ///
    /// # Errors
    ///
    /// The step is not positive.
    pub fn series(&self, step_ns: f64) -> Result<Vec<f64>, String> {
        #[expect(clippy::cast_possible_truncation, reason = "nanoseconds of a run")]
        let series = self.0.series(step_ns as i64).map_err(|error| thrown_at(&error.to_string(), "a longer step"))?;
        let bins = series.first().map_or(0, |each| each.goodput_bps.len());
        let retransmits = |each: &Series| match each.retransmits.as_slice() {
            [] => vec![f64::NAN; bins],
            counts => counts.to_vec(),
        };
        let goodput = series.iter().flat_map(|each| each.goodput_bps.clone());
        Ok(goodput.chain(series.iter().flat_map(retransmits)).collect())
    }

    /// Those of the named panels for which the run has data, with lines of so many points, and columns of the first
    /// flow's samples.
    #[must_use]
    #[expect(clippy::needless_pass_by_value, reason = "JavaScript hands over its own")]
    pub fn figure(&self, panels: Vec<String>, points: usize, samples: Vec<String>) -> Figure {
        let [panels, samples]: [Vec<&str>; 2] = [&panels, &samples].map(|all| all.iter().map(String::as_str).collect());
        Figure(self.0.figure(&panels, points, &samples))
    }

    /// Of each queue that the recorded packets passed, its limit in packets and as configured. JSON:
    /// `{NAME: [packets, text]}`.
    ///
    /// # Panics
    ///
    /// Never: they are numbers and names.
    #[must_use]
    pub fn limits(&self) -> String {
        let table = self.0.packets().map(|traced| Table(traced.packets.clone()));
        let sizes = |name: &str| table.as_ref().map_or(0.0, |table| table.mean_of("size_bytes", "queue", name));
        let queues = self.0.plan().queues.iter();
        let limit = |queue: &plan::Queue| Some((queue.name.clone(), written_limit(&queue.text, sizes(&queue.name))?));
        serde_json::to_string(&queues.filter_map(limit).collect::<BTreeMap<_, _>>()).expect("numbers and names")
    }

    /// One row per sample and flow.
    #[must_use]
    pub fn flows(&self) -> Table {
        Table(self.0.flows().clone())
    }

    /// One row per sample and queue.
    #[must_use]
    pub fn queues(&self) -> Table {
        Table(self.0.queues().clone())
    }

    /// One row per probe.
    #[must_use]
    pub fn probes(&self) -> Table {
        Table(self.0.probes().clone())
    }

    /// One row per recorded packet; None without a recording.
    #[must_use]
    pub fn packets(&self) -> Option<Table> {
        self.0.packets().map(|traced| Table(traced.packets.clone()))
    }

    /// Packets of the recording that did not fit.
    #[wasm_bindgen(getter)]
    #[must_use]
    pub fn left_out(&self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "packets of one run")]
        self.0.packets().map_or(0.0, |traced| traced.left_out as f64)
    }
}

/// Panels of a figure.
#[wasm_bindgen]
#[derive(Debug)]
pub struct Figure(dumbbell::Figure);

#[wasm_bindgen]
impl Figure {
    /// The panels, and the columns of samples, in JSON; both name numbers by offset and length.
    ///
    /// # Panics
    ///
    /// Never: they are numbers and names.
    #[must_use]
    pub fn description(&self) -> String {
        serde_json::to_string(&self.0).expect("numbers and names")
    }

    /// The numbers.
    #[must_use]
    pub fn numbers(&self) -> Vec<f64> {
        self.0.numbers.clone()
    }
}

fn one(text: &str, case: &str) -> Result<Experiment, Error> {
    if case.is_empty() {
        return Experiment::from_toml(text);
    }
    let cases = Experiment::cases(text)?;
    let names = cases.iter().map(|each| each.name().to_owned()).collect();
    let found = cases.into_iter().find(|each| each.name() == case);
    found.ok_or_else(|| Error::Case { problem: format!("no case '{case}'"), cases: names })
}

fn thrown(error: &Error) -> String {
    Value::from(errors(error)).to_string()
}

fn thrown_at(problem: &str, hint: &str) -> String {
    json!([{"message": format!("{problem}; {hint}"), "problem": problem, "right": hint}]).to_string()
}

fn errors(error: &Error) -> Vec<Value> {
    let Error::Invalid { mistakes, .. } = error else {
        return vec![json!({"message": error.to_string(), "problem": error.to_string()})];
    };
    let of = |mistake: &Diagnostic| {
        json!({
            "message": mistake.to_string(),
            "problem": mistake.problem, "key": mistake.key, "value": mistake.value, "right": mistake.hint, "case": mistake.case,
            "line": mistake.line, "column": mistake.column,
            "from": mistake.span.as_ref().map(|span| span.start), "to": mistake.span.as_ref().map(|span| span.end),
        })
    };
    mistakes.iter().map(of).collect()
}
