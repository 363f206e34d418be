//! A tc script's lines on every sender's device.

use super::building::Building;
use super::error::Error;
use super::path::ROUTER;
use super::script_tree::ScriptTree;
use crate::model::ScriptHost;
use crate::script::Script;
use dumbbell_plan::{Device, Operation, Queue, Step};
use dumbbell_tc::tree::Tree;

/// The script's commands as steps; the qdiscs that it leaves become queues of the plan, all of them under test.
pub(super) fn steps(building: &mut Building<'_>) -> Result<Vec<Step>, Error> {
    let Some(script) = &building.attachments.script else { return Ok(Vec::new()) };
    let tree = script.tree().map_err(|wrong| Error::at("path.tc", wrong.problem, wrong.right))?;
    refuse_missing(building, &tree)?;
    let on_router = building.experiment.path.tc.as_ref().is_some_and(|tc| tc.host == ScriptHost::Router);
    if on_router && !script.marks.is_empty() {
        let right = "filters by port, such as tc filter … u32 match ip dport 5201 0xffff flowid 1:10";
        return Err(Error::at(
            "path.tc",
            "marks of iptables on a router, which a run sets on the senders' sockets",
            right,
        ));
    }
    let senders = if on_router { vec![ROUTER.to_owned()] } else { building.sender_hosts() };
    let mut steps = Vec::new();
    for host in &senders {
        let device = building.right_of(host);
        let suffix = if senders.len() > 1 { format!("@{host}") } else { String::new() };
        let step = |command: &dumbbell_tc::Command| Step::new(host, Operation::Tc(command.on(&device.name)));
        steps.extend(script.commands.iter().map(|command| step(command).for_key("path.tc")));
        building.queues.extend(queues(script, &tree, &device, &suffix));
    }
    Ok(steps)
}

/// The name of the queue that has this handle, however it is written: of `01:1` tc takes `1:`.
pub(super) fn queue_name(queues: &[Queue], handle: &str) -> Option<String> {
    let of_script = queues.iter().filter(|queue| queue.key.starts_with("path.tc"));
    let mut named = of_script.filter(|queue| major(&queue.handle) == major(handle));
    named.next().map(|queue| queue.name.split('@').next().unwrap_or_default().to_owned())
}

/// The number before the colon, in hexadecimal.
fn major(handle: &str) -> Option<u32> {
    u32::from_str_radix(handle.split(':').next()?, 16).ok()
}

/// Refuses a queue to report that the script does not leave.
fn refuse_missing(building: &Building<'_>, tree: &Tree) -> Result<(), Error> {
    let Some(handle) = building.experiment.path.tc.as_ref().and_then(|tc| tc.queue.as_ref()) else { return Ok(()) };
    let left: Vec<_> = tree.places().filter(|place| !place.is_class).map(|place| place.location).collect();
    if left.iter().any(|location| major(location) == major(handle)) {
        return Ok(());
    }
    let problem = "no discipline of this handle is there when the script has run";
    Err(Error::at("path.tc.queue", problem, format!("one of: {}", left.join(", "))).with(handle.as_str()))
}

fn queues(script: &Script, tree: &Tree, device: &Device, suffix: &str) -> Vec<Queue> {
    let limits = ScriptTree::of(tree);
    let handles = || script.commands.iter().filter_map(|command| command.target().handle.as_deref());
    let written = |location: &str| {
        let named = handles().rfind(|handle| major(handle) == major(location));
        named.unwrap_or(location).split(':').next().unwrap_or_default().to_owned()
    };
    let qdiscs = tree.places().filter(|place| !place.is_class);
    qdiscs
        .map(|place| Queue {
            name: format!("tc-{}{suffix}", written(&place.location)),
            host: device.host.clone(),
            device: device.name.clone(),
            text: [&[place.kind.to_owned()], place.options].concat().join(" "),
            under_test: true,
            key: format!("path.tc, {}", place.location),
            may_drop: true,
            rates: Vec::new(),
            capped_bps: limits.capped_bps(&place.location),
            holds_netem: limits.holds_netem(&place.location),
            handle: format!("{}:", written(&place.location)),
        })
        .collect()
}
