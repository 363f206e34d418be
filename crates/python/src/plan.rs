//! Experiments as plans, for Python.

use crate::experiment::experiment_from_python;
use crate::numbers::Numbers;
use dumbbell_experiment::plan::attachments::Attachments;
use dumbbell_experiment::plan::error::Error;
use dumbbell_experiment::plan::limits::Limits;
use dumbbell_experiment::plan::queue_rate::{delay_ns, rate_at};
use dumbbell_experiment::plan::remote::{self, plan_remote};
use dumbbell_experiment::plan::size::{Size, refuse_too_much};
use dumbbell_experiment::plan::{self, as_remote_script};
use dumbbell_records as records;
use dumbbell_sim::plan::from_experiment;
use pyo3::create_exception;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;

create_exception!(dumbbell._sim, PlanRefused, PyValueError, "There is no plan of this experiment.");

/// A plan.
#[pyclass(frozen)]
#[derive(Debug)]
pub struct Plan {
    plan: plan::Plan,
    limits: Limits,
}

#[pymethods]
impl Plan {
    /// Plans an experiment. Takes its values, JSON of the files that it names, the seed, and JSON of the limits.
    #[new]
    fn new(experiment: &Bound<'_, PyAny>, attachments: &str, seed: u64, limits: &str) -> PyResult<Self> {
        let (experiment, attachments): (_, Attachments) = (experiment_from_python(experiment)?, read(attachments)?);
        let limits = read(limits)?;
        let plan = plan::make(&experiment, &attachments, seed, &limits).map_err(refused)?;
        Ok(Self { plan, limits })
    }

    /// The plan in JSON.
    fn json(&self) -> String {
        to_json(&self.plan)
    }

    /// `plan.json` for the agent.
    fn for_agent(&self) -> PyResult<String> {
        self.plan.for_agent().map(|plan| to_json(&plan)).map_err(refused)
    }

    /// Whether the result depends on the machine's iproute2.
    fn uses_iproute2(&self) -> bool {
        self.plan.uses_iproute2()
    }

    /// The commands that set parameters of kernel modules, in JSON.
    fn module_writes(&self) -> PyResult<String> {
        plan::module_writes(&self.plan.flows).map(|writes| to_json(&writes)).map_err(refused)
    }

    /// The simulator's plan. `capture` is a host and its device.
    #[pyo3(signature = (seed, capture=None))]
    #[expect(clippy::needless_pass_by_value, reason = "arguments from Python are owned")]
    fn for_simulator(&self, seed: u64, capture: Option<(String, String)>) -> PyResult<SimulatorPlan> {
        let capture = capture.as_ref().map(|(host, device)| (&host[..], &device[..]));
        from_experiment::plan(&self.plan, seed, capture).map(SimulatorPlan).map_err(refused)
    }

    /// The simulator's plan with the tc commands instead of what they do, in JSON.
    #[pyo3(signature = (seed, capture=None))]
    #[expect(clippy::needless_pass_by_value, reason = "arguments from Python are owned")]
    fn commands_for_simulator(&self, seed: u64, capture: Option<(String, String)>) -> PyResult<String> {
        let capture = capture.as_ref().map(|(host, device)| (&host[..], &device[..]));
        from_experiment::commanded(&self.plan, seed, capture).map(|plan| to_json(&plan)).map_err(refused)
    }

    /// The plan as a shell script.
    #[expect(clippy::needless_pass_by_value, reason = "arguments from Python are owned")]
    fn script(&self, title: &str, notes: Vec<String>) -> PyResult<String> {
        self.plan.as_script(title, &notes).map_err(refused)
    }

    /// What the run takes at most: memory in bytes, data packets, UDP packets.
    fn size(&self) -> (u128, u128, u128) {
        let size = Size::of(&self.plan);
        (size.memory_bytes(), size.data_packets, size.udp_packets)
    }

    /// Refuses a run that takes more memory than `most_bytes`.
    fn refuse_too_much(&self, most_bytes: u64) -> PyResult<()> {
        refuse_too_much(&self.plan, &self.limits, Some(most_bytes)).map_err(refused)
    }
}

/// A plan for the simulator.
#[pyclass(frozen)]
#[derive(Debug)]
pub struct SimulatorPlan(pub dumbbell_sim::Plan);

/// A plan on real hosts.
#[pyclass(frozen)]
#[derive(Debug)]
pub struct RemotePlan {
    remote: remote::RemotePlan,
    limits: Limits,
}

#[pymethods]
impl RemotePlan {
    /// As [`Plan::new`].
    #[new]
    fn new(experiment: &Bound<'_, PyAny>, attachments: &str, seed: u64, limits: &str) -> PyResult<Self> {
        let (experiment, attachments): (_, Attachments) = (experiment_from_python(experiment)?, read(attachments)?);
        let limits = read(limits)?;
        let remote = plan_remote(&experiment, &attachments, seed, &limits).map_err(refused)?;
        Ok(Self { remote, limits })
    }

    /// Plan and hosts in JSON.
    fn json(&self) -> String {
        to_json(&self.remote)
    }

    /// The plan, whose hosts are roles.
    fn plan(&self) -> Plan {
        Plan { plan: self.remote.plan.clone(), limits: self.limits }
    }

    /// `plan.json` for the agent of one host.
    fn host_plan(&self, role: &str) -> PyResult<String> {
        self.remote.host_plan(role).map(|plan| to_json(&plan)).map_err(refused)
    }

    /// The plan as a shell script.
    #[expect(clippy::needless_pass_by_value, reason = "arguments from Python are owned")]
    fn script(&self, title: &str, notes: Vec<String>) -> String {
        as_remote_script(&self.remote, title, &notes)
    }
}

/// Whether a sysctl is the machine's, and not that of a network namespace.
#[pyfunction]
pub fn is_of_the_machine(sysctl: &str) -> bool {
    plan::is_of_the_machine(sysctl)
}

/// The rate and the delay of each sample of queues, 0 where nothing limits the rate; `limits` of each queue. The other
/// arguments are the samples' columns as bytes: the queue's index (u32), time and backlog (i64).
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "arguments from Python are owned")]
pub fn queue_rates(
    limits: Vec<Vec<(u64, u64)>>,
    queue: &[u8],
    time_ns: &[u8],
    backlog_bytes: &[u8],
) -> (Numbers, Numbers) {
    let index = queue.as_chunks().0.iter().map(|bytes| u32::from_ne_bytes(*bytes) as usize);
    let rates: Vec<i64> =
        index.zip(integers(time_ns)).map(|(queue, time)| rate_at(&limits[queue], time).unwrap_or(0)).collect();
    let delay = |(backlog, rate): (i64, &i64)| if *rate > 0 { delay_ns(backlog, *rate) } else { 0 };
    let delays: Vec<i64> = integers(backlog_bytes).zip(&rates).map(delay).collect();
    (rates.into(), delays.into())
}

fn integers(column: &[u8]) -> impl Iterator<Item = i64> {
    column.as_chunks().0.iter().map(|bytes| i64::from_ne_bytes(*bytes))
}

/// Adds the defaults of the limits on a run, by name, and the layouts of the agent's records.
pub fn add_names(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let limits: BTreeMap<String, u64> = read(&to_json(&Limits::default()))?;
    module.add("PLAN_LIMITS", limits)?;
    module.add("RECORDS", BTreeMap::from(records::layouts()))?;
    module.add("RECORD_UDP", records::UDP)?;
    module.add("RECORD_NEVER", records::NEVER)
}

fn read<T: DeserializeOwned>(text: &str) -> PyResult<T> {
    serde_json::from_str(text).map_err(|error| PyValueError::new_err(error.to_string()))
}

fn to_json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("a plan is numbers and texts")
}

#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
fn refused(error: Error) -> PyErr {
    PlanRefused::new_err(to_json(&error))
}
