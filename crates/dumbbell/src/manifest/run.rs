//! The manifest of a run, made of the experiment, its plan and its end.

use super::keys::{Count, Flow, Probe, Queue, Rate, RunManifest, Seconds, Seed, TookSeconds, Version};
use super::shape::{Map, Maybe};
use crate::time_text::seconds_text;
use crate::validity::Verdict;
use dumbbell_experiment::declare::Kind;
use dumbbell_experiment::model::{Experiment, Transport};
use dumbbell_experiment::value::{self, Node};
use dumbbell_metrics::Table;
use dumbbell_plan::stacks::Stack;
use dumbbell_plan::{self as plan, Plan};
use dumbbell_records::end::{End, FlowEnd};
use serde::Serialize;
use serde_json::{Number, Value};

/// What was asked for.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// `sim`, `kernel` or `host`.
    pub engine: &'a str,
    /// Name of the experiment.
    pub name: &'a str,
    /// Name of its case; empty: it has none.
    pub case: &'a str,
    /// The command that repeats the run; empty: unknown.
    pub command: &'a str,
    /// Seed.
    pub seed: u64,
}

/// What became of it.
#[derive(Clone, Copy)]
pub struct Outcome<'a> {
    /// The engine's report.
    pub end: &'a End,
    /// The sampled queues, in order.
    pub named: &'a [&'a plan::Queue],
    /// Their samples.
    pub queues: &'a dyn Table,
    /// Whether the run measured what the experiment specifies.
    pub verdict: &'a Verdict,
}

/// `run.json`, without the entries of an engine. The wall time is unknown.
#[must_use]
pub fn manifest(experiment: &Experiment, plan: &Plan, asked: Asked<'_>, outcome: Outcome<'_>) -> Value {
    let mut document = json(&Experiment::complete(experiment));
    let source = document.as_object_mut().and_then(|keys| keys.shift_remove("source")).unwrap_or(Value::Null);
    let Outcome { end, verdict, .. } = outcome;
    let made = RunManifest {
        format: Version::default(),
        name: Some(asked.name.into()),
        case: Some(asked.case).filter(|case| !case.is_empty()).map(String::from).into(),
        title: experiment.title.clone(),
        engine: asked.engine.into(),
        seed: Some(Seed(asked.seed)),
        command: Some(asked.command).filter(|command| !command.is_empty()).map(String::from).into(),
        // Whole microseconds.
        duration_s: Seconds(float(end.duration_ns / 1000) / 1e6),
        asked_duration_s: Some(Seconds(seconds(plan.duration_ns))).into(),
        valid: verdict.invalid.is_empty(),
        invalid: verdict.invalid.clone(),
        warnings: verdict.warnings.clone(),
        too_late: Value::from(verdict.too_late.len()).into(),
        expect: experiment.expect.clone().into(),
        commands: Some(commands(plan, asked.engine)).into(),
        flows: plan.flows.iter().zip(&end.flows).map(|(flow, end)| flow_entry(flow, end)).collect(),
        queues: outcome.named.iter().map(|queue| queue_entry(queue, outcome.queues)).collect(),
        bottleneck: plan.bottleneck.clone().into(),
        probes: plan.probes.iter().map(probe_entry).collect::<Vec<_>>().into(),
        ..RunManifest::default()
    };
    let mut keys = plain(&made);
    if let Some(keys) = keys.as_object_mut() {
        // As the experiment's own declarations write them.
        keys.insert("experiment".into(), document);
        keys.insert("source".into(), source);
    }
    keys
}

/// A declared object as JSON.
fn plain(object: &impl Serialize) -> Value {
    serde_json::to_value(object).expect("keys are texts, numbers are finite")
}

fn commands(plan: &Plan, engine: &str) -> Vec<String> {
    // Conflicting parameters were refused before the run.
    let parameters = if engine == "sim" { Vec::new() } else { plan.module_parameters().unwrap_or_default() };
    let changes = plan
        .changes
        .iter()
        .map(|change| format!("[{}] at {}s: {}", change.step.host, seconds_text(change.at_ns), change.step.line()));
    parameters.iter().chain(&plan.setup).map(ToString::to_string).chain(changes).collect()
}

fn flow_entry(flow: &plan::Flow, end: &FlowEnd) -> Flow {
    let is_tcp = flow.transport == Transport::Tcp;
    let stack = flow.stack.as_deref().and_then(Stack::named);
    let has_controller = flow.transport != Transport::Udp;
    let pauses = flow.exchange.is_some() || flow.on_off_ns.is_some();
    let time = |time: Option<u64>| time.map(|ns| Seconds(seconds(ns)));
    let count = |count: u64| Maybe(Some(is_tcp.then_some(Count(count))));
    let took = |(completed, started)| TookSeconds(seconds(completed) - seconds(started));
    Flow {
        name: flow.name.clone(),
        group: flow.group.clone(),
        kind: flow.transport.word().into(),
        cc: end.cc.clone().filter(|_| has_controller),
        cc_asked: flow.cc.clone().into(),
        stack: Maybe(stack.map(|stack| format!("{} {}", stack.name, stack.version))),
        start_s: time(end.started_ns).into(),
        stop_s: time(end.stopped_ns).into(),
        bytes_asked: flow.bytes.map(Count).into(),
        bytes_received: Some(Count(end.bytes_received)).into(),
        fct_s: end.completed_ns.zip(end.started_ns).map(took),
        retransmits: count(end.retransmits),
        data_segs_out: count(end.data_segs_out),
        connected: end.connected_ns.is_some().into(),
        completed: end.completed_ns.is_some().into(),
        error: end.error.clone().into(),
        exchanges_s: Maybe(flow.exchange.map(|_| end.exchanges_ns.iter().map(|&ns| time(Some(ns))).collect())),
        intermittent: Maybe(pauses.then_some(true)),
        ..Flow::default()
    }
}

fn queue_entry(queue: &plan::Queue, queues: &dyn Table) -> Queue {
    let names = queues.names("queue");
    let last = names.as_ref().and_then(|names| names.rows_of(&queue.name).last());
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a counter")]
    let count = |column| Some(Count(queues.numbers(column)?.get(last?)? as u64));
    let kind = last.and_then(|row| {
        let kinds = queues.names("kind")?;
        kinds.list.get(kinds.codes[row] as usize).cloned()
    });
    let own = queue.text.split(' ').next().unwrap_or_default();
    Queue {
        name: queue.name.clone(),
        kind: Some(kind.unwrap_or_else(|| own.into())),
        under_test: queue.under_test.into(),
        qdisc: Some(queue.text.clone()),
        host: Some(queue.host.clone()).into(),
        device: Some(queue.device.clone()).into(),
        rates: Some(queue.limits().iter().map(|&(at, rate)| (Seconds(seconds(at)), Some(Rate(rate)))).collect()).into(),
        drops: count("drops_packets").into(),
        marks: count("marks_packets").into(),
        sent_bytes: count("sent_bytes").into(),
        sent_packets: count("sent_packets").into(),
    }
}

fn probe_entry(probe: &plan::Probe) -> Map<Value> {
    let entry = Probe { kind: probe.kind.word().into(), interval_s: Seconds(seconds(probe.interval_ns)) };
    let Value::Object(keys) = plain(&entry) else { return Map::default() };
    Map(keys.into_iter().collect())
}

/// A document as JSON.
#[must_use]
pub fn json(value: &value::Value) -> Value {
    match &value.node {
        Node::Null => Value::Null,
        Node::Boolean(value) => (*value).into(),
        Node::Integer(value) => (*value).into(),
        Node::Float(value) => Number::from_f64(*value).map_or(Value::Null, Value::Number),
        Node::Text(text) => text.clone().into(),
        Node::List(items) => items.iter().map(json).collect(),
        Node::Table(table) => table.0.iter().map(|(key, value)| (key.text.clone(), json(value))).collect(),
    }
}

fn seconds(ns: u64) -> f64 {
    float(ns) / 1e9
}

#[expect(clippy::cast_precision_loss, reason = "times are far below 2^53")]
fn float(number: u64) -> f64 {
    number as f64
}
