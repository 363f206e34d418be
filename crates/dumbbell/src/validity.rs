//! Did the run measure what the experiment specifies? The part that every engine can violate: packets dropped where none
//! may be, and flows that deviate from the plan. [`kernel`] adds what only a kernel counts.

pub mod kernel;

use crate::metrics::Columns;
use dumbbell_experiment::limits::grouped;
use dumbbell_experiment::model::Transport;
use dumbbell_metrics::Table;
use dumbbell_plan::{Flow, Plan, Queue};
use dumbbell_records::end::{End, FlowEnd};
use dumbbell_sim::RunResult;
use dumbbell_sim::report::{FlowReport, Report};
use std::collections::{BTreeMap, BTreeSet};

const NAMES_SHOWN: usize = 5;
/// Retransmissions of a SYN 1, 2 and 4 s after each other (RFC 6298). Linux since 6.5 has sent five by then
/// (`tcp_syn_linear_timeouts`).
const THREE_RETRANSMISSIONS_NS: u64 = 7_000_000_000;
/// RFC 6298's initial RTO.
const ONE_RETRANSMISSION_NS: u64 = 1_000_000_000;

/// What is known of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// Why it is invalid; empty: it is valid.
    pub invalid: Vec<String>,
    /// What the reader should know.
    pub warnings: Vec<String>,
    /// Names of flows that had too little time to connect.
    pub too_late: Vec<String>,
}

/// What a verdict takes into account.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Planned length of the experiment.
    pub duration_ns: u64,
    /// Flows in the order of the plan.
    pub flows: Vec<FlowOutcome>,
    /// Queues whose drops count.
    pub queues: Vec<QueueOutcome>,
}

/// A flow of the plan, and what became of it. Times are nanoseconds since the start of the experiment.
#[derive(Clone, Debug)]
pub struct FlowOutcome {
    /// Its name.
    pub name: String,
    /// Whether a controller decides how much is sent.
    pub is_tcp: bool,
    /// The controller that the experiment asks for.
    pub planned_cc: Option<String>,
    /// When the experiment stops it; None: at the end.
    pub stop_ns: Option<u64>,
    /// Whether it has a number of bytes to send.
    pub is_sized: bool,
    /// Propagation delay there and back.
    pub rtt_ns: u64,
    /// Controller of the sender; None for UDP.
    pub cc: Option<String>,
    /// Start; None: it never started.
    pub started_ns: Option<u64>,
    /// When it had a connection.
    pub connected_ns: Option<u64>,
    /// When its last byte arrived.
    pub completed_ns: Option<u64>,
    /// Why it failed.
    pub error: Option<String>,
}

/// The simulator's report in the agent's form.
#[must_use]
pub fn end(report: &Report) -> End {
    End { duration_ns: report.duration_ns, flows: report.flows.iter().map(flow_end).collect(), ..End::default() }
}

fn flow_end(report: &FlowReport) -> FlowEnd {
    FlowEnd {
        name: report.name.clone(),
        cc: report.cc.clone(),
        started_ns: report.started_ns,
        connected_ns: report.connected_ns,
        completed_ns: report.completed_ns,
        stopped_ns: report.stopped_ns,
        bytes_received: report.bytes_received,
        retransmits: report.retransmits,
        data_segs_out: report.data_segs_out,
        exchanges_ns: report.exchanges_ns.clone(),
        error: report.error.clone(),
    }
}

impl FlowOutcome {
    /// A flow of the plan with its end.
    #[must_use]
    pub fn of(flow: &Flow, end: &FlowEnd) -> Self {
        let FlowEnd { cc, started_ns, connected_ns, completed_ns, error, .. } = end.clone();
        Self {
            name: flow.name.clone(),
            is_tcp: flow.transport == Transport::Tcp,
            planned_cc: flow.cc.clone(),
            stop_ns: flow.stop_ns,
            is_sized: flow.bytes.is_some(),
            rtt_ns: flow.rtt_ns,
            cc,
            started_ns,
            connected_ns,
            completed_ns,
            error,
        }
    }
}

impl QueueOutcome {
    /// A queue of the plan with its end.
    #[must_use]
    pub fn of(queue: &Queue, drops: i64, longest_delay_ns: u64) -> Self {
        let Queue { name, text, may_drop, .. } = queue;
        Self { name: name.clone(), text: text.clone(), may_drop: *may_drop, drops, longest_delay_ns }
    }
}

/// What became of a queue.
#[derive(Clone, Debug)]
pub struct QueueOutcome {
    /// Its name.
    pub name: String,
    /// Kind and options for tc.
    pub text: String,
    /// Under test, or a netem with loss.
    pub may_drop: bool,
    /// Packets that it dropped.
    pub drops: i64,
    /// The longest queueing delay in any sample; 0 if unknown.
    pub longest_delay_ns: u64,
}

/// Judges a run.
#[must_use]
pub fn judge(outcome: &Outcome) -> Verdict {
    let absent = Unconnected::of(outcome);
    let mut invalid = unexpected_drops(&outcome.queues);
    invalid.extend(deviations(&outcome.flows, &absent.never));
    let late = (!absent.too_late.is_empty())
        .then(|| format!("{} came too late to connect before the end", listed(&absent.too_late)));
    let warnings = late.into_iter().chain(unfinished(&outcome.flows, &absent.too_late)).chain(reno(&outcome.flows));
    let warnings = warnings.collect();
    Verdict { invalid, warnings, too_late: absent.too_late.into_iter().map(String::from).collect() }
}

/// Judges flows and queues of a run of any engine, with the warnings of its plan.
///
/// `flows` in the order of the plan. `named`: the queues that were sampled. `queues`: their samples; a handshake may take
/// as long as their longest delay.
#[must_use]
pub fn judge_plan(plan: &Plan, flows: &[FlowEnd], named: &[&Queue], queues: Option<&dyn Table>) -> Verdict {
    let is_unconnected = |end: &FlowEnd| end.started_ns.is_some() && end.connected_ns.is_none();
    // Only handshakes that may need more time depend on the delays.
    let sampled = queues.filter(|_| flows.iter().any(is_unconnected));
    let delays = sampled.map(longest_delays_ns).unwrap_or_default();
    let drops = queues.map(|queues| last(queues, "drops_packets")).unwrap_or_default();
    let queue = |queue: &&Queue| {
        let of = |numbers: &BTreeMap<&str, f64>| numbers.get(&queue.name[..]).copied().unwrap_or(0.0);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "packets and nanoseconds")]
        QueueOutcome::of(queue, of(&drops) as i64, of(&delays) as u64)
    };
    let outcome = Outcome {
        duration_ns: plan.duration_ns,
        flows: plan.flows.iter().zip(flows).map(|(flow, end)| FlowOutcome::of(flow, end)).collect(),
        queues: named.iter().map(queue).collect(),
    };
    let mut verdict = judge(&outcome);
    verdict.warnings.extend(never_started(plan, flows));
    verdict.warnings.splice(0..0, plan.warnings.iter().cloned());
    verdict
}

/// Flows whose group waited for another that did not complete, a warning for each pair of groups.
fn never_started(plan: &Plan, ends: &[FlowEnd]) -> Vec<String> {
    let mut waiting: Vec<(&str, Vec<&str>)> = Vec::new();
    for (flow, end) in plan.flows.iter().zip(ends) {
        let Some(members) = flow.wait.after.filter(|_| end.started_ns.is_none()) else { continue };
        if ends[members.positions()].iter().all(|other| other.completed_ns.is_some()) {
            continue; // Its time came after the end, or after its 'stop'.
        }
        let awaited = &plan.flows[members.first].group[..];
        match waiting.iter_mut().find(|(known, _)| *known == awaited) {
            Some((_, names)) => names.push(&flow.name),
            None => waiting.push((awaited, vec![&flow.name])),
        }
    }
    let text = |(awaited, names): &(&str, Vec<&str>)| {
        format!("{} never started, because the flows of '{awaited}' did not complete", listed(names))
    };
    waiting.iter().map(text).collect()
}

/// Judges a simulated run.
pub(crate) fn judge_simulated(plan: &Plan, result: &RunResult) -> Verdict {
    judge_plan(
        plan,
        &end(&result.report).flows,
        &plan.queues.iter().collect::<Vec<_>>(),
        Some(&Columns(&result.queues)),
    )
}

/// The last known value of a column of the sampled queues, by queue.
fn last<'a>(queues: &'a dyn Table, column: &str) -> BTreeMap<&'a str, f64> {
    each(queues, column, |_, now| now)
}

/// The longest queueing delay of each queue in any sample.
fn longest_delays_ns(queues: &dyn Table) -> BTreeMap<&str, f64> {
    each(queues, "delay_ns", f64::max)
}

fn each<'a>(queues: &'a dyn Table, column: &str, join: impl Fn(f64, f64) -> f64) -> BTreeMap<&'a str, f64> {
    let mut found = BTreeMap::new();
    let (Some(names), Some(values)) = (queues.names("queue"), queues.numbers(column)) else { return found };
    for row in 0..queues.rows() {
        if let (Some(name), Some(value)) = (names.list.get(names.codes[row] as usize), values.get(row)) {
            found.entry(&name[..]).and_modify(|known| *known = join(*known, value)).or_insert(value);
        }
    }
    found
}

/// `TCP_ESTABLISHED` (`include/net/tcp_states.h`).
const ESTABLISHED: f64 = 1.0;

/// A warning for each flow whose controller set a window of 0: a fault of the controller, not of the run.
#[must_use]
pub fn closed_windows(flows: &dyn Table) -> Vec<String> {
    let (Some(name), Some(time), Some(cwnd), Some(state)) =
        (flows.names("flow"), flows.numbers("time_ns"), flows.numbers("cwnd_packets"), flows.numbers("state"))
    else {
        return Vec::new();
    };
    let mut found: Vec<(u32, u64, f64)> = Vec::new();
    for row in 0..flows.rows() {
        if cwnd.get(row) == Some(0.0) && state.get(row) == Some(ESTABLISHED) {
            let code = name.codes[row];
            match found.iter_mut().find(|(each, ..)| *each == code) {
                Some((_, count, _)) => *count += 1,
                None => found.push((code, 1, time.get(row).unwrap_or_default() / 1e9)),
            }
        }
    }
    let warning = |(code, count, first_s): (u32, u64, f64)| {
        format!(
            "flow '{}' had a cwnd of 0 in {count} samples, first at {first_s} s, set by its controller; Linux sends \
             nothing with a cwnd of 0",
            name.list[code as usize]
        )
    };
    found.into_iter().map(warning).collect()
}

fn unexpected_drops(queues: &[QueueOutcome]) -> Vec<String> {
    let reason = |queue: &QueueOutcome| {
        // A shaper's drops include those of the queue below it.
        let below = queue.name.strip_suffix("-shaper").and_then(|name| queues.iter().find(|other| other.name == name));
        let count = queue.drops - below.map_or(0, |below| below.drops);
        (count != 0 && !queue.may_drop).then(|| {
            format!("{count} packets were dropped in '{}' ({}), which is not under test", queue.name, queue.text)
        })
    };
    queues.iter().filter_map(reason).collect()
}

/// Flows that deviate from the plan, grouped by reason: thousands of flows may fail in the same way.
fn deviations(flows: &[FlowOutcome], never: &BTreeSet<&str>) -> Vec<String> {
    let mut reasons: Vec<(String, Vec<&str>)> = Vec::new();
    for flow in flows.iter().filter(|flow| flow.started_ns.is_some()) {
        for reason in deviations_of(flow, never.contains(flow.name.as_str())) {
            match reasons.iter_mut().find(|(known, _)| *known == reason) {
                Some((_, names)) => names.push(&flow.name),
                None => reasons.push((reason, vec![&flow.name])),
            }
        }
    }
    reasons.iter().map(|(reason, names)| format!("{} {reason}", listed(names))).collect()
}

fn deviations_of(flow: &FlowOutcome, is_unconnected: bool) -> Vec<String> {
    let mut found = Vec::new();
    match (is_unconnected, &flow.error) {
        (true, Some(error)) => found.push(format!("never connected: {error}")),
        (true, None) => found.push("never connected".to_owned()),
        (false, Some(error)) => found.push(format!("broke: {error}")),
        (false, None) => {}
    }
    if flow.is_tcp
        && let (Some(ran), Some(planned)) = (&flow.cc, &flow.planned_cc)
        && ran != planned
        && !is_without_ecn(ran, planned)
    {
        found.push(format!("ran '{ran}', not '{planned}'"));
    }
    found
}

/// Is it what Linux runs if ECN was not negotiated, as after a lost SYN (`tcp_ecn_fallback`)? That is part of the path's
/// behaviour, so the run is valid.
fn is_without_ecn(ran: &str, planned: &str) -> bool {
    ran.strip_suffix("-reno") == Some(planned)
}

fn reno(flows: &[FlowOutcome]) -> Vec<String> {
    let mut names: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for flow in flows {
        if let (Some(ran), Some(planned)) = (&flow.cc, &flow.planned_cc)
            && is_without_ecn(ran, planned)
        {
            names.entry(ran).or_default().push(&flow.name);
        }
    }
    let why = "Linux repeats a lost SYN without requesting ECN";
    names
        .iter()
        .map(|(ran, names)| format!("{} ran '{ran}' because ECN was not negotiated: {why}", listed(names)))
        .collect()
}

/// Names of flows that started and have no connection.
struct Unconnected<'a> {
    /// Those that had time to connect, or whose handshake failed.
    never: BTreeSet<&'a str>,
    /// The others.
    too_late: Vec<&'a str>,
}

impl<'a> Unconnected<'a> {
    /// A SYN may be lost like any other packet, in the queue under test too, so a flow needs time for retransmissions.
    /// If no flow of a run has a connection, a single retransmission is enough for a fault.
    fn of(outcome: &'a Outcome) -> Self {
        let is_missing = |flow: &FlowOutcome| flow.connected_ns.is_none();
        let counts = |flow: &&FlowOutcome| flow.started_ns.is_some() && (flow.is_tcp || is_missing(flow));
        let started: Vec<_> = outcome.flows.iter().filter(counts).collect();
        let missing: Vec<_> = started.iter().copied().filter(|flow| is_missing(flow)).collect();
        let timeouts_ns = if missing.len() == started.len() { ONE_RETRANSMISSION_NS } else { THREE_RETRANSMISSIONS_NS };
        let queueing_ns: u64 = outcome.queues.iter().map(|queue| queue.longest_delay_ns).sum();
        let had_time = |flow: &FlowOutcome| {
            let end_ns = flow.stop_ns.map_or(outcome.duration_ns, |stop| stop.min(outcome.duration_ns));
            end_ns.saturating_sub(flow.started_ns.unwrap_or(end_ns)) >= timeouts_ns + queueing_ns + flow.rtt_ns
        };
        let (never, too_late): (Vec<_>, Vec<_>) =
            missing.into_iter().partition(|flow| flow.error.is_some() || had_time(flow));
        let names = |flows: Vec<&'a FlowOutcome>| flows.into_iter().map(|flow| flow.name.as_str());
        Self { never: names(never).collect(), too_late: names(too_late).collect() }
    }
}

/// Flows of a stated size that did not complete although they had time to connect.
fn unfinished(flows: &[FlowOutcome], too_late: &[&str]) -> Option<String> {
    let late: BTreeSet<_> = too_late.iter().copied().collect();
    let is_unfinished = |flow: &&FlowOutcome| {
        flow.is_sized && flow.started_ns.is_some() && flow.completed_ns.is_none() && !late.contains(flow.name.as_str())
    };
    let found: Vec<_> = flows.iter().filter(is_unfinished).map(|flow| flow.name.as_str()).collect();
    (!found.is_empty()).then(|| format!("{} not done when the experiment ended", listed(&found)))
}

fn listed(names: &[&str]) -> String {
    if let [name] = names {
        return format!("flow '{name}'");
    }
    let shown = names.iter().take(NAMES_SHOWN).copied().collect::<Vec<_>>().join(", ");
    let more = if names.len() > NAMES_SHOWN { ", …" } else { "" };
    format!("{} flows ({shown}{more})", grouped(names.len()))
}
