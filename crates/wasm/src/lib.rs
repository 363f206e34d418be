//! The experiment language and the simulator for JavaScript. `package/` has the TypeScript around it.
//!
//! Structured values cross the border as JSON, columns as typed arrays.

mod table;

use dumbbell::{Error, Experiment, Simulation as Inner, model};
use dumbbell_experiment::declare::Kind as _;
use serde_json::{Value, json};
use std::collections::BTreeMap;
pub use table::Table;
use wasm_bindgen::prelude::*;

/// Reads a text. JSON: `{"cases": [{name, experiment}]}`, or `{"errors": [{problem, key, right, line, column, from, to}]}`
/// with places in bytes of the text.
#[wasm_bindgen]
#[must_use]
pub fn parse(text: &str) -> String {
    use model::Experiment as Model;
    match Experiment::cases(text) {
        Ok(cases) => {
            let of = |case: &Experiment| json!({"name": case.name(), "experiment": Model::data(case.model())});
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
    most_bytes: u64,
}

#[wasm_bindgen]
impl Simulation {
    /// Prepares a run. `case` is empty for a text without cases; `files` is a JSON object of the texts of files that the
    /// experiment names. An error is a text in JSON, as of [`parse`].
    ///
    /// # Errors
    ///
    /// The text is no experiment, there is no such case, or it can't be run.
    #[wasm_bindgen(constructor)]
    pub fn new(text: &str, case: &str, seed: u64, files: &str, most_bytes: f64) -> Result<Simulation, String> {
        let files: BTreeMap<String, String> = serde_json::from_str(files).map_err(|error| error.to_string())?;
        let read = |name: &str| {
            let content = files.get(name).map(|text| text.clone().into_bytes());
            content.ok_or_else(|| format!("the file '{name}' was not handed in; give it in files"))
        };
        let experiment = one(text, case).map_err(|error| thrown(&error))?;
        let inner = experiment.start(seed, &read).map_err(|error| thrown(&error))?;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a number of bytes")]
        let most_bytes = most_bytes as u64;
        Ok(Self { inner, most_bytes })
    }

    /// Runs for some hundredths of a second. Returns whether the run is over.
    ///
    /// # Errors
    ///
    /// The simulator fails, or packets and tables need more memory than allowed.
    pub fn advance(&mut self) -> Result<bool, String> {
        let is_over = self.inner.advance().map_err(|error| thrown(&error))?;
        let held = self.inner.held_bytes();
        if held > self.most_bytes {
            let problem = format!("the run needs more memory than allowed: {held} bytes exceed {}", self.most_bytes);
            let right = "a longer sample, a shorter duration, or a larger mostBytes";
            return Err(json!([{"problem": problem, "right": right}]).to_string());
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

fn errors(error: &Error) -> Vec<Value> {
    let Error::Invalid { mistakes, .. } = error else { return vec![json!({"problem": error.to_string()})] };
    let of = |mistake: &dumbbell::Diagnostic| {
        json!({
            "problem": mistake.problem, "key": mistake.key, "right": mistake.right, "case": mistake.case,
            "line": mistake.line, "column": mistake.column,
            "from": mistake.span.as_ref().map(|span| span.start), "to": mistake.span.as_ref().map(|span| span.end),
        })
    };
    mistakes.iter().map(of).collect()
}
