//! Did the run measure what the experiment specifies? `python/dumbbell/engines/validity.py` judges runs of every engine;
//! this is the part of it that a simulated run can violate, with the same sentences.

use dumbbell_experiment::model::Transport;
use dumbbell_experiment::plan::types::{Flow, Plan};
use dumbbell_sim::report::FlowReport;
use dumbbell_sim::{Column, RunResult};
use std::collections::{BTreeMap, BTreeSet};

const NAMES_SHOWN: usize = 5;
/// Retransmissions of a SYN 1, 2 and 4 s after each other (RFC 6298).
const THREE_RETRANSMISSIONS_NS: u64 = 7_000_000_000;
/// RFC 6298's initial RTO.
const ONE_RETRANSMISSION_NS: u64 = 1_000_000_000;

/// Why the run is invalid; empty: it is valid.
pub fn reasons(plan: &Plan, result: &RunResult) -> Vec<String> {
    let mut reasons = unexpected_drops(plan, result);
    reasons.extend(flows(plan, result));
    reasons
}

fn unexpected_drops(plan: &Plan, result: &RunResult) -> Vec<String> {
    let drops = last_by_queue(result, "drops_packets");
    let own = |name: &str| {
        // A shaper's drops include those of the queue below it.
        let below = name.strip_suffix(".shaper").and_then(|below| drops.get(below)).unwrap_or(&0);
        drops.get(name).unwrap_or(&0) - below
    };
    let text = |queue: &dumbbell_experiment::plan::types::Queue| {
        let count = own(&queue.name);
        (count != 0 && !queue.may_drop).then(|| {
            format!("{count} packets were dropped in '{}' ({}), which is not under test", queue.name, queue.text)
        })
    };
    plan.queues.iter().filter_map(text).collect()
}

/// Flows that deviate from the plan, grouped by reason.
fn flows(plan: &Plan, result: &RunResult) -> Vec<String> {
    let never = never_connected(plan, result);
    let mut reasons: Vec<(String, Vec<&str>)> = Vec::new();
    for (flow, report) in plan.flows.iter().zip(&result.report.flows) {
        for reason in deviations(flow, report, never.contains(flow.name.as_str())) {
            match reasons.iter_mut().find(|(known, _)| *known == reason) {
                Some((_, names)) => names.push(&flow.name),
                None => reasons.push((reason, vec![&flow.name])),
            }
        }
    }
    reasons.iter().map(|(reason, names)| format!("{} {reason}", listed(names))).collect()
}

fn deviations(flow: &Flow, report: &FlowReport, is_unconnected: bool) -> Vec<String> {
    if report.started_ns.is_none() {
        return Vec::new();
    }
    let mut found = Vec::new();
    match (is_unconnected, &report.error) {
        (true, Some(error)) => found.push(format!("never connected: {error}")),
        (true, None) => found.push("never connected".to_owned()),
        (false, Some(error)) => found.push(format!("broke: {error}")),
        (false, None) => {}
    }
    if let (Transport::Tcp, Some(ran), planned) = (flow.transport, &report.cc, flow.cc.as_deref())
        && Some(ran.as_str()) != planned
    {
        found.push(format!("ran '{ran}', not '{}'", planned.unwrap_or("None")));
    }
    found
}

/// Flows without a connection that had time for one, or whose handshake failed. If no flow of a run has one, a single
/// retransmission is enough for a fault.
fn never_connected<'a>(plan: &'a Plan, result: &RunResult) -> BTreeSet<&'a str> {
    let is_missing = |report: &FlowReport| report.connected_ns.is_none();
    let started: Vec<_> = plan
        .flows
        .iter()
        .zip(&result.report.flows)
        .filter(|(flow, report)| {
            report.started_ns.is_some() && (flow.transport == Transport::Tcp || is_missing(report))
        })
        .collect();
    let missing: Vec<_> = started.iter().filter(|(_, report)| is_missing(report)).collect();
    let timeouts = if missing.len() == started.len() { ONE_RETRANSMISSION_NS } else { THREE_RETRANSMISSIONS_NS };
    let needed = timeouts + longest_queueing_ns(result);
    let had_time = |flow: &Flow, report: &FlowReport| {
        let end = flow.stop_ns.map_or(plan.duration_ns, |stop| stop.min(plan.duration_ns));
        end.saturating_sub(report.started_ns.unwrap_or(0)) >= needed + flow.rtt_ns
    };
    let is_fault = |(flow, report): &(&Flow, &FlowReport)| report.error.is_some() || had_time(flow, report);
    missing.into_iter().filter(|each| is_fault(each)).map(|(flow, _)| flow.name.as_str()).collect()
}

/// The longest queueing delay in any sample, added over the path's queues.
fn longest_queueing_ns(result: &RunResult) -> u64 {
    let (Some(Column::Name(codes, _)), Some(Column::I64(delays))) =
        (result.queues.column("queue"), result.queues.column("delay_ns"))
    else {
        return 0;
    };
    let mut longest: BTreeMap<u32, i64> = BTreeMap::new();
    for row in 0..result.queues.rows() {
        if let (Some(code), Some(delay)) = (codes.get(row), delays.get(row)) {
            let most = longest.entry(code).or_default();
            *most = delay.max(*most);
        }
    }
    longest.values().sum::<i64>().cast_unsigned()
}

/// The last value of a counter, by queue.
fn last_by_queue(result: &RunResult, column: &str) -> BTreeMap<String, i64> {
    let (Some(Column::Name(codes, names)), Some(Column::I64(counts))) =
        (result.queues.column("queue"), result.queues.column(column))
    else {
        return BTreeMap::new();
    };
    let row = |row: usize| Some((names[codes.get(row)? as usize].clone(), counts.get(row).unwrap_or(0)));
    (0..result.queues.rows()).filter_map(row).collect()
}

fn listed(names: &[&str]) -> String {
    if let [name] = names {
        return format!("flow '{name}'");
    }
    let shown = names.iter().take(NAMES_SHOWN).copied().collect::<Vec<_>>().join(", ");
    let more = if names.len() > NAMES_SHOWN { ", …" } else { "" };
    format!("{} flows ({shown}{more})", names.len())
}
