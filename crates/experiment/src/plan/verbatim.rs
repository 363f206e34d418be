//! tc scripts' lines on the devices of their hosts.

use super::attachments::script_key;
use super::building::Building;
use super::error::Error;
use super::script_tree::ScriptTree;
use crate::model::{Side, Verbatim};
use crate::script::{DEVICE, Script};
use dumbbell_plan::{Device, Operation, Queue, Step};
use dumbbell_tc::is_of_arrivals;
use dumbbell_tc::tree::Tree;

/// The scripts' commands as steps; the qdiscs that they leave become queues of the plan, all of them under test.
pub(super) fn steps(building: &mut Building<'_>) -> Result<Vec<Step>, Error> {
    let mut steps = Vec::new();
    for (number, tc) in building.experiment.path.tc.iter().enumerate() {
        let key = script_key(building.experiment, number);
        steps.extend(of_script(building, tc, number, &key)?);
    }
    Ok(steps)
}

fn of_script(building: &mut Building<'_>, tc: &Verbatim, number: usize, key: &str) -> Result<Vec<Step>, Error> {
    let script = &building.attachments.scripts[number];
    let trees = script.trees().map_err(|wrong| Error::at(key, wrong.problem, wrong.hint))?;
    let on_senders = tc.is_on_senders() || building.senders.contains(&tc.host);
    if !on_senders && !script.marks.is_empty() {
        let hint = "filters by port, such as tc filter … u32 match ip dport 5201 0xffff flowid 1:10";
        let problem = "marks of iptables on a router, which a run sets on the senders' sockets";
        return Err(Error::at(key, problem, hint));
    }
    refuse_missing(tc, &trees, key)?;
    let hosts = if tc.is_on_senders() { building.sender_hosts() } else { vec![tc.host.clone()] };
    let mut steps = Vec::new();
    for host in &hosts {
        let devices = devices(building, tc, host, key)?;
        refuse_taken(building, &trees, &devices, key)?;
        for ifb in &script.ifbs {
            let add = Step::new(host, Operation::AddIfb { device: ifb.clone() });
            let is_there = |queue: &Queue| queue.host == *host && queue.device == *ifb;
            if building.queues.iter().any(is_there) {
                let problem = format!("a second script with the device {ifb} on '{host}'");
                return Err(Error::at(key, problem, "another name, such as ifb1"));
            }
            steps.extend([add, Step::new(host, Operation::Up { device: ifb.clone() })]);
        }
        for command in &script.commands {
            let step = |command: dumbbell_tc::Command| Step::new(host, Operation::Tc(command)).for_key(key);
            if command.device() == DEVICE {
                steps.extend(devices.iter().map(|device| step(command.on(&device.name))));
            } else {
                steps.push(step(command.clone()));
            }
        }
        for (name, tree) in &trees {
            let ifb = Device { host: host.clone(), name: name.clone() };
            let places = if name == DEVICE { &devices[..] } else { &[ifb] };
            for device in places {
                let of_device = if places.len() > 1 { format!("-{}", device.name) } else { String::new() };
                let suffix = if hosts.len() > 1 { format!("@{host}{of_device}") } else { of_device };
                let prefix = prefix(number, name);
                building.queues.extend(queues(script, tree, device, (&prefix, &suffix[..]), key));
            }
        }
    }
    Ok(steps)
}

/// Whether a script leaves qdiscs on a host's devices towards the senders.
pub(super) fn has_script_towards_senders(building: &Building<'_>, host: &str) -> bool {
    let scripts = building.experiment.path.tc.iter().zip(&building.attachments.scripts);
    let mut there = scripts.filter(|(tc, _)| tc.host == host && tc.towards == Some(Side::Senders));
    there.any(|(_, script)| script.trees().is_ok_and(|trees| trees.iter().any(leaves_qdiscs)))
}

/// Whether packets that leave by the interface pass a qdisc of this tree.
fn leaves_qdiscs((device, tree): &(String, Tree)) -> bool {
    device == DEVICE && tree.places().any(|place| !place.is_class && !is_of_arrivals(place.kind))
}

/// The devices of a host that a script is for.
fn devices(building: &Building<'_>, tc: &Verbatim, host: &str, key: &str) -> Result<Vec<Device>, Error> {
    if !building.layout.has(host) {
        let mut names: Vec<_> = building.layout.hosts.iter().map(|host| &host.name[..]).collect();
        names.sort_unstable();
        let hint = format!("one of: {}", names.join(", "));
        return Err(Error::at(format!("{key}.host"), "this path has no such host", hint).with(host));
    }
    let host = building.layout.host(host);
    let side = tc.towards.unwrap_or(if host.rights.is_empty() { Side::Senders } else { Side::Receivers });
    let devices = match side {
        Side::Receivers if !host.rights.is_empty() => vec![building.right_of(&host.name)],
        Side::Senders => building.lefts_of(&host.name),
        Side::Receivers => Vec::new(),
    };
    if devices.is_empty() {
        let hint = if side == Side::Receivers { "senders" } else { "receivers" };
        let problem = format!("'{}' has no device on this side", host.name);
        return Err(Error::at(format!("{key}.towards"), problem, format!("towards = \"{hint}\"")));
    }
    Ok(devices)
}

/// Refuses a script for a device that has a qdisc already.
fn refuse_taken(building: &Building<'_>, trees: &[(String, Tree)], devices: &[Device], key: &str) -> Result<(), Error> {
    if !trees.iter().any(leaves_qdiscs) {
        return Ok(());
    }
    let taken = |queue: &&Queue| devices.iter().any(|device| queue.host == device.host && queue.device == device.name);
    match building.queues.iter().find(taken) {
        None => Ok(()),
        Some(queue) if queue.name.starts_with("bottleneck") => {
            let hint = "leave out [path.bottleneck]: the script is the queue of the router";
            let problem = "a script on the router, and a bottleneck on the same device";
            Err(Error::at(format!("{key}.host"), problem, hint))
        }
        Some(queue) => {
            let problem = format!("'{}' is on the same device ({} of '{}')", queue.name, queue.device, queue.host);
            Err(Error::at(format!("{key}.host"), problem, "another host, or leave that out"))
        }
    }
}

/// The first part of the names of a script's queues on a device.
fn prefix(number: usize, device: &str) -> String {
    let script = if number == 0 { "tc".to_owned() } else { format!("tc{}", number + 1) };
    if device == DEVICE { script } else { format!("{script}-{device}") }
}

/// The name of the queue that a script reports: by its handle, behind the name of an ifb if it has one.
pub(super) fn queue_name(queues: &[Queue], count: usize, number: usize, queue: &str) -> Option<String> {
    let (ifb, handle) = of_device(queue);
    let script = if count > 1 { format!("path.tc.{number}, ") } else { "path.tc, ".into() };
    let prefix = prefix(number, ifb.unwrap_or(DEVICE));
    let mut named = queues.iter().filter(|queue| {
        let rest = queue.name.strip_prefix(&prefix).and_then(|rest| rest.strip_prefix('-'));
        let is_named = rest.is_some_and(|rest| major(rest.split(['@', '-']).next().unwrap_or_default()).is_some());
        queue.key.starts_with(&script)
            && is_named
            && major(&queue.handle) == major(handle)
            && (ifb.is_none() || Some(&queue.device[..]) == ifb)
    });
    named.next().map(|queue| queue.name.split('@').next().unwrap_or_default().to_owned())
}

/// The name of an ifb, if one is written, and the handle.
fn of_device(queue: &str) -> (Option<&str>, &str) {
    queue.split_once(' ').map_or((None, queue), |(device, handle)| (Some(device), handle.trim()))
}

/// The number before the colon, in hexadecimal.
fn major(handle: &str) -> Option<u32> {
    u32::from_str_radix(handle.split(':').next()?, 16).ok()
}

/// Refuses a queue to report that the script does not leave.
fn refuse_missing(tc: &Verbatim, trees: &[(String, Tree)], key: &str) -> Result<(), Error> {
    let Some(queue) = &tc.queue else { return Ok(()) };
    let (ifb, handle) = of_device(queue);
    let left = |(device, tree): &(String, Tree)| {
        let before = if device == DEVICE { String::new() } else { format!("{device} ") };
        let places: Vec<_> = tree.places().filter(|place| !place.is_class).map(|place| place.location).collect();
        places.into_iter().map(move |location| (before.clone(), location)).collect::<Vec<_>>()
    };
    let left: Vec<_> = trees.iter().flat_map(left).collect();
    let is_meant = |(before, location): &(String, String)| {
        before.trim_end() == ifb.unwrap_or_default() && major(location) == major(handle)
    };
    if left.iter().any(is_meant) {
        return Ok(());
    }
    let names: Vec<_> = left.iter().map(|(before, location)| format!("{before}{location}")).collect();
    let problem = "no discipline of this handle is there when the script has run";
    let hint = format!("one of: {}", names.join(", "));
    Err(Error::at(format!("{key}.queue"), problem, hint).with(queue.as_str()))
}

fn queues(script: &Script, tree: &Tree, device: &Device, (prefix, suffix): (&str, &str), key: &str) -> Vec<Queue> {
    let limits = ScriptTree::of(tree);
    let handles = || script.commands.iter().filter_map(|command| command.target().handle.as_deref());
    let written = |location: &str| {
        let named = handles().rfind(|handle| major(handle) == major(location));
        named.unwrap_or(location).split(':').next().unwrap_or_default().to_owned()
    };
    let qdiscs = tree.places().filter(|place| !place.is_class);
    qdiscs
        .map(|place| Queue {
            name: format!("{prefix}-{}{suffix}", written(&place.location)),
            host: device.host.clone(),
            device: device.name.clone(),
            text: [&[place.kind.to_owned()], place.options].concat().join(" "),
            under_test: true,
            key: format!("{key}, {}", place.location),
            may_drop: true,
            rates: Vec::new(),
            capped_bps: limits.capped_bps(&place.location),
            holds_netem: limits.holds_netem(&place.location),
            handle: format!("{}:", written(&place.location)),
        })
        .collect()
}
