//! What a kernel's own counters say about a run: packets that a device, a socket or the input backlog dropped, changes of
//! the path that the plan did not make, settings that did not take effect.

use super::Verdict;
use crate::time_text::seconds_text;
use dumbbell_experiment::limits::grouped;
use dumbbell_plan::{Operation, Plan, Queue};
use dumbbell_records::end::{Counters, End, MachineProgram, PathChange};
use std::collections::BTreeMap;

/// Counters of sockets that drop data (`include/uapi/linux/snmp.h`), and what they count.
pub const SOCKET_DROPS: [(&str, &str); 8] = [
    ("TCPBacklogDrop", "segments that a busy socket dropped"),
    ("TCPRcvQDrop", "segments that did not fit into a receive buffer"),
    ("TCPOFODrop", "out-of-order segments that did not fit into a receive buffer"),
    ("RcvPruned", "segments pruned from a full receive queue"),
    ("OfoPruned", "out-of-order queues pruned for memory"),
    ("ListenDrops", "connections dropped at a listening socket"),
    ("PFMemallocDrop", "packets dropped for lack of memory"),
    ("TCPAbortOnMemory", "connections aborted for lack of memory"),
];
const PRESSURE: &str = "TCPMemoryPressures";
/// Columns of `/proc/net/dev`: packets that the device received, or should have sent, and dropped.
const DEVICE_DROPS: [(&str, usize); 2] = [("received", 3), ("sent", 11)];
const BACKLOG: &str = "net.core.netdev_max_backlog";

/// A column of `softnet_stat`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Softnet {
    /// Packets dropped.
    Dropped = 1,
    /// How often the packet budget was exhausted.
    TimeSqueeze = 2,
}

/// Adds to the verdict on flows and queues what the counters of all hosts say. `remedy`: what helps if the kernel was too
/// slow for its packets.
#[must_use]
pub fn judge(mut shared: Verdict, end: &End, named: &[&Queue], remedy: &str) -> Verdict {
    for host in end.counters.keys() {
        shared.invalid.extend(device_drops(end, host, named, None, remedy));
        shared.invalid.extend(socket_drops(end, host));
    }
    shared.invalid.extend(backlog_drops(end));
    shared.invalid.extend(path_changes(end));
    let pressed = |host: &&String| increase(end, host, PRESSURE) > 0;
    let under = |host: &String| format!("TCP in '{host}' was under memory pressure, which limits windows");
    shared.warnings.extend(end.counters.keys().filter(pressed).map(under));
    shared
}

/// What the reader of a run should know: programs that the result depends on, settings that did not take effect.
#[must_use]
pub fn warnings(plan: &Plan, end: &End) -> Vec<String> {
    end.machine_programs.iter().map(depends_on).chain(unexpected_settings(plan, end)).collect()
}

/// Segments that sockets dropped and packets that the input backlog dropped, whoever owned them.
#[must_use]
pub fn machine_drops(end: &End) -> Vec<String> {
    end.counters.keys().flat_map(|host| socket_drops(end, host)).chain(backlog_drops(end)).collect()
}

/// Drops counted by a device but not by a qdisc: a receiver's backlog, a veth without a peer.
///
/// `devices`: only these. `remedy` ends the reason if the input backlog was full.
#[must_use]
pub fn device_drops(end: &End, host: &str, named: &[&Queue], devices: Option<&[String]>, remedy: &str) -> Vec<String> {
    let old = end.counters_before.get(host).map(devices_of).unwrap_or_default();
    let mut problems = Vec::new();
    for (device, counts) in end.counters.get(host).map(devices_of).unwrap_or_default() {
        if devices.is_some_and(|only| !only.iter().any(|name| name == device)) {
            continue;
        }
        for (verb, column) in DEVICE_DROPS {
            let before = old.iter().find(|(name, _)| *name == device).map_or(0, |(_, counts)| at(counts, column));
            let lost = at(&counts, column) - before;
            if lost > 0 && !is_excused(named, host, device, verb) {
                let is_full = verb == "received" && !remedy.is_empty() && softnet(end, Softnet::Dropped) > 0;
                let why = if is_full {
                    format!(", because the input backlog was full ({BACKLOG}); {remedy}")
                } else {
                    String::new()
                };
                problems.push(format!("device '{device}' of '{host}' dropped {lost} packets that it {verb}{why}"));
            }
        }
    }
    problems
}

/// A device's count of unsent packets includes its qdiscs' drops, and a bit that netem changes may be in the Ethernet
/// header: no protocol takes such a packet.
fn is_excused(named: &[&Queue], host: &str, device: &str, verb: &str) -> bool {
    let may_drop = |queue: &&Queue| queue.host == host && queue.device == device && queue.may_drop;
    if verb == "sent" { named.iter().any(may_drop) } else { named.iter().any(|queue| queue.corrupts()) }
}

/// Increase of a column of `softnet_stat`, which is the whole machine's and the same in every host.
#[must_use]
pub fn softnet(end: &End, column: Softnet) -> i64 {
    let total = |counters: &BTreeMap<String, Counters>| -> i64 {
        let text = counters.values().next().map_or("", |each| &each.softnet_stat);
        let cell = |line: &str| line.split_whitespace().nth(column as usize).map(|word| i64::from_str_radix(word, 16));
        text.lines().filter_map(cell).flatten().sum()
    };
    total(&end.counters) - total(&end.counters_before)
}

fn at(counts: &[i64], column: usize) -> i64 {
    counts.get(column).copied().unwrap_or(0)
}

/// Each device's counters; the file begins with two lines of heads.
fn devices_of(counters: &Counters) -> Vec<(&str, Vec<i64>)> {
    let lines = counters.dev.lines().skip(2).filter_map(|line| line.split_once(':'));
    let numbers = |text: &str| text.split_whitespace().map(|word| word.parse().unwrap_or(0)).collect();
    lines.map(|(name, counts)| (name.trim(), numbers(counts))).collect()
}

fn socket_drops(end: &End, host: &str) -> Vec<String> {
    let lost = |(key, what): &(&str, &str)| {
        let lost = increase(end, host, key);
        (lost > 0).then(|| format!("{lost} {what} in '{host}' ({key})"))
    };
    SOCKET_DROPS.iter().filter_map(lost).collect()
}

fn increase(end: &End, host: &str, key: &str) -> i64 {
    let of = |counters: &BTreeMap<String, Counters>| counters.get(host).map_or(0, |each| counter(each, key));
    of(&end.counters) - of(&end.counters_before)
}

/// A counter of `snmp` or `netstat`, in which a line of values follows each line of names; 0 if the kernel has none.
fn counter(counters: &Counters, key: &str) -> i64 {
    let of = |text: &str| -> Option<i64> {
        let mut lines = text.lines();
        while let (Some(names), Some(values)) = (lines.next(), lines.next()) {
            let mut pairs = names.split_whitespace().zip(values.split_whitespace());
            if let Some((_, value)) = pairs.find(|(name, _)| *name == key) {
                return value.parse().ok();
            }
        }
        None
    };
    of(&counters.netstat).or_else(|| of(&counters.snmp)).unwrap_or(0)
}

fn backlog_drops(end: &End) -> Option<String> {
    let lost = softnet(end, Softnet::Dropped);
    (lost != 0).then(|| format!("{lost} packets were dropped in the system's input backlog ({BACKLOG})"))
}

/// Changes of the path that the plan did not make.
fn path_changes(end: &End) -> Vec<String> {
    let Some(seen) = &end.path else { return Vec::new() };
    let more = (seen.further > 0).then(|| format!("{} further changes of the path", grouped(seen.further)));
    seen.changes.iter().map(path_change).chain(more).collect()
}

fn path_change(change: &PathChange) -> String {
    let PathChange { time_ns, host, object, before, after, programs } = change;
    let when = time_ns.map_or("during the run".into(), |time_ns| format!("at {} s", seconds_text(time_ns)));
    let names = programs.iter().map(|name| format!("'{name}'")).collect::<Vec<_>>().join(", ");
    let who = match programs.len() {
        0 => String::new(),
        1 => format!(", while program {names} ran there"),
        _ => format!(", while programs {names} ran there"),
    };
    let became = if before.is_empty() { after.clone() } else { format!("{before} → {after}") };
    format!("unexpected change of the path: {object} in '{host}' changed {when}{who}: {became}")
}

/// Another version of a program may give another result.
fn depends_on(used: &MachineProgram) -> String {
    let MachineProgram { program, version, commands, .. } = used;
    let first = commands.first().map_or("", |line| line);
    let ran = match commands.len() {
        0 | 1 => format!("'{first}'"),
        several => format!("'{first}' and {} more", grouped(several - 1)),
    };
    format!(
        "the result depends on '{program}' ({version}), which ran {ran}: Dumbbell does not execute such a command itself"
    )
}

/// Sysctls whose effective value differs from the requested one.
fn unexpected_settings(plan: &Plan, end: &End) -> Vec<String> {
    let unexpected = |step: &dumbbell_plan::Step| {
        let Operation::Sysctl { key, value } = &step.operation else { return None };
        let values = if step.host.is_empty() { &end.settings.machine } else { end.settings.hosts.get(&step.host)? };
        let effective = values.get(key)?;
        let place = if step.host.is_empty() { String::new() } else { format!(" of '{}'", step.host) };
        (!effective.split_whitespace().eq(value.split_whitespace()))
            .then(|| format!("{key}{place} was {effective} at the end, not {value}"))
    };
    plan.setup.iter().filter_map(unexpected).collect()
}
