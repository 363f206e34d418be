//! Experiments as plans, for Python: handles of what Rust owns.

use crate::arrow::Arrow;
use crate::errors::refused;
use crate::experiment::limits_of as text_limits_of;
use crate::keys::Experiment;
use dumbbell_experiment::plan::attachments;
use dumbbell_experiment::plan::limits::Limits;
use dumbbell_experiment::plan::size::{Size, refuse_too_much};
use dumbbell_experiment::plan::{self as planning, remote};
use dumbbell_experiment::script;
use dumbbell_plan::agent::{AgentOptions, Recordings, SharedFolders, Typed};
use dumbbell_plan::{self as plan, Operation, ParameterValue, Role, TerminalPlan, Transport};
use dumbbell_records as records;
use dumbbell_sim::plan::from_experiment;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pythonize::pythonize;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr};

/// Declares a handle: a class whose properties are those of the value that it holds.
macro_rules! handle {
    ($(#[doc = $doc:literal])+ $name:ident($inner:ty) {
        $($(#[doc = $field_doc:literal])+ $field:ident: $kind:ty = |$value:ident| $get:expr,)*
    } $({ $($more:tt)* })?) => {
        $(#[doc = $doc])+
        #[pyclass(frozen, eq, module = "dumbbell._sim")]
        #[derive(Clone, Debug, PartialEq)]
        pub struct $name(pub $inner);

        #[pymethods]
        impl $name {
            $($(#[doc = $field_doc])+
            #[getter]
            fn $field(&self) -> $kind {
                let $value = &self.0;
                $get
            })*

            fn __repr__(&self) -> String {
                format!("{:?}", self.0)
            }

            $($($more)*)?
        }
    };
}

pub(crate) use handle;

/// A number or a word.
#[derive(IntoPyObject)]
pub enum Parameter {
    /// A whole number.
    Number(u64),
    /// A word.
    Word(String),
}

impl From<&ParameterValue> for Parameter {
    fn from(value: &ParameterValue) -> Self {
        match value {
            ParameterValue::Number(number) => Self::Number(*number),
            ParameterValue::Word(word) => Self::Word(word.clone()),
        }
    }
}

handle! {
    /// One flow.
    Flow(plan::Flow) {
        /// Name in the result.
        name: String = |flow| flow.name.clone(),
        /// Name of its group.
        group: String = |flow| flow.group.clone(),
        /// `tcp`, `udp` or `quic`.
        transport: &'static str = |flow| flow.transport.word(),
        /// The stack of a QUIC flow.
        stack: Option<String> = |flow| flow.stack.clone(),
        /// Sending host.
        sender: String = |flow| flow.sender.clone(),
        /// Receiving host.
        receiver: String = |flow| flow.receiver.clone(),
        /// Address of the receiver.
        address: String = |flow| flow.address.to_string(),
        /// Port of the receiver.
        port: u16 = |flow| flow.port,
        /// Congestion control.
        cc: Option<String> = |flow| flow.cc.clone(),
        /// Its parameters, as written.
        cc_parameters: Vec<(String, Parameter)> =
            |flow| flow.cc_parameters.iter().map(|(name, value)| (name.clone(), value.into())).collect(),
        /// Start; of a flow that waits for others, since they completed.
        start_ns: u64 = |flow| flow.start_ns,
        /// Whether it starts when others have completed.
        follows: bool = |flow| flow.wait.after.is_some(),
        /// Stop; None: at the end.
        stop_ns: Option<u64> = |flow| flow.stop_ns,
        /// Size; None: unlimited.
        bytes: Option<u64> = |flow| flow.bytes,
        /// Sends for the first time, pauses for the second.
        on_off_ns: Option<(u64, u64)> = |flow| flow.on_off_ns,
        /// Whether it answers requests.
        exchanges: bool = |flow| flow.exchange.is_some(),
        /// Fixed send buffer.
        sndbuf: Option<u64> = |flow| flow.sndbuf,
        /// Fixed receive buffer.
        rcvbuf: Option<u64> = |flow| flow.rcvbuf,
        /// Payload bytes of a UDP packet.
        packet: Option<u32> = |flow| flow.packet,
        /// Propagation delay there and back, the longest of the run.
        rtt_ns: u64 = |flow| flow.rtt_ns,
    } {
    /// A TCP connection that a program made; `address` is IPv4 or IPv6.
    #[staticmethod]
    #[pyo3(signature = (name, group, sender, receiver, address, port, cc, start_ns, is_udp=false))]
    #[expect(clippy::too_many_arguments, reason = "the values of a connection")]
    #[expect(clippy::needless_pass_by_value, reason = "arguments from Python are owned")]
    fn of_connection(
        name: String,
        group: String,
        sender: String,
        receiver: String,
        address: String,
        port: u16,
        cc: Option<String>,
        start_ns: u64,
        is_udp: bool,
    ) -> Self {
        Self(plan::Flow {
            name,
            group,
            transport: if is_udp { Transport::Udp } else { Transport::Tcp },
            stack: None,
            sender,
            receiver,
            address: address.parse().unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED)),
            port,
            cc,
            cc_parameters: Vec::new(),
            start_ns,
            wait: plan::Wait::default(),
            stop_ns: None,
            bytes: None,
            on_off_ns: None,
            exchange: None,
            sndbuf: None,
            rcvbuf: None,
            prompt_reads: false,
            pacing_rate: None,
            mark: None,
            packet: None,
            interval_ns: None,
            ecn: false,
            rtt_ns: 0,
            ends: plan::Ends::Both,
            from: None,
        })
    }

    /// The same flow with another name.
    fn named(&self, name: String) -> Self {
        Self(plan::Flow { name, ..self.0.clone() })
    }
    }
}

handle! {
    /// What is done to a host.
    Step(plan::Step) {
        /// Network namespace; empty for the machine itself.
        host: String = |step| step.host.clone(),
        /// The command that does the same, in words; `write FILE TEXT` means `echo TEXT > FILE`.
        argv: Vec<String> = |step| step.operation.words(),
        /// The command as typed.
        line: String = |step| step.line(),
    } {
        /// As typed, behind the host's name in brackets.
        fn __str__(&self) -> String {
            self.0.to_string()
        }
    }
}

handle! {
    /// A step with a time.
    Change(plan::Change) {
        /// When.
        at_ns: u64 = |change| change.at_ns,
        /// What.
        step: Step = |change| Step(change.step.clone()),
    }
}

handle! {
    /// A series of probes.
    Probe(plan::Probe) {
        /// `ping` or `udp`.
        kind: &'static str = |probe| probe.kind.word(),
        /// Host that sends them.
        sender: String = |probe| probe.sender.clone(),
        /// Host that replies.
        receiver: String = |probe| probe.receiver.clone(),
        /// UDP port of the receiver.
        port: u16 = |probe| probe.port,
        /// First probe.
        start_ns: u64 = |probe| probe.start_ns,
        /// Time between probes.
        interval_ns: u64 = |probe| probe.interval_ns,
        /// Payload bytes.
        payload: u32 = |probe| probe.payload,
    }
}

handle! {
    /// A qdisc by its location in the kernel.
    Queue(plan::Queue) {
        /// Name in the result.
        name: String = |queue| queue.name.clone(),
        /// Host.
        host: String = |queue| queue.host.clone(),
        /// Device.
        device: String = |queue| queue.device.clone(),
        /// Handle as tc writes it.
        handle: String = |queue| queue.handle.clone(),
        /// Kind and options for tc.
        text: String = |queue| queue.text.clone(),
        /// Kind.
        kind: String = |queue| queue.text.split(' ').next().unwrap_or_default().into(),
        /// Whether the experiment tests it.
        under_test: bool = |queue| queue.under_test,
        /// The key that requests it.
        key: String = |queue| queue.key.clone(),
        /// Under test, or a netem with loss.
        may_drop: bool = |queue| queue.may_drop,
        /// (time in ns, bits per second) from time 0 on, as the experiment states; empty without a limit.
        rates: Vec<(u64, u64)> = |queue| queue.rates.clone(),
        /// `rates`, or what a tc script lets through.
        limits: Vec<(u64, u64)> = |queue| queue.limits(),
        /// Whether it is or contains a script's netem: its backlog then is mostly packets that wait for no rate.
        holds_netem: bool = |queue| queue.holds_netem,
    } {
    /// A qdisc at this location; without more, one that no plan has.
    #[new]
    #[pyo3(signature = (name, host, device, handle, text, *, under_test=false, may_drop=false, rates=vec![]))]
    #[expect(clippy::too_many_arguments, reason = "the values of a queue")]
    fn new(
        name: String,
        host: String,
        device: String,
        handle: String,
        text: String,
        under_test: bool,
        may_drop: bool,
        rates: Vec<(u64, u64)>,
    ) -> Self {
        Self(plan::Queue { name, host, device, handle, text, under_test, may_drop, rates, ..plan::Queue::default() })
    }
    }
}

handle! {
    /// One program.
    Program(plan::Program) {
        /// Name.
        name: String = |program| program.name.clone(),
        /// Host.
        host: String = |program| program.host.clone(),
        /// Program and arguments.
        argv: Vec<String> = |program| program.argv.clone(),
        /// Start.
        start_ns: u64 = |program| program.start_ns,
        /// Stop; None: at the end.
        stop_ns: Option<u64> = |program| program.stop_ns,
        /// Whether it runs until it is stopped.
        stays: bool = |program| program.stays,
        /// Exit status of success.
        expect_status: u8 = |program| program.expect_status,
        /// Default controller of its host.
        cc: Option<String> = |program| program.cc.clone(),
        /// Number of the QUIC flow whose end it is.
        flow: Option<usize> = |program| program.quic.map(|end| end.flow),
        /// Names of its qlog files.
        qlog: Option<String> = |program| program.qlog.clone(),
    } {
        /// Whether it listens at this port of a transport, `tcp` or `udp`.
        fn serves(&self, transport: &str, port: u16) -> bool {
            matches!(self.0.serves, Some(plan::Serves::At(of, number)) if of.word() == transport && number == port)
        }

        /// Whether this file of its working folder is a qlog.
        fn is_qlog(&self, path: &str) -> bool {
            self.0.is_qlog(path)
        }
    }
}

handle! {
    /// A veth pair between neighbours.
    Link(plan::Link) {
        /// Host on the senders' side.
        left_host: String = |link| link.left_host.clone(),
        /// Its device.
        left_device: String = |link| link.left_device.clone(),
        /// Host on the receivers' side.
        right_host: String = |link| link.right_host.clone(),
        /// Its device.
        right_device: String = |link| link.right_device.clone(),
    }
}

/// The queues that these handles hold.
pub fn inner<'a>(queues: &'a [Bound<'_, Queue>]) -> Vec<&'a plan::Queue> {
    queues.iter().map(|queue| &queue.get().0).collect()
}

/// A tc script, checked.
#[pyclass(frozen, eq, module = "dumbbell._sim")]
#[derive(Clone, Debug, PartialEq)]
pub struct Script(script::Script);

#[pymethods]
impl Script {
    /// Reads the lines of a script for this interface. Raises `Wrong` with the line.
    #[new]
    #[expect(clippy::needless_pass_by_value, reason = "arguments from Python are owned")]
    fn new(lines: Vec<String>, interface: &str) -> PyResult<Self> {
        script::read(lines.iter().map(String::as_str), interface).map(Self).map_err(crate::errors::wrong)
    }

    /// Its tc commands, with `{device}` for the interface.
    #[getter]
    fn commands(&self) -> Vec<String> {
        self.0.commands.iter().map(ToString::to_string).collect()
    }

    /// Destination ports with their marks.
    #[getter]
    fn marks(&self) -> Vec<(u16, u32)> {
        self.0.marks.clone()
    }

    /// Lines that only show, or delete what a run does not have.
    #[getter]
    fn left_out(&self) -> Vec<String> {
        self.0.left_out.clone()
    }
}

/// What a run records in addition to flows, queues and probes, as the agent reads it.
#[derive(Debug, Default, FromPyObject)]
pub struct RecordingPlan {
    captures: Vec<(String, String)>,
    snap_bytes: usize,
    ring_frames: usize,
    capture_ns: Option<u64>,
    sockets_ns: Option<u64>,
    counters_ns: Option<u64>,
    trace: Vec<String>,
    trace_ns: Option<u64>,
}

impl From<RecordingPlan> for Recordings {
    fn from(plan: RecordingPlan) -> Self {
        let device = |(host, name)| plan::Device { host, name };
        let RecordingPlan { captures, snap_bytes, ring_frames, capture_ns, .. } = plan;
        let RecordingPlan { sockets_ns, counters_ns, trace, trace_ns, .. } = plan;
        let captures = captures.into_iter().map(device).collect();
        Self { captures, snap_bytes, ring_frames, capture_ns, sockets_ns, counters_ns, trace, trace_ns }
    }
}

/// What programs see of the machine.
#[derive(Debug, FromPyObject)]
pub struct ProgramSettings {
    homes: Vec<String>,
    shown: Vec<String>,
    commands: Option<String>,
    stacks: Vec<StackSettings>,
}

/// A stack that was built.
#[derive(Debug, FromPyObject)]
pub struct StackSettings {
    name: String,
    argv: Vec<String>,
    server_argv: Vec<String>,
    env: Vec<(String, String)>,
    folders: Vec<String>,
}

impl From<StackSettings> for plan::BuiltStack {
    fn from(stack: StackSettings) -> Self {
        let StackSettings { name, argv, server_argv, env, folders } = stack;
        Self { name, argv, server_argv, env, folders }
    }
}

/// Programs whose commands the user typed.
#[derive(Debug, FromPyObject)]
pub struct TypedPrograms {
    names: BTreeSet<String>,
    folder: String,
    path: String,
    powers: bool,
    links: Vec<(String, String)>,
}

/// A plan.
#[pyclass(frozen, eq, module = "dumbbell._sim")]
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    pub(crate) plan: plan::Plan,
    limits: Limits,
}

#[pymethods]
impl Plan {
    /// Plans an experiment. `files` has the contents of those that it names, by key; `limits` are those of a run and
    /// `text_limits` those of files, by name.
    #[new]
    #[pyo3(signature = (experiment, seed, limits, text_limits, files=BTreeMap::new()))]
    #[expect(clippy::needless_pass_by_value, reason = "arguments from Python are owned")]
    fn new(
        experiment: &Bound<'_, Experiment>,
        seed: u64,
        limits: BTreeMap<String, u64>,
        text_limits: BTreeMap<String, usize>,
        files: BTreeMap<String, Vec<u8>>,
    ) -> PyResult<Self> {
        let py = experiment.py();
        let (experiment, limits) = (&experiment.get().model, limits_of(limits)?);
        let files = attachments::read(experiment, &files, &text_limits_of(&text_limits)?);
        let files = files.map_err(|error| refused(py, error))?;
        let plan = planning::make(experiment, &files, seed, &limits).map_err(|error| refused(py, error))?;
        Ok(Self { plan, limits })
    }

    /// Duration of the experiment.
    #[getter]
    fn duration_ns(&self) -> u64 {
        self.plan.duration_ns
    }

    /// Time between samples.
    #[getter]
    fn sample_ns(&self) -> u64 {
        self.plan.sample_ns
    }

    /// Whether the run ends as soon as every flow has delivered its bytes.
    #[getter]
    fn ends_when_done(&self) -> bool {
        self.plan.ends_when_done
    }

    /// Whether links with a rate stamp the packets that pass.
    #[getter]
    fn telemetry(&self) -> bool {
        self.plan.telemetry
    }

    /// Whether every change is recorded, not only samples.
    #[getter]
    fn every_change(&self) -> bool {
        self.plan.every_change
    }

    /// Host names.
    #[getter]
    fn hosts(&self) -> Vec<String> {
        self.plan.hosts.clone()
    }

    /// Links between hosts.
    #[getter]
    fn links(&self) -> Vec<Link> {
        self.plan.net.wires.iter().cloned().map(Link).collect()
    }

    /// MTU of every link.
    #[getter]
    fn mtu(&self) -> u32 {
        self.plan.net.mtu
    }

    /// Flows in the order of the result.
    #[getter]
    fn flows(&self) -> Vec<Flow> {
        self.plan.flows.iter().cloned().map(Flow).collect()
    }

    /// Probes in the order of the result.
    #[getter]
    fn probes(&self) -> Vec<Probe> {
        self.plan.probes.iter().cloned().map(Probe).collect()
    }

    /// Qdiscs in the order of the result.
    #[getter]
    fn queues(&self) -> Vec<Queue> {
        self.plan.queues.iter().cloned().map(Queue).collect()
    }

    /// Programs.
    #[getter]
    fn programs(&self) -> Vec<Program> {
        self.plan.programs.iter().cloned().map(Program).collect()
    }

    /// Name of the queue that a summary describes.
    #[getter]
    fn bottleneck(&self) -> Option<String> {
        self.plan.bottleneck.clone()
    }

    /// What the user should know.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.plan.warnings.clone()
    }

    /// The steps before time zero.
    #[getter]
    fn setup(&self) -> Vec<Step> {
        self.plan.setup.iter().cloned().map(Step).collect()
    }

    /// The steps during the run.
    #[getter]
    fn changes(&self) -> Vec<Change> {
        self.plan.changes.iter().cloned().map(Change).collect()
    }

    /// The steps that set parameters of kernel modules.
    fn module_parameters(&self, py: Python<'_>) -> PyResult<Vec<Step>> {
        let steps = self.plan.module_parameters().map_err(|error| refused(py, error.into()))?;
        Ok(steps.into_iter().map(Step).collect())
    }

    /// The sysctls that it sets: host (empty: the machine), key and value.
    #[getter]
    fn sysctls(&self) -> Vec<(String, String, String)> {
        let sysctl = |step: &plan::Step| match &step.operation {
            Operation::Sysctl { key, value } => Some((step.host.clone(), key.clone(), value.clone())),
            _ => None,
        };
        self.plan.setup.iter().filter_map(sysctl).collect()
    }

    /// The kinds of qdiscs that its commands add.
    #[getter]
    fn kinds_of_qdiscs(&self) -> BTreeSet<String> {
        self.plan.kinds_of_qdiscs()
    }

    /// Whether a netem drops exactly one packet in every so many.
    #[getter]
    fn drops_every_nth(&self) -> bool {
        self.plan.drops_every_nth()
    }

    /// Whether the result depends on the machine's iproute2.
    #[getter]
    fn uses_iproute2(&self) -> bool {
        self.plan.uses_iproute2()
    }

    /// `trial.json`: what the plan needs of a host's kernel.
    fn trial(&self) -> String {
        to_json(&self.plan.trial())
    }

    /// How often waiting packets are read so that they never fill a ring of `frames`.
    fn capture_interval_ns(&self, frames: usize) -> u64 {
        self.plan.capture_interval_ns(frames)
    }

    /// The same plan with more flows, which programs made.
    #[expect(clippy::needless_pass_by_value, reason = "arguments from Python are owned")]
    fn with_flows(&self, flows: Vec<PyRef<'_, Flow>>) -> Self {
        let mut made = self.clone();
        made.plan.flows.extend(flows.iter().map(|flow| flow.0.clone()));
        made
    }

    /// The same plan without settings of the machine: only guests have a machine of their own.
    fn without_machine_settings(&self) -> Self {
        let mut made = self.clone();
        made.plan.setup.retain(|step| !step.is_of_the_machine());
        made
    }

    /// `plan.json` for the agent, with what an engine adds. `terminal` is a program, its time limit and its step.
    #[pyo3(signature = (*, recordings=None, machine_ns=None, prompt_reads=false, logs_all=false, programs=None,
                        typed=None, terminal=None))]
    #[expect(clippy::too_many_arguments, reason = "each is a choice of an engine")]
    fn for_agent(
        &self,
        py: Python<'_>,
        recordings: Option<RecordingPlan>,
        machine_ns: Option<u64>,
        prompt_reads: bool,
        logs_all: bool,
        programs: Option<ProgramSettings>,
        typed: Option<TypedPrograms>,
        terminal: Option<(String, u64, Option<u64>)>,
    ) -> PyResult<String> {
        let shared = programs.map(|ProgramSettings { homes, shown, commands, stacks }| SharedFolders {
            homes,
            shown,
            commands,
            stacks: stacks.into_iter().map(Into::into).collect(),
        });
        let typed = typed.map(|TypedPrograms { names, folder, path, powers, links }| Typed {
            names,
            folder,
            path,
            keeps_powers: powers,
            links,
        });
        let options = AgentOptions {
            recordings: recordings.unwrap_or_default().into(),
            machine_ns,
            prompt_reads,
            logs_all,
            shared: shared.unwrap_or_default(),
            typed,
            terminal: terminal.map(|(name, timeout_ns, step_ns)| (name, TerminalPlan { timeout_ns, step_ns })),
        };
        self.plan.for_agent(&options).map(|plan| to_json(&plan)).map_err(|error| refused(py, error.into()))
    }

    /// The simulator's plan. `capture` is a host and its device.
    #[pyo3(signature = (seed, capture=None))]
    #[expect(clippy::needless_pass_by_value, reason = "arguments from Python are owned")]
    fn for_simulator(&self, py: Python<'_>, seed: u64, capture: Option<(String, String)>) -> PyResult<SimulatorPlan> {
        let capture = capture.as_ref().map(|(host, device)| (&host[..], &device[..]));
        from_experiment::plan(&self.plan, seed, capture).map(SimulatorPlan).map_err(|error| refused(py, error))
    }

    /// The table `flows` of the agent's records.
    fn flow_table(&self, records: &[u8]) -> Arrow {
        records::tables::flows(records, &self.plan.flows).into()
    }

    /// The table `queues` of the agent's records, in the plan's order; `named` and `kinds` as the agent found the queues.
    #[expect(clippy::needless_pass_by_value, reason = "arguments from Python are owned")]
    fn queue_table(&self, records: &[u8], named: Vec<Bound<'_, Queue>>, kinds: Vec<String>) -> Arrow {
        records::tables::queues(records, &inner(&named), kinds, &self.plan.queues).into()
    }

    /// These queues in the plan's order; unplanned ones come last.
    #[expect(clippy::needless_pass_by_value, reason = "arguments from Python are owned")]
    fn in_order(&self, named: Vec<Bound<'_, Queue>>) -> Vec<Queue> {
        let mut queues: Vec<_> = named.iter().map(|queue| queue.get().clone()).collect();
        queues.sort_by_key(|queue| records::tables::rank(&queue.0, &self.plan.queues));
        queues
    }

    /// The table `probes` of the agent's records.
    fn probe_table(&self, records: &[u8]) -> Arrow {
        records::tables::probes(records, &self.plan.probes).into()
    }

    /// The plan as a shell script.
    #[pyo3(signature = (title, notes=vec![]))]
    #[expect(clippy::needless_pass_by_value, reason = "arguments from Python are owned")]
    fn script(&self, py: Python<'_>, title: &str, notes: Vec<String>) -> PyResult<String> {
        self.plan.as_script(title, &notes).map_err(|error| refused(py, error.into()))
    }

    /// What the run takes at most: memory in bytes, data packets, UDP packets.
    fn size(&self) -> (u128, u128, u128) {
        let size = Size::of(&self.plan);
        (size.memory_bytes(), size.data_packets, size.udp_packets)
    }

    /// Refuses a run that takes more memory than `max_bytes`.
    fn refuse_too_much(&self, py: Python<'_>, max_bytes: u64) -> PyResult<()> {
        refuse_too_much(&self.plan, &self.limits, Some(max_bytes)).map_err(|error| refused(py, error))
    }
}

/// A plan for the simulator.
#[pyclass(frozen, module = "dumbbell._sim")]
#[derive(Debug)]
pub struct SimulatorPlan(pub dumbbell_sim::Plan);

#[pymethods]
impl SimulatorPlan {
    /// All its values, for reviewers.
    fn values<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(pythonize(py, &self.0)?)
    }
}

handle! {
    /// One real host.
    RemoteHost(plan::RemoteHost) {
        /// `sender`, `receiver` or `router`.
        role: &'static str = |host| host.role.word(),
        /// What ssh calls.
        ssh: String = |host| host.ssh.clone(),
        /// The only devices that tc changes.
        devices: Vec<String> = |host| host.devices.clone(),
        /// Address of the device under test; None: a router.
        address: Option<String> = |host| host.address.map(|address| address.to_string()),
    }
}

/// A plan on real hosts.
#[pyclass(frozen, module = "dumbbell._sim")]
#[derive(Debug)]
pub struct RemotePlan {
    remote: plan::RemotePlan,
    limits: Limits,
}

#[pymethods]
impl RemotePlan {
    /// As [`Plan::new`].
    #[new]
    #[pyo3(signature = (experiment, seed, limits, text_limits, files=BTreeMap::new()))]
    #[expect(clippy::needless_pass_by_value, reason = "arguments from Python are owned")]
    fn new(
        experiment: &Bound<'_, Experiment>,
        seed: u64,
        limits: BTreeMap<String, u64>,
        text_limits: BTreeMap<String, usize>,
        files: BTreeMap<String, Vec<u8>>,
    ) -> PyResult<Self> {
        let py = experiment.py();
        let (experiment, limits) = (&experiment.get().model, limits_of(limits)?);
        let files = attachments::read(experiment, &files, &text_limits_of(&text_limits)?);
        let files = files.map_err(|error| refused(py, error))?;
        let made = remote::plan_remote(experiment, &files, seed, &limits);
        Ok(Self { remote: made.map_err(|error| refused(py, error))?, limits })
    }

    /// The plan, whose hosts are roles.
    #[getter]
    fn plan(&self) -> Plan {
        Plan { plan: self.remote.plan.clone(), limits: self.limits }
    }

    /// The hosts.
    #[getter]
    fn hosts(&self) -> Vec<RemoteHost> {
        self.remote.hosts.iter().cloned().map(RemoteHost).collect()
    }

    /// The host with this role.
    fn host(&self, role: &str) -> PyResult<RemoteHost> {
        let found = self.remote.hosts.iter().find(|host| host.role.word() == role);
        found.cloned().map(RemoteHost).ok_or_else(|| PyValueError::new_err(format!("no host is the {role}")))
    }

    /// `plan.json` for the agent of one host.
    #[pyo3(signature = (role, *, machine_ns=None))]
    fn for_agent(&self, py: Python<'_>, role: &str, machine_ns: Option<u64>) -> PyResult<String> {
        let roles = [Role::Sender, Role::Router, Role::Receiver];
        let role = roles.into_iter().find(|each| each.word() == role);
        let role = role.ok_or_else(|| PyValueError::new_err("no such role"))?;
        let options = AgentOptions { machine_ns, ..AgentOptions::default() };
        self.remote.for_agent(role, &options).map(|plan| to_json(&plan)).map_err(|error| refused(py, error.into()))
    }

    /// The plan as a shell script.
    #[pyo3(signature = (title, notes=vec![]))]
    #[expect(clippy::needless_pass_by_value, reason = "arguments from Python are owned")]
    fn script(&self, title: &str, notes: Vec<String>) -> String {
        self.remote.as_script(title, &notes)
    }
}

/// Whether a sysctl is the machine's, and not that of a network namespace.
#[pyfunction]
pub fn is_of_the_machine(sysctl: &str) -> bool {
    planning::is_of_the_machine(sysctl)
}

/// The columns of a result's `flows` that come from sockets alone, of records in the layout of `flows`.
#[pyfunction]
pub fn socket_table(records: &[u8]) -> Arrow {
    records::tables::sockets(records).into()
}

/// Adds the defaults of the limits on a run, by name, and the layouts of the agent's records.
pub fn add_names(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add(
        "HIDDEN",
        dumbbell_plan::hidden::HIDDEN.map(|(first, last)| (u32::from(first), u32::from(last))).to_vec(),
    )?;
    module.add("PLAN_LIMITS", Limits::DEFAULTS.iter().copied().collect::<BTreeMap<_, _>>())?;
    module.add("RECORDS", BTreeMap::from(records::layouts()))?;
    let sizes = [
        ("flows", records::FlowRecord::SIZE),
        ("queues", records::QueueRecord::SIZE),
        ("probes", records::ProbeRecord::SIZE),
    ];
    module.add("RECORD_BYTES", BTreeMap::from(sizes))?;
    module.add("RECORD_UDP", records::UDP)?;
    module.add("RECORD_NEVER", records::NEVER)
}

fn limits_of(given: BTreeMap<String, u64>) -> PyResult<Limits> {
    let mut limits = Limits::default();
    for (name, value) in given {
        let limit = limits.get_mut(&name).ok_or_else(|| PyValueError::new_err(format!("no limit '{name}'")))?;
        *limit = value;
    }
    Ok(limits)
}

/// A file's text.
fn to_json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("a plan is numbers and texts")
}
