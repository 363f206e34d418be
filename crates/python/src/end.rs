//! What an engine reports at the end of a run, for Python, and the verdict on it.

use crate::arrow::Arrow;
use crate::plan::{Plan, Queue, handle, inner};
use dumbbell::validity::{self, Verdict, kernel};
use dumbbell_metrics::Table;
use dumbbell_plan as plan;
use dumbbell_records::counters;
use dumbbell_records::end::{self, ConnectionEnd, FlowEnd, ProgramEnd};
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pythonize::{depythonize, pythonize};
use std::path::PathBuf;

/// Why a run is invalid, warnings, names of flows that had too little time to connect.
type Judged = (Vec<String>, Vec<String>, Vec<String>);

handle! {
    /// One end of a connection of a program.
    Connection(ConnectionEnd) {
        /// Where the socket is.
        host: String = |end| end.host.clone(),
        /// Local address and port.
        local: String = |end| end.local.to_string(),
        /// Remote address and port.
        remote: String = |end| end.remote.to_string(),
        /// Index of the program that owns the socket, if known.
        program: Option<usize> = |end| end.program,
        /// Congestion control at the last sample.
        cc: Option<String> = |end| end.cc.clone(),
        /// When a sample first found it.
        seen_ns: u64 = |end| end.seen_ns,
        /// When it was destroyed.
        gone_ns: Option<u64> = |end| end.gone_ns,
    } {
        #[new]
        fn new(document: &Bound<'_, PyAny>) -> PyResult<Self> {
            Ok(Self(depythonize(document)?))
        }
    }
}

handle! {
    /// One direction between two UDP addresses of programs.
    UdpFlow(end::UdpFlow) {
        /// Host of the source.
        sender: String = |flow| flow.sender.clone(),
        /// Host where its datagrams arrive, if any did.
        receiver: Option<String> = |flow| flow.receiver.clone(),
        /// Address and port it comes from.
        source: String = |flow| flow.source.to_string(),
        /// Address and port it goes to.
        destination: String = |flow| flow.destination.to_string(),
        /// Index of the program that owns the source's socket, if known.
        program: Option<usize> = |flow| flow.program,
        /// The plan's QUIC flow that it is, from its server.
        flow: Option<usize> = |flow| flow.flow,
        /// When the first datagram was sent.
        first_ns: u64 = |flow| flow.first_ns,
        /// When the last one was sent.
        last_ns: u64 = |flow| flow.last_ns,
        /// When a sample found its socket closed.
        gone_ns: Option<u64> = |flow| flow.gone_ns,
        /// Datagrams sent.
        sent_packets: u64 = |flow| flow.sent_packets,
        /// Payload bytes that arrived.
        bytes_received: u64 = |flow| flow.bytes_received,
    } {
        #[new]
        fn new(document: &Bound<'_, PyAny>) -> PyResult<Self> {
            Ok(Self(depythonize(document)?))
        }
    }
}

handle! {
    /// What became of a program.
    ProgramReport(ProgramEnd) {
        /// When it started; 0 for servers.
        started_ns: Option<u64> = |end| end.started_ns,
        /// When it exited.
        ended_ns: Option<u64> = |end| end.ended_ns,
        /// Its exit status.
        status: Option<i32> = |end| end.status,
        /// Signal that killed it.
        signal: Option<i32> = |end| end.signal,
        /// Whether the agent stopped it.
        stopped: bool = |end| end.stopped,
        /// Why it could not start, or was not ready in time.
        fault: Option<String> = |end| end.fault.clone(),
        /// Bytes of each output stream that were not stored.
        dropped_bytes: [u64; 2] = |end| end.dropped_bytes,
        /// Files that were copied: paths below the working folder.
        kept_files: Vec<String> = |end| end.files.kept.clone(),
        /// Files that were not copied.
        lost_files: Vec<String> = |end| end.files.lost.clone(),
        /// Number of lost files not listed.
        lost_more: u64 = |end| end.files.lost_more,
    } {
        #[new]
        fn new(document: &Bound<'_, PyAny>) -> PyResult<Self> {
            Ok(Self(depythonize(document)?))
        }
    }
}

/// The report of an engine, in the agent's form: times are nanoseconds since the experiment's start.
#[pyclass(frozen, module = "dumbbell._sim")]
#[derive(Clone, Debug, Default)]
pub struct End(pub end::End);

#[pymethods]
impl End {
    /// The report that this document is; what it lacks has its default value.
    #[new]
    fn new(document: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(Self(depythonize(document)?))
    }

    /// Reads `end.json`. Raises `OSError` or `ValueError`.
    #[staticmethod]
    #[expect(clippy::needless_pass_by_value, reason = "arguments from Python are owned")]
    fn read(path: PathBuf) -> PyResult<Self> {
        let text = std::fs::read(&path)?;
        serde_json::from_slice(&text)
            .map(Self)
            .map_err(|error| PyValueError::new_err(format!("{}: {error}", path.display())))
    }

    /// Writes it. Raises `OSError`.
    fn write(&self, path: PathBuf) -> PyResult<()> {
        let text = serde_json::to_vec(&self.0).map_err(|error| PyOSError::new_err(error.to_string()))?;
        Ok(std::fs::write(path, text)?)
    }

    /// The reports of several machines as one, by their roles.
    #[staticmethod]
    #[expect(clippy::needless_pass_by_value, reason = "arguments from Python are owned")]
    fn joined(ends: Vec<(String, Bound<'_, Self>)>, sender: &str, receiver: &str) -> Self {
        let ends: Vec<_> = ends.iter().map(|(role, end)| (role.clone(), end.get().0.clone())).collect();
        Self(end::End::joined(&ends, sender, receiver))
    }

    /// With the flows of programs' connections, as dicts in the agent's form.
    #[expect(clippy::needless_pass_by_value, reason = "arguments from Python are owned")]
    fn with_flows(&self, more: Vec<Bound<'_, PyAny>>) -> PyResult<Self> {
        let mut end = self.0.clone();
        for flow in &more {
            end.flows.push(depythonize::<FlowEnd>(flow)?);
        }
        Ok(Self(end))
    }

    #[getter]
    fn duration_ns(&self) -> u64 {
        self.0.duration_ns
    }

    /// Start of the experiment since 1970, by the clock of its hosts.
    #[getter]
    fn start_epoch_ns(&self) -> Option<u64> {
        self.0.start_epoch_ns
    }

    /// The flows' reports as dicts.
    #[getter]
    fn flows<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        self.0.flows.iter().map(|flow| Ok(pythonize(py, flow)?)).collect()
    }

    /// Kind of each queue that was found.
    #[getter]
    fn queue_kinds(&self) -> Vec<&str> {
        self.0.queues.iter().map(|queue| &queue.kind[..]).collect()
    }

    #[getter]
    fn programs(&self) -> Vec<ProgramReport> {
        self.0.programs.iter().cloned().map(ProgramReport).collect()
    }

    #[getter]
    fn connections(&self) -> Vec<Connection> {
        self.0.connections.iter().cloned().map(Connection).collect()
    }

    #[getter]
    fn udp_flows(&self) -> Vec<UdpFlow> {
        self.0.udp.flows.iter().cloned().map(UdpFlow).collect()
    }

    /// UDP packets of programs that were not counted.
    #[getter]
    fn missed_datagrams(&self) -> u64 {
        self.0.udp.missed_packets
    }

    /// Number of timers of the agent, and how late they were: median, 99th percentile, maximum in nanoseconds.
    #[getter]
    fn lateness(&self) -> Option<(u64, u64, u64, u64)> {
        self.0.machine.map(|late| (late.timers, late.p50_ns, late.p99_ns, late.max_ns))
    }

    /// Packets that a capture missed, by device.
    #[getter]
    fn missed_packets(&self) -> Vec<u64> {
        self.0.seen.missed_packets.clone()
    }

    /// Events that a trace missed.
    #[getter]
    fn missed_events(&self) -> u64 {
        self.0.seen.missed_events
    }

    /// When the experiment started, on the clock of trace events.
    #[getter]
    fn trace_start_ns(&self) -> u64 {
        self.0.seen.start_ns
    }

    /// Effective settings, as a dict.
    #[getter]
    fn settings<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(pythonize(py, &self.0.settings)?)
    }

    /// Counters of each host at the end, as a dict of texts.
    #[getter]
    fn counters<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(pythonize(py, &self.0.counters)?)
    }

    /// Programs of the machine that ran, as dicts.
    #[getter]
    fn machine_programs<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        self.0.machine_programs.iter().map(|used| Ok(pythonize(py, used)?)).collect()
    }

    /// The plan of each queue that was found; unplanned ones are named after their location.
    #[expect(clippy::needless_pass_by_value, reason = "arguments from Python are owned")]
    fn named_queues(&self, planned: Vec<Bound<'_, Queue>>) -> Vec<Queue> {
        let planned = inner(&planned);
        let name = |found: &end::FoundQueue| {
            let is_it = |queue: &&&plan::Queue| {
                (&queue.host, &queue.device, &queue.handle) == (&found.host, &found.device, &found.handle)
            };
            Queue(planned.iter().find(is_it).map_or_else(|| unplanned(found), |queue| (*queue).clone()))
        };
        self.0.queues.iter().map(name).collect()
    }

    /// The table of counters: at the start, at each recording and at the end.
    fn counter_table(&self, records: &[u8], hosts: Vec<String>) -> Arrow {
        let texts = |counters: Option<&end::Counters>| {
            counters.map(|found| [found.snmp.clone(), found.netstat.clone()]).unwrap_or_default()
        };
        let host = |name: String| {
            let (before, after) = (self.0.counters_before.get(&name), self.0.counters.get(&name));
            counters::Host { before: texts(before), after: texts(after), name }
        };
        let hosts: Vec<_> = hosts.into_iter().map(host).collect();
        counters::table(records, &hosts, self.0.duration_ns).into()
    }

    /// How many packets the machine's input backlog dropped, and how often its packet budget was exhausted.
    #[getter]
    fn softnet(&self) -> (i64, i64) {
        let of = |column| kernel::softnet(&self.0, column);
        (of(kernel::Softnet::Dropped), of(kernel::Softnet::TimeSqueeze))
    }

    /// Segments that sockets dropped and packets that the input backlog dropped, whoever owned them.
    fn machine_drops(&self) -> Vec<String> {
        kernel::machine_drops(&self.0)
    }

    /// Packets that these devices of a host dropped outside its queues.
    #[expect(clippy::needless_pass_by_value, reason = "arguments from Python are owned")]
    fn device_drops(
        &self,
        host: &str,
        named: Vec<Bound<'_, Queue>>,
        devices: Vec<String>,
        remedy: &str,
    ) -> Vec<String> {
        kernel::device_drops(&self.0, host, &inner(&named), Some(&devices), remedy)
    }

    /// Programs that the result depends on, settings that did not take effect.
    fn warnings(&self, plan: &Bound<'_, Plan>) -> Vec<String> {
        kernel::warnings(&plan.get().plan, &self.0)
    }

    /// Judges flows and queues, on every engine. `queues`: the samples of `named`.
    #[pyo3(signature = (plan, named, queues=None))]
    #[expect(clippy::needless_pass_by_value, reason = "arguments from Python are owned")]
    fn judge_flows(
        &self,
        plan: &Bound<'_, Plan>,
        named: Vec<Bound<'_, Queue>>,
        queues: Option<&Bound<'_, Arrow>>,
    ) -> Judged {
        parts(self.judged(plan, &inner(&named), queues))
    }

    /// Judges everything that can invalidate a run on one kernel. `remedy`: what helps if it was too slow.
    #[pyo3(signature = (plan, named, queues=None, remedy=""))]
    #[expect(clippy::needless_pass_by_value, reason = "arguments from Python are owned")]
    fn judge(
        &self,
        plan: &Bound<'_, Plan>,
        named: Vec<Bound<'_, Queue>>,
        queues: Option<&Bound<'_, Arrow>>,
        remedy: &str,
    ) -> Judged {
        let named = inner(&named);
        parts(kernel::judge(self.judged(plan, &named, queues), &self.0, &named, remedy))
    }
}

impl End {
    fn judged(&self, plan: &Bound<'_, Plan>, named: &[&plan::Queue], queues: Option<&Bound<'_, Arrow>>) -> Verdict {
        let queues = queues.map(|queues| queues.get() as &dyn Table);
        validity::judge_plan(&plan.get().plan, &self.0.flows, named, queues)
    }
}

fn parts(verdict: Verdict) -> Judged {
    (verdict.invalid, verdict.warnings, verdict.too_late)
}

fn unplanned(found: &end::FoundQueue) -> plan::Queue {
    let end::FoundQueue { host, device, handle, kind, .. } = found.clone();
    let name = format!("{host}.{device}.{}", handle.trim_end_matches(':'));
    plan::Queue { name, host, device, handle, text: kind, ..plan::Queue::default() }
}

/// A warning for each flow whose controller set a window of 0.
#[pyfunction]
pub fn closed_windows(flows: &Bound<'_, Arrow>) -> Vec<String> {
    validity::closed_windows(flows.get())
}
